"""Coverage reports in lines: tracefiles of lcov, profiles of `go test`."""

from __future__ import annotations

from dataclasses import dataclass, field

from transom.formats.coverage import (
    CodeCount,
    Coverage,
    Problem,
    above_parts,
    add_up,
    share_of_counts,
    share_of_units,
)

Unit = tuple[tuple[str, ...], int]


@dataclass
class _Tracefile:
    """The records of a tracefile: each unit with its hits, and what each record counts."""

    lines: list[Unit] = field(default_factory=list)
    branches: list[Unit] = field(default_factory=list)
    # LF and LH are lines found and hit, BRF and BRH the same of branches.
    totals: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("LF", "LH", "BRF", "BRH"), 0)
    )


def read_lcov(text: str) -> Coverage | None:
    """Read a tracefile of lcov, whose records each count one file; None if it is something else."""
    rows = text.splitlines()
    if "end_of_record" not in rows or not any(row.startswith("SF:") for row in rows):
        return None
    tracefile = _tracefile(rows)
    span = f"lines:1-{len(rows)}"
    problems = list[Problem]()
    if [row for row in rows if row.strip()][-1] != "end_of_record":
        problems.append(("the last record has no end", f"line:{len(rows)}"))
    shares = []
    for units, hit, found, what in (
        (tracefile.lines, "LH", "LF", "lines"),
        (tracefile.branches, "BRH", "BRF", "branches"),
    ):
        total = share_of_counts(tracefile.totals[hit], tracefile.totals[found], span, "")
        problems += above_parts(total, _of_all_records(units), what)
        # Each record of a file that is listed again counts its lines again, so its units are asked.
        shares.append(share_of_units(units, span) or total)
    return Coverage(shares[0], shares[1], "lcov", tuple(problems))


def _tracefile(rows: list[str]) -> _Tracefile:
    tracefile = _Tracefile()
    source = ""
    for row in rows:
        key, _, value = row.partition(":")
        fields = value.strip().split(",")
        if key == "SF":
            source = value
        elif key == "DA" and len(fields) > 1:
            tracefile.lines.append(((source, fields[0]), _times(fields[1])))
        elif key == "BRDA" and len(fields) > 3:
            tracefile.branches.append(((source, *fields[:3]), _times(fields[3])))
        elif key in tracefile.totals and value.strip().isdigit():
            tracefile.totals[key] += int(value)
    return tracefile


def _times(text: str) -> int:
    """Return how often a line ran; `-` is a branch whose line never ran."""
    return int(text) if text.isdigit() else 0


def _of_all_records(units: list[Unit]) -> CodeCount:
    return add_up((int(times > 0), 1) for _, times in units)


def read_go_cover(text: str) -> Coverage | None:
    """Read a profile of `go test -coverprofile`; None if it is something else."""
    rows = text.splitlines()
    if not rows or not rows[0].startswith("mode: "):
        return None
    units = list[Unit]()
    # name.go:5.14,7.2 1 1: a block with its number of statements and how often it ran.
    for row in rows:
        # Profiles of several packages are joined with their first lines.
        if row.startswith("mode: ") or not row.strip():
            continue
        fields = row.rsplit(" ", 2)
        if len(fields) != 3 or not fields[1].isdigit() or not fields[2].isdigit():
            return None
        for statement in range(int(fields[1])):
            units.append(((fields[0], str(statement)), int(fields[2])))
    return Coverage(share_of_units(units, f"lines:1-{len(rows)}"), None, "go cover")
