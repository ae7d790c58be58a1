"""Tells what a sentence says about a state, in five languages: that it holds, or that it does not.

The words are in `knowledge/statements.yaml`. They are matched in a folded text: lower case, without
accents and punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

Tone = Literal["asserts", "denies", "measured", "supposes", "silent"]
State = Literal["met", "approved", "waived", "ready"]

FIGURE = "figurehere"
"""Stands in a folded text for a number that was checked against its source."""
QUOTE = "quotehere"
"""Stands there for a quotation."""

CLAUSE_BREAK = re.compile(r"[;,()–—]|\s-\s")
"""Stands between two clauses, where no word does."""

_FILE = Path(__file__).parent / "knowledge" / "statements.yaml"
# Before the accents are removed: "für" folds to "fuer", the form without umlauts.
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_NOT = re.compile(r"n['’]t\b")
_WORD = re.compile(r"[^\W_]+|[✅✔✓👍]")
_CLAIMS: tuple[State, ...] = ("met", "approved", "waived", "ready")
_NEAR = 2  # words between a state and its figure
_NEGATIONS = ("not", "without", "no", "nothing")


class WordForms(BaseModel):
    """The file of words; see the comments in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    not_: list[str] = Field(alias="not")
    without: list[str]
    no: list[str]
    nothing: list[str]
    if_: list[str] = Field(alias="if")
    unless: list[str]
    must: list[str]
    lack: list[str]
    open: list[list[str]]
    met: list[list[str]]
    approved: list[list[str]]
    waived: list[list[str]]
    ready: list[list[str]]
    covers: list[str]
    heads: list[str]
    heads_before: list[str] = Field(alias="heads before")
    attributes: list[str]
    copulas: list[str]
    with_: frozenset[str] = Field(alias="with")
    all: list[str]
    joints: list[str]
    generic: frozenset[str]
    topics: dict[str, list[str]]

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """One expression for all kinds of words, the longest phrase first."""
        kinds: dict[str, Iterable[str]] = {
            "not": self.not_,
            "without": self.without,
            "no": self.no,
            "nothing": self.nothing,
            "unless": self.unless,
            "must": self.must,
            "lack": self.lack,
        }
        # These have a list for each language, so that a translator sees what is missing.
        for kind in ("open", *_CLAIMS):
            kinds[kind] = [word for language in getattr(self, kind) for word in language]
        phrases = []
        for kind, words in kinds.items():
            for word in words:
                phrases.append((folded_pattern(word), kind))
        # The longest comes first: "not yet met" is one phrase, not a "met".
        phrases.sort(key=lambda row: len(row[0]), reverse=True)
        # A name of a group may stand once in an expression, so each phrase has its own.
        self._kinds.update({f"k{number}": kind for number, (_, kind) in enumerate(phrases)})
        groups = (f"(?P<k{number}>{phrase})" for number, (phrase, _) in enumerate(phrases))
        return re.compile(rf"(?<!\S)(?:{'|'.join(groups)})(?!\S)")

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {}

    def kind_of(self, match: re.Match[str]) -> str:
        """Return the kind of word that `marks` found."""
        return self._kinds[str(match.lastgroup)]

    @cached_property
    def conditions(self) -> re.Pattern[str]:
        return any_of(self.if_)

    @cached_property
    def universal(self) -> re.Pattern[str]:
        return any_of(self.all)

    @cached_property
    def covering(self) -> re.Pattern[str]:
        return any_of(self.covers)

    def describes(self, text: str, state: re.Match[str]) -> bool:
        """Whether a state only describes a noun beside it: "the pass rate", "taux de réussite"."""
        # "The pass rate" speaks of a rate, and says nothing of having passed.
        if self._head.match(text, state.end()):
            return True
        return self._head_before.search(text[: state.start()]) is not None

    @cached_property
    def _head(self) -> re.Pattern[str]:
        return re.compile(rf" (?:{'|'.join(map(folded_pattern, self.heads))})(?!\S)")

    @cached_property
    def _head_before(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\S)(?:{'|'.join(map(folded_pattern, self.heads_before))}) $")

    def is_attribute(self, text: str, state: re.Match[str]) -> bool:
        """Whether an open state belongs to a noun, so that the clause says nothing of it."""
        if not self._attribute.fullmatch(state[0]) or not text[state.end() :]:
            return False
        return not any(map(self._copula.fullmatch, text[: state.start()].split()[-2:]))

    @cached_property
    def _attribute(self) -> re.Pattern[str]:
        return any_of(self.attributes)

    @cached_property
    def _copula(self) -> re.Pattern[str]:
        return any_of(self.copulas)

    @cached_property
    def joint(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, self.joints))})(?!\S)", re.I)

    @cached_property
    def spoken(self) -> dict[str, re.Pattern[str]]:
        """The expression for each word of the policy that people call otherwise."""
        return {fold(word): any_of(forms) for word, forms in self.topics.items()}


