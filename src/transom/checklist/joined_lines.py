"""Lines of several limits, taught by one answer.

    "The skew is below 40 ps and the latency is below 0.5 ns"
        -> the line of the skew, and that of the latency
    "The frequency is at least 1.2 GHz or 1.5 GHz", with a line for each of two modes
        -> one of them for both modes, or 1.2 GHz for one mode and 1.5 GHz for the other

A file that has the lines of one part alone proves nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from transom.checklist.claims.claim_data import PART_SEPARATOR
from transom.checklist.claims.several_limits import Alternative, limits_apart
from transom.checklist.line_candidates import line_candidates, lines_apart
from transom.checklist.line_patterns import Mark
from transom.checklist.offered_lines import LineCandidate
from transom.checklist.taught_format import NO_END
from transom.checklist.teach import Lesson, Marked

MOST: Final = 6


def candidates_of_all(description: str, paths: Iterable[Path]) -> list[LineCandidate]:
    """Return the lines of a file that its limits are about, as one candidate for each file.

    A part of which a file has no line is left out, and so not checked.
    """
    parts = limits_apart(description)
    joined = list[LineCandidate]()
    for path in paths if parts else ():
        found, missing = dict[str, LineCandidate](), list[str]()
        for part in parts:
            best = next(iter(line_candidates(part, [path])), None)
            if best is None:
                missing.append(part)
            else:
                found[part] = best
        together = _joined(found, missing)
        if together is not None:
            joined.append(together)
    return joined


def candidates_of_each(
    alternatives: Sequence[Alternative], paths: Iterable[Path]
) -> list[LineCandidate]:
    """Return how alternatives of a limit may be meant for the lines of a file.

    One of them is meant for each line, or each of them for a line of its own.
    """
    orders = [(each,) * len(alternatives) for each in alternatives]
    # Of ten alternatives there are millions of orders, which nobody would read.
    orders += itertools.islice(itertools.permutations(alternatives), MOST)
    joined = list[LineCandidate]()
    for path in paths:
        for order in orders:
            found = dict[str, LineCandidate]()
            for name, candidate in lines_apart([each.description for each in order], path):
                found[f"{name} {order[len(found)].limit}"] = candidate
            together = _joined(found, [])
            if together is not None:
                joined.append(together)
    return joined[:MOST]


def _joined(found: dict[str, LineCandidate], missing: Sequence[str]) -> LineCandidate | None:
    """Return several lines as one candidate, or None if they are not told apart.

    Args:
        found: the candidate of each part.
        missing: parts without one.
    """
    candidates = [*found.values()]
    if len(candidates) < _SEVERAL:
        return None
    for one, other in itertools.permutations(candidates, 2):
        read = {one.lesson.read(line.text) for line in other.lesson.marked}
        if not read.isdisjoint(("good", "bad")):
            return None
    left_out = list[str]()
    for candidate in candidates:
        left_out += candidate.left_out
    left_out += missing
    # Said last, since it is of the whole file.
    left_out.sort(key=NO_END.__eq__)

    def states(text: str) -> bool:
        return any(candidate.is_matter(text) for candidate in candidates)

    own_words = frozenset[str]().union(*(candidate.own_words for candidate in candidates))
    means = candidates[0].means
    for candidate in candidates[1:]:
        means += f"; and {candidate.means[0].lower()}{candidate.means[1:]}"
    return LineCandidate(
        means,
        _lesson_of(found),
        tuple(dict.fromkeys(left_out)),
        "; ".join(candidate.evidence for candidate in candidates),
        frozenset(),
        states,
        own_words,
    )


def _lesson_of(found: dict[str, LineCandidate]) -> Lesson:
    """Return the lessons of several lines of one file as one."""
    marked, parts = list[Marked](), list[str]()
    rows, skipped, must = list[tuple[Mark, str]](), list[str](), list[str]()
    for part, candidate in found.items():
        lesson = candidate.lesson
        marked += lesson.marked
        rows += lesson.rows
        skipped += lesson.skipped
        must += lesson.must
        # The separator itself would be read as the beginning of another part.
        name = " ".join(part.replace(PART_SEPARATOR.strip(), ",").split())
        parts += [name] * len(lesson.rows)
    # All lines are of one file, which has one end.
    end = next(iter(found.values())).lesson
    return Lesson(
        tuple(marked),
        tuple(rows),
        tuple(dict.fromkeys(skipped)),
        tuple(dict.fromkeys(must)),
        end.ends,
        end.complete,
        end.is_end_last,
        tuple(parts),
    )


_SEVERAL: Final = 2
