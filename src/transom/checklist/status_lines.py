"""Lines of today's files that say how a run ended, taught by one answer.

    "The regression passes"      -> Tests: 30 passed, 0 failed, 30 executed
    "The self check passes"      -> [8715000] SELF CHECK PASS

Nobody knows the format of such a log. A line that says how all of it ended is offered as it stands;
a person who chooses it teaches its good and its bad form. A file without the line proves nothing,
and where the line is one of the last ones, it is the end of the file as well.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.ranking import candidates
from transom.checklist.labelled_limits import plain_word, words_in
from transom.checklist.line_patterns import ALARM, NAME, NUMBER, LineToken, Mark, tokens
from transom.checklist.line_patterns import WORD as ANY_WORD
from transom.checklist.offered_lines import (
    LineCandidate,
    is_printed,
    lines_of,
    words_not_used,
    words_of_line,
)
from transom.checklist.teach import DAY, Lesson, Marked, clear_end, end_regex

MOST: Final = 2
# Words of outcome, by what a description asks for.
_PASSED: Final = r"pass(?:ed|es|ing)?|succe(?:ss(?:ful(?:ly)?)?|ed(?:ed|s)?)|ok(?:ay)?"
_FINISHED: Final = r"complet(?:ed|es|e)|finish(?:ed|es)|done"
_FAILED: Final = r"(?:fail|error|abort|unsuccess|skip|mismatch)[a-z]*+|incomplete"
_ASKS: Final = {
    re.compile(rf"(?i)\b(?:{_PASSED})\b"): _PASSED,
    re.compile(r"(?i)\bself.?check|\b(?:no|zero|without|any|never|not) (?:\w+ )?fail\w*"): _PASSED,
    re.compile(rf"(?i)\b(?:{_FINISHED})\b"): _FINISHED,
}
# What stands in place of a good word if the outcome is bad.
_BAD_WORD: Final = rf"(?i:not[ _-]{NAME}|{_FAILED}|un[a-z]+|killed|stopped|timeout|ko)"
_ANY_GOOD: Final = rf"(?i:{_PASSED})"
_ZERO: Final = "0+"
_MORE: Final = r"(?=\d*[1-9])\d+"
# A sentence about an outcome is no outcome.
_UNSURE: Final = re.compile(
    r"(?i)\b(?:not|never|if|unless|whether|when|should|expect\w*|until|will|would|may|criteria)\b"
)
_CLEAR: Final = re.compile(r"(?i)passed|succe\w+|completed|finished|failed")
_TOTALS: Final = re.compile(r"(?i)total|executed|run|ran|tests?|cases?|checks?")
_TIED: Final = "total"
_FEW_LINES: Final = 30
_TWO: Final = 2


@dataclass(frozen=True)
class _StatusLine:
    """A line that says how something ended.

    Attributes:
        parts: its tokens.
        statuses: the indexes of words that say it without a number.
        limits: for the index of a number that counts, the expression of those that are good.
        tied: the indexes of two numbers that must be the same, or none.
        is_good: whether it says that all is well.
        label: its other words, in the singular.
    """

    path: Path
    number: int
    text: str
    parts: Sequence[LineToken]
    statuses: tuple[int, ...]
    limits: Mapping[int, str]
    tied: tuple[int, ...]
    is_good: bool
    label: frozenset[str]

    @property
    def form(self) -> tuple[str, ...]:
        """What lines share that one answer teaches."""
        return tuple(self._any_outcome())

    def good(self) -> str:
        """Return the expression of the line as it must be."""
        places = self._any_outcome()
        for index in self.statuses:
            is_failure = _is_failure(self.parts[index])
            places[index] = _ANY_GOOD if is_failure else re.escape(self.parts[index].text)
        for index, limit in self.limits.items():
            places[index] = limit
        if self.tied:
            first, second = self.tied
            places[first] = f"(?P<{_TIED}>{_MORE})"
            places[second] = f"(?P={_TIED})"
        return _line_regex(places)

    def bad(self) -> Iterator[str]:
        """Yield the expressions of the line as it must not be; the good one is tried before."""
        places = self._any_outcome()
        for index in self.statuses:
            yield _line_regex([*places[:index], _BAD_WORD, *places[index + 1 :]])
        if self.limits or self.tied:
            # Where nothing was counted, nothing failed, and nothing passed.
            yield _line_regex(["(?=.*[1-9])", *places])

    def rows(self) -> list[tuple[Mark, str]]:
        """Return the good form, and then the bad ones, as a report format reads them."""
        rows: list[tuple[Mark, str]] = [("good", self.good())]
        for regex in self.bad():
            rows.append(("bad", regex))
        return rows

    def _any_outcome(self) -> list[str]:
        """Return the expression of each token, with any outcome and any number."""
        places = list[str]()
        for index, part in enumerate(self.parts):
            text = re.escape(part.text)
            if index in self.statuses:
                text = f"(?:{_ANY_GOOD if _is_failure(part) else text}|{_BAD_WORD})"
            elif part.kind == "number":
                text = NUMBER
            elif part.kind == "blank":
                text = r"\s+"
            elif re.match(DAY, part.text):
                text = ANY_WORD
            elif part.kind == "name" and not words_in(part.text) & self.label:
                text = NAME
            places.append(text)
        return places

    def example(self, *, good: bool) -> str:
        """Return the line with a good or a bad outcome."""
        if good == self.is_good:
            return self.text
        texts = [part.text for part in self.parts]
        for index in self.statuses:
            word = "pass" if good else "fail"
            texts[index] = word.upper() if texts[index].isupper() else word
        # One kind of change is enough to make the line good or bad.
        for index, limit in self.limits.items():
            if good or not self.statuses:
                texts[index] = "0" if good == (limit == _ZERO) else "1"
        return "".join(texts)


def status_candidates(description: str, paths: Iterable[Path]) -> list[LineCandidate]:
    """Return the lines of files that may say what a description asks for, the best first."""
    outcome = next((words for asks, words in _ASKS.items() if asks.search(description)), "")
    if not outcome:
        return []
    # "Test" and "passed" are words of the claim that a simulation passed, which is then close.
    close_names = [each.row.name for each in candidates(description, has_patterns=False)]
    close_words = frozenset[str]().union(*map(_words_of_claim, close_names))
    asked_words = words_in(description) - {plain_word(word) for word in shipped_claims().grammar}
    best = list[tuple[tuple[float, ...], LineCandidate]]()
    for path in paths:
        lines = lines_of(path)
        forms = dict[tuple[str, ...], list[_StatusLine]]()
        for number, text in lines:
            line = _status_line(path, number, text, re.compile(rf"(?i:{outcome})"))
            if line is not None and (not line.label or line.label & (asked_words | close_words)):
                forms.setdefault(line.form, []).append(line)
        for members in forms.values():
            line = members[-1]
            # A line that stands there once sums up others, above all one that counts.
            shared = len(line.label & asked_words)
            rank = (len(members) > 1, -shared, not line.limits, -line.number)
            candidate = _candidate(description, members, forms.values(), lines)
            # A line that names no matter is of all that the description names.
            own_words = map(_words_of_claim, _claims_named_by(line) or close_names[:1])
            candidate = replace(candidate, own_words=frozenset[str]().union(*own_words))
            best.append((rank, candidate))
    best.sort(key=lambda entry: entry[0])
    return [candidate for _, candidate in best[:MOST]]


def _claims_named_by(line: _StatusLine) -> list[str]:
    """Return the claims that are known by a word of a line."""
    names = list[str]()
    for name, claim in shipped_claims().claims.items():
        if line.label & {plain_word(word) for word in claim.needs}:
            names.append(name)
    return names


def _words_of_claim(name: str) -> frozenset[str]:
    return frozenset(plain_word(word) for word in shipped_claims().claims[name].words)


def _status_line(
    path: Path, number: int, text: str, outcome: re.Pattern[str]
) -> _StatusLine | None:
    """Return a line that says how something ended, or None."""
    if not is_printed(text) or _UNSURE.search(text):
        return None
    parts = tokens(text)
    outcomes = set[int]()
    for index, part in enumerate(parts):
        if part.kind == "word" and (outcome.fullmatch(part.text) or _is_failure(part)):
            outcomes.add(index)
    limits, counted = _counts(parts, outcomes)
    statuses, failures = list[int](), list[int]()
    for index in sorted(outcomes - {*counted.values()}):
        if _is_outcome(parts, index):
            statuses.append(index)
            if _is_failure(parts[index]):
                failures.append(index)
    # Of "PASS" and "FAIL" without a number nobody can tell which one counts.
    if not (statuses or counted) or failures not in ([], statuses):
        return None
    has_number = any(part.kind == "number" and part.text.strip("0") for part in parts)
    # "0 failed" alone does not say that anything ran.
    if not statuses and not has_number:
        return None
    tied = _tied(parts, counted)
    label = set[str]()
    for index, part in enumerate(parts):
        if part.kind == "word" and index not in outcomes and not re.match(DAY, part.text):
            label |= words_in(part.text)
    is_good = not failures and len({parts[index].text for index in tied}) < _TWO
    for index, limit in limits.items():
        is_good = is_good and bool(re.fullmatch(limit, parts[index].text))
    return _StatusLine(
        path, number, text, parts, tuple(statuses), limits, tied, is_good, frozenset(label)
    )


def _is_failure(part: LineToken) -> bool:
    return re.fullmatch(rf"(?i:{_FAILED})", part.text) is not None


def _counts(
    parts: Sequence[LineToken], outcomes: Collection[int]
) -> tuple[dict[int, str], dict[int, int]]:
    """Return the good numbers of what a line counts, and the outcome that a number counts."""
    limits, counted = dict[int, str](), dict[int, int]()
    numbers = _whole_numbers(parts)
    # "passed 30 failed 0" and "30 passed 0 failed" count the same.
    word_first = bool(numbers) and min(outcomes, default=len(parts)) < numbers[0]
    for index in numbers:
        left, right = _word_beside(parts, index, -1), _word_beside(parts, index, 1)
        # In `checks=40 failures=0` each number is that of the word before it.
        if index and parts[index - 1].text == "=":
            right = None
        order = (left, right) if word_first else (right, left)
        word = next((word for word in order if word in outcomes), None)
        if word is not None:
            counted[index] = word
            limits[index] = _ZERO if _is_failure(parts[word]) else _MORE
        elif right is not None and left is None and int(parts[index].text):
            limits[index] = _MORE
    return limits, counted


def _whole_numbers(parts: Sequence[LineToken]) -> list[int]:
    """Return the indexes of the numbers that may count something."""
    numbers = list[int]()
    for index, part in enumerate(parts):
        if part.text.isdecimal():
            numbers.append(index)
    return numbers


def _word_beside(parts: Sequence[LineToken], index: int, step: int) -> int | None:
    """Return the index of the word right before or behind a number, or None."""
    index += step
    while 0 <= index < len(parts):
        part = parts[index]
        if part.kind == "word":
            return index
        is_passed_over = part.kind == "blank" or (step < 0 and part.text in ":=")
        if not is_passed_over:
            return None
        index += step
    return None


def _is_outcome(parts: Sequence[LineToken], index: int) -> bool:
    """Return whether a word of outcome stands as one: "PASS", "passed", "status: ok", "... pass".

    The third pass of an optimiser is no outcome.
    """
    text = parts[index].text
    if text.isupper() or _CLEAR.fullmatch(text):
        return True
    before = "".join(part.text for part in parts[:index]).rstrip()
    behind = "".join(part.text for part in parts[index + 1 :])
    return not before or not before[-1].isalnum() or not re.search(r"\w", behind)


def _tied(parts: Sequence[LineToken], counted: Mapping[int, int]) -> tuple[int, ...]:
    """Return the indexes of two numbers that must be the same: "12/12", "12 passed, 12 run"."""
    numbers = _whole_numbers(parts)
    for first, second in itertools.pairwise(numbers):
        between = "".join(part.text for part in parts[first + 1 : second]).strip()
        if between in ("/", "of", "out of"):
            return first, second
    passed = list[int]()
    for index, word in counted.items():
        if not _is_failure(parts[word]):
            passed.append(index)
    for index in numbers:
        left, right = _word_beside(parts, index, -1), _word_beside(parts, index, 1)
        is_total = any(_is_total(parts, word) for word in (left, right))
        if is_total and index not in counted and len(passed) == 1:
            return min(index, *passed), max(index, *passed)
    return ()


def _is_total(parts: Sequence[LineToken], word: int | None) -> bool:
    return word is not None and _TOTALS.fullmatch(parts[word].text) is not None


def _candidate(
    description: str,
    members: Sequence[_StatusLine],
    forms: Iterable[Sequence[_StatusLine]],
    lines: Sequence[tuple[int, str]],
) -> LineCandidate:
    """Return lines of one form as a candidate.

    Args:
        description: what is asked for.
        members: the lines.
        forms: the lines of each form of the file. If the file ends with the one that is offered,
            those of other forms that are good today are taught with it.
        lines: all lines of the file, with their numbers.
    """
    line = members[-1]
    rows = line.rows()
    complete = list[str]()
    texts = [text for _, text in lines]
    end = clear_end(texts)
    is_near_end = not any(text.strip() for text in texts[line.number + _FEW_LINES :])
    if len(members) == 1 and is_near_end:
        complete += map(operator.itemgetter(1), rows)
        for other in forms:
            if other is not members and all(each.is_good for each in other):
                rows += other[-1].rows()
    elif end is not None:
        complete = [end_regex(texts[end - 1])]
    marked = [Marked("good", line.example(good=True)), Marked("bad", line.example(good=False))]
    together = "".join(rf"(?=.*\b{re.escape(word)})" for word in sorted(line.label))
    must = (rf"(?i)^{together}(?=.*\b(?:{_PASSED}|{_FINISHED}|{_FAILED})\b)", ALARM)
    lesson = Lesson(tuple(marked), tuple(rows), (), must, complete=tuple(complete))
    used = words_of_line(description, line.text)
    for asks in _ASKS:
        for match in asks.finditer(description):
            used.append(match[0])
    left_out = words_not_used(description, used, lesson)
    shown = " ".join(line.text.split())
    says = f'No line like "{shown}" is there, and one says that all is well'
    if line.is_good:
        says = f'Each line like "{shown}" says that all is well'
    return LineCandidate(
        says,
        lesson,
        left_out,
        f"{line.path.name}:{line.number} {shown}",
        line.label,
        lambda text: bool(re.search(must[0], text)),
    )


def _line_regex(places: Sequence[str]) -> str:
    return rf"^\s*{''.join(places)}\s*$"
