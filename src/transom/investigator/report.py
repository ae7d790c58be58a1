"""Reports of an investigation: text, Markdown for a pull request, one HTML file; JSON is the
model itself.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final

from transom.canonical import pretty_json
from transom.investigator.ledger import Evidence
from transom.investigator.measures import words_of
from transom.investigator.result import (
    CriterionResult,
    Investigation,
    Risk,
    Verdict,
    judged_line,
)

_SIGNS: Final = {"pass": "+", "fail": "-", "unknown": "?", "waived": "~", "not_applicable": "."}
_SHOWN: Final = 8
_WIDTH: Final = 80
_MEMORY_BROKEN: Final = (
    "The memory of the workspace is broken: no earlier assessment was compared, or this one was"
    " not stored. `transom doctor` checks the database."
)
_TEMPLATES: Final = Path(__file__).parent / "templates"


def text_report(result: Investigation) -> str:
    """Format a report for a terminal, the verdict first."""
    return "\n".join(part for line in _text_lines(result) for part in _wrapped(line)) + "\n"


def _rules_line(verdict: Verdict) -> str:
    return f"The rules alone judge {verdict}."


def _capped_line(result: Investigation) -> str:
    """Return what the verdict would be without its caps."""
    count = len(result.capped_by)
    return (
        f"Without {count} open {'point' if count == 1 else 'points'} it would be {result.would_be}."
    )


def _wrapped(line: str) -> list[str]:
    """Wrap a line to the terminal's width; longer words stay whole."""
    # Data may hold escapes that would clear the terminal or change its title.
    line = printable(line)
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, **options) or [""]


def _text_lines(result: Investigation) -> Iterator[str]:
    yield from _head_lines(result)
    yield ""
    sources = {row.id: row.source for row in result.evidence}
    for entry in _ordered(result):
        advisory = "" if entry.required else " (advisory)"
        yield f"  {_SIGNS[entry.status]} {entry.name}{advisory}"
        if entry.status == "not_applicable":
            yield f"      not applicable: {entry.why}{_cites(entry.evidence)}"
        elif entry.status != "pass":
            yield f"      {entry.why}{_cites(entry.evidence)}"
        elif result.verdict == "READY" and entry.required:
            yield from _figures(entry, sources)
    # Empty sections are left out: a reader takes a heading for a finding.
    for title, rows in _lists(result):
        yield from _section(title, rows)
    yield from _section("Evidence", _evidence_rows(result), most=24)
    if result.changed_since:
        yield from ("", f"Since the last time: {result.changed_since}")
    read = f"{len(result.sub_conversations)} sources read"
    if result.usage.input_tokens:
        read += f", {result.usage.input_tokens} tokens in, {result.usage.output_tokens} out"
    yield from ("", read)


def _head_lines(result: Investigation) -> Iterator[str]:
    """Yield the verdict, with every reason why it is another than the rules alone give."""
    yield f"{result.verdict}  {result.feature_name} ({result.feature_id}) for {result.target_stage}"
    stage = result.current_stage or "unknown"
    yield f"  stage {stage} ({result.stage_fit}), confidence {result.confidence:.0%}"
    if result.data_quality:
        yield f"  data: {result.data_quality}"
    judgement = result.judgement
    if judgement is not None:
        yield f"  judged {judgement.verdict} by {judgement.by}: {judgement.reason}"
    if result.rules_verdict is not None:
        yield f"  {_rules_line(result.rules_verdict)}"
    if result.would_be is not None:
        yield f"  {_capped_line(result)}"
    if words := _in_words(result):
        yield from ("", *(f"  {line}" for line in words))


def _figures(criterion: CriterionResult, sources: Mapping[str, str]) -> Iterator[str]:
    """Yield what a criterion that is met rests on: its figures, and their files."""
    names = dict.fromkeys(sources[key] for key in criterion.evidence if key in sources)
    # Some reasons name their file themselves.
    files = ", ".join(name for name in names if name not in criterion.why)
    text = " ".join(part for part in (criterion.why, f"({files})" if files else "") if part)
    if text:
        yield f"      {text}"


