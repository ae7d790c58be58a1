"""What may be wrong with tools and with calls of them."""

from __future__ import annotations

from typing import Literal

from transom.errors.base import TransomError


class ToolError(TransomError):
    """A tool cannot be registered as it is, or a role and the tools at hand do not fit."""


class ToolRefused(ToolError):
    """A tool call is not carried out. `what` and `hint` are told to the model, which is to go on from there.

    Attributes:
        egress: `local` where its words may repeat what must not reach a remote provider.
        trust: `untrusted` where its words may come from outside.
    """

    egress: Literal["any", "local"] = "any"
    trust: Literal["ours", "untrusted"] = "ours"


class ToolNotFoundError(ToolRefused):
    """No tool of that name is registered."""


class InvalidArgumentsError(ToolRefused):
    """The arguments of a call do not fit the tool's schema."""


class ToolExecutionError(ToolRefused):
    """A tool failed. What it says may come from outside."""

    trust = "untrusted"


class ToolTimeoutError(ToolRefused):
    """A tool took longer than it may."""


class ToolInDoubtError(ToolRefused):
    """A tool was begun, and what came of it is not known. An equal call of a `once` tool waits for a person.

    Raised by the runtime, and by a handler that cannot know: its service stopped answering behind the request.
    """

    trust = "untrusted"


class ToolQuotaError(ToolRefused):
    """A tool was called as often as it may be in one conversation."""
