"""Prove a reader or gate by addition: bad news, laid into a good example, must change the verdict.

    proof = prove_by_addition(report, is_positive, bad=bad_lines, harmless=harmless_lines)
    proof.overlooked    # additions of bad news after which the verdict stays positive
    proof.alarms        # additions of harmless lines after which it does not
    proof.cuts          # beginnings of the example that are positive already

Altering the lines that a reader reads cannot show what it does not look at. The judge is any
function that returns whether the verdict over a text is positive, so that a report format, a
checker, a claim and a whole product are proven in the same way.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Position = Literal["prepended", "inserted", "appended"]
"""Where a line is laid into a text: before its first line, between its lines, behind its last."""
POSITIONS: tuple[Position, ...] = get_args(Position)

TextJudge = Callable[[str], bool]
"""Whether the verdict over a text is positive."""
FolderJudge = Callable[[Mapping[str, str]], bool]
"""Whether the verdict over the texts of a folder, by path, is positive."""


@dataclass(frozen=True)
class Addition:
    """A text with one line more.

    Attributes:
        line: the line that was laid into it.
        after_line: the number of the line that it stands behind; 0 before the first.
    """

    line: str
    position: Position
    after_line: int
    text: str

    def __str__(self) -> str:
        """Return what was added, and where."""
        return f"{self.line!r} {self.position} after line {self.after_line}"


@dataclass(frozen=True)
class Cut:
    """The beginning of a text.

    Attributes:
        last_line: the number of its last line.
    """

    last_line: int
    text: str


@dataclass(frozen=True)
class AdditionProof:
    """The result of all trials on one example.

    Attributes:
        overlooked: bad news that left the verdict positive.
        alarms: harmless lines that took the positive verdict away.
        cuts: beginnings that are positive; none should be, unless nothing of the matter is cut off.
        bad_trials, harmless_trials, cut_trials: how often each was tried.
    """

    overlooked: tuple[Addition, ...]
    alarms: tuple[Addition, ...]
    cuts: tuple[Cut, ...]
    bad_trials: int
    harmless_trials: int
    cut_trials: int


def prove_by_addition(
    text: str,
    is_positive: TextJudge,
    *,
    bad: Collection[str],
    harmless: Collection[str] = (),
    is_everywhere: bool = False,
) -> AdditionProof:
    """Try a good example with each line added, and cut after each of its lines.

    Args:
        text: the good example.
        is_positive: judges a text.
        bad: lines of bad news.
        harmless: lines that mean nothing.
        is_everywhere: also insert behind each line, not only in the middle.

    Raises:
        ValueError: the example itself is not positive, so that nothing would be proven.
    """
    if not is_positive(text):
        raise ValueError("the verdict over the example is not positive, so nothing is proven")
    overlooked, alarms = list[Addition](), list[Addition]()
    bad_trials = harmless_trials = 0
    for addition in additions_of(text, bad, is_everywhere=is_everywhere):
        bad_trials += 1
        if is_positive(addition.text):
            overlooked.append(addition)
    for addition in additions_of(text, harmless, is_everywhere=is_everywhere):
        harmless_trials += 1
        if not is_positive(addition.text):
            alarms.append(addition)
    beginnings = list(cuts_of(text))
    cuts = [cut for cut in beginnings if is_positive(cut.text)]
    return AdditionProof(
        overlooked=tuple(overlooked),
        alarms=tuple(alarms),
        cuts=tuple(cuts),
        bad_trials=bad_trials,
        harmless_trials=harmless_trials,
        cut_trials=len(beginnings),
    )


def additions_of(
    text: str, lines: Iterable[str], *, is_everywhere: bool = False
) -> Iterator[Addition]:
    """Yield the text with each line prepended, inserted and appended."""
    own_lines = text.splitlines()
    # A reader may look at the beginning or the end only, or stop after a heading.
    places = list[tuple[Position, int]]([("prepended", 0)])
    if is_everywhere:
        places += [("inserted", place) for place in range(1, len(own_lines))]
    elif len(own_lines) > 1:
        places.append(("inserted", len(own_lines) // 2))
    places.append(("appended", len(own_lines)))
    for line in lines:
        for position, place in places:
            with_line = [*own_lines[:place], line, *own_lines[place:]]
            yield Addition(line, position, place, "\n".join(with_line) + "\n")


def cuts_of(text: str) -> Iterator[Cut]:
    """Yield the text cut after each of its lines but the last; blank lines at its end are none."""
    # Without its blank last lines, a text says the same as before.
    lines = text.rstrip().splitlines()
    for count in range(1, len(lines)):
        yield Cut(count, "\n".join(lines[:count]) + "\n")


def overlooked_files(
    files: Mapping[str, str], bad_files: Mapping[str, str], is_positive: FolderJudge
) -> tuple[str, ...]:
    """Return the bad files that leave a good folder positive if they are laid beside its files.

    Raises:
        ValueError: the folder itself is not positive, or already has a file of that path.
    """
    if not is_positive(files):
        raise ValueError("the verdict over the folder is not positive, so nothing is proven")
    overlooked = list[str]()
    for path, text in bad_files.items():
        if path in files:
            raise ValueError(f"the good folder already has {path}")
        if is_positive({**files, path: text}):
            overlooked.append(path)
    return tuple(overlooked)


def swallowing_patterns(
    patterns: Mapping[str, re.Pattern[str]], bad: Iterable[str]
) -> tuple[tuple[str, str], ...]:
    """Return each pattern with each line of bad news that it takes from its first sign to its last.

    Such a pattern explains too much: `^.*\\(.*\\)$` takes "Segmentation fault (core dumped)".
    """
    swallowed = list[tuple[str, str]]()
    for line in bad:
        stripped = line.strip()
        for name, pattern in patterns.items():
            match = pattern.match(stripped)
            # A pattern that takes a part only leaves the rest to be explained by others.
            if match is not None and match.end() == len(stripped) > 0:
                swallowed.append((name, line))
    return tuple(swallowed)


def system_lines() -> tuple[str, ...]:
    """Return what this machine's operating system says of its errors and signals, as written.

    Nobody chose these lines, so they show how much of unknown bad news a judge notices.
    """
    lines = {os.strerror(number) for number in errno.errorcode}
    for number in signal.valid_signals():
        lines.add(signal.strsignal(number) or "")
    return tuple(sorted(lines - {""}))
