"""What a sentence relates to something else, and whether a source shows that relation.

"The failures are caused by a slow database [E1]" cites the failures; that a database causes them
is a statement of its own. A sentence is doubtful if it states

- a trend, a cause, an exclusion or a comparison that no row which it cites has in its words,
- a state, and cites nothing, and no row that shares its words has that state,
- two figures of one unit in an order that they do not have: "2.3 %, within the limit of 1 %".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from transom.evidence.claim_numbers import unit_behind
from transom.evidence.claim_rows import rows_with_most
from transom.evidence.claims import NAMED_NUMBER
from transom.evidence.facts import Fact, facts_of
from transom.evidence.number_words import number_of_word
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.investigator.cited_states import has_part, stated_classes
from transom.investigator.reading.vocabulary import plain_words
from transom.investigator.reading.vocabulary import words as release_words
from transom.investigator.wording import any_of, fold, words

_FILE: Final = Path(__file__).parent / "knowledge" / "relations.yaml"
_CITATION = re.compile(r"\[[A-Za-z]+\d+\]")
_QUOTED = re.compile(r"[\"“«][^\"“”«»\n]{2,600}[\"”»]")
_STEM: Final = 4  # letters by which two forms of a word are taken for one
_LEAST_SHARED: Final = 0.5  # of the words of a cause
_MOST_BEST: Final = 8
_CELL = re.compile(r"\"([^\"]{1,60})\": ?([^,\n]{1,80})")
_LONGEST_STATE: Final = 4  # words of a cell
_BELOW = re.compile(
    r"\b(?:within|below|under|less than|fewer than|lower than|meets?|keeps?|innerhalb|unter"
    r"|weniger als|sous|inf[ée]rieur\w* [àa]|moins de|dentro|debajo|menos de|inferior a|entro"
    r"|sotto|meno di|abaixo|binnen|onder|minder dan)\b",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"\b(?:above|over|exceed\w*|more than|greater than|higher than|miss(?:es|ed)|oberhalb|über"
    r"|überschreitet|mehr als|verfehlt|au-dessus|dépass\w*|supérieur\w* à|plus de|encima"
    r"|supera|más de|superior a|sopra|oltre|più di|acima|boven|meer dan)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|nicht|pas|no|non|não|niet)\b|n['’]t\b", re.IGNORECASE)
# "Started by a push" tells what was done, and no state.
_DONE_BY = re.compile(
    r"\b(?:started|requested|planned|scheduled|opened|raised|run)\s+(?:by|at|on|for|with|from)\b",
    re.IGNORECASE,
)
_PART_OF = re.compile(
    r"\b(?P<part>\w+) (?:of|out of|von|sur|de|su|di|van) (?:the |its |den |les |los |las |de )?"
    r"(?P<whole>\w+)\b",
    re.IGNORECASE,
)


class _Relations(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    trend: list[str]
    cause: list[str]
    exclusion: list[str]
    comparison: list[str]


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    relations = validate_yaml(_Relations, load_yaml(_FILE))
    return {name: any_of(phrases) for name, phrases in relations.model_dump().items()}


def unshown_relation(sentence: str, cited: Sequence[str], rows: Sequence[str]) -> str:
    """Return the relation or state that a sentence states and no row shows, or "".

    Args:
        cited: the whole rows of the entries that it cites; empty if it cites nothing.
        rows: the rows of the one source that it is about.
    """
    plain = _CITATION.sub(" ", sentence)
    if is_wrong_order(plain):
        return "order of the two figures"
    own_words = _QUOTED.sub(" ", plain)
    shown_rows = cited or _named_rows(plain, rows) or _best_rows(plain, rows)
    folded = fold(own_words)
    for name, pattern in _patterns().items():
        match = pattern.search(folded)
        if match is None:
            continue
        # Two figures show their own order, a bound its value, and "only 61 %" is an emphasis.
        if name in ("comparison", "exclusion") and _valued_facts(own_words):
            continue
        reason = folded[match.end() :] if name == "cause" else match[0]
        if not _is_in_rows(reason, shown_rows):
            return name
    if cited:
        return ""
    return _unshown_state(own_words, shown_rows, rows) or _unshown_words(plain, shown_rows)


def _valued_facts(text: str) -> list[Fact]:
    facts = list[Fact]()
    for fact in facts_of(text):
        if fact.value is not None:
            facts.append(fact)
    return facts


def is_wrong_order(sentence: str) -> bool:
    """Return whether a sentence gives two figures of one unit an order that they do not have."""
    facts = _valued_facts(sentence)
    if len(facts) != 2 or _NOT.search(sentence):
        return False
    first, second = facts
    between = sentence[first.end : second.start]
    is_below, is_above = _BELOW.search(between), _ABOVE.search(between)
    units = {unit_behind(first, sentence), unit_behind(second, sentence)}
    # "212 ms above the limit of 400 ms" is a distance, which no order follows from.
    if len(units) != 1 or not next(iter(units)) or bool(is_below) == bool(is_above):
        return False
    if _is_distance(first, between):
        return False
    assert first.value is not None and second.value is not None
    return first.value > second.value if is_below else first.value < second.value


def _is_distance(fact: Fact, between: str) -> bool:
    """Return whether the comparison stands right behind a figure: `212 ms above`."""
    behind = between.split()
    # The sign of a percentage is part of the figure.
    first = 0 if fact.percent else 1
    if first and behind[:1] and not behind[0][-1].isalnum():
        return False
    words_behind = " ".join(behind[first:])
    return bool(_ABOVE.match(words_behind) or _BELOW.match(words_behind))


def _unshown_state(sentence: str, best: Sequence[str], rows: Sequence[str]) -> str:
    """Return "state" if a sentence states one that no row which shares its words has."""
    # Figures were held to the row of their state already.
    if _has_figure(sentence):
        return ""
    stated = _stated(sentence)
    if not stated:
        return ""
    counted = _counted_part(sentence, rows)
    if counted is not None:
        return "" if counted else "number of them"
    # Rows that share equally many words with a sentence show what all of them say.
    for row in best:
        classes = _classes_of_row(row)
        if classes and not stated & classes:
            return "state"
    return ""


def _has_figure(sentence: str) -> bool:
    return any(_is_figure(fact, sentence) for fact in facts_of(sentence))


def _is_figure(fact: Fact, sentence: str) -> bool:
    """Return whether a fact is a number, and not one that names a run or a version."""
    return fact.value is not None and NAMED_NUMBER.search(sentence[: fact.start]) is None


def _stated(sentence: str) -> frozenset[str]:
    """Return the kinds of states that a sentence states."""
    plain = _DONE_BY.sub(" ", sentence)
    folded = f" {fold(plain)} "
    # "Without conditions" is no word of doubt, whatever its noun says.
    for phrase in _free_of_doubt():
        if f" {phrase} " in folded:
            return frozenset({"good"})
    return frozenset(stated_classes(plain))


@lru_cache(maxsize=1)
def _free_of_doubt() -> tuple[str, ...]:
    """Return the phrases of approval that deny a doubt: `without conditions`."""
    without = tuple(f"{word} " for word in words().without)
    phrases = list[str]()
    for phrase in map(fold, release_words().status["pass"]):
        if phrase.startswith(without):
            phrases.append(phrase)
    return tuple(phrases)


def _unshown_words(sentence: str, shown: Sequence[str]) -> str:
    """Return "no source" if a sentence cites nothing and no row has its state or half its words."""
    # The figures of a sentence were found in a row with its words.
    if _has_figure(sentence) or has_part(sentence):
        return ""
    plain = " ".join(word for word in sentence.split() if not any(facts_of(word)))
    spoken = _stems(plain, _STEM + 1) or _stems(plain)
    stated = _stated(sentence)
    for row in shown:
        is_shown = len(spoken & _stems(row)) >= _LEAST_SHARED * len(spoken)
        if stated & _classes_of_row(row) or (is_shown and not stated):
            return ""
    return "no source"


def _named_rows(sentence: str, rows: Sequence[str]) -> list[str]:
    """Return the rows with all ids, numbers of runs and quotations of a sentence."""
    names = list[str]()
    for fact in facts_of(sentence):
        if not _is_figure(fact, sentence):
            names.append(fact.text)
    for quotation in _QUOTED.findall(sentence):
        names.append(quotation.strip('"“”«»'))
    if not names:
        return []
    return [row for row in rows if all(name in row for name in names)][:_MOST_BEST]


def _counted_part(sentence: str, rows: Sequence[str]) -> bool | None:
    """Return whether "two of three approved" counts rows as they are; None if it counts nothing."""
    match = _PART_OF.search(sentence)
    if match is None:
        return None
    part, whole_number = number_of_word(match["part"]), number_of_word(match["whole"])
    if part is None or whole_number is None:
        return None
    stated = {word[:_STEM] for word in fold(sentence).split()}
    columns = _columns_of(tuple(rows))
    for cells in columns.values():
        counts = Counter(map(fold, cells))
        if len(cells) != whole_number:
            continue
        for word, count in counts.items():
            is_named = word[:_STEM] in stated or _classes_of_cell(word) & stated_classes(sentence)
            if word and count == part and is_named:
                return True
    return False if columns else None


@lru_cache(maxsize=64)
def _columns_of(rows: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
    """Return the cells of each column of states, by the first key of its rows and its own."""
    columns = dict[tuple[str, str], list[str]]()
    for row in rows:
        cells = _CELL.findall(row)
        # A cell of prose is left out of its row, but hardly the first one.
        first = cells[0][0] if cells else ""
        for key, value in cells:
            if _classes_of_cell(value):
                columns.setdefault((first, key), []).append(value)
    return columns


def _best_rows(sentence: str, rows: Sequence[str]) -> list[str]:
    """Return the rows that share most words with a sentence; rare words count for more."""
    # The state itself must not choose the row: it is what the row has to show.
    stateless = list[str]()
    for word in sentence.split():
        if not stated_classes(word):
            stateless.append(word)
    return rows_with_most(_stems(" ".join(stateless)), rows, _stems)


@lru_cache(maxsize=2048)
def _stems(text: str, least: int = _STEM) -> frozenset[str]:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ").replace("-", " ")
    stems = set[str]()
    for word in fold(parted).split():
        if len(word) >= least and word.isalpha():
            stems.add(word[:_STEM])
    return frozenset(stems)


def _is_in_rows(text: str, rows: Sequence[str]) -> bool:
    """Return whether a row has most of the words of a text."""
    spoken = _stems(text) or frozenset(text.split())
    for row in rows:
        own = _stems(row) | frozenset(fold(row).split())
        if len(spoken & own) >= max(1, _LEAST_SHARED * len(spoken)):
            return True
    return False


@lru_cache(maxsize=2048)
def _classes_of_row(row: str) -> frozenset[str]:
    """Return the kinds of states that the cells of a row have, or the words of a line."""
    cells = [value for _, value in _CELL.findall(row)] or [row]
    classes = set[str]()
    for cell in cells:
        classes |= _classes_of_cell(cell)
    # A run that is completed and has failed is no good news.
    if "bad" in classes and any(map(_is_ended, cells)):
        classes.discard("good")
    return frozenset(classes)


def _is_ended(cell: str) -> bool:
    return release_words().status_of(cell.strip()) == "ended"


def _classes_of_cell(cell: str) -> frozenset[str]:
    """Return the kind of state that the value of a cell names, or nothing for other values."""
    text = cell.strip().strip('"')
    is_flag = text.casefold() in ("true", "false")
    if not text or is_flag or len(plain_words(text)) > _LONGEST_STATE:
        return frozenset()
    status = release_words().status_of(text)
    if status is None:
        return frozenset({"good"}) if release_words().fate_of(text) == "closed" else frozenset()
    if status in ("pass", "ended"):
        return frozenset({"good"})
    return frozenset({"bad"} if status == "fail" else {"open"})
