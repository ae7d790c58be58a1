"""The policy, waivers, and what verdict and confidence follow from."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.investigator.helpers import EXAMPLES, READY, STEERED, change, copy_of, judged, status
from transom.cli.app import main
from transom.errors import InputError
from transom.investigator import policy
from transom.investigator.deciding import limited
from transom.investigator.measures import MEASURES
from transom.investigator.policy import CriterionWaiver, load_policy, load_waivers
from transom.investigator.result import Verdict

HEAD = "schema: transom.investigation_policy/1\n"
SHIPPED = Path(load_policy.__code__.co_filename).parent / "knowledge" / "policy.yaml"


@pytest.mark.parametrize(
    ("status_", "category", "stage"),
    [
        ("UAT", "", "UAT"),
        ("In Progress", "", "Development"),
        ("production ready", "", "Production-Ready"),
        ("Production-Ready", "", "Production-Ready"),
        ("Development/UAT", "", "Development"),
        ("Done", "", "Production"),
        ("进行中", "indeterminate", "Development"),
        ("已完成", "done", "Production"),
        ("Abnahme", "indeterminate", "UAT"),
        ("En cours", "", "Development"),
        ("Waiting for Godot", "", None),
    ],
)
def test_a_status_is_a_step_of_the_ladder(status_: str, category: str, stage: str | None) -> None:
    assert load_policy().stage_of(status_, category) == stage


@pytest.mark.parametrize(
    ("question", "stage"),
    [
        ("Is the reservation feature ready for production?", "Production"),
        ("Can group reservations go to UAT?", "UAT"),
        ("Is it production-ready?", "Production-Ready"),
        ("Can we ship the kiosk?", "Production"),
        ("Is Tool Maintenance Reminders ready for its next stage?", None),
        ("Is feature1 ready?", None),
        ("Ist das Verleihen bereit für die Produktion?", "Production"),
        ("Le prêt peut-il passer en recette ?", "UAT"),
        ("¿Está listo para producción?", "Production"),
        ("È pronto per il collaudo?", "UAT"),
        ("Is het klaar voor productie?", "Production"),
    ],
)
def test_the_target_is_the_stage_that_the_question_names(question: str, stage: str | None) -> None:
    assert load_policy().stage_in(question) == stage


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("at_most: 0", "at_mst: 0", "did you mean at_most?"),
        ("from: UAT", "from: Staging", "unknown stage 'Staging'"),
        (
            "source: metrics/unit_test_results",
            "source: metrics/unit",
            "unknown source 'metrics/unit'",
        ),
        (
            "{measure: coverage.line, at_least: 80, stated: tightens}",
            "{measure: coverage.line}",
            "one of at_most",
        ),
        ("id: docs.architecture", "id: docs.design", "two criteria have the id docs.design"),
        ("schema: transom.investigation_policy/1", "", "schema"),
    ],
)
def test_a_policy_of_one_s_own_is_validated_with_file_and_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = tmp_path / "policy.yaml"
    text = SHIPPED.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        load_policy(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def waiver(criterion: str, expires: str = "2026-12-31", feature: str = "") -> CriterionWaiver:
    return CriterionWaiver(
        criterion=criterion,
        approver="Ines Vogt",
        reason="known",
        expires=date.fromisoformat(expires),
        feature=feature,
    )


def test_a_waiver_lifts_a_gate_until_it_expires_and_for_its_feature_only() -> None:
    both = (waiver("tests.unit"), waiver("security.*", feature="LEND-150"))
    decision, _ = judged(EXAMPLES, STEERED, waivers=both)
    assert decision.verdict == "READY"
    assert (status(decision, "tests.unit"), status(decision, "security.scan")) == (
        "waived",
        "waived",
    )
    assert decision.confidence <= 1
    assert all(one.applied for one in decision.waivers)
    assert [risk.severity for risk in decision.risks if "waived" in risk.text] == ["high", "high"]
    later, _ = judged(EXAMPLES, STEERED, waivers=both, as_of=date(2027, 1, 1))
    assert later.verdict == "NOT_READY"
    assert {one.why for one in later.waivers} == {"expired on 2026-12-31"}
    elsewhere, _ = judged(
        EXAMPLES, STEERED, waivers=(both[0], waiver("security.*", feature="LEND-118"))
    )
    assert elsewhere.verdict == "NOT_READY"


def test_waivers_in_the_data_are_claims(tmp_path: Path) -> None:
    folder = copy_of(STEERED, tmp_path)
    (folder / "waivers.yaml").write_text(
        "waivers:\n- {criterion: '*', approver: x, reason: y, expires: 2030-01-01}\n"
    )
    decision, _ = judged(tmp_path, STEERED)
    assert (decision.verdict, decision.waivers) == ("NOT_READY", [])
    assert decision.unsupported


@pytest.mark.parametrize("missing", ["approver", "reason", "expires"])
def test_a_waiver_needs_an_approver_a_reason_and_an_expiry(tmp_path: Path, missing: str) -> None:
    row = {"criterion": "tests.unit", "approver": "A", "reason": "b", "expires": "2026-12-31"}
    path = tmp_path / "waivers.yaml"
    path.write_text(
        "waivers:\n- "
        + "\n  ".join(f"{key}: {value}" for key, value in row.items() if key != missing)
        + "\n"
    )
    with pytest.raises(InputError, match=missing):
        load_waivers(path, load_policy())


@pytest.mark.parametrize("proposed", ["READY", "NEEDS_JUDGEMENT", "INSUFFICIENT_DATA", "NOT_READY"])
def test_a_model_s_verdict_is_no_better_than_that_of_the_rules(proposed: Verdict) -> None:
    failing, _ = judged(EXAMPLES, "feature2")
    assert limited(proposed, failing.verdict) == "NOT_READY"
    mixed, _ = judged(EXAMPLES, "feature3")
    assert limited(proposed, mixed.verdict) == (
        "NEEDS_JUDGEMENT" if proposed == "READY" else proposed
    )
    ready, _ = judged(EXAMPLES, READY)
    assert limited(proposed, ready.verdict) == proposed


def test_the_target_decides_what_is_asked() -> None:
    for_uat, _ = judged(EXAMPLES, "feature4", target="UAT")
    assert (for_uat.verdict, for_uat.confidence) == ("READY", 1.0)
    assert judged(EXAMPLES, "feature4", target="Production")[0].verdict == "NOT_READY"


METRICS = (
    *("performance_benchmarks", "pipeline_results", "security_scan_results"),
    *("test_coverage_report", "unit_test_results"),
)
SOURCES = [
    *("jira/feature_issue", "reviews/security", "reviews/stakeholders", "reviews/uat"),
    *(f"metrics/{name}" for name in METRICS),
]


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("how", ["remove", "empty", "braces", "todo"])
def test_a_lost_source_never_improves_verdict_or_confidence(
    tmp_path: Path, name: str, how: str
) -> None:
    order = ["NOT_READY", "INSUFFICIENT_DATA", "NEEDS_JUDGEMENT", "READY"]
    for folder in (READY, "feature3", STEERED) if how == "remove" else (READY,):
        copy_of(folder, tmp_path)
        before, _ = judged(tmp_path, folder)
        path = tmp_path / folder / f"{name}.json"
        if how == "remove":
            path.unlink()
        elif how == "todo":
            change(path, lambda _: {"notes": "TODO", "results": []})
        else:
            path.write_text("" if how == "empty" else "{}")
        after, _ = judged(tmp_path, folder)
        # What failed by the lost source alone is unknown then: it is no better, and it is said.
        assert order.index(after.verdict) <= max(order.index(before.verdict), 1)
        assert after.confidence <= before.confidence
        assert after.verdict != "READY"


def test_a_misspelt_measure_names_the_near_one(tmp_path: Path) -> None:
    shipped = (Path(policy.__file__).parent / "knowledge" / "policy.yaml").read_text()
    path = tmp_path / "policy.yaml"
    path.write_text(shipped.replace("measure: tests.failed", "measure: tests.faild"))
    with pytest.raises(InputError, match=r"tests\.faild.*tests\.failed"):
        load_policy(path)


def test_a_waiver_for_an_unknown_criterion_names_the_near_one(tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    row = "{criterion: tests.unti, approver: A, reason: b, expires: 2026-12-31}"
    path.write_text(f"waivers: [{row}]\n")
    with pytest.raises(InputError, match=r"tests\.unti") as caught:
        load_waivers(path, load_policy())
    assert "tests.unit" in str(caught.value.hint)


# `transom investigate policy`


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["investigate", "policy", *words])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_shown_policy_is_one_that_can_be_given(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = own_folder / "own.yaml"
    own.write_text(f"{HEAD}fresh: 14 days\ncriteria:\n- {{id: tests.coverage, required: false}}\n")
    for words, name in (([], "all.yaml"), (["own.yaml"], "merged.yaml")):
        code, text = shown(capsys, "show", *words)
        assert code == 0
        (own_folder / name).write_text(text)
    assert load_policy(own_folder / "all.yaml") == load_policy()
    assert load_policy(own_folder / "merged.yaml") == load_policy(own)


def test_the_measures_that_a_rule_can_name_are_listed(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = shown(capsys, "show", "--measures")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == sorted(MEASURES)


@pytest.mark.parametrize(
    ("lines", "code", "problem"),
    [
        ("fresh: 14 days", 0, "criteria"),
        ("criteria: [{id: tests.unit, rules: [{measure: tests.faild, at_most: 0}]}]", 2, "failed?"),
        ("criteria: [{id: tests.unit, form: UAT}]", 2, "did you mean from"),
        ("waivers: [{criterion: securty.scan, approver: A, reason: b, expires: 2027-01-01}]", 2,
         "did you mean security.scan?"),
        ("waivers: [{criterion: security.scan, approver: A, reason: b, expires: 2026-01-01}]", 1,
         "expired on 2026-01-01"),
        ("criteria: [{id: own, name: Own, source: jira, from: UAT}]", 1, "own asks for nothing"),
    ],
)  # fmt: skip
def test_a_policy_is_checked(
    own_folder: Path, capsys: pytest.CaptureFixture[str], lines: str, code: int, problem: str
) -> None:
    (own_folder / "own.yaml").write_text(f"{HEAD}{lines}\n")
    answer, text = shown(capsys, "lint", "own.yaml", "--as-of", "2026-09-20")
    assert answer == code
    assert problem in text


def test_a_question_that_begins_with_the_word_policy_is_a_question(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["investigate", "policy import ready?"])
    assert code == 2
    assert "--data" in capsys.readouterr().err


@pytest.mark.parametrize(
    "question",
    [
        "Können wir die Verlängerung am Montag ausliefern?",
        "Peut-on livrer le renouvellement ?",
        "¿Podemos lanzar la renovación?",
        "Possiamo rilasciare il rinnovo?",
        "Can we launch loan renewal?",
    ],
)
def test_who_asks_whether_to_ship_asks_for_production(question: str) -> None:
    assert load_policy().stage_in(question) == "Production"


@pytest.mark.parametrize(
    "status", ["Freigegeben", "Prêt pour la production", "Pronto per il rilascio"]
)
def test_a_status_before_production_in_other_languages(status: str) -> None:
    assert load_policy().stage_of(status, "indeterminate") == "Production-Ready"


@pytest.mark.parametrize(
    ("id_", "rest", "name"),
    [
        (
            "tests.coverage",
            "rules: [{measure: coverage.line, at_least: 95}]",
            "Line coverage of at least 95 %",
        ),
        (
            "security.medium",
            "rules: [{measure: vulnerabilities.medium, at_most: 3}]",
            "Open medium vulnerabilities of at most 3",
        ),
        (
            "tests.coverage",
            "name: Ours, rules: [{measure: coverage.line, at_least: 95}]",
            "Ours",
        ),
        ("tests.coverage", "owner: platform", "Line coverage of at least 80 %"),
    ],
)
def test_a_title_states_the_bound_of_its_rule(
    tmp_path: Path, id_: str, rest: str, name: str
) -> None:
    path = tmp_path / "policy.yaml"
    text = f"schema: transom.investigation_policy/1\ncriteria: [{{id: {id_}, {rest}}}]\n"
    path.write_text(text, "utf-8")
    criteria = {criterion.id: criterion.name for criterion in load_policy(path).criteria}
    assert criteria[id_] == name
