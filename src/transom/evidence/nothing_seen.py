"""Find counts of zero of what a check looks at, since good news about nothing proves nothing.

finder = shipped_nothing_finder()
finder.find("Checked 0 nets.")                -> "Checked 0 nets"
finder.find("SPEF nets matched : 0 of 318")   -> "SPEF nets matched : 0 of 318"
finder.find("0 of 318 nets failed")           -> "": good news
finder.find("0 floating nets checked")        -> "": another noun is no such count
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from transom.evidence.vocabulary import LookedAt, shipped_vocabulary

# "0 nets annotated by hand" leaves those that the tool annotated.
_NOT_NARROWED = r"\b(?! (?:by|with|without|as)\b)"
_NUMBER_BEGINS = r"(?<![\w.,:/-])"
_WHOLE = r"(?: ?/ ?| of (?:the )?| out of (?:the )?)\d[\d,]{0,15}"
_SHARE = r"(?: ?[=(,]? ?0(?:\.0{1,9})? ?%\)?)"
_NO_PERCENT = r"0(?:\.0{1,9})? ?%"
# What stands between a label and its number: a sign, leader dots, a tab, or columns.
_SIGN = r"(?:\s{0,80}[:=|]\s{0,80}| ?\.{2,80} ?:? ?| ?\t\s{0,20}| {2,80})"
# A label begins a line, a field of a table or a clause, or stands behind "Number of".
_BEGIN = r"(?:^[\W_]*|[\]()|,;:.=>] ?|  |\b(?:of|the) )"
_END = r"\s*(?:$|[|;)\]]|[,.](?:\s|$))"
_ZERO_WORD = re.compile(r"(?<![\w.])(?:0|no|zero|none|nil|nothing)(?!\w)", re.IGNORECASE)


class NothingFinder:
    """Finds counts of zero of what a check looks at.

    Args:
        words: the nouns and the verbs of such counts.

    Attributes:
        signals: words in lower case of which each line with such a count has one.
        patterns: an expression for each layout.
    """

    def __init__(self, words: LookedAt) -> None:
        participles = [*words.verbs.values()]
        forms = [form for verb, past in words.verbs.items() for form in _forms(verb, past)]
        self.signals = tuple(sorted({*forms, *words.results, "coverage"}))
        before = _one_of(words.before)
        nouns = _one_of(form for noun in words.nouns for form in (noun, _plural(noun)))
        noun_phrase = rf"(?:{before} ){{0,2}}{nouns}(?:\(s\))?"
        plural_phrase = rf"(?:{before} ){{0,2}}{_one_of(_plural(noun) for noun in words.nouns)}"
        participle = _one_of(participles)
        result = _one_of([*participles, *words.results])
        were = r"(?:(?:were|was|are|is|have been) )?"
        no_things = r"(?:0|no|zero|none of) (?:of (?:the )?)?(?:the )?(?:\d{1,12} )?"
        result_labels = rf"(?:{noun_phrase} {result}|{result} {noun_phrase})"
        covered = (
            rf"(?:(?:{noun_phrase}|annotation|check|rule|constraint|comparison) ){{1,2}}coverage"
        )
        no_share = rf"0(?:{_WHOLE}{_SHARE}?|(?:\.0{{1,9}})? ?%)"
        layouts = [
            # 0 nets were annotated; none of the 318 endpoints checked
            rf"{_NUMBER_BEGINS}{no_things}{noun_phrase} {were}{participle}{_NOT_NARROWED}",
            # 0 of 318 nets matched; 0/318 nets matched
            rf"{_NUMBER_BEGINS}0{_WHOLE} {noun_phrase} {were}{result}{_NOT_NARROWED}",
            # 0 nets matched, where nothing follows that narrows it
            rf"{_NUMBER_BEGINS}{no_things}{noun_phrase} {were}{result}{_END}",
            # Verifying 0 nets
            rf"\b{_one_of(forms)} (?:only )?(?:0{_SHARE}?|zero) {noun_phrase}{_NOT_NARROWED}",
            # Annotated 0.00% of nets
            rf"\b{_one_of(forms)} {_NO_PERCENT} of (?:the |all )?{noun_phrase}{_NOT_NARROWED}",
            # nothing was checked
            rf"\bnothing (?:was|is|has been) {participle}{_END}",
            # Compared 0 of 318 nets
            rf"\b{_one_of([*forms, *words.results])} 0{_WHOLE} {noun_phrase}{_NOT_NARROWED}",
            # Nets annotated: 0
            rf"{_BEGIN}{result_labels}{_SIGN}"
            rf"(?:{_NO_PERCENT}|(?:0|none|no|nil|zero){_SHARE}?){_END}",
            # Checked: none
            rf"{_BEGIN}{participle}{_SIGN}(?:none|nothing|nil|zero){_END}",
            # nets: annotated=0 total=318
            rf"{_BEGIN}{noun_phrase}:? {participle} ?[=:] ?0(?=\s|$)",
            # Annotated nets 0; "checked window 0" is the name of one
            rf"{_BEGIN}{participle} {plural_phrase} 0{_SHARE}?{_END}",
            # Nets matched 0
            rf"{_BEGIN}{plural_phrase} {result} 0{_SHARE}?{_END}",
            # Compared: 0 devices
            rf"{_BEGIN}{participle}{_SIGN}(?:0|none|no|zero) {noun_phrase}{_END}",
            # Matched nets: 0 of 318
            rf"{_BEGIN}{result_labels}(?:{_SIGN}| )0{_WHOLE}{_SHARE}?{_END}",
            # Annotated: 0 of 318 nets
            rf"{_BEGIN}{result}{_SIGN}0{_WHOLE} {noun_phrase}{_END}",
            # Nets: 318 total, 0 annotated
            rf"{_BEGIN}{noun_phrase}{_SIGN}(?:\d[\d,]{{0,15}} (?:in )?(?:all|total), )?0"
            rf" {participle}{_END}",
            # Annotation coverage: 0/318 = 0%
            rf"(?:{covered}|coverage of {noun_phrase}){_SIGN}{no_share}{_END}",
        ]
        self.patterns = tuple(re.compile(layout, re.IGNORECASE) for layout in layouts)

    @staticmethod
    def may_be_in(line: str) -> bool:
        """Return whether a line has a zero, or a word for one."""
        return _ZERO_WORD.search(line) is not None

    def find(self, line: str) -> str:
        """Return the words of a line that say that nothing was looked at, or ""."""
        # A key such as `annotated_nets` is read as its words.
        text = line.replace("_", " ")
        for pattern in self.patterns:
            match = pattern.search(text)
            if match is not None:
                return line[match.start() : match.end()].strip()
        return ""


@lru_cache(maxsize=1)
def shipped_nothing_finder() -> NothingFinder:
    """Return the finder with the words of the shipped vocabulary."""
    return NothingFinder(shipped_vocabulary().looked_at)


def _one_of(words: Iterable[str]) -> str:
    """Return an expression for one of some words, the longest first."""
    return f"(?:{'|'.join(sorted(set(words), key=lambda word: (-len(word), word)))})"


def _plural(noun: str) -> str:
    """Return the plural of a noun: nets, properties."""
    return f"{noun[:-1]}ies" if noun.endswith("ty") else f"{noun}s"


def _forms(verb: str, participle: str) -> tuple[str, ...]:
    """Return the forms of a verb in which a log says what it does: check, checked, checking."""
    stem = verb.removesuffix("e")
    if verb in ("run", "scan"):
        stem += "n"
    third = f"{verb[:-1]}ies" if verb.endswith("fy") else f"{verb}s"
    return verb, third, participle, f"{stem}ing"
