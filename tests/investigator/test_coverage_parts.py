"""Coverage reports whose total is better than their parts, and the same reports without the lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.investigator.folders import COVER, FolderRow
from tests.investigator.test_folders import judged

FOLDER = COVER.rpartition("/")[0]
Maker = Callable[[int, int], Any]
"""Makes a report of 100 lines from the covered lines of its head and of its body."""


def hits(covered: int) -> list[int]:
    return [int(line < covered) for line in range(100)]


def rows(form: str, covered: int) -> str:
    return "".join(form.format(n, hit) for n, hit in enumerate(hits(covered), 1))


def cobertura_of_rate(head: int, body: int) -> str:
    return _cobertura(f'line-rate="{head / 100}"', body)


def cobertura_of_counts(head: int, body: int) -> str:
    counts = f'line-rate="{head / 100}" lines-covered="{head}" lines-valid="100"'
    return _cobertura(counts, body)


def _cobertura(counts: str, body: int) -> str:
    # The report of a second run, which covered all of its few lines, was put beside it.
    second = (
        '<class filename="b.py" line-rate="1"><lines><line number="1" hits="1"/></lines></class>'
    )
    lines = rows('<line number="{}" hits="{}"/>', body)
    first = f'<class filename="a.py" line-rate="{body / 100}"><lines>{lines}</lines></class>'
    packages = f"<packages><package><classes>{first}{second}</classes></package></packages>"
    return f"<coverage {counts}>{packages}</coverage>"


def cobertura_of_head(head: int, body: int) -> str:
    counts = f'line-rate="{head / 100}" lines-covered="{body}" lines-valid="100"'
    return f"<coverage {counts}></coverage>"


def jacoco_counter(covered: int) -> str:
    return f'<counter type="LINE" missed="{100 - covered}" covered="{covered}"/>'


def jacoco_of_packages(head: int, body: int) -> str:
    package = f'<package name="due">{jacoco_counter(body)}</package>'
    return f'<report name="due">{package}{jacoco_counter(head)}</report>'


def jacoco_of_groups(head: int, body: int) -> str:
    source = f'<sourcefile name="Due.java">{jacoco_counter(body)}</sourcefile>'
    group = f'<group name="core"><package name="due">{source}</package></group>'
    return f'<report name="due">{group}{jacoco_counter(head)}</report>'


def jacoco_of_lines(head: int, body: int) -> str:
    lines = rows('<line nr="{}" mi="0" ci="{}"/>', body)
    source = f'<sourcefile name="Due.java">{lines}{jacoco_counter(head)}</sourcefile>'
    counter = jacoco_counter(head)
    return f'<report name="due"><package name="due">{source}{counter}</package>{counter}</report>'


def clover_metrics(covered: int) -> str:
    return f'<metrics statements="100" coveredstatements="{covered}"/>'


def clover_of_files(head: int, body: int) -> str:
    file = f'<file name="due.php">{clover_metrics(body)}</file>'
    return f"<coverage><project>{file}{clover_metrics(head)}</project></coverage>"


def clover_of_second_project(head: int, body: int) -> str:
    first = (
        f'<project><file name="a.php">{clover_metrics(head)}</file>{clover_metrics(head)}</project>'
    )
    files = f'<file name="b.php">{clover_metrics(max(0, 2 * body - head))}</file>'
    return f"<coverage>{first}<project>{files}{clover_metrics(body)}</project></coverage>"


def clover_of_lines(head: int, body: int) -> str:
    lines = rows('<line num="{}" type="stmt" count="{}"/>', body)
    file = f'<file name="due.php">{lines}</file>'
    return f"<coverage><project>{file}{clover_metrics(head)}</project></coverage>"


def open_cover(head: int, body: int) -> str:
    points = rows('<SequencePoint ordinal="{}" vc="{}"/>', body)
    summary = f'<Summary numSequencePoints="100" visitedSequencePoints="{head}"/>'
    return (
        f"<CoverageSession>{summary}<Modules><Module>{points}</Module></Modules></CoverageSession>"
    )


def dot_cover(head: int, body: int) -> str:
    part = '<{} CoveredStatements="{}" TotalStatements="100" {}'
    assembly = part.format("Assembly", body, "/>")
    return part.format("Root", head, 'DotCoverVersion="2026.1">') + f"{assembly}</Root>"


def coverage_py(
    head: int, body: int, *, percent: int | None = None, listed: int | None = None
) -> Any:
    totals = {"covered_lines": head, "num_statements": 100, "percent_covered": percent or head}
    summary = {"covered_lines": body, "num_statements": 100}
    file: dict[str, Any] = {"summary": summary}
    if listed is not None:
        file |= {"executed_lines": [*range(listed)], "missing_lines": [*range(listed, 100)]}
    return {"files": {"due.py": file}, "totals": totals}


def coverage_py_of_percent(head: int, body: int) -> Any:
    return coverage_py(head, head, percent=body)


def coverage_py_of_lines(head: int, body: int) -> Any:
    return coverage_py(head, head, listed=body)


def istanbul_part(covered: int, percent: int | None = None) -> Any:
    return {"lines": {"total": 100, "covered": covered, "skipped": 0, "pct": percent or covered}}


def istanbul_of_files(head: int, body: int) -> Any:
    return {"total": istanbul_part(head), "due.js": istanbul_part(body)}


def istanbul_of_percent(head: int, body: int) -> Any:
    return {"total": istanbul_part(head, body)}


def llvm_part(covered: int, percent: int | None = None) -> Any:
    return {"lines": {"count": 100, "covered": covered, "percent": percent or covered}}


def llvm(*exports: Any) -> Any:
    return {"type": "llvm.coverage.json.export", "version": "2.0.1", "data": [*exports]}


def llvm_of_files(head: int, body: int) -> Any:
    return llvm({"totals": llvm_part(head), "files": [{"summary": llvm_part(body)}]})


def llvm_of_a_second_export(head: int, body: int) -> Any:
    return llvm({"totals": llvm_part(head)}, {"totals": llvm_part(max(0, 2 * body - head))})


def tarpaulin(head: int, body: int) -> Any:
    traces = [{"line": n, "stats": {"Line": hit}} for n, hit in enumerate(hits(body))]
    file = {"path": ["/", "due.rs"], "traces": traces, "covered": head, "coverable": 100}
    return {"files": [file], "covered": head, "coverable": 100, "coverage": head}


def gcovr_summary(head: int, body: int) -> Any:
    file = {"filename": "due.c", "line_covered": body, "line_total": 100}
    counts = {"line_covered": head, "line_total": 100, "line_percent": head}
    return {"gcovr/summary_format_version": "0.6", "files": [file], **counts}


def kcov(head: int, body: int) -> Any:
    file = {"file": "due.sh", "covered_lines": str(body), "total_lines": "100"}
    return {
        "files": [file],
        "percent_covered": f"{head}",
        "covered_lines": head,
        "total_lines": 100,
    }


def xccov(head: int, body: int) -> Any:
    target = {"name": "Due", "coveredLines": body, "executableLines": 100}
    counts = {"coveredLines": head, "executableLines": 100, "lineCoverage": head / 100}
    return {"targets": [target], **counts}


def report_generator(head: int, body: int) -> Any:
    summary = {"coveredlines": head, "coverablelines": 100, "linecoverage": head}
    assembly = {"name": "Due", "coveredlines": body, "coverablelines": 100}
    return {"summary": summary, "coverage": {"assemblies": [assembly]}}


def lcov_records(*records: tuple[str, Iterable[int], int]) -> str:
    parts = []
    for name, lines, counted in records:
        listed = "".join(f"DA:{n},{hit}\n" for n, hit in enumerate(lines, 1))
        parts.append(f"TN:\nSF:{name}\n{listed}LF:100\nLH:{counted}\nend_of_record\n")
    return "".join(parts)


def lcov(head: int, body: int) -> str:
    return lcov_records(("due.c", hits(body), head))


def lcov_of_one_file_again(head: int, body: int) -> str:
    """A good file stands in the tracefile nine times, the others once."""
    good = ("good.c", hits(head), head)
    rest = max(0, 2 * body - head)
    return lcov_records(*[good] * 9, ("rest.c", hits(rest), rest))


def own_counts(head: int, body: int) -> Any:
    return {"line_coverage": head, "lines_covered": body, "lines_total": 100}


def own_modules(head: int, body: int) -> Any:
    modules = [{"name": name, "line_coverage": body} for name in ("desk", "post")]
    return {"line_coverage": head, "modules": modules}


REPORTS: dict[str, tuple[Maker, str]] = {
    "Cobertura, a rate and lines": (cobertura_of_rate, "xml"),
    "Cobertura, counts and lines": (cobertura_of_counts, "xml"),
    "Cobertura, a rate and counts": (cobertura_of_head, "xml"),
    "JaCoCo, packages": (jacoco_of_packages, "xml"),
    "JaCoCo, files of a group": (jacoco_of_groups, "xml"),
    "JaCoCo, lines": (jacoco_of_lines, "xml"),
    "Clover, files": (clover_of_files, "xml"),
    "Clover, a second project": (clover_of_second_project, "xml"),
    "Clover, lines": (clover_of_lines, "xml"),
    "OpenCover": (open_cover, "xml"),
    "dotCover": (dot_cover, "xml"),
    "coverage.py, files": (coverage_py, "json"),
    "coverage.py, percent": (coverage_py_of_percent, "json"),
    "coverage.py, lines": (coverage_py_of_lines, "json"),
    "Istanbul, files": (istanbul_of_files, "json"),
    "Istanbul, percent": (istanbul_of_percent, "json"),
    "LLVM, files": (llvm_of_files, "json"),
    "LLVM, a second export": (llvm_of_a_second_export, "json"),
    "tarpaulin": (tarpaulin, "json"),
    "gcovr": (gcovr_summary, "json"),
    "kcov": (kcov, "json"),
    "xccov": (xccov, "json"),
    "ReportGenerator": (report_generator, "json"),
    "lcov, lines": (lcov, "info"),
    "own counts": (own_counts, "json"),
    "own modules": (own_modules, "json"),
}


def verdict_of(report: Any, suffix: str, tmp_path: Path, name: str = "") -> tuple[str, str]:
    place = f"{FOLDER}/{name or 'test_coverage_report'}.{suffix}"
    return judged(FolderRow("coverage", "parts", {COVER: None, place: report}, ""), tmp_path)


@pytest.mark.parametrize("name", REPORTS)
def test_a_total_above_its_parts_holds_back(name: str, tmp_path: Path) -> None:
    make, suffix = REPORTS[name]
    verdict, reasons = verdict_of(make(93, 61), suffix, tmp_path)
    assert verdict != "READY"
    assert "61" in reasons or "64.5" in reasons, reasons


@pytest.mark.parametrize("name", REPORTS)
def test_a_total_that_is_that_of_its_parts_is_ready(name: str, tmp_path: Path) -> None:
    make, suffix = REPORTS[name]
    verdict, reasons = verdict_of(make(93, 93), suffix, tmp_path)
    assert verdict == "READY", reasons


@pytest.mark.parametrize(("of", "ready"), [(1000, True), (1, False)])
def test_a_report_that_lists_few_of_its_lines_is_no_lie(
    of: int, ready: bool, tmp_path: Path
) -> None:
    lines = '<lines><line number="1" hits="4"/><line number="2" hits="0"/></lines>'
    classes = f'<classes><class filename="a.py" line-rate="0.93">{lines}</class></classes>'
    counts = f'line-rate="0.93" lines-valid="{of}"'
    report = f"<coverage {counts}><packages><package>{classes}</package></packages></coverage>"
    verdict, reasons = verdict_of(report, "xml", tmp_path)
    assert (verdict == "READY") is ready, reasons


def test_a_file_that_a_merged_report_lists_again_counts_once(tmp_path: Path) -> None:
    verdict, reasons = verdict_of(lcov_of_one_file_again(98, 61), "info", tmp_path)
    assert verdict != "READY"
    assert "61 %" in reasons, reasons
    again = tmp_path / "again"
    verdict, reasons = verdict_of(lcov_of_one_file_again(98, 90), "info", again)
    assert verdict == "READY", reasons


def statement_map(*lines: int) -> Any:
    places = {str(n): {"start": {"line": line}} for n, line in enumerate(lines)}
    return {
        "path": "due.js",
        "statementMap": places,
        "fnMap": {},
        "branchMap": {},
        "f": {},
        "b": {},
    }


def istanbul_map(covered: int) -> Any:
    times = {str(n): 40 * hit for n, hit in enumerate(hits(covered))}
    return {"due.js": statement_map(*range(1, 101)) | {"s": times}}


def simplecov_runs(covered: int) -> Any:
    first = [1 if hit and n % 2 else 0 for n, hit in enumerate(hits(covered))]
    second = [7 if hit and not n % 2 else 0 for n, hit in enumerate(hits(covered))]
    runs = {"RSpec": [*first, None], "Cucumber": [*second, None]}
    return {name: {"coverage": {"due.rb": {"lines": lines}}} for name, lines in runs.items()}


def simplecov_report(covered: int) -> Any:
    files = {"due.rb": {"lines": [*hits(covered), None]}}
    return {"meta": {"simplecov_version": "0.22.0"}, "coverage": files}


def simplecov_last_run(covered: int) -> Any:
    return {"result": {"line": covered}}


def coveralls(covered: int) -> Any:
    return {"source_files": [{"name": "due.ex", "coverage": [*hits(covered), None]}]}


def gcovr(covered: int) -> Any:
    lines = [{"line_number": n, "count": hit} for n, hit in enumerate(hits(covered))]
    noise = {"line_number": 400, "count": 0, "gcovr/noncode": True}
    return {"gcovr/format_version": "0.14", "files": [{"file": "due.c", "lines": [*lines, noise]}]}


def sonarqube(covered: int) -> str:
    lines = "".join(
        f'<lineToCover lineNumber="{n}" covered="{str(bool(hit)).lower()}"/>'
        for n, hit in enumerate(hits(covered))
    )
    return f'<coverage version="1"><file path="due.c">{lines}</file></coverage>'


def go_of_two_packages(covered: int) -> str:
    """Each test package of `-coverpkg` lists all blocks; what only one of them ran, ran."""
    half, rest = covered // 2, covered - covered // 2
    blocks = (("1.1,2.2", half), ("3.1,4.2", rest), ("5.1,6.2", 100 - covered))
    profiles = []
    for ran in (0, 1):
        for number, (place, statements) in enumerate(blocks):
            profiles.append(f"due/due.go:{place} {statements} {int(number == ran)}")
    return "\n".join(["mode: set", *profiles, ""])


LISTS: dict[str, tuple[Callable[[int], Any], str]] = {
    "Istanbul's map": (istanbul_map, "json"),
    "SimpleCov's runs": (simplecov_runs, "json"),
    "SimpleCov's report": (simplecov_report, "json"),
    "SimpleCov's last run": (simplecov_last_run, "json"),
    "Coveralls": (coveralls, "json"),
    "gcovr": (gcovr, "json"),
    "SonarQube": (sonarqube, "xml"),
    "go, two packages": (go_of_two_packages, "out"),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("file", ["test_coverage_report", "run_coverage_2"])
def test_a_report_without_a_total_is_counted(name: str, file: str, tmp_path: Path) -> None:
    make, suffix = LISTS[name]
    verdict, reasons = verdict_of(make(64), suffix, tmp_path, file)
    assert verdict != "READY" and "64 %" in reasons, reasons
    verdict, reasons = verdict_of(make(91), suffix, tmp_path / "good", file)
    assert verdict == "READY", reasons


def test_how_often_lines_ran_is_no_share(tmp_path: Path) -> None:
    report = {"coverage": {"tool": "own", "lines": [1, 0, None, 0, 0]}}
    verdict, reasons = verdict_of(report, "json", tmp_path)
    assert verdict != "READY", reasons
