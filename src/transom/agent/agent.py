"""An agent: a role that one can talk with, and that loses nothing of what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self

from transom.agent.caps import Caps, Meter
from transom.agent.events import Event, OnEvent, nobody
from transom.agent.home import Desk, Home, open_desk
from transom.agent.models import Conversation as ConversationView
from transom.agent.models import ConversationContext, Message, SubConversation
from transom.agent.prices import Prices
from transom.agent.record import conversations
from transom.agent.sub import FAILURES, Delegation, complete_sub, open_sub, sub_role, task
from transom.agent.turns import Conversation
from transom.context.summary import Summary, extract, summarised, summary_room
from transom.errors import CapReached, InputError, OutOfTurns, RunError
from transom.llm import Asked, Block, Chain, Provider, Reply, Request, Role, Said, Turn, Usage, Window
from transom.llm.render import render_block, turn_text
from transom.runs import Approval, Stage
from transom.runs.approvals import decided
from transom.runs.spans import of_conversation
from transom.telemetry import keys
from transom.tools import Toolbox, ToolDefinition

Ended = Literal["answered", "length", "refusal", "turns", "tokens", "usd", "seconds"]


@dataclass(frozen=True)
class Response:
    """What came of a message.

    Attributes:
        text: what the role said last.
        ended: `answered`, or why it did not come to an answer: `length` and `refusal` are the model's; the others are
            caps, and `Agent.go_on` goes on from there once they are raised.
        usage: tokens of the whole conversation so far.
        usd: what it cost so far, where a cap in dollars is set.
        window: what the last call saw; None where a cap left no call.
        turns: the conversation so far, this message's included.
    """

    text: str
    ended: Ended
    usage: Usage
    usd: float
    window: Window | None
    turns: tuple[Turn, ...]


class Agent:
    """A conversation with a role.

    Its replies and tool results are journaled before they are used. Code that is run again, after a kill too, walks
    through the same conversation without asking or doing anything twice, and goes on where it stopped.

    Args:
        role: who is talked with. Its tools are those that are given here or registered later.
        provider: who answers: a provider or a chain of them. Not given where `at` is a stage, whose run knows.
        tools: what it may call.
        at: where it lives: a stage of a run, a `Home` of its own that can be gone on with, or None for one that is
            gone when the agent is closed.
        caps: how much it may use.
        on_event: hears what happens while it happens.

    Raises:
        ToolError: a tool whose name is taken, or whose schema is none.
        InputError: neither or both of provider and stage; a cap in dollars on a model whose price is not known.
    """

    def __init__(
        self,
        role: Role,
        *,
        provider: Provider | Chain | None = None,
        tools: Iterable[ToolDefinition] = (),
        at: Stage | Home | None = None,
        caps: Caps | None = None,
        on_event: OnEvent = nobody,
    ) -> None:
        self._role = role
        self._chain = _chain(provider, at)
        self._at = at
        self.on_event = on_event
        self._toolbox = Toolbox(tools)
        self._meter = Meter()
        self.caps = caps or Caps()
        self._name = ""
        self._always: tuple[Block, ...] = ()
        self._subs: dict[str, Agent] = {}
        self._sending = asyncio.Lock()
        self._desk: Desk | None = None
        self._talk: Conversation | None = None
        self._window: Window | None = None

    @property
    def caps(self) -> Caps:
        """How much it may use; may be raised at any time."""
        return self._meter.caps

    @caps.setter
    def caps(self, caps: Caps) -> None:
        if caps.usd is not None:
            caps = replace(caps, prices=caps.prices or Prices.load())
            assert caps.prices is not None
            caps.prices.check(self._chain.providers)
        self._meter.caps = caps
        self._toolbox.max_turns = caps.turns

    def register_tool(self, tool: ToolDefinition) -> None:
        """Add a tool; it is there from the next call on.

        Raises:
            ToolError: its name is taken, or its schema is none.
        """
        self._toolbox.register(tool)
        if self._talk:
            self._talk.role = replace(self._talk.role, tools=self._toolbox.specs)

    async def send(self, content: str, *blocks: Block) -> Response:
        """Say something, and have the role answer, whatever it calls on the way.

        Args:
            content: the message.
            blocks: what this one message is to be answered from; not kept in the conversation.

        Raises:
            Paused: a person has to say something first; see `decide`.
            ProviderError, EgressError, VisibilityError, WindowOverflow: see `Conversation.ask`. The conversation is
                whole after any of them, and `go_on` tries again.
        """
        async with self._sending:
            talk = await self._open()
            await talk.stage.tell(talk.name, {"event": "asked", "text": content})
            talk.add(Asked(content))
            return await self._answer(talk, blocks)

    async def go_on(self, *blocks: Block) -> Response:
        """Go on where the last message was left: at a cap that is raised now, a pause, an error.

        Raises:
            RunError: there is nothing to go on with.
        """
        async with self._sending:
            talk = await self._open()
            if talk.at_rest:
                raise RunError("there is nothing to go on with", where=talk.name, hint="send a message")
            return await self._answer(talk, blocks)

    async def resume(self) -> Response | None:
        """Walk through what the journal has of this conversation, and finish what was cut off; None for a new one.

        For programs that do not know what was said, such as a chat. Messages that came with blocks of their own are
        not found again: they are to be sent again by the code that knows these. A message that was left without an
        answer is answered now, also where others were sent after it; these are then asked anew.

        Raises:
            RunError: something was said already.
        """
        talk = await self._open()
        if talk.turns:
            raise RunError("it is under way already", where=talk.name, hint="resume first, then send")
        last: Response | None = None
        for told in talk.stage.told(talk.name):
            if told["event"] == "found":
                raise RunError("it had sub-conversations", where=talk.name, hint="run the code that opened them again")
            last = await self.send(told["text"])
        return last

    async def _answer(self, talk: Conversation, blocks: tuple[Block, ...]) -> Response:
        talk.rounds = 0
        self._meter.begin()
        attributes = {keys.OPERATION: keys.INVOKE_AGENT, keys.AGENT_NAME: self._role.name, **of_conversation(talk.name)}
        with talk.stage.host.telemetry.span(f"invoke_agent {self._role.name}", **attributes) as span:
            span.set(keys.MESSAGES, len(talk.turns))
            try:
                request, reply = await talk.ask((*self._always, *blocks))
            except (CapReached, OutOfTurns) as error:
                cap = error.cap if isinstance(error, CapReached) else "turns"
                span.set(keys.CAP, cap)
                return self._stopped(talk, cap)
            finally:
                await talk.stage.host.settle()
        talk.add(Said(reply.parts))
        self._window = request.window
        return self._response(talk, reply, "answered" if reply.stop in ("end", "tool_calls") else reply.stop)

    def _stopped(self, talk: Conversation, cap: str) -> Response:
        pending: tuple[Request, Reply] | tuple[None, Reply] = talk.pending or (None, Reply(()))
        self._window = pending[0].window if pending[0] else self._window
        return self._response(talk, pending[1], cap)

    def _response(self, talk: Conversation, reply: Reply, ended: Any) -> Response:
        meter = self._meter
        return Response(reply.text, ended, meter.usage, meter.usd, self._window, tuple(talk.turns))

    async def decide(self, approval: Approval) -> None:
        """Record what a person says to a tool call that waits for her; then `go_on`, or run the program again."""
        talk = await self._open()
        await talk.stage.host.append("decided", decided(approval, talk.stage.name))

    def history(self, limit: int | None = None) -> list[Message]:
        """The messages so far, the last `limit` of them."""
        view = self.conversation()
        messages = list(view.messages) if view else []
        return messages if limit is None else messages[-limit:] if limit > 0 else []

    def conversation(self, id: str | None = None) -> ConversationView | SubConversation | None:  # noqa: A002  the model's field
        """The conversation as data, or one of its sub-conversations; None where nothing was said yet."""
        if self._desk is None or self._talk is None:
            return None
        stage = self._desk.stage
        return conversations(stage.host.store, stage.host.records(), stage.name).get(id or self._talk.name)

    def context(self) -> ConversationContext:
        """What is known of the conversation beside its words."""
        view, talk, meter = self.conversation(), self._talk, self._meter
        messages = view.messages if view else ()
        stage = self._desk.stage if self._desk else None
        used, limit = talk.room() if talk else (0, 0)
        return ConversationContext(
            id=talk.name if talk else "",
            run_id=stage.host.id if stage else "",
            message_count=len(messages),
            input_tokens=meter.usage.input_tokens,
            output_tokens=meter.usage.output_tokens,
            cached_tokens=meter.usage.cached_tokens,
            usd=meter.usd,
            provider=self._chain.name,
            trace_id=stage.host.telemetry.trace_id if stage else "",
            tool_calls=sum(len(message.tool_calls) for message in messages),
            sub_conversations=view.sub_conversations if view else (),
            window_tokens=used,
            window_limit=limit,
        )

    def _hear(self, event: Event) -> None:
        self.on_event(event)

    async def _open(self) -> Conversation:
        if self._talk is None:
            if self._desk is None:
                at = self._at
                self._desk = (
                    Desk(at, None, AsyncExitStack())
                    if isinstance(at, Stage)
                    else await open_desk(at, self._role.name, self._chain)
                )
            role = replace(self._role, tools=self._toolbox.specs)
            name = self._name or self._desk.stage.conversation()
            self._talk = talk = Conversation(
                self._desk.stage, role, self._toolbox, name=name, meter=self._meter, tell=self._hear
            )
            hands = Delegation(talk)
            talk.keep, talk.digest, talk.folded = hands.keep, hands.digest, hands.offer_reading
            if role.strategy == "sub_conversation":
                self.register_tool(hands.delegate_tool())
        return self._talk

    async def create_sub_conversation(self, purpose: str, context_summary: str = "") -> Agent:
        """An agent with a window of its own that looks into one thing; it has this one's tools and caps.

        Args:
            purpose: what it is to find out.
            context_summary: what it has to know for that.
        """
        talk = await self._open()
        assert self._desk is not None
        name = talk.stage.conversation(f"{talk.name}/sub")
        await open_sub(talk, name, purpose)
        tools = [tool for tool in self._toolbox.tools if tool.name != "delegate"]
        sub = Agent(sub_role(self._role), tools=tools, at=talk.stage, on_event=self._hear)
        sub._name, sub._always, sub._meter = name, task(purpose, context_summary), self._meter
        self._subs[name] = sub
        return sub

    async def complete_sub_conversation(self, id: str) -> Summary:  # noqa: A002  the model's field
        """Have a sub-conversation sum up, tell this conversation, and archive it.

        Numbers and ids of the summary that nothing in the sub-conversation has are struck. Where it cannot sum up,
        lines of it that are chosen by rule stand in the summary's place, and say so.

        Raises:
            InputError: none of that id is open.
        """
        async with self._sending:
            sub, talk = self._subs.pop(id, None), await self._open()
            if sub is None:
                there = f"open are {', '.join(self._subs)}" if self._subs else "none is open"
                raise InputError(f"there is no open sub-conversation {id!r}", where=talk.name, hint=there)
            summary = await sub._sum_up()
            await complete_sub(talk, id, summary)
            finding = render_block(Block("finding", f"{sub.purpose}\n\n{summary.text}", trust="untrusted"))
            await talk.stage.tell(talk.name, {"event": "found", "sub": id, "text": finding})
            talk.add(Asked(finding))
            return summary

    async def _sum_up(self) -> Summary:
        talk = await self._open()
        whole = "\n".join(turn_text(turn) for turn in talk.turns)
        room = summary_room(talk.tokens.count(whole), talk.window.result_tokens)
        try:
            response = await self.send(f"Now sum up what you found, in at most {room} tokens.")
        except FAILURES:
            return extract(whole, room, talk.tokens)
        return summarised(response.text if response.ended == "answered" else "", whole, room, talk.tokens)

    @property
    def id(self) -> str:
        """The conversation's; "" before it begins."""
        return self._talk.name if self._talk else self._name

    @property
    def purpose(self) -> str:
        """Of a sub-conversation; "" of another one."""
        return next((block.text for block in self._always if block.name == "purpose"), "")

    async def close(self) -> None:
        """Let go of what the agent holds. A kept conversation can be gone on with, another one is gone."""
        desk, talk, self._desk, self._talk = self._desk, self._talk, None, None
        if desk:
            await desk.close(answered=talk is not None and bool(talk.turns) and talk.at_rest)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _chain(provider: Provider | Chain | None, at: Stage | Home | None) -> Chain:
    if isinstance(at, Stage):
        if provider is not None:
            raise InputError("an agent in a stage asks the run's own providers", hint="leave provider out")
        return at.host.chain
    if provider is None:
        raise InputError("nobody is named who answers", hint="give the agent a provider, or a stage of a run")
    return provider if isinstance(provider, Chain) else Chain((provider,))
