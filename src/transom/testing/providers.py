"""What every provider promises, tried on a provider of your own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from transom.canonical import canonical_json
from transom.errors import ProviderError
from transom.llm import (
    Block,
    CallSettings,
    Capabilities,
    Provider,
    Reply,
    Request,
    Role,
    Text,
    Tier,
    ToolCallPart,
    Usage,
    Window,
)
from transom.llm.checked import check_provider
from transom.llm.deltas import Again, Delta
from transom.testing.promises import check_promises

ProviderMaker: TypeAlias = Callable[[], Provider]

_REQUEST = Request(
    "conformance",
    Window(
        (
            Block("role", "You try out a connection.", Tier.STABLE),
            Block("task", "Answer with the word pong."),
        )
    ),
    settings=CallSettings(max_tokens=512),
)
_STOPS = ("end", "tool_calls", "length", "refusal", "pause")


async def provider_conformance(make: ProviderMaker) -> None:
    """Try a provider of your own; all that `transom.llm.Provider` promises must hold.

    It is asked a few small questions, and must answer them, or raise a `ProviderError`. What the
    model says is not judged; `transom doctor --provider` tries tools and schemas on a server.

    Args:
        make: makes the provider, a new one for each promise.

    Raises:
        AssertionError: names each promise that does not hold, with the reason.
    """
    await check_promises(_PROMISES, make)


async def _it_has_the_attributes_of_a_provider(make: ProviderMaker) -> None:
    provider = make()
    check_provider(provider, "provider")
    name: object = provider.name
    assert isinstance(name, str) and name.strip(), "its name is a text"
    assert isinstance(provider.local, bool), "local is True or False"
    assert isinstance(provider.caps, Capabilities), "caps are Capabilities"


async def _it_answers_with_a_reply(make: ProviderMaker) -> None:
    reply = await make().complete(_REQUEST)
    assert isinstance(reply, Reply), f"complete() returned {type(reply).__name__}"
    assert isinstance(reply.usage, Usage), "usage is a Usage"
    # A negative count would lower what a budget has used.
    assert reply.usage.input_tokens >= 0, "usage is not negative"
    assert reply.usage.output_tokens >= 0, "usage is not negative"
    assert reply.stop in _STOPS, f"stop is {reply.stop!r}"
    assert reply.parts, "a reply has parts"


async def _the_pieces_come_to_the_reply(make: ProviderMaker) -> None:
    pieces: list[Delta] = []

    def on_delta(piece: Delta) -> None:
        # All pieces before an `Again` are void.
        if isinstance(piece, Again):
            pieces.clear()
        else:
            pieces.append(piece)

    reply = await make().complete(_REQUEST, on_delta=on_delta)
    # A provider that does not stream reports nothing, or the whole reply.
    if not pieces:
        return
    text = ""
    calls: tuple[ToolCallPart, ...] = ()
    for piece in pieces:
        if isinstance(piece, Text):
            text += piece.text
        elif isinstance(piece, ToolCallPart):
            calls += (piece,)
    assert text == reply.text, "the pieces of text, joined, are the reply's text"
    assert calls == reply.calls, "each tool call is one piece, in order"


async def _it_leaves_the_request_unchanged(make: ProviderMaker) -> None:
    before = canonical_json(_REQUEST.to_json())
    await make().complete(_REQUEST)
    assert canonical_json(_REQUEST.to_json()) == before, "the request was changed"


async def _estimates_grow_with_the_request(make: ProviderMaker) -> None:
    provider = make()
    # A window is filled by these estimates.
    small = provider.estimate_tokens(_REQUEST)
    blocks = (*_REQUEST.window.blocks, Block("more", "another line of a log\n" * 200))
    large = provider.estimate_tokens(Request("conformance", Window(blocks)))
    assert 0 < small < large, f"estimates are {small}, and {large} for a longer request"


async def _its_fingerprint_stays_the_same(make: ProviderMaker) -> None:
    # Finished stages are done again if it changes.
    role = Role("conformance", "You try out a connection.")
    first: object = make().fingerprint(role)
    second: object = make().fingerprint(role)
    assert isinstance(first, str) and first, "a fingerprint is a text"
    assert first == second, "two providers made alike have one fingerprint"


async def _several_calls_run_at_once(make: ProviderMaker) -> None:
    provider = make()
    calls = (provider.complete(_REQUEST), provider.complete(_REQUEST))
    for reply in await asyncio.gather(*calls):
        assert isinstance(reply, Reply), "each call has its own reply"


async def _a_cancelled_call_ends(make: ProviderMaker) -> None:
    provider = make()
    call = asyncio.ensure_future(provider.complete(_REQUEST))
    # The call has begun when it is cancelled.
    await asyncio.sleep(0)
    has_ended = not call.cancel()
    # It may have come to its end before; a call that swallows the cancellation would hang here.
    done, _ = await asyncio.wait({call}, timeout=30)
    assert done, "it goes on after it was cancelled"
    if call.cancelled():
        return
    if error := call.exception():
        assert isinstance(error, ProviderError), f"it raised {type(error).__name__}"
    else:
        # A limit of time would not be noticed otherwise.
        assert has_ended, "it answers although it was cancelled"


_PROMISES = (
    _it_has_the_attributes_of_a_provider,
    _it_answers_with_a_reply,
    _the_pieces_come_to_the_reply,
    _it_leaves_the_request_unchanged,
    _estimates_grow_with_the_request,
    _its_fingerprint_stays_the_same,
    _several_calls_run_at_once,
    _a_cancelled_call_ends,
)
