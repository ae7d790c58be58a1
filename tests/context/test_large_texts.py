"""Texts of some MB: gone through once, in a thread, and what lies beyond a bound is looked up to
the letter.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from typing import Any

import pytest

from transom.context import TokenCorrection, summary
from transom.context.in_thread import LARGE, in_thread_if_large
from transom.context.summary import STRUCK, extract, summarised, without_unsupported
from transom.evidence import facts
from transom.evidence.facts import FactSource, count_facts, facts_of

PLAIN = TokenCorrection()
ROWS = "".join(f"u_core/reg_{number}: slack -0.{number:05d} ns\n" for number in range(4_000))


@pytest.fixture
def gone_through(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts in which facts were looked for."""
    found: list[str] = []
    look = facts._numbers_of

    def numbers_of(text: str, take: Any) -> Any:
        found.append(text)
        return look(text, take)

    monkeypatch.setattr(facts, "_numbers_of", numbers_of)
    return found


def test_a_source_is_gone_through_once_for_numbers_ids_and_the_list_under_a_summary(
    gone_through: list[str],
) -> None:
    said = "u_core/reg_17 has -0.00017, made_up_1 has -0.7777, which is 17 %."
    made = summarised(said, ROWS, 4_000, PLAIN, also="lot_5 was looked up.")
    assert made.struck == ("made_up_1", "-0.7777", "17 %")
    assert "Also named in the source: u_core/reg_0, u_core/reg_1" in made.text
    assert gone_through.count(ROWS) == 1
    assert sum(map(len, gone_through)) < len(ROWS) + 5_000


def test_lines_are_weighed_without_more_than_two_facts_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [
        count_facts(text, 2)
        for text in ("", "words", "a 1 b", "reg_1", "reg_1 is 7", "1 2 3", "a_1 b_2 c_3")
    ] == [
        *(0, 0, 1, 1, 2),
        *(2, 2),
    ]
    read: list[str] = []
    number = facts._number

    def watched(match: re.Match[str], whole: str) -> Any:
        read.append(match[0])
        return number(match, whole)

    monkeypatch.setattr(facts, "_number", watched)
    extract("7 " * 900 + "\n" + "8 " * 900, 5_000, PLAIN)  # room for whole lines
    assert read == ["7", "7", "8", "8"]


def test_empty_lines_take_no_time_that_grows_with_their_square() -> None:
    began = time.process_time()
    assert [fact.text for fact in facts_of("\n" * 60_000 + "reg_1 has 7\n \n 2) and 8")] == [
        "reg_1",
        "7",
        "8",
    ]
    assert time.process_time() - began < 5, "it was half a minute"


@pytest.fixture
def read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "MOST_READ", 100)
    monkeypatch.setattr(summary, "MOST_READ", 100)


@pytest.mark.usefixtures("read_in_part")
def test_what_lies_beyond_the_bound_is_looked_up_to_the_letter() -> None:
    head = "slack -0.125 in reg_1\n" + "x" * 70 + "\n"
    tail = (
        "cut here: a -0.25 b, c - 7.5, d 0.375. e 3.5% f 99.25 % in LOT_77, $12.5 lane_4x 77.5,8"
        " +4.5 (6.5)\n"
    )
    beyond = {"-0.25": True, "0.375": True, "3.5%": True, "LOT_77": True, "6.5": True}
    beyond |= dict.fromkeys(
        ("0.25", "7.5", "0.38", "3.5", "99.25", "12.5", "lane_4", "77.5", "4.5", "5"), False
    )
    source = FactSource(head + tail)
    assert {text: source.has(next(facts_of(text))) for text in beyond} == beyond
    assert source.has(next(facts_of("-0.13"))) and source.has(next(facts_of("-12.5 %"))), (
        "before it as ever"
    )
    assert (
        without_unsupported("LOT_77 has -0.25, LOT_78 0.25", head + tail)[0]
        == f"LOT_77 has -0.25, {STRUCK} {STRUCK}"
    )


@pytest.mark.usefixtures("read_in_part")
def test_lines_by_rule_are_chosen_of_what_is_read_and_all_are_counted() -> None:
    told = extract("ok\n" * 50 + "ERROR\n" * 50, 200, PLAIN).text
    assert told.startswith("[no summary; lines chosen by rule of 101]") and "ERROR" not in told


async def test_a_short_text_is_gone_through_at_once_and_a_large_one_in_a_thread_of_which_there_is_one() -> (
    None
):
    """The loop goes on meanwhile: it lets each of them go on."""
    assert await in_thread_if_large(LARGE, threading.get_ident) == threading.get_ident()
    at_once, most = [0], [0]
    go = threading.Event()

    def work() -> bool:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        went = go.wait(60)
        at_once[0] -= 1
        return went and threading.current_thread() is not threading.main_thread()

    waiting = [asyncio.ensure_future(in_thread_if_large(LARGE + 1, work)) for _ in range(3)]
    while not most[0]:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    go.set()
    assert await asyncio.gather(*waiting) == [True] * 3
    assert most == [1]
