"""Coverage reports, recognised by content: coverage.py, Istanbul, Cobertura, JaCoCo, Clover, lcov.

coverage.py's `percent_covered` includes branches if they were measured, so the share of statements
is computed from its own counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element

from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.json_tree import members_of
from transom.formats.xml_paths import child_path, tag_of

# Two figures of one share differ by less if they are only rounded in different places.
_CLOSE = 0.02


@dataclass(frozen=True)
class CoverageShare:
    """A measured share in percent.

    Attributes:
        percent: 0..100.
        locator: place of the value that it is read from: a JSON pointer or a path of `xml_paths`.
        over: place of the divisor, if the report has only counts.
    """

    percent: float
    locator: str
    over: str = ""


@dataclass(frozen=True)
class Coverage:
    """The measured shares of a report; None for a share that was not measured.

    Attributes:
        tool: the tool's name, or the name of its format.
        problems: what the report says against its shares, each with its place.
    """

    statements: CoverageShare | None
    branches: CoverageShare | None
    tool: str = ""
    problems: tuple[tuple[str, str], ...] = ()


def read_coverage_json(data: Any) -> Coverage | None:
    """Read coverage.py, Istanbul's summary or LLVM's export; None if it is something else."""
    match data:
        case {
            "totals": {"covered_lines": int(covered), "num_statements": int(of), **totals},
            "files": dict(),
        }:
            return Coverage(
                _share(covered, of, "/totals/covered_lines", "/totals/num_statements"),
                _share(
                    totals.get("covered_branches"),
                    totals.get("num_branches"),
                    "/totals/covered_branches",
                    "/totals/num_branches",
                ),
                "coverage.py",
            )
        # Istanbul writes shares of statements, too; lines are what other tools report.
        case {"total": {"lines": {"total": _, "covered": _}} as total}:
            coverage = _of_parts(total, "/total", "total", "Istanbul")
            return replace(coverage, problems=tuple(_ignored_lines(members_of(total["lines"]))))
        case {"type": "llvm.coverage.json.export", "data": [{"totals": dict(total)}, *_]}:
            return _of_parts(total, "/data/0/totals", "count", "LLVM")
    return None


def _ignored_lines(lines: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield that comments in the source exclude more lines than the share is of."""
    skipped, counted = lines.get("skipped"), lines.get("total")
    if isinstance(skipped, int) and isinstance(counted, int) and skipped > counted:
        yield f"{skipped} lines are ignored, {counted} are counted", "/total/lines/skipped"


def _of_parts(total: dict[str, Any], place: str, of: str, tool: str) -> Coverage:
    """Return the shares of counts by part: `lines: {total: 40, covered: 30}`."""
    shares = list[CoverageShare | None]()
    for part in ("lines", "branches"):
        counts = total.get(part)
        row = members_of(counts)
        top = f"{place}/{part}"
        shares.append(_share(row.get("covered"), row.get(of), f"{top}/covered", f"{top}/{of}"))
    return Coverage(shares[0], shares[1], tool)


def read_coverage_xml(root: Element) -> Coverage | None:
    """Read Cobertura, JaCoCo, Clover or OpenCover; None if it is something else."""
    tag = tag_of(root)
    if tag == "coverage" and root.get("line-rate") is not None:
        return read_cobertura(root)
    if tag == "coverage":
        return _clover(root)
    if tag == "report" and any(tag_of(child) == "counter" for child in root):
        return _jacoco(root)
    if tag == "CoverageSession":
        return _open_cover(root)
    return None


def _jacoco(root: Element) -> Coverage:
    """Return the shares of the counters of the whole report; JaCoCo counts what was missed."""
    shares = dict[str, CoverageShare | None]()
    for counter in root:
        covered = _count(counter, "covered")
        missed = _count(counter, "missed")
        if tag_of(counter) == "counter" and covered is not None and missed is not None:
            place = child_path("/report", root, counter)
            # A module without branches has a counter of 0 and 0.
            total = covered + missed
            share = CoverageShare(100 * covered / total, f"{place}/@covered") if total else None
            shares[counter.get("type", "")] = share
    return Coverage(shares.get("LINE"), shares.get("BRANCH"), "JaCoCo")


def _clover(root: Element) -> Coverage | None:
    """Return the shares of Clover's project, whose statements stand for lines."""
    for project in root:
        for metrics in project:
            if tag_of(project) != "project" or tag_of(metrics) != "metrics":
                continue
            place = child_path(child_path("/coverage", root, project), project, metrics)
            return Coverage(
                _of_attributes(metrics, "coveredstatements", "statements", place),
                _of_attributes(metrics, "coveredconditionals", "conditionals", place),
                "Clover",
            )
    return None


