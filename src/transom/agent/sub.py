"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees only a summary.

The loop opens one for a result that is too large, where the role's strategy says so; the model through the tool
`delegate`; a program through `Agent.create_sub_conversation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from transom.agent.digesting import bounded, extract, outline, part, tokens_of
from transom.agent.events import Completed, Opened
from transom.agent.turns import Conversation
from transom.canonical import Json, digest
from transom.context import Budget
from transom.errors import InvalidArgumentsError, OutOfTurns, ProviderError, ReplyError, WindowOverflow
from transom.llm import Asked, Block, CameBack, Role, Tier, ToolCall
from transom.llm.shapes import Egress, Trust
from transom.telemetry import keys
from transom.tools import Arguments, Ran, Toolbox, ToolDefinition, ToolLimits

RATIO, LEAST, MOST = 0.1, 200, 2_000
"""A summary takes a tenth of its sources' tokens, but at least and at most so many."""

_FAILED = (ProviderError, ReplyError, OutOfTurns, WindowOverflow)
_PROMPT = Path(__file__).parent / "prompts" / "sub_conversation.md"
_SOURCE_PART = 0.5  # of a window, for what a sub-conversation is shown of its sources; the rest it reads
_READ: Json = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "as the outline names it"},
        "first_line": {"type": "integer", "minimum": 1, "default": 1},
        "lines": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 200},
    },
    "required": ["id"],
    "additionalProperties": False,
}
_DELEGATE: Json = {
    "type": "object",
    "properties": {
        "purpose": {"type": "string", "minLength": 1, "description": "what you need to know, in a sentence or two"},
        "sources": {
            "type": "array",
            "items": {"type": "string"},
            "description": "ids of tool calls, or of kept results, that are to be looked at; may be empty",
        },
    },
    "required": ["purpose", "sources"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Summary:
    """What came of a sub-conversation.

    Attributes:
        id: the sub-conversation's.
        text: what its parent is told.
        how: `summary`, or `extract` where none could be had.
    """

    id: str
    text: str
    how: Literal["summary", "extract"]


@dataclass(frozen=True)
class Source:
    """A text that a sub-conversation looks at."""

    id: str
    text: str
    trust: Trust
    egress: Egress


@cache
def _prompt() -> Block:
    return Block("sub_role", _PROMPT.read_text(encoding="utf-8").strip(), Tier.STABLE)


def sub_role(role: Role, sources: Sequence[str] = (), tokens: int = MOST) -> Role:
    """The role of a sub-conversation: its own prompt, and a bound on what it may say."""
    sees = frozenset({"sub_role", "purpose", "background", *sources})
    settings = replace(role.settings, max_tokens=min(role.settings.max_tokens, 2 * tokens))
    return Role(f"{role.name}.sub", (_prompt(),), sees, settings=settings)


def task(purpose: str, background: str) -> tuple[Block, ...]:
    """What a sub-conversation is asked; it stands before what is said in it."""
    blocks = [Block("purpose", purpose, Tier.SESSION)]
    if background:
        blocks.append(Block("background", background, Tier.SESSION, "untrusted"))
    return tuple(blocks)


class Delegation:
    """What a conversation hands on, and what it keeps that is too large for its window.

    Args:
        talk: the conversation.
    """

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._kept: dict[str, Source] = {}
        self._budget = talk.budget or Budget()

    async def keep(self, call: ToolCall, ran: Ran) -> Ran:
        """A result that is too large goes to the store and to a file; its outline stays."""
        content = ran.result.content
        if ran.error or tokens_of(content) <= self._budget.result_tokens:
            return ran
        stage = self._talk.stage
        sha = await stage.host.store.put_blob(content.encode("utf-8", "surrogatepass"))
        stage.note(f"results/{_name(sha)}.txt", content)
        return replace(ran, result=replace(ran.result, content=outline(content, _name(sha))), kept=sha)

    async def digest(self, call: ToolCall, ran: Ran) -> Ran:
        """What the model is told of a kept result: its outline, or a summary by a sub-conversation."""
        result = ran.result
        text = self._talk.stage.host.store.get_blob(ran.kept).decode("utf-8", "surrogatepass")
        source = Source(_name(ran.kept), text, result.trust, result.egress)
        self._kept[source.id] = source
        self._offer_reading()
        if self._talk.role.strategy != "sub_conversation":
            return ran
        purpose = f"What is in this result of {call.name}({str(call.arguments)[:300]}) that answers what was asked?"
        name = f"{self._talk.name}/{len(self._talk.turns)}-{_name(ran.kept)}"
        summary = await self.look_into(name, purpose, self._asked(), [source])
        head = f"[A summary by sub-conversation {name}; the whole result is kept as {source.id}.]"
        told = f"{head}\n{summary.text}" if summary.how == "summary" else summary.text
        return replace(ran, result=replace(result, content=told))

    def delegate_tool(self) -> ToolDefinition:
        """The tool by which the model opens a sub-conversation."""
        return ToolDefinition(
            "delegate",
            "Have something looked into in a conversation of its own, and get a short answer. Use it for what is long.",
            _schema(_DELEGATE),
            self._delegate,
            limits=ToolLimits(seconds=None),
        )

    async def _delegate(self, arguments: Arguments) -> Json:
        purpose, ids = str(arguments["purpose"]), [str(one) for one in _list(arguments["sources"])]
        known = self._known()
        missing = [one for one in ids if one not in known]
        if missing:
            there = f"there are {', '.join(known)}" if known else "there are none yet: leave sources empty"
            raise InvalidArgumentsError(f"there is no source {', '.join(missing)}", hint=there)
        name = f"{self._talk.name}/{len(self._talk.turns)}-{digest([purpose, ids])[:8]}"
        summary = await self.look_into(name, purpose, self._asked(), [known[one] for one in ids])
        return summary.text

    async def look_into(self, name: str, purpose: str, background: str, sources: Sequence[Source]) -> Summary:
        """Have a sub-conversation look at sources; an extract by rule where it fails.

        Raises:
            CapReached, EgressError, Paused, StoreError: these are not its own.
        """
        talk = self._talk
        bound = summary_tokens(sum(tokens_of(source.text) for source in sources))
        await open_sub(talk, name, purpose)
        attributes = {
            keys.OPERATION: keys.INVOKE_AGENT,
            keys.CONVERSATION_ID: name,
            keys.PARENT_CONVERSATION: talk.name,
        }
        with talk.stage.host.telemetry.span(f"sub_conversation {talk.role.name}", **attributes) as span:
            try:
                text, how = (
                    await self._ask(name, [*task(purpose, background), *self._blocks(sources)], bound),
                    "summary",
                )
            except _FAILED as error:
                whole = "\n".join(source.text for source in sources)
                text, how = extract(whole or "(no sources)", bound, error.what), "extract"
            span.set(keys.SUMMARY, how)
        return await complete_sub(talk, Summary(name, text, "summary" if how == "summary" else "extract"))

    async def _ask(self, name: str, blocks: Sequence[Block], bound: int) -> str:
        talk = self._talk
        tools = [tool for tool in talk.toolbox.tools if tool.name != "delegate"]
        box = Toolbox(tools, max_turns=talk.toolbox.max_turns)
        role = replace(sub_role(talk.role, [block.name for block in blocks], bound), tools=box.specs)
        sub = Conversation(talk.stage, role, box, self._budget, name, meter=talk.meter, tell=talk.tell, keep=self.keep)
        _, reply = await sub.ask(blocks)
        if reply.stop != "end" or not reply.text.strip():
            raise ReplyError("the sub-conversation came to no answer")
        return bounded(reply.text.strip(), bound)

    def _blocks(self, sources: Sequence[Source]) -> list[Block]:
        room = int(self._budget.window_tokens(self._talk.role.settings.max_tokens) * _SOURCE_PART)
        shown = []
        for number, source in enumerate(sources, 1):
            text = part(source.text, 1, len(source.text), room // len(sources))
            shown.append(Block(f"source_{number}", f"{source.id}:\n{text}", Tier.SESSION, source.trust, source.egress))
        return shown

    def _known(self) -> dict[str, Source]:
        """What may be delegated: results of this conversation by the ids of their calls, and what is kept."""
        came = [result for turn in self._talk.turns if isinstance(turn, CameBack) for result in turn.results]
        told = {one.id: Source(one.id, one.content, one.trust, one.egress) for one in came if not one.is_error}
        return {**told, **self._kept}

    def _asked(self) -> str:
        """What the conversation was asked last."""
        asked = [turn.text for turn in self._talk.turns if isinstance(turn, Asked)]
        return f"She was asked: {asked[-1]}" if asked else ""

    def _offer_reading(self) -> None:
        talk = self._talk
        if any(tool.name == "read_result" for tool in talk.toolbox.tools):
            return
        talk.toolbox.register(
            ToolDefinition(
                "read_result", "Read lines of a result that was too large.", _schema(_READ), self._read, fresh=True
            )
        )
        talk.role = replace(talk.role, tools=talk.toolbox.specs)

    async def _read(self, arguments: Arguments) -> Json:
        source = self._kept.get(str(arguments["id"]))
        if source is None:
            raise InvalidArgumentsError("no result is kept by that id", hint=f"there are {', '.join(self._kept)}")
        first, count = int(str(arguments["first_line"])), int(str(arguments["lines"]))
        return part(source.text, first, count, self._budget.result_tokens)


def summary_tokens(tokens: int) -> int:
    """How long a summary may be, by the tokens of its sources."""
    return max(LEAST, min(MOST, int(tokens * RATIO)))


async def open_sub(talk: Conversation, name: str, purpose: str) -> None:
    """Journal that a sub-conversation begins."""
    await talk.stage.tell(name, {"event": "opened", "parent": talk.name, "purpose": purpose})
    talk.tell(Opened(name, talk.name, purpose))


async def complete_sub(talk: Conversation, summary: Summary) -> Summary:
    """Journal what came of a sub-conversation; from then on it is archived."""
    await talk.stage.tell(summary.id, {"event": "completed", "summary": summary.text, "how": summary.how})
    talk.tell(Completed(summary.id, summary.text, summary.how))
    return summary


def _name(sha: str) -> str:
    return f"result-{sha[:10]}"


def _schema(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
