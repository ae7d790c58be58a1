"""Test helpers: scripted replies, window assertions, suites for stores and providers.

provider = ScriptedProvider({"my.role": [asks("look", at="a"), "the answer"]})
...
assert_sees(provider.requests[0], "task", "configuration")
assert_hidden(provider.requests[0], "the secret word")
"""

from __future__ import annotations

from transom.canonical import Json
from transom.llm import Request, ScriptedProvider, ToolCallPart, render
from transom.llm.render import turn_text
from transom.testing.providers import provider_conformance
from transom.testing.stores import store_conformance

__all__ = [
    "ScriptedProvider",
    "asks",
    "assert_hidden",
    "assert_sees",
    "provider_conformance",
    "store_conformance",
]


def asks(tool: str, /, **arguments: Json) -> ToolCallPart:
    """Return a scripted tool call. A list of calls and texts is one reply with all of them, if a
    function of the script returns it, or if it is one of the answers of a role.
    """
    return ToolCallPart(f"call-{tool}", tool, dict(arguments))


def assert_sees(request: Request, *names: str) -> None:
    """Check that the window has exactly these blocks, in any order.

    The role's own prompt is one of them.

    Raises:
        AssertionError: names the missing and the additional blocks.
    """
    visible = {block.name for block in request.window.blocks}
    missing = sorted(set(names) - visible)
    extra = sorted(visible - set(names))
    if missing or extra:
        raise AssertionError(f"role {request.role}: missing {missing}, too many {extra}")


def assert_hidden(request: Request, *texts: str) -> None:
    """Check that none of these texts is in the request.

    Raises:
        AssertionError: names the text and the blocks or turns that contain it.
    """
    # The rendered request is checked, since tags and names of blocks are sent, too.
    sent_text = render(request).as_text()
    for text in texts:
        if text in sent_text:
            holders = _parts_with(request, text) or "the frame of a block"
            raise AssertionError(f"role {request.role}: {text!r} is in {holders}")


def _parts_with(request: Request, text: str) -> list[str]:
    """Return the names of the blocks and the turns that contain a text."""
    holders = []
    for block in request.window.blocks:
        if text in block.text:
            holders.append(block.name)
    # Turns have no names: they are counted from 1, as `transom window show` does.
    for number, turn in enumerate(request.window.turns, 1):
        if text in turn_text(turn):
            holders.append(f"turn {number}")
    return holders