@dataclass(frozen=True)
class StatementClause:
    """A part of a sentence.

    Attributes:
        text: its words, folded.
        tone: `asserts` or `denies` a state, tells a `measured` figure, `supposes`, or is `silent`.
        state: the state that it asserts.
        is_universal: whether it speaks of all criteria.
    """

    text: str
    tone: Tone
    state: State = "met"
    is_universal: bool = False


@lru_cache(maxsize=1)
def words() -> WordForms:
    """Return the shipped words."""
    return validate_yaml(WordForms, load_yaml(_FILE))


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Return the words of a text in lower case and without accents, with one space between."""
    plain = _NOT.sub(" not", unicodedata.normalize("NFC", text).casefold()).translate(_UMLAUTS)
    parts = unicodedata.normalize("NFKD", plain)
    return " ".join(
        _WORD.findall("".join(sign for sign in parts if not unicodedata.combining(sign)))
    )


def folded_pattern(phrase: str) -> str:
    """Return the expression for a phrase of the file of words; `*` stands for any letters."""
    parts = []
    for word in phrase.split():
        before, after = r"\S*" * word.startswith("*"), r"\S*" * word.endswith("*")
        parts.append(f"{before}{re.escape(fold(word.strip('*')))}{after}")
    return " ".join(parts)


def any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return an expression that finds any of these phrases in a folded text."""
    return re.compile(rf"(?<!\S)(?:{'|'.join(map(folded_pattern, phrases))})(?!\S)")


def clauses_of(sentence: str) -> list[StatementClause]:
    """Divide a sentence, and tell the tone of each part.

    A question and a condition state nothing, so all their parts only suppose.
    """
    # A comma parts statements, and so do "but" and "although" in their languages.
    pieces = (part for piece in CLAUSE_BREAK.split(sentence) for part in words().joint.split(piece))
    parts = []
    for folded in map(fold, pieces):
        if folded:
            parts.append(_Part(folded))
    if sentence.rstrip().endswith("?") or words().conditions.search(fold(sentence)):
        return [StatementClause(part.text, "supposes") for part in parts]
    clauses: list[StatementClause] = []
    for number, part in enumerate(parts):
        clause = part.clause()
        if number and part.is_elliptic and (parts[number - 1].is_negated or _supposes(clauses[-1])):
            # "Has to be mended and accepted": the second part has the verb of the first.
            clause = StatementClause(part.text, clauses[-1].tone)
        clauses.append(clause)
    return clauses


def _supposes(clause: StatementClause) -> bool:
    return clause.tone == "supposes"


