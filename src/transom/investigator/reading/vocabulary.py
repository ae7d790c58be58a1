"""The vocabulary `words.yaml`: the meaning of statuses, severities and keys, whoever wrote the
file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

Status = Literal["pass", "fail", "conditional", "pending", "progress", "skipped", "ended"]
Severity = Literal["critical", "high", "medium", "low"]
FILE = Path(__file__).parent / "words.yaml"

# Letters of other scripts have no case that would split a word.
_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+(?:\.\d+)?|[^\x00-\x7f\w]+")
_PERCENTILE = re.compile(
    r"p(\d{2,3})(?![0-9a-z])|(?<![a-z0-9])p\(?(\d{2,3}(?:\.\d)?)\)?|(?<!\d)(\d{2})th", re.IGNORECASE
)
_MOST_WORDS = 12
_SHORTEST_PART = 6  # letters of a part of a compound
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_STATE_WORDS = 3
_UNDONE = frozenset(
    {
        *("not", "re", "reopened", "reopen", "be", "partially", "partly", "mostly", "pending"),
        *("planned", "nicht", "noch", "teilweise", "pas", "partiellement", "no", "non", "não"),
        *("parcialmente", "parzialmente", "niet", "nog", "por", "da", "à"),
    }
)


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IssueWords(_Shape):
    """Words for the state of an entry in a list of issues."""

    open: list[str]
    closed: list[str]
    accepted: list[str]
    severities: dict[Severity, list[str]]


class NatureWords(_Shape):
    """Words in keys and notes for the nature of a number."""

    estimate: list[str]
    planned: list[str]
    history: list[str]
    limit: list[str]
    said_estimate: str
    note_keys: list[str]
    state_keys: list[str]
    state_flags_false: list[str]
    state_flags_true: list[str]


class TriggerWords(_Shape):
    """Texts for a quick check before slower regular expressions are tried."""

    waivers: list[str]
    hollow: list[str]


class Words(_Shape):
    """The whole vocabulary."""

    schema_: Literal["transom.release_words/1"] = Field(alias="schema")
    status: dict[Status, list[str]]
    doubted: list[str]
    keys: dict[str, dict[str, str]]
    issue: IssueWords
    nature: NatureWords
    placeholder: str
    placeholder_line: str
    hedge: str
    open_end: str
    settled: str
    waiver_claim: str
    triggers: TriggerWords

    @cached_property
    def statuses(self) -> Phrases:
        return Phrases(dict(self.status.items()))

    @cached_property
    def doubts(self) -> frozenset[str]:
        """Words that make an approval a conditional one, or none."""
        return frozenset(self.doubted)

    @cached_property
    def key_names(self) -> dict[str, tuple[str, ...]]:
        """Words of keys in other languages, with the English words that the readers know."""
        names = dict[str, tuple[str, ...]]()
        for words_of_language in self.keys.values():
            for word, english in words_of_language.items():
                names.setdefault(word, tuple(english.split()))
        return names

    @cached_property
    def plain_key_names(self) -> dict[str, tuple[str, ...]]:
        """The same words as names of files have them: without accents, `ä` also as `ae`."""
        names = dict[str, tuple[str, ...]]()
        for word, english in self.key_names.items():
            for form in (without_accents(word), without_accents(word.translate(_UMLAUTS))):
                if form not in self.key_names:
                    names.setdefault(form, english)
        return names

    @cached_property
    def severities(self) -> Phrases:
        return Phrases(dict(self.issue.severities.items()))

    @cached_property
    def fates(self) -> Phrases:
        """Phrases for a `closed` and an `accepted` issue."""
        return Phrases({"closed": self.issue.closed, "accepted": self.issue.accepted})

    @cached_property
    def natures(self) -> Phrases:
        """Phrases for the nature of a number, by the words of a key."""
        nature = self.nature
        return Phrases(
            {
                "limit": nature.limit,
                "estimate": nature.estimate,
                "planned": nature.planned,
                "history": nature.history,
            },
            singular=True,
        )

    @cached_property
    def hedges(self) -> re.Pattern[str]:
        return re.compile(self.hedge, re.IGNORECASE)

    @cached_property
    def open_ends(self) -> re.Pattern[str]:
        """Find what a person says that is still to be done."""
        return re.compile(self.open_end, re.IGNORECASE)

    @cached_property
    def settling(self) -> re.Pattern[str]:
        return re.compile(self.settled, re.IGNORECASE)

    @cached_property
    def waiver_claims(self) -> re.Pattern[str]:
        return re.compile(self.waiver_claim, re.IGNORECASE)

    @cached_property
    def estimates(self) -> re.Pattern[str]:
        return re.compile(self.nature.said_estimate, re.IGNORECASE)

    @cached_property
    def placeholders(self) -> re.Pattern[str]:
        return re.compile(self.placeholder, re.IGNORECASE)

    @cached_property
    def placeholder_lines(self) -> re.Pattern[str]:
        return re.compile(self.placeholder_line, re.IGNORECASE)

    def status_of(self, text: object) -> Status | None:
        """Return the meaning of a status; None for prose and for other words."""
        if isinstance(text, bool):
            return "pass" if text else "fail"
        if not isinstance(text, str):
            return None
        words = plain_words(text)
        if not words or len(words) > _MOST_WORDS:
            return None
        # A phrase is found as a whole first, so "not approved" never shows its "approved".
        matches = list(dict.fromkeys(self.statuses.find(words)))
        if not matches:
            return None
        # "Passed with one failure" is for a person to judge.
        if "fail" in matches and "pass" in matches:
            return "conditional"
        for status in ("fail", "conditional"):
            if status in matches:
                return cast("Status", status)
        # "Approved, pending legal" and "approved?" approve nothing yet.
        doubtful = (
            {"pending", "progress"} & set(matches)
            or self.doubts & set(self.statuses.left_of(words))
            or "?" in text
        )
        for status in ("pass", "ended"):
            if status in matches:
                return "conditional" if doubtful else cast("Status", status)
        return cast("Status", matches[0])

    def is_open(self, text: str) -> bool:
        """Whether a status is usual for an issue that is not closed."""
        return " ".join(plain_words(text)) in self.issue.open

    def severity_of(self, text: object) -> Severity | None:
        """Return `critical | high | medium | low`, or None."""
        words = plain_words(text) if isinstance(text, str) else []
        matches = self.severities.find(words) if 0 < len(words) <= 4 else iter(())
        return cast("Severity | None", next(matches, None))

    def fate_of(self, text: object) -> Literal["open", "closed", "accepted"]:
        """Return the state of an issue with this status; `open` by default.

        A state begins with its word. Prose that has it later on tells how to get there: "Upgrade
        to a patched version".
        """
        words = plain_words(text) if isinstance(text, str) else []
        if len(words) > _STATE_WORDS:
            words = words[: _STATE_WORDS - 1]
        # "To be fixed" and "partially resolved" have the word of a closed issue in them.
        if not words or _UNDONE & set(self.fates.left_of(words)):
            return "open"
        matches = list(self.fates.find(words))
        if "accepted" in matches:
            return "accepted"
        if matches:
            return "closed"
        return "open"


class Phrases:
    """Finds phrases of several kinds in a list of words, longest first; each word is used once."""

    def __init__(self, kinds: Mapping[str, Sequence[str]], *, singular: bool = False) -> None:
        self._table: dict[tuple[str, ...], str] = {}
        for kind, phrases in kinds.items():
            for phrase in phrases:
                # Keys are compared in the singular, the words of a text as they are written.
                words = key_words(phrase) if singular else tuple(plain_words(phrase))
                # The first kind keeps a phrase that two kinds list.
                self._table.setdefault(words, kind)
        self._longest = max(map(len, self._table))

    def find(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the kinds of the phrases found, in order."""
        return (kind for kind, _ in self._parts(words) if kind)

    def left_of(self, words: Sequence[str]) -> list[str]:
        """Return the words that are in no phrase."""
        return [word for kind, word in self._parts(words) if not kind]

    def _parts(self, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        position = 0
        while position < len(words):
            for length in range(min(self._longest, len(words) - position), 0, -1):
                kind = self._table.get(tuple(words[position : position + length]))
                if kind is not None:
                    yield kind, ""
                    position += length
                    break
            else:
                yield "", words[position]
                position += 1


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set, for tables of words."""
    return frozenset(text.split())


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text in order."""
    return tuple(text.split())


@lru_cache(maxsize=1)
def words() -> Words:
    """Return the shipped vocabulary."""
    return validate_yaml(Words, load_yaml(FILE))


@lru_cache(maxsize=4096)
def _plain(text: str) -> tuple[str, ...]:
    # A sign such as a tick is a word by itself.
    return tuple(re.findall(r"[^\W_]+|[^\x00-\x7f\w\s]+", text.lower().replace("'", " ")))


def plain_words(text: str) -> list[str]:
    """Return the words of a status or a sentence, in lower case, without punctuation."""
    return list(_plain(text[:400]))


@lru_cache(maxsize=8192)
def key_words(key: str) -> tuple[str, ...]:
    """Return the words of a key in the singular: `failedTests` equals `failed_tests`; `p95`
    stays whole.
    """
    percentiles: list[str] = []

    def keep(match: re.Match[str]) -> str:
        percentiles.append(f"p{match[1] or match[2] or match[3]}")
        return " "

    # A percentile would be split into a letter and a number.
    plain = _PERCENTILE.sub(keep, key)
    names = words().key_names
    words_of_key = list[str]()
    for word in _SPLIT.findall(plain):
        lower = word.lower()
        # Keys in other languages become the English words that all readers know.
        name = names.get(lower) or names.get(singular(lower))
        words_of_key += name or (singular(lower),)
    return (*percentiles, *words_of_key)


def file_words(name: str) -> tuple[str, ...]:
    """Return the words of a file's name or title, as of a key; accents may be left out of it, and
    a compound counts by its first part: `Abnahmeprotokoll`.
    """
    vocabulary = words()
    named = list[str]()
    for word in key_words(name):
        plain = vocabulary.plain_key_names.get(without_accents(word), (word,))
        if plain == (word,) and len(word) > _SHORTEST_PART:
            plain = _first_part(word)
        named += plain
    return tuple(named)


@lru_cache(maxsize=2048)
def _first_part(word: str) -> tuple[str, ...]:
    """Return the English words for the first part of a German or Dutch compound, or the word."""
    vocabulary = words()
    for length in range(len(word) - 1, _SHORTEST_PART - 1, -1):
        for language in ("de", "nl"):
            english = vocabulary.keys[language].get(word[:length])
            if english is not None:
                return tuple(english.split())
    return (word,)


def without_accents(word: str) -> str:
    """Return a word with its letters alone: `aceptación` -> `aceptacion`."""
    letters = unicodedata.normalize("NFD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def singular(word: str) -> str:
    """Return the singular: `vulnerabilities` -> `vulnerability`; `status`, `pass` and `ms` stay."""
    if word in ("status", "rps", "tps", "qps", "ms", "analysis", "secs", "cors", "sms", "bps"):
        return word
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
