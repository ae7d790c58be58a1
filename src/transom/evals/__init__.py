"""Evaluation: scenario suites, deterministic scorers, a model as judge, baselines. Products
supply the runners.
"""

from transom.evals.compare import compare
from transom.evals.document import Evaluation, Fingerprint
from transom.evals.faults import Case
from transom.evals.models import Evidence, Outcome, Scenario, ToolUse, Used
from transom.evals.run import Runner, run_suite
from transom.evals.suite import Suite, load_suite

__all__ = [
    "Case",
    "Evaluation",
    "Evidence",
    "Fingerprint",
    "Outcome",
    "Runner",
    "Scenario",
    "Suite",
    "ToolUse",
    "Used",
    "compare",
    "load_suite",
    "run_suite",
]
