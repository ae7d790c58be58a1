"""What a part of a window may take, and what is left of it."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from transom.errors import InputError
from transom.learning import ContextBudgetManager
from transom.llm import estimate_tokens

events = st.lists(
    st.tuples(st.sampled_from(["trial", "error", "milestone"]), st.integers(0, 5), st.booleans()),
    max_size=60,
)


def test_a_budget_says_what_is_left() -> None:
    manager = ContextBudgetManager()
    assert manager.budget["total"] == 100_000
    assert {"stable_prefix", "playbook", "session_state", "conversation"} <= {*manager.usage}
    manager.update_usage("playbook", 4_000)
    manager.update_usage("session_state", "x" * 9_000)
    assert manager.get_available("playbook") == 1_000
    assert manager.is_over_budget("session_state")
    assert not manager.is_over_budget()
    assert manager.total_used == 4_000 + estimate_tokens("x" * 9_000)
    small = ContextBudgetManager({"a": 10, "total": 5})
    small.update_usage("a", 6)
    assert small.is_over_budget()
    with pytest.raises(InputError, match=r"unknown part 'b'.*use a"):
        small.update_usage("b", 1)
