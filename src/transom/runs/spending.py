"""What the model calls of a workspace cost, by product, by model and by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from transom.llm import Usage
from transom.llm.prices import Prices
from transom.llm.rules import RULES
from transom.runs.history import RunHistory
from transom.store import StreamSummary


@dataclass
class Spending:
    """What the calls of one group cost.

    Attributes:
        name: a product, a model, or a day (UTC).
        runs: how many runs have such calls.
        usd: dollars for the calls whose price is known.
        unpriced: the models whose price is not known.
    """

    name: str
    runs: int = 0
    usage: Usage = field(default_factory=Usage)
    usd: float = 0.0
    unpriced: set[str] = field(default_factory=set)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "runs": self.runs,
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
    """

    days: int
    runs: int
    total: Spending
    products: list[Spending]
    models: list[Spending]
    dates: list[Spending]

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"schema": "transom.costs/1", "days": self.days}
        document |= {"runs": self.runs, "total": self.total.to_json()}
        for name in ("products", "models", "dates"):
            document[name] = [row.to_json() for row in getattr(self, name)]
        return document


@dataclass
class _Tally:
    """What all runs used, as it is counted.

    Attributes:
        tokens: of each group of calls that are priced together; dollars that a server reported
            replace those of a list. By product, day, model, and whether dollars were reported.
        runs: how many runs asked a model, by product and day.
    """

    tokens: dict[tuple[str, str, str, bool], Counter[str]] = field(default_factory=dict)
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, run: StreamSummary) -> None:
        """Count a run."""
        facts: Any = run.data
        date: str = facts["started_at"][:10]
        # The rules cost nothing and have no tokens.
        models = [model for model in facts["usage"] if model != RULES]
        if models:
            self.runs[run.kind, date] += 1
        for model in models:
            tokens = facts["usage"][model]
            place = run.kind, date, model, "cost" in tokens
            tally = self.tokens.get(place)
            if tally is None:
                tally = self.tokens[place] = Counter()
            tally["runs"] += 1
            for name, number in tokens.items():
                tally[name] += number


def costs_of(history: RunHistory, prices: Prices, days: int) -> Costs:
    """Return what the runs cost that began within so many days."""
    since = datetime.now(UTC) - timedelta(days=days)
    tally = _Tally()
    for run in history.with_calls(since):
        tally.add(run)
    total = Spending("total")
    products: dict[str, Spending] = {}
    models: dict[str, Spending] = {}
    dates: dict[str, Spending] = {}
    # A price is the same for each token, so that it is looked up once for a group of calls and not
    # for each of ten thousand runs.
    for (kind, day, name, _), tokens in sorted(tally.tokens.items()):
        product = products.setdefault(kind, Spending(kind))
        model = models.setdefault(name, Spending(name))
        date = dates.setdefault(day, Spending(day))
        model.runs += tokens.pop("runs")
        usage = Usage(**tokens)
        dollars = prices.of(usage, name)
        for row in (total, product, model, date):
            row.usage += usage
            if dollars is None:
                row.unpriced.add(name)
            else:
                row.usd += dollars
    for (kind, day), runs in tally.runs.items():
        for row in (total, products[kind], dates[day]):
            row.runs += runs
    return Costs(
        days=days,
        runs=history.count_since(since),
        total=total,
        products=_dearest_first(products.values()),
        models=_dearest_first(models.values()),
        dates=[dates[date] for date in sorted(dates, reverse=True)],
    )


def _dearest_first(rows: Iterable[Spending]) -> list[Spending]:
    # Calls without a known price are ordered by their tokens.
    return sorted(rows, key=lambda row: (-row.usd, -row.usage.input_tokens, row.name))
