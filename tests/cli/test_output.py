"""Answers on stdout, and the exit code of several."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.cli.output import Live, coloured, gravest, print_text, say, style, table
from transom.llm import Text


@given(st.lists(st.sampled_from([0, 1, 2, 3])))
def test_the_gravest_code_counts(codes: list[int]) -> None:
    expected = next((code for code in (2, 3, 1) if code in codes), 0)
    assert gravest(codes) == expected


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert style("PASS", "green") == "PASS"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert coloured()
    assert style("PASS", "green") == "\x1b[32mPASS\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert style("PASS", "green") == "PASS"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert style("PASS", "green") == "PASS"


def test_columns_are_aligned_without_trailing_blanks() -> None:
    assert table([("a", "bb", "c"), ("aaa", "b", "")], indent=" ") == [" a    bb  c", " aaa  b"]


NASTY = "a\nb\x1b[2Jc\x9b31md\u202ee\rf\ttab"
SHOWN = r"a\nb\x1b[2Jc\x9b31md\u202ee\rf" + "\ttab"


def test_a_name_does_not_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in a table nor in a line or a message; our own colours stay where they are wanted."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stdout", stream)
        header, row = table([("NAME", "STATUS"), (NASTY, "done")])
        assert row == f"{SHOWN}  done"
        print_text(header, row, style(f"run {NASTY}", "bold"), f"name {NASTY}")
        heading = f"\x1b[1mrun {SHOWN}\x1b[0m" if stream.isatty() else f"run {SHOWN}"
        assert stream.getvalue().split("\n") == [header, row, heading, f"name {SHOWN}", ""]
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    say(f"transom: {NASTY}")
    assert errors.getvalue() == "transom: a\n" + SHOWN.removeprefix(r"a\n") + "\n"
    Live()(Text("\x1b]0;title\x07done\n"))
    assert errors.getvalue().endswith(r"\x1b]0;title\x07done" + "\n")


def test_a_closed_stderr_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    say("nobody hears this")
