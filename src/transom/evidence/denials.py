"""Explain words of trouble that a line denies: "0 errors", "errors: 0", "no failures found".

A line comes as a skeleton: each of its words of trouble is one sign (see `lexicon`), all else is
written as it stands. What a denial takes is marked as explained, and the rest is read on, so that
"0 errors, 5 violations" still speaks of violations. What merely begins like a denial stays: "no
error checking was done", "test 0 failed", "violations not waived".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from transom.evidence.lexicon import (
    ANY_SIGN,
    EXPLAINED,
    FIRM,
    JOINED,
    JOINED_SCRIPT,
    NEGATION,
    NOUN,
    NOUNS,
    STATE,
)
from transom.evidence.vocabulary import Vocabulary, shipped_vocabulary

_SIGN = re.compile(ANY_SIGN)
_TROUBLE = f"[{STATE}{NOUN}{NOUNS}{FIRM}{JOINED}]"
_ZERO = r"0(?:[.,]0+)?"
_LETTERS = r"[^\W\d_]"


class Denials:
    """The denials of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        grammar = vocabulary.grammar
        self._separating = rf"(?:{_either(grammar.separating)})\b"
        # A word between a denial and a noun: "no DRC errors", "no open issues".
        word = rf"(?!{self._separating}){_LETTERS}[^\W_]*(?:-\w+)*"
        self._adjective = rf"(?:(?:{word}|[{STATE}{FIRM}]|{NOUN}(?=\s+{NOUNS}))\s+)"
        self._verb = (
            r"(?:\s+(?:were|was|are|is|have\s+been|has\s+been|had\s+been))?"
            rf"\s+(?:{_either(grammar.verbs)})\b"
        )
        joining = rf"(?:{_either(grammar.joining)})\b"
        self._ending = rf"(?=\s*(?:$|[.,;:!?)\]}}|<\"'/]|\s\s|\t|{joining}))"
        self._behind = rf"(?:{self._verb}|{self._ending})"
        self._patterns = [
            re.compile(pattern)
            for pattern in (
                # Before the counts, since "Errors: 0 Failures: 2" is not about 0 failures.
                *self._named_first(vocabulary),
                *self._counted_first(vocabulary),
                *self._denied(vocabulary),
                # "was not skipped", "did not fail", "no longer blocked"
                rf"{NEGATION}(?:\s+(?:been|be|being|an?|any|ever|the))?\s+[{STATE}{NOUN}{NOUNS}]",
                *_joined(vocabulary),
            )
        ]

    def explain(self, skeleton: str) -> str:
        """Return the skeleton with the signs of its denials marked as explained."""
        for pattern in self._patterns:
            skeleton = pattern.sub(_mark, skeleton)
        return skeleton

    def _counted_first(self, vocabulary: Vocabulary) -> list[str]:
        """Return the pattern of "0 errors", "0 of 212 tests failed", "found 0 DRC violations"."""
        verbs = _either(vocabulary.grammar.counting_verbs)
        before = rf"(?:^\W*|(?<=[^\w\s.'#$%/+-])\s*|(?<!\w)(?:{verbs})\s+)(?<![\d.,])"
        total = r"(?:\s*(?:of|out\s+of|/)\s*(?:the\s+|all\s+)?\d[\d.,']*)?"
        between = rf"(?:\s+{self._adjective}{{0,3}}|-)"
        # "0 failed and skipped tests", but not "0 failed and aborted"
        connected = rf"(?:\s+(?:and|or)\s+{STATE}(?=\s+[a-z]+s\b))?"
        behind = rf"{connected}(?:\s+(?!{self._separating})(?:{_LETTERS}+|{_TROUBLE})){{0,2}}?"
        return [rf"{before}{_ZERO}{total}{between}{_TROUBLE}{behind}{self._behind}"]

    def _named_first(self, vocabulary: Vocabulary) -> list[str]:
        """Return the patterns of "errors: 0", `failed="0"`, "Skipped (0)", "Errors   0"."""
        texts = [value for value in vocabulary.nothing if value and value[0].isalpha()]
        nothing = rf"(?:{_ZERO}\s*%?|\[\s*\]|\{{\s*\}}|(?:{_either(texts)})(?!{_LETTERS}))"
        parts = rf"(?:{_either(vocabulary.grammar.parts)}|{_LETTERS}{{2,}}s|{_TROUBLE})"
        labels = rf"{_TROUBLE}(?:\s+{parts}){{0,3}}"
        label = rf"(?:{_TROUBLE}|passed|total|infos?|notes?|tests?|checks?|time|elapsed|warnings?)"
        ending = (
            rf"(?=\s*(?:$|[,;)\]}}|\"'<]|\.(?!\d)|\s\s|\t|(?:of|/)\s*\d|and\b|{label}\s*[:=(]))"
        )
        sign = r"(?:[\"']?\s*(?:[:=|]|->|=>)\s*[\"']?|\s*\.{2,}\s*|\s{2,}|\t)"
        return [
            rf"{labels}{sign}{nothing}[\"']?{ending}",
            rf"{labels}\s*[(\[]\s*{_ZERO}\s*[)\]]",
            rf"<\s*{_TROUBLE}\s*>\s*{_ZERO}\s*<",
            # "Failed 0, passed 12", but not "error 0"
            rf"[{STATE}{NOUNS}]\s+{_ZERO}(?:\s+(?:of|/)\s*\d+)?{ending}",
        ]

    def _denied(self, vocabulary: Vocabulary) -> list[str]:
        """Return the patterns of "no errors", "no failed tests", "without any violation found"."""
        opening = rf"(?<![\w-])(?:{_longest_first(vocabulary.denials['en'])})\s+"
        foreign = [
            word
            for language, words in vocabulary.denials.items()
            for word in words
            if language != "en"
        ]
        # Other languages write "error checking" in one word, or the other way round.
        elsewhere = rf"(?<![\w-])(?:{_longest_first(foreign)})(?:(?<=')|\s+)"
        # In some fields "nor" is itself a word of the vocabulary.
        joint = rf"(?:or|nor|and|[{STATE}{NEGATION}](?=\s+[{NOUN}{NOUNS}]))"
        connected = rf"(?:\s*,\s*(?:{joint}\s+)?|\s*/\s*|\s+{joint}\s+)"
        further_nouns = rf"(?:{connected}{self._adjective}?[{NOUN}{NOUNS}])*"
        messages = _either(vocabulary.grammar.messages)
        return [
            # "no errors", "no DRC errors or warnings"
            rf"{opening}{self._adjective}{{0,2}}{NOUNS}{further_nouns}{self._behind}",
            # "no error", "no failure, ..."
            rf"{opening}{_TROUBLE}{further_nouns}{self._behind}",
            # "no timing violation found", "no failed test was found"
            rf"{opening}{self._adjective}{{0,2}}{_TROUBLE}(?:\s+{_LETTERS}+){{0,2}}?{self._verb}",
            # "no failed tests", but not "no error checks"
            rf"{opening}{self._adjective}?[{STATE}{FIRM}]\s+(?:[a-z-]+\s+)?[a-z-]+s(?!\w)"
            rf"{self._ending}",
            rf"{elsewhere}{self._adjective}?{_TROUBLE}",
            # "none of the 12 tests failed", "none of these is blocked"
            rf"\bnone\s+of\s+(?:the|these|those|all)\s+(?:[\w-]+\s+){{0,3}}?{_TROUBLE}"
            rf"{self._ending}",
            # "no error messages"
            rf"{opening}{self._adjective}?{NOUN}\s+(?:{messages})\b{self._behind}",
        ]


