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
# Vendors name the snapshots of a model by their day: `gpt-4.1-2025-04-14`.
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
        """Return the dollars of a call."""
        # `input_tokens` includes the tokens that a cache gave or took, at prices of their own.
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
        """Return the published list, with a file of the same form laid over it.

        Raises:
            InputError: the file cannot be read, or is not a price list.
        """
        published_list = cls._read(_PUBLISHED)
        if path is None:
            return published_list
        own_list = cls._read(path)
        models = {**published_list.models, **own_list.models}
        return own_list.model_copy(update={"models": models})

    @classmethod
    def _read(cls, path: Path) -> Self:
        try:
            file = parse_yaml(path.read_text("utf-8-sig"), path)
        except (OSError, UnicodeDecodeError) as error:
            hint = "name a UTF-8 file in paths.prices"
            raise InputError(
                f"the price list cannot be read: {error}", place=str(path), hint=hint
            ) from error
        try:
            return cls.model_validate(file.data)
        except ValidationError as error:
            # One error at a time: the others are often consequences of the first.
            first = error.errors(include_url=False)[0]
            raise InputError(
                f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
                place=file.place_of(*first["loc"]),
                hint="see prices in docs/providers.md",
            ) from error

    def check(self, providers: Iterable[Provider]) -> None:
        """Refuse a provider without a known price with an InputError.

        Its cost could not be counted, so a cap in dollars could not hold.
        """
        for provider in providers:
            if not (provider.local or provider.caps.tells_cost or self._price(provider.name)):
                raise InputError(
                    f"no price of it is known ({self.as_of}), so its cost cannot be capped",
                    place=provider.name,
                    hint=_HOW_TO_PRICE.format(name=provider.name),
                )

    def of(self, usage: Usage, provider: str) -> float | None:
        """Return the dollars that a reply cost, or None if its cost is unknown.

        Args:
            usage: the reply's tokens, and its cost if the server reported it.
            provider: the name of the provider that answered.
        """
        # The server knows discounts that no list has.
        if usage.cost is not None:
            return usage.cost
        if provider == RULES:
            return 0.0
        price = self._price(provider)
        return price.of(usage) if price else None

    def at_most(self, provider: str, read: int, written: int) -> float | None:
        """Return the most that a call of so many tokens costs; None if no price is known."""
        price = self._price(provider)
        return price.at_most(read, written) if price else None

    def of_tokens(self, provider: str, tokens: Mapping[str, int]) -> float | None:
        """Return the dollars of a call as telemetry counts its tokens; see `of`."""
        usage = Usage(tokens["input"], tokens["output"], tokens["cached"], tokens["cache_write"])
        return self.of(usage, provider)

    def _price(self, name: str) -> Price | None:
        """Return the price of a model by its name, with or without a date."""
        # A dated snapshot may have its own price; usually it has that of the model.
        return self.models.get(name) or self.models.get(_DAY.sub("", name))


@cache
def published() -> Prices:
    """Return the published list, which is read once for each process."""
    return Prices.load()


def priced_exporter(endpoint: str | None = None, prices: Path | None = None) -> Exporter | None:
    """Return the configured exporter, with prices; None if none is configured."""
    configured = exporter(endpoint)
    # Telemetry stands below this room, so it is given the function rather than the list.
    if configured and configured.metrics.price is None:
        configured.metrics.price = Prices.load(prices).of_tokens
    return configured
