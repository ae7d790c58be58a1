"""What a person said stays, as far as there is room for it, when what came of it is folded."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.streams import call, turns
from tests.fuzzing import examples
from transom.context import Compaction, History, Mark, TokenCorrection
from transom.context.compaction import compact, shrink
from transom.context.history import turn_size
from transom.errors import InputError
from transom.llm import AssistantMessage, Text, Turn, UserMessage

PLAIN = TokenCorrection()
LIMIT = 2_000


def answered(*asked: str) -> History:
    """Questions, each with its answer."""
    return History.of(
        [
            turn
            for one in asked
            for turn in (UserMessage(one), AssistantMessage((Text("An answer. " * 20),)))
        ]
    )


def words(history: History) -> list[str]:
    """What windows hold of what was asked, without the note."""
    note = history.folded.note if history.folded else None
    return [
        turn.text for turn in history.turns if isinstance(turn, UserMessage) and turn is not note
    ]


def note(history: History) -> str:
    assert history.folded is not None
    return history.folded.note.text


def test_what_was_asked_stays_and_what_was_answered_goes() -> None:
    asked = [f"Look at corner {number}." for number in range(60)]
    history = compact(answered(*asked), Compaction(), 20_000, PLAIN)
    assert words(history) == asked
    assert sum(isinstance(turn, AssistantMessage) for turn in history.turns) == 20
    assert "- event 7, asked\n" in note(history)
    assert "follows word for word, without what came of it" in note(history)
    assert "being worked on" not in note(history), "that is not folded"


def test_past_their_room_the_first_the_last_and_the_newest_stay() -> None:
    asked = [
        "Answer in French.",
        *(f"Look at corner {number:03d} again." for number in range(100)),
        "x" * 4_000,
    ]
    history = compact(answered(*asked), Compaction(2, 1), LIMIT, PLAIN)
    shown = words(history)
    assert shown == ["Answer in French.", *asked[-(len(shown) - 1) :]], (
        "a long one that is not folded takes no room"
    )
    assert 5 <= len(shown) <= 30
    assert f"What was asked in {102 - len(shown)} more does not, for want of room." in note(history)
    longer = compact(history.add(UserMessage("And now?")), Compaction(1, 1), LIMIT, PLAIN)
    assert "x" * 4_000 not in words(longer), "one that is long leaves its room to the others"
    assert words(longer)[-2:] == [asked[-2], "And now?"]


def test_what_stands_in_an_event_that_is_shown_is_not_shown_again() -> None:
    history = answered("Begin.")
    history = history.add(UserMessage("Order it."), *call(1, "out of stock", is_error=True))
    history = compact(history.add(*answered("a", "b").turns), Compaction(1, 1), 20_000, PLAIN)
    assert words(history) == ["Begin.", "Order it.", "a", "b"]
    assert "- event 2, failed" in note(history)
    assert "- event 1, asked" in note(history)
    kept = shrink(history, 0, PLAIN, hard=True)
    assert words(kept) == ["b"], "where there is no room at all, only what is worked on stays"


def test_what_is_worked_on_is_not_named_again_where_its_event_is_shown() -> None:
    history = answered("Begin.").add(
        UserMessage("Order it."), *call(1, "out of stock", is_error=True)
    )
    for number in range(2, 9):
        history = history.add(*call(number))
    roomy, tight = (
        compact(history, Compaction(1, 1), 20_000, PLAIN),
        compact(history, Compaction(1, 1), 20, PLAIN),
    )
    assert words(roomy) == ["Begin.", "Order it."]
    assert "- event 2, failed" in note(roomy) and "being worked on" not in note(roomy)
    assert words(tight) == ["Order it."], "its event has no room"
    assert "What was asked last, in event 2, is still being worked on." in note(tight)


def test_what_is_worked_on_stays_where_there_is_no_room_at_all() -> None:
    history = History.of(
        [UserMessage("old"), AssistantMessage((Text("ok"),)), UserMessage("Which city? " * 500)]
    )
    for number in range(9):
        history = history.add(*call(number))
    history = shrink(history, LIMIT, PLAIN, hard=True)
    assert words(history) == ["Which city? " * 500]
    assert "What was asked last, in event 2, is still being worked on." in note(history)
    assert shrink(history, LIMIT, PLAIN, hard=True) is history, "and nothing more can go"


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(turns(), st.integers(1, 20), st.integers(50, 5_000))
def test_what_is_shown_keeps_its_order_and_its_bound(
    made: list[Turn], recent: int, limit: int
) -> None:
    history = History()
    for turn in made:
        history = history.add(turn)
        if not (isinstance(turn, AssistantMessage) and turn.calls):
            history = compact(history, Compaction(recent, recent), limit, PLAIN)
    if history.folded is None:
        return
    folded, numbers = history.folded, [event.number for event in history.folded.shown_events]
    assert numbers == sorted(set(numbers))
    lasting = {id(event) for event in folded.lasting_events}
    said = [
        event
        for event in folded.shown_events
        if id(event) not in lasting and event is not folded.question
    ]
    assert sum(PLAIN.tokens(event.size) for event in said) <= 0.15 * limit + len(said), (
        "each is rounded up"
    )
    assert {event.number for event in folded.questions} == {
        event.number
        for event in History.of(made).live
        if event.user_message and event.number <= folded.last
    }
    assert sum(history.size) == sum(sum(turn_size(turn)) for turn in history.turns)


def test_several_marks_of_an_event_are_all_kept() -> None:
    history = History().add(UserMessage("go"), mark=Mark("half way", values={"mass": 1.5}))
    history = history.add(mark=Mark("done", values={"mass": 1.25, "stress": 2}))
    history = history.add(mark=Mark("done", preserve=True))
    assert history.live[-1].milestone == "half way; done"
    assert history.live[-1].preserve
    assert history.live[-1].values == {"mass": (1.5, 1.25), "stress": (2,)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": {"m": float("nan")}},
        {"values": {"m": 10**400}},
        {"values": {"m": "1"}},
        {"values": {"a\nb": 1.0}},
        {"milestone": "a\n- event 1"},
    ],
)
def test_a_mark_that_no_note_can_hold_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"finite number|short line"):
        Mark(**wrong)  # type: ignore[arg-type]  # that is the test
