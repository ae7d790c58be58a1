"""How a window is divided, and who gives when it is full."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.streams import PROSE, assembled, call, exchange
from tests.counted import calls
from transom.config.runtime_sections import WindowSettings
from transom.context import (
    DEFAULT_SHARES,
    SHARES,
    Compaction,
    History,
    WindowBudget,
    check_message,
    go_on,
)
from transom.context.budget import GIVING, share_of
from transom.context.fitting import Frame, WindowFitter
from transom.context.tokens import TokenCorrection, measure
from transom.errors import SettingsError, WindowOverflow
from transom.llm import Block, CallSettings, Capabilities, Role, Tier, ToolSpec, UserMessage, render

PLAIN = TokenCorrection()

LOOK = ToolSpec("look", "Looks.", {"type": "object"})
ROLE = Role(
    "p.seat",
    (Block("role", "r" * 300, Tier.STABLE),),
    frozenset({"role", "config", "playbook", "session_state", "log", "trace", "task"}),
    (LOOK,),
    CallSettings(max_tokens=100),
)
FULL = {
    "config": Block("config", "c" * 600, Tier.SESSION, "untrusted"),
    "playbook": Block("playbook", "p" * 3_000, Tier.SESSION),
    "session_state": Block("session_state", "s" * 900),
    "log": Block("log", "l" * 2_400, trust="untrusted"),
    "trace": Block("trace", "t" * 2_400, trust="untrusted"),
    "task": Block("task", "k" * 300),
}


def test_the_shares_are_the_published_ones_and_make_a_hundred_thousand() -> None:
    assert DEFAULT_SHARES == {
        "stable_prefix": 5_000,
        "protocols": 10_000,
        "playbook": 5_000,
        "session_state": 2_000,
        "conversation": 30_000,
        "working_space": 48_000,
    }
    assert WindowBudget.of(WindowSettings()) == WindowBudget(open=True)


@given(st.integers(1, 2_000_000), st.floats(0, 0.9), st.integers(0, 100_000))
def test_they_are_scaled_to_what_is_left_beside_reply_and_margin(
    total: int, margin: float, reply: int
) -> None:
    budget = WindowBudget(total, margin)
    limits = budget.limits(reply)
    assert list(limits) == list(SHARES)
    room = budget.window_tokens(reply)
    assert room <= total - reply or room == 0
    assert room - len(SHARES) < sum(limits.values()) <= room
    assert abs(limits["conversation"] - 0.30 * room) <= 1


def test_settings_count_more_than_what_a_provider_knows_of_its_model() -> None:
    assert WindowBudget.of(WindowSettings()).on(Capabilities(200_000)).total == 200_000
    assert WindowBudget.of(WindowSettings(tokens=50_000)).on(Capabilities(200_000)).total == 50_000
    settled = WindowBudget.of(WindowSettings(margin=0.2, compact_at=9, keep_recent=3))
    assert (settled.margin, settled.compaction) == (0.2, Compaction(9, 3))
    with pytest.raises(
        SettingsError, match=r"window.keep_recent: is 20; must be at most window.compact_at, 9"
    ):
        WindowBudget.of(WindowSettings(compact_at=9))


def test_a_block_belongs_to_a_share_by_its_name_or_its_tier() -> None:
    assert {name: share_of(block) for name, block in FULL.items()} == {
        "config": "protocols",
        "playbook": "playbook",
        "session_state": "session_state",
        "log": "working_space",
        "trace": "working_space",
        "task": "working_space",
    }
    assert share_of(Block("playbook", "p", Tier.STABLE)) == "stable_prefix", (
        "what is stable never goes"
    )


def test_what_one_share_leaves_free_another_may_use() -> None:
    request = assembled(ROLE, list(FULL.values()), budget=WindowBudget(total=20_000))
    assert request.window.dropped == ()
    used = {share.name: share.used for share in request.window.shares}
    over = [share.name for share in request.window.shares if share.used > share.limit]
    assert over == ["playbook"]
    assert used["conversation"] == 0 < used["stable_prefix"]


def left_out(total: int, history: History | None = None) -> list[str]:
    made = go_on(ROLE, list(FULL.values()), history or History(), budget=WindowBudget(total=total))
    return [one.name for one in made.request.window.dropped]


def test_who_is_over_its_share_gives_first_then_all_in_the_declared_order() -> None:
    assert GIVING == ("conversation", "playbook", "session_state", "working_space")
    assert left_out(4_200) == []
    assert left_out(4_000) == ["playbook"], "the only one that is over its share"
    assert left_out(2_700) == ["playbook", "session_state"]
    assert left_out(2_400) == ["playbook", "session_state", "trace"], "the last first"
    assert left_out(1_500) == ["playbook", "session_state", "trace", "log"]
    with pytest.raises(WindowOverflow) as caught:
        left_out(500)
    assert caught.value.shares.keys() == {"stable_prefix", "protocols", "working_space"}
    assert caught.value.limit == 350 < caught.value.needed
    assert sum(caught.value.shares.values()) == pytest.approx(caught.value.needed, abs=3)
    assert "(stable_prefix " in caught.value.problem


def test_a_conversation_folds_before_anything_goes() -> None:
    history = History.of([turn for number in range(20) for turn in exchange(number)])
    before = history.size
    made = go_on(ROLE, list(FULL.values()), history, budget=WindowBudget(total=8_000))
    assert made.request.window.dropped == ()
    assert made.folded > 20
    assert made.history.folded is not None
    assert made.request.window.turns == made.history.turns
    assert made.tokens_before > made.tokens
    assert before == history.size, "the one that was given is as it was"


def test_what_was_measured_is_what_is_sent() -> None:
    made = go_on(
        ROLE, list(FULL.values()), History.of(exchange(1)), budget=WindowBudget(total=9_000)
    )
    assert made.size == measure(render(made.request).as_text())
    empty = Role("p.none", (), frozenset())
    assert go_on(empty, [], History()).size == measure("")


def test_a_failure_is_kept_where_everything_else_is_folded() -> None:
    history = History().add(*call(1, "no such file", is_error=True))
    for number in range(2, 40):
        history = history.add(*exchange(number))
    made = go_on(ROLE, [], history, budget=WindowBudget(total=4_000))
    assert made.request.window.turns[1:3] == call(1, "no such file", is_error=True)


def test_a_newest_message_that_is_too_large_alone_overflows_with_its_sizes() -> None:
    history = History.of([*exchange(1), UserMessage(PROSE * 100)])
    with pytest.raises(WindowOverflow) as caught:
        go_on(ROLE, [], history, budget=WindowBudget(total=5_000))
    assert caught.value.shares["conversation"] > caught.value.limit


def test_going_on_costs_the_same_however_long_the_conversation_is() -> None:
    def cost(count: int) -> int:
        history = History.of(
            [turn for number in range(count) for turn in exchange(number, size=40)]
        )
        budget = WindowBudget(total=1_000_000)
        return calls(lambda: go_on(ROLE, [FULL["config"]], history.add(*call(99)), budget=budget))

    cost(5)  # sizes of what never changes are found once
    assert cost(20) == cost(5)


@pytest.mark.parametrize(
    ("reserve", "part"), [(0, 1.0), (100, 0.9), (499, 0.501), (500, 0.5), (5_000, 0.5)]
)
def test_of_what_is_free_for_a_message_at_most_half_is_reserved_for_what_follows(
    reserve: int, part: float
) -> None:
    role = Role("t.seat", (), frozenset({"advice"}), settings=CallSettings(max_tokens=1))
    frame = Frame.of(
        role,
        (Block("advice", "x" * 900, Tier.TURN, "untrusted"),),
        WindowBudget(total=1_001, margin=0),
    )
    assert WindowFitter(role, frame, History(), PLAIN).room(reserve) == 1_000 * part, (
        "what may go takes nothing of it"
    )


def test_a_message_has_no_room_where_something_stands_that_never_goes() -> None:
    """What is stable, and what holds for the session; not what is known of it, or advice, which
    give.
    """
    size = 900
    staying = [Block("own", "x" * size, Tier.STABLE), Block("config", "x" * size, Tier.SESSION)]
    giving = [
        Block("playbook", "x" * size, Tier.SESSION),
        Block("session_state", "x" * size, Tier.SESSION),
    ]
    role = Role("t.seat", (), frozenset(), settings=CallSettings(max_tokens=1))
    budget = WindowBudget(total=1_001, margin=0)
    rooms = [
        WindowFitter(role, Frame.of(role, (block,), budget), History(), PLAIN).room(0)
        for block in (*staying, *giving)
    ]
    assert rooms[0] < 700 and rooms[1] < 700
    assert rooms[2:] == [1_000] * 2
    with pytest.raises(WindowOverflow):
        seeing = replace(role, sees=frozenset({"config"}))
        check_message(seeing, staying[1:], "y" * 2_700, budget=WindowBudget(total=1_001, margin=0))


def test_who_is_within_its_share_gives_nothing_while_another_is_over_it() -> None:
    history = History.of([turn for number in range(3) for turn in exchange(number, size=40)])
    made = go_on(ROLE, list(FULL.values()), history, budget=WindowBudget(total=4_100))
    assert [one.name for one in made.request.window.dropped] == ["playbook"]
    assert made.folded == 0 and made.history.turns == history.turns
