"""What a reply took, as those tell it who speak like OpenAI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from transom.llm.hosted.draft import whole_number
from transom.llm.reply import Usage


def latest(before: Usage | None, document: Mapping[str, Any]) -> Usage:
    """Of usage that is told several times the last counts, save for one that counts nothing."""
    told = _usage(document)
    if before is None or told.input_tokens or told.output_tokens:
        return told
    return before if told.cost is None else replace(before, cost=told.cost)


def _usage(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details if isinstance(details, dict) else {}
    told = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    kept = (cached.get("cached_tokens"), cached.get("cache_write_tokens"))
    asked, said, read, written = (whole_number(count) or 0 for count in (*told, *kept))
    return Usage(asked, said, read, written, _cost(usage))


def _cost(usage: Mapping[str, Any]) -> float | None:
    """Dollars, as OpenRouter tells them: what it takes, and beside it what a vendor takes whose key is one's own."""
    charged = _money(usage.get("cost"))
    if usage.get("is_byok") is not True:
        return charged
    details = usage.get("cost_details")
    upstream = _money(details.get("upstream_inference_cost")) if isinstance(details, dict) else None
    return None if upstream is None else upstream + (charged or 0.0)


def _money(told: object) -> float | None:
    """What is no amount of money was not told."""
    money = isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < math.inf
    return float(told) if money else None  # type: ignore[arg-type]  # a number, as seen
