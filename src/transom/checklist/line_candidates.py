"""Lines of today's files that may be what a description limits, taught by one answer.

    "ALU functional coverage is at least 95 %"      -> Functional Coverage = 96.67%
    "no assertion failures"                         -> Assertion Failures = 245

A file of a format that nobody knows still labels its numbers. A line whose label has the words of
the description, and one number that can be compared, is offered as it stands; a person who chooses
it teaches all lines of its form, each held to the limit.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Final

from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.labelled_limits import (
    SHARES,
    WORD,
    LabelledLimit,
    labelled_limit,
    plain_word,
    words_in,
)
from transom.checklist.line_patterns import ALARM, LineToken, Mark, tokens
from transom.checklist.number_ranges import fulfils
from transom.checklist.offered_lines import (
    LineCandidate,
    is_printed,
    lines_of,
    words_not_used,
    words_of_line,
)
from transom.checklist.teach import Lesson, Marked, TaughtLimit, clear_end, learn
from transom.errors import InputError
from transom.evidence.units import factor_to_base, quantity_of

MOST: Final = 3
_LEAST_SHARE: Final = 0.5


@dataclass(frozen=True)
class _Line:
    """A line of a file with the number that may be meant."""

    path: str
    number: int
    text: str
    token: int
    value: float
    words: frozenset[str]
    labels: frozenset[int]


def line_candidates(description: str, paths: Iterable[Path]) -> list[LineCandidate]:
    """Return the lines of files that may be what a description limits, the best first."""
    wish = labelled_limit(description)
    if wish is None:
        return []
    best = list[tuple[tuple[float, float, int], LineCandidate]]()
    for path in paths:
        lines = lines_of(path)
        counts = Counter(word for _, text in lines for word in words_in(text))
        forms = dict[tuple[object, ...], list[_Line]]()
        for line in _fitting(wish, path, lines):
            forms.setdefault(_form(line), []).append(line)
        for members in forms.values():
            candidate = _candidate(description, wish, members, [text for _, text in lines])
            if candidate is not None:
                line = members[-1]
                rank = (
                    -sum(1 / (1 + math.log1p(counts[word])) for word in line.words & {*wish.words}),
                    len(line.words - {*wish.words}),
                    -line.number,
                )
                best.append((rank, candidate))
    best.sort(key=lambda entry: entry[0])
    return [candidate for _, candidate in best[:MOST]]


def lines_apart(descriptions: Sequence[str], path: Path) -> list[tuple[str, LineCandidate]]:
    """Return a line for each description, with the name that tells it from the other lines.

    Nothing unless a file has as many such lines as there are descriptions, which differ in one word
    or name.

    Args:
        descriptions: the same words with different limits, in the order of the lines.
        path: the file.
    """
    wishes = list(filter(None, map(labelled_limit, descriptions)))
    if len(wishes) < len(descriptions):
        return []
    lines = lines_of(path)
    forms = dict[tuple[object, ...], list[_Line]]()
    for line in _fitting(wishes[0], path, lines):
        kinds = tuple(part.kind for part in tokens(line.text))
        forms.setdefault(kinds, []).append(line)
    for members in forms.values():
        # "func" and "scan" tell the lines of two modes apart.
        place = _telling_place(members)
        if place is None or len(members) != len(descriptions):
            continue
        found = list[tuple[str, LineCandidate]]()
        for description, wish, line in zip(descriptions, wishes, members, strict=True):
            named = replace(line, labels=line.labels | {place})
            candidate = _candidate(description, wish, [named], list(dict(lines).values()))
            if candidate is not None:
                found.append((tokens(line.text)[place].text, candidate))
        if len(found) == len(descriptions):
            return found
    return []


def _telling_place(lines: Sequence[_Line]) -> int | None:
    """Return the index of the one word or name in which each of several lines differs, or None."""
    places = list[int]()
    for place, column in enumerate(zip(*(tokens(line.text) for line in lines), strict=True)):
        texts = {part.text for part in column if part.kind in ("name", "word")}
        if len(texts) == len(lines):
            places.append(place)
        elif len(texts) > 1:
            return None
    return places[0] if len(places) == 1 else None


def _fitting(wish: LabelledLimit, path: Path, lines: Sequence[tuple[int, str]]) -> Iterator[_Line]:
    """Yield the lines whose label has enough of the words, and a number to compare."""
    wanted = {word for word in wish.words if word not in SHARES} or {*wish.words}
    if not wanted:
        return
    header = ""
    for number, text in lines:
        if text.count("|") > 1 and "%" in text and not re.search(r"\d", text):
            header = text
        if not is_printed(text):
            continue
        words = words_in(text)
        found = words & wanted
        share = 1.0 if wish.needed else len(found) / len(wanted)
        if not found or not wish.needed <= words or share < _LEAST_SHARE:
            continue
        parts = tokens(text)
        index = _number_at(wish, parts, text, header)
        if index is not None:
            value = float(parts[index].text.rstrip("%"))
            # A count of -1 stands for none.
            if wish.needed and (value < 0 or not value.is_integer()):
                continue
            labels = set[int]()
            for place, part in enumerate(parts):
                if part.kind == "name" and words_in(part.text) & wanted:
                    labels.add(place)
            yield _Line(str(path), number, text, index, value, words, frozenset(labels))


def _number_at(
    wish: LabelledLimit, parts: Sequence[LineToken], text: str, header: str
) -> int | None:
    """Return the index of the one number of a line that may be meant, or None."""
    numbers = [index for index, part in enumerate(parts) if part.kind == "number"]
    fitting = list[int]()
    for index in numbers:
        has_unit = not wish.unit or _is_same_quantity(_unit_behind(parts, index), wish.unit)
        if has_unit and (not wish.needed or _is_beside(parts, index, wish.needed)):
            fitting.append(index)
    if wish.unit == "%" and not fitting:
        return _in_column_of_shares(parts, text, header)
    return fitting[0] if len(fitting) == 1 else _labelled_number(parts, fitting, {*wish.words})


def _labelled_number(
    parts: Sequence[LineToken], fitting: Sequence[int], wanted: Collection[str]
) -> int | None:
    """Return the index of the one number right behind its label, or None.

    In "skew 31 ps latency 410 ps" each label stands before its number; if words stand behind the
    last one, the labels may stand behind their numbers, and nothing tells which is whose.
    """
    labels = dict[int, list[str]]()
    begin = 0
    for index, part in enumerate(parts):
        if part.kind == "number":
            labels[index] = _label_of(parts[begin:index])
            begin = index + 1
            unit = _unit_behind(parts, index)
            # A unit belongs to the number before it, and begins no label.
            while quantity_of(unit) is not None and not parts[begin - 1].text.endswith(unit):
                begin += 1
    # In "96 % of 98 %" the second number has no label.
    if not all(map(labels.get, fitting)) or _label_of(parts[begin:]):
        return None
    counts = Counter[int]()
    for index in fitting:
        if words_in(labels[index][-1]) & {*wanted}:
            counts[index] = len(words_in(" ".join(labels[index])) & {*wanted})
    first, second = [*counts.most_common(2), (None, 0), (None, 0)][:2]
    # "Setup slack 2 ns hold slack 3 ns": which slack is meant, only more words tell.
    return first[0] if first[1] > second[1] else None


def _label_of(parts: Sequence[LineToken]) -> list[str]:
    """Return the words and names that stand before a number; nothing if all are grammar."""
    label = list[str]()
    for part in parts:
        if part.kind in ("word", "name"):
            label.append(part.text)
    return label if {*map(str.lower, label)} - {*shipped_claims().grammar} else []


def _unit_behind(parts: Sequence[LineToken], index: int) -> str:
    """Return the unit right behind a number, or ""."""
    if parts[index].text.endswith("%"):
        return "%"
    for part in parts[index + 1 : index + 3]:
        if part.kind != "blank":
            return part.text
    return ""


def _is_same_quantity(unit: str, other: str) -> bool:
    """Return whether numbers with two units can be compared, such as ns with ps."""
    quantity = quantity_of(unit)
    return unit == other or (quantity is not None and quantity == quantity_of(other))


def _limit_in(unit: str, wish: LabelledLimit) -> str:
    """Return the limit of a wish as a number in the unit that a line prints."""
    factor, own = factor_to_base(unit), factor_to_base(wish.unit)
    if unit == wish.unit or not factor or not own:
        return wish.number
    return f"{Decimal(wish.number) * own / factor:f}"


def _in_column_of_shares(parts: Sequence[LineToken], text: str, header: str) -> int | None:
    """Return the index of the number below the one head of a table that has a percent sign."""
    heads = header.strip().split("|")
    columns = [position for position, head in enumerate(heads) if "%" in head]
    if len(columns) != 1 or text.strip().count("|") != len(heads) - 1:
        return None
    position = 0
    for index, part in enumerate(parts):
        position += part.text == "|"
        if part.kind == "number" and position == columns[0]:
            return index
    return None


def _is_beside(parts: Sequence[LineToken], index: int, needed: Collection[str]) -> bool:
    """Return whether a number stands right beside the words that it counts."""
    before = _without_blanks(parts[:index])
    while before and before[-1].kind == "sign":
        before.pop()
    words = set[str]()
    for part in [*before[-3:], *_without_blanks(parts[index + 1 :])[:3]]:
        if part.kind in ("word", "name"):
            words |= words_in(part.text)
    return bool(words & {*needed})


def _without_blanks(parts: Sequence[LineToken]) -> list[LineToken]:
    """Return the tokens that are no blanks."""
    kept = list[LineToken]()
    for part in parts:
        if part.kind != "blank":
            kept.append(part)
    return kept


def _form(line: _Line) -> tuple[object, ...]:
    """Return what lines share that one answer teaches: kinds, words and signs."""
    form = list[object]([line.path])
    for index, part in enumerate(tokens(line.text)):
        is_fixed = part.kind in ("word", "sign") or index in line.labels
        form.append((part.kind, part.text if is_fixed else ""))
    return tuple(form)


def _must(lesson: Lesson, line: _Line, wish: LabelledLimit) -> tuple[str, ...]:
    """Return what another line must be read for: its beginning, all words of the label, an alarm.

    A lesson of lines that a person marked asks for each of their words, since it knows no label.
    """
    words = sorted(word for word in WORD.findall(line.text) if plain_word(word) in wish.words)
    together = "".join(rf"(?=.*{re.escape(word)})" for word in dict.fromkeys(words))
    kept = list[str]()
    for regex in lesson.must:
        if regex.startswith("^") or regex == ALARM:
            kept.append(regex)
    return tuple(dict.fromkeys([*kept, rf"(?i)^{together}"]))


def _candidate(
    description: str, wish: LabelledLimit, lines: Sequence[_Line], texts: Sequence[str]
) -> LineCandidate | None:
    """Return lines of one form as a candidate, or None if they contradict each other."""
    unit = _unit_behind(tokens(lines[-1].text), lines[-1].token)
    number = _limit_in(unit, wish)
    holds = [fulfils(line.value, wish.comparison, float(number)) for line in lines]
    # A count on the way to the last one is no verdict.
    if holds[-1] and not all(holds):
        return None
    line = lines[-1]
    name = Path(line.path).name
    limit = TaughtLimit(line.token, wish.comparison, number)
    mark: Mark = "good" if holds[-1] else "bad"
    marked = Marked(mark, line.text, name, line.number, limit, line.labels)
    ends = list[Marked]()
    end = clear_end(texts)
    if end is not None:
        ends.append(Marked("beside", texts[end - 1], name, end))
    try:
        lesson = learn([marked], ends)
    except InputError:
        return None
    lesson = replace(lesson, must=_must(lesson, line, wish))
    used = words_of_line(description, line.text)
    used += [*wish.used, *SHARES] if wish.unit == "%" else wish.used
    value = tokens(line.text)[line.token].text
    label = " ".join(line.text.split())
    left_out = words_not_used(description, [*used], lesson)
    says = f'The number {value} in each line like "{label}" is {wish.shown}'
    words = (wish.needed or frozenset(wish.words)) & words_in(line.text)

    def states(text: str) -> bool:
        return next(_fitting(wish, Path(), [(1, text)]), None) is not None

    return LineCandidate(
        says,
        lesson,
        left_out,
        f"{name}:{line.number} {label}",
        words,
        states,
    )
