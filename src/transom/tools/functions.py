"""Tools from plain functions: the schema from the type hints, the description from the
docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from transom.canonical import Json
from transom.errors import ToolError
from transom.tools.definition import (
    Arguments,
    Effect,
    Handler,
    ToolDefinition,
    ToolLimits,
    ToolReturn,
)

Function: TypeAlias = Callable[..., Any]
_SECTION = re.compile(r"(Args|Arguments|Returns|Yields|Raises|Examples?|Notes?):\s*")
_ARGUMENT = re.compile(r"(\w+)(?: \([^)]*\))?:\s*(.*)")
_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@overload
def tool(function: Function, /) -> ToolDefinition: ...


@overload
def tool(
    *,
    name: str = "",
    effect: Effect = "unknown",
    needs_approval: bool = False,
    fresh: bool = False,
    limits: ToolLimits = ...,
) -> Callable[[Function], ToolDefinition]: ...


def tool(function: Function | None = None, /, *, name: str = "", **terms: Any) -> Any:
    """Make a tool of a function, as `@tool` or `@tool(effect="pure")`.

    Arguments are checked against the type hints, and come as what these say: dates, enums, models
    of pydantic. What the function returns becomes JSON where it is no text. A plain function runs
    in a thread, a coroutine in the loop.

    Args:
        function: its docstring says what it does; a section `Args:` in it says what each argument
            is.
        name: of the tool; the function's where "".
        terms: as in `ToolDefinition`: `effect`, `needs_approval`, `fresh`, `limits`.

    Raises:
        ToolError: no function; a parameter without a type hint, or with one that JSON has no schema
            for.
    """
    if function is not None:
        return _made(function, name, terms)
    return lambda given: _made(given, name, terms)


def as_tools(given: Sequence[ToolDefinition | Function]) -> list[ToolDefinition]:
    """Tools as they are, and those that plain functions become; ToolError for anything else."""
    return [one if isinstance(one, ToolDefinition) else _made(one, "", {}) for one in given]


def _made(function: Any, name: str, terms: dict[str, Any]) -> ToolDefinition:
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        what = f"a tool is a function or a ToolDefinition, and this is {function!r:.80}"
        raise ToolError(
            what,
            where="tools",
            hint="give the function itself, tools=[count]; for a role, SubAgent(...)",
        )
    name = name or function.__name__
    described, about = _documented(inspect.getdoc(function) or "")
    model, names = _model(function, name, about)
    schema = model.model_json_schema(schema_generator=_Untitled)
    del schema["title"]

    def checks(arguments: Arguments) -> list[str]:
        try:
            model.model_validate(arguments)
        except ValidationError as error:
            return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5]]
        return []

    def checked(arguments: Arguments) -> dict[str, Any]:
        values = model.model_validate(arguments)
        return {
            given: getattr(values, field)
            for field, given in names.items()
            if field in values.model_fields_set
        }

    async def awaited(arguments: Arguments) -> Any:
        return _returned(await function(**checked(arguments)))

    def called(arguments: Arguments) -> Json | ToolReturn:
        return _returned(function(**checked(arguments)))

    handler: Handler = called
    if inspect.iscoroutinefunction(function):
        handler = awaited
    return ToolDefinition(
        name, described or name.replace("_", " "), schema, handler, checks=checks, **terms
    )


def _model(
    function: Function, name: str, about: dict[str, str]
) -> tuple[type[BaseModel], dict[str, str]]:
    """The model that checks arguments, and field name -> parameter name; field names cannot
    clash with pydantic's.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolError(
            f"its type hints cannot be read: {error}", where=name, hint="import what they name"
        ) from error
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for number, (given, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if parameter.kind in _ANY_NUMBER or parameter.kind is parameter.POSITIONAL_ONLY:
            hint = "a model names each argument: write them out, each with its type"
            raise ToolError(
                f"its parameter {parameter} cannot be given by name", where=name, hint=hint
            )
        if given not in hints:
            hint = f"write its type: def {name}({given}: str, ...)"
            raise ToolError(f"its parameter {given} has no type hint", where=name, hint=hint)
        default = ... if parameter.default is parameter.empty else parameter.default
        names[f"field_{number}"] = given
        # else what its type hint says
        described: Any = {"description": about[given]} if given in about else {}
        fields[f"field_{number}"] = (
            Annotated[hints[given], Field(alias=given, **described)],
            default,
        )
    try:
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except PydanticUserError as error:  # of a type that is none of JSON's
        reason = str(error).partition(". ")[0]
        raise ToolError(
            f"no schema can be made of its type hints: {reason}",
            where=name,
            hint="use types that JSON has",
        ) from error
    return model, names


def _returned(value: Any) -> Json | ToolReturn:
    if isinstance(value, ToolReturn):
        return value
    try:
        found: Json = to_jsonable_python(value)
    except PydanticSerializationError:
        return value  # type: ignore[no-any-return]  # the toolbox reports that it is no JSON
    return found


class _Untitled(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes of the names of fields: they are of no use
    to a model.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  pydantic's signature
        return False


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """The text of a docstring before its sections, and the text of each argument in `Args:`, in
    Google style.
    """
    described: list[str] = []
    about: dict[str, str] = {}
    section, last, depth = "", "", 0
    for line in text.splitlines():
        if header := _SECTION.fullmatch(line):
            section = header[1]
        elif not section:
            described.append(line)
        elif section.startswith("Arg") and line.strip():
            found = _ARGUMENT.fullmatch(line.strip())
            indent = len(line) - len(line.lstrip())
            if found and (not about or indent <= depth):
                last, depth = found[1], indent
                about[last] = found[2]
            elif last:
                about[last] += f" {line.strip()}"
    return "\n".join(described).strip(), about
