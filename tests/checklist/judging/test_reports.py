"""Verdicts in outside formats: nothing that waits or failed looks like a pass, and evidence
stands in its lines.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from junitparser import JUnitXml

from tests.formats.test_reports import SARIF, Reader
from transom.checklist.judging import (
    REPORTS,
    CheckedItem,
    Doubt,
    MadeBy,
    Nearest,
    Note,
    ReportContext,
    UnusedWaiver,
    Verdict,
    Verdicts,
    Violation,
    WaivedItem,
    WaiverUse,
    report,
    together,
)
from transom.checklist.results import Acceptance, WordsRow

LOG = "".join(f"line {n}\n" for n in range(1, 7)) + "slack -0.2 <VIOLATED>\nline 8\n"


def entry(
    name: str, line: int | None = 7, content: str = "slack -0.2 <VIOLATED>", **more: Any
) -> dict[str, Any]:
    head = {
        "id": "2.1",
        "name": name,
        "value": f"{name} -0.2",
        "source_file": "sta.rpt",
        "line_number": line,
    }
    return {
        **head,
        "matched_content": content,
        "parsed_fields": {},
        "reason": "it is violated",
        **more,
    }


def verdict(item: str, status: Any, **more: Any) -> Verdict:
    empty = {
        "checker_type": 1,
        "capability_type": 1,
        "made_by": MadeBy(transom="0"),
        "sandbox_level": "L3",
    }
    return Verdict(item_id=item, status=status, as_of="2026-11-23", **{**empty, **more})


WAIVER = WaiverUse(
    pattern="hold*",
    match="wildcard",
    matched_text="hold",
    reason="next ECO",
    owner="Ann",
    expires="2027-01-31",
)
NEAREST = Nearest(source_file="sta.rpt", line_number=8, content="line 8", why_not="no slack in it")
FAILED = verdict(
    "STA-01",
    "FAIL",
    missing_items=(Violation(**entry("setup"), nearest=NEAREST),),
    waived=(WaivedItem(**entry("hold"), origin="missing", tag="[WAIVER]", waiver=WAIVER),),
    found_items=(CheckedItem(**entry("clean", 1, "line 1")),),
    unused_waivers=(UnusedWaiver(pattern="old*", why="no such text"),),
)
PASSED = verdict(
    "STA-02", "PASS", found_items=(CheckedItem(**entry("clean", 1, "line 1")),), seconds=1.5
)
BROKEN = verdict("STA-03", "ERROR", errors=(Note(source_file="gone.rpt", message="no such file"),))
UNREAD = verdict("STA-04", "NEEDS_MODEL", needs_model=(WordsRow(text="moon", where="description"),))
DOUBTED = verdict(
    "STA-05", "PASS", doubted=(Doubt(gate="mutation", line=3, message="line 3 may be anything"),)
)
REVIEW = verdict(
    "STA-06", "NEEDS_REVIEW", warnings=(Note(message="mend its ItemSpec"),), checker_type=None
)
ALL = together([FAILED, PASSED, BROKEN, UNREAD, DOUBTED, REVIEW])


ACCEPTANCE = Acceptance(by="Ann Lee", reason="next tool", until="2027-01-31", state="holds")
ENDED = ACCEPTANCE.model_copy(update={"state": "ended"})
SAYS = "not checked, accepted by Ann Lee until 2027-01-31"


def accepted(one: Verdict, acceptance: Acceptance = ACCEPTANCE) -> Verdict:
    return one.model_copy(update={"acceptance": acceptance})


@pytest.mark.parametrize("waiting", [UNREAD, REVIEW])
def test_an_accepted_item_is_shown_as_not_checked_in_every_report(waiting: Verdict) -> None:
    document = together([PASSED, accepted(waiting)])
    assert (document.exit_code, document.checks[1].status) == (0, waiting.status)
    counts = {name: count for name, count in document.summary.items() if count}
    assert counts == {"PASS": 1, "NOT_CHECKED": 1}
    for kind in REPORTS:
        text = report(kind, document).decode("utf-8-sig")
        assert kind == "json" or SAYS in text, kind
        assert text.count("next tool") > 0, kind
    (suite,) = list(JUnitXml.fromstring(report("junit", document)))
    case = list(suite)[1]
    assert [type(one).__name__ for one in case.result] == ["Skipped"]
    assert "next tool" in case.result[0].message
    (result,) = json.loads(report("sarif", document))["runs"][0]["results"]
    assert result["kind"] in ("open", "review")
    assert result["suppressions"][0]["justification"] == f"{SAYS}: next tool"
    row = list(csv.DictReader(io.StringIO(report("csv", document).decode("utf-8-sig"))))[1]
    assert (row["status"], row["owner"], row["expires"], row["because"]) == (
        "NOT_CHECKED",
        "Ann Lee",
        "2027-01-31",
        "next tool",
    )
    text = report("text", document).decode()
    assert f"NOT_CHECKED  {waiting.item_id}  {SAYS}: next tool\n" in text
    assert text.endswith("2 checks: 1 PASS, 1 NOT_CHECKED\n")
    page = report("html", document).decode()
    assert '<span class="verdict warn">NOT_CHECKED</span>' in page


def test_an_acceptance_that_ended_counts_for_nothing_and_is_named() -> None:
    document = together([PASSED, accepted(UNREAD, ENDED)])
    assert (document.exit_code, "NOT_CHECKED" in document.summary) == (3, False)
    for kind in REPORTS:
        text = report(kind, document).decode("utf-8-sig")
        assert kind == "json" or "the acceptance by Ann Lee ended on 2027-01-31" in text, kind
        assert "NOT_CHECKED  " not in text
    assert '"state": "ended"' in report("json", document).decode()
    (suite,) = list(JUnitXml.fromstring(report("junit", document)))
    assert [type(one).__name__ for one in list(suite)[1].result] == ["Error"]


@pytest.mark.parametrize("judged", [FAILED, PASSED, BROKEN, DOUBTED])
def test_an_acceptance_changes_nothing_of_what_was_judged_or_is_an_error(judged: Verdict) -> None:
    after = accepted(judged)
    assert (after.exit_code, after.counted_as) == (judged.exit_code, judged.counted_as)
    assert SAYS not in report("text", after).decode()


def test_junit_has_a_case_an_item_and_passes_only_what_passed() -> None:
    (suite,) = list(JUnitXml.fromstring(report("junit", ALL)))
    ended = {case.name: [type(one).__name__ for one in case.result] for case in suite}
    assert ended == {
        "STA-01": ["Failure"],
        "STA-02": [],
        "STA-03": ["Error"],
        "STA-04": ["Error"],
        "STA-05": ["Error"],
        "STA-06": ["Error"],
    }
    first, second, third, fourth, *_ = suite
    assert first.result[0].message.startswith("FAIL STA-01")
    assert "sta.rpt:7" in first.result[0].text
    assert first.system_out == "waived: 2.1 hold: hold -0.2: next ECO"
    assert second.time == 1.5
    assert "no such file" in third.result[0].text and "moon" in fourth.result[0].text


def test_sarif_holds_violations_suppressed_where_waived_and_what_waits() -> None:
    log = json.loads(report("sarif", ALL))
    Draft202012Validator(SARIF).validate(log)
    (run,) = log["runs"]
    found = [(one["ruleId"], one["kind"], "suppressions" in one) for one in run["results"]]
    assert found == [
        ("STA-01/2.1", "fail", False),
        ("STA-01/2.1", "fail", True),
        ("STA-04", "open", False),
        ("STA-05", "review", False),
        ("STA-06", "review", False),
    ]
    assert run["results"][1]["suppressions"][0]["justification"] == "next ECO"
    assert run["invocations"][0]["executionSuccessful"] is False
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in notes] == ["STA-03: gone.rpt: no such file"]


@pytest.mark.skipif(
    "SARIF_SCHEMA" not in os.environ, reason="SARIF_SCHEMA names no file with the standard's schema"
)
@pytest.mark.parametrize("document", [FAILED, PASSED, ALL, together([PASSED])])
def test_sarif_fits_the_schema_of_the_standard(document: Verdict | Verdicts) -> None:
    schema = json.loads(Path(os.environ["SARIF_SCHEMA"]).read_text("utf-8"))
    validator_for(schema)(schema).validate(json.loads(report("sarif", document)))


def test_csv_has_a_row_an_entry_and_none_of_the_items_is_lost() -> None:
    rows = list(csv.DictReader(io.StringIO(report("csv", ALL).decode("utf-8-sig"), newline="")))
    told = [(row["item"], row["status"], row["kind"], row["line"]) for row in rows]
    assert told == [
        ("STA-01", "FAIL", "missing", "7"),
        ("STA-01", "FAIL", "waived", "7"),
        ("STA-01", "FAIL", "found", "1"),
        ("STA-02", "PASS", "found", "1"),
        ("STA-03", "ERROR", "error", ""),
        ("STA-04", "NEEDS_MODEL", "", ""),
        ("STA-05", "NEEDS_REVIEW", "", ""),
        ("STA-06", "NEEDS_REVIEW", "", ""),
    ]
    assert rows[7]["reason"] == "mend its ItemSpec"
    assert (rows[1]["waiver"], rows[1]["because"], rows[1]["owner"]) == ("hold*", "next ECO", "Ann")
    assert rows[5]["reason"] == "not understood: moon"


def test_html_shows_the_verdict_first_and_evidence_between_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "sta.rpt").write_text(LOG, encoding="utf-8")
    text = report("html", FAILED, ReportContext((tmp_path / "nowhere", tmp_path))).decode("utf-8")
    read = Reader(text)
    words = " ".join(one.strip() for one in read.texts if one.strip())
    assert (
        words.index("FAIL")
        < words.index("Missing (1)")
        < words.index("Waived (1)")
        < words.index("Found (1)")
    )
    assert "5 line 5 6 line 6 7 slack -0.2 <VIOLATED> 8 line 8" in " ".join(words.split())
    for said in ("nearest", "no slack in it", "next ECO", "2027-01-31", "old*", "no such text"):
        assert said in words
    assert "://" not in text


def test_html_says_of_each_item_what_was_asked_and_why_there_is_no_answer() -> None:
    """A sign-off meeting reads the page without the items at hand."""
    descriptions = {"STA-01": "Setup & hold <timing> is met.", "STA-04": "The moon is frobnicated."}
    waiting = UNREAD.model_copy(update={"checker_type": None})
    document = together([FAILED, waiting, PASSED, REVIEW])
    words = " ".join(
        Reader(report("html", document, ReportContext(descriptions=descriptions)).decode()).texts
    )
    assert "4 checks: 1 PASS, 1 FAIL, 1 NEEDS_MODEL, 1 NEEDS_REVIEW" in words
    for text in (*descriptions.values(), 'not understood: "moon"', "mend its ItemSpec"):
        assert words.count(text) == 2, "in the table, and with the item"
    alone = " ".join(
        Reader(report("html", waiting, ReportContext(descriptions=descriptions)).decode()).texts
    )
    assert alone.count("The moon is frobnicated.") == 1
    assert "1 check:" not in alone


def test_html_says_what_is_doubted_and_why_an_item_waits() -> None:
    words = " ".join(Reader(report("html", ALL).decode("utf-8")).texts)
    assert (
        "Doubted by the gates of its build (1)" in words
        and "line 3 may be anything" in words
        and "mend its ItemSpec" in words
    )


def test_html_shows_no_lines_of_a_file_that_changed_since(tmp_path: Path) -> None:
    (tmp_path / "sta.rpt").write_text(LOG.replace("-0.2", "0.3"), encoding="utf-8")
    for folders in ([tmp_path], []):
        text = report("html", FAILED, ReportContext(tuple(folders))).decode("utf-8")
        assert "line 6" not in text and "0.3" not in text
        assert text.count("slack -0.2 &lt;VIOLATED&gt;") == 2  # as the verdict has it


def test_one_verdict_and_several_are_written_in_every_format() -> None:
    for kind in ("junit", "sarif", "csv", "html"):
        assert report(kind, PASSED) == report(kind, together([PASSED])), (
            "one shape, whatever the number"
        )
    for kind in REPORTS:
        assert report(kind, PASSED).endswith(b"\n"), kind
        assert all(
            one.item_id.encode() in report(kind, ALL) or kind == "sarif" for one in ALL.checks
        ), kind


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_a_browser_shows_the_evidence_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "sta.rpt").write_text(
        LOG.replace("line 6", "<script>document.title='run'</script>"), encoding="utf-8"
    )
    (tmp_path / "page.html").write_bytes(report("html", ALL, ReportContext((tmp_path,))))
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--dump-dom",
        f"file://{tmp_path}/page.html",
    ]
    seen = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert "<title>Checks: 6 items</title>" in seen.stdout
    assert '<span class="line marked"><span class="number">7</span>slack -0.2' in seen.stdout
