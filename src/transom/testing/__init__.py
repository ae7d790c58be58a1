"""Test helpers: a scripted provider, assertions on windows, suites for stores and providers.

provider = ScriptedProvider({"my.role": [asks("look", at="a"), "the answer"]})
...
assert_sees(provider.requests[0], "task", "configuration")
assert_hidden(provider.requests[0], "the secret word")
"""

from __future__ import annotations

from transom.canonical import Json
from transom.llm import Request, ScriptedProvider, ToolCall, render
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


def asks(tool: str, /, **arguments: Json) -> ToolCall:
    """Return a scripted tool call. For several calls in one reply give the provider a `Reply` of
    them.
    """
    return ToolCall(f"call-{tool}", tool, dict(arguments))


def assert_sees(request: Request, *names: str) -> None:
    """Fail unless the window has exactly these blocks, in any order, the role's own prompt
    included.

    Raises:
        AssertionError: names the missing and the additional blocks.
    """
    visible = {block.name for block in request.window.blocks}
    missing = sorted(set(names) - visible)
    extra = sorted(visible - set(names))
    if missing or extra:
        raise AssertionError(f"role {request.role}: missing {missing}, too many {extra}")


def assert_hidden(request: Request, *texts: str) -> None:
    """Fail if any of these texts is in the request.

    Raises:
        AssertionError: names the text and the blocks or turns that contain it.
    """
    request_text = render(request).as_text()
    turns = [
        (f"turn {number}", turn_text(turn)) for number, turn in enumerate(request.window.turns, 1)
    ]
    for text in texts:
        if text in request_text:
            parts = [*((block.name, block.text) for block in request.window.blocks), *turns]
            # A text that no block and no turn holds stands in the tags around them.
            holders = [name for name, content in parts if text in content]
            raise AssertionError(
                f"role {request.role}: {text!r} is in {holders or 'the frame of a block'}"
            )