def _open_cover(root: Element) -> Coverage | None:
    for summary in root:
        if tag_of(summary) == "Summary":
            place = child_path("/CoverageSession", root, summary)
            return Coverage(
                _of_attributes(summary, "visitedSequencePoints", "numSequencePoints", place),
                _of_attributes(summary, "visitedBranchPoints", "numBranchPoints", place),
                "OpenCover",
            )
    return None


def _of_attributes(element: Element, covered: str, of: str, place: str) -> CoverageShare | None:
    return _share(
        _count(element, covered), _count(element, of), f"{place}/@{covered}", f"{place}/@{of}"
    )


def _count(element: Element, name: str) -> int | None:
    number = read_number(element.get(name), is_count=True)
    return int(number.value) if isinstance(number, PrintedNumber) else None


def read_lcov(text: str) -> Coverage | None:
    """Read a tracefile of lcov, whose records each count one file; None if it is something else."""
    lines = text.splitlines()
    if "end_of_record" not in lines or not any(line.startswith("SF:") for line in lines):
        return None
    totals = dict.fromkeys(("LF", "LH", "BRF", "BRH"), 0)
    for line in lines:
        key, _, value = line.partition(":")
        # LF and LH are lines found and hit, BRF and BRH the same of branches.
        if key in totals and value.strip().isdigit():
            totals[key] += int(value)
    span = f"lines:1-{len(lines)}"
    return Coverage(
        _share(totals["LH"], totals["LF"], span, ""),
        _share(totals["BRH"], totals["BRF"], span, ""),
        "lcov",
        tuple(_lcov_problems(lines, totals, span)),
    )


def _lcov_problems(
    lines: list[str], totals: dict[str, int], span: str
) -> Iterator[tuple[str, str]]:
    """Yield that a tracefile breaks off, or that its totals are not those of its lines."""
    if [line for line in lines if line.strip()][-1] != "end_of_record":
        yield "the last record has no end", f"line:{len(lines)}"
    hits = [line.partition(":")[2].split(",") for line in lines if line.startswith("DA:")]
    covered = sum(1 for fields in hits if len(fields) > 1 and fields[1] not in ("0", ""))
    # A share of the lines and one of the totals: tools may differ in what they call a line.
    if hits and totals["LF"] and covered / len(hits) < totals["LH"] / totals["LF"] - _CLOSE:
        yield f"it lists {covered} lines hit of {len(hits)}, and counts {totals['LH']}", span


def read_go_cover(text: str) -> Coverage | None:
    """Read a profile of `go test -coverprofile`; None if it is something else."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("mode: "):
        return None
    covered = total = 0
    # name.go:5.14,7.2 1 1: a block with its number of statements and how often it ran
    for line in lines[1:]:
        fields = line.split()
        if len(fields) != 3 or not fields[1].isdigit() or not fields[2].isdigit():
            return None
        total += int(fields[1])
        covered += int(fields[1]) * (fields[2] != "0")
    return Coverage(_share(covered, total, f"lines:1-{len(lines)}", ""), None, "go cover")


def read_cobertura(root: Element) -> Coverage | None:
    """Read a Cobertura report; None if it is something else."""
    if tag_of(root) != "coverage" or root.get("line-rate") is None:
        return None
    # A report of no lines writes a rate all the same.
    has_lines = root.get("lines-valid", "?") != "0"
    has_branches = root.get("branches-valid", "0") != "0"
    return Coverage(
        _rate(root, "line-rate") if has_lines else None,
        _rate(root, "branch-rate") if has_branches else None,
        "Cobertura",
        tuple(_cobertura_problems(root)),
    )


def _cobertura_problems(root: Element) -> Iterator[tuple[str, str]]:
    """Yield that the rate of the whole is above what its counts, or its classes, can give."""
    rate = _rate(root, "line-rate")
    if rate is None:
        return
    counts = _of_attributes(root, "lines-covered", "lines-valid", "/coverage")
    if counts is not None and counts.percent < rate.percent - 100 * _CLOSE:
        yield f"the rate is {rate.percent:g} %, by its counts {counts.percent:.4g} %", rate.locator
    rates = [_rate(node, "line-rate") for node in root.iter() if tag_of(node) == "class"]
    highest = max((share.percent for share in rates if share is not None), default=100.0)
    if highest < rate.percent - 100 * _CLOSE:
        yield f"the rate is {rate.percent:g} %, that of no class above {highest:g} %", rate.locator


def _share(covered: object, of: object, locator: str, over: str) -> CoverageShare | None:
    if not isinstance(covered, int) or not isinstance(of, int) or not 0 <= covered <= of:
        return None
    # Of nothing no share was measured, whatever the tool writes.
    if of == 0:
        return None
    return CoverageShare(100 * covered / of, locator, over)


def _rate(root: Element, name: str) -> CoverageShare | None:
    number = read_number(root.get(name), decimal_mark=".")
    if not isinstance(number, PrintedNumber) or not 0 <= number.value <= 1:
        return None
    return CoverageShare(float(100 * number.value), f"/coverage/@{name}")
