"""Approvals that a policy asks for, and policies that change the shipped one."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.folders import PEOPLE, SECURITY, people, ready, review, text_of
from transom.errors import InputError
from transom.investigator.policy import load_policy
from transom.investigator.release import judge_feature
from transom.investigator.sources import DataFolder

HEAD = "schema: transom.investigation_policy/1\n"


def judged(tmp_path: Path, policy: str, **put: Any) -> tuple[str, str]:
    """Return the verdict on the ready feature by a policy, and the reasons."""
    for path, content in {**ready(), **put.get("put", {})}.items():
        if content is not None:
            place = tmp_path / "data" / "loan-renewal" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text_of(content))
    file = tmp_path / "policy.yaml"
    file.write_text(HEAD + policy)
    data = DataFolder(tmp_path / "data")
    decision = judge_feature(
        data, data.features[0], load_policy(file), "Production", date(2026, 9, 20)
    )
    rows = [row.why for row in decision.criteria if row.required and row.status != "pass"]
    return decision.verdict, "; ".join(rows)


def asked(criterion: str, rule: str) -> str:
    return f"criteria:\n- id: {criterion}\n  approvals: {{{rule}}}\n"


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("roles: [product, security]", ""),
        ("roles: [product, legal]", "no approval by the role legal was found"),
        ("least: 3", ""),
        ("least: 4", "3 of 4 different people"),
        ("four_eyes: true", ""),
    ],
)
def test_roles_and_numbers_of_approvers(tmp_path: Path, rule: str, reason: str) -> None:
    verdict, why = judged(tmp_path, asked("review.stakeholders", rule))
    assert (verdict == "READY", reason in why) == (not reason, True)


def test_one_person_is_not_four_eyes(tmp_path: Path) -> None:
    policy = asked("review.security", "four_eyes: true")
    assert "1 of 2 different people" in judged(tmp_path, policy)[1]


def test_two_names_of_one_person_count_once(tmp_path: Path) -> None:
    rows = [
        {"role": role, "name": "Ada", "decision": "approved", "date": "2026-09-15"}
        for role in ("product", "security")
    ]
    policy = asked("review.stakeholders", "least: 2")
    verdict, why = judged(tmp_path, policy, put={PEOPLE: people(approvals=rows)})
    assert (verdict, "1 of 2" in why) == ("NEEDS_JUDGEMENT", True)


def test_nobody_approves_their_own_work(tmp_path: Path) -> None:
    second = {"role": "lead", "name": "Ben", "decision": "approved"}
    own = review(author="Ada", approvals=[second])
    verdict, why = judged(
        tmp_path, asked("review.security", "four_eyes: true"), put={SECURITY: own}
    )
    assert (verdict, "Ada approved their own work" in why) == ("NEEDS_JUDGEMENT", True)


def test_names_of_cases_and_rejections_are_no_approvals(tmp_path: Path) -> None:
    cases = [{"name": "case one", "status": "passed"}, {"name": "case two", "status": "passed"}]
    verdict, why = judged(
        tmp_path,
        asked("review.security", "least: 2"),
        put={SECURITY: review(test_cases=cases)},
    )
    assert (verdict, "1 of 2" in why) == ("NEEDS_JUDGEMENT", True)


def test_a_policy_without_a_ladder_changes_the_shipped_one(tmp_path: Path) -> None:
    shipped = load_policy()
    file = tmp_path / "own.yaml"
    rule = "rules: [{measure: coverage.line, at_least: 95}]"
    file.write_text(f"{HEAD}fresh: 10 days\ncriteria:\n- id: tests.coverage\n  {rule}\n")
    policy = load_policy(file)
    assert [row.id for row in policy.criteria] == [row.id for row in shipped.criteria]
    changed = next(row for row in policy.criteria if row.id == "tests.coverage")
    assert (changed.rules[0].at_least, changed.from_, policy.fresh) == (95, "UAT", "10 days")
    assert policy.ladder == shipped.ladder


def test_an_error_in_a_partial_policy_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"{HEAD}criteria:\n- id: tests.coverage\n  approval: {{least: 2}}\n")
    with pytest.raises(InputError) as caught:
        load_policy(file)
    assert "own.yaml:4" in str(caught.value)
