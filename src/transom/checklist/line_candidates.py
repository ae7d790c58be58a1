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
from typing import Final, cast

from transom.canonical import Json
from transom.checklist.atoms import ClaimRow
from transom.checklist.claims.claim_data import shipped_claims
from transom.checklist.claims.ranking import limit_in
from transom.checklist.line_patterns import ALARM, LineToken, Mark, tokens
from transom.checklist.number_ranges import COMPARISONS, Comparison, fulfils
from transom.checklist.taught_format import NO_END, claim_name, format_text
from transom.checklist.teach import Lesson, Marked, TaughtLimit, clear_end, learn
from transom.errors import InputError
from transom.evidence.account import words_of_question
from transom.evidence.trouble import TroubleFinder
from transom.evidence.units import factor_to_base, quantity_of
from transom.formats.reports.trees import csv_lines, json_lines, kind_of_tree, xml_lines
from transom.formats.text_files import TextFile
from transom.formats.yaml_files import parse_yaml

MOST: Final = 3
_NAME: Final = "taught.line"
_LARGEST_FILE: Final = 20_000_000
_LONGEST: Final = 200
_LEAST_SHARE: Final = 0.5
_WORD: Final = re.compile(r"[A-Za-z]+")
_SPELLINGS: Final = (("isation", "ization"), ("ised", "ized"), ("our", "or"))
# Words that say that a share is meant, which a table need not repeat.
_SHARES: Final = frozenset(
    {"utilization", "usage", "use", "used", "share", "percent", "count", "number"}
)
_VERBS: Final = ("exceed", "exceeds", "stay", "stays", "reach", "reaches", "leave", "leaves")
_NOUN: Final = r"(?<![\w-])(?P<noun>(?:[\w-]++ ){0,3}?[\w-]++)"
_ZERO_OF: Final = re.compile(
    rf"\b(?:no|zero|0|without(?: any)?|free (?:of|from))\s+{_NOUN}"
    r"(?=\s+(?:in|of|on|at|for|after|during|are|is|left|remain\w*|reported|within|across|by|from"
    r"|may|must|should|can|occur\w*|appear\w*|found|and|or)\b|\s*[.,;:)]|\s*$)",
    re.IGNORECASE,
)
_IS_ZERO: Final = re.compile(
    rf"{_NOUN}\s++(?:count\s++)?(?:is|are|equals?|=+|stays?)\s+(?:0|zero)\b(?!\.)", re.IGNORECASE
)
# "95 % or more" is at least 95 %.
_BEHIND: Final = re.compile(
    r"(?<![\d.,])(?P<number>-?\d[\d.,]*+(?:\s?(?:%|[a-zµ]++))?) or"
    r" (?P<way>more|higher|above|better|less|lower|below|fewer)\b",
    re.IGNORECASE,
)
_NOT_ABOVE: Final = re.compile(r"\b(?:\w+ ){0,2}(?:not|never) \w+", re.IGNORECASE)
_NOT_NEGATIVE: Final = re.compile(r"\b(?:not|non|never)[\s-]+negative\b", re.IGNORECASE)
_COMPARISON_WORDS: Final[dict[Comparison, str]] = {
    ">=": "at least",
    "<=": "at most",
    ">": "above",
    "<": "below",
}
_UPWARD: Final = frozenset({"more", "higher", "above", "better"})
_ECHO: Final = re.compile(r"^\s*(?:puts |echo |set |if |\$display|[\w./-]*[>%] )")


@dataclass(frozen=True)
class _Wish:
    """What a description asks of a number.

    Attributes:
        words: words of its label, in the singular.
        needed: those that a line must have.
        comparison, number, unit: the limit.
        used: phrases of the description that the limit uses.
        shown: the limit as a person reads it.
    """

    words: tuple[str, ...]
    needed: frozenset[str]
    comparison: Comparison
    number: str
    unit: str
    used: tuple[str, ...]
    shown: str


