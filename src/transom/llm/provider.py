"""The provider protocol, and the chain that falls back from one provider to the next."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import CoroutineType
from typing import Any, Protocol, get_args

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
from transom.llm.checked import check_kind, check_provider, tuple_of
from transom.llm.deltas import Again, Delta, OnDelta, noting
from transom.llm.egress import EgressPolicy, unquote
from transom.llm.media import Media
from transom.llm.render import render
from transom.llm.reply import AnsweredFrom, Reply, Usage
from transom.llm.shapes import Request, Role
from transom.llm.strict_json import bounded_arguments, is_deep
from transom.llm.structured import with_visible_schema
from transom.llm.tokens import estimate_tokens
from transom.llm.turns import EGRESS, Part, ToolCallPart, check_marks

_log = logging.getLogger(__name__)

_OPEN = EgressPolicy()
_PARTS = get_args(Part)


class Provider(Protocol):
    """A model or a stand-in that answers requests. A subclass needs only `name` and `complete`.

    Attributes:
        name: the provider's name, e.g. `rules`, `anthropic:NAME`; every reply has it as `by`.
        local: whether requests to it stay on this machine.
        caps: the provider's capabilities.
        is_retried: whether a chain asks it again after a retryable error.
    """

    name: str
    local: bool = False
    caps: Capabilities = Capabilities()
    is_retried: bool = True

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        """Answer a request.

        Args:
            request: the blocks, turns, tools and settings of the call.
            on_delta: called with pieces of the reply as they come, or with the whole reply if the
                provider does not stream.

        Raises:
            ProviderError: there is no reply; `NeedsModel` if the embedded rules abstain.
        """
        ...

    def estimate_tokens(self, request: Request) -> int:
        """Return an upper-side estimate of the request's tokens."""
        return estimate_tokens(render(request).as_text()) + request.window.media_tokens

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the protocol's signature
        """Return a text that changes when other code or another model would answer the role."""
        return "1"

    def is_current(self, source: AnsweredFrom) -> bool:  # noqa: ARG002  the protocol's signature
        """Return whether a source that an earlier answer rests on is unchanged."""
        return True


