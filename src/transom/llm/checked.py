"""Checks of blocks, roles and settings at construction: each error is one line that says what to write.

They are for programs that no type checker has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from transom.canonical import Json
from transom.errors import InputError

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
Names = TypeVar("Names", bound=StrEnum)

Output: TypeAlias = "Mapping[str, Json] | type[BaseModel]"
"""The shape of answers: a JSON Schema, or a pydantic model class."""

_PROVIDER = ("name", "local", "caps", "complete", "estimate_tokens", "fingerprint", "is_current")
_LISTS = {
    "prompt": 'say Role("clerk", "You know the stock."), or give blocks: (Block("role", "...", Tier.STABLE),)',
    "sees": 'say frozenset({"role"}), with the names of the blocks that it may see',
    "providers": "say Chain((first, second))",
    "tools": "name ToolSpecs, or none: ToolDefinitions are given to the agent, Agent(role, tools=[...])",
}
_MOST_TEMPERATURE = 2.0  # of any vendor; what a model does not take is left out later


def kind_of(given: object) -> str:
    """The type of a value, for messages."""
    return f"the class {given.__name__}" if isinstance(given, type) else f"of type {type(given).__name__}"


def check_name(name: object, what: str) -> None:
    """Refuse a name that is none.

    Raises:
        InputError: it is no text, or a blank one.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"its name is {name!r:.80}", where=what, hint="give it a name in text")


def check_block(name: object, text: object) -> None:
    """Refuse a block that cannot stand under its tag.

    Raises:
        InputError: its name is none, or breaks a tag; its text is none.
    """
    check_name(name, "Block")
    if set("<>\n\r") & set(str(name)):
        what = f"its name is {name!r:.80}, and it is rendered as a tag of that name"
        raise InputError(what, where="Block", hint="leave out <, > and line breaks")
    if not isinstance(text, str):
        hint = "say it in text; what it was made from goes into data"
        raise InputError(f"its text is {kind_of(text)}", where=f"Block {name!r}", hint=hint)


def check_kind(given: object, kind: type | tuple[type, ...], field: str, where: str, hint: str = "") -> None:
    """Refuse another thing than one of a kind, or of some.

    Raises:
        InputError: it is another.
    """
    if not isinstance(given, kind):
        first = kind[0] if isinstance(kind, tuple) else kind
        what = f"what is given as {field} is {kind_of(given)}"
        raise InputError(what, where=where, hint=hint or f"say {first.__name__}(...)")


def named(given: object, kind: type[Names], where: str) -> Names:
    """One of several by its name.

    Raises:
        InputError: there is none of that name.
    """
    found = next((one for one in kind if one == given), None)
    if found is None:
        hint = f"say {' or '.join(f'{kind.__name__}.{one.name}' for one in kind)}"
        raise InputError(f"its {kind.__name__.lower()} is {given!r:.80}", where=where, hint=hint)
    return found


def listed(given: object, kind: type[T], field: str, where: str) -> tuple[T, ...]:
    """A tuple of values of one kind.

    Raises:
        InputError: it is no list of them.
    """
    hint = _LISTS[field]
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"what is given as {field} is {kind_of(given)}, and no list", where=where, hint=hint)
    held = tuple(given)
    for one in held:
        if not isinstance(one, kind):
            raise InputError(f"in {field} is something {kind_of(one)}", where=where, hint=hint)
    return held


def check_settings(max_tokens: object, temperature: object) -> None:
    """Refuse settings that no server takes.

    Raises:
        InputError: naming the one.
    """
    if type(max_tokens) is not int or max_tokens < 1:
        hint = "give a whole number from 1 on"
        raise InputError(f"max_tokens is {max_tokens!r:.80}", where="CallSettings", hint=hint)
    if temperature is not None and not (type(temperature) in (int, float) and 0 <= temperature <= _MOST_TEMPERATURE):  # type: ignore[operator]
        hint = f"give a number from 0 to {_MOST_TEMPERATURE:g}, or None for the server's own"
        raise InputError(f"temperature is {temperature!r:.80}", where="CallSettings", hint=hint)


def schema_of(output: Output | None, where: str) -> Mapping[str, Json] | None:
    """The JSON Schema that answers are to follow; None for free text.

    Raises:
        InputError: it is neither a schema nor a model class, or of that class no schema can be made.
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
        raise InputError(what, where=where, hint="give it fields that JSON has, or a schema of your own") from error
    return schema


def check_provider(given: object, where: str) -> None:
    """Refuse what cannot answer.

    Raises:
        InputError: it is no provider.
    """
    missing = [name for name in _PROVIDER if isinstance(given, type) or not hasattr(given, name)]
    if missing:
        lacks = f", which has no {' and no '.join(missing)}" if len(missing) < len(_PROVIDER) else ""
        hint = 'name one ("anthropic:NAME"), or make one (transom.llm.Provider)'
        raise InputError(f"who answers is a provider, and this is {kind_of(given)}{lacks}", where=where, hint=hint)