@dataclass(frozen=True)
class LineCandidate:
    """A line that may be what a description limits.

    Attributes:
        says: what an answer that chooses it means.
        lesson: what that answer teaches.
        left_out: words of the description that neither the line nor the limit has.
        evidence: the file, the line's number and its text.
    """

    says: str
    lesson: Lesson
    left_out: tuple[str, ...]
    evidence: str
    wish: _Wish

    def is_matter(self, line: str) -> bool:
        """Return whether another line may speak of what is limited: by a number, or by trouble."""
        words = _words(line)
        label = (self.wish.needed or frozenset(self.wish.words)) & _words(
            self.lesson.marked[0].text
        )
        if not label <= words:
            return False
        numbers = next(_fitting(self.wish, Path(), [(1, line)]), None)
        return numbers is not None or bool(TroubleFinder("eda").in_line(line))

    def row(self, path: str) -> ClaimRow:
        """Return the claim, with the path of its report format."""
        return ClaimRow(name=claim_name(self.lesson), left_out=self.left_out, format=path)

    @property
    def report_format(self) -> dict[str, Json]:
        """The report format that it teaches."""
        data = parse_yaml(format_text(_NAME, self.says, self.lesson), Path(_NAME)).data
        return cast("dict[str, Json]", data)


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
    wish = _wish_of(description)
    if wish is None:
        return []
    best = list[tuple[tuple[float, float, int], LineCandidate]]()
    for path in paths:
        lines = _lines_of(path)
        counts = Counter(word for _, text in lines for word in _words(text))
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


def _wish_of(description: str) -> _Wish | None:
    """Return what a description asks of a number, or None if it limits none."""
    text = " ".join(description.split())
    limited = _BEHIND.sub(_limit_in_front, text)
    limit = limit_in(limited)
    if limit is not None:
        words, bound = limit
        if bound.comparator not in COMPARISONS:
            return None
        label = _label_words(limited.replace(words, " "))
        number = f"{bound.number.value:f}"
        used = (*words.split(), *_VERBS)
        for phrase in (*_BEHIND.finditer(text), *_NOT_ABOVE.finditer(text)):
            used += tuple(phrase[0].split())
        comparison = bound.comparator
        unit = bound.number.unit
        shown = f"{_COMPARISON_WORDS[comparison]} {number} {unit}".strip()
        return _Wish(label, frozenset(), comparison, number, unit, used, shown)
    if _NOT_NEGATIVE.search(text):
        label = _label_words(_NOT_NEGATIVE.sub(" ", text))
        used = (*_VERBS, "not", "non", "negative", "positive", "non-negative")
        return _Wish(label, frozenset(), ">=", "0", "", used, "at least 0")
    match = _ZERO_OF.search(text) or _IS_ZERO.search(text)
    if match is None:
        return None
    nouns = [word for word in _label_words(match["noun"]) if word not in _SHARES]
    # "Setup violation count is 0" counts violations, and what stands before narrows them.
    needed = frozenset(nouns if match.re is _ZERO_OF else nouns[-1:])
    if not needed:
        return None
    used = (*match[0].split(), "zero", "0", "no", "without")
    return _Wish(_label_words(text), needed, "<=", "0", "", used, "at most 0")


def _limit_in_front(match: re.Match[str]) -> str:
    """Return "95 % or more" as "at least 95 %"."""
    words = "at least" if match["way"].lower() in _UPWARD else "at most"
    return f"{words} {match['number']}"


def _label_words(text: str) -> tuple[str, ...]:
    """Return the words of a description that may stand in a label, in the singular."""
    claims = shipped_claims()
    # "Non-equivalent points" are other points than equivalent ones.
    ignored = {*claims.grammar, *claims.denials, *_VERBS} - {"non"}
    words = []
    for word in _WORD.findall(text):
        if len(word) > 1 and word.lower() not in ignored:
            words.append(_plain(word))
    return tuple(dict.fromkeys(words))


