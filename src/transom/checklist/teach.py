"""`check teach`: from lines that a person marks as good, bad or to be ignored to a report format.

A pattern keeps the words of its lines and lets numbers and names differ. It is narrowed where it
fits a line of another
mark: a number by its sign and by being zero, then a name. What looks like the matter and is read by
no pattern must be marked, too; in another log such a line is a question. A log without the line
that ends each complete one is a question as well. So what nobody was shown is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, cast

from transom.canonical import Json
from transom.checklist.number_ranges import Comparison, fulfils, range_regex
from transom.errors import InputError
from transom.formats.yaml_files import dump_yaml

Mark = Literal["good", "bad", "beside"]

_TOKEN: Final = re.compile(
    r"(?P<number>(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?(?![\w.]*\w))"
    r"|(?P<word>[A-Za-z]+(?![\w/.\[\]$-]*[\w/\]]))"
    r"|(?P<name>[A-Za-z_\\$][\w/.\[\]$:\\-]*[\w/\]]|\w+[\w/.\[\]$-]*)"
    r"|(?P<blank>\s+)|(?P<sign>.)"
)
_NUMBERS: Final = {
    "zero": r"[-+]?0+(?:\.0+)?(?:[eE][-+]?\d+)?%?",
    "more": r"\+?(?=[\d.]*[1-9])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?",
    "less": r"-(?=[\d.]*[1-9])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?",
}
_NUMBER: Final = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?%?"
_NAME: Final = r"[\w/.\[\]$:\\-]+"
_DENIES: Final = (
    r"(?:not?|never|without|un\w+|in\w+|fail\w*|errors?|abort\w*|skip\w*|violat\w*|missing|warning)"
)
_WORD: Final = rf"(?i:(?!{_DENIES}\b)[a-z]+)"
_ALARM: Final = (
    r"(?i)\b(?:error|errors|fatal|fail|fails|failed|failure|failures|abort|aborted"
    r"|violat\w*|illegal)\b"
)
_OVER: Final = (
    r"(?i)\b(?:done|finish(?:ed|es)?|complet(?:e|ed|es|ion)|end"
    r" of|ended|ends|exit(?:ed|ing|s)?|bye|goodbye)\b"
)
_DAY: Final = (
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
    """

    mark: Mark
    text: str
    file: str = ""
    line: int = 0
    limit: TaughtLimit | None = None


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
            parts[marked.limit.token] = _Token("number", text)
            # The indent of the line is no part of its tokens.
            return replace(marked, mark=mark, text="".join(part.text for part in parts))
    return None


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str

    @property
    def sign(self) -> str:
        """Sign of a number: `less`, `zero` or `more`."""
        value = float(self.text.rstrip("%"))
        return "less" if value < 0 else "more" if value else "zero"


