"""What sub-conversations of a program found: told in the order of the journal where the program runs again.

What is told in another order would void all that was answered after it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transom.errors import StoreError
from transom.llm import Block, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress

if TYPE_CHECKING:
    from transom.agent.turns import Conversation


@dataclass
class Findings:
    """Those of one conversation.

    Attributes:
        ready: what is to be told.
    """

    ready: list[Any] = field(default_factory=list)
    _said: set[str] = field(default_factory=set)

    async def tell_now(self, talk: Conversation, told: Any) -> None:
        """Journal what a program found, and say it; behind those that were told before it when the code ran before."""
        if told["sub"] in self._said:  # with another one's, after it could not be written first
            return
        self.ready = [*(one for one in self.ready if one["sub"] != told["sub"]), told]
        await self.tell(talk, waits=True)

    async def tell(self, talk: Conversation, *, waits: bool = False) -> None:
        """Journal what is ready, and say it in the conversation.

        Args:
            talk: the conversation.
            waits: whether others that were told before it may be found yet.
        """
        while (told := self._next(talk, waits)) is not None:
            self.ready.remove(told)
            self._said.add(told["sub"])
            try:
                await _say(talk, told)
            except StoreError:
                self._said.discard(told["sub"])
                self.ready.insert(0, told)
                raise

    def _next(self, talk: Conversation, waits: bool) -> Any | None:
        """What was told next when the code ran before is told next; then what is new, where nothing else follows.

        A conversation that lasts went on without whatever it has not told.
        """
        if not self.ready:
            return None
        then, answered = talk.stage.told(talk.name), talk.lasting and talk.stage.answered_next(talk.name)
        sub = then[0]["sub"] if then and then[0]["event"] == "found" and not answered else None
        told = next((one for one in self.ready if one["sub"] == sub), None)
        if told or (sub and waits):
            return told
        if not talk.lasting or not (then or answered):
            return self.ready[0]
        later = {one["sub"] for one in then if one["event"] == "found"}
        self.ready = [one for one in self.ready if one["sub"] in later]
        return None


async def _say(talk: Conversation, told: Any) -> None:
    """Journal what was found, and say it; who is cancelled meanwhile has said it."""
    try:
        await talk.stage.tell(talk.name, told)
    except asyncio.CancelledError:
        talk.find(UserMessage(told["text"], told.get("egress", "any")))
        raise
    talk.find(UserMessage(told["text"], told.get("egress", "any")))


def found(talk: Conversation, sub: str, purpose: str, summary: str, egress: Egress) -> Any:
    """What a conversation is told of one that it opened."""
    block = Block("finding", f"{purpose}\n\n{summary}", trust="untrusted", egress=egress)
    told = {"event": "found", "sub": sub, "text": render_block(block)}
    return {**told, "egress": "local"} if talk.stage.host.chain.policy.is_local(block) else told
