"""What a coverage report measures, and whether its total agrees with its parts.

The readers of single formats are in `coverage_json`, `coverage_xml` and `coverage_text`. A report
states its total more than once: as a rate, as counts, and by its files and lines. If the total is
more than its parts, the report contradicts itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

# Percentage points by which two statements of one share may differ: tools round in different
# places, and do not agree on what a line is.
CLOSE = 2.0

Problem = tuple[str, str]
"""What a report says against its shares, and its place."""


class CodeCount(NamedTuple):
    """A number of lines or branches, and how many of them ran."""

    covered: int
    total: int

    @property
    def percent(self) -> float:
        """The share that ran, 0..100; there is one only if `total` is not 0."""
        return 100 * self.covered / self.total


@dataclass(frozen=True)
class CoverageShare:
    """A measured share in percent.

    Attributes:
        percent: 0..100.
        locator: place of the value that it is read from: a JSON pointer or a path of `xml_paths`.
        over: place of the divisor, if the report has only counts.
        counted: the lines or branches that the reader counted, if the report has no total.
        total: the lines or branches that the share is of; 0 if the report does not tell.
    """

    percent: float
    locator: str
    over: str = ""
    counted: CodeCount | None = None
    total: int = 0


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
    problems: tuple[Problem, ...] = ()


def share_of_counts(covered: object, of: object, locator: str, over: str) -> CoverageShare | None:
    """Return the share of two counts of a report; None if they are none, or of nothing."""
    if not isinstance(covered, int) or not isinstance(of, int) or not 0 <= covered <= of:
        return None
    # Of nothing no share was measured, whatever the tool writes.
    if of == 0:
        return None
    return CoverageShare(100 * covered / of, locator, over, total=of)


def share_of_units(units: Iterable[tuple[Hashable, int]], locator: str) -> CoverageShare | None:
    """Return the share of lines or branches that ran, of a report without a total."""
    return share_of_count(count_units(units), locator)


def share_of_count(count: CodeCount, locator: str) -> CoverageShare | None:
    """Return the share of a count that the reader made; None if there was nothing to count."""
    return CoverageShare(count.percent, locator, counted=count) if count.total else None


def count_units(units: Iterable[tuple[Hashable, int]]) -> CodeCount:
    """Count lines or branches by their names and hits.

    A report that was merged of several may list a line again: it counts once, and ran if it ran in
    one of them.
    """
    hits = dict[Hashable, bool]()
    for name, times in units:
        hits[name] = hits.get(name, False) or times > 0
    return CodeCount(sum(hits.values()), len(hits))


def add_up(parts: Iterable[tuple[object, object]]) -> CodeCount:
    """Add up the covered and all lines of the parts of a report; others than counts are none."""
    covered = total = 0
    for hit, of in parts:
        if isinstance(hit, int) and isinstance(of, int) and 0 <= hit <= of:
            covered += hit
            total += of
    return CodeCount(covered, total)


def above_parts(
    share: CoverageShare | None, parts: CodeCount, what: str, close: float = CLOSE
) -> Iterator[Problem]:
    """Yield that a total is above what its parts add up to; a report need not list parts.

    A total below them is no danger: whatever it meets, the parts meet as well. A report that lists
    fewer lines than its total is of proves less: those that it leaves out may all have run.

    Args:
        what: the parts: files, lines.
    """
    if share is None or not parts.total:
        return
    left_out = max(0, share.total - parts.total)
    if share.percent - CodeCount(parts.covered + left_out, parts.total + left_out).percent <= close:
        return
    added = f"by its {what} {parts.covered} of {parts.total}, {parts.percent:.4g} %"
    yield f"the total is {share.percent:.4g} %, {added}", share.locator


def above_rate(share: CoverageShare | None, printed: float | None, place: str) -> Iterator[Problem]:
    """Yield that a share of counts is above the rate in percent that the report prints for it."""
    if share is not None and printed is not None and share.percent - printed > CLOSE:
        yield f"the rate is {printed:.4g} %, by its counts {share.percent:.4g} %", place