@dataclass
class _Pattern:
    """Common form of lines of one mark: at each place the texts that were seen there."""

    mark: Mark
    places: list[list[_Token]]
    signed: set[int] = field(default_factory=set)
    fixed: set[int] = field(default_factory=set)
    limits: dict[int, str] = field(default_factory=dict)

    @property
    def named(self) -> int | None:
        """The place of what the line is about."""
        return next(
            (index for index, variants in enumerate(self.places) if variants[0].kind == "name"),
            None,
        )

    def regex(self) -> str:
        text = "".join(self._place(index) for index in range(len(self.places)))
        return rf"^\s*{text}\s*$"

    def _place(self, index: int) -> str:
        variants, kind = (
            list(dict.fromkeys(token.text for token in self.places[index])),
            self.places[index][0].kind,
        )
        if kind == "blank":
            return r"\s+"
        if index in self.limits:
            return self.limits[index]
        if kind == "number":
            signs = self.signs_at(index)
            return (
                f"(?:{'|'.join(_NUMBERS[sign] for sign in sorted(signs))})"
                if len(signs) < len(_NUMBERS)
                else _NUMBER
            )
        free = index not in self.fixed and (
            kind == "name" or (kind == "word" and len(variants) > 1)
        )
        text = _NAME if kind == "name" else _WORD
        text = text if free else "|".join(map(re.escape, variants))
        if index == self.named:
            return f"(?P<name>{text})"
        return text if free or len(variants) == 1 else f"(?:{text})"

    def signs_at(self, index: int) -> frozenset[str]:
        """Signs of numbers that fit: of what is counted only those that were seen, so that 0
        errors stay 0.
        """
        counted = self.alarms or self._is_counted(index)
        return self.seen_signs(index) if counted or index in self.signed else frozenset(_NUMBERS)

    def seen_signs(self, index: int) -> frozenset[str]:
        return frozenset(token.sign for token in self.places[index])

    @property
    def alarms(self) -> bool:
        return any(re.match(_ALARM, token.text) for variants in self.places for token in variants)

    def _is_counted(self, index: int) -> bool:
        """Whether a number stands before a word, or behind a colon or an equals sign; a
        coordinate does not.
        """
        near = [variants[0] for variants in self.places]
        before = [token.text for token in near[max(0, index - 2) : index] if token.kind != "blank"][
            -1:
        ]
        return before in ([":"], ["="]) or [
            token.kind for token in near[index + 1 : index + 3]
        ] == [
            "blank",
            "word",
        ]

    def narrow(self, line: str) -> bool:
        """Make it not fit a line of another mark; False where nothing tells them apart."""
        other = tokens(line)
        if [token.kind for token in other] != self.kinds:  # a name may be read as several tokens
            free = [
                index for index in range(len(self.places)) if self.places[index][0].kind == "name"
            ]
            self.fixed.update(free)
            return not re.match(self.regex(), line)
        numbers = [
            index for index, variants in enumerate(self.places) if variants[0].kind == "number"
        ]
        self.signed.update(
            index for index in numbers if other[index].sign not in self.seen_signs(index)
        )
        for kind in ("word", "name"):
            if not re.match(self.regex(), line):
                return True
            of_kind = (
                index for index, variants in enumerate(self.places) if variants[0].kind == kind
            )
            self.fixed.update(
                index
                for index in of_kind
                if other[index].text not in {token.text for token in self.places[index]}
            )
        return not re.match(self.regex(), line)

    @property
    def kinds(self) -> list[str]:
        return [variants[0].kind for variants in self.places]


