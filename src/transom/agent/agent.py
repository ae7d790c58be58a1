"""An agent: a role that one can talk with, and that loses nothing of what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Self

from transom.agent.answer import answer
from transom.agent.caps import Caps, Meter
from transom.agent.events import Event, OnEvent, nobody
from transom.agent.finding import floor_of, hand_back, open_sub, sub_span, sum_up, taken
from transom.agent.floor import Floor
from transom.agent.given import (
    check_given,
    check_tried,
    check_turns_alone,
    given_name,
    given_purpose,
    given_role,
    given_setup,
)
from transom.agent.home import Desk, Place, open_desk, stage_of
from transom.agent.late import register, warn_of_missing
from transom.agent.opening import given_back, knew, own, take_name
from transom.agent.passing import pass_by, stands_before
from transom.agent.readable import Readable
from transom.agent.resume import walk_through
from transom.agent.saying import COMPLETED, mark_last, say
from transom.agent.setup import LateShelf, Setup
from transom.agent.sub import sub_role, task, without_own
from transom.agent.taken_up import take_up
from transom.agent.turns import Conversation
from transom.agent.unsaid import Unsaid
from transom.agent.views import Response
from transom.context import Mark
from transom.context.summary import Summary
from transom.errors import RunError
from transom.llm import Block, Chain, Provider, Role
from transom.runs import Approval, Named
from transom.runs.approvals import check_asked, decided
from transom.runs.opened import call_in
from transom.telemetry import Redactor
from transom.tools import Toolbox, ToolDefinition


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
        check_given(role, tools, at)
        tools = list(tools)
        self._setup = given_setup(provider, at)
        self._role = self._setup.role(given_role(role, tools))
        self._shelf = LateShelf()
        stage = stage_of(at)
        self._chain = stage.host.chain if stage else self._setup.chain(role.name, self._shelf)
        self._at, self.on_event = at, on_event
        self._toolbox = Toolbox(tools, redact=Redactor(secrets=self._chain.secrets))
        self._parent: Conversation | None = None
        self._talk: Conversation | None = None
        self._meter = Meter()
        self._subs: dict[str, Agent] = {}
        self.caps = caps or Caps()
        self._always: tuple[Block, ...] = ()
        self._floor, self._opening, self._unsaid = Floor(role.name), asyncio.Lock(), Unsaid()
        self._lasting, self._archived, self._left = stage is None, False, False
        self._given: tuple[Block, ...] = ()
        self._desk: Desk | None = None
        self._last: Response | None = None
        self._name = given_name(at, self._floor, self._begin_anew)  # behind all that may be refused

    @property
    def caps(self) -> Caps:
        """How much it may use; may be raised at any time. A sub-conversation has the agent's, but turns of its own."""
        return replace(self._meter.caps, turns=self._toolbox.max_turns)

    @caps.setter
    def caps(self, caps: Caps) -> None:
        if self._parent:
            check_turns_alone(caps, self._meter.caps)
        else:
            self._meter.hold(caps, self._chain.everyone, self._setup.settings.paths.prices)
        self._hold_turns(caps.turns)

    def _hold_turns(self, turns: int) -> None:
        self._toolbox.max_turns = turns
        for sub in self._subs.values():
            sub._hold_turns(turns)

    def register_tool(self, tool: ToolDefinition) -> None:
        """Add a tool; it is there from the next call on.

        A program that goes on with a kept conversation registers its tools again before `resume`: those of now count.

        Raises:
            ToolError: its name is taken, or its schema is none.
        """
        if register(self._toolbox, tool, self._talk) and self._talk:
            self._talk.role = replace(self._talk.role, tools=self._toolbox.specs)
            self._talk.late.append(tool.spec)
        for sub in self._subs.values():
            if all(one.name != tool.name for one in sub._toolbox.tools):
                sub.register_tool(tool)

    async def send(self, content: str, *blocks: Block) -> Response:
        """Say something, and have the role answer, whatever it calls on the way.

        Args:
            content: the message.
            blocks: what this one message is to be answered from; not kept in the conversation.

        Raises:
            InputError: it is no text, or a blank one; nothing was said.
            RunError: it is kept, and something else was said here before, or with other blocks; its own tool says it.
            WindowOverflow: it could never fit; nothing was said. Also later, see below.
            Paused: a person has to say something first; see `decide`.
            ProviderError, EgressError, VisibilityError, WindowOverflow: see `Conversation.ask`. The conversation is
                whole after any of them, and `go_on` tries again.
        """
        with self._unsaid.message(content, blocks) as message:
            async with self._floor:
                talk = await self._open()
                if self._archived:
                    raise RunError(COMPLETED, where=talk.name, hint="open another")
                if stands_before(talk):
                    await self._pass_by(talk)
                await self._unsaid.say(talk, self._always, message)
                said = await say(talk, message, beside=self._always)
                return said or await self._answer(talk, blocks)

    async def go_on(self, *blocks: Block) -> Response:
        """Go on where the last message was left: at a cap that is raised now, a pause, an error.

        At a cap that nobody raised it ends again where it was, and nobody is asked.

        Raises:
            RunError: there is nothing to go on with.
        """
        async with self._floor:
            if await self._pass_by(talk := await self._open()) and self._last and talk.at_rest:
                return self._last
            await self._unsaid.say(talk, self._always)
            if talk.at_rest:
                raise RunError("there is nothing to go on with", where=talk.name, hint="send a message")
            return await self._answer(talk, blocks)

    async def resume(self) -> Response | None:
        """Walk through what the journal has of this conversation, and finish what was cut off; None for a new one.

        For programs that do not know what was said, such as a chat. What was said stays said, whatever the prompt, the
        tools and the model are today; they count from the next request on.

        Raises:
            RunError: something was said already; or the last message is not answered yet and came with blocks of its
                own, which are not kept: then `go_on` with them.
        """
        async with self._floor:
            if (talk := await self._open()).turns:
                raise RunError("it is under way already", where=talk.name, hint="resume first, then send")
            warn_of_missing(self._toolbox)
            return await walk_through(talk, lambda: self._answer(talk, ()))

    async def _pass_by(self, talk: Conversation) -> bool:
        """Go through what handlers said here that are not called again; whether there was any of it."""
        if passed := stands_before(talk) is not None:
            await pass_by(talk, lambda: self._answer(talk, ()))
        return passed

    async def _catch_up(self) -> None:
        talk = await self._open()
        if stands_before(talk):
            async with self._floor:
                await self._pass_by(talk)

    async def _answer(self, talk: Conversation, blocks: tuple[Block, ...]) -> Response:
        if self._parent:  # it will be asked to sum up, and held to what it was given
            self._given += tuple(block for block in blocks if block not in self._given)
        outer = self._parent.deadline if self._parent else None
        seen = self._last.window if self._last else None
        self._last = await answer(talk, (*self._always, *blocks), outer, seen)
        return self._last

    async def mark(self, mark: Mark) -> None:
        """Say of what was said last what is to be known of it when it is folded; a tool does so in its `Outcome`.

        What was said once stays said, and saying the same again says nothing more.

        Raises:
            RunError: nothing was said yet.
        """
        if not self._floor.is_taken:
            await self._catch_up()
        await mark_last(await self._open(), mark)

    async def decide(self, approval: Approval) -> None:
        """Record what a person says to a tool call that waits for her; then `go_on`, or run the program again.

        Raises:
            InputError: nothing like it was asked in this conversation, or it has another answer already.
        """
        talk = await self._open()
        host = talk.stage.host
        await host.append("decided", decided(approval, check_asked(approval, host.records())))

    def _hear(self, event: Event) -> None:
        self.on_event(event)

    async def _open(self) -> Conversation:
        async with self._opening:
            return self._talk or await self._opened()

    async def _opened(self) -> Conversation:
        self._left = self._left and check_tried(self._at)
        if self._desk is None:
            if self._parent is None:  # who opens it again counts anew: what the journal has, or nothing
                caps, self._meter = self.caps, Meter()
                self.caps = caps
            self._desk = await open_desk(self._at, self._role.name, self._chain, self._setup.settings)
            self._desk.settle(self._setup, self._chain, self._shelf)
        self._talk = talk = Conversation(
            self._desk.stage,
            replace(self._role, tools=self._toolbox.specs),
            self._toolbox,
            name=self._name or given_name(self._at, self._floor, self._begin_anew),
            meter=self._meter,
            tell=self._hear,
            lasting=self._lasting,
            floor=self._floor,
        )
        return take_up(talk, self._setup.settings.llm.sub_conversation)

    async def create_sub_conversation(self, purpose: str, context_summary: str = "") -> Self:
        """An agent with a window of its own that looks into one thing; it has this one's tools and caps.

        In a kept conversation one of the same purpose that was left open before is opened again: of several the one
        that knew the same, else the oldest. `resume` it; in a tool's handler say the same again.

        Args:
            purpose: what it is to find out.
            context_summary: what it has to know for that.
        """
        talk = await self._open()
        purpose, context_summary = given_purpose(purpose, context_summary, talk.name)
        idle = {name: partial(self._put_back, name, sub) for name, sub in self._subs.items() if not sub._floor.is_taken}
        name = take_name(talk, purpose, context_summary, idle)
        tools = without_own(self._toolbox)
        role = sub_role(self._role, self._setup.settings.llm.sub_conversation)
        hear = talk.hear if call_in(talk.stage) else self._hear  # its error is the program's, and not the handler's
        sub = type(self)(role, tools=tools, at=Named(talk.stage, name), on_event=hear)
        with sub_span(talk, "open", role.name, name), given_back(talk, name):
            await open_sub(talk, name, purpose, knew(context_summary))
        sub._always, sub._parent = task(purpose, context_summary, talk.egress), talk
        sub._meter, sub._lasting, sub._toolbox = self._meter, self._lasting, self._toolbox.within(tools)
        sub._setup, sub._given = self._setup, sub._always
        self._subs[name] = sub
        own(talk, name, partial(self._put_back, name, sub))
        return sub

    def _put_back(self, name: str, sub: Agent) -> None:
        sub._begin_anew()
        self._subs[name] = sub

    def _begin_anew(self) -> None:
        self._unsaid = Unsaid()
        self._talk, self._last, self._archived, self._left = None, None, False, True

    async def complete_sub_conversation(self, id: str) -> Summary:  # noqa: A002  the model's field
        """Have a sub-conversation sum up, tell this conversation, and archive it.

        Numbers and ids of the summary are struck that it was not given and that did not come back to it; that it said
        them before is no evidence. Where it cannot sum up, lines that are chosen by rule stand there, and say so.
        A tool's handler may do so, too: the conversation is told behind what came of the calls of that reply.

        Raises:
            InputError: none of that id is open.
            RunError: it is the tool of a message in that very sub-conversation, or was not waited for.
        """
        talk = await self._open()
        ratio = self._setup.settings.llm.sub_conversation.ratio
        async with floor_of(talk):
            with taken(self._subs, id, talk.name) as sub:
                await sub._catch_up()
                inner = await sub._open()
                with sub_span(talk, "complete", inner.role.name, id):
                    with self._floor.part():
                        summary = await sum_up(inner, sub._given, ratio, (sub.send, sub.go_on), sub._last)
                    await hand_back(talk, inner, sub.purpose, sub._given, summary)
                sub._archived, inner.tell = True, nobody
                return summary

    async def close(self) -> None:
        """Let go of what the agent holds. A kept conversation can be gone on with, another one is gone.

        A message that is under way in another task comes to its end first. A sub-conversation is there until it is
        completed, or the conversation that opened it is closed.
        """
        if self._parent is None or self._archived:
            await self._let_go()

    async def _let_go(self) -> None:
        try:
            await self._floor.over()
            for sub in self._subs.values():
                await sub._let_go()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        self._subs.clear()
        self._unsaid = Unsaid()
        desk, talk, self._desk, self._talk = self._desk, self._talk, None, None
        if desk:
            await desk.close(answered=talk is not None and bool(talk.turns) and talk.at_rest)
            self._name = self._name if self._parent else ""  # what is said later is said in another one

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self.close()
