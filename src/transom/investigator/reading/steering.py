"""Finds text that tries to steer a model that reads it, by what such text is made of.

No single word is a sign: `ignore`, `ready` and `system` stand in honest texts, too. A text is
reported for a combination of features: an imperative, an address to a model, instructions as its
object, a verdict, the output of the reader, a role label or a tag of a conversation, a forged
verdict or waiver, the name of a tool. Disguised text is deciphered first, and is reported if the
plain form has such a combination.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict

from transom.formats.measurements import Remark
from transom.formats.text_files import decode_text
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml

_FILE: Final = Path(__file__).parent / "steering.yaml"
_SHORTEST: Final = 8
_MOST_TEXT: Final = 4000
_LONGEST_QUOTE: Final = 240
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_PACKED: Final = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_SPACED: Final = re.compile(r"\b(?:[^\W\d][ .\-_]){4,}[^\W\d]\b")
_DIGITS_IN_WORD: Final = re.compile(
    r"\b(?=[0135]*+[A-Za-z])(?=[A-Za-z]*+[0135])[A-Za-z0135]{5,}+\b"
)
_DIGIT: Final = re.compile(r"\d")
_TURNED: Final = codecs.encode("instruction", "rot13")
_DIGIT_LETTERS: Final = str.maketrans("0135", "oies")
_DISGUISE: Final = re.compile(r"%[0-9a-fA-F]{2}|&#?\w+;|\\[ux][0-9a-fA-F]")
# Letters of other scripts that look like Latin ones.
_LOOKALIKES: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅαονρτυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijshdqwABEKMHOPCTYXIJSaovptukABEZHIKMNOPTYX",
)


class SteeringWords(BaseModel):
    """The features, each as regular expressions; they ignore the case.

    Attributes:
        imperatives: verbs in the imperative; they count where a clause begins.
        anywhere: imperatives of scripts without spaces.
        hints: beginnings of words of which one stands in every text that steers, or one of the
            `marks` does; they are tried first, since most lines have none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hints: list[str]
    marks: list[str]
    imperatives: list[str]
    anywhere: list[str]
    suppositions: list[str]
    addresses: list[str]
    instructions: list[str]
    verdicts: list[str]
    outputs: list[str]
    roles: list[str]
    concessions: list[str]
    obligations: list[str]
    labels: list[str]
    tags: list[str]
    forgeries: list[str]
    tools: list[str]

    @cached_property
    def hint(self) -> re.Pattern[str]:
        """One expression for all hints, for texts in lower case."""
        marks = "|".join(map(re.escape, self.marks))
        return re.compile(rf"(?<!\w)(?:{'|'.join(self.hints)})|{marks.lower()}")

    @cached_property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """One compiled expression for each feature."""
        begin = (
            r"(?:^|[.!?,;:–—>)\]]\s*|\b(?:please|must|should|will|and|then|now|just|only|bitte|und"
            r"|muss|should not|et|y|e|и|veuillez|por favor|per favore|пожалуйста)\s+)\W{0,3}"
        )
        named = {
            "imperative": f"{begin}(?:{'|'.join(self.imperatives)})|{'|'.join(self.anywhere)}",
            "supposition": f"{begin}(?:{'|'.join(self.suppositions)})",
            "address": "|".join(self.addresses),
            "instruction": "|".join(self.instructions),
            "verdict": "|".join(self.verdicts),
            "output": "|".join(self.outputs),
            "role": "|".join(self.roles),
            "obligation": "|".join(self.obligations),
            "concession": "|".join(self.concessions),
            "label": rf"(?:^|\n|>)\W{{0,8}}(?:{'|'.join(self.labels)})\s*[:>\]]",
            "tag": "|".join(self.tags),
            "forgery": "|".join(self.forgeries),
            "tool": "|".join(self.tools),
        }
        return {
            name: re.compile(pattern, re.IGNORECASE | re.MULTILINE)
            for name, pattern in named.items()
        }

    @cached_property
    def objects(self) -> re.Pattern[str]:
        """One expression for all features of which each sign has one."""
        names = [name for name in self.patterns if name not in ("imperative", "supposition")]
        union = "|".join(f"(?:{self.patterns[name].pattern})" for name in names)
        return re.compile(union, re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=1)
def steering_words() -> SteeringWords:
    """Return the shipped features."""
    return validate_yaml(SteeringWords, load_yaml(_FILE))


# One of these alone, or all of one of these together, is an attempt to steer.
_SIGNS: Final[tuple[frozenset[str], ...]] = (
    frozenset({"tag"}),
    frozenset({"forgery"}),
    frozenset({"tool"}),
    frozenset({"role"}),
    frozenset({"label", "verdict"}),
    frozenset({"label", "imperative"}),
    frozenset({"imperative", "instruction"}),
    frozenset({"imperative", "address"}),
    frozenset({"supposition", "address"}),
    frozenset({"imperative", "output"}),
    frozenset({"supposition", "output"}),
    frozenset({"output", "verdict"}),
    frozenset({"address", "verdict"}),
    frozenset({"supposition", "verdict"}),
    frozenset({"supposition", "concession"}),
    frozenset({"label", "instruction"}),
    frozenset({"output", "obligation"}),
    frozenset({"address", "obligation"}),
)


def steering_in_text(text: str, locator: str) -> Iterator[Remark]:
    """Yield a remark if a text tries to steer its reader."""
    if len(text) < _SHORTEST:
        return
    shown = text[:_MOST_TEXT]
    for plain in (shown, *_deciphered(shown)):
        found = _steering_passage(plain)
        if found:
            quote = found if plain is shown else _passage(shown)
            yield Remark(
                kind="injection",
                text="text that addresses the reader",
                locator=locator,
                quote=quote[:_LONGEST_QUOTE],
                severity="high",
            )
            return


# The files of a feature repeat lines and cells, and a release has the same pages many times.
@lru_cache(maxsize=4096)
def _steering_passage(text: str) -> str:
    """Return the sentences of a text that try to steer, or ""."""
    words = steering_words()
    if not words.hint.search(text.lower()) or not words.objects.search(text):
        return ""
    sentences = [part for part in _SENTENCE.split(text) if part and part.strip()]
    for number, sentence in enumerate(sentences):
        # An address and what it asks for may be two sentences.
        for passage in (sentence, " ".join(sentences[number : number + 2])):
            features = {name for name, find in words.patterns.items() if find.search(passage)}
            if any(sign <= features for sign in _SIGNS):
                return " ".join(passage.split())
    return ""


def _passage(text: str) -> str:
    return " ".join(text.split())


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
        yield _SPACED.sub(lambda match: re.sub(r"[ .\-_]", "", match[0]), text.replace("  ", "\n"))
    if _DIGIT.search(text) and _DIGITS_IN_WORD.search(text):
        yield _DIGITS_IN_WORD.sub(lambda match: match[0].translate(_DIGIT_LETTERS), text)
    for packed in _PACKED.finditer(text):
        try:
            data = base64.b64decode(packed[0] + "=" * (-len(packed[0]) % 4))
        except (binascii.Error, ValueError):
            continue
        if data.isascii():
            yield decode_text(data)
    if _TURNED in text.lower():
        yield codecs.encode(text, "rot13")


def _escaped_sign(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))


def _of_one_script(word: str) -> str:
    """Return a word that mixes scripts with Latin letters throughout; other words as they are."""
    has_latin = any(sign.isascii() and sign.isalpha() for sign in word)
    return word.translate(_LOOKALIKES) if has_latin else word
