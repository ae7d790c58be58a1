"""From a checker and today's files to a verdict: inputs, evaluate, waivers, report."""

from transom.checklist.run.approval import APPROVAL, Approval, approve
from transom.checklist.run.check import check_files, settle
from transom.checklist.run.inputs import Inputs
from transom.checklist.run.loading import LoadedChecker, load_checker
from transom.checklist.run.report import text_report, text_reports
from transom.checklist.run.roots import Roots
from transom.checklist.run.runner import AtomRunner, AtomWorker
from transom.checklist.run.verdict import Verdict, Verdicts, artifact_bytes, gravest, printed, together

__all__ = [
    "APPROVAL",
    "Approval",
    "AtomRunner",
    "AtomWorker",
    "Inputs",
    "LoadedChecker",
    "Roots",
    "Verdict",
    "Verdicts",
    "approve",
    "artifact_bytes",
    "check_files",
    "gravest",
    "load_checker",
    "printed",
    "settle",
    "text_report",
    "text_reports",
    "together",
]
