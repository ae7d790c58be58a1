"""*Costs*: what model calls cost, by product, by model and by day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from transom.llm import Usage
from transom.llm.rules import RULES
from transom.server.rendering import page
from transom.server.site import Site

router = APIRouter(include_in_schema=False)
api = APIRouter(prefix="/api")

_MOST_RUNS = 20_000
_PERIODS = (1, 7, 30, 365)

Days = Annotated[int, Query(ge=1, le=3_650)]


@dataclass
class Spending:
    """What the calls of one group cost.

    Attributes:
        name: a product, a model, or a day (UTC).
        runs: runs with such calls.
        usd: dollars for the calls whose price is known.
        unpriced: the models whose price is not known.
    """

    name: str
    runs: set[str] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    unpriced: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "runs": len(self.runs),
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "cost_usd": round(self.usd, 6),
            "unpriced": sorted(self.unpriced),
        }


@dataclass(frozen=True)
class Costs:
    """The spending of a period; every call is counted once in each of the three groupings.

    Attributes:
        days: the length of the period, which ends now.
        runs: the runs that began in it, also those that asked no model.
        is_cut: whether older runs of the period were left out.
    """

    days: int
    runs: int
    is_cut: bool
    total: Spending
    products: list[Spending]
    models: list[Spending]
    dates: list[Spending]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "transom.costs/1",
            "days": self.days,
            "runs": self.runs,
            "is_cut": self.is_cut,
            "total": self.total.to_json(),
            "products": [row.to_json() for row in self.products],
            "models": [row.to_json() for row in self.models],
            "dates": [row.to_json() for row in self.dates],
        }


def costs_of(site: Site, days: int) -> Costs:
    """Return what the runs cost that began within so many days."""
    since = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    total = Spending("total")
    products: dict[str, Spending] = {}
    models: dict[str, Spending] = {}
    dates: dict[str, Spending] = {}
    count, runs = site.runs.with_calls(since, _MOST_RUNS)
    for run in runs:
        for model, usage in run.usage.items():
            # The rules cost nothing and have no tokens.
            if model == RULES:
                continue
            groups = (
                total,
                products.setdefault(run.kind, Spending(run.kind)),
                models.setdefault(model, Spending(model)),
                dates.setdefault(run.started_at[:10], Spending(run.started_at[:10])),
            )
            dollars = site.prices.of(usage, model)
            for group in groups:
                group.runs.add(run.id)
                group.usage += usage
                if dollars is None:
                    group.unpriced.add(model)
                else:
                    group.usd += dollars
    return Costs(
        days=days,
        runs=count,
        is_cut=count >= _MOST_RUNS,
        total=total,
        products=_dearest_first(products.values()),
        models=_dearest_first(models.values()),
        dates=[dates[date] for date in sorted(dates, reverse=True)],
    )


def _dearest_first(rows: Iterable[Spending]) -> list[Spending]:
    # Calls without a known price are ordered by their tokens.
    return sorted(rows, key=lambda row: (-row.usd, -row.usage.input_tokens, row.name))


@router.get("/costs")
def show_costs(request: Request, days: Days = 30) -> Response:
    """Show what model calls cost, by product, by model and by day."""
    values = {"costs": costs_of(request.app.state.site, days), "periods": _PERIODS}
    return page(request, "costs.html", values)


@api.get("/costs")
def get_costs(request: Request, days: Days = 30) -> dict[str, Any]:
    """Get what model calls cost, by product, by model and by day."""
    return costs_of(request.app.state.site, days).to_json()
