"""Coverage reports in JSON, each recognised by its keys.

coverage.py's `percent_covered` includes branches if they were measured, so the share of statements
is computed from its own counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from transom.evidence.numbers import PrintedNumber, read_number
from transom.formats.coverage import (
    Coverage,
    CoverageShare,
    Problem,
    above_parts,
    above_rate,
    add_up,
    count_units,
    share_of_count,
    share_of_counts,
    share_of_units,
)
from transom.formats.json_tree import elements_of, members_of

Unit = tuple[tuple[object, ...], int]


def read_coverage_json(data: Any) -> Coverage | None:
    """Read a report of a known tool in JSON; None if it is something else."""
    for read in _READERS:
        coverage = read(data)
        if coverage is not None:
            return coverage
    return None


def _coverage_py(data: Any) -> Coverage | None:
    match data:
        case {
            "totals": {"covered_lines": int(), "num_statements": int()} as totals,
            "files": dict(files),
        }:
            pass
        case _:
            return None
    rows = [members_of(row) for row in files.values()]
    problems = list[Problem]()
    shares = []
    for covered, of, lists in (
        ("covered_lines", "num_statements", ("executed_lines", "missing_lines")),
        ("covered_branches", "num_branches", ("executed_branches", "missing_branches")),
    ):
        place = f"/totals/{covered}"
        share = share_of_counts(totals.get(covered), totals.get(of), place, f"/totals/{of}")
        summaries = [members_of(row.get("summary")) for row in rows]
        parts = add_up((summary.get(covered), summary.get(of)) for summary in summaries)
        problems += above_parts(share, parts, "files")
        # Each file lists its lines, too, and the summary of a file may be as wrong as the total.
        ran = [
            (len(elements_of(row.get(lists[0]))), len(elements_of(row.get(lists[1]))))
            for row in rows
        ]
        problems += above_parts(share, add_up((hit, hit + missed) for hit, missed in ran), "lines")
        shares.append(share)
    # The printed percentage is of lines and branches together.
    whole = [("covered_lines", "num_statements"), ("covered_branches", "num_branches")]
    both = share_of_count(add_up((totals.get(a), totals.get(b)) for a, b in whole), "")
    problems += above_rate(both, _number(totals.get("percent_covered")), "/totals/percent_covered")
    return Coverage(shares[0], shares[1], "coverage.py", tuple(problems))


def _istanbul_summary(data: Any) -> Coverage | None:
    """Istanbul writes shares of statements, too; lines are what other tools report."""
    match data:
        case {"total": {"lines": {"total": _, "covered": _} as lines}}:
            files = [members_of(row) for name, row in data.items() if name != "total"]
            problems = tuple(_ignored_lines(lines))
            return _of_parts(data["total"], "/total", "total", "pct", files, "Istanbul", problems)
    return None


def _ignored_lines(lines: dict[str, Any]) -> Iterator[Problem]:
    """Yield that comments in the source exclude more lines than the share is of."""
    skipped, counted = lines.get("skipped"), lines.get("total")
    if isinstance(skipped, int) and isinstance(counted, int) and skipped > counted:
        yield f"{skipped} lines are ignored, {counted} are counted", "/total/lines/skipped"


def _llvm(data: Any) -> Coverage | None:
    match data:
        case {"type": "llvm.coverage.json.export", "data": [{"totals": dict(total)}, *_]}:
            # An export of several binaries has one entry for each; the first is not the whole.
            exports = [members_of(entry) for entry in data["data"]]
            files = [
                members_of(file) for entry in exports for file in elements_of(entry.get("files"))
            ]
            parts = [members_of(file.get("summary")) for file in files]
            # `-summary-only` leaves the files out.
            if not any(parts):
                parts = [members_of(entry.get("totals")) for entry in exports]
            return _of_parts(total, "/data/0/totals", "count", "percent", parts, "LLVM")
    return None


def _of_parts(
    total: dict[str, Any],
    place: str,
    of: str,
    rate: str,
    files: list[dict[str, Any]],
    tool: str,
    problems: tuple[Problem, ...] = (),
) -> Coverage:
    """Return the shares of counts by part, `lines: {total: 40, covered: 30}`, of the same form in
    the total and in each file.
    """
    shares = list[CoverageShare | None]()
    found = list(problems)
    for part in ("lines", "branches"):
        row = members_of(total.get(part))
        top = f"{place}/{part}"
        share = share_of_counts(row.get("covered"), row.get(of), f"{top}/covered", f"{top}/{of}")
        counts = [members_of(file.get(part)) for file in files]
        found += above_rate(share, _number(row.get(rate)), f"{top}/{rate}")
        found += above_parts(share, add_up((c.get("covered"), c.get(of)) for c in counts), "files")
        shares.append(share)
    return Coverage(shares[0], shares[1], tool, tuple(found))


def _istanbul_map(data: Any) -> Coverage | None:
    """Read Istanbul's map of statements and branches; a line ran if a statement that begins in it
    did.
    """
    files = {name: members_of(row) for name, row in members_of(data).items()}
    # Older versions wrap each file once more.
    files = {name: members_of(row.get("data", row)) for name, row in files.items()}
    if not files or not all("statementMap" in row and "s" in row for row in files.values()):
        return None
    return Coverage(
        share_of_units(_istanbul_lines(files), ""),
        share_of_units(_istanbul_branches(files), ""),
        "Istanbul",
    )


def _istanbul_lines(files: dict[str, dict[str, Any]]) -> Iterator[Unit]:
    for name, row in files.items():
        places = members_of(row["statementMap"])
        for key, times in members_of(row["s"]).items():
            start = members_of(members_of(places.get(key)).get("start"))
            yield (name, start.get("line", key)), _times(times)


def _istanbul_branches(files: dict[str, dict[str, Any]]) -> Iterator[Unit]:
    for name, row in files.items():
        for key, ways in members_of(row.get("b")).items():
            for number, times in enumerate(elements_of(ways)):
                yield (name, key, number), _times(times)


def _simplecov(data: Any) -> Coverage | None:
    """Read what SimpleCov keeps of its runs, or its report: a list of hits for each file."""
    runs = list(members_of(data).values())
    match data:
        case {"meta": {"simplecov_version": _}, "coverage": dict(files)}:
            listed = [files]
        case {**rest} if rest and all(_is_simplecov_run(run) for run in runs):
            listed = [run["coverage"] for run in runs]
        case _:
            return None
    return Coverage(
        share_of_units(_hits_of_files(listed), ""),
        share_of_units(_simplecov_branches(listed), ""),
        "SimpleCov",
    )


def _is_simplecov_run(run: object) -> bool:
    """Tell whether a value is a run: it has a list of hits for each file, alone or as `lines`."""
    files = members_of(_get(run, "coverage"))
    return bool(files) and all(
        isinstance(_get(row, "lines") if isinstance(row, dict) else row, list)
        for row in files.values()
    )


def _hits_of_files(runs: list[dict[str, Any]]) -> Iterator[Unit]:
    """Yield the lines of files whose hits stand in a list; null is no line of code."""
    for files in runs:
        for name, row in files.items():
            rows = elements_of(row.get("lines") if isinstance(row, dict) else row)
            for number, times in enumerate(rows):
                if isinstance(times, int):
                    yield (name, number), times


def _simplecov_branches(runs: list[dict[str, Any]]) -> Iterator[Unit]:
    for files in runs:
        for name, row in files.items():
            branches = members_of(row).get("branches")
            for condition, ways in members_of(branches).items():
                for way, times in members_of(ways).items():
                    yield (name, condition, way), _times(times)
            for number, branch in enumerate(elements_of(branches)):
                yield (name, number), _times(members_of(branch).get("coverage"))


def _simplecov_last_run(data: Any) -> Coverage | None:
    """Read the shares of SimpleCov's last run; earlier versions wrote `covered_percent`."""
    match data:
        case {"result": {**result}} if result and result.keys() <= {
            "line",
            "branch",
            "covered_percent",
        }:
            key = "line" if "line" in result else "covered_percent"
            lines, branches = _number(result.get(key)), _number(result.get("branch"))
            return Coverage(
                _printed_share(lines, f"/result/{key}"),
                _printed_share(branches, "/result/branch"),
                "SimpleCov",
            )
    return None


