"""What a provider is, and the chain that falls back from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from transom.errors import EgressError, ProviderError
from transom.llm.egress import EgressPolicy
from transom.llm.shapes import AnsweredFrom, Reply, Request, Role

_OPEN = EgressPolicy()


class Provider(Protocol):
    """Answers a request with a reply."""

    @property
    def name(self) -> str:
        """`rules`, `replay`, `anthropic:NAME`; stands in every reply's `by`."""
        ...

    @property
    def local(self) -> bool:
        """Whether what it is sent stays on this machine."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Answer.

        Raises:
            ProviderError: it cannot; `NeedsModel` where the embedded rules abstain.
        """
        ...

    def fingerprint(self, role: Role) -> str:
        """Changes when the same request would be answered by something else: a model's name, a rule's version."""
        ...

    def still(self, source: AnsweredFrom) -> bool:
        """Whether something that an earlier answer rests on is unchanged."""
        ...


@dataclass(frozen=True)
class Chain:
    """Providers in order of preference. It falls back before the first reply of a stage, never within a stage."""

    providers: tuple[Provider, ...]
    policy: EgressPolicy = field(default_factory=EgressPolicy)

    def __post_init__(self) -> None:
        if not self.providers:
            raise ValueError("a chain needs at least one provider")

    @property
    def name(self) -> str:
        return ",".join(provider.name for provider in self.providers)

    def fingerprint(self, role: Role) -> str:
        return "|".join(f"{provider.name}={provider.fingerprint(role)}" for provider in self.providers)

    def still(self, by: str, sources: Sequence[AnsweredFrom]) -> bool:
        """Whether an answer of `by` would rest on the same things today."""
        return all(provider.still(source) for provider in self._named(by) for source in sources)

    async def complete(self, request: Request, *, only: str | None = None) -> Reply:
        """Ask the providers in turn; `only` pins the one that answered before in this stage.

        Raises:
            EgressError: a local block would reach a remote provider.
            ProviderError: the last provider's error, with those of the earlier ones in its message.
        """
        errors: list[ProviderError] = []
        for provider in self._named(only) if only else self.providers:
            guard_egress(request, provider, self.policy)
            try:
                return await provider.complete(request)
            except ProviderError as error:
                errors.append(error)
        raise _final(errors)

    def _named(self, name: str | None) -> tuple[Provider, ...]:
        return tuple(provider for provider in self.providers if provider.name == name)


def guard_egress(request: Request, provider: Provider, policy: EgressPolicy = _OPEN) -> None:
    """Stop a block or a tool's result marked local, by its maker or by the policy, before it can leave the machine.

    Raises:
        EgressError: naming block or tool, role and provider.
    """
    if provider.local:
        return
    kept = policy.kept(request)
    if kept:
        raise EgressError(
            f"{kept} is marked local and would reach the remote provider {provider.name}",
            where=request.role,
            hint="name a local provider with --model, or let it leave the machine (settings egress.*)",
        )


def _final(errors: list[ProviderError]) -> ProviderError:
    """The last provider's error; what the earlier ones said goes into its message, so that no cause is hidden."""
    if not errors:
        return ProviderError("the provider that answered earlier in this stage is not in the chain any more")
    *earlier, last = errors
    if earlier:
        last.what += " (before that: " + "; ".join(error.what for error in earlier) + ")"
    return last
