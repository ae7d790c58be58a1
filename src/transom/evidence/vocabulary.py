"""The vocabulary of trouble, as `trouble.yaml` holds it."""

from __future__ import annotations

import errno
import os
import signal
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from transom.yaml_text import parse_yaml

Place = Literal["key", "status", "prefix", "text"]
"""Where a word means trouble: in a key, as the value of a status, at the beginning of a message, or
anywhere in running text.
"""
TextField = Literal["all", "eda", "release", "code"]
"""The field that a text is of. `all` has only the words that mean trouble in each field."""

FILE = Path(__file__).parent / "trouble.yaml"
PLACES: tuple[Place, ...] = ("key", "status", "prefix", "text")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TroubleEntry(_Part):
    """A state of trouble with its words, and where they mean it.

    Attributes:
        state: the name of the state.
        places: where its words mean it.
        fields: the fields of texts in which they do.
        words: the words by language; a `*` stands for any letters.
    """

    state: str
    places: tuple[Place, ...] = PLACES
    fields: tuple[TextField, ...] = ("all",)
    words: dict[str, tuple[str, ...]]

    def is_of(self, field: TextField) -> bool:
        """Return whether the words mean trouble in a field."""
        return "all" in self.fields or field in self.fields


class TroublePattern(_Part):
    """A message whose number decides.

    Attributes:
        fields: the fields of texts in which it means trouble.
        words: words of which each such message has one, in lower case.
        pattern: a regular expression for the message, without regard to case.
    """

    state: str
    fields: tuple[TextField, ...] = ("all",)
    words: tuple[str, ...]
    pattern: str

    def is_of(self, field: TextField) -> bool:
        """Return whether the message means trouble in a field."""
        return "all" in self.fields or field in self.fields


class LookedAt(_Part):
    """Words of what a check looks at; `trouble.yaml` says what each list is for."""

    nouns: tuple[str, ...]
    before: tuple[str, ...]
    verbs: dict[str, str]
    results: tuple[str, ...]


class DenialGrammar(_Part):
    """Small words around a count or a denial; `trouble.yaml` says what each list is for."""

    separating: tuple[str, ...]
    verbs: tuple[str, ...]
    joining: tuple[str, ...]
    counting_verbs: tuple[str, ...]
    parts: tuple[str, ...]
    messages: tuple[str, ...]
    joined_before: tuple[str, ...]
    joined_behind: tuple[str, ...]
    joined_counts: tuple[str, ...]


class Vocabulary(_Part):
    """The whole vocabulary of trouble.

    Attributes:
        entries: the states with their words.
        patterns: messages whose number decides.
        looked_at: words of what a check looks at, of which there may have been none.
        marks: marks of severity at the beginning of a message, as written.
        ordinary: words that a `*` would take in and that mean no trouble.
        good: words of a good state, which a value may deny: `approved: no`.
        countable: nouns that are counted, by language: "no errors or warnings".
        denials: words before trouble that deny it, by language.
        negations: words before a verb that deny it, by language.
        undeniable: words that a negation does not make good: "not waived".
        harmless: phrases that hold a word of trouble and mean none.
        settings: words of a key that make it a setting: `max_errors`.
        counting: words beside trouble in the key of a count: `num_errors`.
        grammar: small words around a count or a denial.
        nothing: values that stand for nothing: `errors: none`.
    """

    schema_: Literal["transom.trouble/1"] = Field(alias="schema")
    entries: tuple[TroubleEntry, ...]
    patterns: tuple[TroublePattern, ...]
    looked_at: LookedAt
    marks: tuple[str, ...]
    ordinary: tuple[str, ...]
    good: tuple[str, ...]
    countable: dict[str, tuple[str, ...]]
    denials: dict[str, tuple[str, ...]]
    negations: dict[str, tuple[str, ...]]
    undeniable: tuple[str, ...]
    harmless: tuple[str, ...]
    settings: tuple[str, ...]
    counting: tuple[str, ...]
    grammar: DenialGrammar
    nothing: tuple[str, ...]


@lru_cache(maxsize=1)
def shipped_vocabulary() -> Vocabulary:
    """Return the vocabulary that Transom ships."""
    file = parse_yaml(FILE.read_text(encoding="utf-8"), FILE)
    return Vocabulary.model_validate(file.data)


@lru_cache(maxsize=1)
def system_messages() -> frozenset[str]:
    """Return what the operating system says of its errors and signals, in lower case.

    The list belongs to the machine and not to the vocabulary, and nobody chose its words.
    """
    messages = {os.strerror(number) for number in errno.errorcode}
    for number in signal.valid_signals():
        messages.add(signal.strsignal(number) or "")
    return frozenset(message.lower() for message in messages if message)
