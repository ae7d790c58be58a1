"""Judging: a checker and the current files become a verdict."""

from transom.checklist.judging.check import UNSAFE, Occasion, check_files
from transom.checklist.judging.entries import achievement, field_of, has_field, is_empty, shortfall
from transom.checklist.judging.gather import File, GatheredEvidence, classify
from transom.checklist.judging.inputs import Inputs, Roots
from transom.checklist.judging.loading import APPROVAL, CONFIG, LoadedChecker, approve, load_checker
from transom.checklist.judging.report_formats import REPORTS, ReportContext, report
from transom.checklist.judging.rollup import (
    WORST_FIRST,
    BlockItem,
    RollUp,
    block_items,
    open_checks,
    roll_up,
    trend_of,
)
from transom.checklist.judging.verdict import (
    Outcome,
    Verdict,
    Verdicts,
    artifact_bytes,
    printed,
    together,
)
from transom.checklist.judging.verdict_report import (
    headline,
    reason_of,
    summary,
    text_report,
    text_reports,
)
from transom.checklist.judging.verdict_rows import (
    CheckedItem,
    Doubt,
    MadeBy,
    Nearest,
    Note,
    UnusedWaiver,
    Violation,
    WaivedItem,
    WaiverUse,
)
from transom.checklist.judging.waivers import apply_waivers

__all__ = [
    "APPROVAL",
    "CONFIG",
    "REPORTS",
    "UNSAFE",
    "WORST_FIRST",
    "BlockItem",
    "CheckedItem",
    "Doubt",
    "File",
    "GatheredEvidence",
    "Inputs",
    "LoadedChecker",
    "MadeBy",
    "Nearest",
    "Note",
    "Occasion",
    "Outcome",
    "ReportContext",
    "RollUp",
    "Roots",
    "UnusedWaiver",
    "Verdict",
    "Verdicts",
    "Violation",
    "WaivedItem",
    "WaiverUse",
    "achievement",
    "apply_waivers",
    "approve",
    "artifact_bytes",
    "block_items",
    "check_files",
    "classify",
    "field_of",
    "has_field",
    "headline",
    "is_empty",
    "load_checker",
    "open_checks",
    "printed",
    "reason_of",
    "report",
    "roll_up",
    "shortfall",
    "summary",
    "text_report",
    "text_reports",
    "together",
    "trend_of",
]
