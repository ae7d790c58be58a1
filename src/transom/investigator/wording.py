"""Tells what a sentence says about a state, in five languages: that it holds, or that it does not.

The words are in `knowledge/statements.yaml`. They are matched in a folded text: lower case, without
accents and punctuation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
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
"""Stands in a folded text for a number or a quotation that was checked against its source."""

_FILE = Path(__file__).parent / "knowledge" / "statements.yaml"
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_NOT = re.compile(r"n['’]t\b")
_WORD = re.compile(r"[^\W_]+|[✅✔✓👍]")
_BREAK = re.compile(r"[;,()–—]|\s-\s")
_CLAIMS: tuple[State, ...] = ("met", "approved", "waived", "ready")
_NEGATIONS = ("not", "without", "no", "nothing")


class Words(BaseModel):
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
    roughly: list[str]
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
        for kind in ("open", *_CLAIMS):
            kinds[kind] = [word for language in getattr(self, kind) for word in language]
        phrases = [(folded_pattern(word), kind) for kind, words in kinds.items() for word in words]
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

    @cached_property
    def figure_behind(self) -> re.Pattern[str]:
        """A figure right behind a state, as in "passed only 91 %"."""
        between = "|".join(map(folded_pattern, self.roughly))
        return re.compile(rf" (?:(?:{between}) )?{FIGURE}(?!\S)")

    def describes(self, text: str, state: re.Match[str]) -> bool:
        """Whether a state only describes a noun beside it: "the pass rate", "taux de réussite"."""
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
class Clause:
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
def words() -> Words:
    """Return the shipped words."""
    return validate_yaml(Words, load_yaml(_FILE))


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


def clauses_of(sentence: str) -> list[Clause]:
    """Divide a sentence, and tell the tone of each part.

    A question and a condition state nothing, so all their parts only suppose.
    """
    parts = [fold(part) for piece in _BREAK.split(sentence) for part in words().joint.split(piece)]
    supposes = sentence.rstrip().endswith("?") or bool(words().conditions.search(fold(sentence)))
    clauses = [_clause(part) for part in parts if part]
    if supposes:
        return [Clause(one.text, "supposes") for one in clauses]
    return clauses


def _clause(text: str) -> Clause:
    is_universal = words().universal.search(text) is not None
    marks = [(match, words().kind_of(match)) for match in words().marks.finditer(text)]
    states = [
        (match, kind)
        for match, kind in marks
        if kind in ("open", "lack", *_CLAIMS) and not words().describes(text, match)
    ]
    negations = [(match, kind) for match, kind in marks if kind in _NEGATIONS]
    if not states:
        return Clause(text, _tone_without_state(text, marks), is_universal=is_universal)
    match, kind = _predicate(states, negations)
    waivers = [state for state in states if state[1] == "waived"]
    if kind == "open" and waivers and words().covering.search(text, waivers[0][0].end()):
        match, kind = waivers[0]
    if _supposed(text, match, kind, marks):
        return Clause(text, "supposes")
    is_claim, is_negated = kind in _CLAIMS, _negates(negations, match, kind)
    if is_claim == is_negated:
        is_silent = kind == "open" and words().is_attribute(text, match)
        return Clause(text, "silent" if is_silent else "denies", is_universal=is_universal)
    if _is_measured(text, match):
        return Clause(text, "measured")
    state: State = next((name for name in _CLAIMS if name == kind), "met")
    if waivers:
        state = "waived"
    return Clause(text, "asserts", state, is_universal)


def _tone_without_state(text: str, marks: Sequence[tuple[re.Match[str], str]]) -> Tone:
    kinds = {kind for _, kind in marks}
    if FIGURE in text.split():
        return "measured"
    if kinds & {"unless", "must"}:
        return "supposes"
    # "There is no such file" denies, "nothing to lose sleep over" does not.
    return "denies" if kinds & {"not", "no"} else "silent"


def _predicate(
    states: Sequence[tuple[re.Match[str], str]], negations: Sequence[tuple[re.Match[str], str]]
) -> tuple[re.Match[str], str]:
    """Return the state that a clause states: the one behind `not`, else the last one.

    The last one since attributes come first: "the pending approval was granted".
    """
    for negation, kind in negations:
        if kind in ("not", "without"):
            behind = [state for state in states if state[0].start() > negation.start()]
            if behind:
                return behind[0]
    return states[-1]


def _negates(
    negations: Sequence[tuple[re.Match[str], str]], state: re.Match[str], kind: str
) -> bool:
    """Whether the state is negated."""
    for negation, negative in negations:
        if negation.start() < state.start() or negative == "not":
            return True
        # "Approved by nobody" is no approval, and "il ne manque rien" no lack.
        if kind != "open" or negation.start() <= state.end() + 1:
            return True
    return False


def _supposed(
    text: str, state: re.Match[str], kind: str, marks: Sequence[tuple[re.Match[str], str]]
) -> bool:
    before = {name for match, name in marks if match.start() < state.start()}
    if "unless" in before or ("must" in before and kind != "ready"):
        return True
    if kind not in _CLAIMS:
        return False
    # "Needs a waiver", "ask them to approve"
    negated = before & set(_NEGATIONS)
    return ("lack" in before and not negated) or text[: state.start()].endswith(" to ")


def _is_measured(text: str, state: re.Match[str]) -> bool:
    """Whether a figure carries the statement: "21 of 23 passed", "passed 91.3 %"."""
    if FIGURE in text[: state.start()].split():
        return True
    return words().figure_behind.match(text, state.end()) is not None
