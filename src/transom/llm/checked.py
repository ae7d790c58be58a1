"""Checks of what a program gives: each error is one line that says what to write.

They are for programs that no type checker has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from transom.canonical import Json
from transom.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")

Output: TypeAlias = "Mapping[str, Json] | type[BaseModel]"
"""The shape of answers: a JSON Schema, or a pydantic model class."""

_PROVIDER = ("name", "local", "caps", "complete", "estimate_tokens", "fingerprint", "is_current")


def kind_of(given: object) -> str:
    """The type of a value, for messages."""
    return (
        f"the class {given.__name__}"
        if isinstance(given, type)
        else f"of type {type(given).__name__}"
    )


def check_name(name: object, where: str) -> None:
    """Refuse a name that cannot be a tag with an InputError: no text, a blank one, or one that
    would break the tag.
    """
    if not isinstance(name, str) or not name.strip() or set("<>\n\r") & set(name):
        hint = "give it a name in text, without <, > and line breaks"
        raise InputError(f"its name is {name!r:.80}", where=where, hint=hint)


def check_kind(
    given: object, kind: type | tuple[type, ...], field: str, where: str, hint: str = ""
) -> None:
    """Refuse another thing than one of a kind, or of some, with an InputError."""
    if not isinstance(given, kind):
        first = kind[0] if isinstance(kind, tuple) else kind
        what = f"what is given as {field} is {kind_of(given)}"
        raise InputError(what, where=where, hint=hint or f"say {first.__name__}(...)")


def check_choice(given: object, choices: Sequence[object], field: str, where: str) -> None:
    """Refuse what is none of several words with an InputError: a misspelled mark would mark
    nothing.
    """
    if given not in choices:
        hint = f"say {' or '.join(map(repr, choices))}"
        raise InputError(f"its {field} is {given!r:.80}", where=where, hint=hint)


def listed(given: object, kind: type[T], field: str, where: str, hint: str = "") -> tuple[T, ...]:
    """A tuple of values of one kind; InputError where it is no list of them."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        what = f"what is given as {field} is {kind_of(given)}, and no list"
        raise InputError(what, where=where, hint=hint or f"say [{kind.__name__}(...)]")
    held = tuple(given)
    for one in held:
        check_kind(one, kind, f"one of {field}", where, hint)
    return held


def schema_of(output: Output | None, where: str) -> Mapping[str, Json] | None:
    """The JSON Schema that answers are to follow, None for free text; InputError where none can
    be made.
    """
    given: Any = output
    if given is None or isinstance(given, Mapping):
        return given
    if not isinstance(given, type) or not hasattr(given, "model_json_schema"):
        hint = "give a JSON Schema, a pydantic model class, or None for free text"
        raise InputError(f"its output is {kind_of(given)}", where=where, hint=hint)
    try:
        schema: Mapping[str, Json] = given.model_json_schema()
    except Exception as error:  # of pydantic, which has a dozen kinds of it
        what = f"no JSON Schema can be made of {kind_of(given)}: {str(error).partition(chr(10))[0]}"
        raise InputError(
            what, where=where, hint="give it fields that JSON has, or a schema of your own"
        ) from error
    return schema


def check_provider(given: object, where: str) -> None:
    """Refuse what is no provider with an InputError."""
    if isinstance(given, type) or not all(hasattr(given, name) for name in _PROVIDER):
        hint = 'name one ("anthropic:NAME"), or derive one from transom.llm.Provider'
        raise InputError(
            f"who answers is a provider, and this is {kind_of(given)}", where=where, hint=hint
        )
