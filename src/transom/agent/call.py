"""One call: assemble the window, ask, read the reply strictly, and ask once more where it cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from transom.context import Budget, assemble
from transom.errors import ProviderError, ReplyError
from transom.llm import Block, Reply, Request, Role
from transom.runs import Stage

T = TypeVar("T")

RETRY = "retry"
_MEND = "A program found this in your last answer. Mend it, leave the rest as it is, and give the whole answer again."


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
    stage: Stage,
    role: Role,
    blocks: Sequence[Block],
    read: Callable[[str], T],
    *,
    review: Callable[[T], Sequence[str]] | None = None,
    budget: Budget | None = None,
) -> Answer[T]:
    """Ask a role once, and a second time where the reply cannot be read or a gate holds something against it.

    Args:
        stage: in whose journal the replies are kept.
        role: who is asked.
        blocks: what it is given beside its own prompt; the second request adds a block `retry` that says what was
            wrong with the first reply.
        read: reply text -> value; ReplyError where it cannot be read.
        review: value -> what is wrong with it. A second answer counts where less is wrong with it.
        budget: the window's size.

    Raises:
        ReplyError: the second reply cannot be read either.
        VisibilityError, WindowOverflow, EgressError, ProviderError: see `assemble` and `Stage.ask`.
    """

    async def ask(number: int, *more: Block) -> Answer[T]:
        request = assemble(role, [*blocks, *more], budget=budget)
        reply = await stage.ask(request, role)
        return Answer(_read(reply, read), reply, request, number)

    try:
        first = await ask(1)
    except ReplyError as error:
        if RETRY not in role.sees:
            raise
        return await ask(2, Block(RETRY, f"Your last reply could not be read: {error}\nGive the whole answer again."))
    wrong = list(review(first.value)) if review and RETRY in role.sees else []
    if review is None or not wrong:
        return first
    listed = "\n".join(f"- {one}" for one in wrong)
    try:
        second = await ask(2, Block(RETRY, f"{_MEND}\n{listed}\n\nYour last answer was:\n\n{first.reply.text}"))
    except (ReplyError, ProviderError):
        return first  # an answer with findings is better than none: a person can mend it
    return second if len(review(second.value)) < len(wrong) else first


def _read(reply: Reply, read: Callable[[str], T]) -> T:
    if reply.stop == "length":
        raise ReplyError("the reply was cut off at its token limit")
    try:
        reply.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ReplyError("the reply holds half a character, which no file can keep") from error
    return read(reply.text)
