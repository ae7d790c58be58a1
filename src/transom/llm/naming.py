"""Construction of providers from names such as `openai:NAME,rules` and the settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from transom.errors import InputError, SettingsError
from transom.llm.checked import check_provider
from transom.llm.egress import EgressPolicy
from transom.llm.hosted import HOSTED, SERVICES, connect
from transom.llm.limits import RateLimitStore
from transom.llm.provider import Chain, Provider
from transom.llm.replay import ReplayProvider
from transom.llm.rules import RULES

if TYPE_CHECKING:
    from transom.config import Settings
    from transom.config.model import ModelSeat

_REPLAY = "replay:PATH"
_OWN = "package.module:Class"


@dataclass(frozen=True)
class Surroundings:
    """The context in which provider names are resolved.

    Attributes:
        cwd: where a recording's path is meant from.
        settings: of the command or program.
        base_url: where the one provider of `model` that has a server is reached.
        store: where limits keep what was spent; with the process where None.
        where: the model is named, for messages.
        own: providers of the caller's that have names of their own, e.g. `rules`, and how to make
            them.
    """

    cwd: Path
    settings: Settings
    base_url: str | None = None
    store: RateLimitStore | None = None
    where: str = "--model"
    own: Mapping[str, Callable[[], Provider]] = field(default_factory=dict, compare=False)

    @property
    def known(self) -> tuple[str, ...]:
        """Forms that a provider name may have."""
        return (*self.own, _REPLAY, *(f"{kind}:NAME" for kind in HOSTED), _OWN)


def named_chain(
    spec: str, around: Surroundings, seats: Mapping[str, ModelSeat] | None = None
) -> Chain:
    """The chain that a `model` setting names, e.g. `openai:NAME,rules`.

    Args:
        spec: one name, or several in order of preference, comma-separated.
        around: what they are made from.
        seats: role name -> the seat whose own provider and model answer that role, where it has
            any.

    Raises:
        InputError: an empty or unknown name; a recording that cannot be read; a provider whose SDK
            or key is missing; one base URL for several servers.
        SettingsError: a seat that names a model and no provider.
    """
    policy, retry = EgressPolicy.of(around.settings.egress), around.settings.llm.retry
    names = _names(spec)
    addressed = {_kind(name) for name in names} & set(HOSTED)
    if around.base_url and len(addressed) > 1:
        what = f"it cannot be the address of {' and '.join(sorted(addressed))} at once"
        raise InputError(what, where="--base-url", hint="set llm.NAME.base_url for each")

    def made(names: Sequence[str], where: str) -> tuple[Provider, ...]:
        here = replace(around, where=where)
        elsewhere = replace(here, base_url=None)
        return tuple(
            named_provider(name, here if _kind(name) in addressed else elsewhere) for name in names
        )

    chains: dict[str, Chain] = {}  # of two roles in seats alike, both ask the same providers
    answering = {}
    for role, seat in (seats or {}).items():
        where = place_of_seat(around.settings, seat)
        own = seat_spec(seat, names, where)
        if own is None:
            continue
        if own not in chains:
            chains[own] = Chain(made(_names(own), where), policy, retry=retry)
        answering[role] = chains[own]
    return Chain(made(names, around.where), policy, answering, retry)


def named_provider(name: str, around: Surroundings) -> Provider:
    """One provider, e.g. `openai:NAME`; for errors see `named_chain`."""
    kind, _, rest = name.partition(":")
    settings = around.settings
    if name in around.own:
        return around.own[name]()
    if kind == "replay" and rest:
        return ReplayProvider(Path(around.cwd, rest))
    if kind in HOSTED:
        own, stream = getattr(settings.llm, kind), settings.execution.enable_streaming
        return connect(name, own, base_url=around.base_url, stream=stream, store=around.store)
    if (
        kind
        and rest.isidentifier()
        and ("." in kind or Path(around.cwd, f"{kind}.py").is_file() or find_spec(kind))
    ):
        return _own_provider(name, around)
    what, hint = f"unknown provider {name!r}", _known_forms(around)
    if name == RULES:
        what = "rules answer only the roles of transom check"
    elif kind in SERVICES:
        # a service with the API of another kind of provider
        version = " and llm.openai.api_version" if kind == "azure" else ""
        hint = (
            f"{kind} is reached with the provider openai: say openai:{rest or 'NAME'}, and set"
            f" llm.openai.base_url{version} (see the page Providers)"
        )
    raise InputError(what, where=around.where, hint=hint)


def _known_forms(around: Surroundings) -> str:
    return f"use {', '.join(around.known[:-1])} or {around.known[-1]}"


def _own_provider(name: str, around: Surroundings) -> Provider:
    """A provider of the user's: `package.module:Class`, made without arguments, or an object
    that is there.
    """
    module, _, attribute = name.partition(":")
    if str(around.cwd) not in sys.path:
        # the `transom` command does not have the working folder on its path
        sys.path.append(str(around.cwd))
    try:
        found = getattr(import_module(module), attribute)
        made: Provider = found() if isinstance(found, type) else found
    except Exception as error:  # of whatever kind the user's module raises
        what = f"{name} cannot be made: {type(error).__name__}: {error}"
        hint = "correct it; package.module:Class is made without arguments"
        raise InputError(what, where=around.where, hint=hint) from error
    check_provider(made, f"{around.where} {name}")
    return made


def place_of_seat(settings: Settings, seat: ModelSeat) -> str:
    """Return where a seat's provider or model was written, e.g. `transom.yaml:2: llm.agent_a`."""
    for name in type(settings.llm).model_fields:
        if getattr(settings.llm, name) is seat:
            written = [settings.origins.get(f"llm.{name}.{key}") for key in ("provider", "model")]
            place = next(filter(None, written), None)
            return f"{place}: llm.{name}" if place else f"llm.{name}"
    return "llm"


def place_of_model(settings: Settings) -> str:
    """Return where the `model` setting was written: the option, or a line of a file."""
    place = settings.origins.get("model", "command line")
    return "--model" if place == "command line" else f"{place}: model"


def seat_spec(seat: ModelSeat, names: Sequence[str], where: str = "llm") -> str | None:
    """The provider name of a seat's own `provider` and `model`; None where it has neither, and the
    chain answers.

    A model without a provider is one of the first of the chain's `names` that has a server.

    Raises:
        SettingsError: a model without a provider where the chain has no server, or two models; at
            `where`.
    """
    if seat.model is None:
        return seat.provider
    provider = seat.provider or next((_kind(name) for name in names if _kind(name) in HOSTED), None)
    if provider is None:
        raise SettingsError(
            f"model {seat.model} has no provider",
            where=where,
            hint="set provider beside it",
        )
    if ":" in provider:
        what = f"{provider} names a model already, and {seat.model} is another one"
        raise SettingsError(what, where=where, hint="set model alone, or provider alone")
    return f"{provider}:{seat.model}"


def _names(spec: str) -> list[str]:
    return [name.strip() for name in spec.split(",")]


def _kind(name: str) -> str:
    return name.partition(":")[0]