def _evidence_rows(result: Investigation) -> list[str]:
    """Return the evidence of the criteria that do not hold; the JSON report has all of it."""
    cited = set[str]()
    for criterion in result.criteria:
        if criterion.status not in ("pass", "not_applicable"):
            cited.update(criterion.evidence)
    rows = []
    for row in result.evidence:
        if row.id in cited:
            rows.append(f"{row.id} {_place(row.source, row.locator)}: {row.quote or row.value}")
    return rows


def _lists(result: Investigation) -> list[tuple[str, list[str]]]:
    """Return the sections below the criteria, by title; empty ones are not shown."""
    steering = [
        f'{_place(attempt.source, attempt.locator)}: "{attempt.quote}"'
        for attempt in result.injection_attempts
    ]
    waivers = [
        f"{waiver.criterion} by {waiver.approver} until {waiver.expires}:"
        f" {'applied' if waiver.applied else waiver.why}"
        for waiver in result.waivers
    ]
    memory = [_MEMORY_BROKEN] if result.memory_status == "broken" else []
    return [
        (
            "Risks",
            [
                f"{risk.severity}: {risk.text}{_cites(risk.evidence)}"
                for risk in _further_risks(result)
            ],
        ),
        (
            "Contradictions",
            [
                f"{contradiction.text}{_cites(contradiction.evidence)}"
                for contradiction in result.contradictions
            ],
        ),
        ("Text that addresses the reader", steering),
        ("Not supported", [f"{claim.text} ({claim.why})" for claim in result.unsupported_claims]),
        ("What holds it back", [f"{cap.rule}: {cap.text}" for cap in result.capped_by]),
        (
            "Not read",
            [f"{unread_source.source}: {unread_source.why}" for unread_source in result.unread],
        ),
        ("Waivers", waivers),
        ("Memory", memory),
        ("Questions", result.questions),
    ]


def _section(title: str, rows: list[str], most: int = _SHOWN) -> Iterator[str]:
    if rows:
        yield from ("", title)
        yield from (f"  {' '.join(row.split())}" for row in rows[:most])
        if len(rows) > most:
            yield f"  ... and {len(rows) - most} more in the JSON report"


def _ordered(result: Investigation) -> list[CriterionResult]:
    order = ("fail", "unknown", "waived", "pass", "not_applicable")
    return sorted(
        result.criteria, key=lambda entry: (not entry.required, order.index(entry.status))
    )


def _in_words(result: Investigation) -> list[str]:
    """Return the justification's lines; none if the rules only restate the criteria."""
    # The rules' own words repeat the list of criteria below them.
    lines = result.justification.splitlines()
    if lines[:1] == [judged_line(result)]:
        return []
    return lines


def _further_risks(result: Investigation) -> list[Risk]:
    """Return the risks that do not just repeat a criterion."""
    criterion_risks = {f"{criterion.name}: {criterion.why}" for criterion in result.criteria}
    further_risks = list[Risk]()
    for risk in result.risks:
        if risk.text not in criterion_risks:
            further_risks.append(risk)
    return further_risks


def _place(source: str, locator: str) -> str:
    """Return a place for readers, a JSON pointer without its escapes."""
    if locator:
        return f"{source}#{locator.replace('~1', '/').replace('~0', '~')}"
    return source


def _called(row: Evidence) -> str:
    """Return the name of a ledger entry: `Jira status: LEND-118`."""
    if row.measure.startswith("performance.") and row.label:
        return row.label
    return ": ".join(part for part in (words_of(row.measure), row.label) if part)


def _cites(ids: list[str]) -> str:
    if ids:
        return f" [{', '.join(ids[:6])}]"
    return ""


def markdown_report(result: Investigation) -> str:
    """Format a report for a pull request."""
    return "\n".join(_markdown_lines(result)) + "\n"


