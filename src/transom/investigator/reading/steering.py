"""Finds text that tries to steer a model that reads it, by what such text is made of.

No single word is a sign: `ignore`, `ready` and `system` stand in honest texts, too. Each feature
of a passage adds or takes points: orders, an address to a reader, words of the verdict, of rules
and of failures (see `speech`), how much of it is about something else, marks of a conversation, a
forged waiver or policy. Disguised text is deciphered first.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Set
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

from transom.formats.measurements import Remark
from transom.formats.text_decoding import decode_text
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.investigator.reading.reviews import sentence
from transom.investigator.reading.speech import language_of, speech_of
from transom.investigator.reading.vocabulary import words

_FILE: Final = Path(__file__).parent / "steering.yaml"
_SHORTEST: Final = 8
_MOST_TEXT: Final = 4000
_LONGEST_QUOTE: Final = 240
# A text of so few lines is looked at as a whole, too: a forged policy has several.
_WHOLE: Final = 6
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_PACKED: Final = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_HEX: Final = re.compile(r"\b(?:[0-9a-fA-F]{2}[ :]?){16,}")
# What follows this sign is shown from right to left.
_TURNED_ROUND: Final = "\u202e"
_SPACED: Final = re.compile(r"\b[^\W\d]([ .\-_])(?:[^\W\d]\1){3,}[^\W\d]\b")
_DIGITS_IN_WORD: Final = re.compile(
    r"\b(?=[0135]*+[A-Za-z])(?=[A-Za-z]*+[0135])[A-Za-z0135]{5,}+\b"
)
_DIGIT: Final = re.compile(r"\d")
# The commonest words of English, turned by 13 letters, and written backwards.
_TURNED: Final = re.compile(r"\b(?:gur|naq|nyy|lbhe?|nf|vf|gb|vafgehpgvbaf?)\b", re.IGNORECASE)
_REVERSED: Final = re.compile(
    r"\b(?:eht|dna|lla|ruoy|uoy|siht|taht|sa|snoitcurtsni)\b", re.IGNORECASE
)
_SPACED_WORD: Final = re.compile(r"\b[^\W\d]([ .\-_])(?:[^\W\d]\1)*[^\W\d]\b")
_GAP: Final = re.compile(r"[ .\-_]")
# Three words or more in quotation marks behind a word: prose that quotes a prompt.
_QUOTATION: Final = re.compile(
    r"(?:(?<=\w )|(?<=\w[:,] ))(?:\"[^\"\n]{12,300}\"|(?<!\w)'[^'\n]{12,300}'(?!\w)"
    r"|“[^”\n]{12,300}”|„[^“\n]{12,300}“|«[^»\n]{12,300}»)"
)
_DIGIT_LETTERS: Final = str.maketrans("0135", "oies")
_DISGUISE: Final = re.compile(r"%[0-9a-fA-F]{2}|&#?\w+;|\\[ux][0-9a-fA-F]")
# Letters of other scripts that look like Latin ones.
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅαονρτυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwABEKMHOPCTYXIJSaovptukABEZHIKMNOPTYX",
)


class Idea(BaseModel):
    """Features that say more together: one of each group, and none of `without`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    each: list[list[str]]
    without: list[str] = Field(default_factory=list)

    def fits(self, features: Set[str]) -> bool:
        """Tell whether a passage with these features has the idea."""
        return features.isdisjoint(self.without) and not any(
            features.isdisjoint(group) for group in self.each
        )


