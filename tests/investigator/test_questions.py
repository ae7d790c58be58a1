"""Questions after the verdict that the rules answer, and those that they leave to a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.investigator.folders import PIPE, SCAN, UNIT, ready, run, text_of
from tests.investigator.reports import junit, trivy
from transom.cli import main
from transom.investigator.rules import meant

Ask = Callable[[str], tuple[int, str]]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Investigate a feature with faults, and return a function that asks about it."""
    monkeypatch.chdir(tmp_path)
    jobs = [{"name": "smoke", "conclusion": "failure"}]
    faults = {UNIT: junit(9, 1, 0), SCAN: trivy("high"), PIPE: run(jobs=jobs)}
    for path, content in {**ready(), **faults}.items():
        place = tmp_path / "data" / "loan-renewal" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text_of(content))
    usual = ["--data", "data", "--as-of", "2026-09-20", "-q", "--format", "json"]
    main(["investigate", "Is loan renewal ready for production?", *usual])
    run_id = json.loads(capsys.readouterr().out)["run_id"]

    def asked(question: str) -> tuple[int, str]:
        code = main(["investigate", question, "--continue", run_id, "-q"])
        return code, capsys.readouterr().out

    return asked


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Why?", ["NOT_READY", "failed tests 1", "What holds"]),
        ("What keeps us, what is left to do?", ["failed tests 1", "open high"]),
        ("Can we go live on Friday?", ["NOT_READY", "failed tests 1"]),
        ("Who must act now?", ["development: No unit test fails", "security: "]),
        ("Give me a summary for the board", ["10 of 13 required criteria hold", "Open: "]),
        ("Which tests are red?", ["loans.Due.bad0: expected 4"]),
        ("List the CVEs", ["CVE-1-0"]),
        ("Which job failed?", ["smoke"]),
        ("Is it ready for Development?", ["READY for Development"]),
        ("Is it ready for UAT?", ["NOT_READY for UAT"]),
        ("Has anything changed?", ["No earlier assessment"]),
        ("Warum nicht?", ["NOT_READY"]),
    ],
)
def test_a_usual_question_is_answered(ask: Ask, question: str, wanted: list[str]) -> None:
    code, out = ask(question)
    assert code == 0
    assert [text for text in wanted if text not in out] == []


@pytest.mark.parametrize("question", ["What would Ada say?", "How long will the fix take?"])
def test_what_the_rules_cannot_answer_needs_a_model(ask: Ask, question: str) -> None:
    assert ask(question)[0] == 3


FEATURES = [
    {
        "feature_id": "inv-import",
        "jira_key": "INV-2",
        "folder": "beta",
        "summary": "Invoice Import",
    },
    {"feature_id": "dun", "jira_key": "DUN-1", "folder": "dun", "summary": "Dunning Letters"},
]


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("Is invoice-export ready for production?", []),
        ("Are the dunning emails ready?", []),
        ("Are the dunning letters done?", ["dun"]),
        ("Is invoice import ready?", ["inv-import"]),
        ("Is the import ready?", ["inv-import"]),
        ("Is INV-2 good to go?", ["inv-import"]),
    ],
)
def test_a_feature_that_shares_a_word_is_not_meant(question: str, ids: list[str]) -> None:
    assert meant(question, FEATURES) == ids
