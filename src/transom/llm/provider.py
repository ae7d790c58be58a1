"""The provider protocol, and the chain that falls back from one provider to the next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import CoroutineType
from typing import Protocol, get_args

from transom.config.hosted import Retry
from transom.errors import (
    EgressError,
    NeedsModel,
    NetworkFailed,
    ProviderError,
    RequestRefused,
    TransomError,
    with_causes,
)
from transom.llm.attempts import reply_of
from transom.llm.capabilities import Capabilities, common
from transom.llm.checked import check_kind, check_provider, listed
from transom.llm.deltas import Again, Delta, OnDelta, noting
from transom.llm.egress import EgressPolicy, unquote
from transom.llm.reading import held_arguments, is_deep
from transom.llm.render import render
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.shapes import Request, Role
from transom.llm.structured import shown
from transom.llm.tokens import estimate_tokens
from transom.llm.turns import EGRESS, Part, ToolCall, check_marks

_log = logging.getLogger(__name__)

_OPEN = EgressPolicy()
_PARTS = get_args(Part)


class Provider(Protocol):
    """Answers a request with a reply. A subclass needs only `name` and `complete`."""

    @property
    def name(self) -> str:
        """`rules`, `replay`, `anthropic:NAME`; stands in every reply's `by`."""
        ...

    @property
    def local(self) -> bool:
        """Whether what it is sent stays on this machine."""
        return False

    @property
    def caps(self) -> Capabilities:
        """Its capabilities."""
        return Capabilities()

    @property
    def is_retried(self) -> bool:
        """Whether a chain asks it again after a retryable error."""
        return True

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        """Answer.

        Args:
            request: what is asked.
            on_delta: is called with pieces of the reply as they come; with the whole where it does
                not stream.

        Raises:
            ProviderError: it cannot; `NeedsModel` where the embedded rules abstain.
        """
        ...

    def estimate_tokens(self, request: Request) -> int:
        """An upper-side estimate of the request's tokens."""
        return estimate_tokens(render(request).as_text())

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the protocol's signature
        """Changes when the same request would be answered by something else: a model's name, a
        rule's version.
        """
        return "1"

    def is_current(self, source: AnsweredFrom) -> bool:  # noqa: ARG002  the protocol's signature
        """Whether something that an earlier answer rests on is unchanged."""
        return True


