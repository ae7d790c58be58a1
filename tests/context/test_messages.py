"""Messages and results of any size: one is refused before it is said, or every window with it
fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.streams import CODE, KINDS, PROSE, ROW, orphans
from tests.fuzzing import examples
from transom.context import History, TokenCorrection, WindowBudget, check_message, go_on
from transom.context.oversized import level
from transom.errors import WindowOverflow
from transom.llm import (
    AssistantMessage,
    Block,
    CallSettings,
    Role,
    Text,
    Tier,
    ToolCallPart,
    ToolResultPart,
    ToolResults,
    ToolSpec,
    UserMessage,
)

PLAIN = TokenCorrection()
LEARNED = PLAIN.learned(
    go_on(Role("r", (), frozenset()), (), History.of([UserMessage(ROW)])).size, 60
)
ROLE = Role(
    "t.seat",
    (Block("role", PROSE, Tier.STABLE),),
    frozenset({"role"}),
    (ToolSpec("look", "Looks.", {"type": "object"}),),
    CallSettings(max_tokens=500),
)


@dataclass(frozen=True)
class Step:
    """A message, and what comes of it: nothing where it stays unanswered, else rounds of calls,
    each with results.
    """

    text: str
    rounds: tuple[tuple[str, ...], ...] = ()
    answered: bool = True
    failing: bool = False


texts = st.tuples(st.sampled_from(KINDS), st.integers(1, 60_000)).map(
    lambda one: (one[0] * (one[1] // 40))[: one[1]]
)
rounds = st.lists(st.lists(texts, min_size=1, max_size=8).map(tuple), max_size=4).map(tuple)
steps = st.lists(st.builds(Step, texts, rounds, st.booleans(), st.booleans()), max_size=8)


def fitting(
    history: History, budget: WindowBudget, tokens: TokenCorrection, role: Role, asked: str
) -> History:
    made = go_on(role, (), history, budget=budget, tokens=tokens)
    window = made.request.window
    assert tokens.at_most(made.size) <= budget.window_tokens(role.settings.max_tokens)
    assert orphans(window.turns) == []
    assert UserMessage(asked) in window.turns, "what is worked on is there"
    return made.history


@settings(max_examples=examples(60), deadline=None)
@given(
    steps, st.sampled_from([4_000, 8_000, 30_000]), st.sampled_from([PLAIN, LEARNED]), st.booleans()
)
def test_a_message_is_refused_before_it_is_said_or_can_be_answered(
    made: list[Step], total: int, tokens: TokenCorrection, calls: bool
) -> None:
    role = ROLE if calls else Role(ROLE.name, ROLE.prompt, ROLE.sees, settings=ROLE.settings)
    budget = WindowBudget(total)
    history, number = History(), 0
    for step in [*made, Step("short"), Step("and this?")]:
        try:
            check_message(role, (), step.text, budget=budget, tokens=tokens)
        except WindowOverflow as error:
            assert error.needed > error.limit > 0 and step.text not in ("short", "and this?")
            continue
        history = fitting(history.add(UserMessage(step.text)), budget, tokens, role, step.text)
        if not step.answered:
            continue
        for results in step.rounds if calls else ():
            number += 1
            asks = tuple(
                ToolCallPart(f"{number}-{at}", "look", {"at": at}) for at in range(len(results))
            )
            came = [
                ToolResultPart(call.id, "look", text, is_error=step.failing)
                for call, text in zip(asks, results, strict=True)
            ]
            history = fitting(
                history.add(AssistantMessage(asks), ToolResults(tuple(came))),
                budget,
                tokens,
                role,
                step.text,
            )
        history = history.add(AssistantMessage((Text("So it is."),)))


@pytest.mark.parametrize(
    "blocks", [(), (Block("extra", CODE * 40),)], ids=["alone", "with a block"]
)
def test_a_refusal_names_the_size_the_room_and_what_to_do(blocks: tuple[Block, ...]) -> None:
    role, budget = (
        Role(ROLE.name, ROLE.prompt, ROLE.sees | {"extra"}, settings=ROLE.settings),
        WindowBudget(8_000),
    )
    with pytest.raises(
        WindowOverflow, match=r"about \d+ tokens, and .*room for \d+ in one.*several messages"
    ) as caught:
        check_message(role, blocks, PROSE * 100, budget=budget)
    room = caught.value.limit
    check_message(role, blocks, "x" * (3 * room - 200), budget=budget)
    with pytest.raises(WindowOverflow):
        check_message(role, blocks, "x" * (3 * room), budget=budget)
    assert 2_000 < room < 6_700


def test_results_that_have_no_room_can_still_be_read() -> None:
    call = ToolCallPart("1", "look", {})
    came = ToolResults((ToolResultPart("1", "look", PROSE * 500),))
    history = History.of([UserMessage("What of it?"), AssistantMessage((call,)), came])
    made = go_on(ROLE, (), history, budget=WindowBudget(8_000))
    note, question = made.request.window.turns
    assert (
        isinstance(note, UserMessage)
        and "results of the newest, event 1, have no room here" in note.text
    )
    assert question == UserMessage("What of it?")
    call, came = ToolCallPart("2", "look", {}), ToolResults((ToolResultPart("2", "look", "fine"),))
    made = go_on(
        ROLE, (), made.history.add(AssistantMessage((call,)), came), budget=WindowBudget(8_000)
    )
    assert made.request.window.turns[-2:] == (AssistantMessage((call,)), came)
    with pytest.raises(WindowOverflow):
        go_on(ROLE, (), History.of([UserMessage(PROSE * 500)]), budget=WindowBudget(8_000))


@pytest.mark.parametrize("total", [8_000, 30_000])
def test_the_longest_message_leaves_room_for_the_note_and_for_a_result(total: int) -> None:
    """Else what it makes the role call comes back and can never be shown."""
    budget, refused, most = WindowBudget(total), total * 4, 0
    while refused - most > 1:
        half = (refused + most) // 2
        try:
            check_message(ROLE, (), "x" * half, budget=budget)
            most = half
        except WindowOverflow:
            refused = half
    call = ToolCallPart("1", "look", {"at": 1})
    result = ToolResultPart("1", "look", "y" * (3 * budget.result_tokens - 3))
    assert PLAIN.count(result.content) <= budget.result_tokens
    before = [
        turn
        for at in range(9)
        for turn in (UserMessage(f"{at} {PROSE}"), AssistantMessage((Text(PROSE),)))
    ]
    history = History.of(
        [*before, UserMessage("x" * most), AssistantMessage((call,)), ToolResults((result,))]
    )
    made = go_on(ROLE, (), history, budget=budget)
    assert made.request.window.turns[-1] == ToolResults((result,))
    assert UserMessage("x" * most) in made.request.window.turns
    assert isinstance(first := made.request.window.turns[0], UserMessage) and first.text.startswith(
        "Note: "
    )


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=12), st.integers(1, 20_000))
def test_of_several_results_only_the_largest_give(sizes: list[int], most: int) -> None:
    each = level(sizes, most)
    held = [min(size, each) for size in sizes]
    assert sum(held) <= most
    if sum(sizes) <= most:
        assert held == sizes
    else:
        assert sum(min(size, each + 1) for size in sizes) > most, "and no more than they must"