def _plain(word: str) -> str:
    """Return a word in lower case, in one spelling and in the singular."""
    word = word.lower()
    for british, american in _SPELLINGS:
        word = word.replace(british, american)
    return word.rstrip("s")


def _words(text: str) -> frozenset[str]:
    return frozenset(_plain(word) for word in _WORD.findall(text))


def _lines_of(path: Path) -> list[tuple[int, str]]:
    """Return the numbered lines of a file as a report format reads them; none of a huge file."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return []
        text = TextFile(path).whole()
    except (InputError, OSError):
        return []
    kind = kind_of_tree(text)
    if kind == "xml":
        return list(xml_lines([text]))
    if kind == "json":
        return list(json_lines(text))
    if kind == "csv":
        return list(csv_lines(text))
    return list(enumerate((line.rstrip() for line in text.split("\n")), 1))


def _fitting(wish: _Wish, path: Path, lines: Sequence[tuple[int, str]]) -> Iterator[_Line]:
    """Yield the lines whose label has enough of the words, and a number to compare."""
    wanted = {word for word in wish.words if word not in _SHARES} or {*wish.words}
    header = ""
    for number, text in lines:
        if text.count("|") > 1 and "%" in text and not re.search(r"\d", text):
            header = text
        if len(text) > _LONGEST or _ECHO.match(text):
            continue
        words = _words(text)
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
                if part.kind == "name" and _words(part.text) & wanted:
                    labels.add(place)
            yield _Line(str(path), number, text, index, value, words, frozenset(labels))


def _number_at(wish: _Wish, parts: Sequence[LineToken], text: str, header: str) -> int | None:
    """Return the index of the one number of a line that may be meant, or None."""
    numbers = [index for index, part in enumerate(parts) if part.kind == "number"]
    fitting = list[int]()
    for index in numbers:
        has_unit = not wish.unit or _is_same_quantity(_unit_behind(parts, index), wish.unit)
        if has_unit and (not wish.needed or _is_beside(parts, index, wish.needed)):
            fitting.append(index)
    if wish.unit == "%" and not fitting:
        return _in_column_of_shares(parts, text, header)
    return fitting[0] if len(fitting) == 1 else None


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


def _limit_in(unit: str, wish: _Wish) -> str:
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
            words |= _words(part.text)
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


def _must(lesson: Lesson, line: _Line, wish: _Wish) -> tuple[str, ...]:
    """Return what another line must be read for: its beginning, all words of the label, an alarm.

    A lesson of lines that a person marked asks for each of their words, since it knows no label.
    """
    words = sorted(word for word in _WORD.findall(line.text) if _plain(word) in wish.words)
    together = "".join(rf"(?=.*{re.escape(word)})" for word in dict.fromkeys(words))
    kept = list[str]()
    for regex in lesson.must:
        if regex.startswith("^") or regex == ALARM:
            kept.append(regex)
    return tuple(dict.fromkeys([*kept, rf"(?i)^{together}"]))


def _candidate(
    description: str, wish: _Wish, lines: Sequence[_Line], texts: Sequence[str]
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
    used = [word for word in _WORD.findall(description) if _plain(word) in line.words]
    used += [*wish.used, *_SHARES] if wish.unit == "%" else wish.used
    words = words_of_question(description, used, ignored=shipped_claims().grammar)
    left_out = tuple(word.text for word in words if not word.is_used and word.could_matter)
    value = tokens(line.text)[line.token].text
    label = " ".join(line.text.split())
    says = f'The number {value} in each line like "{label}" is {wish.shown} [{claim_name(lesson)}]'
    if left_out:
        says += "; not checked: " + ", ".join(f'"{text}"' for text in left_out)
    if not ends:
        says += f"; {NO_END}"
        # Only an answer with a name takes this over, and the item keeps it.
        left_out = (*left_out, NO_END)
    return LineCandidate(says, lesson, left_out, f"{name}:{line.number} {label}", wish)
