"""The tests that Dev names for a criterion, in the ways in which people name tests."""

from __future__ import annotations

import pytest

from transom.formats.junit import read_junit
from transom.stories.criteria import claimed_tests
from transom.stories.decisions import read_reply
from transom.stories.story import Story
from transom.stories.testrun import TestRun

RAN = (
    "test.reminders > costs 150 cents",
    "test.reminders > late fees > grow each week",
    "test.a lent book is rejected",
    "tests.test_till.TestTill.test_sum",
    "tests.test_till.test_empty",
    "quay.TestParse",
    "quay.TestParse/a_line",
    "quay.TestParse/no_height",
)
REPLY = "SUMMARY: built.\n\nTESTS:\n- AC 1: {}\n"


def claimed(names: str) -> tuple[list[str], list[str]]:
    story = Story(id="1", title="A story", text="", criteria=("It works",))
    run = TestRun(code=0, cases=dict.fromkeys(RAN, "passed"))
    tests, problems = claimed_tests(read_reply(REPLY.format(names)).tests, story, run)
    return list(tests.get(1, ())), problems


@pytest.mark.parametrize(
    ("names", "tests"),
    [
        ("a lent book is rejected", ["test.a lent book is rejected"]),
        ("`a lent book is rejected`", ["test.a lent book is rejected"]),
        ("a lent book is rejected, test_empty", [RAN[2], RAN[4]]),
        ("test_empty, test_sum", [RAN[4], RAN[3]]),
        ("late fees > grow each week", [RAN[1]]),
        ("grow each week", [RAN[1]]),
        ("books > a lent book is rejected", [RAN[2]]),
        ("test_empty > test_sum", [RAN[3]]),
        ("books a lent book is rejected", [RAN[2]]),
        # A group stands for its tests.
        ("reminders", [RAN[0], RAN[1]]),
        ("late fees", [RAN[1]]),
        ("TestTill", [RAN[3]]),
        ("tests/test_till.py::TestTill", [RAN[3]]),
        ("TestParse", [RAN[5]]),
    ],
)
def test_a_claim_is_read(names: str, tests: list[str]) -> None:
    assert claimed(names) == (tests, [])


@pytest.mark.parametrize(
    ("names", "unknown"),
    [
        ("no such test", "no such test"),
        ("test_empty no such test", "no such test"),
        # A whole file says nothing of what covers a criterion.
        ("test_till", "test_till"),
        ("tests.test_till", "tests.test_till"),
    ],
)
def test_a_claim_that_names_no_test_is_a_finding(names: str, unknown: str) -> None:
    _, problems = claimed(names)
    assert problems == [f"{unknown} is claimed to cover criterion 1, but did not run"]


def test_tests_of_node_carry_the_names_of_their_groups() -> None:
    report = """<testsuites>
        <testcase name="alone" classname="test"/>
        <testsuite name="reminders">
            <testcase name="works" classname="test"/>
            <testsuite name="late fees"><testcase name="works" classname="test"/></testsuite>
        </testsuite>
        <testsuite name="pytest"><testcase name="test_x" classname="tests.test_a"/></testsuite>
    </testsuites>"""
    assert sorted(case.name for case in read_junit(report).cases) == [
        "test.alone",
        "test.reminders > late fees > works",
        "test.reminders > works",
        "tests.test_a.test_x",
    ]
