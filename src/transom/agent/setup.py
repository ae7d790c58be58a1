"""Who answers an agent, how it is asked, and how much its windows hold: from a name and the settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from transom.canonical import Json
from transom.config import Settings, load_settings
from transom.config.model import ModelSeat
from transom.context import WindowBudget
from transom.errors import InputError
from transom.llm import CallSettings, Chain, Provider, Role
from transom.llm.checked import check_kind, check_provider
from transom.llm.limits import PROCESS, RateLimitStore

SUB = ".sub"
"""What the role of a sub-conversation adds to the name of the role that opens it."""


@dataclass(frozen=True)
class Setup:
    """Who answers, and the settings that hold for it.

    Attributes:
        provider: a name (`anthropic:NAME`, or several, comma-separated), a provider or a chain; None: the one of
            `llm.agent`.
        settings: those of the command line's file and variables come from `transom.config.load_settings`.

    Raises:
        InputError: who answers is no provider; the settings are none.
    """

    provider: str | Provider | Chain | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.provider is not None and not isinstance(self.provider, str | Chain):
            check_provider(self.provider, "provider")
        check_kind(self.settings, Settings, "settings", "Setup")

    @classmethod
    def of(cls, provider: str | Provider | Chain | Setup | None) -> Setup:
        """What an agent was given. A name is looked up in the settings of the current folder; objects need none."""
        if isinstance(provider, Setup):
            return provider
        named = provider is None or isinstance(provider, str)
        return cls(provider, load_settings() if named else Settings())

    @property
    def named(self) -> bool:
        """Whether the providers are made here, and so are to be let go of here."""
        return self.provider is None or isinstance(self.provider, str)

    def chain(self, role: str, limits: RateLimitStore) -> Chain:
        """Who answers a role of that name and its sub-conversations.

        Raises:
            InputError: no provider is configured; else see `named_chain`.
        """
        if isinstance(self.provider, Chain):
            return self.provider
        if self.provider is not None and not isinstance(self.provider, str):
            return Chain((self.provider,))
        from transom.llm.naming import Surroundings, named_chain, seat_spec  # noqa: PLC0415  (only for names)

        llm = self.settings.llm
        spec = seat_spec(llm.agent, self.settings.model.split(",")) if self.provider is None else self.provider
        if spec is None:
            hint = "give the agent a provider, set llm.agent.provider and .model, or give it a stage of a run"
            raise InputError("no provider is configured", where=role, hint=hint)
        around = Surroundings(Path.cwd(), self.settings, store=limits, where="provider")
        return named_chain(spec, around, {role + SUB: llm.sub_conversation})

    def role(self, role: Role, *, memory: bool = False) -> Role:
        """The role as the settings have it asked.

        Raises:
            InputError: it is to look things up in a memory, and there is none.
        """
        seat = self.settings.llm.agent
        strategy = seat.strategy or role.strategy
        if strategy == "memory" and not memory:
            hint = "give the agent one, e.g. sources=[Recall(memory)]"
            raise InputError("its strategy is memory, and there is no memory", where=role.name, hint=hint)
        return replace(role, settings=seated(role.settings, seat), strategy=strategy)

    @property
    def budget(self) -> WindowBudget:
        """How large windows are, where the model does not say."""
        return WindowBudget.of(self.settings.window)


def seated(settings: CallSettings, seat: ModelSeat) -> CallSettings:
    """How a seat is asked: what the settings say, over what its role does."""
    given = {"max_tokens": seat.max_tokens, "temperature": seat.temperature}
    told = {name: value for name, value in given.items() if value is not None}
    return replace(settings, **told) if told else settings  # type: ignore[arg-type]  # each of its field's type


class DeferredStore:
    """The process' own, or the store of a home once that is open: providers are made before their store is."""

    def __init__(self) -> None:
        self.store: RateLimitStore = PROCESS

    def get(self, table: str, key: str) -> Json | None:
        return self.store.get(table, key)

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """See `RateLimitStore`."""
        return await self.store.swap(table, key, old, new)