def _printed_share(percent: float | None, place: str) -> CoverageShare | None:
    if percent is None or not 0 <= percent <= 100:
        return None
    return CoverageShare(percent, place)


def _coveralls(data: Any) -> Coverage | None:
    match data:
        case {"source_files": [{"name": str(), "coverage": _}, *_] as rows}:
            files = {}
            for row in map(members_of, rows):
                hits = row.get("coverage")
                files[str(row.get("name"))] = json.loads(hits) if isinstance(hits, str) else hits
            return Coverage(share_of_units(_hits_of_files([files]), ""), None, "Coveralls")
    return None


def _gcovr(data: Any) -> Coverage | None:
    match data:
        case {"gcovr/format_version": _, "files": list(files)}:
            rows = list(_gcovr_lines(files))
            branches = []
            for name, line in rows:
                for number, branch in enumerate(elements_of(line.get("branches"))):
                    if not members_of(branch).get("gcovr/excluded"):
                        branches.append(((*name, number), _times(members_of(branch).get("count"))))
            lines = ((name, _times(line.get("count"))) for name, line in rows)
            return Coverage(share_of_units(lines, ""), share_of_units(branches, ""), "gcovr")
        case {"gcovr/summary_format_version": _}:
            return _counted_by_files(data, "gcovr", "line_covered", "line_total", "line_percent")
    return None


