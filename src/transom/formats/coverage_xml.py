"""Coverage reports in XML: Cobertura, JaCoCo, Clover, OpenCover, SonarQube's generic form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element

from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.coverage import (
    CLOSE,
    CodeCount,
    Coverage,
    CoverageShare,
    Problem,
    above_parts,
    add_up,
    count_units,
    share_of_count,
    share_of_counts,
    share_of_units,
)
from transom.formats.xml_paths import child_path, tag_of

# Clover's total is of statements, its rows are lines: one line may hold several.
_OF_STATEMENTS = 10.0


def read_coverage_xml(root: Element) -> Coverage | None:
    """Read a report of a known tool in XML; None if it is something else."""
    tag = tag_of(root)
    if tag == "coverage" and root.get("line-rate") is not None:
        return _cobertura(root)
    if tag == "coverage" and next(_all(root, "lineToCover"), None) is not None:
        return _sonarqube(root)
    if tag == "coverage":
        return _clover(root)
    if tag == "report" and any(tag_of(child) == "counter" for child in root):
        return _jacoco(root)
    if tag == "CoverageSession":
        return _open_cover(root)
    if tag == "Root" and root.get("DotCoverVersion") is not None:
        return _dot_cover(root)
    if tag == "results" and next(_all(root, "module"), None) is not None:
        return _dotnet_coverage(root)
    return None


def _all(root: Element, tag: str) -> Iterator[Element]:
    """Yield all elements of a tag below an element, whatever their namespace."""
    return (element for element in root.iter() if tag_of(element) == tag)


def _children(element: Element, tag: str) -> Iterator[Element]:
    return (child for child in element if tag_of(child) == tag)


def _cobertura(root: Element) -> Coverage:
    # A report of no lines writes a rate all the same.
    has_lines = root.get("lines-valid", "?") != "0"
    has_branches = root.get("branches-valid", "0") != "0"
    lines = _rate(root, "line-rate") if has_lines else None
    if lines is not None:
        lines = replace(lines, total=_count(root, "lines-valid") or 0)
    branches = _rate(root, "branch-rate") if has_branches else None
    problems = list[Problem]()
    for share, covered, of in (
        (lines, "lines-covered", "lines-valid"),
        (branches, "branches-covered", "branches-valid"),
    ):
        counted = add_up([(_count(root, covered), _count(root, of))])
        problems += above_parts(share, counted, "counts")
    problems += above_parts(lines, count_units(_cobertura_lines(root)), "lines")
    problems += _above_all_classes(root, lines)
    return Coverage(lines, branches, "Cobertura", tuple(problems))


def _cobertura_lines(root: Element) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the lines of all classes; those of their methods are the same lines again."""
    for number, of_class in enumerate(_all(root, "class")):
        file = of_class.get("filename") or str(number)
        for lines in _children(of_class, "lines"):
            for line in _children(lines, "line"):
                yield (file, line.get("number", "")), _count(line, "hits") or 0


def _above_all_classes(root: Element, total: CoverageShare | None) -> Iterator[Problem]:
    """Yield that the rate of the whole is above that of each class: some list no lines."""
    rates = [_rate(node, "line-rate") for node in _all(root, "class")]
    highest = max((share.percent for share in rates if share is not None), default=100.0)
    if total is not None and highest < total.percent - CLOSE:
        text = f"the rate is {total.percent:g} %, that of no class above {highest:g} %"
        yield text, total.locator


def _rate(element: Element, name: str) -> CoverageShare | None:
    number = read_number(element.get(name), decimal_mark=".")
    if not isinstance(number, PrintedNumber) or not 0 <= number.value <= 1:
        return None
    return CoverageShare(float(100 * number.value), f"/coverage/@{name}")


def _sonarqube(root: Element) -> Coverage:
    """Return the share of SonarQube's generic form, which lists lines and no total."""
    lines = share_of_units(_sonarqube_lines(root), "/coverage")
    branches = add_up(
        (_count(line, "coveredBranches"), _count(line, "branchesToCover"))
        for line in _all(root, "lineToCover")
    )
    return Coverage(lines, share_of_count(branches, "/coverage"), "SonarQube")


def _sonarqube_lines(root: Element) -> Iterator[tuple[tuple[str, str], int]]:
    for file in _all(root, "file"):
        for line in _children(file, "lineToCover"):
            name = (file.get("path", ""), line.get("lineNumber", ""))
            yield name, int(line.get("covered") == "true")


