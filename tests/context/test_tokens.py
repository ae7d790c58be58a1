"""Estimates of tokens come near what a model's own tokenizer counts, once usage has come back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.streams import (
    KINDS,
    PROSE,
    ROW,
    TOKENIZERS,
    Tokenizer,
    assembled,
    even,
    exchange,
    kinds,
    pieces,
    sizes,
    small,
)
from tests.fuzzing import examples
from transom.context import History, TokenCorrection, WindowBudget, go_on
from transom.context.tokens import Measure, measure
from transom.errors import WindowOverflow
from transom.llm import Block, CallSettings, Request, Role, Tier, estimate_tokens, render

PLAIN = TokenCorrection()
ROLE = Role(
    "p.seat",
    (Block("role", PROSE * 20, Tier.STABLE),),
    frozenset({"role", "log", "notes", "playbook", "session_state", "config"}),
    settings=CallSettings(max_tokens=500),
)


def off(request: Request, tokens: TokenCorrection, count: Tokenizer) -> float:
    """By how much the declared estimate is off, as a fraction of what the tokenizer counts."""
    text = render(request).as_text()
    assert sum(share.used for share in request.window.shares) == pytest.approx(
        tokens.count(text), abs=6
    )
    return abs(tokens.count(text) / count(text) - 1)


def test_a_conversation_learns_as_it_goes_on() -> None:
    tokens, history = TokenCorrection(), History()
    for number in range(8):
        history = history.add(*exchange(number, KINDS[number % len(KINDS)], 600))
        made = go_on(ROLE, [], history, tokens=tokens)
        real = small(render(made.request).as_text())
        assert number < 5 or abs(made.tokens / real - 1) <= 0.10
        history, tokens = made.history, tokens.learned(made.size, real)
    assert abs(PLAIN.tokens(made.size) / real - 1) > 0.10, "else there was nothing to learn"


def learned_in(rounds: list[tuple[str, int]], count: Tokenizer) -> tuple[TokenCorrection, Request]:
    """What a conversation of such results teaches, and its last request."""
    tokens, history = TokenCorrection(), History()
    for number, (kind, size) in enumerate(rounds):
        history = history.add(*exchange(number, kind, size))
        request = assembled(ROLE, [], turns=history.turns, tokens=tokens)
        text = render(request).as_text()
        if number < len(rounds) - 1:
            tokens = tokens.learned(measure(text), count(text))
    return tokens, assembled(ROLE, [], turns=history.turns, tokens=tokens)


rounds = st.lists(st.tuples(kinds, sizes), min_size=6, max_size=12)


@st.composite
def alike(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Results of up to three kinds, each of which comes in the first five turns; no tokenizer is
    known unseen.
    """
    pool = draw(st.lists(kinds, min_size=1, max_size=3, unique=True))
    first = [(pool[number % len(pool)], draw(st.integers(500, 2_000))) for number in range(5)]
    return first + draw(st.lists(st.tuples(st.sampled_from(pool), sizes), min_size=1, max_size=7))


@pytest.mark.parametrize("count", TOKENIZERS)
@settings(max_examples=examples(40), deadline=None)
@given(alike())
def test_after_five_turns_the_estimate_is_within_a_tenth(
    count: Tokenizer, made: list[tuple[str, int]]
) -> None:
    tokens, request = learned_in(made, count)
    assert tokens.calls >= 5
    assert off(request, tokens, count) <= 0.10


