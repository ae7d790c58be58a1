"""The provider around a vendor's adapter: deadline, completeness, typed errors, usage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing

from transom.errors import (
    ContextOverflow,
    InputError,
    NetworkFailed,
    ProviderError,
    RequestRefused,
    install_hint,
)
from transom.llm.capabilities import Capabilities
from transom.llm.deltas import OnDelta
from transom.llm.hosted.addresses import hint_of
from transom.llm.hosted.draft import ReplyAssembler
from transom.llm.hosted.failures import unreadable
from transom.llm.hosted.server import Server
from transom.llm.hosted.vendor import Vendor
from transom.llm.provider import Provider
from transom.llm.purse import FAILED_ATTEMPT
from transom.llm.render import render
from transom.llm.reply import Reply, Usage
from transom.llm.shapes import Request
from transom.llm.turns import AssistantMessage
from transom.telemetry.address import secret_parts
from transom.telemetry.redact import Redactor

_log = logging.getLogger(__name__)
_SHOWN = 400


class HostedProvider(Provider):
    """A model behind a server.

    The settings say whether requests stay on this machine (`local`), since a local server may
    forward everything.
    """

    name: str = ""
    local: bool = False
    caps: Capabilities = Capabilities()
    is_retried: bool = False  # by a chain: `RetryingProvider` stands around it

    def __init__(
        self, vendor: Vendor, model: str, server: Server, caps: Capabilities, *, local: bool = False
    ) -> None:
        self.name, self.local, self.caps = f"{vendor.kind}:{model}", local, caps
        self._vendor = vendor
        self._model = model
        self._server = server
        self._warned = False

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys and passwords of its server and its proxy."""
        server = self._server
        return (server.api_key, *secret_parts(server.base_url), *secret_parts(server.proxy))

    def estimate_tokens(self, request: Request) -> int:
        size = len(render(request).as_text().encode("utf-8", "surrogatepass"))
        return int(size / self.caps.bytes_per_token) + 1 + request.window.media_tokens

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        """Ask once.

        Raises:
            ProviderError: there is no whole reply. The error names this provider, and has no key.
            InputError: the SDK cannot be used.
        """
        self._warn_of_temperature(request)
        self._refuse_overlong(request)
        self._connect()
        body = self._vendor.body(request, self._model, self.caps)
        draft = ReplyAssembler(on_delta)
        try:
            return await self._whole_reply(request, draft, body)
        except BaseException:
            # Also of a call that is cancelled: the server has counted what it sent.
            usage = draft.partial_usage(Usage(self.estimate_tokens(request)))
            if usage and (note := FAILED_ATTEMPT.get(None)):
                note(self.name, usage)
            raise

    async def _whole_reply(
        self, request: Request, draft: ReplyAssembler, body: Mapping[str, object]
    ) -> Reply:
        """Send the request, and return the reply if it is whole."""
        try:
            async with asyncio.timeout(self._server.seconds):
                await self._fill(draft, body)
        except TimeoutError as error:
            # The reply may be there, and only its connection was not closed.
            if draft.stop is not None:
                return self._finished(request, draft)
            problem = f"no whole reply within {self._server.seconds:g} s"
            raise self._signed(NetworkFailed(problem, reason=problem)) from error
        except ProviderError as error:
            raise self._signed(error) from None
        return self._finished(request, draft)

    async def aclose(self) -> None:
        """Close connections."""
        await self._vendor.aclose()

    def _connect(self) -> None:
        """Make the SDK's client; InputError if the SDK cannot be imported."""
        kind = self._vendor.kind
        try:
            self._vendor.connect()
        except ImportError as error:
            # A broken installation must not look like a defect of ours.
            problem = f"the installed package {kind} cannot be used: {error}"
            hint = f"again: {install_hint(kind)}"
            raise InputError(problem, place=self.name, hint=hint) from error

    async def _fill(self, draft: ReplyAssembler, body: Mapping[str, object]) -> None:
        stream = self._server.stream and self.caps.streaming
        count = parts = 0
        async with aclosing(self._vendor.send(body, stream=stream)) as documents:
            async for document in documents:
                count += 1
                parts += self._vendor.take(document, draft)
        # An empty stream is a reply that broke off, which the draft reports.
        if count and not parts:
            raise unreadable("the reply holds nothing of a reply")

    def _finished(self, request: Request, draft: ReplyAssembler) -> Reply:
        """Return the assembled reply; ProviderError if it is not whole."""
        calls_before = 0
        for turn in request.window.turns:
            if isinstance(turn, AssistantMessage):
                calls_before += len(turn.calls)
        try:
            return draft.reply(
                self.name,
                self._vendor.stops,
                calls_before=calls_before,
                usage=Usage(self.estimate_tokens(request)),
                silent=self._vendor.may_be_silent,
            )
        except ProviderError as error:
            raise self._signed(error) from None

    def _signed(self, error: ProviderError) -> ProviderError:
        """Return an error with this provider's name, without its key, and with a hint."""
        # An SDK may have written a key as `repr`, base64 or a URL does. Redaction comes before the
        # cut: half a key would not be found.
        redact = Redactor(secrets=self.secrets)
        error.problem = redact(error.problem)[:_SHOWN]
        error.args = (error.problem,)  # `repr` shows these
        # An SDK's error may quote a response, and a traceback prints all causes.
        error.__cause__ = error.__context__ = None
        error.place = error.place or self.name
        if isinstance(error, ContextOverflow):
            error.hint = error.hint or self._how_to_fit(error.limit)
        if type(error) is RequestRefused:
            error.hint = error.hint or hint_of(self._vendor.kind, error.problem)
        if (
            error.hint is None
            and self._server.key_variable
            and type(error).__name__ == "AuthenticationFailed"
        ):
            error.hint = (
                self._server.says_of_unsent_key or f"check the key in {self._server.key_variable}"
            )
        return error

    def _how_to_fit(self, limit: int | None) -> str:
        """Return the hint for an overflow that the server reported."""
        # Windows are made as large as the settings say, so the settings have to change.
        setting = f"llm.{self._vendor.kind}.context_tokens"
        if limit is None:
            return f"set {setting} to the size of its window, or choose a model with a larger one"
        if limit < self.caps.context_tokens or not self.caps.context_known:
            return f"set {setting}: {limit} (and window.tokens to no more, if it is set), and go on"
        return f"it counts more tokens than were estimated: set {setting} to less than {limit}"

    def _refuse_overlong(self, request: Request) -> None:
        """Refuse a request that the server would cut without an error."""
        needed, limit = self.estimate_tokens(request), self.caps.context_tokens
        if needed > limit and not self._vendor.tells_overflow:
            problem = (
                f"the request has up to {needed} tokens, the window {limit}, and the server would"
                " cut it unasked"
            )
            hint = f"set llm.{self._vendor.kind}.context_tokens if the model has a larger window"
            raise self._signed(ContextOverflow(problem, needed=needed, limit=limit, hint=hint))

    def _warn_of_temperature(self, request: Request) -> None:
        if request.settings.temperature is not None and not self.caps.sampling and not self._warned:
            self._warned = True
            _log.warning(
                "%s takes no temperature; the one of role %s is left out", self.name, request.role
            )
