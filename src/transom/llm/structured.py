"""Structured answers: how an answer that follows a JSON Schema is requested, checked and repaired,
and the errors of answers that cannot be repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from transom.canonical import Json, canonical_json, compact_json
from transom.errors import InputError, ProviderError, ReplyError
from transom.llm.capabilities import Capabilities
from transom.llm.checked import Output, check_kind
from transom.llm.deltas import Again
from transom.llm.render import render_block
from transom.llm.reply import Reply
from transom.llm.shapes import Block, Request
from transom.llm.strict_json import read_json, unfenced
from transom.llm.turns import AssistantMessage, ToolResults, UserMessage

SCHEMA_BLOCK = "answer_schema"
_MOST_COMPLAINTS = 5
VOID = Again("the answer does not follow its schema")
CUT_OFF = Again("it broke off before it was whole")
GO_ON = UserMessage("You have said nothing. Please go on.")
"""Sent once to a model that stopped without any text."""
_REQUEST = "Answer with one JSON value that follows this JSON Schema, and with nothing else:\n{}"
_UNUSABLE = "Your last answer cannot be used:"
_WRONG = f"{_UNUSABLE}\n{{}}\nGive the whole answer again, as one JSON value and nothing else."
_OLD = f"{_UNUSABLE} it does not follow the schema of its request. Give the whole answer again."


@dataclass(frozen=True)
class Complaint:
    """A violation of the schema by an answer; `text` quotes the answer, `bare` does not."""

    text: str
    bare: str


Check = Callable[[Json], list[Complaint]]


def with_visible_schema(request: Request, caps: Capabilities) -> Request:
    """Return the request with its schema in a block, unless the model's server enforces it."""
    if request.output is None or is_enforced(request, caps):
        return request
    return with_schema_block(request)


def is_enforced(request: Request, caps: Capabilities) -> bool:
    """Return whether the server enforces the request's schema and still allows tool calls."""
    if request.output is None or not caps.structured_output:
        return False
    return caps.structured_with_tools or not request.tools


def with_schema_block(request: Request) -> Request:
    """Return the request with the schema of its answer in a block.

    A request without a schema, or with the block, is returned unchanged.
    """
    blocks = request.window.blocks
    if request.output is None or any(block.name == SCHEMA_BLOCK for block in blocks):
        return request
    blocks = (*blocks, _schema_block(request.output))
    return replace(request, window=replace(request.window, blocks=blocks))


def is_repair_after_tools(request: Request) -> bool:
    """Return whether a request asks to repair an answer that rests on tool results.

    Such a repair needs no further call, so the schema may be enforced for the whole reply.
    """
    turns = request.window.turns
    if not turns:
        return False
    last = turns[-1]
    if not isinstance(last, UserMessage) or not last.text.startswith(_UNUSABLE):
        return False
    for turn in reversed(turns[:-1]):
        # Without tool results, the answer may have been a call that went wrong. A model that must
        # not call then makes something up.
        if not isinstance(turn, AssistantMessage):
            return isinstance(turn, ToolResults)
    return False


def _schema_block(schema: Mapping[str, Json]) -> Block:
    return Block(SCHEMA_BLOCK, _REQUEST.format(canonical_json(dict(schema))))


def schema_text(schema: Mapping[str, Json]) -> str:
    """Return the text that a schema adds to a window; servers that enforce it read it as well."""
    return render_block(_schema_block(schema))


def repair_text(violations: Sequence[Complaint]) -> str:
    """Return the message to a model whose answer does not follow its schema.

    Args:
        violations: of the answer; empty if it was an answer to another schema.
    """
    if not violations:
        return _OLD
    return _WRONG.format("\n".join([f"- {complaint.text}" for complaint in violations]))


def complaints(reply: Reply, check: Check) -> list[Complaint]:
    """Return the violations of an answer by a check; [] if the reply is not a whole answer."""
    if reply.calls or reply.stop != "end":
        return []
    try:
        value = read_json(reply.text)
    except ValueError as error:
        problem = f"it is not JSON: {error}"
        return [Complaint(problem, problem)]
    return check(value)


