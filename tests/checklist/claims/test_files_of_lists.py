"""Claims over power intent, findings of a linter and metrics of a flow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.claims.honest_reports import CHECKED
from tests.checklist.claims.support import judge
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.ranking import candidates, read_at_once

UPF = """\
upf_version 2.1
create_power_domain PD_TOP -include_scope
create_power_domain PD_CPU -elements {u_cpu}
create_supply_net VDD -domain PD_TOP
set_isolation iso_cpu -domain PD_CPU -isolation_power_net VDD
"""
MORE_UPF = UPF + "load_upf dsp.upf -scope u_dsp\n"
LINT = """\
rtl/top.sv:3:1: Remove trailing spaces. [Style: trailing-spaces] [no-trailing-spaces]
rtl/top.sv:9:12-18: Names are in lower_snake_case. [Style: signal-conventions] [signal-name-style]
"""
BROKEN_LINT = LINT + 'rtl/top.sv:12:3: syntax error at token "endmodule"\n'
CRASHED_LINT = LINT + "Segmentation fault (core dumped)\n"
ROWS = [
    ("power_domains_listed", UPF, ["PD_TOP", "PD_CPU"], "PASS"),
    ("power_domains_listed", UPF, ["PD_TOP"], "FAIL"),
    ("power_domains_listed", UPF, ["PD_TOP", "PD_CPU", "PD_DSP"], "FAIL"),
    ("power_domains_listed", MORE_UPF, ["PD_TOP", "PD_CPU"], "NEEDS_REVIEW"),
    ("power_domains_listed", LINT, ["PD_TOP"], "ERROR"),
    ("domains_isolated", UPF, ["PD_CPU"], "PASS"),
    ("domains_isolated", UPF, ["PD_CPU", "PD_TOP"], "FAIL"),
    ("domains_isolated", UPF.replace("set_isolation", "# set_isolation"), ["PD_CPU"], "ERROR"),
    ("only_listed_findings", LINT, ["no-trailing-spaces", "signal-name-style"], "PASS"),
    ("only_listed_findings", LINT, ["no-trailing-spaces"], "FAIL"),
    ("only_listed_findings", BROKEN_LINT, ["no-trailing-spaces", "signal-name-style"], "FAIL"),
    (
        "only_listed_findings",
        CRASHED_LINT,
        ["no-trailing-spaces", "signal-name-style"],
        "NEEDS_REVIEW",
    ),
    ("only_listed_findings", UPF, ["no-trailing-spaces"], "ERROR"),
]


@pytest.mark.parametrize(("claim", "report", "listed", "status"), ROWS)
def test_a_list_is_compared(
    tmp_path: Path, claim: str, report: str, listed: list[str], status: str
) -> None:
    more = {"requirements": {"value": len(listed), "pattern_items": listed}}
    verdict = judge(tmp_path, ClaimRow(name=claim), report, more)
    assert verdict.status == status, (verdict.capped_by, verdict.errors, verdict.needs_model)


@pytest.mark.parametrize(("report", "status"), [(LINT, "FAIL"), (UPF, "ERROR"), ("\n", "ERROR")])
def test_findings_of_a_linter_are_never_clean(tmp_path: Path, report: str, status: str) -> None:
    assert judge(tmp_path, ClaimRow(name="lint_clean"), report).status == status


METRICS = "Metric,Value\ndesign__instance__count,119968\ndesign__io,N/A\nantenna_diodes_count,12\n"
METRICS_JSON = '{"design__instance__count": 119968, "design__io": 45, "design__name": "top"}\n'
LIMITS = [
    ("design__instance__count", "at most 120000", "PASS"),
    ("design__instance__count", "at most 5000", "FAIL"),
    ("design__instance__area", "at most 5000", "ERROR"),
]


@pytest.mark.parametrize("report", [METRICS, METRICS_JSON], ids=["csv", "json"])
@pytest.mark.parametrize(("metric", "limit", "status"), LIMITS)
def test_a_metric_is_compared_with_its_limit(
    tmp_path: Path, metric: str, limit: str, status: str, report: str
) -> None:
    row = read_at_once(f"Confirm that the metric {metric} is {limit}.", has_patterns=False)
    assert row is not None
    assert row.parameters == {"measure": "metric", "object": metric, "limit": limit}
    verdict = judge(tmp_path, row, report)
    assert verdict.status == status, (verdict.capped_by, verdict.errors, verdict.needs_model)


def test_a_metric_without_a_value_is_not_measured(tmp_path: Path) -> None:
    row = ClaimRow(
        name="number_limit",
        parameters={"measure": "metric", "object": "design__io", "limit": "at most 50"},
    )
    assert judge(tmp_path, row, METRICS).status not in ("PASS", "FAIL")


def test_a_metric_in_other_words_is_offered() -> None:
    found = candidates(
        "Keep design__instance__count of the flow below 5000 please", has_patterns=False
    )
    assert found[0].row.parameters["object"] == "design__instance__count"


@pytest.mark.parametrize(
    ("warning", "statuses"),
    [
        ("Warning: wire q has no driver.", {"PASS"}),
        ("Warning: wire q is wide.", {"FAIL"}),
        ("", {"NEEDS_REVIEW"}),
    ],
)
def test_the_end_of_a_log_is_no_warning(warning: str, statuses: set[str], tmp_path: Path) -> None:
    log = CHECKED.replace("3. Exec", f"{warning}\n3. Exec", 1)
    listed = {"requirements": {"value": 1, "pattern_items": ["*no driver*"]}}
    verdict = judge(tmp_path, ClaimRow(name="only_listed_warnings"), log, listed)
    assert verdict.status in statuses
