"""Contexts for the prompt caches of vendors: a prefix with the same bytes in each call, and
statistics of the savings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from transom.context.cache import CacheMonitor
from transom.llm import Block, Request, Tier, Window
from transom.llm.cache_terms import MOST_MARKS, CacheTerms
from transom.telemetry.calls import is_call, tokens_of
from transom.telemetry.read import read_traces

USUAL_TERMS = CacheTerms("*", 1, 0.1, 1.25, MOST_MARKS)
"""Default prices: reads cost a tenth, writes a quarter more, and there is no minimum. Pass those of
the vendor if you know them.
"""

_FIRST = {"identity": 0, "capabilities": 1}
_NEWEST = 100  # the newest calls, which the statistics count
_TIERS = (("stable_prefix", Tier.STABLE), ("semi_stable", Tier.SESSION), ("dynamic", Tier.TURN))


class StablePrefixBuilder:
    """A builder of the text that comes first in each call. Its bytes do not depend on the order in
    which sections are added.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add_identity(self, text: str) -> Self:
        """Add the description of the model's identity."""
        return self.add_section("identity", text)

    def add_capabilities(self, text: str) -> Self:
        """Add the description of the model's capabilities."""
        return self.add_section("capabilities", text)

    def add_tools(self, text: str) -> Self:
        """Add the description of the tools that the model may call."""
        return self.add_section("tools", text)

    def add_section(self, name: str, text: str) -> Self:
        """Add another text that never changes. A second text with that name replaces it."""
        self._texts[name] = text
        return self

    def build(self) -> str:
        """Return the prefix as text."""
        return "\n\n".join(block.text for block in self.blocks)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return the prefix as blocks for `Role.prompt`: identity and capabilities first, the
        others by name.
        """
        # A cache reads up to the first byte that differs: the order must not depend on the caller.
        names = sorted(self._texts, key=lambda name: (_FIRST.get(name, len(_FIRST)), name))
        return tuple(Block(name, self._texts[name], Tier.STABLE) for name in names)


class CachedContextWriter:
    """A writer of contexts with three tiers, which measures how much of them a cache can read.

    Args:
        terms: prices of the vendor's cache, see `transom.llm.cache_terms`.
    """

    def __init__(self, terms: CacheTerms = USUAL_TERMS) -> None:
        self._monitor = CacheMonitor(terms)
        self._hits: list[bool] = []

    def prepare_context(self, stable_prefix: str, semi_stable: str = "", dynamic: str = "") -> str:
        """Return one context: the text that never changes, the session's text, the new text."""
        texts = (stable_prefix, semi_stable, dynamic)
        blocks = [
            Block(name, text, tier)
            for (name, tier), text in zip(_TIERS, texts, strict=True)
            if text
        ]
        self._hits.append(self._monitor.watch(Request("context", Window(tuple(blocks)))).hit)
        return "\n\n".join(block.text for block in blocks)

    def get_stats(self) -> dict[str, Any]:
        """Return counts and estimated savings, with the cost of cache writes."""
        return counts_of(self._hits) | {
            "estimated_savings_percent": max(0.0, 100 * (1 - self._monitor.savings().cost))
        }

    def get_report(self) -> str:
        """Return the statistics as lines of text."""
        stats = self.get_stats()
        hits = (
            f"Cache Hits: {stats['cache_hits']}/{stats['total_requests']} ({stats['hit_rate']:.0%})"
        )
        saved = f"Estimated Savings: {stats['estimated_savings_percent']:.0f}%"
        return "\n".join((hits, saved, self._monitor.savings().text()))


def counts_of(hits: list[bool]) -> dict[str, Any]:
    """Count the requests that read from a cache: `total_requests`, `cache_hits`, `cache_misses`,
    `hit_rate`.
    """
    total = len(hits)
    hit_count = sum(hits)
    rate = hit_count / total if total else 0.0
    return {
        "total_requests": total,
        "cache_hits": hit_count,
        "cache_misses": total - hit_count,
        "hit_rate": rate,
    }


def cache_stats(workspace: Path) -> dict[str, Any]:
    """Return what vendors reported about the newest calls in the traces of a workspace.

    Returns:
        `total_requests` (at most 100), `cache_hits`, `cache_misses`, `hit_rate`, `input_tokens`,
        `cached_tokens`,
        `estimated_savings_percent` of the cost of the input, with the cost of cache writes.
    """
    answered = []
    for _, spans in read_traces(workspace / "traces"):
        for span in spans:
            if is_call(span) and span.end and span.status != "error":
                answered.append(span)
    answered.sort(key=lambda span: span.end or 0)
    counted = [tokens_of(span) for span in answered]
    # Calls without tokens reached no cache: rules answered them, or the server reports nothing.
    calls = [tokens for tokens in counted if tokens["input"]][-_NEWEST:]
    input_tokens = cached = written = 0
    for tokens in calls:
        input_tokens += tokens["input"]
        cached += tokens["cached"]
        written += tokens["cache_write"]
    # In tokens of usual input: reads are cheaper than it, and writes dearer.
    saved = cached * (1 - USUAL_TERMS.read) - written * (USUAL_TERMS.write - 1)
    savings = max(0.0, 100 * saved / input_tokens) if input_tokens else 0.0
    return counts_of([tokens["cached"] > 0 for tokens in calls]) | {
        "input_tokens": input_tokens,
        "cached_tokens": cached,
        "estimated_savings_percent": savings,
    }
