"""`check teach`: from lines that a person marks as good, bad or to be ignored to a report format.

A pattern keeps the words of its lines and lets numbers and names differ. If it fits a line of
another mark, it is narrowed: a number by its sign and by being zero, then a name. What looks like
the matter and is read by no pattern must be marked, too; in another log such a line is a question.
A log without the line that ends each complete one is a question as well. So what nobody was shown
is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from transom.checklist.line_patterns import (
    ALARM,
    DENIES,
    NAME,
    NUMBER,
    WORD,
    LinePattern,
    LineToken,
    Mark,
    tokens,
)
from transom.checklist.number_ranges import Comparison, fulfils, range_regex
from transom.errors import InputError

_OVER: Final = (
    r"(?i)\b(?:done|finish(?:ed|es)?|complet(?:e|ed|es|ion)|end"
    r" of|ended|ends|exit(?:ed|ing|s)?|bye|goodbye)\b"
)
DAY: Final = (
    r"(?i)(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*$"
)
_OPPOSITES: Final[dict[Comparison, Comparison]] = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_LIMIT: Final = re.compile(
    r"(?P<which>[-+]?\d[\d.]*%?)?\s*(?P<comparison>[<>]=?)\s*(?P<limit>[-+]?\d+(?:\.\d+)?)\s*%?"
)
_COMMON: Final = frozenset(
    {"the", "and", "for", "all", "was", "were", "with", "has", "have", "are", "this", "that"}
)


@dataclass(frozen=True)
class Marked:
    """A line that a person marked: where it stands, what it says.

    Attributes:
        limit: the limit that one of its numbers is held to.
        labels: the indexes of its tokens that are labels, such as `drc__errors`, and no names of
            the design, for which any other would stand.
    """

    mark: Mark
    text: str
    file: str = ""
    line: int = 0
    limit: TaughtLimit | None = None
    labels: frozenset[int] = frozenset()


@dataclass(frozen=True)
class TaughtLimit:
    """A limit of a number in a line, such as "at least 98".

    Attributes:
        token: the index of the number among the tokens of its line.
        number: the limit as it was written.
    """

    token: int
    comparison: Comparison
    number: str

    def regex(self, mark: Mark) -> str:
        """Return the expression of the numbers that make the line good or bad."""
        comparison = self.comparison if mark == "good" else _OPPOSITES[self.comparison]
        return range_regex(comparison, self.number)


def limited_line(text: str, place: str, limit: str) -> Marked:
    """Return a line that is marked by a limit on one of its numbers.

    Args:
        text: the line.
        place: where it stands, for messages.
        limit: the limit, such as `>= 98`; if the line has several numbers, the one that is meant
            stands before it: `61.2 < 80`.

    Raises:
        InputError: the limit cannot be read, or the number is not clear.
    """
    match = _LIMIT.fullmatch(limit.strip())
    if match is None:
        hint = "write it as FILE:LINE >= 98; the signs are >=, >, <= and <"
        raise InputError(f"{limit!r} is no limit", place=place, hint=hint)
    numbers = dict[int, str]()
    for index, token in enumerate(tokens(text)):
        if token.kind == "number":
            numbers[index] = token.text
    # The number itself names the column that is meant.
    if match["which"]:
        numbers = {index: text for index, text in numbers.items() if text == match["which"]}
    if len(numbers) != 1:
        hint = "name the number that you mean: FILE:LINE:61.2 < 80"
        problem = "has no such number" if not numbers else "has several numbers"
        raise InputError(problem, place=place, hint=hint)
    ((index, number),) = numbers.items()
    comparison = cast("Comparison", match["comparison"])
    is_good = fulfils(float(number.rstrip("%")), comparison, float(match["limit"]))
    taught_limit = TaughtLimit(index, comparison, match["limit"])
    return Marked("good" if is_good else "bad", text, limit=taught_limit)


def counterexample(marked: Marked) -> Marked | None:
    """Return the line of a limit with a number on the other side of it, or None without a limit."""
    if marked.limit is None:
        return None
    mark: Mark = "bad" if marked.mark == "good" else "good"
    regex = re.compile(marked.limit.regex(mark))
    parts = tokens(marked.text)
    printed = parts[marked.limit.token].text
    decimals = len(printed.rstrip("%").partition(".")[2])
    for step in (0, 1, -1):
        number = float(marked.limit.number) + step * 10.0**-decimals
        text = f"{number:.{decimals}f}{'%' if printed.endswith('%') else ''}"
        if regex.fullmatch(text):
            parts[marked.limit.token] = LineToken("number", text)
            # The indent of the line is no part of its tokens.
            return replace(marked, mark=mark, text="".join(part.text for part in parts))
    return None


@dataclass(frozen=True)
class Lesson:
    """Patterns learned from marked lines: rows of a mark and a regex, and regexes of lines to skip
    and to heed.

    One of `complete` must fit a line of every log; there is none if nothing says that a log is
    complete. If several things are asked, `parts` says for each of `rows` of which it is.
    """

    marked: tuple[Marked, ...]
    rows: tuple[tuple[Mark, str], ...]
    skipped: tuple[str, ...]
    must: tuple[str, ...]
    ends: tuple[Marked, ...] = ()
    complete: tuple[str, ...] = ()
    is_end_last: bool = False
    parts: tuple[str, ...] = ()

    def has_bad_line(self) -> bool:
        """Return whether a bad line was marked, or a limit says what one is."""
        return any(mark == "bad" for mark, _ in self.rows)

    def read(self, line: str) -> Mark | Literal["unread"] | None:
        """Return a mark for a line, `unread` if no pattern reads it but one must, or None."""
        for mark, regex in self.rows:
            if re.match(regex, line):
                return mark
        if not any(re.search(regex, line) for regex in self.must):
            return None
        if any(re.match(regex, line) for regex in self.skipped):
            return "beside"
        return "unread"

    def completed(self, text: str) -> str:
        """Return a text as a complete log has it, with the end below if it lacks one."""
        if not self.ends or fitting(self.complete, text.split("\n")):
            return text
        return f"{text}\n{self.ends[0].text}"


def learn(marked: Sequence[Marked], ends: Sequence[Marked] = ()) -> Lesson:
    """Return the patterns of marked lines, and of the last line of each complete log.

    Raises:
        InputError: no good line, a blank one, or lines of two marks that nothing tells apart.
    """
    if not any(line.mark in ("good", "bad") for line in marked):
        hint = "name one with --good FILE:LINE or --bad FILE:LINE"
        raise InputError("no line is marked as good or bad", hint=hint)
    counterexamples = filter(None, map(counterexample, marked))
    marked = [*marked, *counterexamples]
    marked_texts = {line.text for line in marked}
    every = list(marked)
    for line in ends:
        # The last line of a log decides nothing unless it was marked as well.
        if line.text not in marked_texts:
            every.append(replace(line, mark="beside"))
    patterns = _patterns_of(every)
    for pattern in patterns:
        _tell_apart(pattern, every)
    rows: list[tuple[Mark, str]] = []
    skipped = []
    for pattern in patterns:
        if pattern.mark == "beside":
            skipped.append(pattern.regex())
        else:
            rows.append((pattern.mark, pattern.regex()))
    # A line of another log that begins as the end does is the end of that one, e.g. of a bad one.
    begins = {_beginning(tokens(line.text)) for line in ends}
    files = {line.file for line in ends}
    other_ends = []
    for line in marked:
        if line.file not in files and _beginning(tokens(line.text)) in begins:
            other_ends.append(line.text)
    complete = [end_regex(line.text) for line in ends]
    for _, regex in rows:
        if fitting([regex], other_ends):
            complete.append(regex)
    return Lesson(
        tuple(marked),
        tuple(rows),
        tuple(skipped),
        tuple(_must(marked)),
        tuple(ends),
        tuple(dict.fromkeys(complete)),
    )


def _patterns_of(marked: Sequence[Marked]) -> list[LinePattern]:
    """Return a pattern for the lines of each mark and form.

    Raises:
        InputError: a line has neither word nor number.
    """
    patterns: dict[tuple[Mark, tuple[object, ...]], LinePattern] = {}
    for line in marked:
        parts = tokens(line.text)
        if not any(part.kind in ("word", "name", "number") for part in parts):
            place = f"{line.file}:{line.line}"
            raise InputError("says nothing", place=place, hint="mark another line")
        new = LinePattern(line.mark, [[] for _ in parts])
        pattern = patterns.setdefault((line.mark, _shape(parts)), new)
        for place_tokens, part in zip(pattern.places, parts, strict=True):
            place_tokens.append(part)
        pattern.fixed.update(line.labels)
        if line.limit is not None:
            pattern.limits[line.limit.token] = line.limit.regex(line.mark)
    return list(patterns.values())


def _tell_apart(pattern: LinePattern, marked: Sequence[Marked]) -> None:
    """Narrow a pattern until it fits no line of another mark.

    Raises:
        InputError: nothing tells such a line from the pattern's own.
    """
    for line in marked:
        if line.mark == pattern.mark or not re.match(pattern.regex(), line.text):
            continue
        if not pattern.narrow(line.text):
            message = (
                f"nothing tells this line, marked as {line.mark}, from those marked as"
                f" {pattern.mark}"
            )
            hint = "a limit on a number cannot be taught by lines; mark other lines"
            raise InputError(message, place=f"{line.file}:{line.line}", hint=hint)


def end_regex(line: str) -> str:
    """Return a regex of the last line of such a log on any day.

    It has the line's words, with any numbers, names and days.
    """
    free = {"number": NUMBER, "name": NAME, "blank": r"\s+"}
    pieces = []
    for token in tokens(line):
        pieces.append(
            WORD if re.match(DAY, token.text) else free.get(token.kind, re.escape(token.text))
        )
    return rf"^\s*{''.join(pieces)}\s*$"


def clear_end(lines: Sequence[str]) -> int | None:
    """Return the number of a log's last line if it alone says, in its form, that all is over."""
    with_words = [line for line in lines if re.search(r"[A-Za-z]", line)]
    if not with_words:
        return None
    last = with_words[-1]
    if not re.search(_OVER, last) or re.search(rf"(?i)\b{DENIES}\b", last):
        return None
    # A second line of that form may be the end of a step.
    endings = [_shape(tokens(line)) for line in lines if re.search(_OVER, line)]
    if endings.count(_shape(tokens(last))) > 1:
        return None
    return max(number for number, line in enumerate(lines, 1) if line == last)


