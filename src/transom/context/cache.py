"""Whether a vendor's cache can be read: where a request may mark what is to be kept, and which piece broke it."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from transom.canonical import Json
from transom.context.history import SEPARATOR
from transom.context.segments import Ordered, Parting, Piece, first_difference, piece_size, piece_text
from transom.context.tokens import Measure, TokenCorrection, measure
from transom.llm import Request, Usage
from transom.llm.cache_terms import MOST_MARKS, NO_CACHE, CacheTerms

KEPT_REQUESTS = 100


@dataclass(frozen=True)
class Breakpoint:
    """A place up to which a request may be kept.

    Attributes:
        tier: what ends there: `stable`, `session`, or the conversation so far, `turns`.
        pieces: how many pieces come before it.
        digest: of their bytes.
        size: of them.
    """

    tier: str
    pieces: int
    digest: str
    size: Measure


@dataclass(frozen=True)
class Seen:
    """What the monitor says of one request.

    Attributes:
        number: from 1, of all that it ever saw.
        role: whose it was.
        prefix: digest of all that may be kept of it.
        hit: whether anything of it was kept before.
        first_difference: where it stopped being like the request of its role before it; None where it did not, or is
            the first.
        size: of the whole request.
        tokens: of the whole request, as estimated.
        read: of them those that were kept before, as estimated.
        written: those that are kept for the first time, as estimated.
        below: the vendor's minimum, where all that may be kept is less, as estimated, so that nothing is; else 0.
        usage: what the server reported; all 0 where it reports nothing.
    """

    number: int
    role: str
    prefix: str
    hit: bool
    first_difference: Parting | None
    size: Measure
    tokens: int
    read: int
    written: int
    below: int
    usage: Usage

    def to_json(self) -> dict[str, Json]:
        return {
            "prefix": self.prefix,
            "hit": self.hit,
            "broke": self.first_difference.to_json() if self.first_difference else None,
            "tokens": self.tokens,
            "read": self.read,
            "written": self.written,
            "below_minimum": self.below or None,
            "reported_read": self.usage.cached_tokens,
        }


@dataclass(frozen=True)
class Savings:
    """What a cache saved.

    Attributes:
        reported_read: tokens that servers said they read from it.
        reported: all input tokens that they reported.
        estimated_read: tokens that could be read from it, as estimated.
        estimated_written: tokens written into it, as estimated.
        estimated: all input tokens, as estimated.
        cost: of the input, as estimated, where without a cache it is 1; with the surcharge for writing.
        requests: how many.
        below: how many of them were too short for anything to be kept.
        least: tokens, that they would have had to have.
    """

    reported_read: int
    reported: int
    estimated_read: int
    estimated_written: int
    estimated: int
    cost: float
    requests: int
    below: int
    least: int

    def text(self) -> str:
        """What was measured first, then what is estimated, marked so."""
        lines = []
        if self.reported:
            part = self.reported_read / self.reported
            lines.append(f"reported: {self.reported_read} of {self.reported} input tokens read from it, {part:.1%}")
        part = self.estimated_read / self.estimated if self.estimated else 0.0
        lines.append(
            f"estimated: {self.estimated_read} of {self.estimated} input tokens readable, {part:.1%}; "
            f"{self.estimated_written} written; input costs {self.cost:.1%} of what it would without a cache"
        )
        if self.below:
            what = f"{self.below} of {self.requests} requests are below the minimum of {self.least} tokens"
            lines.append(f"{what}: nothing of them is kept, marked or not")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Trail:
    """The last request of a conversation, its breakpoints, and the hash of its lasting pieces, ready to go on from."""

    request: Request
    breakpoints: tuple[Breakpoint, ...]
    hasher: hashlib._Hash


@dataclass
class CacheMonitor:
    """Watches requests as they are sent, and says of each whether its beginning was kept, and what broke it.

    It keeps the last 100. What a request costs to watch does not grow with its conversation. It has no clock: what a
    vendor forgot in the meantime shows only in what it reports.

    Attributes:
        terms: the vendor's.
        tokens: how tokens are estimated.
        seen: the last requests, the newest last.
    """

    terms: CacheTerms = NO_CACHE
    tokens: TokenCorrection = field(default_factory=TokenCorrection)
    seen: deque[Seen] = field(default_factory=lambda: deque(maxlen=KEPT_REQUESTS))
    _trails: dict[tuple[str, str], _Trail] = field(default_factory=dict)
    _kept: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def watch(self, request: Request, usage: Usage | None = None, *, conversation: str = "main") -> Seen:
        """Take in one request, and what its server reported.

        Args:
            request: as it is sent.
            usage: of its reply.
            conversation: tells conversations of one role apart.
        """
        self._count += 1
        trail = self._trails.get((request.role, conversation))
        found = first_difference(trail.request, request) if trail else None
        going_on = trail if trail and not found else None
        self._trails[request.role, conversation] = now = _walk(request, going_on)
        places = [*now.breakpoints, *(going_on.breakpoints[-1:] if going_on else ())]
        kept = [one for one in places if one.pieces and self.tokens.tokens(one.size) >= self.terms.least]
        read = max((self.tokens.tokens(one.size) for one in kept if one.digest in self._kept), default=0)
        if trail and found and not self.terms.marks:
            read = max(read, self._common(trail.request, found.same))
        self._keep(kept)
        end = max((self.tokens.tokens(one.size) for one in kept), default=0)
        tail = total(piece_size(block) for block in Ordered.of(request).tail)
        size = now.breakpoints[-1].size.plus(tail)
        seen = Seen(
            number=self._count,
            role=request.role,
            prefix=now.breakpoints[-1].digest,
            hit=read > 0,
            first_difference=found,
            size=size,
            tokens=self.tokens.tokens(size),
            read=read,
            written=max(0, end - read),
            below=0 if kept or (usage and usage.cached_tokens) else self.terms.least,
            usage=usage or Usage(),
        )
        self.seen.append(seen)
        return seen

    def savings(self, since: int = 1) -> Savings:
        """Over the requests that it still has, from that number on."""
        seen = [one for one in self.seen if one.number >= since]
        reported = [one.usage for one in seen if one.usage.input_tokens]
        read, written = sum(one.read for one in seen), sum(one.written for one in seen)
        whole = sum(one.tokens for one in seen)
        paid = whole - read - written + self.terms.read * read + self.terms.write * written
        return Savings(
            reported_read=sum(usage.cached_tokens for usage in reported),
            reported=sum(usage.input_tokens for usage in reported),
            estimated_read=read,
            estimated_written=written,
            estimated=whole,
            cost=paid / whole if whole else 1.0,
            requests=len(seen),
            below=sum(one.below > 0 for one in seen),
            least=self.terms.least,
        )

    def _common(self, before: Request, same: int) -> int:
        """Tokens of so many pieces, where the vendor keeps prefixes by itself and needs no mark."""
        read = self.tokens.tokens(total(piece_size(piece) for piece in Ordered.of(before).lasting[:same]))
        return read if read >= self.terms.least else 0

    def _keep(self, kept: Iterable[Breakpoint]) -> None:
        for one in kept:
            self._kept[one.digest] = self._count
        if len(self._kept) > 2 * MOST_MARKS * KEPT_REQUESTS:
            old = self._count - KEPT_REQUESTS
            self._kept = {digest: number for digest, number in self._kept.items() if number > old}


def breakpoints_of(request: Request) -> tuple[Breakpoint, ...]:
    """Where a request may mark what is to be kept: the ends of the stable and the session tier, and the end of the
    conversation so far, which is that of its last completed exchange or call. What follows it is kept by nobody.
    """
    return _walk(request, None).breakpoints


def total(sizes: Iterable[Measure]) -> Measure:
    """Of all of them together."""
    whole = Measure()
    for size in sizes:
        whole = whole.plus(size)
    return whole


def _walk(request: Request, trail: _Trail | None) -> _Trail:
    """Its breakpoints. What its conversation's last request began with is not measured and hashed again."""
    ordered = Ordered.of(request)
    found: list[Breakpoint] = []
    hasher, pieces, size = hashlib.sha256(), 0, Measure()
    groups: dict[str, tuple[Piece, ...]] = {"stable": ordered.stable, "session": ordered.session}
    groups["turns"] = ordered.turns
    if trail:
        *found, last = trail.breakpoints
        hasher, pieces, size = trail.hasher.copy(), last.pieces, last.size
        groups = {"turns": ordered.turns[len(trail.request.window.turns) :]}
    for tier, group in groups.items():
        for piece in group:
            text = piece_text(piece)
            hasher.update(text.encode("utf-8", "surrogatepass") + b"\n\n")
            size = size.plus(measure(text)).plus(SEPARATOR)
        pieces += len(group)
        found.append(Breakpoint(tier, pieces, hasher.hexdigest(), size))
    return _Trail(request, tuple(found), hasher)
