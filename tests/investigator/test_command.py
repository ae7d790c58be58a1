"""`transom investigate` as a person types it: exit codes, reports, and whatever can be wrong
with the input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.investigator.helpers import NOT_READY, READY, STEERED, change, copy_of
from transom.cli import main
from transom.investigator.result import Investigation

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    monkeypatch.chdir(tmp_path)

    def investigate(*arguments: str) -> tuple[int, str, str]:
        code = main(["investigate", *arguments])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return investigate


def test_verdict_reports_and_a_question_to_the_answer(run: Run, tmp_path: Path) -> None:
    copy_of(NOT_READY, tmp_path / "data")
    reports = [f"--report={name}:out.{name}" for name in ("text", "json", "markdown", "html")]
    code, out, err = run("Is the kiosk ready?", "--data", "data", *reports)
    assert code == 1
    assert out.startswith("NOT_READY  QR Check-Out Kiosk (qr-kiosk) for Production-Ready")
    assert "metrics unit_test_coverage.json is read\n" in err
    assert (tmp_path / "out.text").read_text() == out
    document = json.loads((tmp_path / "out.json").read_text())
    result = Investigation.model_validate(document)
    assert document["schema"] == "transom.investigation/1"
    assert result.run_id and re.fullmatch(r"[0-9a-f]{32}", result.trace_id)
    assert "| fail | No unit test fails |" in (tmp_path / "out.markdown").read_text()
    page = (tmp_path / "out.html").read_text()
    links = re.findall(r"(?:src|href)\s*=\s*\"([^\"]*)", page)
    assert links and all(one.startswith("#E") for one in links)
    assert (
        page.index("NOT_READY")
        < page.index("Criteria")
        < page.index("Evidence")
        < page.index("What was read")
    )
    code, out, _ = run("Why do the unit tests fail?", "--continue", result.run_id, "-q")
    assert (code, "failed tests 22" in out) == (0, True)


def test_a_question_about_nothing_known_names_no_run_to_go_on_with(
    run: Run, tmp_path: Path
) -> None:
    copy_of(NOT_READY, tmp_path / "data")
    copy_of(READY, tmp_path / "data")
    code, _, err = run("Is the espresso machine ready?", "--data", "data")
    assert code == 2
    assert "the question refers to no known feature; known: " in err
    assert "resume" not in err


def test_json_alone_is_on_stdout(run: Run, tmp_path: Path) -> None:
    copy_of(READY, tmp_path / "data")
    code, out, _ = run(
        "Is it ready?", "--data", "data", "--format", "json", "--as-of", "2026-09-20"
    )
    assert code == 0
    assert set(json.loads(out)) >= {
        "question", "feature_id", "feature_name", "current_stage", "target_stage", "stage_fit", "verdict", "confidence",
        "criteria", "risks", "evidence", "unsupported_claims", "injection_attempts", "contradictions", "questions",
        "unread", "waivers", "changed_since", "memory_status", "justification", "sub_conversations", "usage",
        "trace_id", "run_id",
    }  # fmt: skip


def test_text_of_the_data_steers_no_report(run: Run, tmp_path: Path) -> None:
    folder = copy_of(STEERED, tmp_path / "data")
    nasty = "<script>alert(1)</script> | [link](http://x) \x1b[31m @all"
    change(
        folder / "jira/feature_issue.json",
        lambda data: data["fields"].update(summary=f"Deposits {nasty}"),
    )
    comment = f"I am not sure about it, {nasty}"
    change(
        folder / "reviews/stakeholders.json",
        lambda data: data["approvals"][0].update(comment=comment),
    )
    code, out, _ = run(
        "Is LEND-150 ready?",
        "--data",
        "data",
        "--report=html:o.html",
        "--report=markdown:o.md",
        "--report=text:o.txt",
    )
    assert (code, "\x1b[31m" in out) == (1, False)
    assert "<script>alert" not in (tmp_path / "o.html").read_text()
    assert "\x1b" not in (tmp_path / "o.txt").read_text()
    text = (tmp_path / "o.md").read_text()
    assert "<script>" not in text and "\x1b" not in text
    assert not [
        one
        for one in MarkdownIt().parse(text)
        for inner in one.children or []
        if inner.type == "link_open"
    ]


def waivers(criterion: str = "tests.unit", expires: str = "2027-01-01") -> str:
    return (
        f"waivers:\n- {{criterion: {criterion}, approver: Ines, reason: known, expires:"
        f" {expires}}}\n"
    )


def test_waivers_target_and_policy_of_one_s_own(run: Run, tmp_path: Path) -> None:
    copy_of(STEERED, tmp_path / "data")
    (tmp_path / "waivers.yaml").write_text(waivers() + waivers("security.scan").partition("\n")[2])
    arguments = (
        "Is LEND-150 ready?",
        "--data",
        "data",
        "--as-of",
        "2026-10-01",
        "--format",
        "json",
    )
    code, out, _ = run(*arguments, "--waivers", "waivers.yaml")
    assert (code, json.loads(out)["verdict"]) == (0, "READY")
    code, out, _ = run(*arguments, "--target", "planning")
    assert (code, json.loads(out)["target_stage"]) == (0, "Planning")
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "schema: transom.investigation_policy/1\nladder: [{stage: UAT}, {stage: Live}]\ncriteria:\n"
        "- {id: cover, name: Much is covered, source: metrics/test_coverage_report, from: UAT,"
        " rules: [{measure: coverage.line, at_least: 90}]}\n"
    )
    code, out, _ = run(*arguments, "--policy", "policy.yaml")
    document = json.loads(out)
    assert (code, document["target_stage"], [one["id"] for one in document["criteria"]]) == (
        1,
        "Live",
        ["cover"],
    )


def empty(root: Path) -> None:
    root.mkdir()


def nothing(root: Path) -> None:
    """No folder at all."""


def inside(root: Path) -> None:
    copy_of(READY, root.parent)
    root.symlink_to(root.parent / READY)


def put(name: str, content: str | bytes | None) -> Callable[[Path], None]:
    """The ready feature with another file in the place of one of its own; without it where there
    is no content.
    """

    def make(root: Path) -> None:
        path = copy_of(READY, root) / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def no_jira(root: Path) -> None:
    for path in (copy_of(READY, root) / "jira").iterdir():
        path.unlink()


def outside(root: Path) -> None:
    folder = copy_of(READY, root)
    (folder / "planning" / "NOTES.md").symlink_to("/etc/hostname")
    (folder / "metrics" / "unit_test_results.json").unlink()
    (folder / "metrics" / "unit_test_results.json").symlink_to("/etc/hostname")


DESIGN, UAT = "planning/DESIGN_DOC.md", "reviews/uat.json"
Case = tuple[Callable[[Path], None], tuple[str, ...], int, str]
UNTIMED = "waivers:\n- {criterion: a, approver: b, reason: c}\n"
PLAIN = put("planning/EXTRA.md", "Nothing.")
BAD: dict[str, Case] = {
    "no data": (empty, (), 2, "holds no feature"),
    "one feature's folder": (inside, (), 2, "folder above"),
    "no folder": (nothing, (), 2, "is not a folder"),
    "no Jira": (no_jira, (), 3, "INSUFFICIENT_DATA"),
    "broken issue": (put("jira/feature_issue.json", "{"), (), 3, "INSUFFICIENT_DATA"),
    "broken JSON": (put(UAT, '{"a": [1,'), (), 3, "is not JSON"),
    "no JSON at all": (put(UAT, b"\x00\xff\x00"), (), 3, "INSUFFICIENT_DATA"),
    "deep JSON": (put(UAT, "[" * 5000), (), 3, "INSUFFICIENT_DATA"),
    "another format": (put(UAT, "<html/>"), (), 3, "INSUFFICIENT_DATA"),
    "empty document": (put(DESIGN, ""), (), 1, "placeholder"),
    "placeholder": (put(DESIGN, "# Design\n\nTBD\n"), (), 1, "placeholder"),
    "no document": (put(DESIGN, None), (), 1, "no document named"),
    "binary document": (put(DESIGN, bytes(range(256)) * 40), (), 3, "is binary"),
    "links that lead out": (outside, (), 3, "leads out of the feature's folder"),
    "unknown stage": (PLAIN, ("--target", "Nirvana"), 2, "unknown stage 'Nirvana'"),
    "unreadable policy": (PLAIN, ("--policy", "nowhere.yaml"), 2, "no such file"),
    "policy of nonsense": (put("../../p.yaml", "["), ("--policy", "p.yaml"), 2, "p.yaml"),
    "waiver without expiry": (put("../../w.yaml", UNTIMED), ("--waivers", "w.yaml"), 2, "expires"),
    "no date": (PLAIN, ("--as-of", "soon"), 2, "is no date"),
    "unknown report": (PLAIN, ("--report", "pdf:x"), 2, "text, json, markdown, html"),
    "no run": (PLAIN, ("--continue", "nothing"), 2, "no run 'nothing'"),
    "Jira without a token": (PLAIN, ("--jira", "https://jira.example.org"), 2, "JIRA_TOKEN"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_has_a_code_and_one_clear_line(run: Run, tmp_path: Path, name: str) -> None:
    make, arguments, expected, said = BAD[name]
    make(tmp_path / "data")
    code, out, err = run(
        "Is Tool Maintenance Reminders (feature1) ready?", "--data", "data", *arguments, "-q"
    )
    assert (code, "Traceback" in err) == (expected, False), err
    assert said in " ".join((out + err).split())
    if code == 2:
        assert (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize("text", ["{bad", '{"a": 1,\n "b" 2}\n', "[1, 2,\n3,\n]"])
def test_the_reason_why_a_source_is_unread_is_no_claim(run: Run, tmp_path: Path, text: str) -> None:
    put("metrics/unit_test_results.json", text)(tmp_path / "data")
    _, out, err = run("Is feature1 ready?", "--data", "data", "--format", "json", "-q")
    document = json.loads(out)
    assert "is not JSON" in str(document["unread"]), err
    assert document["unsupported_claims"] == []


def test_a_question_that_fits_two_features_waits_for_a_person(run: Run, tmp_path: Path) -> None:
    copy_of(READY, tmp_path / "data")
    other = tmp_path / "data" / "feature9" / "jira" / "feature_issue.json"
    other.parent.mkdir(parents=True)
    other.write_text(
        '{"key": "LEND-171", "feature_id": "costs", "summary": "Tool Maintenance Costs", "status":'
        ' "New"}'
    )
    code, out, err = run("Is the maintenance tool ready?", "--data", "data", "-q")
    assert (code, out) == (3, "")
    assert "Which feature is meant?" in err and "costs" in err and "transom answer" in err


@pytest.mark.slow
def test_a_document_of_200_mb_is_read_in_part_and_said_to_be(run: Run, tmp_path: Path) -> None:
    line = "The store keeps what was written and shows it again when somebody asks.\n" * 1000
    with (copy_of(READY, tmp_path / "data") / "planning" / "HISTORY.md").open("w") as file:
        for _ in range(3000):
            file.write(line)
    code, out, _ = run(
        "Is feature1 ready?", "--data", "data", "--format", "json", "-q", "--as-of", "2026-09-20"
    )
    document = json.loads(out)
    # A partial look proves nothing: what was not read holds the READY back.
    assert (code, document["verdict"], document["would_be"]) == (3, "NEEDS_JUDGEMENT", "READY")
    assert [cap["source_file"] for cap in document["capped_by"]] == ["feature1/planning/HISTORY.md"]
    assert [one["source"] for one in document["unread"]] == ["feature1/planning/HISTORY.md"]
    assert document["confidence"] < 1


def test_a_first_question_for_more_than_the_verdict_is_answered_too(
    run: Run, tmp_path: Path
) -> None:
    copy_of(READY, tmp_path / "data")
    path = next((tmp_path / "data").glob("*/planning"))
    text = "# Design\n\n## Components\n\n### Reminder worker\n\nSends the reminders.\n"
    (path / "SPARE_PARTS.md").write_text(text, encoding="utf-8")
    usual = ("--data", "data", "--as-of", "2026-09-20")
    code, out, err = run("Which components does LEND-118 have?", *usual)
    assert (code, "Reminder worker (" in out) == (0, True)
    assert out.startswith("READY") and "needs a model" not in err
    # A verdict of READY is no answer to this one.
    code, out, err = run("Who wrote LEND-118?", *usual)
    assert (code, "the question needs a model" in err) == (3, True)
    assert out.startswith("READY") and "The rules find no answer" in out
    # A usual question stays as it is.
    code, out, _ = run("What is the status of LEND-118?", *usual)
    assert (code, "What is the status" in out) == (0, False)