def fitting(regexes: Sequence[str], lines: Sequence[str]) -> int:
    """Return the number of lines that one of the regexes fits."""
    return sum(any(re.match(regex, line) for regex in regexes) for line in lines)


def _shape(parts: Sequence[LineToken]) -> tuple[object, ...]:
    """Return the form that lines share: their kinds of tokens, and the signs among them."""
    return tuple((part.kind, part.text if part.kind == "sign" else "") for part in parts)


def _must(marked: Sequence[Marked]) -> Iterable[str]:
    """Yield regexes of what speaks of the matter.

    They are how marked lines begin, words of bad lines alone, and words of alarm.
    """
    if not any(line.mark == "good" for line in marked):
        # Lines like these are violations, and all others may be ignored.
        yield from _words_of_bad(marked)
        yield ALARM
        return
    words: dict[Mark, list[set[str]]] = {"good": [], "bad": []}
    begins, rows = [], []
    for line in marked:
        if line.mark == "beside":
            continue
        parts = tokens(line.text)
        begins.append(_beginning(parts, line.labels))
        if _is_row(parts, line.labels):
            rows.append(_row_regex(parts))
        words[line.mark].append(_words(line.text))
    yield from dict.fromkeys(begins)
    yield from dict.fromkeys(rows)
    if common := sorted(set.intersection(*words["good"], *words["bad"])):
        yield rf"(?i)\b(?:{'|'.join(common)})\b"
    good, bad = set().union(*words["good"]), set().union(*words["bad"])
    if alone := sorted(bad - good):
        yield rf"(?i)\b(?:{'|'.join(alone)})\b"
    yield ALARM


