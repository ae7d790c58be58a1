"""One frame for every vendor: deadline, completeness, typed errors, usage."""

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

    Whether requests stay on this machine (`local`) is said, not found out: a local server may
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
        """Keys and passwords that its server and its proxy are sent."""
        server = self._server
        return (server.api_key, *secret_parts(server.base_url), *secret_parts(server.proxy))

    def estimate_tokens(self, request: Request) -> int:
        size = len(render(request).as_text().encode("utf-8", "surrogatepass"))
        return int(size / self.caps.bytes_per_token) + 1

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        """Ask once. A ProviderError has this provider's name and not its key; InputError: its
        SDK cannot be used.
        """
        self._mention_what_is_left_out(request)
        self._refuse_what_would_be_cut(request)
        self._connect()
        body = self._vendor.body(request, self._model, self.caps)
        draft = ReplyAssembler(on_delta)
        try:
            return await self._whole_reply(request, draft, body)
        except BaseException:
            # Also of a call that is cancelled: the server has counted what it sent.
            used = draft.used(Usage(self.estimate_tokens(request)))
            if used and (note := FAILED_ATTEMPT.get(None)):
                note(self.name, used)
            raise

    async def _whole_reply(
        self, request: Request, draft: ReplyAssembler, body: Mapping[str, object]
    ) -> Reply:
        """Send the request, and return the reply if it is whole."""
        try:
            async with asyncio.timeout(self._server.seconds):
                await self._fill(draft, body)
        except TimeoutError as error:
            if draft.stop is not None:  # all is there, only the connection was not closed
                return self._whole(request, draft)
            what = f"no whole reply within {self._server.seconds:g} s"
            raise self._signed(NetworkFailed(what, reason=what)) from error
        except ProviderError as error:
            raise self._signed(error) from None
        return self._whole(request, draft)

    async def aclose(self) -> None:
        """Close connections."""
        await self._vendor.aclose()

    def _connect(self) -> None:
        """A release of another package that does not fit must not look like a defect of ours."""
        kind = self._vendor.kind
        try:
            self._vendor.connect()
        except ImportError as error:
            what = f"the package {kind} cannot be used as it is installed: {error}"
            raise InputError(what, where=self.name, hint=f"again: {install_hint(kind)}") from error

    async def _fill(self, draft: ReplyAssembler, body: Mapping[str, object]) -> None:
        stream = self._server.stream and self.caps.streaming
        taken: list[bool] = []
        async with aclosing(self._vendor.send(body, stream=stream)) as documents:
            async for document in documents:
                taken.append(self._vendor.take(document, draft))
        if taken and not any(taken):
            raise unreadable("the reply holds nothing of a reply")

    def _whole(self, request: Request, draft: ReplyAssembler) -> Reply:
        said = [turn for turn in request.window.turns if isinstance(turn, AssistantMessage)]
        before, guess = sum(len(turn.calls) for turn in said), Usage(self.estimate_tokens(request))
        try:
            vendor = self._vendor
            silent = vendor.may_be_silent
            return draft.reply(
                self.name, vendor.stops, calls_before=before, usage=guess, silent=silent
            )
        except ProviderError as error:
            raise self._signed(error) from None

    def _signed(self, error: ProviderError) -> ProviderError:
        # an SDK may have written a key as `repr`, base64 or a URL does
        redact = Redactor(secrets=self.secrets)
        error.what = redact(error.what)[:_SHOWN]  # in this order: half a key would not be found
        error.args = (error.what,)  # `repr` shows these
        # an SDK's error may quote a response, and a traceback prints all
        error.__cause__ = error.__context__ = None
        error.where = error.where or self.name
        if isinstance(error, ContextOverflow):
            error.hint = error.hint or self._how_to_fit(error.limit)
        if type(error) is RequestRefused:
            error.hint = error.hint or hint_of(self._vendor.kind, error.what)
        if (
            error.hint is None
            and self._server.key_variable
            and type(error).__name__ == "AuthenticationFailed"
        ):
            error.hint = f"check the key in {self._server.key_variable}"
        return error

    def _how_to_fit(self, limit: int | None) -> str:
        """The hint for an overflow that the server reported: windows are made as large as the
        settings say.
        """
        setting = f"llm.{self._vendor.kind}.context_tokens"
        if limit is None:
            return f"say how large its window is ({setting}), or choose a model with a larger one"
        if limit < self.caps.context_tokens or not self.caps.context_known:
            return (
                f"set {setting}: {limit} (and window.tokens to no more, where that is set), and"
                " go on"
            )
        return f"it counts more tokens than were estimated: set {setting} to less than {limit}"

    def _refuse_what_would_be_cut(self, request: Request) -> None:
        needed, limit = self.estimate_tokens(request), self.caps.context_tokens
        if needed > limit and not self._vendor.tells_overflow:
            what = (
                f"the request has up to {needed} tokens, the window {limit}, and the server would"
                " cut it unasked"
            )
            hint = f"set llm.{self._vendor.kind}.context_tokens if the model has a larger window"
            raise self._signed(ContextOverflow(what, needed=needed, limit=limit, hint=hint))

    def _mention_what_is_left_out(self, request: Request) -> None:
        if request.settings.temperature is not None and not self.caps.sampling and not self._warned:
            self._warned = True
            _log.warning(
                "%s takes no temperature; the one of role %s is left out", self.name, request.role
            )
