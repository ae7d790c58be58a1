"""Errors of tools and tool calls."""

from __future__ import annotations

from typing import Literal

from transom.errors.base import TransomError


class ToolError(TransomError):
    """A tool cannot be registered, or a role and the available tools do not fit."""


class ToolRefused(ToolError):
    """A tool call failed. The model gets the problem and the hint, and goes on.

    If a program's own tool raises it, both are trusted as the tool's results are: they are fenced
    unless the tool has `trust="ours"`.

    Attributes:
        egress: `local` if the message may quote text that must not reach a remote provider.
        trust: `untrusted` if the message may contain text from outside.
    """

    egress: Literal["any", "local"] = "any"
    trust: Literal["ours", "untrusted"] = "ours"


class ToolRetry(ToolRefused):
    """A tool wants the model to correct its call and make it again: `ToolRetry("say why")`.

    Like any refused call, it counts neither towards the tool's limit nor as carried out. The reason
    is trusted as the tool's results are: it is fenced unless the tool has `trust="ours"`.
    """

    def __init__(
        self, reason: str, *, hint: str = "correct the arguments and call it again"
    ) -> None:
        super().__init__(reason, hint=hint)


class ToolNotFoundError(ToolRefused):
    """The tool is unknown."""


class InvalidArgumentsError(ToolRefused):
    """The arguments of a call do not match the tool's schema."""


class ToolExecutionError(ToolRefused):
    """A tool failed. Its message may contain text from outside."""

    # The message quotes the error that the tool raised.
    trust = "untrusted"


class ToolTimeoutError(ToolRefused):
    """A tool exceeded its timeout."""


class ToolInDoubtError(ToolRefused):
    """A tool was started, and its outcome is unknown. An equal call of a `once` tool waits for a
    person.

    The runtime raises it, and so does a handler whose service stopped answering after the request.
    """

    # A handler may quote its service.
    trust = "untrusted"


class ToolQuotaError(ToolRefused):
    """The quota of a tool in one conversation is used up."""
