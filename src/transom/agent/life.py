"""An agent's conversation in this life of the program: opened when it is needed first, begun anew, and let go of."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

from transom.agent.ahead import go_ahead, make_way, stands_ahead
from transom.agent.answer import answer
from transom.agent.events import Event, OnEvent
from transom.agent.floor import Floor
from transom.agent.given import check_tried, given_name
from transom.agent.home import Desk, open_desk
from transom.agent.made import Made
from transom.agent.passing import pass_by, stands_before
from transom.agent.saying import COMPLETED, Message, say
from transom.agent.taken_up import take_up
from transom.agent.turns import Conversation
from transom.agent.unsaid import Unsaid
from transom.agent.views import Response
from transom.errors import RunError
from transom.llm import Block
from transom.runs.opened import hear_in_calls


class Life:
    """That of one agent.

    Args:
        made: what the agent is made of.
        on_event: hears what happens.

    Attributes:
        on_event: the same; may become another one.
        name: of the conversation; "" before it begins.
        floor: who may say something in it.
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
        self.floor, self._opening = Floor(made.role.name), asyncio.Lock()
        self.given = made.always
        self.desk: Desk | None = None
        self.begin_anew()
        self._left = False
        self.name = given_name(made.at, self.floor, self.begin_anew)  # behind all that may be refused

    def begin_anew(self) -> None:
        """Have it gone through again from its beginning; not before the call is tried again that it is part of."""
        self.unsaid = Unsaid()
        self.talk: Conversation | None = None
        self.last: Response | None = None
        self.archived, self._left = False, True

    def hear(self, event: Event) -> None:
        """Something happens."""
        self.on_event(event)

    async def open(self) -> Conversation:
        """It as it goes on; a tool's handler that asks for it hears what is said there.

        Raises:
            RunError: it is part of a call that was left in the middle, and is not tried again.
            RunBusy, InputError: see `open_desk`.
        """
        async with self._opening:
            talk = self.talk or await self._opened()
        hear_in_calls(talk)
        return talk

    async def _opened(self) -> Conversation:
        made = self._made
        self._left = self._left and check_tried(made.at)
        if self.desk is None:
            if made.parent is None:  # who opens it again counts anew: what the journal has, or nothing
                made.count_anew()
            self.desk = await open_desk(made.at, made.role.name, made.chain, made.setup.settings)
            self.desk.settle(made.setup, made.chain, made.shelf)
        self.talk = talk = Conversation(
            self.desk.stage,
            replace(made.role, tools=made.toolbox.specs),
            made.toolbox,
            name=self.name or given_name(made.at, self.floor, self.begin_anew),
            meter=made.meter,
            tell=self.hear,
            lasting=made.lasting,
            floor=self.floor,
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
        with self.unsaid.message(content, blocks) as message:
            message.ours = ours
            async with self.floor:
                talk = await self.open()
                if self.archived and not talk.in_calls.ahead:
                    raise RunError(COMPLETED, where=talk.name, hint="open another")
                await self.take_in(talk, message)
                said = await say(talk, message, beside=self._made.always)
                if said:
                    self.give(blocks)
                return said or await self.answer(talk, blocks)

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
        self.last = await answer(talk, (*self._made.always, *blocks), outer, seen)
        return self.last

    async def pass_by(self, talk: Conversation) -> bool:
        """Go through what others said here: handlers that are not called again, and where a handler does so, everybody.

        Returns:
            Whether there was any of it.
        """
        if passed := stands_before(talk) is not None:
            await pass_by(talk, lambda: self.answer(talk))
        return await go_ahead(talk, partial(self.answer, talk)) or passed

    async def take_in(self, talk: Conversation, before: Message | int) -> bool:
        """Take in what stands before whatever comes now: what others said, and what was kept from being said.

        Args:
            talk: it, as it goes on.
            before: what comes now, see `Unsaid.say`.

        Returns:
            Whether others had said anything.
        """
        if self.unsaid:
            ways = (lambda: self.pass_by(talk), lambda: self.answer(talk))
            await self.unsaid.say(talk, self._made.always, before, *ways)
        passed = await self.pass_by(talk)
        if isinstance(before, Message):
            await make_way(talk, before, partial(self.answer, talk))
        return passed

    async def catch_up(self) -> Conversation:
        """It as it goes on, with all of that behind it."""
        turn, talk = self.unsaid.turn(), await self.open()
        if stands_before(talk) or stands_ahead(talk) or self.unsaid:
            async with self.floor:
                await self.take_in(talk, turn)
        return talk

    async def settle(self) -> None:
        """Have whatever was called for in it be over: what came to no end never will, since nobody waits for it."""
        async with self.floor:
            talk = await self.open()
            await self.pass_by(talk)
            await talk.give_up()

    async def leave(self) -> None:
        """Let go of it; a kept one can be gone on with."""
        self.unsaid = Unsaid()
        desk, talk, self.desk, self.talk = self.desk, self.talk, None, None
        if desk:
            await desk.close(answered=talk is not None and bool(talk.turns) and talk.at_rest)
            self.name = self.name if self._made.parent else ""  # what is said later is said in another one
