"""Checks each sentence of a text against the evidence that it cites.

A sentence cites its evidence: `14 of 212 tests failed [E3][E4].` Each of its numbers must be the
value of a cited entry, in the same unit and of the same quantity, in any notation; each of its
quotations must be there word for word. A sentence that fails is struck.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from transom.evidence.facts import Fact, Source, facts_of

_CITATION = re.compile(r"\[([A-Za-z]+\d+)\]")
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)(?:\s*\[[A-Za-z]+\d+\])*\s+(?=[A-ZÀ-ÖØ-Þ\d\"“'*_(-])|\n+",
    re.MULTILINE,
)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,600})[\"”]|(?<![\w'])'([^'\n]{8,400})'(?!\w)")
_ROUGHLY = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|circa)\s*$|[~≈]\s*$", re.IGNORECASE
)
_ABOVE = re.compile(r"\b(?:over|more than|above|at least)\s*$", re.IGNORECASE)
_UNIT = re.compile(
    r"\s?(?P<unit>%|percent(?:age points)?|per"
    r" cent|ms|milliseconds?|s|secs?|seconds?|min|minutes?|h|hours?|days?|"
    r"[kmg]i?b|(?:requests?|req|transactions?)(?:/s| per"
    r" second)|/s|rps|tps)(?![\w/])|(?P<scale>[kM])(?!\w)",
)
_WORD = re.compile(r"p\d{2,3}\b|[a-z]+", re.IGNORECASE)
_NUMBER_WORDS = {
    word: str(n)
    for n, word in enumerate(
        (
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        ),
        2,
    )
}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_NAMED = re.compile(r"[A-Za-z]\w{0,60}[ -]\d+$")
_SECONDS = {
    "ms": Decimal(1),
    "s": Decimal(1000),
    "min": Decimal(60_000),
    "h": Decimal(3_600_000),
    "d": Decimal(86_400_000),
}
_OF = re.compile(r"(?:\bof|\bout of|/)\s*(?:the\s+)?$", re.IGNORECASE)
_NEAR = 48
_LEAST_NAME = 6
_ROUGH = Decimal("0.05")

# Words for the quantity that is counted or measured. Words of one row exclude each other.
_ROWS = (
    (
        "failed=fail,fails,failing,failed,failure,failures passed=pass,passes,passing,passed"
        " skipped=skipped blocked=blocked executed=executed,ran planned=planned"
        " estimate=estimate,estimated"
    ),
    "critical=critical high=high medium=medium,moderate low=low",
    "line=line,lines,statement,statements branch=branch,branches",
    "average=average,mean,avg p50=median,p50 p90=p90 p95=p95 p99=p99 max=maximum min=minimum",
    "limit=target,limit,threshold,required,requires,goal,allowed",
    (
        "test=test,tests,case,cases,scenario,scenarios vulnerability=vulnerability,vulnerabilities "
        "coverage=coverage,covered latency=latency,response throughput=throughput "
        "issue=defect,defects,bug,bugs,issue,issues stage=stage,stages subtask=subtask,subtasks "
        "criterion=criterion,criteria"
    ),
)
_KINDS: tuple[Mapping[str, str], ...] = tuple(
    {
        word: kind
        for part in row.split()
        for kind, _, words in [part.partition("=")]
        for word in words.split(",")
    }
    for row in _ROWS
)
_SUBJECT = 5


@dataclass(frozen=True)
class Support:
    """An entry that can be cited.

    Attributes:
        value: its number, or None.
        unit: `%`, `ms`, `/s`, `ratio`, or "" for a count.
        about: words of its measure, its keys and its label.
        text: the passage, which quotations and names are checked against.
        name: its name; numbers in it are not claims.
    """

    value: Decimal | None
    unit: str = ""
    about: str = ""
    text: str = ""
    name: str = ""

    @property
    def kinds(self) -> tuple[set[str], ...]:
        return _kinds(f"{self.about} {self.text}")


@dataclass(frozen=True)
class Struck:
    """A sentence without support, and the reason."""

    sentence: str
    why: str


@dataclass(frozen=True)
class CheckedText:
    """A text without its struck sentences, and the ids that it cites."""

    text: str
    struck: tuple[Struck, ...] = ()
    cited: tuple[str, ...] = field(default=())


def check_claims(
    text: str, supports: Mapping[str, Support], *, names: Collection[str] = ()
) -> CheckedText:
    """Check each sentence of a text against its citations.

    Args:
        supports: the entries that can be cited, by id.
        names: texts whose numbers are names, not claims: the question, ids, titles.
    """
    kept: list[str] = []
    struck: list[Struck] = []
    cited: dict[str, None] = {}
    known = sorted({name for name in names if name}, key=len, reverse=True)
    for sentence, gap in sentences_of(text):
        why = _wrong(sentence, supports, known) if sentence.strip() else None
        if why:
            struck.append(Struck(" ".join(sentence.split()), why))
        else:
            kept.append(sentence + gap)
            cited |= dict.fromkeys(one for one in _CITATION.findall(sentence) if one in supports)
    return CheckedText("".join(kept).strip(), tuple(struck), tuple(cited))


def sentences_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence with its citations, and the space behind it."""
    at = 0
    for match in _SENTENCE.finditer(text):
        ids = _CITATION.findall(match[0])
        end = match.start() + (match[0].rindex("]") + 1 if ids else 0)
        yield text[at:end], text[end : match.end()]
        at = match.end()
    yield text[at:], ""


