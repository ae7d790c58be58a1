"""Error patterns: kinds of errors that are recognised by words of their messages. A product may add
a file of its own.
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
# Characters of a message that are searched: a whole log would take long.
_LONGEST = 5_000


def _compile(text: object) -> re.Pattern[str]:
    try:
        return re.compile(str(text), re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression ({error})") from error


class ErrorPattern(BaseModel):
    """A kind of error.

    Attributes:
        kind: its name, which becomes a tag.
        find: regular expressions for its messages; case is ignored.
        tags: further tags.
        insight: the text of the insight to add.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    kind: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    find: tuple[Annotated[re.Pattern[str], BeforeValidator(_compile)], ...] = Field(min_length=1)
    tags: tuple[str, ...] = ()
    insight: str = Field(min_length=1)

    def matches(self, message: str) -> bool:
        """Return whether a message is of this kind."""
        return any(pattern.search(message[:_LONGEST]) for pattern in self.find)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)

    patterns: tuple[ErrorPattern, ...]


UNKNOWN = ErrorPattern(
    kind="unknown_error", find=(_compile(""),), tags=("error",), insight="It failed"
)


class ErrorPatterns:
    """The patterns of some files, and then the shipped ones.

    Raises:
        InputError: a file is not a list of patterns.
    """

    def __init__(self, *files: Path) -> None:
        patterns: list[ErrorPattern] = []
        # The first match counts, so a product's own patterns come first.
        for path in (*files, SHIPPED):
            patterns += validate_yaml(_File, load_yaml(path)).patterns
        self.patterns: Sequence[ErrorPattern] = patterns

    def classify(self, message: str) -> ErrorPattern:
        """Return the first pattern that matches a message, else `unknown_error`."""
        for pattern in self.patterns:
            if pattern.matches(message):
                return pattern
        return UNKNOWN

    def tags_of(self, messages: Iterable[str]) -> frozenset[str]:
        """Return the tags of several messages together; messages of unknown kinds have none."""
        tags: set[str] = set()
        for pattern in map(self.classify, messages):
            if pattern is not UNKNOWN:
                tags.update((pattern.kind, *pattern.tags))
        return frozenset(tags)

    def tags_in(self, text: str) -> tuple[str, ...]:
        """Return the default tags of an insight: those of all patterns that match its text,
        sorted.
        """
        tags: set[str] = set()
        for pattern in self.patterns:
            if pattern.matches(text):
                tags.update(pattern.tags)
        return tuple(sorted(tags))
