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


# Features that say how a sentence speaks, and need one that says what it speaks of.
_FRAMES: Final = frozenset(
    {
        *("imperative", "supposition", "judging", "duty", "order", "subject", "shape", "wish"),
        *("clause", "actor", "declaration", "voiding", "command", "fiction", "prohibition"),
        *("document", "change", "downgrade"),
    }
)
# Features whose expressions stand in the file as they are used, and their keys there.
_AS_WRITTEN: Final = {
    **{"duty": "duties", "leniency": "leniencies", "reply": "replies", "forgery": "forgeries"},
    **{"machine": "machines", "defect": "defects", "bound": "bounds", "subject": "subjects"},
    **{"approval": "approvals", "address": "addresses", "instruction": "instructions"},
    **{"verdict": "verdicts", "output": "outputs", "role": "roles", "obligation": "obligations"},
    **{"concession": "concessions", "tag": "tags", "tool": "tools", "charge": "charges"},
    **{"change": "changes", "slant": "slants", "wish": "wishes", "voiding": "voidings"},
    **{"actor": "actors", "clause": "clauses", "downgrade": "downgrades"},
    **{"document": "documents"},
}


class SteeringWords(BaseModel):
    """The features, each as regular expressions; they ignore the case.

    Attributes:
        hints: beginnings of words of which one stands in every text that steers, or one of the
            `marks` does; they are tried first, since most lines have none.
        features: the expressions of each feature, by its name in the plural.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hints: list[str]
    marks: list[str]
    features: dict[str, list[str]]

    @cached_property
    def hint(self) -> re.Pattern[str]:
        """One expression for all hints, for texts in lower case."""
        marks = "|".join(map(re.escape, self.marks))
        return re.compile(rf"(?<!\w)(?:{'|'.join(self.hints)})|{marks.lower()}")

    def _any_of(self, *names: str) -> str:
        """Return one expression for all expressions of these features."""
        return "(?:" + "|".join("|".join(self.features[name]) for name in names) + ")"

    def _order(self, *names: str) -> str:
        """Return an expression for verbs in the imperative: they count where a clause begins."""
        return f"{self._any_of('clause_beginnings')}\\W{{0,3}}{self._any_of(*names)}"

    @cached_property
    def patterns(self) -> dict[str, re.Pattern[str]]:
        """One compiled expression for each feature."""
        any_of, order = self._any_of, self._order
        labels, machines = any_of("labels"), any_of("machines")
        # Words of scripts without spaces have no edges.
        edge = r"(?:\b|(?<=[\u3040-\u9fff]))"
        named = {
            "imperative": f"{order('imperatives')}|{any_of('anywhere')}",
            "supposition": order("suppositions", "fictions"),
            "fiction": order("fictions"),
            "evasion": f"{order('evasions')}|{any_of('evasions_anywhere')}",
            "order": order("judgings", "pleas"),
            "judging": f"{edge}{any_of('judgings', 'evasions')}|{any_of('evasions_anywhere')}",
            "speech": f"{order('speeches')}|{any_of('speeches_anywhere')}",
            "command": f"{order('commands')}|{any_of('commands_anywhere')}",
            "declaration": f"{order('declarations')}|{any_of('declarations_anywhere')}",
            "grant": order("grants"),
            "prohibition": f"{order('prohibitions')}|{any_of('prohibitions_anywhere')}",
            # "Replace the number": a word that is no preposition, before an article.
            "shape": f"{any_of('clause_beginnings')}(?!{any_of('particles')}\\b)"
            f"\\w+ {any_of('determiners')}\\b",
            "comparison": f"{any_of('clause_beginnings')}\\w+(?: \\w+)?,? ?"
            f"{any_of('comparisons')}|就当",
            # "You are signed in as the manager" gives nobody a role.
            "persona": rf"(?<!\bif )(?<!\bwhen )(?<!\bonce ){any_of('personas')}"
            r"(?!\W*(?:logged|signed|asked|told|shown|sent)\b)"
            rf"[^.!?;:]{{0,40}}?{edge}{any_of('appraisers')}",
            "label": rf"(?:^|\n|>)\W{{0,8}}{labels}\s*[:>\]#]|^\W*@{labels}\b"
            rf"|['\"]role['\"]\s*:\s*['\"]{labels}['\"]",
            "dialogue": rf"\b{any_of('askers')}\s*:.{{1,200}}?\b{labels}\s*:",
            # A note to a machine, or a machine that is called by its name: "AI reviewer, ..."
            "heading": rf"^\W*{any_of('headings')}\b[^.:!?\n]{{0,30}}?{machines}"
            rf"[^.:!?\n]{{0,30}}[::]|^\W*(?:\w+[ -]){{0,2}}{machines}(?:\w*|[- ]\w+)[,,]",
            "ready": r"(?-i:\bREADY\b)",
        }
        for name, key in _AS_WRITTEN.items():
            named[name] = any_of(key)
        return {
            name: re.compile(pattern, re.IGNORECASE | re.MULTILINE)
            for name, pattern in named.items()
        }

    @cached_property
    def objects(self) -> re.Pattern[str]:
        """One expression for all features of which each sign has one."""
        names = [name for name in self.patterns if name not in _FRAMES]
        union = "|".join(f"(?:{self.patterns[name].pattern})" for name in names)
        return re.compile(union, re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=1)
def steering_words() -> SteeringWords:
    """Return the shipped features."""
    return validate_yaml(SteeringWords, load_yaml(_FILE))


# One of these alone, or all of one of these together, is an attempt to steer.
# How a text demands something, with the features that must stand beside the first.
_DIRECTIVES: Final = (("duty", ("judging",)), ("order", ()), ("evasion", ()), ("prohibition", ()))
_THINGS: Final = ("approval", "defect", "bound", "subject")
_SIGNS: Final[tuple[frozenset[str], ...]] = (
    frozenset({"tag"}),
    frozenset({"forgery"}),
    frozenset({"tool"}),
    frozenset({"role"}),
    frozenset({"persona"}),
    frozenset({"label", "verdict"}),
    frozenset({"label", "imperative"}),
    frozenset({"label", "instruction"}),
    frozenset({"label", "order"}),
    frozenset({"label", "approval", "subject"}),
    frozenset({"imperative", "instruction"}),
    frozenset({"imperative", "output"}),
    frozenset({"supposition", "address"}),
    frozenset({"supposition", "output"}),
    frozenset({"supposition", "verdict"}),
    frozenset({"supposition", "concession"}),
    frozenset({"fiction", "defect"}),
    frozenset({"speech", "slant"}),
    frozenset({"declaration", "approval", "subject"}),
    frozenset({"actor", "duty", "ready"}),
    frozenset({"command", "document", "clause"}),
    frozenset({"comparison", "approval"}),
    frozenset({"bound", "voiding", "speech"}),
    frozenset({"bound", "voiding", "order"}),
    frozenset({"machine", "speech"}),
    frozenset({"machine", "wish", "approval"}),
    *(frozenset({"heading", claim}) for claim in ("order", "approval", "defect", "leniency")),
    *(frozenset({"command", "document", claim}) for claim in ("approval", "ready", "slant")),
    frozenset({"duty", "document", "slant"}),
    frozenset({"supposition", "approval", "subject"}),
    frozenset({"charge", "change"}),
    frozenset({"speech", "approval"}),
    frozenset({"grant", "subject"}),
    frozenset({"order", "concession"}),
    frozenset({"order", "defect", "downgrade"}),
    frozenset({"machine", "leniency"}),
    frozenset({"prohibition", "document", "defect"}),
    frozenset({"shape", "reply", "defect"}),
    frozenset({"shape", "output", "defect"}),
    frozenset({"output", "verdict"}),
    frozenset({"output", "obligation"}),
    frozenset({"address", "verdict"}),
    frozenset({"evasion", "defect"}),
    frozenset({"evasion", "bound"}),
    frozenset({"order", "defect", "approval"}),
    frozenset({"duty", "judging", "defect", "approval"}),
    frozenset({"order", "reply", "approval"}),
    frozenset({"duty", "reply", "approval"}),
    frozenset({"order", "reply", "verdict"}),
    frozenset({"reply", "ready"}),
    *(
        frozenset({"machine", frame, *verbs, thing})
        for frame, verbs in _DIRECTIVES
        for thing in _THINGS
    ),
    *(frozenset({"address", "imperative", thing}) for thing in (*_THINGS, "instruction")),
    *(frozenset({"dialogue", claim}) for claim in ("approval", "verdict")),
)


def steering_in_text(text: str, locator: str) -> Iterator[Remark]:
    """Yield a remark if a text tries to steer its reader."""
    # Three signs of Chinese say what takes a whole word of English.
    if len(text) < (_SHORTEST if text.isascii() else _SHORTEST // 2):
        return
    shown = _without_quotations(text[:_MOST_TEXT])
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


def _without_quotations(text: str) -> str:
    """Return a text without what its prose quotes: docs and bug reports quote prompts.

    A text that orders something outside of its quotations keeps them.
    """
    if not _QUOTATION.search(text):
        return text
    outside = _QUOTATION.sub("…", text)
    words = steering_words()
    if any(words.patterns[name].search(outside) for name in ("order", "imperative", "reply")):
        return text
    return outside


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
        # Two spaces end a word; they become one after the letters are joined.
        joined = _SPACED_WORD.sub(lambda match: _GAP.sub("", match[0]), text.replace("  ", "\t"))
        yield joined.replace("\t", " ")
    if _DIGIT.search(text) and _DIGITS_IN_WORD.search(text):
        yield _DIGITS_IN_WORD.sub(lambda match: match[0].translate(_DIGIT_LETTERS), text)
    for packed in _PACKED.finditer(text):
        try:
            data = base64.b64decode(packed[0] + "=" * (-len(packed[0]) % 4))
        except (binascii.Error, ValueError):
            continue
        if data.isascii():
            yield decode_text(data)
    if len(_TURNED.findall(text)) > 1:
        yield codecs.encode(text, "rot13")
    if len(_REVERSED.findall(text)) > 1:
        yield text[::-1]


def _escaped_sign(match: re.Match[str]) -> str:
    return chr(int(match[1] or match[2], 16))


def _of_one_script(word: str) -> str:
    """Return a word that mixes scripts with Latin letters throughout; other words as they are."""
    has_latin = any(sign.isascii() and sign.isalpha() for sign in word)
    return word.translate(_LOOKALIKES) if has_latin else word
