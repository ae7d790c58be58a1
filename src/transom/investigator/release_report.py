"""Reports on a release: text, Markdown, HTML, JUnit XML; JSON is the model itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from transom.canonical import pretty_json
from transom.investigator.release import FeatureRow, OwnerTask, ReleaseAssessment
from transom.investigator.report import escaped, page_template, printable

_SIGNS: Final = {"pass": "+", "fail": "-", "unknown": "?", "waived": "~", "not_applicable": "."}
_PAGE_SIGNS: Final = {
    "fail": "✕",
    "unknown": "●",
    "pass": "✓",
    "waived": "~",
    "not_applicable": "–",
}
_WORDS: Final = {
    "pass": "met",
    "fail": "not met",
    "unknown": "not known",
    "waived": "waived",
    "not_applicable": "not applicable",
}


def text_release(release: ReleaseAssessment) -> str:
    """Format a release for a terminal: a row for each feature, worst first."""
    return "\n".join(printable(line) for line in _text_lines(release)) + "\n"


def _text_lines(release: ReleaseAssessment) -> Iterator[str]:
    yield _headline(release)
    yield ""
    columns = criteria_of(release)
    # The names are too long for columns, so the table has their numbers.
    for number, (_, name) in enumerate(columns, 1):
        yield f"  {number:>2} {name}"
    yield ""
    heads = " ".join(f"{number:>2}" for number in range(1, len(columns) + 1))
    yield f"  {'':<17}  {heads}"
    for row in release.features:
        signs = _statuses(row, columns)
        cells = " ".join(f"{_SIGNS.get(status, ' '):>2}" for status in signs)
        count = len(row.caps)
        caps = f"  {count} open point{'s' * (count > 1)}" if count else ""
        yield f"  {row.verdict:<17}  {cells}  {row.feature_id} {row.name}{caps}"
    yield f"  {'':<17}  {'+ met   - not met   ? not known   ~ waived'}"
    yield from _sections(release)


def _sections(release: ReleaseAssessment) -> Iterator[str]:
    tasks = by_owner(release)
    if tasks:
        yield from ("", "Left to do")
    for owner, owned in tasks.items():
        yield f"  {owner}:"
        yield from (f"    - {task.feature_id}: {task.text}" for task in owned)
    if release.changes:
        yield from ("", "Since the last assessment")
        yield from (f"  {change}" for change in release.changes)
    if len(release.trend) > 1:
        yield from ("", "Trend")
        for point in release.trend:
            yield f"  {point.as_of}  {point.ready} of {point.total} ready"


def _headline(release: ReleaseAssessment) -> str:
    ready = sum(row.verdict == "READY" for row in release.features)
    counted = f"{ready} of {len(release.features)} features ready for {release.target_stage}"
    return f"{release.verdict}  {release.name}: {counted}, as of {release.as_of}"


def criteria_of(release: ReleaseAssessment) -> list[tuple[str, str]]:
    """Return the ids and the names of all criteria, in the policy's order."""
    names = dict[str, str]()
    for row in release.features:
        for criterion in row.criteria:
            advisory = "" if criterion.required else " (advisory)"
            # Features of different stages have different criteria; the table has all of them.
            names.setdefault(criterion.id, f"{criterion.name}{advisory}")
    return list(names.items())


def _statuses(row: FeatureRow, columns: Sequence[tuple[str, str]]) -> list[str]:
    # A criterion that does not apply to a feature has an empty cell.
    statuses = {criterion.id: criterion.status for criterion in row.criteria}
    return [str(statuses.get(key, "")) for key, _ in columns]


def by_owner(release: ReleaseAssessment) -> dict[str, list[OwnerTask]]:
    """Return what is left to do, by owner."""
    tasks = dict[str, list[OwnerTask]]()
    for task in release.tasks:
        tasks.setdefault(task.owner, []).append(task)
    return tasks


def markdown_release(release: ReleaseAssessment) -> str:
    """Format a release for a pull request or a chat: the table, and tasks to paste."""
    return "\n".join(_markdown_lines(release)) + "\n"


def _markdown_lines(release: ReleaseAssessment) -> Iterator[str]:
    columns = criteria_of(release)
    yield f"## {escaped(_headline(release))}"
    yield ""
    yield f"| verdict | feature | {' | '.join(escaped(key) for key, _ in columns)} |"
    yield f"|{'---|' * (len(columns) + 2)}"
    for row in release.features:
        cells = [_WORDS.get(status, "") for status in _statuses(row, columns)]
        feature = f"{escaped(row.feature_id)} {escaped(row.name)}"
        yield f"| {row.verdict} | {feature} | {' | '.join(cells)} |"
    for owner, owned in by_owner(release).items():
        yield from ("", f"### Left to do: {escaped(owner)}", "")
        yield from (f"- [ ] {escaped(task.feature_id)}: {escaped(task.text)}" for task in owned)
    if release.changes:
        yield from ("", "### Since the last assessment", "")
        yield from (f"- {escaped(change)}" for change in release.changes)
    if len(release.trend) > 1:
        yield from ("", "### Trend", "", "| day | ready | features |", "|---|---|---|")
        for point in release.trend:
            yield f"| {point.as_of} | {point.ready} | {point.total} |"


def html_release(release: ReleaseAssessment) -> str:
    """Format a self-contained HTML page: the table, tasks by owner, changes, the trend."""
    columns = criteria_of(release)
    rows = [
        (row, {criterion.id: criterion for criterion in row.criteria}) for row in release.features
    ]
    page: str = page_template("release.html").render(
        release=release,
        headline=_headline(release).partition("  ")[2],
        columns=columns,
        rows=rows,
        owners=by_owner(release),
        words=_WORDS,
        signs=_PAGE_SIGNS,
    )
    return page


def junit_release(release: ReleaseAssessment) -> str:
    """Format a release as JUnit XML: a suite for each feature, a case for each criterion."""
    root = Element("testsuites", name=printable(release.name))
    for row in release.features:
        counted = {
            "name": printable(f"{row.feature_id} {row.name}"),
            "tests": str(len(row.criteria) + len(row.caps)),
            "failures": str(len(row.open_criteria) + len(row.caps)),
            "errors": "0",
        }
        suite = SubElement(root, "testsuite", counted)
        for criterion in row.criteria:
            case = SubElement(suite, "testcase", classname=row.feature_id, name=criterion.name)
            if criterion.status in ("pass", "waived", "not_applicable"):
                continue
            # An advisory criterion must not make a CI job red.
            kind = "failure" if criterion.required else "skipped"
            _message(case, kind, f"{_WORDS[criterion.status]}: {criterion.why}")
        # Open points are cases of their own, or a release could be red without a failed case.
        for cap in row.caps:
            case = SubElement(suite, "testcase", classname=row.feature_id, name="open point")
            _message(case, "failure", cap)
    indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}\n"


def _message(case: Any, kind: str, text: str) -> None:
    SubElement(case, kind, message=printable(text))


RELEASE_FORMATS: Final[Mapping[str, Callable[[ReleaseAssessment], str]]] = {
    "text": text_release,
    "json": pretty_json,
    "markdown": markdown_release,
    "html": html_release,
    "junit": junit_release,
}
"""Formats of `transom release --report FORMAT:PATH`."""
