"""Answers: how one that follows a JSON Schema is requested, checked and repaired, and what ends
one in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from transom.canonical import Json, canonical_json
from transom.errors import InputError, ProviderError, ReplyError
from transom.llm.capabilities import Capabilities
from transom.llm.checked import Output, check_kind
from transom.llm.deltas import Again
from transom.llm.reading import read_json
from transom.llm.render import render_block
from transom.llm.reply import Reply
from transom.llm.shapes import Block, Request
from transom.llm.turns import AssistantMessage, ToolResults, UserMessage

SCHEMA_BLOCK = "answer_schema"
_MOST_COMPLAINTS = 5
VOID = Again("the answer does not follow its schema")
CUT_OFF = Again("it broke off before it was whole")
GO_ON = UserMessage("You have said nothing. Please go on.")
"""Sent once to a model that stopped without any text."""
_ASKED = "Answer with one JSON value that follows this JSON Schema, and with nothing else:\n{}"
_UNUSABLE = "Your last answer cannot be used:"
_WRONG = f"{_UNUSABLE}\n{{}}\nGive the whole answer again, as one JSON value and nothing else."
_OLD = f"{_UNUSABLE} it does not follow what was asked for then. Give the whole answer again."


@dataclass(frozen=True)
class Complaint:
    """One violation of the schema by an answer, and where; `text` quotes the answer, `bare` does
    not.
    """

    text: str
    bare: str


Check = Callable[[Json], list[Complaint]]


def shown(request: Request, caps: Capabilities) -> Request:
    """The request for a model of such capabilities: with the schema in a block where its server
    does not enforce it.
    """
    return request if request.output is None or is_held(request, caps) else in_words(request)


def is_held(request: Request, caps: Capabilities) -> bool:
    """Whether its server enforces the schema and still lets the model call tools."""
    able = caps.structured_output and (caps.structured_with_tools or not request.tools)
    return able and request.output is not None


def in_words(request: Request) -> Request:
    """The request with the schema of its answer in a block; unchanged where it has no schema, or
    has the block.
    """
    if request.output is None or any(block.name == SCHEMA_BLOCK for block in request.window.blocks):
        return request
    block = Block(SCHEMA_BLOCK, _ASKED.format(canonical_json(dict(request.output))))
    return replace(request, window=replace(request.window, blocks=(*request.window.blocks, block)))


def is_mending_what_tools_found(request: Request) -> bool:
    """Whether it asks for the repair of an answer for which tools were called, so that none has to
    be called any more.

    Where none was, the answer may have been a call that went wrong; who must then answer makes
    something up.
    """
    *before, last = request.window.turns or (None,)
    if not isinstance(last, UserMessage) or not last.text.startswith(_UNUSABLE):
        return False
    others = [one for one in before if not isinstance(one, AssistantMessage)]
    return bool(others) and isinstance(others[-1], ToolResults)


def schema_text(schema: Mapping[str, Json]) -> str:
    """The text that a schema adds to a window: servers that enforce a schema read it as well."""
    return render_block(Block(SCHEMA_BLOCK, _ASKED.format(canonical_json(dict(schema)))))


def repair_text(wrong: Sequence[Complaint]) -> str:
    """The message to a model whose answer does not follow its schema; `wrong` is empty where
    that was another one.
    """
    return _WRONG.format("\n".join(f"- {one.text}" for one in wrong)) if wrong else _OLD


def complaints(reply: Reply, held: Check) -> list[Complaint]:
    """The violations of an answer by a check; [] where there are none, or where the reply is no
    answer.
    """
    if reply.calls or reply.stop != "end":
        return []
    try:
        value = read_json(reply.text)
    except ValueError as error:
        return [Complaint(what := f"it is no JSON: {error}", what)]
    return held(value)


def schema_check(schema: Mapping[str, Json]) -> Check:
    """A function that says where a value departs from a JSON Schema (2020-12), at five places at
    most; [] for none.

    Raises:
        InputError: the schema itself is none, or leads to one that is not in it; the latter is
            found by the function.
    """
    import jsonschema  # noqa: PLC0415  (only where a schema is to be followed)
    from referencing import Registry  # noqa: PLC0415  only where there is a schema
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  only where there is a schema

    where = "the schema of the answer"
    check_kind(schema, Mapping, "output", where)
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        raise InputError(f"no JSON Schema: {error.message}", where=where) from error
    # An own registry: the library's default one would fetch a remote `$ref`.
    validator = jsonschema.Draft202012Validator(dict(schema), registry=Registry())

    def held(value: Json) -> list[Complaint]:
        try:
            found = sorted(
                validator.iter_errors(value),
                key=lambda error: [str(step) for step in error.absolute_path],
            )
        except Unresolvable as error:
            raise InputError(
                f"{error}", where=where, hint="put what it refers to into $defs"
            ) from error
        except RecursionError:
            return [
                Complaint(
                    what := "$: it is nested too deeply, or its schema refers to itself for ever",
                    what,
                )
            ]
        return [
            Complaint(_said(error), f"it breaks {_place(error.absolute_schema_path)}")
            for error in found[:_MOST_COMPLAINTS]
        ]

    return held


def answer_read(text: str, output: Output) -> Any:
    """An answer as data, by its schema or as the model class that has it; ReplyError where it is
    none for that.
    """
    try:
        value = read_json(text)
        return value if isinstance(output, Mapping) else output.model_validate_json(text)
    except ValueError as error:  # pydantic's, too
        listed: list[Any] = getattr(error, "errors", list)()[:_MOST_COMPLAINTS]
        errors = [
            f"{'.'.join(map(str, one['loc'])) or 'all of it'}: {one['msg']}" for one in listed
        ]
        what = f"the answer is no {'JSON' if isinstance(output, Mapping) else output.__name__}"
        raise ReplyError(
            f"{what}: {'; '.join(errors) or error}", hint="ask again, and say what is wrong"
        ) from error


def _said(error: Any) -> str:
    """Place and message of an error; for `anyOf` and the like, the errors of each alternative."""
    inner = "; ".join(_said(one) for one in error.context[:_MOST_COMPLAINTS])
    return f"{error.json_path}: {error.message[:300]}{f' ({inner})' if inner else ''}"


def _place(path: Iterable[str | int]) -> str:
    """A path in a schema, for messages."""
    return "/".join(["#", *map(str, path)])


def paused(by: str) -> ProviderError:
    """The error for a server that paused in the middle of an answer; only servers with tools of
    their own do.
    """
    what = "its server paused in the middle of an answer, as it does for tools of its own"
    return ProviderError(what, where=by, hint="give it no such tools, or choose another model")


def answer_in_vain(wrong: Sequence[Complaint], role: str) -> ReplyError:
    """The error for a repair that does not follow the schema either; it quotes the first
    complaint.
    """
    what = "the answer does not follow its schema, nor does its repair"
    first = wrong[0] if wrong else Complaint("it is not whole", "it is not whole")
    return ReplyError(f"{what}: {first.text}", where=role, bare=f"{what}: {first.bare}")
