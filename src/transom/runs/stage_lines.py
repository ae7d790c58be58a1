"""Describes the stages of runs in words that users of the product know, for lines of progress and
for pages.

The stages of a story are described by `stories.progress`, which knows its attempts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

_ROUND = re.compile(r"spec/round(\d+)_([a-z]+)(\d?)(_observed|_draft)?")
_NUMBERED = re.compile(r"(?P<stage>.+?)(?:#(?P<iteration>\d+))?")
# A stage without words only keeps a record.
_CHECK = {
    "spec/inputs": "",
    "spec/similar": "similar items are looked up",
    "spec/document": "the ItemSpec is put together",
    "build/discover": "the input files are looked through",
    "build/recall": "lessons of earlier builds are looked up",
    "build/parser": "the function that reads the files is written",
    "build/logic": "the functions that judge are written",
    "build/repair_a": "the function that reads the files is corrected",
    "build/repair_b": "the functions that judge are corrected",
    "build/itemspec": "",
    "build/atoms": "the checker is put together",
    "build/config": "",
    "build/checker": "",
    "build/record": "",
    "build/gates": "the gates try the checker",
    "build/answers": "the questions of the gates are answered",
    "build/answered": "",
    "run/verdict": "the checker runs on the input files",
}
_INVESTIGATION = {
    "identify": "the feature of the question is looked up",
    "recall": "earlier assessments are looked up",
    "insights": "insights of earlier investigations are looked up",
    "answer": "",
}
_STUDY = {
    "set-up": "",
    "verification": "the best design is verified",
    "advice/recall": "",
    "advice": "the model looks at the failed designs",
    "reflect": "insights are drawn from the outcomes",
    "report": "the report is written",
}


def describe_check_stage(name: str) -> str:
    """Return the line for a stage of a check: `run/verdict` runs the checker on the files."""
    match = _ROUND.fullmatch(name)
    if match is None:
        return _described(name, _CHECK)
    number, part, section, suffix = match.groups()
    if suffix == "_draft":
        return f"section {section} of the ItemSpec is drafted"
    if suffix:
        return f"section {section} of the ItemSpec is corrected by the real files"
    if part == "section":
        return f"section {section} of the ItemSpec is written"
    return f"the item is analysed (round {number} of the ItemSpec)"


def describe_investigation_stage(name: str) -> str:
    """Return the line for a stage of an investigation: `gather/FILE` reads that file."""
    step, _, key = name.partition("/")
    if step == "gather":
        return f"{unquote(key)} is read"
    if step == "merge":
        return "the summaries are put together"
    return _described(name, _INVESTIGATION)


def describe_study_stage(name: str) -> str:
    """Return the line for a stage of a study; its trials have lines of their own."""
    return _described(name, _STUDY)


def _described(name: str, lines: Mapping[str, str]) -> str:
    """Return the line for a stage, with the number of its iteration."""
    match = _NUMBERED.fullmatch(name)
    assert match is not None
    line = lines.get(match["stage"])
    # A stage that nobody described is shown all the same.
    if line is None:
        return _undescribed(name)
    if line and match["iteration"]:
        return f"{line} (iteration {match['iteration']})"
    return line


def words_of_stage(label: Callable[[str], str] | None, name: str) -> str:
    """Return the words for a stage on a page; "" for a stage that nobody described.

    Args:
        label: how the stages of the run are described, see `LABELS`; None if nothing is known.
        name: the stage.
    """
    words = label(name) if label else ""
    return "" if words == _undescribed(name) else words


def _undescribed(name: str) -> str:
    return f"{name}: working"


LABELS: Mapping[str, Callable[[str], str]] = {
    "check": describe_check_stage,
    "check-build": describe_check_stage,
    "check-run": describe_check_stage,
    "investigate": describe_investigation_stage,
    "study": describe_study_stage,
}
"""How the stages of a run are described, by the kind of the run."""