def _gcovr_lines(files: list[Any]) -> Iterator[tuple[tuple[object, ...], dict[str, Any]]]:
    """Yield each line of code with its name: gcovr marks the lines that are none."""
    for file in map(members_of, files):
        for line in map(members_of, elements_of(file.get("lines"))):
            if not line.get("gcovr/noncode") and not line.get("gcovr/excluded"):
                yield (file.get("file"), line.get("line_number")), line


def _kcov(data: Any) -> Coverage | None:
    match data:
        case {"percent_covered": _, "covered_lines": int(), "total_lines": int(), "files": list()}:
            return _counted_by_files(
                data, "kcov", "covered_lines", "total_lines", "percent_covered"
            )
    return None


def _xcode(data: Any) -> Coverage | None:
    match data:
        case {"coveredLines": int(), "executableLines": int(), "targets": list(targets)}:
            # Xcode counts lines alone, and a target is a product with its files.
            counts = ((_get(row, "coveredLines"), _get(row, "executableLines")) for row in targets)
            share = share_of_counts(
                data["coveredLines"], data["executableLines"], "/coveredLines", "/executableLines"
            )
            rate = _number(data.get("lineCoverage"))
            problems = [
                *above_rate(share, None if rate is None else 100 * rate, "/lineCoverage"),
                *above_parts(share, add_up(counts), "targets"),
            ]
            return Coverage(share, None, "xccov", tuple(problems))
    return None


def _counted_by_files(
    data: dict[str, Any], tool: str, covered: str, of: str, rate: str
) -> Coverage:
    """Return the share of counts at the top, which each of the `files` has under the same keys."""
    share = share_of_counts(data.get(covered), data.get(of), f"/{covered}", f"/{of}")
    files = elements_of(data.get("files"))
    counts = add_up((_whole(_get(file, covered)), _whole(_get(file, of))) for file in files)
    problems = [
        *above_rate(share, _number(data.get(rate)), f"/{rate}"),
        *above_parts(share, counts, "files"),
    ]
    return Coverage(share, None, tool, tuple(problems))


def _tarpaulin(data: Any) -> Coverage | None:
    match data:
        case {"files": [{"path": list(), "traces": list()}, *_] as files}:
            counted = add_up((_get(file, "covered"), _get(file, "coverable")) for file in files)
            lines = count_units(_tarpaulin_lines(files))
            share = share_of_counts(
                data.get("covered"), data.get("coverable"), "/covered", "/coverable"
            )
            # Earlier versions write no total.
            share = share or share_of_count(counted, "/files")
            problems = [
                *above_rate(share, _number(data.get("coverage")), "/coverage"),
                *above_parts(share, counted, "files"),
                *above_parts(share, lines, "lines"),
            ]
            return Coverage(share, None, "tarpaulin", tuple(problems))
    return None


def _tarpaulin_lines(files: list[Any]) -> Iterator[Unit]:
    for file in map(members_of, files):
        name = tuple(map(str, elements_of(file.get("path"))))
        for trace in map(members_of, elements_of(file.get("traces"))):
            times = members_of(trace.get("stats")).get("Line")
            if isinstance(times, int):
                yield (*name, trace.get("line")), times


def _report_generator(data: Any) -> Coverage | None:
    match data:
        case {"summary": {"coveredlines": int(), "coverablelines": int()} as summary}:
            pass
        case _:
            return None
    assemblies = elements_of(members_of(data.get("coverage")).get("assemblies"))
    problems = list[Problem]()
    shares = []
    for covered, of, rate in (
        ("coveredlines", "coverablelines", "linecoverage"),
        ("coveredbranches", "totalbranches", "branchcoverage"),
    ):
        place = f"/summary/{covered}"
        share = share_of_counts(summary.get(covered), summary.get(of), place, f"/summary/{of}")
        problems += above_rate(share, _number(summary.get(rate)), f"/summary/{rate}")
        counts = add_up((_get(row, covered), _get(row, of)) for row in assemblies)
        problems += above_parts(share, counts, "assemblies")
        shares.append(share)
    return Coverage(shares[0], shares[1], "ReportGenerator", tuple(problems))


def _get(row: object, key: str) -> Any:
    return members_of(row).get(key)


def _whole(value: object) -> object:
    """Return a count that a tool writes as a text as a number."""
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _times(value: object) -> int:
    """Return how often a line or branch ran; what is no number did not run."""
    return value if isinstance(value, int) else 0


def _number(value: object) -> float | None:
    """Return a printed rate; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    number = read_number(str(value), decimal_mark=".")
    return float(number.value) if isinstance(number, PrintedNumber) else None


# The first that knows the keys of a report reads it; no two share their keys.
_READERS: tuple[Callable[[Any], Coverage | None], ...] = (
    _coverage_py,
    _istanbul_summary,
    _llvm,
    _istanbul_map,
    _simplecov,
    _simplecov_last_run,
    _coveralls,
    _gcovr,
    _kcov,
    _xcode,
    _tarpaulin,
    _report_generator,
)
