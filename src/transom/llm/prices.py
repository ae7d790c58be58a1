"""Prices of models, which a user's own list can override; and the spending of runs with its cap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transom.errors import CapReached, InputError
from transom.llm.provider import Provider
from transom.llm.reply import Usage
from transom.telemetry.otlp import Exporter, exporter
from transom.yaml_text import parse_yaml

_PUBLISHED = Path(__file__).with_name("prices.yaml")
_MILLION = 1_000_000
_NO_MODEL = frozenset({"rules", "replay", "scripted"})
"""Who has no model behind it, also in a journal of earlier commands that had others in their
chain.
"""
_DAY = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d)$")
_HOW_TO_PRICE = (
    "write `models: {{{name}: {{input: USD, output: USD}}}}`, per million tokens, into a list of"
    " your own and name it in paths.prices (Prices.load in a program); a server on this machine is"
    " free with llm.NAME.local: true"
)


class Price(BaseModel):
    """US dollars per million tokens. A missing cache price is the input's price."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)

    def of(self, usage: Usage) -> float:
        """Dollars; `usage.input_tokens` includes what a cache gave or took."""
        written = usage.cache_write_tokens
        plain = usage.input_tokens - usage.cached_tokens - written
        cached = self.input if self.cached is None else self.cached
        cache_write = self.input if self.cache_write is None else self.cache_write
        dollars = plain * self.input + usage.output_tokens * self.output
        return (dollars + usage.cached_tokens * cached + written * cache_write) / _MILLION


class Prices(BaseModel):
    """A price list.

    Attributes:
        as_of: the day on which the vendors had these prices.
        models: `vendor:model`, as replies name who answered, -> price.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    schema_: Literal["transom.prices/1"] = Field(default="transom.prices/1", alias="schema")
    as_of: date
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """The published list, with a file of the same form laid over it; InputError where that
        cannot be read.
        """
        known = cls._read(_PUBLISHED)
        if path is None:
            return known
        given = cls._read(path)
        return given.model_copy(update={"models": {**known.models, **given.models}})

    @classmethod
    def _read(cls, path: Path) -> Self:
        try:
            file = parse_yaml(path.read_text("utf-8-sig"), path)
        except (OSError, UnicodeDecodeError) as error:
            hint = "name a UTF-8 file in paths.prices"
            raise InputError(
                f"the price list cannot be read: {error}", where=str(path), hint=hint
            ) from error
        try:
            return cls.model_validate(file.data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
            raise InputError(
                what, where=file.where(*first["loc"]), hint="see prices in docs/providers.md"
            ) from error

    def check(self, providers: Iterable[Provider]) -> None:
        """Refuse a provider without a known price with an InputError, since what it costs could
        not be counted.
        """
        for one in providers:
            if not (one.local or one.caps.tells_cost or self._price(one.name)):
                what = f"no price of it is known ({self.as_of}), so its cost cannot be capped"
                raise InputError(what, where=one.name, hint=_HOW_TO_PRICE.format(name=one.name))

    def of(self, usage: Usage, by: str) -> float | None:
        """Dollars that a reply cost: as its server reported, else by this list; None where it is
        unknown.
        """
        if usage.cost is not None:
            return usage.cost
        price = self._price(by)
        return price.of(usage) if price else None

    def of_tokens(self, by: str, tokens: Mapping[str, int]) -> float | None:
        """The same for a call as telemetry counts it."""
        return self.of(
            Usage(tokens["input"], tokens["output"], tokens["cached"], tokens["cache_write"]), by
        )

    def _price(self, name: str) -> Price | None:
        """The price of a model by its name, with or without a date: vendors name their snapshots
        so.
        """
        return self.models.get(name) or self.models.get(_DAY.sub("", name))


@cache
def published() -> Prices:
    """The published list, read once for each process."""
    return Prices.load()


def priced_exporter(endpoint: str | None = None, prices: Path | None = None) -> Exporter | None:
    """The configured exporter, with prices."""
    found = exporter(endpoint)
    if found and found.metrics.price is None:
        found.metrics.price = Prices.load(prices).of_tokens
    return found


@dataclass
class Spending:
    """The cost of replies of one conversation, or of all runs of a command, and its cap.

    Replies that a journal has count as what they cost when they were given. A call that is under
    way when the cap is reached is let come to its end, so the last one may go beyond it.

    Attributes:
        limit: US dollars; None for no cap.
        prices: by which they are counted; the published ones where None.
        free: names of providers that cost nothing: those on this machine.
        unpriced: the provider of a reply of unknown cost; "" while there is none.
    """

    limit: float | None = None
    prices: Prices | None = None
    free: frozenset[str] = frozenset()
    unpriced: str = ""
    _sum: float = 0.0
    _runs: set[str] = field(default_factory=set)

    @property
    def usd(self) -> float | None:
        """Spent so far; None where it is unknown."""
        return None if self.unpriced else self._sum

    def add(self, by: str, usage: Usage) -> None:
        """A reply came."""
        cost = 0.0 if by in self.free else (self.prices or published()).of(usage, by)
        self._sum += cost or 0.0
        if cost is None and by not in _NO_MODEL:
            self.unpriced = self.unpriced or by

    def take_in(self, run_id: str, replies: Iterable[tuple[str, Usage]]) -> None:
        """Add the replies that a run's journal holds when it is opened; once, however often that
        is.
        """
        for by, usage in () if run_id in self._runs else replies:
            self.add(by, usage)
        self._runs.add(run_id)

    def check(self) -> None:
        """Refuse to ask where nothing is left (CapReached), or what was spent cannot be told
        (InputError).
        """
        if self.limit is None:
            return
        if self.unpriced:
            hint = "give its price in a list of your own (paths.prices), or go on without the cap"
            raise InputError(
                "the cost of its reply is unknown, so a cap cannot hold",
                where=self.unpriced,
                hint=hint,
            )
        if self._sum >= self.limit:
            raise CapReached("usd", self.limit, self._sum)
