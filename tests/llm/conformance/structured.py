"""Answers that follow a schema: what each server is sent of it, with tools and without, and what
comes of that.

The server does as the real ones do. Anthropic's refuses keywords that it does not know, OpenAI's
refuses them where it is to be strict, Ollama's calls no tool where it holds a reply to a schema,
and of compatible ones some refuse a schema beside tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.llm.conformance.dialects import DIALECTS, Dialect, OpenAI, Part
from tests.llm.conformance.harness import LOOK, PATIENT
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.agent import Agent
from transom.canonical import Json
from transom.errors import ReplyError, TransomError
from transom.llm import Chain, Role, Text, ToolCallPart, ToolSpec
from transom.llm.retrying import RetryingProvider
from transom.llm.structured import SCHEMA_BLOCK
from transom.tools import ToolDefinition

Schema = dict[str, Json]
COUNT: Schema = {
    "type": "object",
    "properties": {"left": {"type": "integer"}},
    "required": ["left"],
}
BOUNDED: Schema = {
    "type": "object",
    "properties": {"left": {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}},
    "required": ["left"],
}
TABLE: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
DECIMAL: Schema = {
    "type": "object",
    "properties": {
        "left": {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"},
                {"type": "string", "pattern": "[0-9]"},
                {"type": "string", "pattern": r"^(?:\d+)$"},
            ]
        }
    },
    "required": ["left"],
}
"""The first pattern is that of a decimal number, as pydantic writes it."""
CALL, GOOD, BAD, MADE_UP = (
    ToolCallPart("call_1", "look", {"at": "a"}),
    Text('{"left": 7}'),
    Text("seven"),
    Text('{"left": 0}'),
)
_REPAIR = "Your last answer cannot be used"
_REFUSED = {"minimum", "oneOf", "default"}
"""Keywords of these schemas that are in nobody's subset; OpenAI's has the first."""


SEARCH = ToolSpec(
    LOOK.name,
    LOOK.description,
    {
        "type": "object",
        "properties": {
            "at": {"type": "string", "pattern": "(?=.)a"},
            "pattern": {"type": "string"},
        },
    },
)


class Compatible(OpenAI):
    """A server that speaks like OpenAI, and of which nothing is known; it takes no schema beside
    tools.
    """

    title = "compatible"
    service = ""


ADAPTERS: tuple[Dialect, ...] = (*DIALECTS, Compatible())


@dataclass(frozen=True)
class Asking:
    """A row of the table.

    Attributes:
        name: what is asked, and how it is answered.
        schema: of the answer.
        says: what the model says, reply by reply, where its server leaves it free to.
        sent: adapter -> how each request tells of the schema: `schema` or `strict`, and `words`;
            then `tools` where it offers some, and `repair` where it asks for one.
        tools: what may be called.
        fails: no answer follows the schema.
    """

    name: str
    schema: Schema
    says: tuple[Part, ...]
    sent: Mapping[str, tuple[str, ...]]
    tools: tuple[ToolSpec, ...] = ()
    fails: bool = False


def _all(*sent: str, strict: bool = True, **others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """What the adapters send: the same, but strictly where they speak like OpenAI; or what is
    said otherwise.
    """
    strictly = tuple(one.replace("schema", "strict") for one in sent) if strict else sent
    return {"anthropic": sent, "openai": strictly, "ollama": sent, "compatible": strictly, **others}


_WORDS = ("words tools", "words tools")
ASKINGS: tuple[Asking, ...] = (
    Asking("structured answer", COUNT, (GOOD,), _all("schema")),
    Asking(
        "structured answer, with bounds and variants",
        BOUNDED,
        (GOOD,),
        _all("schema", strict=False),
    ),
    Asking(
        "structured answer, a table",
        TABLE,
        (GOOD,),
        _all("schema", strict=False, anthropic=("words",)),
    ),
    Asking(
        "structured answer with tools",
        COUNT,
        (CALL, GOOD),
        _all("schema tools", "schema tools", ollama=_WORDS, compatible=_WORDS),
        (LOOK,),
    ),
    Asking("structured answer, with patterns", DECIMAL, (GOOD,), _all("schema")),
    Asking(
        "tools with patterns",
        COUNT,
        (CALL, GOOD),
        _all("schema tools", "schema tools", ollama=_WORDS, compatible=_WORDS),
        (SEARCH,),
    ),
    Asking("structured answer, mended", COUNT, (BAD, GOOD), _all("schema", "schema repair")),
    Asking(
        "structured answer, a table, mended",
        TABLE,
        (BAD, GOOD),
        _all("schema", "schema repair", strict=False, anthropic=("words", "words repair")),
    ),
    Asking(
        "structured answer with tools, mended",
        COUNT,
        (CALL, BAD, GOOD),
        _all(
            *("schema tools", "schema tools", "schema tools repair"),
            ollama=(*_WORDS, "schema words tools repair"),
            compatible=(*_WORDS, "words tools repair"),
        ),
        (LOOK,),
    ),
    Asking(
        "structured answer with tools, mended before any was called",
        COUNT,
        (BAD, CALL, GOOD),
        _all(
            *("schema tools", "schema tools repair", "schema tools"),
            ollama=("words tools", "words tools repair", "words tools"),
            compatible=("words tools", "words tools repair", "words tools"),
        ),
        (LOOK,),
    ),
    Asking(
        "structured answer, mended in vain",
        COUNT,
        (BAD, BAD),
        _all("schema", "schema repair"),
        fails=True,
    ),
)


@dataclass(frozen=True)
class ToolReturn:
    """What came of one conversation.

    Attributes:
        text: the answer.
        error: where there was none.
        sent: see `Asking.sent`, as the server saw it.
    """

    text: str
    error: TransomError | None
    sent: tuple[str, ...]

    def __str__(self) -> str:
        return f"{type(self.error).__name__ if self.error else self.text}: {', '.join(self.sent)}"


async def ask(server: LocalServer, dialect: Dialect, asking: Asking) -> ToolReturn:
    """Have an agent ask, and do what is called, until there is an answer or none can be had."""
    server.seen.clear()
    left = iter(asking.says)
    server.answer = lambda wire, seen: _answer(dialect, wire, seen, left)
    role = Role("p.seat", "You count.", output=asking.schema)
    tools = [
        ToolDefinition(
            one.name, one.description, one.parameters, lambda arguments: "7 left", effect="pure"
        )
        for one in asking.tools
    ]
    inner = dialect.provider(server.url, seconds=5, stream=False)
    chain = Chain((RetryingProvider(inner, PATIENT),))
    text, error = "", None
    try:
        async with Agent(role, provider=chain, tools=tools) as agent:
            text = (await agent.send("How many are left?")).text
    except TransomError as caught:
        error = caught
    finally:
        await chain.aclose()
    return ToolReturn(text, error, tuple(_told(dialect, seen.body) for seen in server.seen))


def _answer(dialect: Dialect, wire: Wire, seen: Seen, left: Iterator[Part]) -> None:
    schema, strict = dialect.schema(seen.body)
    tools = bool(seen.body.get("tools"))
    words = _REFUSED & _keywords(schema) if strict else set()
    says: Part | None = None
    if said := _refused_pattern(dialect, [schema, *seen.body.get("tools", [])]):
        wire.answer(400, json.dumps(dialect.error("invalid_request_error", said)).encode())
        return
    if words or (schema and tools and dialect.title == "compatible"):
        said = (
            f"{sorted(words)} are not permitted"
            if words
            else "Cannot use custom grammar constraints with tools."
        )
        wire.answer(400, json.dumps(dialect.error("invalid_request_error", said)).encode())
        return
    says = next(left)
    if schema and tools and dialect.name == "ollama":
        says = MADE_UP if isinstance(says, ToolCallPart) else says
    wire.answer(200, json.dumps(dialect.whole([says])).encode())


def _refused_pattern(dialect: Dialect, sent: Any) -> str:
    """What is said of a pattern that a server does not know, be it in an answer's schema or in a
    tool's.
    """
    patterns = [one for one in _patterns(sent) if isinstance(one, str)]
    if dialect.title == "openai" and any("(?=" in one or "(?!" in one for one in patterns):
        return "Invalid JSON schema: regex lookaround is not supported."
    if dialect.title == "ollama" and any(not _is_known(one) for one in patterns):
        return "invalid JSON schema in format"
    if dialect.title == "compatible" and any(not _is_known(one) for one in patterns):
        return "JSON schema conversion failed: Pattern must start with '^' and end with '$'"
    return ""


def _is_known(pattern: str) -> bool:
    return pattern[0] + pattern[-1] == "^$" and "(?" not in pattern and "\\d" not in pattern


def _patterns(sent: Any) -> list[Any]:
    if isinstance(sent, list):
        return [pattern for one in sent for pattern in _patterns(one)]
    if not isinstance(sent, dict):
        return []
    own = [sent["pattern"]] if isinstance(sent.get("pattern"), str) else []
    return own + [pattern for one in sent.values() for pattern in _patterns(one)]


def _keywords(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {word for one in schema for word in _keywords(one)}
    return (
        {*schema, *(word for one in schema.values() for word in _keywords(one))}
        if isinstance(schema, dict)
        else set()
    )


def _told(dialect: Dialect, body: Any) -> str:
    schema, strict = dialect.schema(body)
    text = json.dumps(body["messages"])
    words = f"<{SCHEMA_BLOCK}>" in text
    told = [*(["strict" if strict and isinstance(dialect, OpenAI) else "schema"] if schema else [])]
    told += ["words"] if words else []
    told += ["tools"] if body.get("tools") else []
    said = [at for at, one in enumerate(body["messages"]) if one["role"] == "assistant"]
    asked = json.dumps(body["messages"][said[-1] + 1 :]) if said else ""
    return " ".join([*told, *(["repair"] if _REPAIR in asked else [])])


def faults(outcome: ToolReturn, dialect: Dialect, asking: Asking) -> list[str]:
    """Where an outcome departs from what must be."""
    wanted = asking.sent[dialect.title]
    found = [] if outcome.sent == wanted else [f"sent {outcome.sent} in place of {wanted}"]
    if asking.fails:
        return found if isinstance(outcome.error, ReplyError) else [*found, f"it came to {outcome}"]
    if outcome.error or outcome.text != GOOD.text:
        found.append(f"it came to {outcome.error or outcome.text}")
    return found
