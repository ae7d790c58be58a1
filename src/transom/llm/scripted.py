"""`scripted`: replies written by hand, for tests of one's own roles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from transom.errors import InputError, ProviderError
from transom.llm.capabilities import Capabilities
from transom.llm.deltas import OnDelta
from transom.llm.provider import Provider
from transom.llm.reply import Reply, Stop, Usage
from transom.llm.shapes import Request
from transom.llm.tokens import estimate_tokens
from transom.llm.turns import Text, ToolCallPart

Reaction: TypeAlias = str | ToolCallPart | Reply | Sequence[str | ToolCallPart]
AnswerFunction: TypeAlias = Callable[[Request], Reaction | Awaitable[Reaction]]
Answer: TypeAlias = Reaction | Exception | AnswerFunction
_PIECE = re.compile(r"\S*\s*")
_NONE = Usage()
_ALL = Capabilities(images=True, files=True, streaming=True, structured_output=True, sampling=True)


class ScriptedProvider(Provider):
    """A provider that answers from a script.

    Args:
        script: role name -> answers in order, or a function request -> answer; a function alone
            answers every role. An answer is a text, a call (see `asks`), a list of both for one
            reply, a reply, an error to raise, or a function that returns one.
        name: the provider's name.
        local: whether blocks marked local may reach it.
        caps: its capabilities; all of them by default, so that a test need not list them.
        estimates_usage: whether a reply without a usage gets an estimate, as a model would report.

    Attributes:
        requests: every request that arrived, in order.

    Raises:
        InputError: the answers of a role are no list.
    """

    name: str = "scripted"
    local: bool = True
    caps: Capabilities = _ALL
    # Each answer of a script is for one request: a second attempt would take the next answer.
    is_retried: bool = False

    def __init__(
        self,
        script: Mapping[str, Iterable[Answer] | AnswerFunction] | AnswerFunction,
        *,
        name: str = "scripted",
        local: bool = True,
        caps: Capabilities = _ALL,
        estimates_usage: bool = True,
    ) -> None:
        self.name, self.local, self.caps = name, local, caps
        self._estimates_usage = estimates_usage
        self.requests: list[Request] = []
        self._function: AnswerFunction | None = None
        self._functions: dict[str, AnswerFunction] = {}
        self._queues: dict[str, list[Answer]] = {}
        if callable(script):
            self._function = script
            return
        for role, answers in script.items():
            if callable(answers):
                self._functions[role] = answers
            # The letters of a text would be answers of their own.
            elif isinstance(answers, str) or not isinstance(answers, Iterable):
                problem = f"the answers of a role are a list, and this is {answers!r:.80}"
                hint = f'write {{"{role}": [...]}}'
                raise InputError(problem, place=f"ScriptedProvider: {role}", hint=hint)
            else:
                self._queues[role] = list(answers)

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        self.requests.append(request)
        answer: object = self._function or self._functions.get(request.role) or self._next(request)
        if isinstance(answer, Exception):
            raise answer
        # An answer of a list may be a function as well.
        if callable(answer):
            answer = answer(request)
            if inspect.isawaitable(answer):
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
            scripted_roles = ", ".join([*self._queues, *self._functions]) or "no role"
            raise ProviderError(
                f"the script has no further answer for role {request.role}",
                hint=f"add one to ScriptedProvider; the script knows {scripted_roles}",
            )
        return queue.pop(0)

    def _usage(self, request: Request, reply: Reply) -> Usage:
        return Usage(self.estimate_tokens(request), estimate_tokens(reply.text))


def _stream(reply: Reply, on_delta: OnDelta) -> None:
    """Call a listener with text word by word, as models do, and with each call in one piece."""
    for part in reply.parts:
        if isinstance(part, ToolCallPart):
            on_delta(part)
        elif isinstance(part, Text):
            for piece in _PIECE.findall(part.text):
                if piece:
                    on_delta(Text(piece))


def _reply(answer: object) -> Reply:
    if answer is None:
        raise ProviderError("the function of the script returned None", hint="return an answer")
    parts: list[Text | ToolCallPart] = []
    stop: Stop = "end"
    for number, part in enumerate(answer if isinstance(answer, list | tuple) else [answer]):
        if isinstance(part, ToolCallPart):
            # Two calls of one tool are told apart by their ids.
            parts.append(replace(part, id=f"{part.id}-{number}") if number else part)
            stop = "tool_calls"
        else:
            parts.append(Text(str(part)))
    return Reply(tuple(parts), stop=stop)