@dataclass(frozen=True)
class Chain:
    """Providers in order of preference. It falls back before the first reply of a stage, never
    within a stage.

    Attributes:
        providers: at least one.
        policy: what is kept on this machine.
        seats: role name -> the chain that answers that role instead.
        retry: how often a provider of one's own is asked again after a retryable error; a provider
            with a server has attempts of its own.
    """

    providers: tuple[Provider, ...]
    policy: EgressPolicy = field(default_factory=EgressPolicy)
    seats: Mapping[str, Chain] = field(default_factory=dict, hash=False)
    retry: Retry = field(default_factory=Retry)

    def __post_init__(self) -> None:
        held = listed(self.providers, object, "providers", "Chain", "say Chain((first, second))")
        object.__setattr__(self, "providers", held)
        if not held:
            raise ValueError("a chain needs at least one provider")
        for one in self.providers:
            check_provider(one, "Chain")
        for role, chain in self.seats.items():
            check_kind(chain, Chain, f"seat {role}", "Chain")

    @property
    def name(self) -> str:
        return ",".join(provider.name for provider in self.providers)

    def of(self, role: str) -> Chain:
        """The chain that answers a role of that name."""
        return self.seats.get(role, self)

    @property
    def everyone(self) -> tuple[Provider, ...]:
        """The providers of all roles."""
        chains = {id(chain): chain for chain in (self, *self.seats.values())}
        return tuple(provider for chain in chains.values() for provider in chain.providers)

    def fingerprint(self, role: Role) -> str:
        asked = self.of(role.name).providers
        return "|".join([f"{provider.name}={provider.fingerprint(role)}" for provider in asked])

    def is_current(self, by: str, sources: Sequence[AnsweredFrom]) -> bool:
        """Whether an answer of `by` would rest on the same things today."""
        named = [provider for provider in self.everyone if provider.name == by]
        return all(provider.is_current(source) for provider in named for source in sources)

    @property
    def caps(self) -> Capabilities:
        """Capabilities that all its providers share."""
        return common(provider.caps for provider in self.providers)

    def estimate_tokens(self, request: Request) -> int:
        """The highest estimate of its providers."""
        return max(
            provider.estimate_tokens(request) for provider in self.of(request.role).providers
        )

    async def answer(
        self, request: Request, *, only: str | None = None, on_delta: OnDelta | None = None
    ) -> Reply:
        """Ask the providers in turn, once. An agent sees to it that answers are whole and follow
        their schema.

        Args:
            request: what is asked.
            only: the provider that answered before in this stage; no other is asked.
            on_delta: see `Provider.complete`; hears `Again` where another one is asked after it
                heard a part.

        Raises:
            EgressError: a local block would reach a remote provider.
            ProviderError: the last provider's error, whose `causes` are those of the earlier ones.
        """
        causes: list[ProviderError] = []
        heard: list[Delta] = []
        there = self.of(request.role).providers
        asked = [one for one in there if only in (None, one.name)]
        hear = noting(on_delta, heard) if len(asked) > 1 else on_delta
        for number, provider in enumerate(asked):
            # that the rules abstain is no trouble
            if number and not isinstance(causes[-1], NeedsModel):
                _log.warning(
                    "%s; %s is asked next", _failed(asked[number - 1], causes[-1]), provider.name
                )
            guard_egress(request, provider, self.policy)
            if heard and hear:
                hear(Again(_failed(asked[number - 1], causes[-1])))
            try:
                return await self._ask(provider, request, hear)
            except ProviderError as error:
                causes += [*error.causes, error]
            except TransomError as error:
                unquote(error, request, self.policy)
                raise
        if not causes:
            raise ProviderError(
                "the provider that answered earlier in this stage is not in the chain any more"
            )
        for cause in causes:
            unquote(cause, request, self.policy)
        raise with_causes(causes)

    async def _ask(self, provider: Provider, request: Request, on_delta: OnDelta | None) -> Reply:
        """Ask one provider, again if that may help and it does not do so itself."""
        heard: list[Delta] = []
        _check_tools(request, provider)
        request = shown(request, provider.caps)
        try:
            return await _asked(provider, request, noting(on_delta, heard) if on_delta else None)
        except ProviderError as error:
            if not (error.retryable and getattr(provider, "is_retried", True)):
                raise
            failed = error
        attempt = partial(_asked, provider, request)
        return await reply_of(
            provider.name, attempt, self.retry, on_delta=on_delta, failed=failed, heard=heard
        )

    def failed(self, error: Exception) -> str:
        """The name of the provider with which a call ended: the one that its error names, or
        else the first.
        """
        names = [provider.name for provider in self.providers]
        where = error.where if isinstance(error, TransomError) else None
        return where if where in names else names[0]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys of its providers, for redaction."""
        return tuple(
            secret for provider in self.everyone for secret in getattr(provider, "secrets", ())
        )

    async def aclose(self) -> None:
        """Close connections."""
        for provider in self.everyone:
            close = getattr(provider, "aclose", None)
            if close:
                await close()


def _check_tools(request: Request, provider: Provider) -> None:
    if request.tools and not provider.caps.tools:
        names = ", ".join(tool.name for tool in request.tools)
        hint = f"choose another model for {request.role}, or give it no tools"
        raise RequestRefused(
            f"it calls no tools, and is offered {names}", where=provider.name, hint=hint
        )


async def _asked(provider: Provider, request: Request, on_delta: OnDelta | None) -> Reply:
    """Ask one provider. A TimeoutError is the end of the caller's own patience, so none leaves
    here.
    """
    try:
        answer = provider.complete(request, on_delta=on_delta)
        reply = (
            await answer
            if type(answer) is CoroutineType or hasattr(answer, "__await__")
            else answer
        )
    except TimeoutError as error:
        what = f"it gave up waiting: {error}" if str(error) else "it gave up waiting"
        raise NetworkFailed(what, where=provider.name) from error
    # Here, and not where each one is made: only what a provider of the user's returns may be wrong.
    if type(reply) is not Reply or type(reply.parts) is not tuple or type(reply.usage) is not Usage:
        raise _no_reply(provider, reply)
    for part in reply.parts:
        if type(part) not in _PARTS:
            raise _no_reply(provider, reply)
    if reply.by != provider.name:
        reply = replace(reply, by=provider.name)
    if reply.egress not in EGRESS:
        check_marks(f"a reply of {provider.name}", egress=reply.egress)
    if not [call for call in reply.calls if is_deep(call.arguments)]:
        return reply
    return replace(reply, parts=tuple([_held(part) for part in reply.parts]))


def _no_reply(provider: Provider, returned: object) -> ProviderError:
    what = f"its complete() returned {returned!r:.200}"
    hint = (
        'write async def complete, and return Reply((Text("..."),), usage=Usage(...)) of'
        " transom.llm"
    )
    return ProviderError(what, where=provider.name, hint=hint)


def _held(part: Part) -> Part:
    return (
        ToolCall(part.id, part.name, held_arguments(part.arguments))
        if isinstance(part, ToolCall)
        else part
    )


def _failed(provider: Provider, error: ProviderError) -> str:
    """A clause on a failure, without the server's text, which may quote local text."""
    return f"{provider.name} {error.outcome}"


def guard_egress(request: Request, provider: Provider, policy: EgressPolicy = _OPEN) -> None:
    """Stop what is marked local, by its maker or by the policy, with an EgressError before it
    can leave the machine.
    """
    if provider.local:
        return
    kept = policy.kept(request)
    if kept:
        raise EgressError(
            f"{kept} is marked local and would reach the remote provider {provider.name}",
            where=request.role,
            hint=(
                "name a local provider with --model, say llm.NAME.local: true of a server that is"
                " your own, or let it leave the machine (settings egress.*)"
            ),
        )
