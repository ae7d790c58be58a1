"""Tools from plain functions: schemas from type hints, descriptions from docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import (
    Annotated,
    Any,
    Concatenate,
    Protocol,
    TypeAlias,
    get_args,
    get_type_hints,
    overload,
)

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypeVar  # `typing` has no defaults before Python 3.13

from transom.canonical import Json
from transom.errors import ToolError
from transom.llm.checked import check_choice
from transom.llm.turns import Trust
from transom.tools.context import (
    ToolContext,
    check_deps,
    holds_context,
    misplaced_context,
    takes_context,
)
from transom.tools.definition import (
    Arguments,
    Effect,
    Handler,
    ToolDefinition,
    ToolLimits,
    ToolReturn,
)

Deps = TypeVar("Deps", default=object)
Function: TypeAlias = Callable[..., Any]
ContextFunction: TypeAlias = Callable[Concatenate[ToolContext[Deps], ...], Any]
_TERMS = ("effect", "needs_approval", "fresh", "limits", "trust", "egress", "recall")
_SECTION = re.compile(r"(Args|Arguments|Returns|Yields|Raises|Examples?|Notes?):\s*")
_ARGUMENT = re.compile(r"(\w+)(?: \([^)]*\))?:\s*(.*)")
_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class ToolDecorator(Protocol):
    """Makes a tool of a function, and tells a type checker which dependencies it needs."""

    @overload
    def __call__(self, function: ContextFunction[Deps], /) -> ToolDefinition[Deps]: ...

    @overload
    def __call__(self, function: Function, /) -> ToolDefinition: ...


@overload
def tool(function: ContextFunction[Deps], /) -> ToolDefinition[Deps]: ...


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
    trust: Trust = "untrusted",
) -> ToolDecorator: ...


def tool(function: Function | None = None, /, *, name: str = "", **terms: Any) -> Any:
    """Make a tool of a function, as `@tool` or `@tool(effect="pure")`.

    Arguments are checked against the type hints, and arrive as those types: dates, enums, models of
    pydantic. A returned value becomes JSON, unless it is text. A plain function runs in a thread, a
    coroutine in the loop. If the first parameter is a `ToolContext`, the model does not see it: the
    function gets the dependencies of its agent there. A `ToolContext` anywhere else is refused.

    Args:
        function: its docstring describes the tool; a section `Args:` in it describes each argument.
        name: of the tool; "" for the function's.
        terms: as in `ToolDefinition`: `effect`, `needs_approval`, `fresh`, `limits`, and `trust`:
            "ours" for a function whose results hold no text from outside, so that they reach the
            model without a fence around them.

    Raises:
        ToolError: not a function; a parameter without a type hint, or with a type that has no JSON
            Schema; a `ToolContext` that is not the first parameter; an unknown term.
        InputError: an unknown effect.
    """
    if unknown := [term for term in terms if term not in _TERMS]:
        hint = f"it takes name, {', '.join(_TERMS)}"
        raise ToolError(f"@tool has no term {', '.join(unknown)}", place=name or None, hint=hint)
    if "effect" in terms:
        check_choice(terms["effect"], get_args(Effect), "effect", name or "@tool")
    if function is not None:
        return _tool_of(function, name, terms)
    return lambda decorated: _tool_of(decorated, name, terms)


def as_tools(tools: Sequence[ToolDefinition[Any] | Function]) -> list[ToolDefinition[Any]]:
    """Return definitions unchanged, and plain functions as tools; ToolError for anything else."""
    definitions = []
    for entry in tools:
        if isinstance(entry, ToolDefinition):
            definitions.append(entry)
        else:
            definitions.append(_tool_of(entry, "", {}))
    return definitions


def _tool_of(function: Any, name: str, terms: dict[str, Any]) -> ToolDefinition:
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        raise ToolError(
            f"a tool is a function or a ToolDefinition, and this is {function!r:.80}",
            place="tools",
            hint="give the function itself, tools=[count]; for a role, SubAgent(...)",
        )
    name = name or function.__name__
    description, argument_texts = _documented(inspect.getdoc(function) or "")
    hints, parameters = _signature(function, name)
    context_hint = takes_context(hints, parameters, name)
    if context_hint is not None:
        del parameters[0]
    model, parameter_names = _model(name, hints, parameters, argument_texts)
    schema = model.model_json_schema(schema_generator=_Untitled)
    del schema["title"]

    def typed_arguments(arguments: Arguments) -> dict[str, Any]:
        values = model.model_validate(arguments)
        # The function fills in its own defaults, which may be no JSON.
        typed = {}
        for field, parameter_name in parameter_names.items():
            if field in values.model_fields_set:
                typed[parameter_name] = getattr(values, field)
        return typed

    def handler_of(work: Function) -> Handler:
        async def handle_async(arguments: Arguments) -> Any:
            return _returned(await work(**typed_arguments(arguments)))

        def handle(arguments: Arguments) -> Json | ToolReturn:
            return _returned(work(**typed_arguments(arguments)))

        return handle_async if inspect.iscoroutinefunction(function) else handle

    def bind(deps: object) -> Handler:
        check_deps(deps, context_hint, name)
        return handler_of(partial(function, ToolContext(deps)))

    if context_hint is not None:
        terms["binds"] = bind
    description = description or name.replace("_", " ")
    terms["checks"] = partial(_problems, model)
    return ToolDefinition(name, description, schema, handler_of(function), **terms)


def _problems(model: type[BaseModel], arguments: Arguments) -> list[str]:
    """Return what is wrong with arguments; [] for valid ones."""
    problems: list[str] = []
    try:
        model.model_validate(arguments)
    except ValidationError as error:
        for row in error.errors()[:5]:
            problems.append(f"{'.'.join(map(str, row['loc']))}: {row['msg']}")
    return problems


def _signature(function: Function, name: str) -> tuple[dict[str, Any], list[inspect.Parameter]]:
    """Return the type hints of a function, and its parameters."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ToolError(
            f"its type hints cannot be read: {error}", place=name, hint="import what they name"
        ) from error
    return hints, list(inspect.signature(function).parameters.values())