def _wrong(sentence: str, supports: Mapping[str, Support], known: Sequence[str]) -> str | None:
    """Return why a sentence is struck, or None."""
    ids = _CITATION.findall(sentence)
    unknown = [one for one in ids if one not in supports]
    if unknown:
        return f"cites {unknown[0]}, which is not in the ledger"
    cited = [supports[one] for one in ids]
    plain = _CITATION.sub(lambda match: " " * len(match[0]), sentence)
    for name in (*known, *(one.name for one in cited)):
        if len(name) >= _LEAST_NAME:
            plain = re.sub(re.escape(name), " " * len(name), plain, flags=re.IGNORECASE)
    for match in _QUOTED.finditer(plain):
        if not _is_quoted(match[1] or match[2], cited):
            return f"the quotation {match[0]} does not stand in what it cites"
    unquoted = _QUOTED.sub(lambda match: " " * len(match[0]), plain)
    unquoted = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s", lambda match: " " * len(match[0]), unquoted)
    unquoted = _in_digits(unquoted)
    for fact in facts_of(unquoted):
        why = _unsupported(fact, unquoted, cited, "\n".join(known).casefold())
        if why:
            return why
    return None


def _in_digits(text: str) -> str:
    """Replace number words by digits, padded to the same length."""
    return _NUMBER_WORD.sub(
        lambda match: _NUMBER_WORDS[match[0].lower()].rjust(len(match[0])), text
    )


def _is_quoted(quotation: str, cited: Sequence[Support]) -> bool:
    parts = [
        _squeezed(part)
        for part in re.split(r"…|\.\.\.|\[[^\]]{0,200}\]", quotation)
        if part.strip()
    ]
    return any(all(_holds(_squeezed(one.text), part) for part in parts) for one in cited)


def _holds(passage: str, part: str) -> bool:
    """Whether a passage contains these words as whole words."""
    words = part.rstrip(".,;:!?")
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", passage) is not None


def _squeezed(text: str) -> str:
    for fancy, plain in (
        ("’", "'"),
        ("‘", "'"),
        ("\\n", " "),
        ('\\"', ""),
        ("“", ""),
        ("”", ""),
        ('"', ""),
    ):
        text = text.replace(fancy, plain)
    return " ".join(text.split()).casefold()


def _unsupported(fact: Fact, sentence: str, cited: Sequence[Support], known: str) -> str | None:
    if fact.value is None:
        name = fact.text.strip("`")
        if not any(sign.isdigit() for sign in name) or re.fullmatch(
            r"p\d{2,3}", name, re.IGNORECASE
        ):
            return None
        texts = [known, *(f"{one.about} {one.text}".casefold() for one in cited)]
        supported = any(name.casefold() in text for text in texts)
        return None if supported else f"{name} does not stand in what it cites"
    unit = _unit_of(fact, sentence)
    if any(_says(fact, unit, sentence, one) for one in cited):
        return None
    named = _NAMED.search(sentence[: fact.end])  # a name such as `stage 2` in the question
    if named and named[0].casefold() in known:
        return None
    shown = fact.text if fact.text.endswith(unit) else f"{fact.text} {unit}"
    if not cited:
        return f"{shown} has no evidence beside it"
    values = [one for one in cited if one.value is not None and _equal(fact, unit, sentence, one)]
    return (
        f"{shown} is another quantity than what it cites"
        if values
        else f"{shown} is not what it cites"
    )


