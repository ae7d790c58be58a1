"""Tells whether a sentence says of the entries that it cites what they say themselves.

An entry is good or bad news by its value: approved, failed. Figures are compared elsewhere (see
`transom.evidence.claims`); here only "no" and "two of three" are, since they change what a sentence
asserts of a criterion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from transom.evidence.number_words import number_of_word
from transom.evidence.quantities import SEVERITY, has_denial, kinds_of
from transom.investigator.ledger import Evidence
from transom.investigator.measures import words_of
from transom.investigator.reading.vocabulary import Status, plain_words
from transom.investigator.reading.vocabulary import words as release_words
from transom.investigator.wording import CLAUSE_BREAK, FIGURE, clauses_of, fold, words

_CITATION = re.compile(r"\[[A-Za-z]+\d+\]")
_QUOTED = re.compile(r"[\"“«][^\"“”«»\n]{2,600}[\"”»]")
_BEGINNING = 5  # letters by which the words of a measure are known
_PART_OF = re.compile(
    r"\b(?P<part>\w+) (?:of|out of|von|sur|de|su|di) (?:the |its |den |les |los )?(?P<whole>\w+)\b",
    re.IGNORECASE,
)
_OF_WHICH = re.compile(
    r"\b(?P<whole>\d{1,9}) [^.;\d]{1,60}\b(?:of which|of them|davon|dont|de los cuales|di cui"
    r"|dos quais|waarvan) (?P<part>\w+)\b",
    re.IGNORECASE,
)
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")
_SHARE_OF = re.compile(
    r"\b(?:half|most|some|many|few|a third|two thirds|a quarter|the majority|die hälfte|ein drittel"
    r"|die meisten|einige|la moitié|un tiers|la plupart|certains?|la mitad|un tercio|la mayoría"
    r"|algunos|la metà|un terzo|la maggior parte|alcuni)\b(?= (?:of|der|des|de|di|von)\b)",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|keine?[nrsm]?|aucune?|ning[uú]n\w?|nessun\w?)\b", re.IGNORECASE)
_ARTICLES = {"a", "an", "the", "no", "any", "its"}
_LONGEST_STATE = 3  # words; more are a passage, not a state
_CLASSES = {
    "pass": frozenset({"good"}),
    "fail": frozenset({"bad"}),
    "pending": frozenset({"open"}),
    "skipped": frozenset({"open"}),
}
_WITH = ("with", "mit", "unter", "avec", "sous", "con", "com", "sob", "onder")
_STATUS_FIELD = re.compile(r"\"(?:status|resolution)\": ?\"([^\"]{1,40})\"")
# An id, a path or a name of parts: CVE-2026-7001, /login, radius-core.
_NAME = re.compile(r"(?<![\w/])(?:/[\w/{}-]{2,80}|[A-Za-z]\w{0,40}(?:-\w{1,40}){1,6})")
_ID_FIELD = re.compile(r"\"(?:id|key)\": ?\"([^\"]{2,60})\"")
_STATUS_IN_LABEL = re.compile(r"\(([^()]{1,40})\)$")
_LONGEST_ROW = 8  # words of a line of a table
_OPEN_STATUSES = ("conditional", "pending", "progress", "skipped")
_BAD_ENTRIES = (".entry", ".case", "jira.blocker", "jira.subtask", "pipeline.stage", "review.check")


def denied_state(sentence: str, rows: Sequence[Evidence]) -> str:
    """Return what is wrong if a sentence states the opposite of all that it cites, or "".

    "Run 511 succeeded [E1]", where E1 is a run that failed.
    """
    cited_states = {is_good(row) for row in rows}
    if len(cited_states) != 1 or None in cited_states:
        return ""
    stated = set[bool]()
    tells_outcome = False
    # What a failed case says of itself may sound good: "attendu REFUS, obtenu OK".
    if any(row.measure.endswith(".case") and row.value and row.value in sentence for row in rows):
        return ""
    for clause in clauses_of(with_figures_of_parts(_own_words(sentence, rows), rows)):
        is_outcome = has_outcome(clause.text)
        # "Two are done and one has not been started" says something bad, too.
        if clause.tone == "denies" or (clause.tone == "asserts" and is_outcome):
            stated.add(clause.tone == "asserts")
            tells_outcome = tells_outcome or is_outcome
    # A sentence that states both may be about what it cites, and about something else.
    if tells_outcome and len(stated) == 1 and stated != cited_states:
        return f"what it cites is {rows[0].label or rows[0].measure}: {rows[0].value[:60]}"
    return ""


def unrepeated_state(sentence: str, rows: Sequence[Evidence]) -> str:
    """Return the cited state that a sentence does not repeat though it speaks of a state, or "".

    "The sign-off was given [E1]", where E1 is `pending`, is perhaps no lie: "it was given a date".
    """
    stated = stated_classes(_own_words(sentence, rows))
    for row in rows:
        classes = _classes_of(row)
        if classes and stated and not classes & stated:
            name = row.label or words_of(row.measure)
            is_passage = "{" in row.value or not row.value
            return name if is_passage else f"{name}: {row.value[:60]}"
    return _other_progress(sentence, rows)


def named_rows(sentence: str, rows: Sequence[Evidence]) -> list[Evidence]:
    """Return the one entry that a sentence names by an id, a path or its quoted title, or none.

    A name that several entries share tells none of them.
    """
    quoted = {fold(match[0].strip('"“”«» ')) for match in _QUOTED.finditer(sentence)}
    spoken = set(_NAME.findall(sentence))
    matching = list[Evidence]()
    for row in rows:
        is_figure = row.measure.startswith("performance.") and not row.measure.endswith(".limit")
        if not is_figure and not row.measure.endswith(_BAD_ENTRIES):
            continue
        names = set(_NAME.findall(f"{row.label} {_ID_FIELD.findall(row.quote or row.value)}"))
        title = fold(row.label)
        if names & spoken or any(len(name) > _BEGINNING and name in title for name in quoted):
            matching.append(row)
    return matching if len(matching) == 1 else []


def other_severity(sentence: str, rows: Sequence[Evidence]) -> str:
    """Return the one entry whose severity is not the one that a sentence states, or ""."""
    if len(rows) != 1 or not rows[0].measure.endswith(".entry"):
        return ""
    stated = kinds_of(_own_words(sentence, rows))[SEVERITY]
    own = kinds_of(rows[0].measure.replace(".", " "))[SEVERITY]
    if stated and own and not stated & own:
        return f"{rows[0].label}: {next(iter(own))}"
    return ""


def _other_progress(sentence: str, rows: Sequence[Evidence]) -> str:
    """Return the one cited ticket if a sentence calls it in progress and it is not begun, or the
    other way round; or "".
    """
    status = _STATUS_IN_LABEL.search(rows[0].label) if len(rows) == 1 else None
    if status is None or has_denial(sentence):
        return ""
    vocabulary = release_words()
    own = vocabulary.status_of(status[1])
    stated = set(vocabulary.statuses.find(plain_words(_own_words(sentence, rows))))
    stated &= {"pending", "progress"}
    return rows[0].label if own in _OPEN_STATUSES and stated and own not in stated else ""


def _own_words(sentence: str, rows: Sequence[Evidence]) -> str:
    """Return a sentence without citations, quotations and the words of the titles that it cites.

    "Every door accepts the PIN 0000" repeats the title of a finding.
    """
    plain = _QUOTED.sub(" ", _CITATION.sub(" ", sentence))
    titles = set[str]()
    for row in rows:
        if row.measure.endswith(_BAD_ENTRIES):
            titles.update(word[:_BEGINNING] for word in fold(row.label).split())

    def without_title(match: re.Match[str]) -> str:
        return " " if fold(match[0])[:_BEGINNING] in titles else match[0]

    return _LONG_WORD.sub(without_title, plain)


def _classes_of(row: Evidence) -> frozenset[str]:
    """Return what a sentence that repeats the state of an entry may call it."""
    vocabulary = release_words()
    if row.measure.endswith(_BAD_ENTRIES):
        # What somebody accepted or closed is open no more, whatever it counts as.
        own_status = _STATUS_FIELD.search(f"{row.value} {row.quote}")
        if own_status and vocabulary.fate_of(own_status[1]) != "open":
            return frozenset({"good"})
        return frozenset({"bad", "open"})
    plain = plain_words(row.value)
    # A line of a table, such as `Renewal;failed;Omar`, has its status among other cells.
    if row.measure == "cited" and (_LONGEST_STATE < len(plain) <= _LONGEST_ROW or "|" in row.value):
        # A long row has its status in a cell of its own.
        cells = [cell for cell in row.value.split("|") if len(cell.split()) <= _LONGEST_STATE]
        statuses = {
            status for cell in cells for status in vocabulary.statuses.find(plain_words(cell))
        }
        if "|" in row.value and any(vocabulary.fate_of(cell) != "open" for cell in cells):
            return frozenset({"good"})
        if len(statuses) == 1:
            return _CLASSES.get(statuses.pop(), frozenset())
    if len(plain) > _LONGEST_STATE or row.value.strip()[:1].isdigit():
        return frozenset()
    status = vocabulary.status_of(row.value)
    if status in ("pass", "ended") or vocabulary.fate_of(row.value) == "closed":
        return frozenset({"good"})
    if status == "fail":
        return frozenset({"bad"})
    # A ticket whose status nobody knows, such as Testing, is not done.
    is_open = status in _OPEN_STATUSES or row.measure == "jira.status"
    return frozenset({"open"}) if is_open else frozenset()


def stated_classes(text: str) -> set[str]:
    """Return the kinds of states that the words of a text name; a denial turns them round."""
    vocabulary = release_words()
    classes = set[str]()
    for match in vocabulary.statuses.find(plain_words(text)):
        is_good = match in ("pass", "ended")
        classes.add("good" if is_good else "bad" if match == "fail" else "open")
    if "closed" in vocabulary.fates.find(plain_words(text)):
        classes.add("good")
    folded = fold(text)
    for mark in words().marks.finditer(folded):
        kind = words().kind_of(mark)
        if kind in ("met", "approved", "ready"):
            classes.add("good")
        elif kind in ("open", "lack"):
            # "Rejected" is no "pending", and neither is a condition, but "missing" may be said of
            # all of them.
            beginning = mark[0][:_BEGINNING]
            if beginning in _beginnings("conditional"):
                classes.add("open")
            else:
                is_refused = beginning in _beginnings("fail")
                classes |= {"bad"} if is_refused else {"bad", "open"}
    if has_denial(text):
        turned = {"good"} if classes & {"bad", "open"} else set[str]()
        turned |= {"bad", "open"} if "good" in classes else set[str]()
        classes |= turned
    return classes


def tells_condition(sentence: str) -> bool:
    """Whether a sentence speaks of conditions, reservations or the like, and does not deny them."""
    marks = list(words().marks.finditer(fold(sentence)))
    if any(words().kind_of(mark) in ("no", "not", "without", "nothing") for mark in marks):
        return False
    return any(
        words().kind_of(mark) == "open" and mark[0][:_BEGINNING] in _beginnings("conditional")
        for mark in marks
    )


@lru_cache(maxsize=4)
def _beginnings(status: Status) -> frozenset[str]:
    """Return the beginnings of the longer words for a status, which its other forms share."""
    beginnings = set[str]()
    for phrase in release_words().status[status]:
        *before, word = fold(phrase).split() or [""]
        # "Not accepted" says nothing of its second word alone, but "with reservations" does.
        if len(word) > _BEGINNING and (not before or before[0] in _WITH):
            beginnings.add(word[:_BEGINNING])
    return frozenset(beginnings)


def repeated_rows(text: str, rows: Sequence[Evidence]) -> list[Evidence]:
    """Return the cited places whose good state a text repeats: "is fixed [/status]"."""
    spoken = fold(_QUOTED.sub(" ", text)).split()
    repeated = []
    for row in rows:
        shared = [word for word in fold(row.value).split() if word in spoken]
        if row.measure == "cited" and is_good(row) and has_outcome(" ".join(shared)):
            repeated.append(row)
    return repeated


def with_figures_of_parts(text: str, rows: Sequence[Evidence]) -> str:
    """Return a text with a figure in place of "2 of 3", if as many entries, or a figure, are cited.

    A whole, such as "3 of 3", stays as it is.
    """
    values = {row.value for row in rows}

    def figure(match: re.Match[str]) -> str:
        part, whole_number = number_of_word(match["part"]), number_of_word(match["whole"])
        if part is None or whole_number is None or part >= whole_number:
            return match[0]
        figures = {str(number) for number in (part, whole_number, whole_number - part)}
        counts = {0, part, whole_number}
        # "Three of four are done [E4]" cites the one that is not.
        if rows and all(is_good(row) is False for row in rows):
            counts.add(whole_number - part)
        is_shown = len(rows) in counts or not figures.isdisjoint(values)
        return f" {FIGURE} " if is_shown else match[0]

    # "Half of the subtasks are done" is a figure, too, and no word on all of them.
    return _SHARE_OF.sub(f" {FIGURE} ", _PART_OF.sub(figure, text))


def with_figure_of_nothing(
    text: str, rows: Sequence[Evidence], counts: Callable[[str, Evidence], bool]
) -> str:
    """Return a text with a figure in place of "no", if a cited entry counts none of that kind.

    Args:
        counts: tells whether an entry counts what a part of the text speaks of, by its criterion.
    """
    for match in _NO.finditer(text):
        part = _part_from(text, match.start())
        spoken = {word[:_BEGINNING] for word in fold(part).split()}
        for row in rows:
            # A measure ends with a severity or a state; the words before tell what was counted.
            *family, kind = fold(row.measure.replace(".", " ")).split() or [""]
            if row.value != "0" or not kind or kind[:_BEGINNING] not in spoken:
                continue
            is_of_family = any(word[:_BEGINNING] in spoken for word in family)
            if is_of_family and counts(part, row):
                return f"{text[: match.start()]} {FIGURE} {text[match.end() :]}"
    return text


def _part_from(text: str, start: int) -> str:
    """Return the text from a place to the end of its clause."""
    ends = [len(text)]
    for pattern in (CLAUSE_BREAK, words().joint):
        end = pattern.search(text, start)
        if end is not None:
            ends.append(end.start())
    return text[start : min(ends)]


def has_part(text: str) -> bool:
    """Whether a text speaks of a part of a whole: two of three, half of them."""
    for match in (*_PART_OF.finditer(text), *_OF_WHICH.finditer(text)):
        part, whole_number = number_of_word(match["part"]), number_of_word(match["whole"])
        if part is not None and whole_number is not None and part < whole_number:
            return True
    return _SHARE_OF.search(text) is not None


def is_good(row: Evidence) -> bool | None:
    """Whether an entry of the ledger is good news; None if it is a figure, or says neither."""
    if row.measure.endswith(_BAD_ENTRIES):
        return False
    if len(row.value.split()) > _LONGEST_STATE or row.value.strip()[:1].isdigit():
        return None
    status = release_words().status_of(row.value)
    if status in ("pass", "fail"):
        return status == "pass"
    return True if release_words().fate_of(row.value) == "closed" else None


@lru_cache(maxsize=1)
def _folded_outcomes() -> frozenset[str]:
    """Return the words of outcomes that have accents, without them."""
    vocabulary = release_words()
    outcomes = set[str]()
    for status in ("pass", "fail"):
        for word in vocabulary.status[status]:
            if not word.isascii() and " " not in word:
                outcomes.add(fold(word))
    return frozenset(outcomes)


def has_outcome(text: str) -> bool:
    """Whether a clause tells an outcome by a word: passed, rejected, closed."""
    vocabulary = release_words()
    before = ""
    for word in text.split():
        is_outcome = vocabulary.status_of(word) in ("pass", "fail")
        is_outcome = is_outcome or vocabulary.fate_of(word) == "closed"
        # The text has no accents any more: "refuse" is `refusé`.
        is_outcome = is_outcome or word in _folded_outcomes()
        # "A fixed version exists" tells what kind of version it is.
        if is_outcome and before not in _ARTICLES:
            return True
        before = word
    return False
