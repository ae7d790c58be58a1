"""Evaluation: scenario suites, deterministic scorers, a model as judge, baselines. Products
supply the runners.
"""

from transom.evals.compare import compare
from transom.evals.document import Evaluation, Fingerprint
from transom.evals.faults import ScenarioCase
from transom.evals.run import Runner, run_suite
from transom.evals.scenario_models import (
    EvaluationCitation,
    Scenario,
    ScenarioOutcome,
    ToolUse,
    Used,
)
from transom.evals.suite import Suite, load_suite

__all__ = [
    "Evaluation",
    "EvaluationCitation",
    "Fingerprint",
    "Runner",
    "Scenario",
    "ScenarioCase",
    "ScenarioOutcome",
    "Suite",
    "ToolUse",
    "Used",
    "compare",
    "load_suite",
    "run_suite",
]
