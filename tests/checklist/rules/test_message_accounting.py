"""Every line of a log is accounted for: a message, provably harmless, or the reason why there is
no verdict.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

import pytest

from tests.checklist.rules.message_lines import (
    CERTAIN,
    CLEAN,
    DOUBTFUL,
    FRAMES,
    LATCHES,
    MORE_CLEAN,
    NO_LATCHES,
    STRANGE,
    SYNTHESIS,
)
from tests.checklist.rules.support import Extract, atom_of

Word = Literal["clean", "fails", "no guess"]


def log(tool: str, *lines: str, cut: bool = False) -> str:
    head, end = FRAMES[tool]
    return "\n".join([head, *lines, *([end] if end and not cut else []), ""])


def word(atom: Extract, text: str, category: str = "error") -> Word:
    try:
        made = atom(text, "run.log")
    except ValueError:
        return "no guess"
    return "fails" if any(category in entry["parsed_fields"] for entry in made) else "clean"


@functools.cache
def errors() -> Extract:
    return atom_of("log_messages", only=("error", "log"))


@functools.cache
def both() -> Extract:
    return atom_of("log_messages")


@functools.cache
def finished() -> Extract:
    return atom_of("log_messages", {"log.end": "complete"}, only=("error", "log"))


def table(
    words: set[Word], cases: Sequence[tuple[str, ...]], atom: Extract
) -> list[tuple[str, ...]]:
    """The cases that are read otherwise."""
    found = [(word(atom, log(*case)), *case) for case in cases]
    return [case for case in found if case[0] not in words]


def test_what_a_tool_calls_an_error_is_one() -> None:
    assert table({"fails"}, CERTAIN, errors()) == []
    assert table({"fails"}, CERTAIN, both()) == []


def test_what_may_tell_of_a_failure_is_never_clean() -> None:
    assert table({"no guess", "fails"}, DOUBTFUL, errors()) == []
    assert table({"no guess", "fails"}, DOUBTFUL, both()) == []


def test_a_strange_line_is_never_clean() -> None:
    cases = [(tool, line) for tool, lines in STRANGE.items() for line in lines]
    assert table({"no guess", "fails"}, cases, errors()) == []


def test_doubt_about_one_line_is_not_drowned_by_good_ones() -> None:
    good = [line for tool, *lines in CLEAN if tool == "openroad" for line in lines]
    for _, *lines in (case for case in DOUBTFUL if case[0] == "openroad"):
        assert word(errors(), log("openroad", *good, *lines, *good)) == "no guess", lines


def test_clean_logs_stay_clean() -> None:
    assert table({"clean"}, [*CLEAN, *MORE_CLEAN], errors()) == []


def test_an_error_in_a_clean_log_is_seen_whatever_stands_around() -> None:
    for tool, *lines in CLEAN:
        text = log(tool, lines[0], "ERROR: it is wrong", *lines[1:])
        assert word(errors(), text) != "clean", (tool, lines)
        text = log(tool, *(f"{line} and it crashed" for line in lines))
        assert word(errors(), text) != "clean" or "WARN" in lines[0].upper(), (tool, lines)


@pytest.mark.parametrize(
    "tool", ["yosys", "innovus", "tempus", "genus", "vivado", "dc", "primetime"]
)
def test_a_tool_that_says_when_it_ends_must_have_said_so(tool: str) -> None:
    assert word(errors(), log(tool, "all is well")) == "clean"
    assert word(errors(), log(tool, "all is well", cut=True)) == "no guess"
    assert word(errors(), log(tool, "ERROR: it is wrong", cut=True)) == "fails"
    # Accepting the one message would otherwise accept what was cut off.
    assert word(errors(), log(tool, "ERROR: it is wrong", "and so on", cut=True)) == "no guess"
    assert word(errors(), log(tool) + log(tool, "all is well", cut=True)) == "no guess"


def test_who_asks_whether_it_finished_needs_to_see_that() -> None:
    for tool in ("openroad", "opensta"):
        assert word(errors(), log(tool, "all is well")) == "clean"
        assert word(finished(), log(tool, "all is well")) == "no guess"
        assert word(finished(), log(tool, "all is well", "exit")) == "clean"
        assert (
            word(
                finished(),
                log(tool, "Elapsed time: 0:02.14[h:]min:sec. CPU time: user 2.34 sys 0.32"),
            )
            == "clean"
        )
        assert word(finished(), log(tool, "exit", "and yet more")) == "no guess"
    assert word(finished(), log("yosys", "all is well")) == "clean"
    assert word(finished(), log("yosys", "ERROR: no", cut=True)) == "fails"


def test_a_count_of_more_than_was_seen_is_no_guess() -> None:
    one = "**ERROR: (IMPLF-40): x"
    summary = "*** Message Summary: 0 warning(s), {} error(s)"
    assert word(errors(), log("innovus", one, summary.format(1))) == "fails"
    assert word(errors(), log("innovus", one, summary.format(2))) == "no guess"
    # One for each command, and one for the whole session.
    assert (
        word(
            errors(),
            log("innovus", one, summary.format(1), one, summary.format(1), summary.format(2)),
        )
        == "fails"
    )
    assert (
        word(errors(), log("innovus", one, one, summary.format(2), one, summary.format(2)))
        == "no guess"
    )
    row = "ERROR     IMPLF-40             {}  x"
    assert word(errors(), log("innovus", one, "**ERROR: (IMPLF-41): y", row.format(1))) == "fails"
    assert (
        word(errors(), log("innovus", one, "**ERROR: (IMPLF-41): y", row.format(2))) == "no guess"
    )
    limit = "Message <IMPLF-40> has exceeded the message display limit of 1"
    assert word(errors(), log("innovus", one, limit)) == "no guess"
    assert word(errors(), log("innovus", one, limit.replace("40", "41"))) == "fails"
    limit = "INFO: [Common 17-14] Message 'Synth 8-439' appears 100 times and will be disabled."
    assert (
        word(errors(), log("vivado", "ERROR: [Synth 8-439] module 'a' not found", limit))
        == "no guess"
    )


def test_a_table_of_messages_is_compared_with_the_messages() -> None:
    head = "| Id     |  Sev   |Count | Message Text |"
    row = "| CDFG-1 |Error   |    {} | Bad mismatch. |"
    error = "Error   : Bad mismatch. [CDFG-1] [elaborate]"
    assert word(errors(), log("genus", head, row.format(2))) == "no guess"
    assert word(errors(), log("genus", error, head, row.format(1))) == "fails"
    assert word(errors(), log("genus", error, head, row.format(2))) == "no guess"
    assert (
        word(errors(), log("genus", head, "| CDFG-1 |Grave   |    1 | It failed. |")) == "no guess"
    )
    assert (
        word(errors(), log("genus", head, "-----", "", "| CDFG-1 |Info   |    1 | It failed. |"))
        == "no guess"
    )


def test_evidence_is_the_line_as_it_stands() -> None:
    line = "\x1b[31mERROR: it is wrong\x1b[0m"
    made = [
        entry
        for entry in errors()(log("yosys", line), "run.log")
        if "error" in entry["parsed_fields"]
    ]
    assert [(entry["line_number"], entry["matched_content"]) for entry in made] == [(2, line)]
    assert made[0]["value"] == "ERROR: it is wrong"


def test_a_file_of_lone_carriage_returns_is_no_guess() -> None:
    assert word(errors(), log("yosys", "ERROR: bad thing").replace("\n", "\r")) == "no guess"


@functools.cache
def latches() -> Extract:
    return atom_of("inferred_latches")


def synthesis(tool: str, *lines: str, cut: bool = False) -> str:
    step, end = SYNTHESIS[tool]
    return "\n".join([FRAMES[tool][0], step, *lines, *([end] if end and not cut else []), ""])


def test_a_latch_cell_is_a_latch_whatever_the_messages_say() -> None:
    found = [(word(latches(), synthesis(*case), "latch"), *case) for case in LATCHES]
    assert [case for case in found if case[0] == "clean"] == []


def test_logs_without_latches() -> None:
    found = [(word(latches(), synthesis(*case), "latch"), *case) for case in NO_LATCHES]
    assert [case for case in found if case[0] != "clean"] == []


@pytest.mark.parametrize("tool", ["yosys", "vivado", "dc"])
def test_a_synthesis_log_that_was_cut_is_no_guess(tool: str) -> None:
    assert word(latches(), synthesis(tool), "latch") == "clean"
    assert word(latches(), synthesis(tool, cut=True), "latch") == "no guess"
    assert word(latches(), synthesis(tool) + synthesis(tool, cut=True), "latch") == "no guess"


def test_colours_hide_no_latch() -> None:
    line = "\x1b[31mLatch inferred for signal `\\a.q' from process `x': y\x1b[0m"
    assert word(latches(), synthesis("yosys", line), "latch") == "fails"
    line = "progress\rLatch inferred for signal `\\a.q' from process `x': y"
    assert word(latches(), synthesis("yosys", line), "latch") == "no guess"