class _Part:
    """A part of a sentence with the words that the file knows."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.marks = [(match, words().kind_of(match)) for match in words().marks.finditer(text)]
        self.kinds = {kind for _, kind in self.marks}
        self.states = []
        for match, kind in self.marks:
            is_state = kind in ("open", "lack", *_CLAIMS) and not words().describes(text, match)
            # "For lack of an account" tells why, and states nothing.
            is_reason = kind == "lack" and text[: match.start()].endswith("for ")
            if is_state and not is_reason:
                self.states.append((match, kind))
        self.negations = [(match, kind) for match, kind in self.marks if kind in _NEGATIONS]

    @property
    def is_negated(self) -> bool:
        return bool(self.states) and self._negates(*self._predicate())

    @property
    def is_elliptic(self) -> bool:
        """Whether the part begins with its state, so that its verb stands in the part before."""
        if not self.states or self.negations:
            return False
        return len(self.text[: self._predicate()[0].start()].split()) < 2

    def clause(self) -> StatementClause:
        """Return the part with its tone."""
        is_universal = words().universal.search(self.text) is not None
        if not self.states:
            return StatementClause(self.text, self._tone_without_state(), is_universal=is_universal)
        match, kind = self._predicate()
        # Before the negation: "unless it is not approved" states nothing at all.
        if self._supposes(match, kind):
            return StatementClause(self.text, "supposes")
        # A waiver anywhere in the part decides: "passed thanks to a waiver" is about the waiver.
        has_waiver = any(name == "waived" for _, name in self.states)
        if (kind in _CLAIMS) == self._negates(match, kind):
            is_silent = kind == "open" and words().is_attribute(self.text, match)
            tone: Tone = "silent" if is_silent else "denies"
            return StatementClause(self.text, tone, is_universal=is_universal)
        # A quotation carries the sentence, unless more is said than one source can tell.
        is_quoted = QUOTE in self.text.split() and not is_universal
        if not has_waiver and (is_quoted or self._is_measured(match)):
            return StatementClause(self.text, "measured")
        state: State = next((name for name in _CLAIMS if name == kind), "met")
        return StatementClause(
            self.text, "asserts", "waived" if has_waiver else state, is_universal
        )

    def _tone_without_state(self) -> Tone:
        # Figures and quotations were held to their sources already.
        if {FIGURE, QUOTE} & set(self.text.split()):
            return "measured"
        if self.kinds & {"unless", "must"}:
            return "supposes"
        # "There is no such file" denies, "nothing to lose sleep over" does not.
        if self.kinds & {"not", "no"}:
            return "denies"
        return "silent"

    def _predicate(self) -> tuple[re.Match[str], str]:
        """Return the state that is stated: the one behind `not`, else the last one.

        The last one since attributes come first: "the pending approval was granted".
        """
        for negation, kind in self.negations:
            if kind in ("not", "without"):
                behind = []
                for row in self.states:
                    if row[0].start() > negation.start():
                        behind.append(row)
                if behind:
                    return behind[0]
        match, kind = self.states[-1]
        waivers = []
        for row in self.states:
            if row[1] == "waived":
                waivers.append(row)
        # "A waiver covers the open criteria" says nothing of open criteria.
        covers = waivers and words().covering.search(self.text, waivers[0][0].end())
        if kind == "open" and covers:
            return waivers[0]
        return (match, kind)

    def _negates(self, state: re.Match[str], kind: str) -> bool:
        """Whether the state is negated."""
        for negation, negative in self.negations:
            if negation.start() < state.start():
                return True
            if negative == "without":
                continue
            # "Approved by nobody" is no approval, and "il ne manque rien" no lack; but "failed
            # tests are not shown" speaks of failed tests.
            between = self.text[state.end() : negation.start()].split()
            if kind in _CLAIMS or len(between) <= 1:
                return True
        return False

    def _supposes(self, state: re.Match[str], kind: str) -> bool:
        if kind not in _CLAIMS:
            return bool(self.kinds & {"unless", "must"})
        before = set()
        for match, name in self.marks:
            if match.start() < state.start():
                before.add(name)
        if "unless" in before or ("must" in before and kind != "ready"):
            return True
        # "Needs a waiver", "ask them to approve"
        is_lacking = "lack" in before and not before & set(_NEGATIONS)
        return is_lacking or self.text[: state.start()].endswith(" to ")

    def _is_measured(self, state: re.Match[str]) -> bool:
        """Whether a figure carries the statement: "21 of 23 passed", "passed scenarios: 21"."""
        # "3 scenarios passed" counts; the figure was held to its row.
        if FIGURE in self.text[: state.start()].split():
            return True
        behind = self.text[state.end() :].split()[: _NEAR + 1]
        if FIGURE not in behind:
            return False
        return not words().with_ & set(behind[: behind.index(FIGURE)])
