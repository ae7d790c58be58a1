"""Coverage reports: coverage.py's JSON and Cobertura's XML.

coverage.py's `percent_covered` includes branches if they were measured, so the share of statements
is computed from its own counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from transom.canonical import Json
from transom.formats.xml_paths import tag_of


@dataclass(frozen=True)
class Share:
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
    """The measured shares of a report; None for a share that was not measured."""

    statements: Share | None
    branches: Share | None


def read_coverage_json(data: Json) -> Coverage | None:
    """Read coverage.py's report (`coverage json`); None if it is something else."""
    match data:
        case {
            "totals": {"covered_lines": int(covered), "num_statements": int(of), **totals},
            "files": dict(),
        }:
            pass
        case _:
            return None
    branches = totals.get("num_branches")
    taken = totals.get("covered_branches")
    measured = isinstance(branches, int) and isinstance(taken, int) and branches > 0
    return Coverage(
        _share(covered, of, "/totals/covered_lines", "/totals/num_statements"),
        _share(taken, branches, "/totals/covered_branches", "/totals/num_branches")
        if measured
        else None,
    )


def read_cobertura(root: Element) -> Coverage | None:
    """Read a Cobertura report; None if it is something else."""
    if tag_of(root) != "coverage" or root.get("line-rate") is None:
        return None
    has_branches = root.get("branches-valid", "0") != "0"
    return Coverage(_rate(root, "line-rate"), _rate(root, "branch-rate") if has_branches else None)


def _share(covered: object, of: object, locator: str, over: str) -> Share | None:
    if not isinstance(covered, int) or not isinstance(of, int) or of <= 0:
        return None
    return Share(100 * covered / of, locator, over)


def _rate(root: Element, name: str) -> Share | None:
    try:
        return Share(100 * float(root.get(name, "")), f"/coverage/@{name}")
    except ValueError:
        return None
