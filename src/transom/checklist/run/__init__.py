"""From a checker and today's files to a verdict: inputs, evaluate, waivers, report."""

from transom.checklist.run.approval import APPROVAL, approve
from transom.checklist.run.check import check_files
from transom.checklist.run.inputs import Inputs
from transom.checklist.run.loading import LoadedChecker, load_checker
from transom.checklist.run.report import text_report, text_reports
from transom.checklist.run.roots import Roots
from transom.checklist.run.verdict import Verdict, artifact_bytes, printed, together

__all__ = [
    "APPROVAL",
    "Inputs",
    "LoadedChecker",
    "Roots",
    "Verdict",
    "approve",
    "artifact_bytes",
    "check_files",
    "load_checker",
    "printed",
    "text_report",
    "text_reports",
    "together",
]