def _unit_of(fact: Fact, sentence: str) -> str:
    match = _UNIT.match(sentence, fact.end)
    if match is None or match["scale"]:
        return "%" if fact.percent else ""
    unit = match["unit"].lower()
    if fact.percent or unit.startswith(("%", "per")):
        return "%"
    if unit.startswith(("m", "s", "h", "d")) and unit not in ("mb", "mib"):
        short = {"milliseconds": "ms", "millisecond": "ms", "ms": "ms", "m": "min"}.get(unit, unit)
        return short if short == "ms" else "min" if short.startswith("min") else short[0]
    return "/s" if "/s" in unit or "second" in unit or unit in ("rps", "tps") else unit


def _says(fact: Fact, unit: str, sentence: str, one: Support) -> bool:
    return (
        one.value is not None
        and _equal(fact, unit, sentence, one)
        and _same_kind(fact, sentence, one)
    )


def _equal(fact: Fact, unit: str, sentence: str, one: Support) -> bool:
    """Whether it is the same number in the same unit, in any notation."""
    value = _converted(one, unit)
    if value is None or fact.value is None:
        return False
    scale = _UNIT.match(sentence, fact.end)
    if scale is not None and scale["scale"]:
        factor = Decimal(1000 if scale["scale"] == "k" else 1_000_000)
        return _rounds_to(value / factor, fact.value)
    plain = Fact(
        fact.text.rstrip("% "), 0, fact.value, percent=False, either=fact.either, called=fact.called
    )
    if Source(f"{value.normalize():f}").has(plain):
        return True
    before = sentence[: fact.start]
    if _ROUGHLY.search(before) or _ABOVE.search(before):
        near = (
            abs(value - fact.value) <= abs(value) * _ROUGH
            and len(fact.value.normalize().as_tuple().digits) <= 3
        )
        return near and (not _ABOVE.search(before) or value >= fact.value)
    return False


def _rounds_to(value: Decimal, said: Decimal) -> bool:
    exponent = said.as_tuple().exponent
    return isinstance(exponent, int) and round(value, max(0, -exponent)) == said


def _converted(one: Support, unit: str) -> Decimal | None:
    """Return the value in a unit, or None if it cannot be converted."""
    value = one.value
    if value is None:
        return None
    if unit == "%":
        return value if one.unit == "%" else value * 100 if one.unit == "ratio" else None
    if unit in _SECONDS:
        return value * _SECONDS[one.unit] / _SECONDS[unit] if one.unit in _SECONDS else None
    if unit == "/s":
        return value if one.unit in ("/s", "") else None
    if unit:
        return value if one.unit == unit else None
    return value


def _same_kind(fact: Fact, sentence: str, one: Support) -> bool:
    """Whether the words around a number mean the quantity of the evidence."""
    context, whole = _context(fact, sentence)
    kinds = one.kinds
    for place, words in enumerate(_kinds(context)):
        if whole and place != _SUBJECT:
            continue
        if words and not words & kinds[place]:
            return False
    return True


def _context(fact: Fact, sentence: str) -> tuple[str, bool]:
    """Return the words that belong to a number, and whether it is the total of `3 of 5`, which is
    checked less.

    These are the words after it up to the next number or mark; if they name no quantity, also the
    words before it.
    """
    facts = [one for one in facts_of(sentence) if one.value is not None]
    before = max((one.end for one in facts if one.end <= fact.start), default=0)
    following = [one for one in facts if one.start >= fact.end]
    end = following[0].start if following else len(sentence)
    behind = re.split(
        r"[,;:()]|\b(?:and|but|against|while|with|versus|where)\b", sentence[fact.end : end]
    )[0]
    if following and _OF.search(sentence[fact.end : end]):
        rest_end = following[1].start if len(following) > 1 else len(sentence)
        behind += re.split(r"[,;:()]|\b(?:and|but|while)\b", sentence[following[0].end : rest_end])[
            0
        ]
    behind = " ".join(behind.split()[:8])
    whole = _OF.search(sentence[: fact.start]) is not None and bool(
        re.search(r"\d", sentence[: fact.start])
    )
    if any(_kinds(behind)):
        return behind, whole
    start = max(before, fact.start - _NEAR)
    ahead = re.split(
        r"[,;()]|\b(?:and|but|against|while|versus|where)\b", sentence[start : fact.start]
    )
    return f"{ahead[-1]} {behind}", whole


def _kinds(text: str) -> tuple[set[str], ...]:
    words = [word.lower() for word in _WORD.findall(text.replace("_", " "))]
    return tuple({kinds[word] for word in words if word in kinds} for kinds in _KINDS)
