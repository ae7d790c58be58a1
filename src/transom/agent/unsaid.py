"""Messages that something kept from being said: a stop while another one had the floor, a database that was full.

The program that goes on says something else behind them. When it runs again nothing may keep them, and then what it
says would stand in another order than in the journal. So they are said before whatever is said next, and stay without
an answer, as every message does that was stopped later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from transom.agent.left import end_as_then
from transom.agent.saying import Message, say
from transom.agent.turns import Conversation
from transom.agent.views import Response
from transom.errors import InputError, RunBusy, RunError, StoreError, VisibilityError, WindowOverflow
from transom.llm import Block

_KEEPS = (asyncio.CancelledError, RunBusy, StoreError)
_REFUSES = (InputError, RunError, VisibilityError, WindowOverflow)


class Unsaid:
    """Those of one agent."""

    def __init__(self) -> None:
        self._count = 0
        self._left: list[Message] = []

    def __bool__(self) -> bool:
        return bool(self._left)

    def turn(self) -> int:
        """Which of all that is said and done in the conversation comes now; behind it are those that come later."""
        self._count += 1
        return self._count

    @contextmanager
    def message(self, text: str, blocks: tuple[Block, ...]) -> Iterator[Message]:
        """Something is said. Where it was not when that is over, it is known from then on."""
        message = Message(self.turn(), text, blocks)
        try:
            yield message
        except BaseException as error:
            if isinstance(error, _KEEPS):
                message.kept_by = error
            if message.kept_by and not message.said:
                self._left.append(message)
            raise
        finally:
            if message.said and self._left:
                self._left = [one for one in self._left if one.said_by is not message]

    async def say(
        self,
        talk: Conversation,
        beside: Sequence[Block],
        before: Message | int,
        answer: Callable[[], Awaitable[Response]],
    ) -> None:
        """Say all that was kept from being said, in the order of the program.

        Who says the same again says it once, and what kept it from being said is journaled with it.

        Args:
            talk: where it is said.
            beside: what every message is answered from.
            before: what comes now: a message, or the turn of something else.
            answer: has the role answer what was said last; the journal has it where only today something kept it.

        Raises:
            StoreError: it cannot be said now either.
        """
        turn = before.number if isinstance(before, Message) else before
        left = sorted((one for one in self._left if one.number < turn), key=_number)
        if isinstance(before, Message):
            before.tries = []
            while left and (left[-1].text, left[-1].blocks) == (before.text, before.blocks):
                left[-1].said_by = before
                before.tries.insert(0, left.pop())
        for one in left:
            try:
                await say(talk, one, beside=beside)
                talk.left_by = one.kept_by
                if talk.lasting and talk.stage.answered_next(talk.name):
                    await end_as_then(talk, answer)
            except _REFUSES:  # whenever it is said
                one.said = True
            finally:
                if one.said:
                    self._left.remove(one)


def _number(message: Message) -> int:
    return message.number
