"""How much of what an agent sends a vendor's cache can read, and what that costs, on a fixed
workload.

Tiers of 5,000, 15,000 and 2,000 tokens; 50 exchanges of 1,000 tokens, each with a tool call; the
conversation is folded at least twice, and one source in the session tier changes on the way. The
vendor is simulated on the bytes that are
sent: it keeps what stands before a mark, finds it again by its bytes a little way back from each
mark, and keeps nothing under its minimum. Every figure is a count, the same on every machine. The
bar is 85 %, the aim 92 %.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from transom.context import History, WindowBudget, go_on
from transom.context.cache import CacheMonitor
from transom.context.segments import Ordered, piece_text
from transom.llm import (
    AssistantMessage,
    Block,
    CallSettings,
    Request,
    Role,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    ToolSpec,
    Turn,
    UserMessage,
    estimate_tokens,
    render,
)
from transom.llm.cache_terms import CacheTerms, terms_of

BAR, AIM = 0.85, 0.92
MODEL = "anthropic:claude-sonnet-5"
EXCHANGES = 50
CHANGES_AT = 30
LOOKS_BACK = 20  # pieces, from each mark
WORDS = (
    "the corner slow has a slack of minus 0.013 ns at u_core/u_alu/reg_12 and the report names 480"
    " endpoints "
)


def filler(tokens: int, seed: str) -> str:
    """A text of about so many tokens, another one for each seed."""
    text = f"{seed}: "
    while estimate_tokens(text) < tokens:
        text += f"{seed} {len(text)} {WORDS}"
    return text[: 3 * tokens]


LOOK = ToolSpec(
    "look", "Looks at a report.", {"type": "object", "properties": {"name": {"type": "string"}}}
)
ROLE = Role(
    "bench.agent",
    (Block("role", filler(4_800, "identity"), Tier.STABLE),),
    frozenset({"role", "protocol", "playbook", "state"}),
    (LOOK,),
    CallSettings(max_tokens=4_000),
)


@dataclass
class Vendor:
    """A cache that goes by bytes: what was sent before a mark is kept, and found again a little
    way back from one.
    """

    terms: CacheTerms
    kept: set[bytes] = field(default_factory=set)

    def send(self, request: Request) -> tuple[int, int, int]:
        """Bytes of the request, those read from the cache, and those written into it."""
        ordered = Ordered.of(request)
        texts = [piece_text(piece) for piece in ordered.pieces]
        sent = "\n\n".join(texts)
        if sent != render(request).as_text():
            raise AssertionError("the pieces are not what is sent")
        stable, session, turns = len(ordered.stable), len(ordered.session), len(ordered.turns)
        marks = sorted({stable, stable + session, stable + session + turns})
        ends = list(self._ends(texts))
        near = {place for mark in marks for place in range(max(0, mark - LOOKS_BACK), mark)}
        found = [ends[place] for place in near if ends[place][1] in self.kept]
        read = max((size for size, _ in found), default=0)
        large = [
            ends[mark - 1] for mark in marks if mark and ends[mark - 1][0] >= 3 * self.terms.least
        ]
        self.kept |= {digest for _, digest in large}
        written = max(0, max((size for size, _ in large), default=0) - read)
        return len(sent.encode()), read, written

    def _ends(self, texts: list[str]) -> Iterator[tuple[int, bytes]]:
        """Of each piece: bytes up to its end, and their digest."""
        hasher, size = hashlib.sha256(), 0
        for text in texts:
            data = text.encode() + b"\n\n"
            hasher.update(data)
            size += len(data)
            yield size, hasher.digest()


@dataclass
class Result:
    """What the workload came to; sizes in bytes, of exchanges 2 to 50."""

    sent: int = 0
    read: int = 0
    written: int = 0
    folds: int = 0
    broken: list[str] = field(default_factory=list)
    estimated: float = 0.0
    terms: CacheTerms = field(default_factory=lambda: terms_of(MODEL))

    @property
    def ratio(self) -> float:
        """The part of the input that is read from the cache."""
        return self.read / self.sent

    @property
    def cost(self) -> float:
        """What the input costs, where without a cache it is 1; writing costs more than reading
        anew.
        """
        anew = self.sent - self.read - self.written
        return (anew + self.terms.read * self.read + self.terms.write * self.written) / self.sent


def run(*, chunked: bool = True) -> Result:
    """The workload.

    Args:
        chunked: fold in large steps, as the product does; else a little at every exchange, to
            compare.
    """
    result = Result()
    vendor, monitor = Vendor(result.terms), CacheMonitor(result.terms)
    budget = WindowBudget(total=200_000)
    if not chunked:
        budget = WindowBudget(total=200_000, compaction=type(budget.compaction)(50, 49))
    history = History()
    for number in range(1, EXCHANGES + 1):
        blocks = blocks_of(number)
        for turns in exchange(number):
            history = history.add(*turns)
            if isinstance(turns[-1], AssistantMessage):
                continue
            made = go_on(ROLE, blocks, history, budget=budget)
            history = made.history
            seen = monitor.watch(made.request)
            sent, read, written = vendor.send(made.request)
            if number > 1:
                result.sent += sent
                result.read += read
                result.written += written
                result.folds += made.folded > 0
            if seen.first_difference:
                result.broken.append(
                    f"{number}: {seen.first_difference.name} {seen.first_difference.change}"
                )
    watched = monitor.savings(since=3)
    result.estimated = watched.estimated_read / watched.estimated
    return result


def blocks_of(number: int) -> list[Block]:
    """The blocks of an exchange: the session's, one of which changes once, and those of this
    call.
    """
    source = "old" if number < CHANGES_AT else "new"
    return [
        Block("protocol", filler(10_000, "protocol"), Tier.SESSION),
        Block("playbook", filler(5_000, f"playbook {source}"), Tier.SESSION),
        Block("state", filler(2_000, f"state {number}")),
    ]


def exchange(number: int) -> Iterator[tuple[Turn, ...]]:
    """The question; the call and its result; the answer: 1,000 tokens."""
    yield (UserMessage(filler(100, f"question {number}")),)
    call = ToolCallPart(f"c{number}", "look", {"name": f"report {number}"})
    result = ToolResultPart(call.id, "look", filler(650, f"result {number}"))
    yield AssistantMessage((call,)), ToolResults((result,))
    yield (AssistantMessage((Text(filler(130, f"answer {number}")),)),)


def main() -> None:
    """Print the figures."""
    chunked, little = run(), run(chunked=False)
    for name, made in (
        ("folded in large steps", chunked),
        ("folded a little at every exchange", little),
    ):
        sys.stdout.write(
            f"{name}: {made.ratio:.1%} of {made.sent} input bytes read from the cache in exchanges"
            f" 2 to {EXCHANGES} (estimated {made.estimated:.1%}), {made.folds} folds\n "
            f" {made.written} bytes written; the input costs {made.cost:.1%} of what it would"
            f" without a cache (read {made.terms.read:g}x, write {made.terms.write:g}x)\n"
        )
    sys.stdout.write(f"what broke it: {'; '.join(chunked.broken)}\n")
    sys.stdout.write(f"bar {BAR:.0%}, aim {AIM:.0%}\n")


if __name__ == "__main__":
    main()