class SteeringScale(BaseModel):
    """What makes a text suspicious, and by how much.

    Attributes:
        structures: features of the form, as regular expressions that ignore the case.
        ideas: features that consist of others.
        certain: features that suffice alone.
        points: what each feature adds.
        bound: the points from which on a passage is reported.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    structures: dict[str, str]
    ideas: dict[str, Idea]
    certain: list[str]
    points: dict[str, float]
    bound: float

    @cached_property
    def expressions(self) -> dict[str, re.Pattern[str]]:
        """The compiled expressions of the structures."""
        return {
            name: re.compile(expression, re.IGNORECASE | re.MULTILINE)
            for name, expression in self.structures.items()
        }

    def features(self, passage: str, language: str, *, is_disguised: bool) -> set[str]:
        """Return all features of a passage."""
        features = set(speech_of(passage, language))
        features.update(
            name for name, expression in self.expressions.items() if expression.search(passage)
        )
        if is_disguised:
            features.add("disguise")
        features.update(name for name, idea in self.ideas.items() if idea.fits(features))
        return features

    def score(self, features: Iterable[str]) -> float:
        """Return the points of a passage beyond the bound."""
        points = sum(self.points.get(feature, 0.0) for feature in features)
        # The order of a set is chance, and so is the last digit of its sum.
        return round(points - self.bound, 3)


@lru_cache(maxsize=1)
def steering_scale() -> SteeringScale:
    """Return the shipped scale."""
    return validate_yaml(SteeringScale, load_yaml(_FILE))


def steering_in_text(text: str, locator: str) -> Iterator[Remark]:
    """Yield a remark if a text tries to steer its reader."""
    # Three signs of Chinese say what takes a whole word of English.
    if len(text) < (_SHORTEST if text.isascii() else _SHORTEST // 2):
        return
    quote = _steering_passage(text[:_MOST_TEXT])
    if quote:
        yield Remark(
            kind="injection",
            text="text that addresses the reader",
            locator=locator,
            quote=quote[:_LONGEST_QUOTE],
            severity="high",
        )


# The files of a feature repeat lines and cells, and a release has the same pages many times.
@lru_cache(maxsize=4096)
def _steering_passage(text: str) -> str:
    """Return the sentences of a text that try to steer, or ""."""
    # The first passage beyond the bound is enough: a file is reported once for each text.
    scale = steering_scale()
    for passage, features in passages_of(text):
        if scale.score(features) > 0 or not features.isdisjoint(scale.certain):
            return passage if "disguise" not in features else " ".join(text.split())
    return ""


def passages_of(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each sentence of a text and each pair of sentences with its features.

    An address and what it asks for may be two sentences. A disguised text is deciphered, too.
    """
    scale = steering_scale()
    # Ciphers are looked for in what the text says, not in what it quotes.
    unquoted = _without_quotations(text)
    for number, plain in enumerate((unquoted, *_deciphered(unquoted))):
        language = language_of(plain)
        sentences = []
        for part in _SENTENCE.split(plain):
            if part and part.strip():
                sentences.append(part)
        passages = sentences + [" ".join(pair) for pair in pairwise(sentences)]
        if 2 < len(sentences) <= _WHOLE:
            passages.append(plain)
        for passage in passages:
            features = scale.features(passage, language, is_disguised=number > 0)
            yield " ".join(passage.split()), features


def _without_quotations(text: str) -> str:
    """Return a text without what its prose quotes: docs and bug reports quote prompts.

    A text that orders something outside of its quotations keeps them.
    """
    if not _QUOTATION.search(text):
        return text
    outside = _QUOTATION.sub("…", text)
    features = speech_of(outside, language_of(outside))
    if any(feature.startswith("order to") for feature in features):
        return text
    return outside


def _deciphered(text: str) -> Iterator[str]:
    """Yield the plain forms of a disguised text; none if it has no disguise."""
    if not text.isascii():
        plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        plain = " ".join(_of_one_script(word) for word in plain.split(" "))
        if plain != text:
            yield plain
    if _DISGUISE.search(text):
        yield _ESCAPED.sub(_escaped_sign, html.unescape(unquote(text)))
    if _SPACED.search(text):
        # Two spaces end a word; they become one after the letters are joined.
        joined = _SPACED_WORD.sub(lambda match: _GAP.sub("", match[0]), text.replace("  ", "\t"))
        yield joined.replace("\t", " ")
    if _DIGIT.search(text) and _DIGITS_IN_WORD.search(text):
        yield _DIGITS_IN_WORD.sub(lambda match: match[0].translate(_DIGIT_LETTERS), text)
    yield from _unpacked(text)
    if len(_TURNED.findall(text)) > 1:
        yield codecs.encode(text, "rot13")
    if len(_REVERSED.findall(text)) > 1:
        yield text[::-1]


def _unpacked(text: str) -> Iterator[str]:
    """Yield what is written in Base64, in hexadecimal numbers, or from right to left."""
    for packed in _PACKED.finditer(text):
        try:
            data = base64.b64decode(packed[0] + "=" * (-len(packed[0]) % 4))
        except (binascii.Error, ValueError):
            continue
        if data.isascii():
            yield decode_text(data)
    for packed in _HEX.finditer(text):
        data = bytes.fromhex("".join(filter(str.isalnum, packed[0])))
        if data.isascii() and data.decode("ascii").isprintable():
            yield data.decode("ascii")
    if _TURNED_ROUND in text:
        before, _, behind = text.partition(_TURNED_ROUND)
        yield before + _INVISIBLE.sub("", behind)[::-1]


def _escaped_sign(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))


def _of_one_script(word: str) -> str:
    """Return a word that mixes scripts with Latin letters throughout; other words as they are."""
    has_latin = any(sign.isascii() and sign.isalpha() for sign in word)
    return word.translate(_LOOKALIKES) if has_latin else word


def found_in_text(text: str, locator: str) -> Iterator[Remark]:
    """Yield attempts to steer the reader, and claims that something is waived."""
    yield from steering_in_text(text, locator)
    vocabulary = words()
    lower = text.lower()
    if len(text) < 12 or not any(word in lower for word in vocabulary.triggers.waivers):
        return
    if match := vocabulary.waiver_claims.search(text):
        quote = sentence(text, match.start())
        yield Remark(
            kind="waiver_claim", text="the data claims a waiver", locator=locator, quote=quote
        )
