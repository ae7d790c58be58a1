"""Trouble: each form of bad news is noticed, and zero counts, denials and names are not."""

from __future__ import annotations

import errno
import os
import re
import signal
import time
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.tables import assert_forms, load_rows
from transom.evidence.nothing_seen import shipped_nothing_finder
from transom.evidence.regex_growth import growth_of
from transom.evidence.trouble import Trouble, TroubleFinder
from transom.evidence.vocabulary import TextField, shipped_vocabulary

NOTICED = load_rows("trouble", "noticed")
QUIET = load_rows("trouble", "quiet")
Find = Callable[[dict[str, Any]], tuple[Trouble, ...]]


def find(row: dict[str, Any]) -> tuple[Trouble, ...]:
    finder = TroubleFinder(row.get("field", "all"), with_system=False)
    if "line" in row:
        return finder.in_line(row["line"])
    if "status" in row:
        return finder.in_status(row["status"])
    return finder.in_entry(row["key"], row["value"])


def holds(row: dict[str, Any], finder: Find) -> bool:
    words = [trouble.word.lower() for trouble in finder(row)]
    if "word" not in row:
        return not words
    return any(row["word"].lower() in word for word in words)


def notice_nothing(row: dict[str, Any]) -> tuple[Trouble, ...]:
    """A stand-in for which everything is good."""
    return ()


def notice_everything(row: dict[str, Any]) -> tuple[Trouble, ...]:
    """A stand-in that trusts nothing."""
    return (Trouble("trouble", "unknown", "text"),)


@pytest.mark.parametrize("row", NOTICED, ids=lambda row: row["id"])
def test_bad_news_is_noticed_by_its_word(row: dict[str, Any]) -> None:
    assert holds(row, find), find(row)


@pytest.mark.parametrize("row", QUIET, ids=lambda row: row["id"])
def test_what_is_denied_or_a_name_is_no_trouble(row: dict[str, Any]) -> None:
    assert holds(row, find), find(row)


@pytest.mark.parametrize("field", get_args(TextField))
def test_what_is_no_trouble_in_general_is_none_in_a_field(field: TextField) -> None:
    general = [row for row in QUIET if "field" not in row]
    assert [row["id"] for row in general if find({**row, "field": field})] == []


def test_a_message_that_begins_with_no_is_trouble_unless_it_denies_trouble() -> None:
    finder = TroubleFinder("eda")
    for line in ("No timing paths", "[WARN] no library was read", "No such net in the design"):
        assert finder.in_line(line), line
    for line in ("No errors found.", "[INFO] no violations", "no open issues"):
        assert finder.in_line(line) == (), line
    (trouble,) = finder.in_line("No errors found, but 3 nets are unrouted")
    assert trouble.word == "unrouted"


def test_the_tables_have_forms_and_tell_finders_apart() -> None:
    assert_forms(NOTICED)
    assert_forms(QUIET)
    assert [row["id"] for row in NOTICED if holds(row, notice_nothing)] == []
    assert [row["id"] for row in QUIET if holds(row, notice_everything)] == []


def test_every_message_of_the_operating_system_is_noticed_alone_and_within_a_line() -> None:
    finder = TroubleFinder("eda")
    messages = {os.strerror(number) for number in errno.errorcode}
    messages |= {signal.strsignal(number) or "" for number in signal.valid_signals()}
    assert [message for message in messages - {""} if not finder.in_line(message)] == []
    # A message of one word, such as "Quit", is an ordinary word within a line.
    phrases = [message for message in messages if " " in message and not re.search(r"\d", message)]
    lines = [f"reading top.v: {phrase}" for phrase in phrases]
    assert [line for line in lines if not finder.in_line(line)] == []


def test_the_vocabulary_alone_notices_most_messages_that_nobody_chose() -> None:
    finder = TroubleFinder("eda", with_system=False)
    messages = {os.strerror(number) for number in errno.errorcode}
    messages |= {signal.strsignal(number) or "" for number in signal.valid_signals()}
    noticed = [message for message in messages - {""} if finder.in_line(message)]
    assert len(noticed) / len(messages - {""}) >= 0.8


def test_a_phrase_that_the_caller_explains_is_taken_out_and_the_rest_is_read() -> None:
    explained = [re.compile(r"^Error summary of run \d+")]
    finder = TroubleFinder("eda", explained)
    assert finder.in_line("Error summary of run 3") == ()
    assert [trouble.word for trouble in finder.in_line("Error summary of run 3: aborted")] == [
        "aborted"
    ]


def test_lines_that_differ_in_their_numbers_are_still_told_apart() -> None:
    finder = TroubleFinder("eda")
    assert finder.in_line("0 violations in layer 3") == ()
    assert finder.in_line("7 violations in layer 3") != ()
    assert finder.in_line("0 violations in layer 4") == ()


@given(st.text(max_size=60))
def test_no_text_breaks_the_finder(text: str) -> None:
    finder = TroubleFinder("eda")
    finder.in_line(text)
    finder.in_status(text)
    finder.in_entry(text, text)


@given(
    st.integers(min_value=1, max_value=10**9),
    st.sampled_from(["errors", "failed tests", "violations"]),
)
def test_no_count_above_zero_is_explained(count: int, noun: str) -> None:
    finder = TroubleFinder("eda")
    assert finder.in_line(f"{count} {noun}")
    assert finder.in_line(f"found {count:,} {noun} in top")
    assert finder.in_line(f"{noun}: {count}")
    assert finder.in_line(f"no warnings, {count} {noun}")


def test_quiet_lines_cost_little() -> None:
    finder = TroubleFinder("eda")
    lines = [
        f"  {number / 7:.2f}   {number * 3}.1 ^ u{number % 40}/Z (BUFX4)"
        for number in range(20_000)
    ]
    started = time.process_time()
    assert not any(finder.in_line(line) for line in lines)
    # A search for each line, instead of one for each shape, takes several times as long.
    assert time.process_time() - started < 2


def test_each_word_of_the_vocabulary_is_found_where_it_means_trouble() -> None:
    vocabulary = shipped_vocabulary()
    missing = []
    for entry in vocabulary.entries:
        finder = TroubleFinder(entry.fields[0], with_system=False)
        for words in entry.words.values():
            for word in words:
                text = word.replace("*", "t")
                if not text_is_noticed(finder, text, entry.places):
                    missing.append((entry.state, word))
    assert missing == []


def text_is_noticed(finder: TroubleFinder, text: str, places: tuple[str, ...]) -> bool:
    if "text" in places:
        return bool(finder.in_line(f"a line with {text}"))
    if "prefix" in places:
        return bool(finder.in_line(f"{text} came first"))
    return bool(finder.in_status(text)) if "status" in places else bool(finder.in_key(text))


def test_layouts_of_counts_take_linear_time() -> None:
    for pattern in shipped_nothing_finder().patterns:
        assert growth_of(pattern) is None, pattern.pattern