def _joined(vocabulary: Vocabulary) -> list[str]:
    """Return the patterns of scripts without blanks: エラーなし, 没有错误, 错误: 0."""
    grammar = vocabulary.grammar
    before, behind = _either(grammar.joined_before), _either(grammar.joined_behind)
    counter = rf"(?:{_either(grammar.joined_counts)})?"
    nothing = rf"(?:{_ZERO}|{before}|{behind})\s*{counter}"
    return [
        rf"(?:{before})(?:任何|发现)?\s*{JOINED}",
        rf"{JOINED}\s*[はがも]?\s*(?:{behind})",
        rf"{JOINED}\s*[数數]?\s*[:：=]?\s*{nothing}(?![\d.,]*\d)(?!{JOINED_SCRIPT})",
        rf"(?<![\d.,])0\s*{counter}\s*の?\s*{JOINED}",
    ]


def _either(words: Iterable[str]) -> str:
    """Return the pattern of one of these words."""
    return "|".join(re.escape(word) for word in words)


def _longest_first(words: Iterable[str]) -> str:
    """Return the pattern of one of these words, of which some begin others."""
    return _either(sorted(set(words), key=lambda word: (-len(word), word)))


def _mark(match: re.Match[str]) -> str:
    """Return what stands in a skeleton for a denial: its signs, explained."""
    return f" ; {EXPLAINED * len(_SIGN.findall(match[0]))} ; "


@lru_cache(maxsize=1)
def shipped_denials() -> Denials:
    """Return the denials of the shipped vocabulary."""
    return Denials(shipped_vocabulary())
