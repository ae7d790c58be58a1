"""Construction of providers from names such as `openai:NAME,rules` and the settings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from inspect import isfunction
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from transom.errors import InputError, SettingsError, TransomError
from transom.llm.checked import check_provider
from transom.llm.egress import EgressPolicy
from transom.llm.hosted import API_OF_SERVICES, HOSTED, SERVICES, connect, service_settings
from transom.llm.limits import RateLimitStore
from transom.llm.provider import Chain, Provider
from transom.llm.replay import ReplayProvider
from transom.llm.rules import RULES

if TYPE_CHECKING:
    from transom.config import Settings
    from transom.config.runtime_sections import ModelSeat

_REPLAY = "replay:PATH"
_OWN = "package.module:Class"


@dataclass(frozen=True)
class Surroundings:
    """The context in which provider names are resolved.

    Attributes:
        cwd: the folder that a recording's path is relative to.
        settings: of the command or program.
        base_url: the address of the one provider of `model` that has a server.
        store: keeps what rate limits have counted; None for the memory of this process.
        place: the option or setting that names the model, for messages.
        own: names of providers that the caller brings, e.g. `rules`, and how to make each.
    """

    cwd: Path
    settings: Settings
    base_url: str | None = None
    store: RateLimitStore | None = None
    place: str = "--model"
    own: Mapping[str, Callable[[], Provider]] = field(default_factory=dict, compare=False)

    @property
    def forms(self) -> tuple[str, ...]:
        """Forms that a provider name may have."""
        return (*self.own, _REPLAY, *(f"{kind}:NAME" for kind in HOSTED), _OWN)


def named_chain(
    spec: str, around: Surroundings, seats: Mapping[str, ModelSeat] | None = None
) -> Chain:
    """Return the chain that a `model` setting names, e.g. `openai:NAME,rules`.

    Args:
        spec: one name, or several in order of preference, comma-separated.
        around: the context in which the names are resolved.
        seats: role name -> the settings of its own provider and model, if any.

    Raises:
        InputError: an empty or unknown name; a recording that cannot be read; a provider whose SDK
            or key is missing; one base URL for several servers.
        SettingsError: a seat that names a model and no provider.
    """
    policy, retry = EgressPolicy.of(around.settings.egress), around.settings.llm.retry
    names = _names(spec)
    kinds = {_kind(name) for name in names} & set(HOSTED)
    if around.base_url and len(kinds) > 1:
        problem = f"it cannot be the address of {' and '.join(sorted(kinds))} at once"
        raise InputError(problem, place="--base-url", hint="set llm.NAME.base_url for each")

    def providers(names: Sequence[str], place: str) -> tuple[Provider, ...]:
        addressed = replace(around, place=place)
        # The base URL is that of the model's server, and not that of a role's other server.
        elsewhere = replace(addressed, base_url=None)
        members = []
        for name in names:
            context = addressed if _kind(name) in kinds else elsewhere
            members.append(named_provider(name, context))
        return tuple(members)

    # Roles with the same provider and model share a chain, and with it the connections.
    chains: dict[str, Chain] = {}
    role_chains = {}
    for role, seat in (seats or {}).items():
        place = place_of_seat(around.settings, seat)
        own_spec = seat_spec(seat, names, place)
        if own_spec is None:
            continue
        if own_spec not in chains:
            chains[own_spec] = Chain(providers(_names(own_spec), place), policy, retry=retry)
        role_chains[role] = chains[own_spec]
    return Chain(providers(names, around.place), policy, role_chains, retry)


def named_provider(name: str, around: Surroundings) -> Provider:
    """Return a provider by its name, e.g. `openai:NAME`; for errors see `named_chain`."""
    kind, _, model = name.partition(":")
    settings = around.settings
    if name in around.own:
        return around.own[name]()
    if kind == "replay" and model:
        return ReplayProvider(Path(around.cwd, model))
    if kind in HOSTED or (kind in SERVICES and model):
        # People name the service that they pay, whose API is that of another kind of provider.
        own = (
            getattr(settings.llm, kind)
            if kind in HOSTED
            else service_settings(kind, settings.llm.openai, around.base_url, place=around.place)
        )
        return connect(
            name if kind in HOSTED else f"{API_OF_SERVICES}:{model}",
            own,
            base_url=around.base_url if kind in HOSTED else None,
            stream=settings.execution.enable_streaming,
            store=around.store,
        )
    if model.isidentifier() and _is_module(kind, around.cwd):
        return _own_provider(name, around)
    problem = f"unknown provider {name!r}"
    hint = f"use {', '.join(around.forms[:-1])} or {around.forms[-1]}"
    if name == RULES:
        problem = "rules answer only the roles of transom check"
    elif kind in SERVICES:
        hint = f"write {kind}:NAME (see the page Use a model)"
    raise InputError(problem, place=around.place, hint=hint)


def _is_module(name: str, folder: Path) -> bool:
    """Return whether a name is that of a module: in the folder, installed, or in a package."""
    if not name:
        return False
    # Looking up a dotted name would import its package, so it is believed.
    return "." in name or Path(folder, f"{name}.py").is_file() or find_spec(name) is not None


def _own_provider(name: str, around: Surroundings) -> Provider:
    """Return a provider of the user's: an object, or a class that is made without arguments."""
    provider: Provider = imported(name, around.cwd, around.place)
    check_provider(provider, f"{around.place} {name}")
    return provider


