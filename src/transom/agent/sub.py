"""Sub-conversations: work in a window of its own, of which the conversation that asked for it sees only a summary.

The loop opens one for a result that is too large, where the role's strategy says so; the model through the tool
`delegate`; a program through `Agent.create_sub_conversation`.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from transom.agent.delegate import DELEGATE
from transom.agent.finding import FAILURES, complete_sub, completed, open_sub, seen_egress
from transom.agent.left import left_then
from transom.agent.opening import rewind
from transom.agent.setup import SUB, seated
from transom.agent.sources import sources_of
from transom.agent.turns import Conversation
from transom.canonical import Json, digest
from transom.config.model import ModelSeat, SubConversationSeat
from transom.context import History
from transom.context.aside import aside
from transom.context.oversized import PURPOSE, SOURCE, Oversized, oversized
from transom.context.slices import READ_SLICE, read_slice
from transom.context.summary import seen_in, summarised, summary_room
from transom.errors import InvalidArgumentsError, ToolExecutionError, ToolRefused
from transom.llm import Block, Role, Tier, ToolCall, ToolResult, UserMessage
from transom.llm.turns import Egress, strictest
from transom.runs.spans import of_agent
from transom.telemetry import keys
from transom.tools import Arguments, Toolbox, ToolDefinition, ToolOutcome, ToolReturn
from transom.tools.toolbox import OWN

BACKGROUND = "background"
_PROMPT = Path(__file__).parent / "prompts" / "sub_conversation.md"
_NOTHING: Mapping[str, ToolResult] = MappingProxyType({})
_MOST = 2_000  # tokens of an answer where there are no sources to measure it by


@cache
def _prompt() -> Block:
    return Block("sub_role", _PROMPT.read_text(encoding="utf-8").strip(), Tier.STABLE)


def sub_role(role: Role, seat: ModelSeat, blocks: Sequence[str] = (), tokens: int = _MOST) -> Role:
    """The role of a sub-conversation: its own prompt, and a bound on what it may say at once."""
    asked = seated(role.settings, seat)
    settings = replace(asked, max_tokens=min(asked.max_tokens, 2 * tokens))
    sees = frozenset({"sub_role", PURPOSE, BACKGROUND, *blocks})
    return Role(role.name + SUB, (_prompt(),), sees, settings=settings)


def task(purpose: str, background: str, egress: Egress) -> tuple[Block, ...]:
    """What a sub-conversation is asked; it stands before what is said in it. It is as local as who asks."""
    blocks = [Block(PURPOSE, purpose, Tier.SESSION, egress=egress)]
    if background:
        blocks.append(Block(BACKGROUND, background, Tier.SESSION, "untrusted", egress))
    return tuple(blocks)


@dataclass(frozen=True)
class Found:
    """What came of a sub-conversation.

    Attributes:
        text: its answer; "" where it failed.
        why: it failed.
        egress: the strictest of all that it saw and was given.
        seen: what it was given and what came back to it, without its sources; its text is held to both.
        left: what left it without its answer.
    """

    text: str
    why: str
    egress: Egress
    seen: str
    left: BaseException | None = None


@dataclass
class Delegation:
    """What a conversation hands on, and what it keeps that is too large for its window. `seat`: who it is handed to."""

    talk: Conversation
    seat: SubConversationSeat = field(default_factory=SubConversationSeat)

    def __post_init__(self) -> None:
        self.talk = weakref.proxy(self.talk)  # which holds it: what is over is free at once
        self._kept: dict[str, ToolResult] = {}

    async def keep(self, call: ToolCall, ran: ToolOutcome, most: int) -> ToolOutcome:
        """A result of more than so many tokens goes to the store and to a file; an outline stands in its place."""
        del call
        if self.talk.tokens.fits(ran.result.content, most):
            return ran
        size = self.talk.tokens.count(ran.result.content)
        stage, whole = self.talk.stage, self._whole(ran) if ran.kept else ran.result
        data = whole.content.encode("utf-8", "surrogatepass")
        tokens = self.talk.tokens
        big = Oversized(whole, _name(digest(data)), tokens.count(whole.content), most, "refer")
        told = await aside(len(whole.content), lambda: big.reference(tokens))
        if self.talk.tokens.count(told.content) >= size:
            return ran
        sha = await stage.host.store.put_blob(data)
        stage.note(f"results/{big.source}.txt", whole.content)
        return replace(ran, result=told, kept=sha)

    def _whole(self, ran: ToolOutcome) -> ToolResult:
        """A kept result as it came."""
        text = self.talk.stage.host.store.get_blob(ran.kept).decode("utf-8", "surrogatepass")
        return replace(ran.result, content=text)

    async def digest(self, call: ToolCall, ran: ToolOutcome) -> ToolOutcome:
        """What the model is told of a kept result: its outline, or a summary by a sub-conversation."""
        name, whole = _name(ran.kept), self._whole(ran)
        self._kept[name] = whole
        self.offer_reading()
        big = self._oversized(whole, name)
        if big is None or big.remedy == "refer":
            return ran
        beside = len(self.talk.pending[1].calls) if self.talk.pending else 1
        big = replace(big, limit=big.limit // beside)  # what all summaries of one reply may take together
        purpose = f"What this result of {call.name}({str(call.arguments)[:300]}) says that answers what was asked."
        sub = f"{self.talk.name}/{len(self.talk.turns)}-{digest([purpose, name])[:8]}"
        held = completed(self.talk, sub) if self.talk.lasting else None
        if held:  # what stands there stays there, whoever could sum up today
            egress = strictest(whole.egress, held.get("egress", "any"))
            return replace(ran, result=replace(big.in_brief(held["summary"]), egress=egress))
        window, tokens = self.talk.window, self.talk.tokens
        _, source = await aside(len(whole.content), lambda: big.opening(purpose, window, tokens))
        blocks = (*task(purpose, self._asked(), self.talk.egress), source)
        room, told = summary_room(big.tokens, big.limit, self.seat.ratio), [whole.content]
        found = await self._found(sub, purpose, blocks, room, beside=told)
        tokens, ratio = self.talk.tokens, self.seat.ratio
        sized = len(whole.content) + len(found.seen)
        result, summary = await aside(sized, lambda: big.returned(found.text, tokens, ratio=ratio, also=found.seen))
        await complete_sub(self.talk, sub, summary, found.egress, left=found.left)
        return replace(ran, result=replace(result, egress=strictest(result.egress, found.egress)))

    def delegate_tool(self) -> ToolDefinition:
        """The tool by which the model opens a sub-conversation."""
        return ToolDefinition(
            DELEGATE.name,
            DELEGATE.description,
            DELEGATE.parameters,
            self._delegate,
            trust="untrusted",
            of_run=True,
        )

    async def _delegate(self, arguments: Arguments) -> ToolReturn:
        purpose, names = str(arguments["purpose"]), [str(one) for one in cast("list[Json]", arguments["sources"])]
        talk, named = self.talk, sources_of(self.talk, self._kept, names)
        sources = list(named.values())
        whole = "\n\n".join(source.content for source in sources)
        room = _MOST
        if sources:
            room = summary_room(talk.tokens.count(whole), talk.window.result_tokens, self.seat.ratio)
        sub = f"{talk.name}/{len(talk.turns)}-{digest([purpose, names])[:8]}"
        shown = await aside(len(whole), lambda: self._shown(purpose, named))
        blocks = (*task(purpose, self._asked(), talk.egress), *shown)
        outlined = {
            name: one for (name, one), block in zip(named.items(), shown, strict=True) if block.text != one.content
        }
        found = await self._found(sub, purpose, blocks, room, outlined, beside=[one.content for one in sources])
        if not found.text and not sources:
            error = ToolExecutionError(f"the sub-conversation failed: {found.why}", hint="look into it yourself")
            error.egress = found.egress
            raise error
        source, also = (whole, found.seen) if sources else (found.seen, "")
        tokens, sized = talk.tokens, len(source) + len(also)
        summary = await aside(sized, lambda: summarised(found.text, source, room, tokens, also=also))
        await complete_sub(talk, sub, summary, found.egress, left=found.left)
        return ToolReturn(summary.text, egress=found.egress)

    async def _found(
        self,
        name: str,
        purpose: str,
        blocks: Sequence[Block],
        room: int,
        outlined: Mapping[str, ToolResult] = _NOTHING,
        *,
        beside: Collection[str] = (),
    ) -> Found:
        """What a sub-conversation answers; one that was left at a cap, a pause or an error is gone through again.

        What is `outlined` there it can read in parts, as all that is kept. Texts that are looked into `beside` what it
        saw are not in that once more.

        Raises:
            CapReached, EgressError, Paused, StoreError: and all else that is not its own.
        """
        talk = self.talk
        sub = await self._opened(name, purpose, blocks, room, outlined)
        sub.deadline = talk.deadline
        attributes = of_agent(sub.role.name, talk.stage.place, name)
        with talk.stage.host.telemetry.span(f"sub_conversation {sub.role.name}", **attributes) as span:
            try:
                _, reply = await sub.ask(blocks)
            except FAILURES as error:
                await sub.give_up()
                span.fail(type(error).__name__, "lines of its sources stand in for its answer")
                talk.stage.doubt(name)
                return Found("", error.what, seen_egress(sub, blocks), "", sub.left_by)
            finally:
                span.set(keys.MESSAGES, len(sub.turns))
        good = reply.stop in ("end", "tool_calls") and reply.text.strip()
        why = "" if good else f"it ended with {reply.stop} and no answer"
        if why:
            talk.stage.doubt(name)
        given = [block for block in blocks if block.text not in beside]
        return Found(reply.text if good else "", why, seen_egress(sub, blocks), seen_in(given, sub.turns))

    async def _opened(
        self, name: str, purpose: str, blocks: Sequence[Block], room: int, outlined: Mapping[str, ToolResult]
    ) -> Conversation:
        """A sub-conversation in which nothing was said yet."""
        talk = self.talk
        box = talk.toolbox.within(without_own(talk.toolbox))
        role = replace(sub_role(talk.role, self.seat, [block.name for block in blocks], room), tools=box.specs)
        sub = Conversation(
            talk.stage, role, box, talk.budget, name, meter=talk.meter, tell=talk.hear, learned=talk.learned
        )
        sub.lasting = talk.lasting
        hands = Delegation(sub, self.seat)
        sub.keep, sub.digest, sub.folded = hands.keep, hands.digest, hands.offer_reading
        if outlined or READ_SLICE in talk.toolbox.specs:
            hands._kept = {**self._kept, **outlined}
            hands.offer_reading()
        rewind(talk, name)  # where what asked for it was left in the middle before
        await open_sub(talk, name, purpose)
        sub.left_then = left_then(talk.stage.told(name))
        return sub

    def _shown(self, purpose: str, sources: dict[str, ToolResult]) -> list[Block]:
        """A block for each source, with an outline where it is long."""
        talk, limit = self.talk, self.talk.window.result_tokens
        shown = []
        for number, (name, source) in enumerate(sources.items(), 1):
            big = Oversized(source, name, talk.tokens.count(source.content), limit, "delegate")
            _, block = big.opening(purpose, replace(talk.window, total=talk.window.total // len(sources)), talk.tokens)
            shown.append(replace(block, name=f"{SOURCE}_{number}"))
        return shown

    def _oversized(self, result: ToolResult, name: str) -> Oversized | None:
        return oversized(result, name, self.talk.role.strategy, self.talk.window, self.talk.tokens)

    def _asked(self) -> str:
        """What the conversation was asked last."""
        asked = [turn.text for turn in self.talk.turns if isinstance(turn, UserMessage)]
        return f"She was asked: {asked[-1]}" if asked else ""

    def offer_reading(self) -> None:
        """From the next call on, parts of what is kept or folded can be read."""
        reading = (READ_SLICE.name, READ_SLICE.description, READ_SLICE.parameters, self._read)
        self._offer(ToolDefinition(*reading, fresh=True))

    def offer_delegating(self) -> None:
        """The model may open sub-conversations."""
        self._offer(self.delegate_tool())

    def _offer(self, tool: ToolDefinition) -> None:
        talk = self.talk
        talk.toolbox.offer(tool)
        if talk.role.tools != talk.toolbox.specs:
            talk.role = replace(talk.role, tools=talk.toolbox.specs)

    async def _read(self, arguments: Arguments) -> ToolReturn:
        name = str(arguments["source"])
        whole = History.of(self.talk.turns)  # word for word, whatever was folded since; numbers never change
        event = whole.find(name)
        if event is None and name not in self._kept:
            there = ", ".join([*self._kept, f"event 1 to event {whole.count}"])
            raise InvalidArgumentsError(f"nothing is kept as {name!r}", hint=f"there is {there}")
        text = event.text if event else self._kept[name].content
        egress = strictest(*[turn.egress for turn in event.turns]) if event else self._kept[name].egress
        try:
            told = read_slice(text, arguments, self.talk.window.result_tokens, self.talk.tokens)
        except ToolRefused as error:
            error.egress = egress  # it names what there is
            raise
        return ToolReturn(told, egress=egress)


def without_own(toolbox: Toolbox) -> list[ToolDefinition]:
    """The tools that a sub-conversation may call, too; those that look into the conversation itself stay there."""
    return [tool for tool in toolbox.tools if tool.name not in OWN]


def _name(sha: str) -> str:
    return f"result-{sha[:10]}"
