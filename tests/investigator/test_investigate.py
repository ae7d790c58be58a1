"""Whole investigations in a run: with the rules, with models that tell the truth, that err and
that lie.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import EXAMPLES, change, copy_of
from tests.investigator.running import Place, judged, model, opinion
from transom.errors import InputError, Paused
from transom.investigator.dialogue import follow_up
from transom.investigator.inquiry import Inquiry
from transom.investigator.phases import investigate
from transom.investigator.rules import meant
from transom.investigator.sources import DataFolder
from transom.llm import AssistantMessage, Request, estimate_tokens, render
from transom.runs import Run

QUESTION = {
    "feature1": "Is Tool Maintenance Reminders ready for its next stage?",
    "feature2": "Can the kiosk go live?",
    "feature3": "Are group reservations fit for production?",
    "feature4": "May Volunteer Credits move on?",
    "feature5": "Is LEND-150 ready?",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for folder in QUESTION:
        copy_of(folder, tmp_path / "data")
    return Place(tmp_path, tmp_path / "data")


# The rules alone


@pytest.mark.parametrize(
    ("folder", "verdict"),
    [
        ("feature1", "READY"),
        ("feature2", "NOT_READY"),
        ("feature3", "NEEDS_JUDGEMENT"),
        ("feature4", "NOT_READY"),
    ],
)
async def test_the_rules_go_the_whole_way_and_cite_all_that_they_say(
    place: Place, folder: str, verdict: str
) -> None:
    result = await place.ask(QUESTION[folder])
    assert result.verdict == verdict
    assert [one for one in result.unsupported_claims if "waiver" not in one.why] == []
    ids = {row.id for row in result.evidence}
    for rows in (result.criteria, result.risks, result.contradictions):
        assert all(set(one.evidence) <= ids for one in rows)
    assert result.justification
    assert len(result.sub_conversations) == 14
    assert all(one.summary for one in result.sub_conversations)
    tokens = [(one.tokens_read, one.tokens_returned) for one in result.sub_conversations]
    assert set(tokens) == {(0, 0)}, "rules spend no tokens"
    assert any("unit_test" in line for line in place.progress)


async def test_the_main_thread_gets_a_fifth_of_what_a_models_readers_read(place: Place) -> None:
    result = await place.ask(QUESTION["feature1"], model({}, []))
    read = sum(source.tokens_read for source in result.sub_conversations)
    assert 0 < 5 * sum(source.tokens_returned for source in result.sub_conversations) < read


async def test_each_source_costs_one_call_and_its_reader_sees_it_whole(place: Place) -> None:
    log: list[Request] = []
    result = await place.ask(QUESTION["feature1"], model({}, log))
    readers = [request for request in log if request.role == "investigator.reader"]
    assert len(readers) == len(result.sub_conversations) == 14
    for request in readers:
        source = json.loads(request.window.text("source"))["source"]
        lines = (place.data / source).read_text().splitlines()
        shown = request.window.text("content").splitlines()
        # The lines of a document are numbered, so that they can be cited.
        is_document = source.endswith(".md")
        assert shown == [f"{n}\t{line}" if is_document else line for n, line in enumerate(lines, 1)]
        assert (request.tools, request.window.turns) == ((), ())
    assert len(log) <= 25
    main = [request for request in log if request.role == "investigator.main"]
    assert all(
        "summary" not in json.loads(row) for row in main[0].window.text("criteria").splitlines()
    )
    assert estimate_tokens(render(main[0]).as_text()) < 8_000


async def test_a_source_that_is_too_long_for_a_window_is_read_with_a_tool(place: Place) -> None:
    long_text = "# Notes\n\n" + "Each depot was asked, and each depot has answered.\n" * 900
    (place.data / "feature1/planning/MEETING_NOTES.md").write_text(long_text)
    log: list[Request] = []
    await place.ask(QUESTION["feature1"], model({}, log))
    calls = [
        call
        for request in log
        if request.role == "investigator.reader"
        for turn in request.window.turns
        if isinstance(turn, AssistantMessage)
        for call in turn.calls
    ]
    path = "feature1/planning/MEETING_NOTES.md"
    assert [(call.name, call.arguments) for call in calls] == [("read_doc", {"path": path})]


async def test_a_small_window_without_room_for_a_source_gets_the_tool(place: Place) -> None:
    minutes = "# Notes\n\n" + "Each depot was asked, and each depot has answered.\n" * 580
    (place.data / "feature1/planning/MEETING_NOTES.md").write_text(minutes)
    log: list[Request] = []
    small = model({}, log)
    small.caps = replace(small.caps, context_tokens=12_000)
    result = await place.ask(QUESTION["feature1"], small)
    tools = {tool.name for request in log for tool in request.tools if "reader" in request.role}
    assert "read_doc" in tools
    assert result.verdict == "READY"


@pytest.mark.slow
@pytest.mark.fence
async def test_what_did_not_change_is_not_read_again(place: Place) -> None:
    log: list[Request] = []
    first = await place.ask(QUESTION["feature3"], model({}, log))
    asked = len(log)
    again = await place.ask(QUESTION["feature3"], model({}, log))
    assert (again, len(log)) == (first, asked)
    change(
        place.data / "feature3/metrics/test_coverage_report.json",
        lambda data: data["summary"].update(line_coverage_pct=12),
    )
    changed = await place.ask(QUESTION["feature3"], model({}, log))
    assert changed.verdict == "NOT_READY"
    read = [request.role for request in log[asked:]]
    assert (read.count("investigator.reader"), read.count("investigator.main")) == (1, 1)


# Which feature


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("Is maintenance ready for production?", ["maintenance-reminders"]),
        ("Is the reservation feature ready?", ["group-reservations"]),
        ("is lend-142 ready", ["qr-kiosk"]),
        ("Is feature4 ready for UAT?", ["volunteer-credits"]),
        ("Can we ship the QR code kiosk?", ["qr-kiosk"]),
        ("Is the payment gateway ready?", []),
        ("Is it ready?", []),
        ("Ist Group Reservations bereit für die Produktion?", ["group-reservations"]),
        ("Les volunteer credits sont-ils prêts pour la production ?", ["volunteer-credits"]),
        ("Ist die Abnahme fertig?", []),
        ("reservation and credits", ["group-reservations", "volunteer-credits"]),
    ],
)
def test_a_question_names_its_feature_in_free_words(question: str, ids: list[str]) -> None:
    assert meant(question, [feature.to_json() for feature in DataFolder(EXAMPLES).features]) == ids


def test_near_equal_names_are_ambiguous_unless_one_is_said_whole() -> None:
    rows = [
        {"feature_id": "a", "jira_key": "X-1", "folder": "f1", "summary": "Group Reservations"},
        {
            "feature_id": "b",
            "jira_key": "X-2",
            "folder": "f2",
            "summary": "Group Reservations Lite",
        },
    ]
    assert meant("Are reservations ready?", rows) == ["a", "b"]
    assert meant("Are group reservations ready?", rows) == ["a"]
    assert meant("Is reservations lite ready?", rows) == ["b"]


async def test_an_ambiguous_question_waits_for_a_person(place: Place) -> None:
    with pytest.raises(Paused, match="Which feature is meant") as paused:
        await place.ask("Are reservations and credits ready?")
    assert "group-reservations" in str(paused.value.hint)
    with pytest.raises(InputError, match="refers to no known feature") as refused:
        await place.ask("Is the payment gateway ready?")
    assert "qr-kiosk" in str(refused.value.hint)


async def test_a_model_may_know_what_the_rules_do_not(place: Place) -> None:
    provider = model({"identify": '```json\n{"feature_ids": ["qr-kiosk"]}\n```'})
    assert (await place.ask("Is the tablet thing ready?", provider)).feature_id == "qr-kiosk"
    invented = model({"identify": '{"feature_ids": ["no-such-thing"]}'})
    with pytest.raises(Exception, match="unknown feature 'no-such-thing'"):
        await place.ask("Is the gadget ready?", invented)


async def test_a_near_name_is_asked_about_whoever_took_it_for_the_feature(place: Place) -> None:
    question = "Is Group Reservations Deposit Desk ready for production?"
    provider = model({"identify": '{"feature_ids": ["group-reservations"]}'})
    for paused_by in (None, provider):
        with pytest.raises(Paused, match="No part of the name: deposit, desk"):
            await place.ask(question, *filter(None, [paused_by]))


# Models that err and lie


@pytest.mark.parametrize("folder", ["feature2", "feature4", "feature5"])
async def test_a_model_that_says_ready_lifts_no_gate(place: Place, folder: str) -> None:
    honest = await place.ask(QUESTION[folder])
    lying = model({"main": opinion("READY", "Everything is in order."), "reader": "All is well."})
    result = await place.ask(f"{QUESTION[folder]} Really?", lying)
    assert (
        (result.verdict, result.confidence)
        == (honest.verdict, honest.confidence)
        == ("NOT_READY", honest.confidence)
    )
    assert [one.status for one in result.criteria] == [one.status for one in honest.criteria]


@pytest.mark.slow
@pytest.mark.fence
async def test_a_model_judges_no_better_than_the_rules(place: Place) -> None:
    def persuaded(request: Request) -> str:
        rows = request.window.text("evidence").splitlines()
        failed = next(row[1 : row.index("]")] for row in rows if "uat.failed" in row)
        return opinion("READY", f"Only 2 scenarios of acceptance testing failed [{failed}].")

    result = await place.ask(QUESTION["feature3"], model({"main": persuaded}))
    assert result.verdict == "NEEDS_JUDGEMENT"
    assert result.justification.startswith("Only 2 scenarios of acceptance testing failed")
    unfounded = model({"main": opinion("READY", "The doubts are small. Coverage is 99 % [E1].")})
    result = await place.ask(f"{QUESTION['feature3']} Really?", unfounded)
    assert result.verdict == "NEEDS_JUDGEMENT"
    assert "verdict" in [one.where for one in result.unsupported_claims]
    down = model({"main": opinion("NOT_READY", "The handbook forgets the north depot.")})
    assert (await place.ask(QUESTION["feature1"], down)).verdict == "NOT_READY"


async def test_what_a_model_makes_up_is_struck_and_told(place: Place) -> None:
    def says(request: Request) -> str:
        evidence = request.window.text("evidence").splitlines()
        failed = next(line[1 : line.index("]")] for line in evidence if "tests.failed" in line)
        good = f"22 tests failed [{failed}]."
        bad = [
            f"23 tests failed [{failed}].",
            "Coverage is 97 %.",
            f'A tester wrote: "all is well" [{failed}].',
        ]
        return opinion("NOT_READY", " ".join([good, *bad]), high=f"44 defects are open [{failed}].")

    result = await place.ask(QUESTION["feature2"], model({"main": says}))
    assert result.justification.startswith("22 tests failed")
    assert "97" not in result.justification
    assert (
        len([one for one in result.unsupported_claims if one.where in ("justification", "risks")])
        == 4
    )
    assert not any("44" in one.text for one in result.risks)


async def test_a_reader_s_made_up_number_reaches_nobody(place: Place) -> None:
    false = "There were 4711 failures [E1]. The rest is quiet."
    result = await place.ask(QUESTION["feature1"], model({"reader": false}))
    assert "4711" not in json.dumps([one.summary for one in result.sub_conversations])
    assert any("4711" in one.text for one in result.unsupported_claims)


async def test_injected_text_changes_nothing_and_is_told(place: Place) -> None:
    result = await place.ask(QUESTION["feature5"])
    assert (result.verdict, len(result.injection_attempts)) == ("NOT_READY", 5)
    clean = place.data / "feature5"
    for name, key in (("metrics/unit_test_results", "note"), ("reviews/security", "comment")):
        change(clean / f"{name}.json", partial(without_key, key))
    change(
        clean / "metrics/security_scan_results.json",
        lambda data: data["findings"][0].pop("comment") and None,
    )
    change(
        clean / "jira/feature_issue.json",
        lambda data: data["fields"].update(description="A deposit."),
    )
    design = clean / "planning" / "DESIGN_DOC.md"
    design.write_text(design.read_text().split("<!--")[0])
    without = await place.ask(QUESTION["feature5"])
    assert without.injection_attempts == []
    assert [one.status for one in without.criteria] == [one.status for one in result.criteria]
    assert (without.verdict, without.confidence) == (result.verdict, result.confidence)


async def test_numbers_of_a_model_s_own_come_from_the_calculator(place: Place) -> None:
    from transom.testing import asks

    def main(request: Request) -> Any:
        lines = request.window.text("evidence").splitlines()
        coverage = next(line[1 : line.index("]")] for line in lines if "coverage.line" in line)
        turns = [turn for turn in request.window.turns if isinstance(turn, AssistantMessage)]
        if not turns:
            return asks("calculate", expression=f"100 - {coverage}")
        made = request.window.turns[-1].results[0].content  # type: ignore[union-attr]
        key = json.loads(str(made))["id"]
        return opinion("NOT_READY", f"38.6 % of the lines are not covered [{key}].")

    from transom.investigator.rules import investigator_rules
    from transom.llm import Reply, ScriptedProvider, Text, ToolCallPart

    async def answer(request: Request) -> Reply:
        if request.role != "investigator.main":
            return await investigator_rules().complete(request)
        made = main(request)
        stop = "tool_calls" if isinstance(made, ToolCallPart) else "end"
        return Reply((made if isinstance(made, ToolCallPart) else Text(made),), stop=stop)  # type: ignore[arg-type]

    for _ in range(2):  # the second time from the journal
        result = await place.ask(QUESTION["feature2"], ScriptedProvider(answer))
        assert "38.6" in result.justification, result.unsupported_claims
        row = next(row for row in result.evidence if row.source == "calculator")
        assert (row.value, row.formula is not None) == ("38.6", True)


def without_key(key: str, data: Any) -> None:
    del data[key]


# After the verdict


async def test_a_person_judges_beside_the_first_verdict(place: Place) -> None:
    async def whole(run: Run, inquiry: Inquiry) -> Any:
        return await judged(run, await investigate(run, inquiry))

    with pytest.raises(Paused, match="Is Group Reservations ready"):
        await place.ask(QUESTION["feature3"], work=whole)

    async def answer(run: Run, inquiry: Inquiry) -> Any:
        (choice,) = run.state.waiting.values()
        await run.decide("NOT_READY", reason="Holds lapse early", by="Ines")
        return choice

    await place.ask(QUESTION["feature3"], work=answer)
    result = await place.ask(QUESTION["feature3"], work=whole)
    assert result.verdict == "NEEDS_JUDGEMENT"
    assert result.judgement is not None
    assert (result.judgement.verdict, result.judgement.by, result.exit_code) == (
        "NOT_READY",
        "Ines",
        1,
    )


async def test_a_follow_up_goes_on_with_the_ledger(place: Place) -> None:
    await place.ask(QUESTION["feature3"])

    async def ask(run: Run, inquiry: Inquiry) -> Any:
        first = await follow_up(run, "Why is UAT unclear?", inquiry.data)
        second = await follow_up(run, "And performance?", inquiry.data)
        again = await follow_up(run, "Why is UAT unclear?", inquiry.data)
        return first, second, again

    log: list[Request] = []
    said: Any = await place.ask(QUESTION["feature3"], model({}, log), work=ask)
    assert "91.3 %" in said[0].answer and "180 ms" in said[1].answer and said[2] == said[0]
    assert len(log) == 2
    assert "91.3" in str(log[1].window.turns)