@dataclass(frozen=True)
class Chain:
    """Providers in order of preference.

    If a provider fails before the first reply of a stage, the next one is asked. From the first
    reply on, the stage keeps the provider that gave it.

    Attributes:
        providers: at least one.
        policy: names the blocks that stay on this machine.
        seats: role name -> the chain that answers that role instead.
        retry: attempts at a provider of the user's own after a retryable error; a provider with a
            server counts its own attempts.
    """

    providers: tuple[Provider, ...]
    policy: EgressPolicy = field(default_factory=EgressPolicy)
    seats: Mapping[str, Chain] = field(default_factory=dict, hash=False)
    retry: Retry = field(default_factory=Retry)

    def __post_init__(self) -> None:
        hint = "write Chain((first, second))"
        providers = tuple_of(self.providers, object, "providers", "Chain", hint)
        object.__setattr__(self, "providers", providers)
        if not providers:
            raise ValueError("a chain needs at least one provider")
        for provider in providers:
            check_provider(provider, "Chain")
        for role, chain in self.seats.items():
            check_kind(chain, Chain, f"seat {role}", "Chain")

    @property
    def name(self) -> str:
        return ",".join(provider.name for provider in self.providers)

    def of(self, role: str) -> Chain:
        """Return the chain that answers a role of that name."""
        return self.seats.get(role, self)

    @property
    def everyone(self) -> tuple[Provider, ...]:
        """The providers of all roles."""
        # Several roles may share a chain, whose providers are listed once. By identity, since
        # equal chains may have different connections.
        chains = {id(chain): chain for chain in (self, *self.seats.values())}
        providers: list[Provider] = []
        for chain in chains.values():
            providers += chain.providers
        return tuple(providers)

    def fingerprint(self, role: Role) -> str:
        """Return the fingerprints of all providers that may answer a role."""
        providers = self.of(role.name).providers
        return "|".join([f"{provider.name}={provider.fingerprint(role)}" for provider in providers])

    def is_current(self, name: str, sources: Sequence[AnsweredFrom]) -> bool:
        """Return whether an answer of the named provider would rest on the same sources today."""
        for provider in self.everyone:
            if provider.name == name and not all(map(provider.is_current, sources)):
                return False
        return True

    @property
    def caps(self) -> Capabilities:
        """The capabilities that all its providers share."""
        return common([provider.caps for provider in self.providers])

    def estimate_tokens(self, request: Request) -> int:
        """Return the highest estimate of the role's providers."""
        providers = self.of(request.role).providers
        return max([provider.estimate_tokens(request) for provider in providers])

    async def answer(
        self, request: Request, *, only: str | None = None, on_delta: OnDelta | None = None
    ) -> Reply:
        """Ask the providers in turn, once each.

        The reply may be cut off or miss its schema: an agent asks for a better one.

        Args:
            request: the blocks, turns, tools and settings of the call.
            only: the provider that answered before in this stage; no other is asked.
            on_delta: see `Provider.complete`; it is called with `Again` before another provider is
                asked, if it has received a part of a reply.

        Raises:
            EgressError: a local block would reach a remote provider.
            ProviderError: the last provider's error, whose `causes` are those of the earlier ones.
        """
        causes: list[ProviderError] = []
        pieces: list[Delta] = []
        providers = self.of(request.role).providers
        if only is not None:
            providers = tuple([provider for provider in providers if provider.name == only])
        hear = noting(on_delta, pieces) if len(providers) > 1 else on_delta
        failure = ""
        for provider in providers:
            # Rules that abstain are no trouble, so no one is warned.
            if causes and not isinstance(causes[-1], NeedsModel):
                _log.warning("%s; %s is asked next", failure, provider.name)
            # For each provider: a local one may stand before a remote one.
            guard_egress(request, provider, self.policy)
            if pieces and hear:
                hear(Again(failure))
            try:
                return await self._ask(provider, request, hear)
            except ProviderError as error:
                causes += [*error.causes, error]
                failure = _failure_clause(provider, error)
            except TransomError as error:
                # Errors of ours may quote the request too, and they reach logs and traces.
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
        pieces: list[Delta] = []
        _check_tools(request, provider)
        for block in request.window.blocks:
            if block.media is not None:
                _check_media(block.name, block.media, provider)
        request = with_visible_schema(request, provider.caps)
        # The first attempt is made here, without a span of its own: nearly always it is the only
        # one, and the call has a span already.
        try:
            return await _complete(provider, request, noting(on_delta, pieces))
        except ProviderError as error:
            if not (error.retryable and getattr(provider, "is_retried", True)):
                raise
            failed = error
        return await reply_of(
            provider.name,
            partial(_complete, provider, request),
            self.retry,
            on_delta=on_delta,
            failed=failed,
            earlier_pieces=pieces,
        )

    def failed(self, error: Exception) -> str:
        """Return the name of the provider that an error names, or else the first provider's."""
        names = [provider.name for provider in self.providers]
        if isinstance(error, TransomError) and error.place in names:
            return str(error.place)
        return names[0]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of its providers, for redaction."""
        secrets: list[str] = []
        for provider in self.everyone:
            secrets += getattr(provider, "secrets", ())
        return tuple(secrets)

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
            f"it calls no tools, and is offered {names}", place=provider.name, hint=hint
        )


def _check_media(name: str, media: Media, provider: Provider) -> None:
    is_taken = provider.caps.images if media.is_image else provider.caps.files
    if not is_taken:
        kind = "images" if media.is_image else "files"
        raise RequestRefused(
            f"it takes no {kind}, and block {name} is {media.text}",
            place=provider.name,
            hint=(
                f"choose another model, or state that yours takes {kind}: llm.NAME.{kind}: true"
                " for a server, `caps` for a provider of your own"
            ),
        )


async def _complete(provider: Provider, request: Request, on_delta: OnDelta | None) -> Reply:
    """Ask one provider once, and check its reply."""
    try:
        answer = provider.complete(request, on_delta=on_delta)
        # A user's own provider may have written `def complete`.
        if type(answer) is CoroutineType or hasattr(answer, "__await__"):
            reply = await answer
        else:
            reply = answer
    except TimeoutError as error:
        # Callers take a TimeoutError for the end of their own patience, so none leaves here.
        problem = f"it gave up waiting: {error}" if str(error) else "it gave up waiting"
        raise NetworkFailed(problem, place=provider.name) from error
    _check_reply(reply, provider)
    if reply.by != provider.name:
        reply = replace(reply, by=provider.name)
    # A journal cannot hold arguments of any depth.
    for call in reply.calls:
        if is_deep(call.arguments):
            return replace(reply, parts=tuple([_bounded(part) for part in reply.parts]))
    return reply


def _check_reply(reply: Any, provider: Provider) -> None:
    """Refuse a reply of another shape.

    It is checked here and not in the constructors: only a user's own provider may be wrong.
    """
    is_reply = type(reply) is Reply
    if is_reply:
        is_reply = type(reply.parts) is tuple and type(reply.usage) is Usage
    if is_reply:
        for part in reply.parts:
            is_reply = is_reply and type(part) in _PARTS
    if not is_reply:
        raise ProviderError(
            f"its complete() returned {reply!r:.200}",
            place=provider.name,
            hint=(
                'write async def complete, and return Reply((Text("..."),), usage=Usage(...)) of'
                " transom.llm"
            ),
        )
    if reply.egress not in EGRESS:
        check_marks(f"a reply of {provider.name}", egress=reply.egress)


def _bounded(part: Part) -> Part:
    if isinstance(part, ToolCallPart):
        return ToolCallPart(part.id, part.name, bounded_arguments(part.arguments))
    return part


def _failure_clause(provider: Provider, error: ProviderError) -> str:
    """Return a clause on a failure, without the server's text, which may quote local text."""
    return f"{provider.name} {error.outcome}"


def guard_egress(request: Request, provider: Provider, policy: EgressPolicy = _OPEN) -> None:
    """Stop a request with a local part before it can leave the machine.

    Raises:
        EgressError: a part is marked local, by its maker or by the policy, and the provider is
            remote.
    """
    if provider.local:
        return
    local_part = policy.local_part(request)
    if local_part:
        raise EgressError(
            f"{local_part} is marked local and would reach the remote provider {provider.name}",
            place=request.role,
            hint=(
                "name a local provider with --model, set llm.NAME.local: true for a server of your"
                " own, or let it leave the machine (settings egress.*)"
            ),
        )