def _model(
    name: str,
    hints: dict[str, Any],
    parameters: Sequence[inspect.Parameter],
    argument_texts: dict[str, str],
) -> tuple[type[BaseModel], dict[str, str]]:
    """Return the model that checks arguments, and field name -> parameter name."""
    # Fields are numbered: a parameter may have a name that pydantic keeps for itself.
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for number, parameter in enumerate(parameters):
        parameter_name = parameter.name
        if parameter.kind in _ANY_NUMBER or parameter.kind is parameter.POSITIONAL_ONLY:
            hint = "a model names each argument: write them out, each with its type"
            raise ToolError(
                f"its parameter {parameter} cannot be given by name", place=name, hint=hint
            )
        if parameter_name not in hints:
            problem = f"its parameter {parameter_name} has no type hint"
            hint = f"write its type: def {name}({parameter_name}: str, ...)"
            raise ToolError(problem, place=name, hint=hint)
        default = ... if parameter.default is parameter.empty else parameter.default
        field = f"field_{number}"
        names[field] = parameter_name
        attributes: Any = {"alias": parameter_name}
        # Without a text in the docstring, a description in the type hint stays.
        if parameter_name in argument_texts:
            attributes["description"] = argument_texts[parameter_name]
        fields[field] = (Annotated[hints[parameter_name], Field(**attributes)], default)
    try:
        model: type[BaseModel] = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except PydanticUserError as error:  # a type has no JSON Schema
        reason = str(error).partition(". ")[0]
        raise ToolError(
            f"no schema can be made of its type hints: {reason}",
            place=name,
            hint="use types that JSON has",
        ) from error
    if holds_context(model.__pydantic_core_schema__):
        raise misplaced_context(name, "its parameters")
    return model, names


def _returned(value: Any) -> Json | ToolReturn:
    if isinstance(value, ToolReturn):
        return value
    try:
        content: Json = to_jsonable_python(value)
    except PydanticSerializationError:
        return value  # type: ignore[no-any-return]  # the toolbox reports that it is not JSON
    return content


class _Untitled(GenerateJsonSchema):
    """Schemas without the titles that pydantic makes of field names, which tell a model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  pydantic's signature
        return False


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """Return the text of a docstring before its sections, and the text of each argument.

    Source: the Google style of docstrings, with arguments in a section `Args:`.
    """
    description: list[str] = []
    argument_texts: dict[str, str] = {}
    section, name, depth = "", "", 0
    for line in text.splitlines():
        if header := _SECTION.fullmatch(line):
            section = header[1]
        elif not section:
            description.append(line)
        elif section.startswith("Arg") and line.strip():
            argument = _ARGUMENT.fullmatch(line.strip())
            indent = len(line) - len(line.lstrip())
            # A line that is indented more goes on with the argument before, even with a colon.
            if argument and (not argument_texts or indent <= depth):
                name, depth = argument[1], indent
                argument_texts[name] = argument[2]
            elif name:
                argument_texts[name] += f" {line.strip()}"
    return "\n".join(description).strip(), argument_texts
