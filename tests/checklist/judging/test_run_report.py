"""The documents: JSON as promised, exit codes, and the text that people read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checklist.judging.support import DESIGN, NETLIST, SYNTHESIS_LOG, checker, run
from transom.canonical import pretty_json
from transom.checklist.judging import (
    Note,
    Verdict,
    Violation,
    artifact_bytes,
    printed,
    text_report,
    text_reports,
    together,
)
from transom.checklist.results import BuildRecord, WordsRow
from transom.formats.report_page import Tone

ITEM = (
    "requirements: {value: 2, pattern_items: ['9.9', 'Extractor']}\nwaivers: {value: 2,"
    " waive_items: [{pattern: '9.9', reason: old tool, owner: ann, expires: 2026-12-31}, gone]}\n"
)
KEYS = [
    "schema", "item_id", "status", "checker_type", "capability_type", "found_items", "missing_items", "extra_items",
    "waived", "waiver_comments", "unused_waivers", "errors", "warnings", "needs_model", "matching", "sources",
    "config_differences", "inputs", "account", "made_by", "sandbox_level", "as_of", "run_id", "seconds",
]  # fmt: skip
ENTRY = [
    "id",
    "name",
    "value",
    "source_file",
    "line_number",
    "matched_content",
    "parsed_fields",
    "severity",
    "reason",
]


@pytest.fixture
def verdict(tmp_path: Path) -> Verdict:
    return run(checker(tmp_path, "versions"), tmp_path, DESIGN, item=ITEM)


def test_the_printed_document_has_the_promised_keys(verdict: Verdict) -> None:
    document = json.loads(
        pretty_json(
            printed(verdict, run_id="r1", seconds=0.12345, applied_at="2026-06-30T10:00:00Z")
        )
    )
    assert list(document) == KEYS
    assert document["schema"] == "transom.check/1"
    assert (document["run_id"], document["seconds"]) == ("r1", 0.123)
    assert list(document["found_items"][0]) == ENTRY
    assert list(document["extra_items"][0]) == [*ENTRY, "nearest"]
    assert list(document["waived"][0]) == [*ENTRY, "nearest", "origin", "tag", "waiver"]
    assert document["waived"][0]["waiver"] == {
        "pattern": "9.9",
        "match": "exact",
        "matched_text": "9.9",
        "reason": "old tool",
        "owner": "ann",
        "expires": "2026-12-31",
        "applied_at": "2026-06-30T10:00:00Z",
    }
    assert document["unused_waivers"] == [
        {
            "pattern": "gone",
            "tag": "[WAIVER]",
            "severity": "WARN",
            "why": "no such text",
            "reason": None,
        }
    ]


def test_the_artifact_holds_no_clock_and_no_run(verdict: Verdict) -> None:
    shown = printed(verdict, run_id="r1", seconds=1.0, applied_at="now")
    assert artifact_bytes(shown) == artifact_bytes(verdict)
    document = json.loads(artifact_bytes(shown))
    assert not {"run_id", "seconds"} & set(document)
    assert "applied_at" not in document["waived"][0]["waiver"]
    assert Verdict.model_validate_json(artifact_bytes(shown)) == verdict


def test_the_gravest_exit_code(verdict: Verdict) -> None:
    statuses = ("", "PASS PASS", "PASS FAIL", "FAIL NEEDS_MODEL", "NEEDS_MODEL ERROR FAIL")
    several = [
        together([verdict.model_copy(update={"status": one}) for one in text.split()])
        for text in statuses
    ]
    assert [one.exit_code for one in several] == [0, 0, 1, 3, 2]


def test_several_verdicts_in_one_document(verdict: Verdict) -> None:
    good = verdict.model_copy(update={"status": "PASS"})
    paused = verdict.model_copy(update={"status": "NEEDS_MODEL"})
    several = together([good, verdict, paused])
    assert several.summary == {
        "PASS": 1,
        "FAIL": 1,
        "ERROR": 0,
        "NEEDS_MODEL": 1,
        "NEEDS_REVIEW": 0,
    }
    assert several.exit_code == 3
    assert json.loads(pretty_json(several))["schema"] == "transom.checks/1"
    assert text_reports(several).endswith("3 checks: 1 PASS, 1 FAIL, 1 NEEDS_MODEL\n")


def test_the_report_opens_with_the_answer_and_points_to_lines(verdict: Verdict) -> None:
    lines = text_report(verdict).splitlines()
    assert (
        lines[0]
        == "FAIL  VER-1  3 found, 1 not wanted, 1 waived  (type 3, value check with waivers)"
    )
    assert "  top.v:1: 2.2 Netlist Version: Weaver 4.2" in lines
    assert any(
        "waived by 9.9 (exact), because: old tool, ann, until 2026-12-31" in line for line in lines
    )
    assert "  gone: no such text" in lines
    assert lines[-2].startswith("transom 0.1.0 · as of 2026-06-30 · sandbox L1 · checker ")
    assert lines[-2].endswith("not approved")
    assert (
        lines[-1]
        == "  sandbox L1: the checker's code ran without files, network and other processes"
    )


def test_the_nearest_line_is_shown_where_it_is_another(tmp_path: Path) -> None:
    files = {"sta.log": SYNTHESIS_LOG, "top.v": "\nmodule top;\n"}
    text = text_report(run(checker(tmp_path, "versions"), tmp_path, files))
    assert "  top.v: 2.2 Netlist Version\n" in text
    assert "nearest: top.v:2: module top;" in text
    assert "why not: it is the first line" in text


def test_an_error_and_a_global_waiver_in_words(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "versions")
    text = text_report(run(loaded, tmp_path, {}))
    assert text.startswith("ERROR  VER-1  1 error  (")
    assert "  error: sta.log: no such file" in text
    item = "waivers: {value: 0, waive_items: [Early], waive_reasons: [tape-out 1]}\n"
    text = text_report(
        run(loaded, tmp_path, {"sta.log": SYNTHESIS_LOG, "top.v": NETLIST}, item=item)
    )
    assert "Global waiver\n  Early (tape-out 1)\n" in text
    assert "waived by global waiver, because: tape-out 1" in text


def test_long_lists_are_cut_and_say_so(tmp_path: Path) -> None:
    report = "".join(f"r{n}/D (dff) -1.0 (VIOLATED)\n" for n in range(25))
    verdict = run(checker(tmp_path, "endpoints"), tmp_path, {"t.rpt": report}, inputs=["t.rpt"])
    text = text_report(verdict)
    assert "Violated (25)" in text
    assert text.count("r1") >= 1
    assert "  … and 5 more (--format json lists all)" in text
    assert "r20/D" not in text


def test_a_value_that_is_not_as_it_must_be_is_violated_and_not_missing(tmp_path: Path) -> None:
    """Nothing is missing where a report says what must not be so."""
    report = "r0/D (dff) 1.0 (MET)\n" * 178 + "r1/D (dff) -1.0 (VIOLATED)\n"
    verdict = run(checker(tmp_path, "endpoints"), tmp_path, {"t.rpt": report}, inputs=["t.rpt"])
    text = text_report(verdict, folded=True)
    assert text.startswith("FAIL  TIM-1  1 of 179 violated")
    assert "\nViolated (1)\n  t.rpt:179: 2.1 Endpoint Timing: r1/D" in text
    assert "\nFound (178): listed with -v\n" in text
    assert "t.rpt:1:" not in text
    assert "t.rpt:1:" in text_report(verdict)


def test_an_entry_without_its_value_is_missing(verdict: Verdict) -> None:
    found = verdict.found_items[0].model_dump(exclude={"severity"})
    without = Violation(**{**found, "reason": "netlist.origin is empty"})
    entries = verdict.model_copy(update={"missing_items": (without,)}).entries
    assert entries["missing"] == (without,)
    assert entries["violated"] == ()


def test_control_characters_of_a_log_do_not_reach_the_terminal(tmp_path: Path) -> None:
    files = {"t.rpt": "evil\x1b[31m/D (dff) -1.0 (VIOLATED)\n"}
    assert "\x1b" not in text_report(
        run(checker(tmp_path, "endpoints"), tmp_path, files, inputs=["t.rpt"])
    )


def test_colour_is_a_hook(verdict: Verdict) -> None:
    def shout(tone: Tone, text: str) -> str:
        return f"<{tone}>{text}"

    assert text_report(verdict, shout).startswith("<fail>FAIL  VER-1")


@pytest.mark.slow
def test_ten_thousand_entries_take_a_moment(tmp_path: Path) -> None:
    report = "".join(
        f"r{n}/D (dff) {n % 7 - 3}.0 ({'MET' if n % 7 > 2 else 'VIOLATED'})\n"
        for n in range(10_000)
    )
    item = "waivers: {value: 2, waive_items: ['r1*', 'regex:r2']}\n"
    verdict = run(
        checker(tmp_path, "endpoints"), tmp_path, {"t.rpt": report}, inputs=["t.rpt"], item=item
    )
    total = len(verdict.found_items) + len(verdict.missing_items) + len(verdict.waived)
    assert total == 10_000


def test_words_that_were_not_understood_and_who_wrote_the_checker_are_named(
    verdict: Verdict,
) -> None:
    made = verdict.made_by.model_copy(
        update={"provider": "vendor", "model": "m-1", "mutation_score": 0.934, "approved_by": "ann"}
    )
    words = (WordsRow(text="frob", where="description"),)
    warned = (Note(source_file="a.log", line_number=3, message="odd"),)
    changed = verdict.model_copy(
        update={
            "status": "NEEDS_MODEL",
            "needs_model": words,
            "warnings": warned,
            "made_by": made,
            "run_id": "r7",
        }
    )
    text = text_report(changed)
    assert text.startswith("NEEDS_MODEL")
    assert '  not understood: "frob" in description\n  ask a model (--model), reword it' in text
    line = (WordsRow(text="frob", where="a.log:3, not understood"),)
    assert "reword" not in text_report(changed.model_copy(update={"needs_model": line}))
    assert "  teach it the log: transom" in text_report(
        changed.model_copy(update={"needs_model": line})
    )
    assert "Warnings (1)\n  a.log:3: odd\n" in text
    assert "written by vendor:m-1 · mutation score 0.93 · approved by ann · run r7" in text


def test_what_a_forbidding_item_found_is_a_violation_and_what_it_did_not_find_holds(
    tmp_path: Path,
) -> None:
    loaded = checker(tmp_path, "endpoints")
    forbid = tuple(one.model_copy(update={"mode": "forbid"}) for one in loaded.config.items)
    loaded = replace(loaded, config=loaded.config.model_copy(update={"items": forbid}))
    bad = run(loaded, tmp_path, {"t.rpt": "r1/D (dff) 1.0 (MET)\n"}, inputs=["t.rpt"])
    assert text_report(bad).startswith("FAIL  TIM-1  1 violation  (")
    assert "\nViolations (1)\n  t.rpt:1: 2.1 Endpoint Timing: r1/D slack 1.0\n" in text_report(bad)
    assert json.loads(pretty_json(bad))["missing_items"][0]["mode"] == "forbid"
    good = run(loaded, tmp_path, {"t.rpt": "r1/D (dff) -1.0 (VIOLATED)\n\n"}, inputs=["t.rpt"])
    assert text_report(good).startswith("PASS  TIM-1  1 holds  (")
    assert "\nHolds (1)\n  t.rpt: 2.1 Endpoint Timing\n      none in its 2 lines\n" in text_report(
        good
    )


def test_a_checker_that_was_built_for_the_item_does_not_differ_from_it(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "versions")
    other = run(loaded, tmp_path, DESIGN, item=ITEM)
    assert other.config_differences
    made = BuildRecord.unfinished("VER-1", "", "").model_copy(update={"status": "done"})
    build = made.model_copy(update={"item_sha256": other.made_by.item_sha256})
    assert run(replace(loaded, build=build), tmp_path, DESIGN, item=ITEM).config_differences == ()
