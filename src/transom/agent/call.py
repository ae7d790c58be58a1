"""One call: assemble the window, ask, read the reply strictly, and ask once more where it cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from transom.context import Budget, assemble
from transom.errors import ReplyError
from transom.llm import Block, Reply, Request, Role
from transom.runs import Stage

T = TypeVar("T")

RETRY = "retry"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a call yielded.

    Attributes:
        value: the reply, read.
        reply: the reply as it came.
        request: what it answers, the last one where there were two.
        asked: how many requests it took.
    """

    value: T
    reply: Reply
    request: Request
    asked: int


async def call(
    stage: Stage, role: Role, blocks: Sequence[Block], read: Callable[[str], T], *, budget: Budget | None = None
) -> Answer[T]:
    """Ask a role once, and a second time where the reply was cut off or cannot be read.

    Args:
        stage: in whose journal the replies are kept.
        role: who is asked.
        blocks: what it is given beside its own prompt; the second request adds a block `retry` that says what was
            wrong with the first reply.
        read: reply text -> value; ReplyError where it cannot be read.
        budget: the window's size.

    Raises:
        ReplyError: the second reply cannot be read either.
        VisibilityError, WindowOverflow, EgressError, ProviderError: see `assemble` and `Stage.ask`.
    """
    request = assemble(role, blocks, budget=budget)
    reply = await stage.ask(request, role)
    try:
        return Answer(_read(reply, read), reply, request, 1)
    except ReplyError as error:
        if RETRY not in role.sees:
            raise
        retry = Block(RETRY, f"Your last reply could not be read: {error}\nGive the whole answer again.")
    request = assemble(role, [*blocks, retry], budget=budget)
    reply = await stage.ask(request, role)
    return Answer(_read(reply, read), reply, request, 2)


def _read(reply: Reply, read: Callable[[str], T]) -> T:
    if reply.stop == "length":
        raise ReplyError("the reply was cut off at its token limit")
    try:
        reply.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ReplyError("the reply holds half a character, which no file can keep") from error
    return read(reply.text)
