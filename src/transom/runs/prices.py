"""What models cost: dated data, which a user can lay a list of their own over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.llm import Provider, Usage
from transom.telemetry.destination import exporter

if TYPE_CHECKING:
    from transom.telemetry.calls import Price as PriceOf
    from transom.telemetry.otlp import Exporter

_PUBLISHED = Path(__file__).with_name("prices.yaml")
_MILLION = 1_000_000
_DAY = re.compile(r"-(\d{8}|\d{4}-\d\d-\d\d)$")
_HOW_TO_PRICE = (
    "write `models: {{{name}: {{input: USD, output: USD}}}}`, per million tokens, into a list of your own and name it "
    "in paths.prices (Prices.load in a program); a server on this machine is free with llm.NAME.local: true"
)


class Price(BaseModel):
    """US dollars per million tokens. What a cache costs is the input's price where it is not given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Literal["transom.prices/1"] = Field(default="transom.prices/1", alias="schema")
    as_of: date
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """The published list, with a file of the same form laid over it.

        Raises:
            InputError: the file cannot be read, or is not of that form: `file:line`, what, what to do.
        """
        known = validate_yaml(cls, load_yaml(_PUBLISHED))
        if path is None:
            return known
        given = validate_yaml(cls, load_yaml(path))
        return given.model_copy(update={"models": {**known.models, **given.models}})

    def check(self, providers: Iterable[Provider]) -> None:
        """Refuse to begin where what may be spent could not be counted.

        Raises:
            InputError: a provider has no price here, is not on this machine, and does not tell what it costs.
        """
        for one in providers:
            if not (one.local or one.caps.tells_cost or self._price(one.name)):
                what = f"no price of it is known ({self.as_of}), so its cost cannot be capped"
                raise InputError(what, where=one.name, hint=_HOW_TO_PRICE.format(name=one.name))

    def of(self, usage: Usage, by: str) -> float | None:
        """Dollars that a reply cost: what its server told, else by this list; None where nobody knows."""
        if usage.cost is not None:
            return usage.cost
        price = self._price(by)
        return price.of(usage) if price else None

    def _price(self, name: str) -> Price | None:
        """Of a model of that name, or of that name and a day: vendors name their snapshots so."""
        return self.models.get(name) or self.models.get(_DAY.sub("", name))


@cache
def published() -> Prices:
    """The published list, read once in the life of a process."""
    return Prices.load()


def price_by(prices: Prices) -> PriceOf:
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
