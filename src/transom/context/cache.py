"""Prompt caching: the breakpoints of a request, whether a cached prefix fits, and the piece that
broke it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from transom.canonical import Json
from transom.context.history import SEPARATOR
from transom.context.segments import Difference, Ordered, first_difference, piece_size, piece_text
from transom.context.tokens import Measure, TokenCorrection, measure, total
from transom.llm import Request, Usage
from transom.llm.cache_terms import MOST_MARKS, NO_CACHE, CacheTerms

KEPT_REQUESTS = 100
_MOST_KEPT = 2 * MOST_MARKS * KEPT_REQUESTS


class Breakpoint(NamedTuple):
    """A place up to which a request may be kept: the digest of all bytes before it, and their
    size.
    """

    digest: str
    size: Measure


@dataclass(frozen=True)
class CacheView:
    """The monitor's findings on one request.

    Attributes:
        number: from 1, of all that it ever saw.
        role: whose it was.
        prefix: digest of all that may be kept of it.
        hit: whether anything of it was kept before.
        first_difference: where it stopped being like the request of its role before it; None where
            it did not, or is the first.
        size: of the whole request.
        tokens: of the whole request, as estimated.
        read: of them those that were kept before, as estimated.
        written: those that are kept for the first time, as estimated.
        below: the vendor's minimum, where all that may be kept is less, as estimated, so that
            nothing is; else 0.
        usage: what the server reported; all 0 where it reports nothing.
    """

    number: int
    role: str
    prefix: str
    hit: bool
    first_difference: Difference | None
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
    """Tokens and cost that a cache saved.

    Attributes:
        reported_read: tokens that servers said they read from it.
        reported: all input tokens that they reported.
        estimated_read: tokens that could be read from it, as estimated.
        estimated_written: tokens written into it, as estimated.
        estimated: all input tokens, as estimated.
        cost: of the input, as estimated, where without a cache it is 1; with the surcharge for
            writing.
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
        """Return lines of text: measured figures first, then estimates, marked as such."""
        lines = []
        if self.reported:
            part = self.reported_read / self.reported
            lines.append(
                f"reported: {self.reported_read} of {self.reported} input tokens read from it,"
                f" {part:.1%}"
            )
        part = self.estimated_read / self.estimated if self.estimated else 0.0
        lines.append(
            f"estimated: {self.estimated_read} of {self.estimated} input tokens readable,"
            f" {part:.1%}; {self.estimated_written} written; input costs {self.cost:.1%} of what it"
            " would without a cache"
        )
        if self.below:
            count = (
                f"{self.below} of {self.requests} requests are below the minimum of {self.least}"
                " tokens"
            )
            lines.append(f"{count}: nothing of them is kept, marked or not")
        return "\n".join(lines)


@dataclass
class CacheMonitor:
    """Watches requests, and reports of each whether its prefix was cached, and which piece broke
    the cache.

    It keeps the last 100. It has no clock: expiry at the vendor shows only in reported usage.

    Attributes:
        terms: the vendor's.
        tokens: how tokens are estimated.
        views: the last requests, the newest last.
    """

    terms: CacheTerms = NO_CACHE
    tokens: TokenCorrection = field(default_factory=TokenCorrection)
    views: deque[CacheView] = field(default_factory=lambda: deque(maxlen=KEPT_REQUESTS))
    _last: dict[tuple[str, str], Request] = field(default_factory=dict)
    _cached: dict[str, None] = field(default_factory=dict)
    _count: int = 0

    def watch(
        self, request: Request, usage: Usage | None = None, *, conversation: str = "main"
    ) -> CacheView:
        """Record one request of a conversation, and the usage that its server reported."""
        self._count += 1
        before = self._last.get((request.role, conversation))
        self._last[request.role, conversation] = request
        difference = first_difference(before, request) if before else None
        standing = len(before.window.turns) if before and not difference else 0
        places = breakpoints_of(request, standing)
        cached = []
        # `read` is the longest prefix that an earlier request wrote, `end` the longest of this one.
        read = end = 0
        for place in places:
            place_tokens = self.tokens.tokens(place.size)
            # A vendor keeps nothing that is shorter than its minimum.
            if not any(place.size) or place_tokens < self.terms.least:
                continue
            cached.append(place)
            end = max(end, place_tokens)
            if place.digest in self._cached:
                read = max(read, place_tokens)
        # A vendor without marks keeps prefixes by itself, so they may end at any piece.
        if before and difference and not self.terms.marks:
            common_pieces = Ordered.of(before).lasting[: difference.common_pieces]
            common = self.tokens.tokens(total(map(piece_size, common_pieces)))
            if common >= self.terms.least:
                read = max(read, common)
        entries = [*self._cached, *[place.digest for place in cached]]
        self._cached = dict.fromkeys(entries[-_MOST_KEPT:])
        # The blocks of this one call follow the last breakpoint, and are never cached.
        size = places[-1].size.plus(total(map(piece_size, Ordered.of(request).tail)))
        view = CacheView(
            number=self._count,
            role=request.role,
            prefix=places[-1].digest,
            hit=read > 0,
            first_difference=difference,
            size=size,
            tokens=self.tokens.tokens(size),
            read=read,
            written=max(0, end - read),
            below=0 if cached or (usage and usage.cached_tokens) else self.terms.least,
            usage=usage or Usage(),
        )
        self.views.append(view)
        return view

    def savings(self, since: int = 1) -> Savings:
        """Return the savings over the requests that it still has, from number `since` on."""
        views = [view for view in self.views if view.number >= since]
        reported_read = reported = read = written = tokens = below = 0
        for view in views:
            reported_read += view.usage.cached_tokens if view.usage.input_tokens else 0
            reported += view.usage.input_tokens
            read += view.read
            written += view.written
            tokens += view.tokens
            below += view.below > 0
        # In units of an uncached input token.
        paid = tokens - read - written + self.terms.read * read + self.terms.write * written
        return Savings(
            reported_read=reported_read,
            reported=reported,
            estimated_read=read,
            estimated_written=written,
            estimated=tokens,
            cost=paid / tokens if tokens else 1.0,
            requests=len(views),
            below=below,
            least=self.terms.least,
        )


def breakpoints_of(request: Request, standing: int = 0) -> list[Breakpoint]:
    """Return the positions up to which a request may be kept.

    They are the ends of both tiers, of its first `standing` turns, and of all turns.
    """
    ordered = Ordered.of(request)
    old_turns, new_turns = ordered.turns[:standing], ordered.turns[standing:]
    breakpoints: list[Breakpoint] = []
    # Each digest is that of all the text before it, since a cache knows whole prefixes alone.
    hasher, size = hashlib.sha256(), Measure()
    for group in (ordered.stable, ordered.session, old_turns, new_turns):
        for piece in group:
            text = piece_text(piece)
            hasher.update(text.encode("utf-8", "surrogatepass") + b"\n\n")
            size = size.plus(measure(text)).plus(SEPARATOR)
        breakpoints.append(Breakpoint(hasher.hexdigest(), size))
    return breakpoints
