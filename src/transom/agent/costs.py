"""What calls cost, for telemetry, which knows names and tokens alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from transom.agent.prices import Prices
from transom.llm import Usage
from transom.telemetry.destination import exporter

if TYPE_CHECKING:
    from transom.telemetry.calls import Price
    from transom.telemetry.otlp import Exporter


def price_by(prices: Prices) -> Price:
    """A price list as telemetry asks it."""

    def price(who: str, tokens: Mapping[str, int]) -> float | None:
        return prices.of(Usage(tokens["input"], tokens["output"], tokens["cached"], tokens["cache_write"]), who)

    return price


def priced_exporter(endpoint: str | None = None, prices: Path | None = None) -> Exporter | None:
    """The exporter that is configured, which then knows what calls cost.

    Args:
        endpoint: see `telemetry.destination.exporter`.
        prices: a price list of one's own, see `Prices.load`.
    """
    found = exporter(endpoint)
    if found and found.metrics.price is None:
        found.metrics.price = price_by(Prices.load(prices))
    return found