@pytest.mark.parametrize("count", TOKENIZERS)
def test_a_planted_undercount_is_seen(count: Tokenizer) -> None:
    """The property above fails for a server that reports a fifth less than it counts."""
    made = [(kind, 500) for kind in (*KINDS, *KINDS)]
    honest, request = learned_in(made, count)
    assert off(request, honest, count) <= 0.10
    planted, request = learned_in(made, lambda text: count(text) * 4 // 5)
    assert off(request, planted, count) > 0.10


def test_without_usage_it_is_the_estimate_that_everything_else_uses() -> None:
    for text in ("", "a", "abc", "abcd", "é…\udc80", PROSE, ROW, "x" * 300_000):
        assert PLAIN.count(text) == estimate_tokens(text)
    tokens, request = learned_in([(PROSE, 400)] * 2, small)
    assert PLAIN.tokens(measure(render(request).as_text())) == estimate_tokens(
        render(request).as_text()
    )
    assert (PLAIN.calls, tokens.calls) == (0, 1)


def test_what_has_to_fit_is_estimated_from_above_where_the_text_is_another_than_before() -> None:
    for count in TOKENIZERS:
        for before in KINDS:
            tokens = PLAIN
            for _ in range(5):
                tokens = tokens.learned(measure(before * 20), count(before * 20))
            assert tokens.at_most(measure(before)) == pytest.approx(tokens.count(before), abs=2)
            for after in KINDS:
                assert tokens.at_most(measure(after * 20)) >= tokens.count(after * 20)
                assert count is not even or tokens.at_most(measure(after * 20)) >= 0.98 * even(
                    after * 20
                )
    assert tokens.count(PROSE * 20) < 0.98 * even(PROSE * 20), "the fit alone would be too low"


def test_what_fits_only_if_the_text_is_like_those_before_is_left_out() -> None:
    tokens = PLAIN
    for _ in range(5):
        tokens = tokens.learned(measure(ROW * 20), even(ROW * 20))
    log = Block("log", PROSE * 60, trust="untrusted")
    size = go_on(ROLE, [log], History(), tokens=tokens).size
    most = tokens.at_most(size)
    assert tokens.tokens(size) < most - 1, "else the two could not be told apart"
    for room, left_out in ((most, []), (most - 1, ["log"])):
        budget = WindowBudget(room + ROLE.settings.max_tokens, margin=0)
        made = go_on(ROLE, [log], History(), budget=budget, tokens=tokens)
        assert [one.name for one in made.request.window.dropped] == left_out


@given(st.text(), st.text())
def test_measures_add_up(one: str, other: str) -> None:
    assert measure(one + other) == measure(one).plus(measure(other))
    assert measure(one).plus(measure(other)).minus(measure(other)) == measure(one)


def test_usage_that_says_nothing_teaches_nothing() -> None:
    assert PLAIN.learned(measure("abc"), 0) is PLAIN
    assert PLAIN.learned(Measure(), 5) is PLAIN


def test_what_a_server_adds_of_its_own_is_not_taken_for_text() -> None:
    tokens = PLAIN.learned(measure("How many?"), 350)
    assert tokens.count(PROSE * 100) <= len(PROSE * 100)


def test_a_model_is_learned_anew_when_it_changes() -> None:
    tokens = PLAIN
    for _ in range(5):
        tokens = tokens.learned(measure(PROSE), pieces(PROSE))
    for _ in range(5):
        tokens = tokens.learned(measure(PROSE), 3 * pieces(PROSE))
    assert tokens.count(PROSE) == pytest.approx(3 * pieces(PROSE), rel=0.15)


blocks = st.lists(
    st.tuples(
        st.sampled_from(["log", "notes", "playbook", "session_state", "config"]), kinds, sizes
    ),
    max_size=5,
    unique_by=lambda one: one[0],
)


@pytest.mark.parametrize("count", TOKENIZERS)
@settings(max_examples=examples(40), deadline=None)
@given(rounds, blocks, st.integers(3_000, 12_000))
def test_any_window_obeys_its_budget(
    count: Tokenizer,
    made: list[tuple[str, int]],
    given_blocks: list[tuple[str, str, int]],
    total: int,
) -> None:
    """Under each tokenizer: as it counts, window and reply fit into the model's own window."""
    tokens, _ = learned_in(made, count)
    history = History.of(
        [turn for n, (kind, size) in enumerate(made) for turn in exchange(n, kind, size)]
    )
    tiers = {"config": Tier.SESSION, "playbook": Tier.SESSION}
    listed = [
        Block(name, kind * (size // len(kind) + 1), tiers.get(name, Tier.TURN), "untrusted")
        for name, kind, size in given_blocks
    ]
    budget = WindowBudget(total=total)
    try:
        made_of = go_on(ROLE, listed, history, budget=budget, tokens=tokens)
    except WindowOverflow as error:
        assert error.needed > error.limit == budget.window_tokens(500)
        assert sum(error.shares.values()) <= error.needed + 6
        return
    request = made_of.request
    assert count(render(request).as_text()) + 500 <= total
    assert made_of.tokens <= budget.window_tokens(500)
    assert request.window.blocks[0] == ROLE.prompt[0], "the stable prefix never goes"
    named = {one.name for one in request.window.dropped if not one.name.startswith("event ")}
    assert named | {block.name for block in request.window.blocks} == {
        "role",
        *(block.name for block in listed),
    }
