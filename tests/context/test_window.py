"""What a role may see, in which order, and what is left out when there is too much."""

from __future__ import annotations

import pytest

from tests.context.streams import assembled
from transom.context import WindowBudget
from transom.errors import VisibilityError, WindowOverflow
from transom.llm import Block, CallSettings, Role, Tier

ROLE = Role(
    "p.seat",
    (Block("role", "You.", Tier.STABLE),),
    frozenset({"role", "config", "log", "notes"}),
    settings=CallSettings(max_tokens=100),
)


def test_a_window_holds_the_prompt_and_what_was_given() -> None:
    asked = assembled(ROLE, [Block("log", "l"), Block("config", "c", Tier.SESSION)])
    assert [block.name for block in asked.window.blocks] == ["role", "config", "log"]
    assert asked.role == "p.seat"


def test_a_foreign_block_is_refused() -> None:
    with pytest.raises(
        VisibilityError, match=r"block secret is not among what role p.seat may see.*config, log"
    ):
        assembled(ROLE, [Block("secret", "s")])


def test_a_block_given_twice_is_refused() -> None:
    with pytest.raises(VisibilityError, match="twice"):
        assembled(ROLE, [Block("log", "1"), Block("log", "2")])


def test_untrusted_turn_blocks_are_dropped_whole_and_recorded() -> None:
    budget = WindowBudget(total=400)
    blocks = [Block("notes", "n" * 300), Block("log", "l" * 900, trust="untrusted")]
    window = assembled(ROLE, blocks, budget=budget).window
    assert [block.name for block in window.blocks] == ["role", "notes"]
    (dropped,) = window.dropped
    assert (dropped.name, dropped.tokens) == ("log", 300)
    assert "260" in dropped.why


def test_what_cannot_be_dropped_overflows_with_its_sizes() -> None:
    with pytest.raises(WindowOverflow) as caught:
        assembled(ROLE, [Block("notes", "n" * 3000)], budget=WindowBudget(total=400))
    assert caught.value.limit == 260
    assert caught.value.needed > 1000


def test_the_margin_and_the_reply_are_kept_free() -> None:
    assert WindowBudget().window_tokens(16_384) == 90_000 - 16_384
    assert WindowBudget(total=10).window_tokens(100) == 0
    assert sum(WindowBudget().shares.values()) == WindowBudget().total
