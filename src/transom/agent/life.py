"""An agent's conversation in this process: opened when it is needed first, and let go of."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from transom.agent.answer import answer
from transom.agent.events import Event, OnEvent
from transom.agent.given import given_name
from transom.agent.home import Desk, open_desk
from transom.agent.made import Made
from transom.agent.saying import COMPLETED, Message, say
from transom.agent.taken_up import take_up
from transom.agent.turns import Conversation
from transom.agent.unsaid import Unsaid
from transom.agent.views import Response
from transom.errors import RunError
from transom.llm import Block
from transom.runs.tool_call import mark_calls, refuse_in_tool_call


class Life:
    """That of one agent.

    Args:
        made: what the agent is made of.
        on_event: hears what happens.

    Attributes:
        on_event: the same; may become another one.
        name: of the conversation; "" before it begins.
        lock: one message at a time.
        unsaid: what something kept from being said.
        desk: its stage, while it is open.
        talk: the same as it goes on.
        last: what came of the last message.
        given: what a sub-conversation is held to when it is summed up.
        archived: whether it is completed.

    Raises:
        RunError: see `given_name`.
    """

    def __init__(self, made: Made, on_event: OnEvent) -> None:
        self._made, self.on_event = made, on_event
        self.lock, self._opening = asyncio.Lock(), asyncio.Lock()
        self.given = made.always
        self.desk: Desk | None = None
        self.unsaid = Unsaid()
        self.talk: Conversation | None = None
        self.last: Response | None = None
        self.archived = False
        self.name = given_name(made.at)  # behind all that may be refused

    def hear(self, event: Event) -> None:
        """Something happens."""
        self.on_event(event)

    def refuse_in_tool_call(self) -> None:
        """Keep the handlers of the run's own tools out of the conversation.

        Raises:
            RunError: one of them asks.
        """
        if self.desk:
            refuse_in_tool_call(self.desk.stage.host, self.name)

    async def open(self) -> Conversation:
        """It as it goes on.

        Raises:
            RunError: a handler of a tool of the same run asks.
            RunBusy, InputError: see `open_desk`.
        """
        self.refuse_in_tool_call()
        async with self._opening:
            return self.talk or await self._opened()

    async def _opened(self) -> Conversation:
        made = self._made
        if self.desk is None:
            if made.parent is None:  # who opens it again counts anew: what the journal has, or nothing
                made.count_anew()
            self.desk = await open_desk(made.at, made.role.name, made.chain, made.setup.settings)
            self.desk.settle(made.setup, made.chain, made.shelf)
            self.refuse_in_tool_call()
        self.talk = talk = Conversation(
            self.desk.stage,
            replace(made.role, tools=made.toolbox.specs),
            made.toolbox,
            name=self.name or given_name(made.at),
            meter=made.meter,
            tell=self.hear,
            lasting=made.lasting,
        )
        return take_up(talk, made.setup.settings.llm.sub_conversation)

    def give(self, blocks: tuple[Block, ...]) -> None:
        """A message comes with blocks: a sub-conversation will be asked to sum up, and held to what it was given."""
        if self._made.parent:
            self.given += tuple(block for block in blocks if block not in self.given)

    async def say(self, content: str, blocks: tuple[Block, ...] = (), *, ours: bool = False) -> Response:
        """Say something in it, and have the role answer; see `Agent.send`.

        Args:
            content: the message.
            blocks: what it comes with.
            ours: whether it is the runtime's own words.
        """
        self.refuse_in_tool_call()
        with self.unsaid.message(content, blocks) as message:
            message.ours = ours
            async with self.lock:
                talk = await self.open()
                if self.archived:
                    raise RunError(COMPLETED, where=talk.name, hint="open another")
                await self.take_in(talk, message)
                await say(talk, message, beside=self._made.always)
                return await self.answer(talk, blocks)

    async def answer(self, talk: Conversation, blocks: tuple[Block, ...] = ()) -> Response:
        """Have the role answer what was said last, see `agent.answer`.

        Args:
            talk: it, as it goes on.
            blocks: what this one message comes with.
        """
        parent = self._made.parent
        if blocks:
            self.give(blocks)
        outer, seen = parent.deadline if parent else None, self.last.window if self.last else None
        try:
            self.last = await answer(talk, (*self._made.always, *blocks), outer, seen)
        finally:
            mark_calls(talk.egress)
        return self.last

    async def take_in(self, talk: Conversation, before: Message | int) -> None:
        """Say what was kept from being said before whatever comes now.

        Args:
            talk: it, as it goes on.
            before: what comes now, see `Unsaid.say`.
        """
        if self.unsaid:
            await self.unsaid.say(talk, self._made.always, before, lambda: self.answer(talk))

    async def catch_up(self) -> Conversation:
        """It as it goes on, with all of that behind it."""
        turn, talk = self.unsaid.turn(), await self.open()
        if self.unsaid:
            async with self.lock:
                await self.take_in(talk, turn)
        return talk

    async def settle(self) -> None:
        """Have whatever was called for in it be over: what came to no end never will, since nobody waits for it."""
        async with self.lock:
            await (await self.open()).give_up()

    async def leave(self) -> None:
        """Let go of it; a kept one can be gone on with."""
        self.unsaid = Unsaid()
        desk, talk, self.desk, self.talk = self.desk, self.talk, None, None
        if desk:
            await desk.close(answered=talk is not None and bool(talk.turns) and talk.at_rest)
            self.name = self.name if self._made.parent else ""  # what is said later is said in another one
