"""Verdicts in outside formats: JUnit for build servers, SARIF for code hosts, CSV for spreadsheets, HTML for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from transom import __version__
from transom.canonical import pretty_json
from transom.checklist.run.report import at, headline, text_report, text_reports
from transom.checklist.run.verdict import CheckedItem, Trouble, Verdict, Verdicts, Violation, WaivedItem, Warned
from transom.formats.csv_report import csv_report
from transom.formats.html_report import Entry, Line, Page, Part, Section, Table, Tone, context_lines, html_report
from transom.formats.junit_report import JUnitCase, Result, junit_report
from transom.formats.sarif_report import SarifResult, SarifRule, State, sarif_report

Folders: TypeAlias = Sequence[Path]
"""Where the files that a verdict names may lie."""

SHOWN = 500
"""Entries of one kind on a page; JSON and CSV list all."""

_RESULTS: dict[int, Result] = {0: "passed", 1: "failed"}
_TONES: dict[int, Tone] = {0: "good", 1: "bad", 2: "bad", 3: "warn"}
_KINDS: dict[str, Tone] = {
    "violations": "bad",
    "missing": "bad",
    "not wanted": "bad",
    "known": "warn",
    "waived": "warn",
    "holds": "good",
    "found": "good",
}
_HEAD = (
    "item", "status", "kind", "id", "name", "value", "file", "line", "reason", "waiver", "because", "owner", "expires",
)  # fmt: skip


def report(kind: str, document: Verdict | Verdicts, folders: Folders = ()) -> bytes:
    """One verdict or several as a report; `kind` is a key of `REPORTS`.

    Args:
        kind: the format.
        document: what was found.
        folders: HTML shows evidence between its neighbours where the file still says what it said.
    """
    return REPORTS[kind](document, folders)


def _checks(document: Verdict | Verdicts) -> tuple[Verdict, ...]:
    return document.checks if isinstance(document, Verdicts) else (document,)


def _json(document: Verdict | Verdicts, _: Folders) -> bytes:
    return pretty_json(document).encode("utf-8", "backslashreplace")


def _text(document: Verdict | Verdicts, _: Folders) -> bytes:
    text = text_reports(document) if isinstance(document, Verdicts) else text_report(document)
    return text.encode("utf-8", "backslashreplace")


def _junit(document: Verdict | Verdicts, _: Folders) -> bytes:
    return junit_report("transom check", [_case(one) for one in _checks(document)])


def _case(verdict: Verdict) -> JUnitCase:
    """One case an item: what is in doubt, or waits, is an error there, since only PASS may look like one."""
    whole = text_report(verdict)
    result = _RESULTS.get(verdict.exit_code, "error")
    headline = " ".join(whole.partition("\n")[0].split())
    told = [f"known: {_title(one)}" for one in verdict.known_items]
    told += [f"waived: {_title(one)}: {one.waiver.reason or 'no reason given'}" for one in verdict.waived]
    failed = result != "passed"
    return JUnitCase(
        verdict.item_id,
        "transom.check",
        result,
        headline if failed else "",
        whole if failed else "",
        verdict.seconds or 0.0,
        "\n".join(told),
    )


def _sarif(document: Verdict | Verdicts, _: Folders) -> bytes:
    checks = _checks(document)
    rules: dict[str, SarifRule] = {}
    results: list[SarifResult] = []
    for verdict in checks:
        for result, text in _sarif_results(verdict):
            rules.setdefault(result.rule, SarifRule(result.rule, text))
            results.append(result)
    errors = [f"{one.item_id}: {at(row)}{row.message}" for one in checks for row in one.errors]
    return sarif_report(__version__, list(rules.values()), results, errors)


def _sarif_results(verdict: Verdict) -> Iterator[tuple[SarifResult, str]]:
    """Results, each with what its rule is about."""
    if verdict.exit_code == 3:  # a person or a model is needed; what was found so far follows
        words = ", ".join(repr(one.text) for one in verdict.needs_model)
        message = f"{verdict.item_id} waits for a person or a model" + (f": not understood: {words}" if words else "")
        yield SarifResult(verdict.item_id, message, "open" if words else "review"), verdict.item_id
    known = set(map(id, verdict.known_items))
    for one in (*verdict.missing_items, *verdict.extra_items, *verdict.known_items, *verdict.waived):
        rule = f"{verdict.item_id}/{one.id}"
        because = (one.waiver.reason or f"waived by {one.waiver.pattern}") if isinstance(one, WaivedItem) else None
        message = f"{_title(one)}: {one.reason}"
        place = (one.source_file, one.line_number, one.matched_content)
        state: State | None = (
            None if verdict.baseline is None or because else "unchanged" if id(one) in known else "new"
        )
        yield SarifResult(rule, message, "fail", *place, because, state), one.name


def _csv(document: Verdict | Verdicts, _: Folders) -> bytes:
    rows = (row for verdict in _checks(document) for row in _rows(verdict))
    return csv_report(_HEAD, ([row.get(name) for name in _HEAD] for row in rows))


def _rows(verdict: Verdict) -> Iterator[dict[str, object]]:
    """A row an entry, or one without an entry, so that no item is lost."""
    rows: list[dict[str, object]] = []
    for kind, entries in verdict.entries.items():
        for one in entries:
            rows.append({"kind": kind, "id": one.id, "name": one.name, "value": one.value, "reason": one.reason})
            rows[-1] |= {"file": one.source_file, "line": one.line_number}
            if isinstance(one, WaivedItem):
                use = one.waiver
                told = {"waiver": use.pattern, "because": use.reason, "owner": use.owner, "expires": use.expires}
                rows[-1] |= told
    for row in verdict.errors:
        rows.append({"kind": "error", "file": row.source_file, "line": row.line_number, "reason": row.message})
    words = [f"not understood: {one.text}" for one in verdict.needs_model] or [one.message for one in verdict.warnings]
    for made in rows or [{"reason": "; ".join(words)}]:
        yield {"item": verdict.item_id, "status": verdict.counted_as, **made}


def _html(document: Verdict | Verdicts, folders: Folders) -> bytes:
    checks = _checks(document)
    title = f"Checks: {len(checks)} items" if len(checks) != 1 else f"Check {checks[0].item_id}"
    footer = " · ".join([f"transom {__version__}", *dict.fromkeys(f"as of {one.as_of}" for one in checks)])
    return html_report(Page(title, tuple(_part(one, folders) for one in checks), footer))


def _part(verdict: Verdict, folders: Folders) -> Part:
    context = _context(verdict, folders)
    errors, doubts = (
        _notes("bad", verdict.errors),
        tuple(Entry(one.message, "warn", one.gate) for one in verdict.doubted),
    )
    first = (("Errors", errors), ("Doubted", doubts))
    sections = [Section(f"{title} ({len(rows)})", entries=rows) for title, rows in first if rows]
    words = tuple(Entry(f"not understood: {one.text}", "warn", one.where) for one in verdict.needs_model)
    sections += [Section("Waits for a model or a person", entries=words)] if words else []
    for kind, there in verdict.entries.items():
        if there:
            shown = tuple(_entry(one, _KINDS[kind], context) for one in there[:SHOWN])
            more = f"{len(there) - SHOWN} more are in the JSON and CSV reports." if len(there) > SHOWN else ""
            title = f"{kind.capitalize()} ({len(there)})"
            sections.append(Section(title, more, shown, closed=_KINDS[kind] == "good" and verdict.exit_code == 1))
    unused = tuple(Entry(one.pattern, "warn", note=one.why) for one in verdict.unused_waivers)
    notes = (("Unused waivers", unused), ("Warnings", _notes("warn", verdict.warnings)))
    sections += [Section(f"{title} ({len(rows)})", entries=rows) for title, rows in notes if rows]
    if verdict.inputs:
        read = tuple((one.path, str(one.lines), str(one.bytes), one.sha256) for one in verdict.inputs)
        sections.append(Section("Read", table=Table(("file", "lines", "bytes", "sha256"), read), closed=True))
    whole = text_report(verdict).rstrip("\n").split("\n")
    made = Section("How it was made", whole[-1], closed=True)
    return Part(
        verdict.item_id, headline(verdict)[0], _TONES[verdict.exit_code], " ".join(whole[0].split()), (*sections, made)
    )


def _entry(one: CheckedItem, tone: Tone, context: Mapping[tuple[str, int], tuple[Line, ...]]) -> Entry:
    place = at(one).removesuffix(": ")
    lines = context.get((one.source_file or "", one.line_number or 0), ())
    first = one.matched_content.strip().partition("\n")[0]
    if not any(line.marked and first in line.text for line in lines):  # the file is gone, or another one by now
        lines = (Line(one.line_number, one.matched_content, marked=True),) if first and one.line_number else ()
    facts: list[tuple[str, str]] = []
    if isinstance(one, WaivedItem):
        use = one.waiver
        told = (("waived by", use.pattern), ("because", use.reason), ("owner", use.owner), ("until", use.expires))
        facts = [(name, value) for name, value in told if value]
    elif isinstance(one, Violation) and one.nearest and one.nearest.source_file:
        near = one.nearest
        facts = [("nearest", f"{at(near)}{near.content}"), ("why not", near.why_not)]
    return Entry(_title(one), tone, place, one.reason, tuple(facts), lines)


def _notes(tone: Tone, rows: Sequence[Trouble | Warned]) -> tuple[Entry, ...]:
    return tuple(Entry(row.message, tone, at(row).removesuffix(": ")) for row in rows)


def _context(verdict: Verdict, folders: Folders) -> dict[tuple[str, int], tuple[Line, ...]]:
    """(file, line) -> the line between its neighbours; each file is read once."""
    wanted: dict[str, set[int]] = {}
    for entries in verdict.entries.values():
        for one in entries[:SHOWN]:
            if one.source_file and one.line_number:
                wanted.setdefault(one.source_file, set()).add(one.line_number)
    found: dict[tuple[str, int], tuple[Line, ...]] = {}
    for name, numbers in wanted.items():
        path = next((folder / name for folder in folders if (folder / name).is_file()), None)
        if path:
            found |= {(name, number): lines for number, lines in context_lines(path, numbers).items()}
    return found


def _title(one: CheckedItem) -> str:
    return f"{one.id} {one.name}" + (f": {one.value}" if one.value else "")


REPORTS: Mapping[str, Callable[[Verdict | Verdicts, Folders], bytes]] = {
    "json": _json,
    "text": _text,
    "junit": _junit,
    "sarif": _sarif,
    "csv": _csv,
    "html": _html,
}
"""Every format that `--report` takes."""