def tokens(line: str) -> list[_Token]:
    """A line in pieces: numbers, words, names of a design, blanks, signs."""
    return [_Token(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(line.strip())]


@dataclass(frozen=True)
class Lesson:
    """Patterns learned from marked lines: rows of a mark and a regex, and regexes of lines to skip
    and to heed.

    One of `complete` must fit a line of every log; there is none where nothing says that a log is
    complete.
    """

    marked: tuple[Marked, ...]
    rows: tuple[tuple[Mark, str], ...]
    skipped: tuple[str, ...]
    must: tuple[str, ...]
    ends: tuple[Marked, ...] = ()
    complete: tuple[str, ...] = ()
    is_end_last: bool = False

    def has_bad_line(self) -> bool:
        """Return whether a bad line was marked, or a limit says what one is."""
        return any(mark == "bad" for mark, _ in self.rows)

    def read(self, line: str) -> Mark | Literal["unread"] | None:
        """Fate of a line: a mark, `unread` where it must be read and is not, None where it is
        about nothing.
        """
        for mark, regex in self.rows:
            if re.match(regex, line):
                return mark
        if not any(re.search(regex, line) for regex in self.must):
            return None
        return "beside" if any(re.match(regex, line) for regex in self.skipped) else "unread"

    def completed(self, text: str) -> str:
        """A text as a complete log has it: with the end below where that is not there."""
        return (
            text
            if not self.ends or fitting(self.complete, text.split("\n"))
            else f"{text}\n{self.ends[0].text}"
        )


def learn(marked: Sequence[Marked], ends: Sequence[Marked] = ()) -> Lesson:
    """Patterns from marked lines, and from the last line of each complete log.

    Raises:
        InputError: no good line, a blank one, or lines of two marks that nothing tells apart.
    """
    if not any(line.mark in ("good", "bad") for line in marked):
        hint = "name one with --good FILE:LINE or --bad FILE:LINE"
        raise InputError("no line is marked as good or bad", hint=hint)
    counterexamples = [line for line in map(counterexample, marked) if line is not None]
    marked = [*marked, *counterexamples]
    groups: dict[tuple[Mark, tuple[object, ...]], _Pattern] = {}
    marked_texts = {marked_line.text for marked_line in marked}
    every = [
        *marked,
        *(
            replace(marked_line, mark="beside")
            for marked_line in ends
            if marked_line.text not in marked_texts
        ),
    ]
    for marked_line in every:
        parts = tokens(marked_line.text)
        if not any(part.kind in ("word", "name", "number") for part in parts):
            raise InputError(
                "says nothing",
                place=f"{marked_line.file}:{marked_line.line}",
                hint="mark another line",
            )
        group = groups.setdefault(
            (marked_line.mark, _shape(parts)), _Pattern(marked_line.mark, [[] for _ in parts])
        )
        for place, part in zip(group.places, parts, strict=True):
            place.append(part)
        if marked_line.limit is not None:
            group.limits[marked_line.limit.token] = marked_line.limit.regex(marked_line.mark)
    for pattern in groups.values():
        for marked_line in every:
            if (
                marked_line.mark != pattern.mark
                and re.match(pattern.regex(), marked_line.text)
                and not pattern.narrow(marked_line.text)
            ):
                message = (
                    f"nothing tells this line, marked as {marked_line.mark}, from those marked as"
                    f" {pattern.mark}"
                )
                hint = "a limit on a number cannot be taught by lines; mark other lines"
                raise InputError(message, place=f"{marked_line.file}:{marked_line.line}", hint=hint)
    rows = tuple(
        (marked_line.mark, marked_line.regex())
        for marked_line in groups.values()
        if marked_line.mark != "beside"
    )
    skipped = tuple(
        marked_line.regex() for marked_line in groups.values() if marked_line.mark == "beside"
    )
    # A line of another log that begins as the end does is the end of that one, e.g. of a bad one.
    begins, files = (
        {_beginning(tokens(marked_line.text)) for marked_line in ends},
        {marked_line.file for marked_line in ends},
    )
    other_ends = [
        marked_line.text
        for marked_line in marked
        if marked_line.file not in files and _beginning(tokens(marked_line.text)) in begins
    ]
    last = (regex for _, regex in rows if any(re.match(regex, text) for text in other_ends))
    complete = dict.fromkeys([*(end_regex(marked_line.text) for marked_line in ends), *last])
    return Lesson(tuple(marked), rows, skipped, tuple(_must(marked)), tuple(ends), tuple(complete))


def end_regex(line: str) -> str:
    """Regex of the last line of such a log on any day: its words, with any numbers, names and
    days.
    """
    free = {"number": _NUMBER, "name": _NAME, "blank": r"\s+"}
    pieces = (
        _WORD if re.match(_DAY, token.text) else free.get(token.kind, re.escape(token.text))
        for token in tokens(line)
    )
    return rf"^\s*{''.join(pieces)}\s*$"


def clear_end(lines: Sequence[str]) -> int | None:
    """The number of a log's last line where that says that all is over, and no other line says
    it in the same form.
    """
    last = next(
        (
            number
            for number in range(len(lines), 0, -1)
            if re.search(r"[A-Za-z]", lines[number - 1])
        ),
        0,
    )
    over = [_shape(tokens(line)) for line in lines if re.search(_OVER, line)]
    plain = (
        last
        and re.search(_OVER, lines[last - 1])
        and not re.search(rf"(?i)\b{_DENIES}\b", lines[last - 1])
    )
    return last if plain and over.count(_shape(tokens(lines[last - 1]))) == 1 else None


def fitting(regexes: Sequence[str], lines: Sequence[str]) -> int:
    """Number of lines that one of the regexes fits."""
    return sum(any(re.match(regex, line) for regex in regexes) for line in lines)


def _shape(parts: Sequence[_Token]) -> tuple[object, ...]:
    """Form that lines share: their kinds of tokens, and the signs among them."""
    return tuple((part.kind, part.text if part.kind == "sign" else "") for part in parts)


def _must(marked: Sequence[Marked]) -> Iterable[str]:
    """Regexes of what speaks of the matter: how marked lines begin, words of bad lines alone,
    and words of alarm.
    """
    if not any(line.mark == "good" for line in marked):
        # Lines like these are violations, and all others may be ignored.
        yield from _words_of_bad(marked)
        yield _ALARM
        return
    token_lines = [
        tokens(marked_line.text) for marked_line in marked if marked_line.mark != "beside"
    ]
    begins = [_beginning(parts) for parts in token_lines]
    words = [_words(marked_line.text) for marked_line in marked if marked_line.mark != "beside"]
    yield from dict.fromkeys(begins)
    yield from dict.fromkeys(_row_regex(parts) for parts in token_lines if _is_row(parts))
    if common := sorted(set.intersection(*words)):
        yield rf"(?i)\b(?:{'|'.join(common)})\b"
    good = set().union(
        *(_words(marked_line.text) for marked_line in marked if marked_line.mark == "good")
    )
    bad = set().union(
        *(_words(marked_line.text) for marked_line in marked if marked_line.mark == "bad")
    )
    if alone := sorted(bad - good):
        yield rf"(?i)\b(?:{'|'.join(alone)})\b"
    yield _ALARM


def _is_row(parts: Sequence[_Token]) -> bool:
    """Return whether a line is a row of a table: it begins with a name, and others differ there."""
    first = next((token for token in parts if token.kind != "blank"), None)
    kinds = {token.kind for token in parts}
    return first is not None and first.kind == "name" and bool(kinds & {"number", "word"})


def _row_regex(parts: Sequence[_Token]) -> str:
    """Return the expression of rows with the columns of a line, and of those with more words."""
    free = {"number": _NUMBER, "name": _NAME, "word": "[A-Za-z]+", "blank": r"\s+"}
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


def _beginning(parts: Sequence[_Token]) -> str:
    """The first word, name or number of a line with the signs before it; a name by its letters
    alone.
    """
    prefix = ""
    for part in parts:
        if part.kind in ("word", "name"):
            letters = re.match(r"[A-Za-z]+[^A-Za-z0-9\s]?", part.text)
            return rf"^\s*{prefix}{re.escape(letters[0] if letters else part.text)}"
        if part.kind == "number":
            return rf"^\s*{prefix}[-+]?\d"
        prefix += r"\s+" if part.kind == "blank" else re.escape(part.text)
    return rf"^\s*{prefix}"


def _words(line: str) -> set[str]:
    return {
        part.text.lower()
        for part in tokens(line)
        if part.kind == "word" and len(part.text) > 2 and part.text.lower() not in _COMMON
    }


def format_text(name: str, title: str, lesson: Lesson) -> str:
    """Return the report format of a lesson; the marked lines are its examples.

    Args:
        name: the name of the format, such as `taught.esd`.
        title: what the report is, for people.
        lesson: the patterns.
    """
    row_patterns = [(f"{mark}_line", _in_format(regex)) for mark, regex in lesson.rows]
    end = _in_format(f"(?:{'|'.join(lesson.complete)})") if lesson.complete else None
    if end is not None:
        row_patterns.append(("log_end", end))
    row_patterns += [("ignored_line", _in_format(regex)) for regex in lesson.skipped]
    rows: list[Json] = [{"pattern": pattern, "name": row} for row, pattern in row_patterns]
    unread = [_in_format(regex) for regex in lesson.must]
    for pattern in unread:
        rows.append({"pattern": pattern, "name": "unread_line", "is_trouble": True})
    patterns = list[Json](dict.fromkeys([*(pattern for _, pattern in row_patterns), *unread]))
    data: dict[str, Json] = {
        "schema": "transom.report_format/1",
        "name": name,
        "tool": "",
        "title": " ".join(title.split()),
        "seen": "file",
        "is_log": True,
        # Any line that was taught may be the first one, and begins no second report.
        "begins": patterns,
        "explained": [*patterns],
        "end_is_last": lesson.is_end_last,
        "rows": rows,
        "examples": _examples(lesson),
    }
    if end is not None:
        data["ends"] = [end]
    return dump_yaml(data)


def claim_name(lesson: Lesson) -> str:
    """Return the claim that a lesson teaches."""
    has_good = any(mark == "good" for mark, _ in lesson.rows)
    return "lines_as_taught" if has_good else "no_line_like_these"


def _in_format(regex: str) -> str:
    """Return a pattern as a report format has it: scoped flags, and the subject as `object`."""
    if regex.startswith("(?i)"):
        regex = f"(?i:{regex.removeprefix('(?i)')})"
    return regex.replace("(?P<name>", "(?P<object>")


def _examples(lesson: Lesson) -> dict[str, Json]:
    """Return the marked lines as the examples of a format."""
    texts: dict[str, list[str]] = {"good": [], "bad": []}
    for line in lesson.marked:
        if line.mark in texts:
            texts[line.mark].append(line.text)
    if not texts["good"]:
        # A log without violations still has its end.
        texts["good"] = [lesson.ends[0].text if lesson.ends else "nothing to report"]
    if not texts["bad"]:
        texts["bad"] = [f"{texts['good'][0]}\nFATAL: the tool stopped"]
    examples: dict[str, Json] = {}
    for kind, lines in texts.items():
        examples[kind] = [{"text": lesson.completed(line) + "\n"} for line in dict.fromkeys(lines)]
    good = texts["good"][0]
    if lesson.completed(good) != good:
        examples["cut"] = [{"text": good + "\n"}]
    return examples
