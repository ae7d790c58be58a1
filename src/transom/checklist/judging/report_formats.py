"""Verdicts in outside formats: JUnit for build servers, SARIF for code hosts, CSV for
spreadsheets, HTML for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from transom import __version__
from transom.canonical import pretty_json
from transom.checklist.judging.rollup import BlockItem, roll_up
from transom.checklist.judging.verdict import Verdict, Verdicts, together
from transom.checklist.judging.verdict_report import (
    ended_acceptance,
    headline,
    part_of,
    summary,
    text_report,
    text_reports,
    title_of,
    tone_of,
)
from transom.checklist.judging.verdict_rows import WaivedItem
from transom.formats.csv_report import csv_report
from transom.formats.html_report import html_report
from transom.formats.junit_report import ReportedCase, Result, junit_report
from transom.formats.report_page import Page, PageTable, Tone, place
from transom.formats.sarif_report import SarifResult, SarifRule, State, sarif_report

Checks: TypeAlias = Sequence[Verdict]
Folders: TypeAlias = Sequence[Path]
"""Folders in which the files that a verdict names may lie."""


@dataclass(frozen=True)
class ReportContext:
    """What a report shows beside the verdicts.

    Attributes:
        folders: where a page finds the files of evidence, to show it between its neighbours.
        descriptions: item id -> its description.
        places: the block and the item of each verdict, for a table of both.
        trend: how the verdicts changed since an earlier result, in one line.
    """

    folders: Folders = ()
    descriptions: Mapping[str, str] = field(default_factory=dict)
    places: tuple[BlockItem, ...] = ()
    trend: str = ""


_RESULTS: dict[int, Result] = {0: "passed", 1: "failed"}
_HEAD = (
    "item",
    "status",
    "kind",
    "id",
    "name",
    "value",
    "file",
    "line",
    "reason",
    "waiver",
    "because",
    "owner",
    "expires",
    "block",
    "description",
)


def report(kind: str, document: Verdict | Verdicts, context: ReportContext | None = None) -> bytes:
    """Return one verdict or several as one of `REPORTS`."""
    # Bytes that are no characters come from logs, and a report must not fail on them.
    context = context or ReportContext()
    if kind == "json":
        return pretty_json(document).encode("utf-8", "backslashreplace")
    if kind == "text":
        descriptions = context.descriptions
        if isinstance(document, Verdicts):
            text = text_reports(document, questions=descriptions)
        else:
            text = text_report(document, question=descriptions.get(document.item_id, ""))
        if context.trend:
            text += f"{context.trend}\n"
        return text.encode("utf-8", "backslashreplace")
    checks = document.checks if isinstance(document, Verdicts) else (document,)
    if kind == "html":
        return _html(checks, context)
    return _WRITERS[kind](checks, context)


def _junit(checks: Checks, context: ReportContext) -> bytes:
    cases = [_case(verdict, context.descriptions.get(verdict.item_id, "")) for verdict in checks]
    return junit_report("transom check", cases)


def _case(verdict: Verdict, question: str) -> ReportedCase:
    """Return the case of an item.

    An item that waits or is in doubt is an error, since only PASS may look like one. An item that a
    person accepts unchecked is skipped.
    """
    report = text_report(verdict, question=question)
    result = _RESULTS.get(verdict.exit_code, "error")
    if verdict.is_accepted:
        result = "skipped"
    remarks = [question] if question else []
    for entry in verdict.known_items:
        remarks.append(f"known: {title_of(entry)}")
    for entry in verdict.waived:
        remarks.append(f"waived: {title_of(entry)}: {entry.waiver.reason or 'no reason given'}")
    why = (" ".join(report.partition("\n")[0].split()), report) if result != "passed" else ("", "")
    return ReportedCase(
        verdict.item_id, "transom.check", result, *why, verdict.seconds or 0.0, "\n".join(remarks)
    )


def _sarif(checks: Checks, context: ReportContext) -> bytes:
    rules: dict[str, SarifRule] = {}
    results: list[SarifResult] = []
    for verdict in checks:
        for result, text in _sarif_results(verdict):
            # A code host shows the description of a rule beside each result.
            text = context.descriptions.get(result.rule, text)
            rules.setdefault(result.rule, SarifRule(result.rule, text))
            results.append(result)
    rows = []
    for verdict in checks:
        for row in verdict.errors:
            rows.append((verdict.item_id, place(row.source_file, row.line_number), row.message))
    errors = [": ".join(filter(None, row)) for row in rows]
    return sarif_report(__version__, list(rules.values()), results, errors)


def _sarif_results(verdict: Verdict) -> Iterator[tuple[SarifResult, str]]:
    """Yield results, each with what its rule is about."""
    words = ", ".join(repr(phrase.text) for phrase in verdict.needs_model)
    kind: Literal["open", "review"] = "open" if words else "review"
    if verdict.acceptance and verdict.is_accepted:
        _, message = headline(verdict)
        yield SarifResult(verdict.item_id, message, kind, suppressed=message), verdict.item_id
    elif verdict.exit_code == 3:  # a person or a model is needed; what was found so far follows
        clauses = [f"{verdict.item_id} waits for a person or a model"]
        if words:
            clauses.append(f"not understood: {words}")
        for cap in verdict.capped_by:
            clauses.append(f"held back: {cap.text}")
        clauses += ended_acceptance(verdict)
        yield SarifResult(verdict.item_id, ": ".join(clauses), kind), verdict.item_id
    known_ids = set(map(id, verdict.known_items))
    for entry in (
        *verdict.missing_items,
        *verdict.extra_items,
        *verdict.known_items,
        *verdict.waived,
    ):
        if isinstance(entry, WaivedItem):
            because = entry.waiver.reason or f"waived by {entry.waiver.pattern}"
        else:
            because = None
        place = (entry.source_file, entry.line_number, entry.matched_content)
        state: State | None
        if verdict.baseline is None or because:
            state = None
        elif id(entry) in known_ids:
            state = "unchanged"
        else:
            state = "new"
        rule, message = f"{verdict.item_id}/{entry.id}", f"{title_of(entry)}: {entry.reason}"
        yield SarifResult(rule, message, "fail", *place, because, state), entry.name


def _csv(checks: Checks, context: ReportContext) -> bytes:
    lines = list[list[object]]()
    for number, verdict in enumerate(checks):
        added: dict[str, object] = {"description": context.descriptions.get(verdict.item_id, "")}
        if context.places:
            added["block"] = context.places[number].block
        for row in _rows(verdict):
            cells = {**row, **added}
            lines.append([cells.get(name) for name in _HEAD])
    return csv_report(_HEAD, lines)


def _rows(verdict: Verdict) -> Iterator[dict[str, object]]:
    """Yield a row for each entry, or a row without an entry, so that no item is lost."""
    rows: list[dict[str, object]] = []
    for kind, entries in verdict.entries.items():
        for entry in entries:
            rows.append(
                {
                    "kind": kind,
                    "id": entry.id,
                    "name": entry.name,
                    "value": entry.value,
                    "reason": entry.reason,
                }
            )
            rows[-1] |= {"file": entry.source_file, "line": entry.line_number}
            if isinstance(entry, WaivedItem):
                use = entry.waiver
                columns = {
                    "waiver": use.pattern,
                    "because": use.reason,
                    "owner": use.owner,
                    "expires": use.expires,
                }
                rows[-1] |= columns
    for row in verdict.errors:
        rows.append(
            {
                "kind": "error",
                "file": row.source_file,
                "line": row.line_number,
                "reason": row.message,
            }
        )
    # An item without entries still has to say why in its only row.
    words = [f"not understood: {phrase.text}" for phrase in verdict.needs_model]
    for cap in verdict.capped_by:
        words.append(f"held back: {cap.text}")
    words = words or [warning.message for warning in verdict.warnings]
    alone: dict[str, object] = {"reason": "; ".join([*ended_acceptance(verdict), *words])}
    if verdict.acceptance and verdict.is_accepted:
        acceptance = verdict.acceptance
        alone = {
            "kind": "not checked",
            "reason": "; ".join([acceptance.sentence, *words]),
            "because": acceptance.reason,
            "owner": acceptance.by,
            "expires": acceptance.until,
        }
    for columns_of_row in rows or [alone]:
        yield {"item": verdict.item_id, "status": verdict.counted_as, **columns_of_row}


def _html(checks: Checks, context: ReportContext) -> bytes:
    title = f"Checks: {len(checks)} items" if len(checks) != 1 else f"Check {checks[0].item_id}"
    footer = " · ".join(
        [f"transom {__version__}", *dict.fromkeys(f"as of {verdict.as_of}" for verdict in checks)]
    )
    parts = [part_of(verdict, context.descriptions.get(verdict.item_id, "")) for verdict in checks]
    totals = summary(together(checks))
    table = _table_of_blocks(checks, context)
    page = Page(title, tuple(parts), footer, totals, context.trend, table)
    return html_report(page, context.folders)


def _table_of_blocks(checks: Checks, context: ReportContext) -> PageTable | None:
    """Return the table of blocks and items, or None if there is only one block."""
    table = roll_up(checks, context.places) if context.places else None
    if table is None:
        return None
    rows = list[tuple[tuple[str, Tone | None], ...]]()
    for row in table.rows:
        cells: list[tuple[str, Tone | None]] = [(row.block, None)]
        for status in row.statuses:
            cells.append((status or "", tone_of(status) if status else None))
        rows.append((*cells, (row.totals, None)))
    return PageTable(("Block", *table.items, ""), tuple(rows))


_WRITERS: Mapping[str, Callable[[Checks, ReportContext], bytes]] = {
    "junit": _junit,
    "sarif": _sarif,
    "csv": _csv,
}
REPORTS = ("json", "text", *_WRITERS, "html")
"""Every format that `--report` takes."""
