"""The charts of a study for its page: slices, importances, and what its insights led to."""

from __future__ import annotations

import time
from pathlib import Path

from tests.studies.helpers import write_study
from transom.formats.charts import MOST_MARKS
from transom.studies.advice import StudyInsight
from transom.studies.charts import study_charts
from transom.studies.study_file import load_study
from transom.studies.trials import StudyTrial, front


def solved(number: int, source: str = "sampler") -> StudyTrial:
    """Return a feasible design whose mass and stress pull in opposite directions."""
    share = number % 97 / 97
    params = {"width": 10 + 20 * share, "hole": 2 + 5 * share}
    values = (share, 1 - share)
    return StudyTrial(number=number, kind="solved", params=params, values=values, source=source)


def two_objectives(tmp_path: Path) -> Path:
    path = write_study(tmp_path, trials=5)
    text = path.read_text().replace(
        "objectives: [{name: mass}]", "objectives: [{name: mass}, {name: stress}]"
    )
    path.write_text(text)
    return path


def test_a_chart_of_many_designs_has_few_marks_and_takes_no_time(tmp_path: Path) -> None:
    study = load_study(two_objectives(tmp_path))
    trials = [solved(number) for number in range(5_000)]
    began = time.process_time()
    charts = study_charts(study, trials, dict.fromkeys(study.variables, 0.5))
    assert time.process_time() - began < 3
    marks = sum(len(chart.marks) for chart in charts.slices)
    assert MOST_MARKS / 2 < marks <= MOST_MARKS + len(study.variables)
    assert "trials is drawn" in charts.slices[0].note
    assert len(charts.slices) == len(charts.importances) == len(study.variables)
    assert {bar.number for bar in charts.importances} == {50}
    # Equal designs do not dominate each other.
    assert len(front(study, trials)) == len(trials)


def test_a_graph_leads_from_each_used_insight_to_its_designs(tmp_path: Path) -> None:
    study = load_study(two_objectives(tmp_path))
    rule = StudyInsight("plates", "rule", "wide holes fail", id="mis-00001")
    design = StudyInsight("plates", "design", "this one is good", id="str-00002")
    unused = StudyInsight("plates", "design", "nobody tried it", id="str-00003")
    rejected = StudyTrial(number=1, kind="rejected", params={}, rules=("mis-00001",))
    audited = StudyTrial(number=2, kind="failed", params={}, audit=("mis-00001",), reason="no mesh")
    trials = [solved(0, "str-00002"), rejected, audited]
    graph = study_charts(study, trials, insights=[rule, design, unused]).graph
    assert graph is not None
    nodes = {placed.node.key: placed for placed in graph.nodes}
    assert {key for key, placed in nodes.items() if placed.node.kind == "insight"} == {
        "mis-00001",
        "str-00002",
    }
    assert [edge.title for edge in graph.edges] == [
        "rejected without a solve by mis-00001: trials 1",
        "mis-00001 would have rejected trial 2",
        "str-00002 began trial 0",
    ]
    assert nodes["trial 0"].node.style == "feasible" and nodes["trial 2"].node.style == "failed"
    assert nodes["trial 0"].x > nodes["str-00002"].x
    assert study_charts(study, trials).graph is None
