"""Sentences that say which text must not appear in a log, and the texts that they name.

    read_absence('No line of the log contains "latch inferred".')
        -> texts ("latch inferred",)
    read_absence("None of the listed messages appears in the synthesis log.")
        -> the item's list, and "synthesis", which the log must be of

A quoted text is taken literally. A text without quotes is a guess, which a person has to confirm.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from transom.checklist.atoms import AnyOf
from transom.checklist.patterns import REGEX, parts

TEXT_SEPARATOR: Final = "\n"
"""Between several texts of one parameter; no line holds it."""

_QUOTES: Final = re.compile(
    r'"(?P<double>[^"]+)"|`(?P<back>[^`]+)`|“(?P<curly>[^”]+)”|‘(?P<single>[^’]+)’'
    r"|(?<!\w)'(?P<plain>[^']+)'(?!\w)"
)
_PLACEHOLDER: Final = "<text>"
_LIST: Final = re.compile(
    r"\b(?:any of )?(?:the|these|those) (?:(?:listed|forbidden|following|banned) )?"
    r"(?:forbidden |banned |listed )?(?:messages|texts|patterns|lines|words|strings|phrases)\b"
    r"|\ba (?:listed|forbidden|banned) (?:message|text|pattern|line|word|string|phrase)\b"
)
# Characters with which a person may mean a pattern instead of the text itself.
_LIKE_PATTERN: Final = re.compile(r"[*?\\^$|]|\.\.\.|^regex:")
_TWO_LETTERS: Final = re.compile(r"[^\W_].*[^\W_]")
_NOUNS: Final = r"(?:messages?|lines?|entry|entries|texts?|strings?|occurrences?)"
_LOG: Final = (
    r"(?:the |its |each |any |every )?(?P<step>(?:[\w+-]{1,20} ){0,4})"
    r"(?:log ?files?|logs?|transcript|run output)"
)
_IN_LOG: Final = rf"(?: (?:in|of|from) {_LOG})?"
_CONTAINS: Final = r"(?:contains?|has|have|shows?|holds?|prints?|includes?|matches)"
_NOT: Final = r"(?:does|do|must|should|shall|may|can) ?not"
_FORMS: Final = tuple(
    re.compile(form)
    for form in (
        rf"no line{_IN_LOG} {_CONTAINS} <text>",
        rf"{_LOG} {_CONTAINS} (?:no|none of) <text>(?: {_NOUNS})?",
        rf"{_LOG} {_NOT} {_CONTAINS} (?:any )?<text>(?: {_NOUNS})?",
        rf"{_LOG} (?:is|are|must be|should be) free (?:of|from) <text>(?: {_NOUNS})?",
        rf"there (?:is|are|must be|should be) no <text>(?: {_NOUNS})?{_IN_LOG}",
        rf"(?:no|none of) <text>(?: {_NOUNS})? (?:appears?|occurs?|is|are)"
        rf"(?: (?:printed|present|reported|found))?{_IN_LOG}",
        rf"<text>(?: {_NOUNS})? {_NOT} (?:appear|occur|be present)"
        rf"{_IN_LOG}",
        rf"no <text> {_NOUNS}{_IN_LOG}",
    )
)
_UNQUOTED: Final = re.compile(
    r"\bno (?P<text>[a-z][\w -]{3,60}?) (?:messages?|lines?|entries|warnings?|infos?|notes?)\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\b(?:no|none|never|neither|free (?:of|from)|not|cannot|without)\b", re.IGNORECASE
)
_LACKING: Final = re.compile(
    r"\b(?:lacks?|lacking|miss(?:es|ing)?|omits?|other than|except)\b", re.I
)


@dataclass(frozen=True)
class TextAbsence:
    """What must not appear.

    Attributes:
        texts: the texts; none if the item lists them.
        step: the step of the flow that the sentence names as the log's, or "".
        words: the words of the sentence that name the texts.
    """

    texts: tuple[str, ...]
    step: str = ""
    words: tuple[str, ...] = ()


def read_absence(
    sentence: str, *, has_patterns: bool, listed: Collection[str] = ()
) -> TextAbsence | None:
    """Return what a sentence says must not appear, or None if it says anything else.

    Args:
        sentence: one sentence, without its opening and its final stop.
        has_patterns: whether the item lists the texts; then the sentence must speak of the list, or
            quote texts of it.
        listed: the texts that the item lists.
    """
    texts, words, plain = _quoted(sentence)
    plain = plain.lower()
    if not texts and not has_patterns:
        return None
    if has_patterns and not texts:
        plain = _LIST.sub(_PLACEHOLDER, plain, count=1)
    elif has_patterns and not set(texts) <= set(listed):
        return None
    for form in _FORMS:
        match = form.fullmatch(plain)
        if match is not None:
            step = (match.groupdict().get("step") or "").strip()
            return TextAbsence(texts, step, words)
    return None


def is_denied_once(sentence: str) -> bool:
    """Return whether a sentence denies something, and does not deny that it is missing."""
    plain = _quoted(sentence)[2]
    return len(_DENIED.findall(plain)) == 1 and _LACKING.search(plain) is None


def guess_absence(sentence: str) -> TextAbsence | None:
    """Return which text may not appear, for a person to confirm; None if nothing is denied once."""
    texts, words, plain = _quoted(sentence)
    if not is_denied_once(sentence):
        return None
    if texts:
        return TextAbsence(texts, words=words)
    match = _UNQUOTED.search(plain)
    if match is None or not _is_plain_text(match["text"]):
        return None
    return TextAbsence((match["text"],), words=(match["text"],))


def texts_of_parameter(parameter: str) -> tuple[str, ...]:
    """Return the texts of the parameter `text` of a claim."""
    return tuple(text for text in parameter.split(TEXT_SEPARATOR) if text.strip())


def texts_of_patterns(patterns: tuple[str | AnyOf, ...]) -> tuple[str, ...] | None:
    """Return the plain texts that an item lists, or None if one of them is an expression."""
    texts = list[str]()
    for pattern in patterns:
        for part in parts(pattern):
            # As the checker compares them: alternatives are literal, other signs are wildcards.
            if part.startswith(REGEX) or ("|" not in part and re.search(r"[*?]", part)):
                return None
            texts += [segment for segment in part.split("|") if segment.strip()]
    return tuple(texts)


def _quoted(sentence: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the quoted texts, the words that hold them, and the sentence with a placeholder.

    Nothing is quoted if a text is too short, or may be meant as a pattern.
    """
    texts, words = list[str](), list[str]()
    for match in _QUOTES.finditer(sentence):
        texts.append(" ".join(next(filter(None, match.groups())).split()))
        words.append(match[0])
    if not texts or not all(map(_is_plain_text, texts)):
        return (), (), sentence
    plain = _QUOTES.sub(_PLACEHOLDER, sentence)
    # "neither <text> nor <text>", "<text>, <text> or <text>"
    plain = re.sub(rf"\bneither (?={_PLACEHOLDER})", "no ", plain, flags=re.IGNORECASE)
    several = rf"{_PLACEHOLDER}(?:(?:,| or| nor|, or|, nor) {_PLACEHOLDER})+"
    plain = re.sub(several, _PLACEHOLDER, plain, flags=re.IGNORECASE)
    described_text = (
        rf"(?:the |any |an? )?(?:text|string|word|words|phrase|message|pattern) {_PLACEHOLDER}"
    )
    plain = re.sub(described_text, _PLACEHOLDER, plain, flags=re.IGNORECASE)
    return tuple(texts), tuple(words), plain


def _is_plain_text(text: str) -> bool:
    """Return whether a text can be looked for as it is."""
    return _LIKE_PATTERN.search(text) is None and _TWO_LETTERS.search(text) is not None
