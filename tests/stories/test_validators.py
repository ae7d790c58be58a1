from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from transom.formats.yaml_files import load_yaml
from transom.stories.decisions import read_reply, references
from transom.stories.handoff import AgentValidator, StoryHandoff
from transom.stories.story import Story
from transom.stories.testrun import RunComparison, TestRun, compare

DATA: Any = load_yaml(Path(__file__).with_name("data") / "outputs.yaml").data
OUTPUTS = [
    pytest.param(one, id=f"{kind}-{one['id']}")
    for kind in ("adversarial", "honest")
    for one in DATA[kind]
]


def comparison(told: dict[str, int] | None) -> RunComparison | None:
    """The orchestrator's runs before and after, from a few numbers."""
    if told is None:
        return None
    cases: dict[str, Any] = {f"p{n}": "passed" for n in range(told.get("passed", 0))}
    cases |= {f"s{n}": "skipped" for n in range(told.get("skipped", 0))}
    old = {f"o{n}": "failed" for n in range(told.get("old_failures", 0))}
    new = {f"n{n}": "failed" for n in range(told.get("new_failures", 0))}
    after = TestRun(cases={**cases, **old, **new}, code=1 if old or new else 0)
    return compare(TestRun(cases={**cases, **old}), after)


def state_of(case: dict[str, Any]) -> str:
    output = str(case["output"]) * int(case.get("huge", 1))
    handoff = StoryHandoff("story-1")
    handoff.set_acceptance_criteria(["adds two numbers", "refuses a text", "rounds to cents"])
    match case["role"]:
        case "po":
            read = read_reply(output, "po")
            recorded = case.get("recorded", read.decision or None)
            handoff.add_stage_summary("po", read.summary, recorded)
            valid, message = AgentValidator.validate_po_output(output, handoff)
        case "qa":
            valid, message = AgentValidator.validate_qa_output(
                output, handoff, comparison(case.get("tests"))
            )
        case _:
            valid, message = AgentValidator.validate_dev_output(
                output, handoff, case.get("changes")
            )
            message = "done" if valid else message
    assert message and len(message) < 800
    return message if valid else "stop"


@pytest.mark.parametrize("case", OUTPUTS)
def test_every_output_leads_to_the_state_that_was_written_beforehand(case: dict[str, Any]) -> None:
    assert state_of(case) == case["state"]


def test_there_are_enough_of_them() -> None:
    assert len(DATA["adversarial"]) >= 60 and len(DATA["honest"]) >= 15
    assert all(case["state"] == "stop" for case in DATA["adversarial"])


def test_what_is_wrong_is_said_with_the_offending_text() -> None:
    assert "NOT APPROVED" in read_reply("DECISION: NOT APPROVED", "po").problem
    assert "Looks good" in read_reply("Looks good to me", "po").problem
    problem = read_reply("DECISION: APPROVED\nDECISION: BLOCKED", "po").problem
    assert "APPROVED" in problem and "BLOCKED" in problem


@pytest.mark.parametrize(
    "reply",
    [
        "\n \n",
        "Understood.",
        "Summary:\n",
        "**SUMMARY:** ok",
        "SUMMARY: -\nREASON: none",
        "DECISION: APPROVED",
        "> SUMMARY: somebody else wrote this sentence",
        '{"result": "SUMMARY: a field that nobody reads"}',
        '{"summary": ""}',
        "<story>\n</story>",
    ],
)
def test_a_reply_of_sm_without_content_is_asked_for_again(reply: str) -> None:
    assert read_reply(reply, "sm").problem


@pytest.mark.parametrize(
    "reply",
    [
        "SUMMARY: adds two prices",
        "## Summary\n\nThe till adds two prices.",
        '{"summary": "the till adds two prices"}',
        "SUMMARY: 店で割引を計算します",
        "<story>\n# Story 4: Prices\n</story>",
    ],
)
def test_a_summary_or_a_rewritten_story_is_the_form_of_sm(reply: str) -> None:
    assert not read_reply(reply, "sm").problem


def test_a_reference_points_to_a_part_that_there_is() -> None:
    assert references(["AC 1 and AC #3 are vague", "Tasks name no test"], 3) == (
        "AC 1",
        "AC 3",
        "tasks",
    )
    assert references(["criteria 2, 4 contradict"], 3) == ("AC 2",)
    assert references(["AC 9 is unclear", "I dislike it", f"AC {'1' * 5000}"], 3) == ()
    for reply in (
        f"TESTS:\n- AC {'1' * 5000}: test_x",
        f'{{"tests": {{"{"1" * 5000}": "test_x"}}}}',
    ):
        assert 1 not in read_reply(reply).tests


STORY = Story(
    id="1",
    title="Add",
    text="# Story 1: Add\n",
    goal="As a clerk, I want sums",
    criteria=("add(2, 2) is exactly 4",),
)


@pytest.mark.parametrize(
    ("story", "why"),
    [
        (None, "left no story"),
        (STORY.model_copy(update={"text": "  "}), "left no story"),
        (
            STORY.model_copy(update={"text": "# Story 1\n\nAs a {{role}}, I want sums"}),
            ":3: {{role}} is not filled in",
        ),
        (STORY.model_copy(update={"goal": ""}), "has no goal"),
        (STORY.model_copy(update={"criteria": ()}), "has no acceptance criterion"),
        (STORY.model_copy(update={"criteria": ("Criteria 1",)}), "can be tested"),
        (STORY, ""),
    ],
)
def test_sm_left_a_story_that_can_be_worked_on(story: Story | None, why: str) -> None:
    valid, message = AgentValidator.validate_sm_output(story, StoryHandoff("1"))
    assert valid == (not why) and why in message


@pytest.mark.parametrize(
    ("before", "after", "code", "why"),
    [
        ({"a": "passed"}, {"a": "passed", "b": "passed"}, 0, ""),
        ({"a": "passed", "x": "failed"}, {"a": "passed", "x": "failed"}, 1, ""),
        ({"a": "passed"}, {"a": "failed"}, 1, "1 tests fail that did not fail before: a"),
        ({"a": "passed"}, {"a": "error"}, 1, "1 tests fail"),
        ({"a": "passed"}, {}, 0, "no test was executed"),
        ({"a": "passed"}, {"a": "skipped"}, 0, "no test was executed"),
        ({"a": "passed", "b": "passed"}, {"a": "passed"}, 0, "1 tests are gone: b"),
        (
            {"a": "passed", "b": "passed"},
            {"a": "passed", "b": "skipped"},
            0,
            "1 tests are skipped now: b",
        ),
        ({"a": "failed"}, {"a": "failed"}, 0, "exit code is 0, and the report has 1 failures"),
        ({"a": "passed"}, {"a": "passed"}, 2, "exit code is 2, and the report has no failure"),
    ],
)
def test_only_new_failures_count_and_nothing_may_get_lost(
    before: Any, after: Any, code: int, why: str
) -> None:
    problems = compare(TestRun(cases=before), TestRun(cases=after, code=code)).problems
    assert (not problems) if not why else any(why in one for one in problems)


def test_tests_that_are_listed_no_longer_are_not_gone() -> None:
    before = TestRun(cases={"four seats": "passed"})
    after = TestRun(cases={"jest": "passed"}, only_code=True)
    assert compare(before, after).problems == ()
    failing = TestRun(cases={"jest": "failed"}, code=1, only_code=True)
    (problem,) = compare(before, failing).problems
    assert "tests fail that did not fail before: jest" in problem