def _jacoco(root: Element) -> Coverage:
    """Return the shares of the counters of the whole report; JaCoCo counts what was missed."""
    shares = dict[str, CoverageShare | None]()
    for counter in _children(root, "counter"):
        count = _of_counters([counter], counter.get("type", ""))
        # A module without branches has a counter of 0 and 0.
        if count.total:
            place = child_path("/report", root, counter)
            share = CoverageShare(count.percent, f"{place}/@covered", total=count.total)
            shares[counter.get("type", "")] = share
    lines, branches = shares.get("LINE"), shares.get("BRANCH")
    problems = list[Problem]()
    # A report of several modules has groups around the packages.
    for part, what in (("package", "packages"), ("sourcefile", "files")):
        counters = [
            counter for element in _all(root, part) for counter in _children(element, "counter")
        ]
        problems += above_parts(lines, _of_counters(counters, "LINE"), what)
        problems += above_parts(branches, _of_counters(counters, "BRANCH"), what)
    problems += above_parts(lines, count_units(_jacoco_lines(root, ())), "lines")
    return Coverage(lines, branches, "JaCoCo", tuple(problems))


def _jacoco_lines(
    element: Element, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the lines below an element, each named by its group, package and file."""
    for child in element:
        name = child.get("name", "")
        covered = _count(child, "ci")
        if tag_of(child) == "line" and covered is not None:
            yield (*names, child.get("nr", "")), covered
        elif tag_of(child) in ("group", "package", "sourcefile"):
            yield from _jacoco_lines(child, (*names, name))


def _of_counters(counters: Iterable[Element], kind: str) -> CodeCount:
    """Add up the counters of a kind."""
    counts = []
    for counter in counters:
        covered, missed = _count(counter, "covered"), _count(counter, "missed")
        if counter.get("type") == kind and covered is not None and missed is not None:
            counts.append((covered, covered + missed))
    return add_up(counts)


def _clover(root: Element) -> Coverage | None:
    """Return the shares of Clover's project, whose statements stand for lines."""
    for project in _children(root, "project"):
        for metrics in _children(project, "metrics"):
            place = child_path(child_path("/coverage", root, project), project, metrics)
            lines = _of_attributes(metrics, "coveredstatements", "statements", place)
            branches = _of_attributes(metrics, "coveredconditionals", "conditionals", place)
            return Coverage(lines, branches, "Clover", tuple(_clover_problems(root, lines)))
    return None


def _clover_problems(root: Element, total: CoverageShare | None) -> Iterator[Problem]:
    """Yield that the total is not that of the files and lines of all projects of the report."""
    files = list(_all(root, "file"))
    metrics = [row for file in files for row in _children(file, "metrics")]
    counts = ((_count(row, "coveredstatements"), _count(row, "statements")) for row in metrics)
    yield from above_parts(total, add_up(counts), "files")
    lines = count_units(_clover_lines(files))
    yield from above_parts(total, lines, "lines", _OF_STATEMENTS)


def _clover_lines(files: list[Element]) -> Iterator[tuple[tuple[str, ...], int]]:
    for file in files:
        name = file.get("path") or file.get("name") or ""
        for line in _children(file, "line"):
            if line.get("type") == "stmt":
                yield (name, line.get("num", "")), _count(line, "count") or 0


def _open_cover(root: Element) -> Coverage | None:
    for summary in _children(root, "Summary"):
        place = child_path("/CoverageSession", root, summary)
        lines = _of_attributes(summary, "visitedSequencePoints", "numSequencePoints", place)
        branches = _of_attributes(summary, "visitedBranchPoints", "numBranchPoints", place)
        # Each point of a method counts how often it was visited.
        points = [(int((_count(point, "vc") or 0) > 0), 1) for point in _all(root, "SequencePoint")]
        problems = tuple(above_parts(lines, add_up(points), "sequence points"))
        return Coverage(lines, branches, "OpenCover", problems)
    return None


def _dot_cover(root: Element) -> Coverage:
    """Return the share of JetBrains' tool, which counts statements."""
    covered, of = "CoveredStatements", "TotalStatements"
    share = _of_attributes(root, covered, of, "/Root")
    counts = add_up(
        (_count(part, covered), _count(part, of)) for part in _children(root, "Assembly")
    )
    return Coverage(share, None, "dotCover", tuple(above_parts(share, counts, "assemblies")))


def _dotnet_coverage(root: Element) -> Coverage:
    """Return the share of the lines of all modules; one that ran in part did not run."""
    counts = []
    for module in _all(root, "module"):
        covered = _count(module, "lines_covered")
        missed = [_count(module, f"lines_{how}") for how in ("partially_covered", "not_covered")]
        if covered is not None and missed[1] is not None:
            counts.append((covered, covered + (missed[0] or 0) + missed[1]))
    return Coverage(share_of_count(add_up(counts), "/results"), None, "dotnet-coverage")


def _of_attributes(element: Element, covered: str, of: str, place: str) -> CoverageShare | None:
    return share_of_counts(
        _count(element, covered), _count(element, of), f"{place}/@{covered}", f"{place}/@{of}"
    )


def _count(element: Element, name: str) -> int | None:
    number = read_number(element.get(name), is_count=True)
    return int(number.value) if isinstance(number, PrintedNumber) else None
