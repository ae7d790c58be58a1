"""Tells whether a sentence says of the entries that it cites what they say themselves.

An entry is good or bad news by its value: approved, failed. Figures are compared elsewhere (see
`transom.evidence.claims`); here only "no" and "two of three" are, since they change what a sentence
asserts of a criterion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from transom.evidence.claims import NUMBER_WORDS
from transom.investigator.ledger import Evidence
from transom.investigator.reading.vocabulary import words as release_words
from transom.investigator.wording import CLAUSE_BREAK, FIGURE, clauses_of, fold, words

_CITATION = re.compile(r"\[[A-Za-z]+\d+\]")
_QUOTED = re.compile(r"[\"“][^\"“”\n]{2,600}[\"”]")
_BEGINNING = 5  # letters by which the words of a measure are known
_PART_OF = re.compile(
    r"\b(?P<part>\w+) (?:of|out of|von|sur|de|su|di) (?:the |its |den |les |los )?(?P<whole>\w+)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\b(?:no|keine?[nrsm]?|aucune?|ning[uú]n\w?|nessun\w?)\b", re.IGNORECASE)
_ARTICLES = {"a", "an", "the", "no", "any", "its"}
_LONGEST_STATE = 3  # words; more are a passage, not a state
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
    plain = with_figures_of_parts(_QUOTED.sub(" ", _CITATION.sub(" ", sentence)), rows)
    for clause in clauses_of(plain):
        is_outcome = has_outcome(clause.text)
        # "Two are done and one has not been started" says something bad, too.
        if clause.tone == "denies" or (clause.tone == "asserts" and is_outcome):
            stated.add(clause.tone == "asserts")
            tells_outcome = tells_outcome or is_outcome
    # A sentence that states both may be about what it cites, and about something else.
    if tells_outcome and len(stated) == 1 and stated != cited_states:
        return f"what it cites is {rows[0].label or rows[0].measure}: {rows[0].value[:60]}"
    return ""


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
        part, whole = _number_of(match["part"]), _number_of(match["whole"])
        if part is None or whole is None or part >= whole:
            return match[0]
        figures = {str(number) for number in (part, whole, whole - part)}
        counts = {0, part, whole}
        # "Three of four are done [E4]" cites the one that is not.
        if rows and all(is_good(row) is False for row in rows):
            counts.add(whole - part)
        is_shown = len(rows) in counts or not figures.isdisjoint(values)
        return f" {FIGURE} " if is_shown else match[0]

    return _PART_OF.sub(figure, text)


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


def _number_of(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    return NUMBER_WORDS.get(word.casefold())


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


def has_outcome(text: str) -> bool:
    """Whether a clause tells an outcome by a word: passed, rejected, closed."""
    vocabulary = release_words()
    before = ""
    for word in text.split():
        is_outcome = vocabulary.status_of(word) in ("pass", "fail")
        is_outcome = is_outcome or vocabulary.fate_of(word) == "closed"
        # "A fixed version exists" tells what kind of version it is.
        if is_outcome and before not in _ARTICLES:
            return True
        before = word
    return False
