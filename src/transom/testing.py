"""For tests of your own roles and agents: a scripted provider, and assertions on what a call saw.

provider = ScriptedProvider({"my.role": [asks("look", at="a"), "the answer"]})
...
assert_sees(provider.requests[0], "task", "configuration")
assert_hidden(provider.requests[0], "the secret word")
"""

from __future__ import annotations

from transom.canonical import Json
from transom.llm import Request, ScriptedProvider, ToolCall, render
from transom.llm.render import turn_text

__all__ = ["ScriptedProvider", "asks", "assert_hidden", "assert_sees"]


def asks(tool: str, /, **arguments: Json) -> ToolCall:
    """A scripted answer that calls a tool. For several calls in one answer give the provider a `Reply` of them."""
    return ToolCall(f"call-{tool}", tool, dict(arguments))


def assert_sees(request: Request, *names: str) -> None:
    """Fail unless the window holds exactly these blocks, in any order, the role's own prompt included.

    Raises:
        AssertionError: naming the blocks that are missing and those that are too many.
    """
    there = {block.name for block in request.window.blocks}
    missing, extra = sorted(set(names) - there), sorted(there - set(names))
    if missing or extra:
        raise AssertionError(f"role {request.role}: missing {missing}, too many {extra}")


def assert_hidden(request: Request, *texts: str) -> None:
    """Fail if any of these texts stands anywhere in what is sent.

    Raises:
        AssertionError: naming the text and the block or the turn that holds it.
    """
    sent = render(request).as_text()
    turns = [(f"turn {number}", turn_text(turn)) for number, turn in enumerate(request.window.turns, 1)]
    for text in texts:
        if text in sent:
            named = [*((block.name, block.text) for block in request.window.blocks), *turns]
            holders = [name for name, held in named if text in held]
            raise AssertionError(f"role {request.role}: {text!r} stands in {holders or 'the frame of a block'}")
