"""The verdict of a check as a page shows it, with the lines that decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transom.checklist.judging import Verdict
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.checklist.judging.verdict_rows import CheckedItem
from transom.formats.html_report import SourceLine, context_lines
from transom.runs.history import RunView
from transom.runs.summarising import RunRow
from transom.server.site import Site

_MOST_ENTRIES = 100
"""Entries of one sort that a page shows; what is left out is counted."""
# The groups that are folded: a reader looks for what is wrong.
_GOOD = ("holds", "found")


@dataclass(frozen=True)
class VerdictEntry:
    """An entry of a verdict with the lines around its line; without lines if the file is not there
    any more.
    """

    item: CheckedItem
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True)
class EntryGroup:
    """Entries of one sort, e.g. the violations.

    Attributes:
        is_good: whether they speak for the item, and are folded.
        hidden: how many are not shown.
    """

    name: str
    is_good: bool
    entries: tuple[VerdictEntry, ...]
    hidden: int


def verdict_of(site: Site, row: RunRow) -> Verdict | None:
    """Return the verdict of a run; None if it has none."""
    folder = site.runs.workspace.run_folder(row.name, row.id)
    path = folder / "run" / "verdict" / VERDICT_FILE
    return Verdict.model_validate_json(path.read_bytes()) if path.is_file() else None


def groups_of(verdict: Verdict, inputs: list[Path]) -> list[EntryGroup]:
    """Return the entries of a verdict, the gravest first.

    Args:
        inputs: the files that it read, as far as they are there; no other file is shown.
    """
    groups: list[EntryGroup] = []
    for name, items in verdict.entries.items():
        if not items:
            continue
        entries = [VerdictEntry(item, _lines_of(item, inputs)) for item in items[:_MOST_ENTRIES]]
        hidden = max(0, len(items) - _MOST_ENTRIES)
        groups.append(EntryGroup(name, name in _GOOD, tuple(entries), hidden))
    return groups


def _lines_of(item: CheckedItem, inputs: list[Path]) -> tuple[SourceLine, ...]:
    number = item.line_number
    if item.source_file is None or number is None:
        return ()
    for path in inputs:
        # A verdict names its files relative to a root.
        if path.as_posix().endswith(f"/{item.source_file}"):
            lines = context_lines(path, [number]).get(number, ())
            # The file may have changed since: then its lines are no evidence any more.
            first, _, _ = item.matched_content.partition("\n")
            if any(line.number == number and first.strip() in line.text for line in lines):
                return lines
    return ()


def inputs_of(run: RunView, verdict: Verdict) -> list[Path]:
    """Return the files that a verdict read, as far as they are where the command found them."""
    item = Path(str(run.row.inputs.get("item", "")))
    options = run.state.entry.get("given", {})
    # The same places as the command: the item's folder, the roots, the values of variables.
    folders = [item.parent, *map(Path, options.get("roots") or ())]
    folders += [Path(text.partition("=")[2]) for text in options.get("variables") or ()]
    working_folder = Path(run.state.entry.get("cwd") or item.parent)
    paths: list[Path] = []
    for entry in verdict.inputs:
        candidates = [working_folder / folder / entry.path for folder in folders]
        paths += [path for path in candidates if path.is_file()][:1]
    return paths
