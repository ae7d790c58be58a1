"""What sub-conversations found: what tools completed is told behind what came of the calls of that reply.

A reply and what came of its calls stand together. So what is found while they are carried out waits until they are
over, in this life of the program and, by the journal, in later ones. What a program completes is told at once; where
it runs again, in the order of before, since what is said in another order voids all that was answered after it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transom.agent.passing import stands_before
from transom.errors import StoreError
from transom.llm import AssistantMessage, Block, Reply, UserMessage
from transom.llm.render import render_block
from transom.llm.turns import Egress

if TYPE_CHECKING:
    from transom.agent.turns import Conversation


@dataclass
class Findings:
    """Those of one conversation.

    Attributes:
        ready: what is to be told: a program found it, or the calls of its reply are over.
    """

    ready: list[Any] = field(default_factory=list)
    _of: dict[str, dict[str, Any]] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)  # by the program, in this life

    def __bool__(self) -> bool:
        return bool(self._of)

    def add(self, turn: str, told: Any) -> None:
        """Something was found while the calls of a reply were carried out, see `turn_of`."""
        self._of.setdefault(turn, {})[told["sub"]] = told

    def tell_ahead(self, sub: str) -> None:
        """What a program found is told before it finds it in this life: a handler speaks behind it."""
        self._said.add(sub)

    def is_ready(self, sub: str) -> bool:
        """Whether what that one found is to be told."""
        return any(one["sub"] == sub for one in self.ready)

    def due(self, talk: Conversation, turn: str) -> None:
        """The calls of that reply are over. What is new is told in the order in which the journal has it begun."""
        found, stage = self._of.pop(turn, {}), talk.stage
        if len(found) > 1:
            begun = [name for (*where, name) in stage.host.state.told if where == [stage.name, stage.epoch]]
            found = {sub: found[sub] for sub in begun if sub in found}
        for sub in found:
            stage.names.is_over(sub)
        self.ready += found.values()

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

        What others told before it is passed by first. A conversation that lasts went on without whatever it has not
        told.
        """
        if not self.ready:
            return None
        then, answered = talk.stage.told(talk.name), talk.lasting and talk.stage.answered_next(talk.name)
        sub = then[0]["sub"] if then and then[0]["event"] == "found" and not answered else None
        told = next((one for one in self.ready if one["sub"] == sub), None)
        if told or (sub and waits):
            return told
        if not talk.lasting:
            return None if stands_before(talk) else self.ready[0]
        if not (then or answered):
            return self.ready[0]
        later = {one["sub"] for one in then if one["event"] == "found"}
        self.ready = [one for one in self.ready if one["sub"] in later]
        return None


async def _say(talk: Conversation, told: Any) -> None:
    """Journal what was found, and say it; who is cancelled meanwhile has said it."""
    held = talk.stage.told_next(talk.name)
    if held and {**held, "call": None} == {**told, "call": None}:
        told = held  # whoever found it then
    try:
        await talk.stage.tell(talk.name, told)
    except asyncio.CancelledError:
        talk.find(UserMessage(told["text"], told.get("egress", "any")))
        raise
    talk.find(UserMessage(told["text"], told.get("egress", "any")))


def turn_of(talk: Conversation, reply: Reply) -> str:
    """What tells a reply whose calls are carried out from every other one, in each life of the program."""
    return (
        f"{sum(isinstance(turn, AssistantMessage) for turn in talk.turns)}-{AssistantMessage(reply.parts).digest[:16]}"
    )


def found(talk: Conversation, sub: str, purpose: str, summary: str, egress: Egress) -> Any:
    """What a conversation is told of one that it opened."""
    block = Block("finding", f"{purpose}\n\n{summary}", trust="untrusted", egress=egress)
    told = {"event": "found", "sub": sub, "text": render_block(block)}
    return {**told, "egress": "local"} if talk.stage.host.chain.policy.is_local(block) else told


def recall_findings(talk: Conversation) -> None:
    """What tools completed in earlier lives: their calls have results there, and do not find it again.

    Args:
        talk: nothing was said yet in this life of it.
    """
    for (stage, epoch, name), tellings in talk.stage.host.state.told.items():
        if (stage, epoch) != (talk.stage.name, talk.stage.epoch) or not name.startswith(f"{talk.name}/"):
            continue
        first, last = tellings[0] if tellings else {}, tellings[-1] if tellings else {}
        if "within" in last and first.get("parent") == talk.name:
            told = found(talk, name, first["purpose"], last["summary"], last.get("egress", "any"))
            talk.findings.add(last["within"], told)
