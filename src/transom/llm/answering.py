"""One answer, in as many replies as it takes: gone on with where its server paused, and mended once for its schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from transom.errors import ProviderError, ReplyError
from transom.llm.deltas import Again, OnDelta
from transom.llm.reply import Reply
from transom.llm.shapes import Request
from transom.llm.structured import Complaint, complaints, mending, schema_check
from transom.llm.turns import AssistantMessage, Turn, UserMessage

Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]

VOID = Again("the answer does not follow its schema")
CUT_OFF = Again("it was cut off before it was whole")
GO_ON = UserMessage("You have said nothing. Please go on.")
"""What is said to a model that stopped without a word."""
MOST_PAUSES = 10


async def answered(ask: Ask, request: Request, on_delta: OnDelta | None = None) -> Reply:
    """Ask until an answer is whole, and follows `request.output`.

    Tool calls and replies that were cut off or refused are held to no schema: they are no answers.

    Args:
        ask: puts one request.
        request: what is asked first.
        on_delta: hears that an answer is void.

    Returns:
        The whole reply, with the usage of all that it took.

    Raises:
        ReplyError: the repair does not follow the schema either.
        ProviderError: it paused too often.
        InputError: the schema is none, or leads to one that is not in it.
    """
    held = None if request.output is None else schema_check(request.output)
    first = await _gone_on(ask, request)
    wrong = complaints(first, held) if held else []
    if held is None or not wrong:
        return first
    if on_delta:
        on_delta(VOID)
    second = await _gone_on(ask, mending(request, first, wrong))
    if wrong := complaints(second, held):
        raise answer_in_vain(wrong, request.role)
    return replace(second, usage=first.usage + second.usage)


async def _gone_on(ask: Ask, request: Request) -> Reply:
    """An answer to its end, however often its server pauses.

    A model that has nothing to add to what its tools found may stop without a word, and would again if it were asked
    the same. It is asked once to go on; where it has nothing to say then either, that is its answer.
    """
    whole = last = await ask(request)
    urged = False
    for _ in range(MOST_PAUSES):
        if not is_paused(whole):
            return whole
        said: tuple[Turn, ...] = (AssistantMessage(whole.parts),) if whole.parts else ()
        turns = (*request.window.turns, *said, *(() if last.parts else (GO_ON,)))
        urged = urged or not last.parts
        last = await ask(replace(request, window=replace(request.window, turns=turns)))
        stop = "end" if urged and not last.parts and is_paused(last) else last.stop
        whole = replace(last, parts=(*whole.parts, *last.parts), usage=whole.usage + last.usage, stop=stop)
    if is_paused(whole):
        raise paused_in_vain(whole.by)
    return whole


def is_paused(reply: Reply) -> bool:
    """Whether its server stopped in the middle, and goes on when it is handed its words."""
    return reply.stop == "pause" and not reply.calls


def paused_in_vain(by: str) -> ProviderError:
    """What to raise where a server pauses again and again."""
    hint = "ask for less at once, or choose another model"
    return ProviderError(f"it paused {MOST_PAUSES + 1} times and came to no end", where=by, hint=hint)


def answer_in_vain(wrong: Sequence[Complaint], role: str) -> ReplyError:
    """What to raise where the repair of an answer is none either; its first complaint is told."""
    what = "the answer does not follow its schema, nor does its repair"
    first = wrong[0] if wrong else Complaint("it is not whole", "it is not whole")
    return ReplyError(f"{what}: {first.text}", where=role, bare=f"{what}: {first.bare}")
