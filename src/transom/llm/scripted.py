"""`scripted`: replies written by hand, for tests of one's own roles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping

from transom.errors import ProviderError
from transom.llm.capabilities import Capabilities
from transom.llm.deltas import OnDelta
from transom.llm.provider import Provider
from transom.llm.reply import Reply, Usage
from transom.llm.shapes import Request
from transom.llm.tokens import estimate_tokens
from transom.llm.turns import Text, ToolCall

Answer = (
    str | ToolCall | Reply | Exception | Callable[[Request], "str | Reply | Awaitable[str | Reply]"]
)
_PIECE = re.compile(r"\S*\s*")
_NONE = Usage()
_ALL = Capabilities(streaming=True, structured_output=True, sampling=True)


class ScriptedProvider(Provider):
    """Answers from a script: per role a list of answers, taken in turn, or one function for all.

    Args:
        script: role name -> answers in order, or a function request -> answer for every role.
        local: whether blocks marked local may reach it.
        caps: what may be asked of it; by default all, so that a test need not say.
        estimates_usage: whether a reply without a usage gets an estimate, as a model would report.

    Attributes:
        requests: every request that arrived, in order.
    """

    name: str = "scripted"
    local: bool = True
    caps: Capabilities = _ALL
    is_retried: bool = False  # each answer of a script is for one request

    def __init__(
        self,
        script: Mapping[str, Iterable[Answer]]
        | Callable[[Request], str | Reply | Awaitable[str | Reply]],
        *,
        name: str = "scripted",
        local: bool = True,
        caps: Capabilities = _ALL,
        estimates_usage: bool = True,
    ) -> None:
        self.name, self.local, self.caps = name, local, caps
        self._estimates_usage = estimates_usage
        self.requests: list[Request] = []
        self._each = script if callable(script) else None
        self._queues = (
            {} if callable(script) else {role: list(answers) for role, answers in script.items()}
        )

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        self.requests.append(request)
        answer: object = self._each or self._next(request)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
            if not isinstance(answer, Reply | str) and inspect.isawaitable(answer):
                answer = await answer
        reply = answer if isinstance(answer, Reply) else _reply(answer)
        if on_delta:
            _stream(reply, on_delta)
        usage = reply.usage
        if usage == _NONE and self._estimates_usage:
            usage = self._usage(request, reply)
        return Reply(reply.parts, reply.stop, usage, self.name, reply.answered_from)

    def _next(self, request: Request) -> Answer:
        queue = self._queues.get(request.role)
        if not queue:
            known = ", ".join(self._queues) or "no role"
            what = f"the script has no further answer for role {request.role}"
            raise ProviderError(what, hint=f"add one to ScriptedProvider; the script knows {known}")
        return queue.pop(0)

    def _usage(self, request: Request, reply: Reply) -> Usage:
        return Usage(self.estimate_tokens(request), estimate_tokens(reply.text))


def _stream(reply: Reply, on_delta: OnDelta) -> None:
    """Text word by word, as models do; a call in one piece."""
    for part in reply.parts:
        if isinstance(part, ToolCall):
            on_delta(part)
        elif isinstance(part, Text):
            for piece in _PIECE.findall(part.text):
                if piece:
                    on_delta(Text(piece))


def _reply(answer: object) -> Reply:
    return (
        Reply((answer,), stop="tool_calls")
        if isinstance(answer, ToolCall)
        else Reply((Text(str(answer)),))
    )
