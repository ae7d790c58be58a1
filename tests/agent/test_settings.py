"""Every setting that agents of programs obey, and the test that changes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.agent import test_setup, test_sub, test_window

OBEYED: dict[str, Callable[..., Any]] = {
    "llm.agent.provider": test_setup.test_without_a_string_the_settings_name_who_answers,
    "llm.agent.model": test_setup.test_without_a_string_the_settings_name_who_answers,
    "llm.agent.temperature": test_setup.test_each_role_has_its_own_model,
    "llm.agent.max_tokens": test_setup.test_each_role_has_its_own_model,
    "llm.agent.strategy": test_setup.test_the_strategy_is_a_setting,
    "llm.sub_conversation.provider": test_setup.test_a_sub_conversation_may_have_another_vendor,
    "llm.sub_conversation.model": test_setup.test_each_role_has_its_own_model,
    "llm.sub_conversation.temperature": test_setup.test_each_role_has_its_own_model,
    "llm.sub_conversation.max_tokens": test_setup.test_each_role_has_its_own_model,
    "llm.sub_conversation.ratio": test_sub.test_how_short_summaries_are_is_a_setting,
    "window.compact_at": test_window.test_events_beyond_compact_at_are_folded,
    "window.keep_recent": test_window.test_keep_recent_of_them_stay,
}


def test_each_is_held_by_a_test() -> None:
    assert all(check.__name__.startswith("test_") for check in OBEYED.values())
