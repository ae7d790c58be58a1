"""Going through a kept conversation as its journal has it, up to where it was left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from transom.agent.turns import Conversation, nothing_before
from transom.agent.views import Response
from transom.errors import RunError, TransomError
from transom.llm import UserMessage


async def walk_through(talk: Conversation, answer: Callable[[], Awaitable[Response]]) -> Response | None:
    """Take in each thing that was told where it was, and let the replies follow; None where nothing was told.

    What is completed is gone through up to there, and nothing more is asked in it. Where a request ended in an error of
    its own, and the journal goes on, so does this.

    Args:
        talk: nothing was said in it yet.
        answer: has the role answer what was told last.

    Raises:
        ReplyError, ProviderError: the last request ended so.
        RunError: the last message is not answered yet, and came with blocks, which are not kept.
    """
    told = talk.stage.told(talk.name)
    completed = bool(told) and told[-1]["event"] == "completed"
    walk = _Walk(talk)
    talk.meter.catch_up()  # who resumes goes on from the end
    last: Response | None = None
    talk.before = walk.before
    try:
        while walk.left:
            asked = any(told["event"] == "asked" for told in walk.left)
            await walk.take_in()
            if (asked and not completed) or talk.stage.answered_next(talk.name):
                last = await walk.answered(answer) or last
    finally:
        talk.before = nothing_before
    return last


class _Walk:
    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self._lacks_blocks = False

    @property
    def left(self) -> list[Any]:
        """What was told, from where the conversation is now: it tells itself what its tools found."""
        told = self._talk.stage.told(self._talk.name)
        return told[:-1] if told and told[-1]["event"] == "completed" else told

    async def take_in(self) -> None:
        """What was told next."""
        talk = self._talk
        await talk.give_up()
        if not self.left:  # that told the last of it
            return
        told = self.left[0]
        await talk.stage.tell(talk.name, told)
        self._lacks_blocks = bool(told.get("blocks"))
        asked = UserMessage(told["text"], told.get("egress", "any"))
        if told["event"] == "found":
            talk.stage.names.is_over(told["sub"])
            talk.add(asked)
        else:
            talk.ask_for(asked)

    async def answered(self, answer: Callable[[], Awaitable[Response]]) -> Response | None:
        """What was told has its answer; None where it had none when the code ran before."""
        while True:
            try:
                return await answer()
            except TransomError:
                stage, name = self._talk.stage, self._talk.name
                if self._talk.failed and stage.answered_next(name):  # it was asked once more
                    continue
                if self._talk.failed and stage.told_next(name) is not None:
                    return None
                raise

    async def before(self) -> None:
        """A request that has no journaled reply: either something else was told before it, or it is to be sent now."""
        talk = self._talk
        while not talk.stage.answered_next(talk.name) and self.left:
            await self.take_in()
        if self._lacks_blocks and not talk.stage.answered_next(talk.name):
            hint = "give them to go_on(), and it is answered"
            raise RunError("the last message came with blocks, which are not kept", where=talk.name, hint=hint)
