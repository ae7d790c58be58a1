"""`scripted`: replies written by hand, for tests of one's own roles."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace

from transom.errors import ProviderError
from transom.llm.render import render
from transom.llm.shapes import AnsweredFrom, Reply, Request, Role, Text, ToolCall, Usage
from transom.llm.tokens import estimate_tokens

Answer = str | ToolCall | Reply | Exception | Callable[[Request], "str | Reply | Awaitable[str | Reply]"]


class ScriptedProvider:
    """Answers from a script: per role a list of answers, taken in turn, or one function for all.

    Args:
        script: role name -> answers in order, or a function request -> answer for every role.
        local: whether blocks marked local may reach it.

    Attributes:
        requests: every request that arrived, in order.
    """

    def __init__(
        self,
        script: Mapping[str, Iterable[Answer]] | Callable[[Request], str | Reply | Awaitable[str | Reply]],
        *,
        name: str = "scripted",
        local: bool = True,
    ) -> None:
        self._name = name
        self._local = local
        self.requests: list[Request] = []
        self._each = script if callable(script) else None
        self._queues = {} if callable(script) else {role: list(answers) for role, answers in script.items()}

    @property
    def name(self) -> str:
        return self._name

    @property
    def local(self) -> bool:
        return self._local

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        answer: object = self._each or self._next(request)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
            if inspect.isawaitable(answer):
                answer = await answer
        reply = answer if isinstance(answer, Reply) else _reply(answer)
        return replace(reply, by=self._name, usage=self._usage(request, reply))

    def fingerprint(self, role: Role) -> str:  # noqa: ARG002  the Provider's signature
        return "1"

    def still(self, source: AnsweredFrom) -> bool:  # noqa: ARG002  the Provider's signature
        return True

    def _next(self, request: Request) -> Answer:
        queue = self._queues.get(request.role)
        if not queue:
            raise ProviderError(
                f"the script has no further answer for role {request.role}", hint="add one to ScriptedProvider"
            )
        return queue.pop(0)

    def _usage(self, request: Request, reply: Reply) -> Usage:
        if reply.usage != Usage():
            return reply.usage
        return Usage(estimate_tokens(render(request).as_text()), estimate_tokens(reply.text))


def _reply(answer: object) -> Reply:
    return Reply((answer,), stop="tool_calls") if isinstance(answer, ToolCall) else Reply((Text(str(answer)),))
