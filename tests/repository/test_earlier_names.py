"""Public names that were renamed still work, and say so."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("module", "earlier", "present"),
    [
        ("transom.llm", "ToolCall", "ToolCallPart"),
        ("transom.llm", "ToolResult", "ToolResultPart"),
        ("transom.learning", "CompactionManager", "CompactedLog"),
        ("transom.learning", "ContextCacheOptimizer", "CachedContextWriter"),
    ],
)
def test_an_earlier_name_is_the_present_class(module: str, earlier: str, present: str) -> None:
    room = import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{earlier} is now {module}.{present}"):
        assert getattr(room, earlier) is getattr(room, present)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'transom\.llm' has no attribute 'Nothing'"):
        import_module("transom.llm").Nothing  # noqa: B018
