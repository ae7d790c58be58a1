"""The shipped suite: fifteen scenarios and a talk, with the rules, with a strong model's
replies, with a liar's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.cli import main
from transom.evals import Evaluation, load_suite

SUITE = Path(__file__).resolve().parents[2] / "examples" / "evals" / "investigator"
BEST = {"READY": 3, "NEEDS_JUDGEMENT": 2, "INSUFFICIENT_DATA": 1, "NOT_READY": 0}


def evaluated(tmp_path: Path, capfd: pytest.CaptureFixture[str], replies: str = "") -> Evaluation:
    told = ["--model", f"replies:{SUITE / 'replies' / replies},rules"] if replies else []
    capfd.readouterr()
    main(
        [
            "eval",
            "run",
            str(SUITE),
            "--format",
            "json",
            "-q",
            "--workspace",
            str(tmp_path / replies),
            *told,
        ]
    )
    return Evaluation.model_validate_json(capfd.readouterr().out)


def test_the_suite_has_the_scenarios_of_every_kind() -> None:
    tags = [scenario.tags[0] for scenario in load_suite(SUITE).scenarios]
    assert {tag: tags.count(tag) for tag in tags} == {
        "readiness": 6,
        "edge": 5,
        "error": 4,
        "follow-up": 1,
    }
    talk = load_suite(SUITE).only(["follow-up"]).scenarios[0]
    assert len(talk.input["then"]) == 20  # type: ignore[arg-type]  # a list in this scenario
    foreseen = {
        scenario.id: scenario.abstains
        for scenario in load_suite(SUITE).scenarios
        if scenario.abstains
    }
    assert set(foreseen) == {"conflicting-signals"}
    assert all(one["rules"].why for one in foreseen.values())


@pytest.mark.slow
def test_the_rules_decide_what_they_can_and_abstain_where_it_was_foreseen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = evaluated(tmp_path, capfd)
    assert [row.id for row in made.scenarios if row.status != "pass"] == []
    assert made.summary.abstained == 1
    definite = [row.id for row in made.scenarios if row.details.epochs[0].scores["verdict"] == 1]
    assert len([one for one in definite if one != "follow-up"]) == 14
    assert set(made.summary.avg_scores) == {
        "feature_identification", "tool_usage", "decision_quality", "context_management", "memory_utilization",
        "error_handling",
    }  # fmt: skip


@pytest.mark.slow
def test_a_strong_model_is_right_everywhere_and_a_lying_one_lifts_no_gate(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    strong = evaluated(tmp_path, capfd, "strong.yaml")
    assert [row.id for row in strong.scenarios if row.status != "pass"] == []
    assert strong.summary.abstained == 0
    lying = evaluated(tmp_path, capfd, "lying.yaml")
    right = {row.id: row.details.epochs[0].verdict for row in strong.scenarios}
    said = {row.id: row.details.epochs[0].verdict for row in lying.scenarios}
    unlike = {one for one in said if BEST[said[one] or ""] > BEST[right[one] or ""]}
    assert unlike == {"conflicting-signals"}  # the rules alone ask a person there
    assert said["conflicting-signals"] == "NEEDS_JUDGEMENT"


@pytest.mark.slow
def test_a_worse_reader_is_flagged_by_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lazy = tmp_path / "lazy.yaml"
    lazy.write_text(
        "schema: transom.replies/1\nreplies: [{role: investigator.reader, says: Nothing to see.}]\n"
    )
    common = [
        "eval",
        "run",
        str(SUITE),
        "--only",
        "large-documents",
        "--workspace",
        str(tmp_path / "w"),
        "-q",
    ]
    assert main([*common, "--save", "main"]) == 0
    capfd.readouterr()
    assert main([*common, "--model", f"replies:{lazy},rules"]) == 1
    said = capfd.readouterr().out
    assert "regression: large-documents: passed, and no longer does" in said
    assert "warning: tool_usage down 100.0 points" in said
