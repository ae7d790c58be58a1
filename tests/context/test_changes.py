"""What changed from one call to another."""

from __future__ import annotations

from dataclasses import replace

from tests.context.streams import call
from tests.context.test_cache import BOOK, CONFIG, LEAP, LOOK, ROLE, asked
from transom.context.changes import changes, lines_of_changes
from transom.llm import Block, Dropped, Request, UserMessage, Window

FIRST = asked(3, CONFIG, BOOK, Block("log", "l"))


def test_each_kind_of_change_is_named() -> None:
    role = replace(ROLE, tools=(LOOK, LEAP))
    changed = changes(
        FIRST, asked(4, BOOK, replace(CONFIG, text="new"), Block("state", "s"), role=role)
    )
    assert changed["added"] == ["tool leap", "block state"]
    assert changed["gone"] == ["block log"]
    assert changed["changed"] == ["block config"]
    assert changed["moved"] == []
    assert (changed["same_turns"], changed["more_turns"], changed["lost_turns"]) == (12, 4, 0)
    assert lines_of_changes(changed) == [
        "added: tool leap, block state",
        "gone: block log",
        "changed: block config",
        "turns: 12 the same, 4 more",
        "a cache is of use up to tool leap, which is new",
    ]
    assert changed["broke"] == {"name": "tool leap", "how": "added"}


def test_blocks_in_another_order_have_moved() -> None:
    changed = changes(asked(3, CONFIG, BOOK), asked(3, BOOK, CONFIG))
    assert changed["moved"] == ["block playbook", "block config"]
    assert lines_of_changes(changed)[0] == "moved: block playbook, block config"


def test_a_conversation_that_was_folded_lost_turns() -> None:
    turns = (UserMessage("Note: folded."), *FIRST.window.turns[8:], *call(9))
    window = Window(FIRST.window.blocks, turns, (Dropped("event 1", 9, "over"),))
    folded = Request(FIRST.role, window, FIRST.tools, FIRST.settings)
    changed = changes(FIRST, folded)
    assert (changed["same_turns"], changed["more_turns"], changed["lost_turns"]) == (0, 7, 12)
    assert lines_of_changes(changed) == [
        "left out now: event 1",
        "turns: 0 the same, 12 gone, 7 more",
        "a cache is of use up to turn 1, which is another one now",
    ]


def test_nothing_changed() -> None:
    changed = changes(FIRST, FIRST)
    assert lines_of_changes(changed) == []
    assert changed["broke"] is None
    assert changed["same_turns"] == 12
