"""An agent: a role that one can talk with, and that loses nothing of what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Self

from transom.agent.caps import Caps
from transom.agent.events import OnEvent, nobody
from transom.agent.finding import hand_back, open_sub, sub_span, sum_up, taken
from transom.agent.given import check_turns_alone, given_purpose
from transom.agent.home import Place
from transom.agent.late import register, warn_of_missing
from transom.agent.life import Life
from transom.agent.made import Made
from transom.agent.opening import egress_of_opened, rewind, take_name
from transom.agent.readable import Readable
from transom.agent.resume import walk_through
from transom.agent.saying import local_in_calls, mark_last
from transom.agent.setup import Setup
from transom.agent.views import Response
from transom.context import Mark
from transom.context.summary import Summary
from transom.errors import RunError
from transom.llm import Block, Chain, Provider, Role
from transom.runs import Approval
from transom.runs.approvals import check_asked, decided
from transom.tools import ToolDefinition


class Agent(Readable):
    """A conversation with a role.

    Its replies and tool results are journaled before they are used. Code that is run again, after a kill too, walks
    through the same conversation without asking or doing anything twice, and goes on where it stopped.

    Args:
        role: who is talked with. It declares the tools that are given here or registered later; those that it names
            itself have to be among the former.
        provider: who answers: `anthropic:NAME` or the like, made as the settings of the current folder have it; a
            provider, a chain, or a `Setup` of one of these and settings. None: as `llm.agent` says; where `at` is a
            stage, its run knows.
        tools: what it may call.
        at: where it lives: a stage of a run, there by name where tasks open several (`stage.named("q0")`), a `Home` of
            its own that can be gone on with, or None for one that is gone when the agent is closed.
        caps: how much it may use.
        on_event: hears what happens while it happens.

    Raises:
        ToolError: a tool whose name is taken, or whose schema is none; one that the role names and is not given.
        InputError: no role, tools or place to live; neither or both of provider and stage; a name that there is not, or
            whose key or SDK is missing; a cap in dollars on a model whose price is not known; a strategy that needs
            what is not there.
        RunError: its name in a stage is taken, or is up to the event loop.
        SettingsError: the settings cannot be used.
    """

    def __init__(
        self,
        role: Role,
        *,
        provider: str | Provider | Chain | Setup | None = None,
        tools: Iterable[ToolDefinition] = (),
        at: Place = None,
        caps: Caps | None = None,
        on_event: OnEvent = nobody,
    ) -> None:
        made = Made.of(role, tools, provider, at)
        made.hold(caps or Caps())
        made.toolbox.max_turns = made.meter.caps.turns
        self._settle(made, on_event)

    def _settle(self, made: Made, on_event: OnEvent) -> None:
        self._made, self._subs = made, dict[str, Self]()
        self._life = Life(made, on_event)

    @property
    def on_event(self) -> OnEvent:
        """Hears what happens while it happens; may become another one at any time."""
        return self._life.on_event

    @on_event.setter
    def on_event(self, on_event: OnEvent) -> None:
        self._life.on_event = on_event

    @property
    def caps(self) -> Caps:
        """How much it may use; may be raised at any time. A sub-conversation has the agent's, but turns of its own."""
        return self._made.caps

    @caps.setter
    def caps(self, caps: Caps) -> None:
        if self._made.parent:
            check_turns_alone(caps, self._made.meter.caps)
        else:
            self._made.hold(caps)
        self._hold_turns(caps.turns)

    def _hold_turns(self, turns: int) -> None:
        self._made.toolbox.max_turns = turns
        for sub in self._subs.values():
            sub._hold_turns(turns)

    def register_tool(self, tool: ToolDefinition) -> None:
        """Add a tool; it is there from the next call on.

        A program that goes on with a kept conversation registers its tools again before `resume`: those of now count.

        Raises:
            ToolError: its name is taken, or its schema is none.
        """
        talk, box = self._life.talk, self._made.toolbox
        if register(box, tool, talk) and talk:
            talk.role = replace(talk.role, tools=box.specs)
            talk.late.append(tool.spec)
        for sub in self._subs.values():
            if all(one.name != tool.name for one in sub._made.toolbox.tools):
                sub.register_tool(tool)

    async def send(self, content: str, *blocks: Block) -> Response:
        """Say something, and have the role answer, whatever it calls on the way.

        Args:
            content: the message.
            blocks: what this one message is to be answered from; not kept in the conversation.

        Raises:
            InputError: it is no text, or a blank one; nothing was said.
            RunError: it is kept, and something else was said here before, or with other blocks; a tool handler of its
                own run says it.
            WindowOverflow: it could never fit; nothing was said. Also later, see below.
            Paused: a person has to say something first; see `decide`.
            ProviderError, EgressError, VisibilityError, WindowOverflow: see `Conversation.ask`. The conversation is
                whole after any of them, and `go_on` tries again.
        """
        return await self._life.say(content, blocks)

    async def go_on(self, *blocks: Block) -> Response:
        """Go on where the last message was left: at a cap that is raised now, a pause, an error.

        At a cap that nobody raised it ends again where it was, and nobody is asked.

        Raises:
            RunError: there is nothing to go on with.
        """
        life, turn = self._life, self._life.unsaid.turn()
        life.refuse_in_tool_call()
        async with life.lock:
            talk = await life.open()
            await life.take_in(talk, turn)
            if talk.at_rest:
                raise RunError("there is nothing to go on with", where=talk.name, hint="send a message")
            return await life.answer(talk, local_in_calls(blocks))

    async def resume(self) -> Response | None:
        """Walk through what the journal has of this conversation, and finish what was cut off; None for a new one.

        For programs that do not know what was said, such as a chat. What was said stays said, whatever the prompt, the
        tools and the model are today; they count from the next request on.

        Raises:
            RunError: something was said already; or the last message is not answered yet and came with blocks of its
                own, which are not kept: then `go_on` with them.
        """
        self._life.refuse_in_tool_call()
        async with self._life.lock:
            talk = await self._life.open()
            if talk.turns:
                raise RunError("it is under way already", where=talk.name, hint="resume first, then send")
            warn_of_missing(self._made.toolbox)
            return await walk_through(talk, lambda: self._life.answer(talk))

    async def mark(self, mark: Mark) -> None:
        """Say of what was said last what is to be known of it when it is folded; a tool does so in its `ToolReturn`.

        What was said once stays said, and saying the same again says nothing more.

        Raises:
            RunError: nothing was said yet.
        """
        life = self._life
        await mark_last(await (life.open() if life.lock.locked() else life.catch_up()), mark)

    async def decide(self, approval: Approval) -> None:
        """Record what a person says to a tool call that waits for her; then `go_on`, or run the program again.

        Raises:
            InputError: nothing like it was asked in this conversation, or it has another answer already.
        """
        host = (await self._life.open()).stage.host
        await host.append("decided", decided(approval, check_asked(approval, host.records())))

    async def create_sub_conversation(self, purpose: str, context_summary: str = "") -> Self:
        """An agent with a window of its own that looks into one thing; it has this one's tools and caps.

        In a kept conversation one of the same purpose that was left open before is opened again: of several the one
        that knew the same, else the oldest. `resume` it.

        Args:
            purpose: what it is to find out.
            context_summary: what it has to know for that.
        """
        talk = await self._life.open()
        purpose, context_summary = given_purpose(purpose, context_summary, talk.name)
        name = take_name(talk, purpose, context_summary)
        egress = egress_of_opened(talk, name)
        made = self._made.sub(talk, name, purpose, context_summary, egress)
        sub = self.__new__(type(self))
        sub._settle(made, self._life.hear)
        try:
            with sub_span(talk, "open", made.role.name, name):
                await open_sub(talk, name, purpose, egress)
        except BaseException:
            rewind(talk, name)
            raise
        self._subs[name] = sub
        return sub

    async def complete_sub_conversation(self, id: str) -> Summary:  # noqa: A002  the model's field
        """Have a sub-conversation sum up, tell this conversation, and archive it.

        Numbers and ids of the summary are struck that it was not given and that did not come back to it; that it said
        them before is no evidence. Where it cannot sum up, lines that are chosen by rule stand there, and say so.

        Raises:
            InputError: none of that id is open.
            RunError: a tool handler of its own run does this.
        """
        turn, talk = self._life.unsaid.turn(), await self._life.open()
        ratio = self._made.setup.settings.llm.sub_conversation.ratio
        async with self._life.lock:
            await self._life.take_in(talk, turn)
            with taken(self._subs, id, talk.name) as sub:
                inner, life = await sub._life.catch_up(), sub._life
                with sub_span(talk, "complete", inner.role.name, id):
                    ask = (partial(life.say, ours=True), sub.go_on, life.settle)
                    summary = await sum_up(inner, life.given, ratio, ask, life.last)
                    await hand_back(talk, inner, sub.purpose, life.given, summary)
                life.archived, inner.tell = True, nobody
                return summary

    async def close(self) -> None:
        """Let go of what the agent holds. A kept conversation can be gone on with, another one is gone.

        A message that is under way in another task comes to its end first. A sub-conversation is there until it is
        completed, or the conversation that opened it is closed.
        """
        self._life.refuse_in_tool_call()
        if self._made.parent is None or self._life.archived:
            await self._let_go()

    async def _let_go(self) -> None:
        try:
            while (lock := next((one for one in self._locks() if one.locked()), None)) is not None:
                async with lock:  # of what is said there more may come
                    pass
            for sub in [*self._subs.values()]:
                await sub._let_go()
        finally:
            self._subs.clear()
            await self._life.leave()

    def _locks(self) -> Iterator[asyncio.Lock]:
        yield self._life.lock
        for sub in [*self._subs.values()]:
            yield from sub._locks()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self.close()
