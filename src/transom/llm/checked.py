"""Checks of a program's arguments: each error is one line that says what to write.

They are for programs that no type checker has seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, TypeAlias, TypeVar

from transom.canonical import Json
from transom.errors import InputError

T = TypeVar("T")

Output: TypeAlias = Mapping[str, Json] | type[Any]
"""The shape of answers: a JSON Schema, a pydantic model class, or a dataclass."""

_PROVIDER = ("name", "local", "caps", "complete", "estimate_tokens", "fingerprint", "is_current")


def kind_of(value: object) -> str:
    """Return the type of a value, for messages."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


def check_name(name: object, place: str) -> None:
    """Refuse a name that cannot be a tag: no text, a blank text, or one that breaks the tag.

    Args:
        name: the name to check.
        place: the object that has the name, for the message.

    Raises:
        InputError: the name cannot be a tag.
    """
    # The name stands between < and > in a request.
    if not isinstance(name, str) or not name.strip() or set("<>\n\r") & set(name):
        hint = "give it a name in text, without <, > and line breaks"
        raise InputError(f"its name is {name!r:.80}", place=place, hint=hint)


def check_kind(
    value: object, kind: type | tuple[type, ...], field: str, place: str, hint: str = ""
) -> None:
    """Refuse a value of any other type than `kind` with an InputError."""
    if not isinstance(value, kind):
        first = kind[0] if isinstance(kind, tuple) else kind
        problem = f"the value of {field} is {kind_of(value)}"
        raise InputError(problem, place=place, hint=hint or f"write {first.__name__}(...)")


def check_choice(value: object, choices: Sequence[object], field: str, place: str) -> None:
    """Refuse a value that is not among the choices with an InputError."""
    # A misspelled mark would otherwise be ignored, and local text leave the machine.
    if value not in choices:
        hint = f"write {' or '.join(map(repr, choices))}"
        raise InputError(f"its {field} is {value!r:.80}", place=place, hint=hint)


def tuple_of(value: object, kind: type[T], field: str, place: str, hint: str = "") -> tuple[T, ...]:
    """Return the values of an iterable as a tuple; InputError if they are not all of one kind."""
    # Text and mappings are iterable, but somebody who passes one forgot the brackets.
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        problem = f"the value of {field} is {kind_of(value)}, not a list"
        raise InputError(problem, place=place, hint=hint or f"write [{kind.__name__}(...)]")
    elements = tuple(value)
    for element in elements:
        check_kind(element, kind, f"an element of {field}", place, hint)
    return elements


def schema_of(output: Output | None, place: str) -> Mapping[str, Json] | None:
    """Return the JSON Schema that answers must follow, or None for free text.

    Raises:
        InputError: `output` is neither a schema nor a model class that has one.
    """
    model: Any = output
    if model is None or isinstance(model, Mapping):
        return model
    # Hosted models take schemas of objects only, so that no other type can be an output.
    is_class = isinstance(model, type)
    if not is_class or not (hasattr(model, "model_json_schema") or is_dataclass(model)):
        hint = "give a JSON Schema, a pydantic model class, a dataclass, or None for free text"
        raise InputError(f"its output is {kind_of(model)}", place=place, hint=hint)
    from pydantic import TypeAdapter  # noqa: PLC0415  only where there is a schema

    try:
        schema: Mapping[str, Json] = TypeAdapter(model).json_schema()
    except Exception as error:  # pydantic raises a dozen kinds
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"no JSON Schema can be made of {kind_of(model)}: {reason}",
            place=place,
            hint="give it fields that JSON has, or a schema of your own",
        ) from error
    return schema


def check_provider(value: object, place: str) -> None:
    """Refuse a value that is not a provider with an InputError."""
    missing = [name for name in _PROVIDER if not hasattr(value, name)]
    if isinstance(value, type) or missing:
        hint = 'name one ("anthropic:NAME"), or derive one from transom.llm.Provider'
        problem = f"a provider is expected, and this is {kind_of(value)}"
        # A class of one's own that only forgot its name, for example.
        if 0 < len(missing) < len(_PROVIDER):
            problem += f", which lacks {', '.join(missing)}"
        raise InputError(problem, place=place, hint=hint)
