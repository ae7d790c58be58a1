"""Prices of models, which a user's own list can override."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from transom.errors import InputError
from transom.llm.provider import Provider
from transom.llm.reply import Usage
from transom.llm.rules import RULES
from transom.telemetry.otlp import Exporter, exporter
from transom.yaml_text import parse_yaml

_PUBLISHED = Path(__file__).with_name("prices.yaml")
_MILLION = 1_000_000
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

    def at_most(self, read: int, written: int) -> float:
        """Return the dollars of a call whose input is cached in the dearest way."""
        dearest_input = max(self.input, self.cached or 0.0, self.cache_write or 0.0)
        return (read * dearest_input + written * self.output) / _MILLION


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
        if by == RULES:
            return 0.0
        price = self._price(by)
        return price.of(usage) if price else None

    def at_most(self, by: str, read: int, written: int) -> float | None:
        """Return the most that a call of so many tokens costs; None if no price is known."""
        price = self._price(by)
        return price.at_most(read, written) if price else None

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
