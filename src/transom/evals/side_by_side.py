"""Two evaluations side by side, the scenarios that got worse first, as Markdown or HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from transom.evals.document import Evaluation, ScenarioRow
from transom.evals.scenario_models import Used

HEAD: Final = ("scenario", "status", "verdict", "tokens", "cost", "answer")
_LONGEST_ANSWER: Final = 600
_STYLE: Final = (
    "body{font-family:sans-serif;margin:2rem}table{border-collapse:collapse}"
    "td,th{border:1px solid #999;padding:.3rem .6rem;text-align:left;vertical-align:top}"
    "tr.worse td:first-child{border-left:.4rem solid #b00}"
    "tr.better td:first-child{border-left:.4rem solid #070}"
)
_ORDER: Final = {"worse": 0, "changed": 1, "better": 2, "same": 3}


@dataclass(frozen=True)
class SideBySide:
    """A scenario in both evaluations: `change` is worse, changed, better or same."""

    scenario: str
    change: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def side_by_side(before: Evaluation, after: Evaluation) -> list[SideBySide]:
    """Return all scenarios of two evaluations, those that got worse first."""
    old_rows = {row.id: row for row in before.scenarios}
    new_rows = {row.id: row for row in after.scenarios}
    rows = list[SideBySide]()
    for name in dict.fromkeys([*new_rows, *old_rows]):
        old, new = old_rows.get(name), new_rows.get(name)
        rows.append(SideBySide(name, _change(old, new), _cells(old), _cells(new)))
    # A stable sort keeps the order of the suite within each group.
    return sorted(rows, key=lambda row: _ORDER[row.change])


def markdown_comparison(before: Evaluation, after: Evaluation, names: tuple[str, str]) -> bytes:
    """Return a comparison as Markdown, for a comment on a pull request."""
    lines = [f"# {after.suite}: {names[0]} and {names[1]}", "", *_totals(before, after), ""]
    lines += [f"| {' | '.join((*HEAD[:1], 'change', *HEAD[1:]))} |"]
    lines += ["|---" * (len(HEAD) + 1) + "|"]
    # A pull request's comment is narrow: both values stand in one cell.
    for row in side_by_side(before, after):
        cells = [_pair(old, new) for old, new in zip(row.before, row.after, strict=True)]
        shown = " | ".join(_plain(cell) for cell in (row.scenario, row.change, *cells))
        lines.append(f"| {shown} |")
    return "\n".join([*lines, ""]).encode("utf-8", "replace")


def html_comparison(before: Evaluation, after: Evaluation, names: tuple[str, str]) -> bytes:
    """Return a comparison as one HTML page without scripts."""
    title = html.escape(f"{after.suite}: {names[0]} and {names[1]}")
    columns = [f"{name} in {source}" for name in HEAD[1:] for source in names]
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in (HEAD[0], *columns))
    # A page is wide enough for two columns of each value.
    body = list[str]()
    for row in side_by_side(before, after):
        cells = [row.scenario]
        for old, new in zip(row.before, row.after, strict=True):
            cells += [old, new]
        shown = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        body.append(f'<tr class="{row.change}">{shown}</tr>')
    totals = "".join(f"<p>{html.escape(line)}</p>" for line in _totals(before, after))
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>{totals}"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        "</body></html>\n"
    )
    return page.encode("utf-8", "replace")


def _change(old: ScenarioRow | None, new: ScenarioRow | None) -> str:
    if old is None or new is None:
        return "changed"
    if (old.status == "pass") != (new.status == "pass"):
        return "better" if new.status == "pass" else "worse"
    if old.details.pass_share != new.details.pass_share:
        return "better" if new.details.pass_share > old.details.pass_share else "worse"
    # Equal scores may hide another answer.
    verdicts = [[epoch.verdict for epoch in row.details.epochs] for row in (old, new)]
    return "same" if verdicts[0] == verdicts[1] else "changed"


def _cells(row: ScenarioRow | None) -> tuple[str, ...]:
    """Return status, verdict, tokens, cost and answer of a scenario; dashes if it is missing."""
    if row is None:
        return ("-",) * (len(HEAD) - 1)
    epochs = row.details.epochs
    # Epochs may differ; each verdict is shown once.
    verdicts = ", ".join(dict.fromkeys(str(epoch.verdict) for epoch in epochs))
    total = _total([epoch.used for epoch in epochs])
    # The first answer stands for all; the verdicts tell whether the others differ.
    answer = epochs[0].answer if epochs else ""
    if len(answer) > _LONGEST_ANSWER:
        answer = f"{answer[:_LONGEST_ANSWER]} … ({len(answer)} characters)"
    return row.status, verdicts, str(total.tokens), _cost(total), answer or "-"


def _total(usages: Sequence[Used]) -> Used:
    total = Used()
    for used in usages:
        total += used
    return total


def _cost(used: Used) -> str:
    return "-" if used.cost_usd is None else f"{used.cost_usd:.4f} USD"


def _totals(before: Evaluation, after: Evaluation) -> list[str]:
    lines = list[str]()
    # What stayed equal is shown once.
    for name, old, new in (
        ("passed", before.summary.passed, after.summary.passed),
        ("scenarios", before.summary.total_scenarios, after.summary.total_scenarios),
        ("tokens", before.usage.tokens, after.usage.tokens),
        ("cost", _cost(before.usage), _cost(after.usage)),
    ):
        lines.append(f"{name}: {_pair(str(old), str(new))}")
    return ["; ".join(lines)]


def _pair(old: str, new: str) -> str:
    return new if old == new else f"{old} → {new}"


def _plain(text: str) -> str:
    """Return a text for a cell of a Markdown table."""
    return " ".join(html.escape(text, quote=False).replace("|", "\\|").split())