def imported(name: str, folder: Path, place: str) -> Any:
    """Return an object of the user's by its name, `package.module:name`.

    A class or a function is called without arguments, and what it returns is the object.

    Args:
        name: the name.
        folder: the working folder, whose modules are found as well.
        place: where the name was given, for an error.

    Raises:
        InputError: the module cannot be imported, or has no such name; or the call fails.
    """
    module, _, attribute = name.partition(":")
    if str(folder) not in sys.path:
        # The `transom` command does not have the working folder on its path.
        sys.path.append(str(folder))
    try:
        value = getattr(import_module(module), attribute)
        return value() if isinstance(value, type) or isfunction(value) else value
    except Exception as error:  # the user's module may raise anything
        line = _own_line(error, folder)
        # Nothing in the module is wrong if a key or a package is missing on this machine.
        if isinstance(error, TransomError):
            problem = f"{name}{line}: {error.place}: {error.problem}"
            if not error.place:
                problem = f"{name}{line}: {error.problem}"
            raise InputError(problem, place=place, hint=error.hint) from error
        problem = f"{name} cannot be made: {type(error).__name__}: {error}{line}"
        hint = "correct that module; a class or a function in it is called without arguments"
        raise InputError(problem, place=place, hint=hint) from error


def _own_line(error: Exception, folder: Path) -> str:
    """Return the last line of the user's own that an error went through; "" if there is none.

    The error may be raised further inside.
    """
    for frame in reversed(extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_relative_to(folder) and "site-packages" not in file.parts:
            return f" ({file.name}:{frame.lineno})"
    return ""


def place_of_seat(settings: Settings, seat: ModelSeat) -> str:
    """Return where a seat's provider or model was written, e.g. `transom.yaml:2: llm.agent_a`."""
    for name in type(settings.llm).model_fields:
        if getattr(settings.llm, name) is seat:
            for key in ("provider", "model"):
                origin = settings.origins.get(f"llm.{name}.{key}")
                if origin:
                    return f"{origin}: llm.{name}"
            return f"llm.{name}"
    return "llm"


def place_of_model(settings: Settings) -> str:
    """Return where the `model` setting was written: the option, or a line of a file."""
    origin = settings.origins.get("model", "command line")
    return "--model" if origin == "command line" else f"{origin}: model"


def seat_spec(seat: ModelSeat, names: Sequence[str], place: str = "llm") -> str | None:
    """Return the provider name of a role's own `provider` and `model`.

    None means that the role has neither, and the chain answers. A model without a provider belongs
    to the first of the chain's `names` that has a server.

    Args:
        seat: the role's settings.
        names: the chain's provider names.
        place: of the settings, for messages.

    Raises:
        SettingsError: the chain has no server for the model, or the provider names a model too.
    """
    if seat.model is None:
        return seat.provider
    provider = seat.provider
    for name in names:
        if not provider and _kind(name) in HOSTED:
            provider = name.partition(":")[0]
    if provider is None:
        problem = f"model {seat.model} has no provider"
        raise SettingsError(problem, place=place, hint="set provider beside it")
    if ":" in provider:
        problem = f"{provider} names a model already, and {seat.model} is another one"
        raise SettingsError(problem, place=place, hint="set model alone, or provider alone")
    return f"{provider}:{seat.model}"


def _names(spec: str) -> list[str]:
    return [name.strip() for name in spec.split(",")]


def _kind(name: str) -> str:
    """Return the kind of a provider; a service counts as the kind whose API it has."""
    kind = name.partition(":")[0]
    return API_OF_SERVICES if kind in SERVICES else kind
