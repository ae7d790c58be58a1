"""Questions about all features: what depends on a thing, and which features failed something."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.documents.door import Answer, Door
from tests.investigator.folders import (
    COVER,
    ISSUE,
    SCAN,
    UAT,
    UNIT,
    document,
    issue,
    ready,
    text_of,
    uat,
)
from tests.investigator.reports import coverage_py, junit, trivy

ARCHITECTURE = "planning/ARCHITECTURE.md"
AS_OF = ("--data", "data", "--as-of", "2026-09-20", "-q")
NAMES = {"berth": "Berth planning", "dredge": "Dredging diary", "buoy": "Buoy census"}


@pytest.fixture
def door(tmp_path: Path) -> Door:
    return Door(tmp_path)


def feature(door: Door, folder: str, changes: Mapping[str, Any]) -> None:
    """Write the folder of a ready feature under another name, with some files changed."""
    name = NAMES[folder]
    for path, content in (ready() | dict(changes)).items():
        if content is None:
            continue
        data = text_of(content).replace(b"LIB-4", folder[:3].upper().encode() + b"-4")
        data = data.replace(b"Loan renewal at the desk", name.encode())
        door.write(f"data/{folder}/{path}", data.replace(b"loan renewal", name.encode()))


def architecture(*lines: str) -> dict[str, str]:
    return {ARCHITECTURE: document("Architecture", *lines)}


def asked(door: Door, question: str, *more: str) -> Answer:
    return door("investigate", question, *AS_OF, *more)


DEPENDING = {
    "a sentence": "Berth planning depends on the gauge-feed for the water levels.",
    "in the middle of a paragraph": (
        "Ships are listed by length. The nightly plan relies on gauge-feed, and is printed at four."
    ),
    "a bullet": "## Dependencies\n\n- gauge-feed (v3): the levels\n- mailer",
    "a table with a head": (
        "## Dependencies\n\n| Component | Reason |\n|---|---|\n| gauge-feed | levels |"
    ),
    "the second column of a table": (
        "## Dependencies\n\n| # | Service | Owner |\n|--:|:--|---|\n| 1 | gauge-feed | Ola |"
    ),
    "a label": "**Depends on:** mailer, gauge-feed",
    "requires": "Without exception the plan requires gauge-feed to be up.",
    "passive": "The plan is based on gauge-feed; the rest is typed in by hand.",
    "built upon": "It is built upon gauge-feed.",
    "calls": "Each morning the planner calls `gauge-feed` twice.",
    "dependent": "This feature is dependent on gauge-feed.",
    "German": "Berth planning hängt von gauge-feed ab.",
    "another writing": "It depends on the Gauge Feed.",
    "an adverb": "Berth planning depends heavily on gauge-feed.",
    "stored": "Every plan is stored in gauge-feed.",
    "a noun": "Our only hard dependency is gauge-feed.",
    "French": "La planification dépend de gauge-feed.",
    "over two lines": "Berth planning depends\non gauge-feed since May.",
}


@pytest.mark.parametrize("form", DEPENDING)
def test_a_feature_that_depends_on_a_thing_is_named_with_its_place(door: Door, form: str) -> None:
    feature(door, "berth", architecture(DEPENDING[form]))
    feature(door, "buoy", {})
    answer = asked(door, "What depends on the gauge-feed?")
    assert answer.code == 0, answer
    lines = answer.out.splitlines()
    assert [line for line in lines if line.startswith("Berth planning") and " depends on " in line]
    assert f"berth/{ARCHITECTURE}#line:" in answer.out
    assert "Buoy census" in lines[-1]
    for head in ("Component", "Service", "Reason", "#:"):
        assert f"depends on {head}" not in answer.out


NOT_DEPENDING = {
    "denied": "Berth planning does not depend on gauge-feed.",
    "no longer": "Since May the plan no longer relies on gauge-feed.",
    "the other direction": "gauge-feed depends on Berth planning for its times.",
    "only named": "The gauge-feed was rewritten in March by another team.",
    "another thing": "Berth planning depends on gauge-archive.",
    "independent": "The plan is independent of gauge-feed.",
    "removed": "The dependency on gauge-feed was removed in May.",
    "planned": "We will depend on gauge-feed next year.",
    "no dependency": "Berth planning has no dependency on gauge-feed.",
    "neither": "Neither the plan nor the print depends on gauge-feed.",
    "German denial": "Berth planning hängt nicht von gauge-feed ab.",
}


@pytest.mark.parametrize("form", NOT_DEPENDING)
def test_a_feature_that_does_not_depend_on_a_thing_is_not_said_to(door: Door, form: str) -> None:
    feature(door, "berth", architecture(NOT_DEPENDING[form]))
    feature(door, "buoy", architecture("**Depends on:** gauge-feed"))
    answer = asked(door, "Which features depend on gauge-feed?")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert not [line for line in lines if line.startswith("Berth planning") and " depends" in line]
    assert any(line.startswith("Buoy census") for line in lines)
    # A sentence that names it is shown, so that a person may read it.
    assert form == "another thing" or f"berth/{ARCHITECTURE}#line:" in answer.out


def test_a_sentence_about_another_feature_counts_for_that_one(door: Door) -> None:
    feature(door, "berth", architecture("Dredging diary depends on gauge-feed, we do not."))
    feature(door, "dredge", {})
    out = asked(door, "What other features rely on gauge-feed?").out
    assert any(
        line.startswith("Dredging diary") and " depends on " in line for line in out.splitlines()
    )
    assert not any(
        line.startswith("Berth planning") and " depends on " in line for line in out.splitlines()
    )


QUESTIONS = [
    "What depends on gauge-feed?",
    "Which other features depend on the gauge feed?",
    "What would be affected if gauge-feed fails?",
    "Which features use gauge-feed?",
    "Who relies on gauge-feed?",
    "what breaks when gauge-feed is down",
    "Which features are affected by a change of gauge-feed?",
    "Was hängt von gauge-feed ab?",
    "Does anything depend on gauge-feed?",
    "If gauge-feed fails, what is affected?",
    "What is the impact of a change to gauge-feed?",
    "Which are the dependents of gauge-feed?",
    "How many features depend on gauge-feed?",
    "Which features need gauge-feed?",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_is_asked_in_many_ways_first_and_as_a_follow_up(door: Door, question: str) -> None:
    feature(door, "berth", architecture(DEPENDING["a sentence"]))
    feature(door, "buoy", {})
    first = asked(door, question)
    assert first.code == 0, first
    run_id = door.json("investigate", "Is buoy census ready for production?", *AS_OF[:-1])["run_id"]
    later = asked(door, question, "--follow-up", run_id)
    assert later.code == 0, later
    for answer in (first, later):
        assert "Berth planning depends on" in answer.out
        assert "#line:" in answer.out


def test_the_same_question_has_an_answer_of_today(door: Door) -> None:
    feature(door, "berth", architecture(DEPENDING["a sentence"]))
    feature(door, "buoy", {})
    run_id = door.json("investigate", "Is buoy census ready for production?", *AS_OF[:-1])["run_id"]
    question = ("What depends on gauge-feed?", "--follow-up", run_id)
    assert "Dredging" not in asked(door, *question).out
    feature(door, "dredge", architecture("The diary relies on gauge-feed."))
    assert "Dredging diary depends" in asked(door, *question).out
    feature(door, "berth", {})
    out = asked(door, *question).out
    assert not [line for line in out.splitlines() if line.startswith("Berth planning")]


def test_another_question_of_a_follow_up_is_not_taken_for_one_on_dependants(door: Door) -> None:
    feature(door, "buoy", architecture("**Depends on:** gauge-feed") | {UNIT: junit(9, 1, 0)})
    run_id = door.json("investigate", "Is buoy census ready for production?", *AS_OF[:-1])["run_id"]
    out = asked(door, "Why is buoy census not ready?", "--follow-up", run_id).out
    assert "failed tests 1" in out
    out = asked(door, "What does it depend on?", "--follow-up", run_id).out
    assert out.startswith("gauge-feed (buoy/")


def test_a_thing_that_no_document_names_is_said(door: Door) -> None:
    feature(door, "buoy", {})
    answer = asked(door, "What depends on the moon-phase?")
    assert answer.code == 0
    assert "No document names moon-phase" in answer.out


# Which features failed something


FAILED_UAT = uat(test_cases={"total": 20, "passed": 17, "failed": 3}, decision="rejected")


def three(door: Door) -> None:
    feature(door, "berth", {UAT: FAILED_UAT})
    feature(door, "dredge", {UAT: FAILED_UAT, SCAN: trivy("critical")})
    feature(door, "buoy", {COVER: coverage_py(500, 1000)})


@pytest.mark.parametrize(
    "question",
    [
        "Which features failed UAT, and why?",
        "Retrieve all features that failed UAT",
        "What features did not pass user acceptance testing?",
        "List the features with a failed UAT.",
        "Which features have failed acceptance tests?",
    ],
)
def test_all_features_that_failed_are_named_with_the_reason(door: Door, question: str) -> None:
    three(door)
    run_id = door.json("investigate", "Is buoy census ready for production?", *AS_OF[:-1])["run_id"]
    for more in ((), ("--follow-up", run_id)):
        answer = asked(door, question, *more)
        assert answer.code == 0, answer
        named = [line for line in answer.out.splitlines() if line.startswith(("Berth", "Dredging"))]
        assert len(named) == 2, answer.out
        assert all("is not met" in line and "rejected" in line for line in named), answer.out
        assert not [line for line in answer.out.splitlines() if line.startswith("Buoy census")]
        assert "1 other" in answer.out


OTHERS = {
    "Which features have open critical vulnerabilities?": ["dredge"],
    "Which features miss the line coverage?": ["buoy"],
    "Which features are not ready for production?": ["berth", "buoy", "dredge"],
    "List all features that are not production ready, and tell me why": ["berth", "buoy", "dredge"],
    "What features failed?": ["berth", "buoy", "dredge"],
    "Which features have less than 80 % coverage?": ["buoy"],
    "Which features are not ready for UAT?": ["buoy", "dredge"],
    "Which features did fail the pipeline?": [],
}


@pytest.mark.parametrize("question", OTHERS)
def test_other_criteria_and_the_verdict_are_asked_in_the_same_way(
    door: Door, question: str
) -> None:
    three(door)
    answer = asked(door, question)
    assert answer.code == 0, answer
    named = {folder for folder, name in NAMES.items() if f"{name} (" in answer.out}
    assert sorted(named) == OTHERS[question], answer.out


def test_features_that_are_ready_are_named_on_a_question_for_them(door: Door) -> None:
    feature(door, "berth", {UAT: FAILED_UAT})
    feature(door, "buoy", {})
    out = asked(door, "Which features are ready for production?").out
    assert "Buoy census (" in out
    assert not [line for line in out.splitlines() if line.startswith("Berth planning")]


def test_what_is_not_known_is_no_pass_and_no_failure(door: Door) -> None:
    feature(door, "berth", {UAT: None})
    feature(door, "buoy", {})
    out = asked(door, "Which features failed UAT?").out
    (line,) = [line for line in out.splitlines() if line.startswith("Berth planning")]
    assert "is not known" in line


def test_the_document_is_one_of_json(door: Door) -> None:
    three(door)
    answer = asked(door, "Which features failed UAT?", "--format", "json")
    assert json.loads(answer.out)["answer"]


def test_a_sentence_on_two_features_counts_for_both(door: Door) -> None:
    feature(door, "berth", architecture("Berth planning and Dredging diary use gauge-feed."))
    feature(door, "dredge", {})
    lines = asked(door, "What depends on gauge-feed?").out.splitlines()
    assert [line.partition(" depends on ")[0] for line in lines[:2]] == [*NAMES.values()][:2]


def test_the_dependencies_of_another_feature_are_its_own(door: Door) -> None:
    feature(door, "berth", architecture("**Depends on:** gauge-feed"))
    feature(door, "buoy", architecture("**Depends on:** mailer"))
    run_id = door.json("investigate", "Is buoy census ready for production?", *AS_OF[:-1])["run_id"]
    for question in (
        "What does Berth planning depend on?",
        "List the dependencies of Berth planning",
    ):
        out = asked(door, question, "--follow-up", run_id).out
        assert out.startswith("Berth planning depends on gauge-feed (berth/")
        assert "mailer" not in out


@pytest.mark.parametrize(
    "question",
    [
        "Is Buoy census ready for production?",
        "Which tests of Buoy census failed?",
        "Which components does Buoy census have?",
        "Why did Buoy census fail UAT?",
        "Which features of Buoy census are slow?",
        "Is Buoy census, which depends on gauge-feed, ready for production?",
        "Is the feature Buoy census that uses gauge-feed ready?",
        "Is Buoy census ready, and what depends on gauge-feed?",
    ],
)
def test_a_question_on_one_feature_is_left_to_its_investigation(door: Door, question: str) -> None:
    three(door)
    document = asked(door, question, "--format", "json")
    assert json.loads(document.out)["feature_id"] == "BUO-41", document


# Which features are similar


def with_shared_parts(door: Door) -> None:
    """Write three features: two share a dependency, one by a list, the other by a sentence."""
    feature(door, "berth", architecture("**Depends on:** gauge-feed, mailer") | {UAT: FAILED_UAT})
    feature(door, "dredge", architecture("This feature relies on the mailer and on gauge-feed."))
    feature(door, "buoy", architecture("**Depends on:** lighthouse list") | {UNIT: junit(9, 1, 0)})


SIMILAR = [
    "What issues did we find in features similar to Dredging diary?",
    "Find features that are comparable with the dredging diary and had issues",
    "Which features are like Dredging diary?",
    "Welche Funktionen sind ähnlich wie Dredging diary?",
]


@pytest.mark.parametrize("question", SIMILAR)
def test_features_are_similar_that_depend_on_the_same(door: Door, question: str) -> None:
    with_shared_parts(door)
    answer = asked(door, question)
    assert answer.code == 0, answer
    head, first, common, rest = answer.out.splitlines()[:4]
    assert head == "Features that depend on the same as Dredging diary (gauge-feed, mailer):"
    assert first.startswith("Berth planning (BER-41): NOT_READY") and "acceptance" in first
    assert f"gauge-feed (berth/{ARCHITECTURE}#line:" in common
    assert rest == "Not so for 1 in the folder: Buoy census."


def test_a_follow_up_compares_with_its_own_feature(door: Door) -> None:
    with_shared_parts(door)
    usual = ("--data", "data", "--as-of", "2026-09-20")
    door.json("investigate", "Is berth planning ready for production?", *usual)
    run_id = door.json("investigate", "Is dredging diary ready for production?", *usual)["run_id"]
    for question in ("Did similar features have problems?", "Which features resemble this one?"):
        out = asked(door, question, "--follow-up", run_id).out
        assert "(gauge-feed, mailer):" in out
        assert "\nBerth planning (BER-41): NOT_READY" in out
        assert "investigated before: Berth planning was judged NOT_READY" in out


def test_features_outside_the_folder_are_recalled(door: Door) -> None:
    with_shared_parts(door)
    usual = ("--data", "data", "--as-of", "2026-09-20")
    door.json("investigate", "Is dredging diary ready for UAT?", *usual)
    door.json("investigate", "Is berth planning ready for production?", *usual)
    shutil.rmtree(door.here / "data/berth")
    feature(door, "buoy", architecture("**Depends on:** Gauge Feed, mailer"))
    out = asked(door, "Which features are similar to Dredging diary?").out
    assert "As investigated before, Berth planning was judged NOT_READY" in out
    assert "(depends on Gauge Feed, mailer, too)" in out


def test_a_topic_and_a_missing_name_are_said(door: Door) -> None:
    with_shared_parts(door)
    out = asked(door, "What problems did we see in similar lighthouse features?").out
    assert out.startswith("Features that name lighthouse:\nBuoy census (BUO-41): NOT_READY")
    assert f"in common: buoy/{ARCHITECTURE}#line:" in out
    out = asked(door, "What problems did we see in similar features?").out
    assert out.startswith("No feature is named that others could be similar to, so all are listed:")
    assert all(name in out for name in NAMES.values())
    out = asked(door, "Which issues had features similar to whale watching?").out
    assert "Features that name whale watching:\nNo such feature" in out


def test_the_same_issues_are_compared_where_they_are_asked_for(door: Door) -> None:
    with_shared_parts(door)
    feature(door, "dredge", {UAT: FAILED_UAT})
    out = asked(door, "Which features had issues like those of Berth planning?").out
    assert out.startswith("Features with criteria open that are open for Berth planning, too:")
    assert "\nDredging diary (DRE-41): NOT_READY" in out
    assert "in common: User acceptance testing passed" in out
    assert "Not so for 1 in the folder: Buoy census." in out
    out = asked(door, "Which features had coverage issues like Berth planning?").out
    assert out.startswith("Nothing that the question asks for is open for Berth planning:")


def test_a_second_question_is_answered_or_named(door: Door) -> None:
    with_shared_parts(door)
    question = "Is Dredging diary ready? Which features are similar? What depends on the mailer?"
    out = asked(door, question).out
    assert out.startswith("READY")
    assert "  Features that depend on the same as Dredging diary (gauge-feed, mailer):" in out
    assert "  Berth planning depends on mailer (" in out
    out = asked(door, "What depends on the mailer? Is it well tested?").out
    assert out.splitlines()[-1] == "Not answered, ask it by itself: Is it well tested?"


@pytest.mark.parametrize(
    "question",
    [
        "Is Buoy census as ready as similar features?",
        "Can Buoy census go live like other features?",
    ],
)
def test_a_verdict_that_is_compared_stays_a_verdict(door: Door, question: str) -> None:
    with_shared_parts(door)
    document = asked(door, question, "--format", "json")
    assert json.loads(document.out)["feature_id"] == "BUO-41", document


# What is affected


COMPONENTS = {
    "bullets": "## Components\n\n- **Tide clock**: the hours\n  - a detail\n- level store (v2)",
    "headings": "## Components\n\n### Tide clock\n\n- fast\n\n### level store\n\nKeeps the levels.",
    "a table": (
        "## Components\n\n| # | Component | Depends on |\n|--|--|--|\n| 1 | Tide clock | ntp |\n"
        "| 2 | level store | disk |"
    ),
}


@pytest.mark.parametrize("form", COMPONENTS)
def test_components_that_are_affected_are_named(door: Door, form: str) -> None:
    feature(door, "berth", architecture(COMPONENTS[form]))
    feature(door, "dredge", architecture("The diary needs Berth planning.", "## Components\n- pen"))
    feature(door, "buoy", {})
    out = asked(door, "Which components are affected by berth planning?").out
    first, second, third, *_ = out.splitlines()
    assert first.startswith(f"Components of Berth planning: Tide clock (berth/{ARCHITECTURE}#line:")
    assert first.count("#line:") == 2 and "; level store (" in first
    assert second.startswith("Dredging diary depends on berth planning (")
    assert third.startswith("Components of Dredging diary: pen (")
    out = asked(door, "Which components are affected by buoy census?").out
    assert out.startswith("No document and no issue lists the components of Buoy census.")


@pytest.mark.parametrize(
    "listed", [[{"id": "10", "name": "Tide clock"}, {"name": "level store"}], ["Tide clock"]]
)
def test_the_components_of_an_issue_are_named_with_its_key(door: Door, listed: object) -> None:
    feature(door, "berth", {ISSUE: issue(components=listed)})
    out = asked(door, "Which components are affected by berth planning?").out
    assert out.startswith("Components of Berth planning: Tide clock (BER-41)"), out
    out = asked(door, "Which components does berth planning have?").out
    assert "Tide clock (BER-41)" in out, out


def test_what_depends_indirectly_is_named_with_its_way(door: Door) -> None:
    feature(door, "berth", architecture("**Depends on:** gauge-feed"))
    feature(door, "dredge", architecture("The diary depends on Berth planning."))
    feature(door, "buoy", architecture("The census uses the dredging diary."))
    for question in ("What depends on gauge-feed?", "What breaks if gauge-feed is down?"):
        out = asked(door, question).out
        assert "Dredging diary depends on Berth planning (dredge/" in out
        assert "Buoy census depends on Dredging diary (buoy/" in out
        assert out.count("and so indirectly on gauge-feed.") == 2
        assert "No document names" not in out
    # A circle ends.
    feature(door, "berth", architecture("**Depends on:** gauge-feed, Buoy census"))
    assert asked(door, "What depends on gauge-feed?").out.count("indirectly") == 2


def test_what_a_feature_depends_on_is_read_from_sentences_too(door: Door) -> None:
    feature(door, "berth", architecture("This feature depends on Buoy census and on gauge-feed."))
    feature(door, "dredge", architecture("**Depends on:** gauge-feed"))
    feature(door, "buoy", architecture("It does not depend on gauge-feed."))
    out = asked(door, "What does Berth planning depend on?").out
    assert "Berth planning depends on Buoy census (berth/" in out
    assert "Berth planning depends on gauge-feed (berth/" in out
    out = asked(door, "What does Buoy census depend on?").out
    assert out == "No document of Buoy census says what it depends on.\n"
