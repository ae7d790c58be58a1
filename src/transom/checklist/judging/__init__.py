"""From a checker and today's files to a verdict: inputs, evaluate, waivers, report."""

from transom.checklist.judging.approval import APPROVAL, approve
from transom.checklist.judging.check import check_files
from transom.checklist.judging.inputs import Inputs
from transom.checklist.judging.loading import LoadedChecker, load_checker
from transom.checklist.judging.report import text_report, text_reports
from transom.checklist.judging.roots import Roots
from transom.checklist.judging.verdict import Verdict, artifact_bytes, printed, together

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