def _is_row(parts: Sequence[LineToken], labels: frozenset[int]) -> bool:
    """Return whether a line is a row of a table: it begins with a name, and others differ there."""
    first = next((index for index, token in enumerate(parts) if token.kind != "blank"), None)
    kinds = {token.kind for token in parts}
    if first is None or first in labels:
        return False
    return parts[first].kind == "name" and bool(kinds & {"number", "word"})


def _row_regex(parts: Sequence[LineToken]) -> str:
    """Return the expression of rows with the columns of a line, and of those with more words."""
    free = {"number": NUMBER, "name": NAME, "word": "[A-Za-z]+", "blank": r"\s+"}
    columns = (free.get(token.kind, re.escape(token.text)) for token in parts)
    return rf"^\s*{''.join(columns)}"


def _words_of_bad(marked: Sequence[Marked]) -> Iterable[str]:
    """Yield an expression for the words of bad lines, and how their first name begins."""
    words = set[str]()
    for line in marked:
        if line.mark != "bad":
            continue
        words |= _words(line.text)
        name = next((token.text for token in tokens(line.text) if token.kind == "name"), "")
        letters = re.match(r"[A-Za-z]{3,}", name)
        if letters:
            words.add(letters[0].lower())
    if words:
        yield rf"(?i)(?:\b|_)(?:{'|'.join(sorted(words))})(?:\b|_)"


def _beginning(parts: Sequence[LineToken], labels: frozenset[int] = frozenset()) -> str:
    """Return the first word, name or number of a line with the signs before it.

    A name counts by its letters alone, unless it is a label.
    """
    prefix = ""
    for index, part in enumerate(parts):
        if index in labels:
            return rf"^\s*{prefix}{re.escape(part.text)}(?!\w)"
        if part.kind in ("word", "name"):
            letters = re.match(r"[A-Za-z]+[^A-Za-z0-9\s]?", part.text)
            return rf"^\s*{prefix}{re.escape(letters[0] if letters else part.text)}"
        if part.kind == "number":
            return rf"^\s*{prefix}[-+]?\d"
        prefix += r"\s+" if part.kind == "blank" else re.escape(part.text)
    return rf"^\s*{prefix}"


def _words(line: str) -> set[str]:
    words: set[str] = set()
    for part in tokens(line):
        if part.kind == "word" and len(part.text) > 2 and part.text.lower() not in _COMMON:
            words.add(part.text.lower())
    return words