def schema_check(schema: Mapping[str, Json]) -> Check:
    """Return a function that lists where a value departs from a JSON Schema (2020-12).

    The function names five places at most.

    Raises:
        InputError: the schema is not valid. A reference that leads nowhere is raised by the
            function.
    """
    import jsonschema  # noqa: PLC0415  (only where a schema is to be followed)
    from referencing import Registry  # noqa: PLC0415  only where there is a schema
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  only where there is a schema

    place = "the schema of the answer"
    check_kind(schema, Mapping, "output", place)
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        raise InputError(f"no JSON Schema: {error.message}", place=place) from error
    # An own registry: the library's default one would fetch a remote `$ref`.
    validator = jsonschema.Draft202012Validator(dict(schema), registry=Registry())

    def check(value: Json) -> list[Complaint]:
        try:
            errors = sorted(validator.iter_errors(value), key=_path_of_error)
        except Unresolvable as error:
            hint = "put what it refers to into $defs"
            raise InputError(f"{error}", place=place, hint=hint) from error
        except RecursionError:
            problem = "$: it is nested too deeply, or its schema refers to itself for ever"
            return [Complaint(problem, problem)]
        violations = []
        for violation in errors[:_MOST_COMPLAINTS]:
            rule = "/".join(["#", *map(str, violation.absolute_schema_path)])
            violations.append(Complaint(_error_text(violation), f"it breaks {rule}"))
        return violations

    return check


def answer_check(output: Output, schema: Mapping[str, Json], place: str) -> Check:
    """Return a function that lists where an answer departs from a schema or from a class.

    A class may check more than its schema says: its validators are run for an answer that follows
    the schema.

    Args:
        output: the class, or the schema itself.
        schema: its schema.
        place: the role, for errors.

    Raises:
        InputError: as `schema_check`. A class whose validator fails with another error than
            pydantic's is raised by the function.
    """
    by_schema = schema_check(schema)
    if isinstance(output, Mapping):
        return by_schema
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  only where there is a schema

    adapter = TypeAdapter(output)
    name = output.__name__

    def check(value: Json) -> list[Complaint]:
        if violations := by_schema(value):
            return violations
        try:
            adapter.validate_json(compact_json(value))
        except ValidationError as error:
            bare = f"{name} refuses it"
            return [Complaint(row, bare) for row in _rows_of(error)]
        except Exception as error:  # a validator of the user's may raise anything
            problem = f"{name} cannot check an answer: its validator raised {type(error).__name__}"
            hint = "raise ValueError in it for a wrong answer"
            raise InputError(problem, place=place, hint=hint) from error
        return []

    return check


def _rows_of(error: ValueError) -> list[str]:
    """Return the errors that pydantic lists, each with its field; [] for another error."""
    rows = []
    for row in getattr(error, "errors", list)()[:_MOST_COMPLAINTS]:
        field = ".".join(map(str, row["loc"])) or "all of it"
        rows.append(f"{field}: {row['msg']}")
    return rows


def _path_of_error(error: Any) -> list[str]:
    return [str(step) for step in error.absolute_path]


def _error_text(error: Any) -> str:
    """Return place and message of an error, with the errors of each alternative of an `anyOf`."""
    text = f"{error.json_path}: {error.message[:300]}"
    inner = "; ".join([_error_text(cause) for cause in error.context[:_MOST_COMPLAINTS]])
    return f"{text} ({inner})" if inner else text


def answer_read(text: str, output: Output) -> Any:
    """Return an answer as data, or as an instance of the class that it follows.

    Raises:
        ReplyError: the text is not JSON, or not data of the class.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415  only where there is a schema

    try:
        value = read_json(text)
        if isinstance(output, Mapping):
            return value
        return TypeAdapter(output).validate_json(unfenced(text))
    except ValueError as error:
        reasons = _rows_of(error)
        kind = "JSON" if isinstance(output, Mapping) else output.__name__
        raise ReplyError(
            f"the answer is no {kind}: {'; '.join(reasons) or error}",
            hint="ask again, and name what is wrong",
        ) from error


def paused(provider: str) -> ProviderError:
    """Return the error for a server that paused in the middle of an answer.

    Only servers with tools of their own do so.
    """
    problem = "its server paused in the middle of an answer, as it does for tools of its own"
    hint = "give it no such tools, or choose another model"
    return ProviderError(problem, place=provider, hint=hint)


def failed_repair(violations: Sequence[Complaint], role: str) -> ReplyError:
    """Return the error for a repair that does not follow the schema either.

    It quotes the violations.
    """
    problem = "the answer does not follow its schema, nor does its repair"
    # Without a violation, the repair was cut off.
    whole = violations or [Complaint("it is not whole", "it is not whole")]
    text = "; ".join([complaint.text for complaint in whole])
    bare = "; ".join(dict.fromkeys([complaint.bare for complaint in whole]))
    return ReplyError(f"{problem}: {text}", place=role, bare=f"{problem}: {bare}")