def _markdown_lines(result: Investigation) -> Iterator[str]:
    yield f"## {result.verdict}: {escaped(result.feature_name)} for {result.target_stage}"
    yield ""
    yield (
        f"Stage {result.current_stage or 'unknown'} ({result.stage_fit}), confidence"
        f" {result.confidence:.0%}."
    )
    if result.judgement is not None:
        judgement = result.judgement
        judgement_text = f"{judgement.by}: {judgement.reason}"
        yield from ("", f"**{judgement.verdict}**, judged by {escaped(judgement_text)}")
    if result.rules_verdict is not None:
        yield from ("", escaped(_rules_line(result.rules_verdict)))
    if result.would_be is not None:
        yield from ("", escaped(_capped_line(result)))
    yield from (part for line in _in_words(result) for part in ("", escaped(line)))
    yield from ("", "| | criterion | why | evidence |", "|---|---|---|---|")
    for criterion in _ordered(result):
        advisory = " (advisory)"
        if criterion.required:
            advisory = ""
        yield (
            f"| {criterion.status} | {escaped(criterion.name)}{advisory} |"
            f" {escaped(criterion.why)} | {', '.join(criterion.evidence[:6])} |"
        )
    for title, rows in _lists(result):
        if rows:
            yield from ("", f"### {title}", "", *(f"- {escaped(row)}" for row in rows[:20]))
    yield from _markdown_sources(result)
    yield from (
        "",
        "<details><summary>Evidence</summary>",
        "",
        "| id | place | value | quote |",
        "|---|---|---|---|",
    )
    for row in result.evidence[:100]:
        place = _place(row.source, row.locator).replace("`", "'").replace("|", "/")
        yield f"| {row.id} | `{place}` | {escaped(row.value)[:80]} | {escaped(row.quote)[:120]} |"
    yield from ("", "</details>")


def _markdown_sources(result: Investigation) -> Iterator[str]:
    """Yield the table of all files of the feature."""
    yield from ("", "<details><summary>Files</summary>", "")
    yield from (
        "| file | taken for | tool | made | subject | not used |",
        "|---|---|---|---|---|---|",
    )
    for use in result.sources:
        subject = ", ".join(f"{facet} {' / '.join(names)}" for facet, names in use.subject.items())
        cells = (use.source, use.taken_for, use.tool, use.made, subject, use.reason)
        yield f"| {' | '.join(escaped(cell) for cell in cells)} |"
    yield from ("", "</details>")


def escaped(text: str) -> str:
    """Escape Markdown and HTML in a text of the data."""
    # An at sign would notify people of a pull request.
    escaped_text = (
        escape(" ".join(text.split()), quote=False).replace("`", "'").replace("@", "@\u200b")
    )
    return printable(re.sub(r"([\\|\[\]*_])", r"\\\1", escaped_text))


def printable(text: str) -> str:
    """Replace control characters, which could steer a terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def html_report(result: Investigation) -> str:
    """Format a self-contained HTML page: verdict, criteria, evidence in context, sources, cost."""
    page: str = page_template("investigation.html").render(result=result, **page_parts(result))
    return page


def page_parts(result: Investigation) -> dict[str, Any]:
    """Return what a page shows of an investigation beside its own fields, by name."""
    return {
        "place": _place,
        "called": _called,
        "ordered": _ordered(result),
        "evidence": {entry.id: entry for entry in result.evidence},
        "risks": _further_risks(result),
        "words": _in_words(result),
        "memory": _MEMORY_BROKEN if result.memory_status == "broken" else "",
        "rules_line": _rules_line(result.rules_verdict) if result.rules_verdict else "",
    }


@cache
def page_template(name: str) -> Any:
    """Return a template of this room by its file name."""
    # Imported here since only a page needs it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    around = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    return around.get_template(name)


FORMATS: Final[Mapping[str, Callable[[Investigation], str]]] = {
    "text": text_report,
    "json": pretty_json,
    "markdown": markdown_report,
    "html": html_report,
}
"""Formats of `--report FORMAT:PATH`."""
