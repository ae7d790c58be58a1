"""Error patterns: kinds of errors, recognised by words of their messages; a product may add a
file of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

SHIPPED = Path(__file__).with_name("error_patterns.yaml")
_LONGEST = 5_000  # characters of a message that are searched


def _compiled(text: object) -> re.Pattern[str]:
    try:
        return re.compile(str(text), re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression ({error})") from error


class ErrorPattern(BaseModel):
    """One kind of error: regular expressions for its messages, ignoring case, and the insight to
    add for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    kind: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    find: tuple[Annotated[re.Pattern[str], BeforeValidator(_compiled)], ...] = Field(min_length=1)
    tags: tuple[str, ...] = ()
    insight: str = Field(min_length=1)

    def matches(self, message: str) -> bool:
        """Whether a message is of this kind."""
        return any(one.search(message[:_LONGEST]) for one in self.find)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    patterns: tuple[ErrorPattern, ...]


UNKNOWN = ErrorPattern(
    kind="unknown_error", find=(_compiled(""),), tags=("error",), insight="It failed"
)


class ErrorPatterns:
    """The shipped patterns, preceded by those of other files. InputError: a file is not a list
    of patterns.
    """

    def __init__(self, *files: Path) -> None:
        read = [validate_yaml(_File, load_yaml(path)).patterns for path in (*files, SHIPPED)]
        self.patterns: Sequence[ErrorPattern] = [one for patterns in read for one in patterns]

    def classify(self, message: str) -> ErrorPattern:
        """Return the first pattern that matches a message, else `unknown_error`."""
        return next((one for one in self.patterns if one.matches(message)), UNKNOWN)

    def tags_of(self, messages: Iterable[str]) -> frozenset[str]:
        """Return the tags of several messages together; messages of unknown kinds have none."""
        kinds = [self.classify(one) for one in messages]
        return frozenset(
            tag for kind in kinds if kind is not UNKNOWN for tag in (kind.kind, *kind.tags)
        )

    def tags_in(self, text: str) -> tuple[str, ...]:
        """Return default tags for an insight: the tags of all patterns that match its text,
        sorted.
        """
        return tuple(
            sorted({tag for one in self.patterns if one.matches(text) for tag in one.tags})
        )
