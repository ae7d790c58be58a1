"""Check each sentence of a text against the evidence that it cites.

    checked = check_claims("14 of 212 tests failed [E3][E4].", supports, in_sources=has_fact)
    checked.text        # the sentences that stay
    checked.removed     # contradicted sentences, and those with a number that no source has
    checked.undecided   # sentences that stay, but whose figures nothing that they cite shows

A sentence cites its evidence by ids. It is *supported* if each of its numbers is in a cited entry,
in the same unit and of the same quantity, in any notation, and each of its quotations is there word
for word. It is *contradicted* if a cited entry states another value of that quantity, the same
value of another quantity, or denies what the sentence states. All else is *undecided*: a true
sentence may cite too little. Number words count only before a counted noun, and only if the
sentence cites something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from transom.evidence.claim_days import blank, days_of, without_days
from transom.evidence.claim_numbers import (
    SUPPORTED,
    ClaimJudgement,
    ClaimStatus,
    NumberClaim,
    Support,
    has_unit,
    unit_behind,
)
from transom.evidence.claim_rows import counts_rows, names_in, row_words, rows_of_sentence
from transom.evidence.facts import Fact, facts_of
from transom.evidence.number_words import ENGLISH, NUMBER_WORDS, number_of_word
from transom.evidence.quantities import (
    LIMIT,
    SEVERITY,
    SHARE,
    STATE,
    are_surely_same,
    context_of,
    do_conflict,
    following_stems,
    has_denial,
    kinds_of,
    stems_of,
    with_percentiles,
    words_by_number,
)

__all__ = [
    "CheckedSentence",
    "CheckedText",
    "ClaimStatus",
    "InSources",
    "Relation",
    "Support",
    "check_claims",
    "check_sentence",
    "sentences_of",
]

InSources = Callable[[Fact], bool]
"""Whether any source has a number, an id or, as a fact without a value, a quotation."""

Relation = Callable[[str, Sequence[str], Sequence[str]], str]
"""What a sentence states that no row which it cites, or else no row of its source, shows; or "": a
trend, a cause.
"""

_CITATION = re.compile(r"\[([A-Za-z]+\d+)\]")
# "am 20. Oktober" is no end of a sentence.
_NO_MONTH = r"(?!(?<=\d\.\s)(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)[a-zä]*)"
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)(?:\s*\[[A-Za-z]+\d+\])*\s+"
    rf"{_NO_MONTH}(?=[A-ZÀ-ÖØ-Þ\d\"“'*_(-])|\n+",
    re.MULTILINE,
)
_QUOTED = re.compile(r"[\"“«]\s?([^\"“”«»\n]{2,600})[\"”»]|(?<![\w'])'([^'\n]{8,400})'(?!\w)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
_NUMBER_WORD = re.compile(
    rf"\b(?:due|{'|'.join(word for word in NUMBER_WORDS if word != 'one')}"
    r"|(?<=\bonly )one|(?<=\bjust )one|^\s*one(?= \w))\b",
    re.IGNORECASE,
)
_ZERO_CLAIM = re.compile(
    r"\b(?:no|zero|none of the|without(?: any)?)\s+(?P<claim>[^,.;:()]{3,60})", re.IGNORECASE
)
_NAMED = re.compile(r"[A-Za-z]\w{0,60}[ -]\d+$")
_CLAUSE = re.compile(r"[.;:!?\n,]|\b(?:but|and)\b")
_PARTS = re.compile(
    r"[;,]\s(?:(?:and|but|while|und|aber|et|mais|y|pero|e|ma|en|maar|mas)\s)?"
    r"|\s(?:and|but|while|und|aber|et|mais|y|pero|e|ma|en|maar|mas)\s",
    re.IGNORECASE,
)
# "Release 26.9" is a name, if the source has it.
NAMED_NUMBER = re.compile(
    r"\b(?:release|version|versión|versione|versão|versie|sprint|build|run|lauf|pipeline)\s+#?v?$",
    re.IGNORECASE,
)
_CELL_END = re.compile(r"[|{}\[\]]|\s-\s")
_LEAST_NAME = 6
_LEAST_CLAUSE, _LEAST_SENTENCE = 3, 2
_BEHIND_WORD = 16  # characters in which a unit or a counted noun stands
_MOST_COUNTED = 12
_MOST_STATE = 2  # words of a quoted status
_MANY = 5  # stems of a sentence that may have one more than the clause that denies it
_WHOLE = re.compile(r"[.;:!?\n]")
_ALL = re.compile(
    r"\b(?:all|both|every|each|the whole|the entire|das ganze|gesamte\w?|tout le|toute la|todo el"
    r"|toda la|tutto il|tutta la|none|no|alle[nrs]?|beide[nrs]?|jede[nrs]?|kein\w{0,2}|tous|toutes"
    r"|les deux|aucune?|todos|todas|ambos|ambas|ning[uú]n\w?|tutti|tutte|entrambi|entrambe"
    r"|nessun\w?)\b",
    re.IGNORECASE,
)
# "No" is "not" in Spanish and Italian.
_ROMANCE = re.compile(
    r"\b(?:el|la|los|las|del|de|se|está|han|ha|lo|il|gli|della|di|che|è|sono|más|aún|ancora)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\bno\b", re.IGNORECASE)
_NONE = re.compile(
    r"\b(?:no|none|kein\w{0,2}|aucune?|ning[uú]n\w?|nessun\w?|nenhuma?|geen)\b", re.IGNORECASE
)
_EVERY = re.compile(
    r"\b(?:all|both|every|each|the whole|the entire|das ganze|gesamte\w?|tout le|toute la|todo el"
    r"|toda la|tutto il|tutta la|alle[nrs]?|beide[nrs]?|jede[nrs]?|tous|toutes|les deux|todos|todas"
    r"|ambos|ambas|tutti|tutte|entrambi|entrambe)\b",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}(?![\d,.]))")


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence with the result of its check.

    Attributes:
        status: whether what it cites supports or contradicts it.
        why: what contradicts it, or what nothing shows; "" if nothing is missing.
        is_unsourced: it has a number, an id or a quotation that no source has.
    """

    sentence: str
    status: ClaimStatus
    why: str = ""
    is_unsourced: bool = False

    @property
    def is_removed(self) -> bool:
        """Whether the sentence must not stay."""
        return self.status == "contradicted" or self.is_unsourced


@dataclass(frozen=True)
class CheckedText:
    """A text without the sentences that must not stay.

    Attributes:
        text: the sentences that stay.
        removed: the sentences that do not, with the reason of each.
        undecided: sentences that stay, with what nothing that they cite shows.
        cited: the ids that the remaining sentences cite, in order.
    """

    text: str
    removed: tuple[CheckedSentence, ...] = ()
    undecided: tuple[CheckedSentence, ...] = ()
    cited: tuple[str, ...] = ()


def check_claims(
    text: str,
    supports: Mapping[str, Support],
    *,
    names: Collection[str] = (),
    in_sources: InSources | None = None,
    source: Support | None = None,
    rows: Sequence[str] = (),
    entries: Sequence[str] = (),
    mark: str = "",
    relation: Relation | None = None,
    relation_mark: str = "",
) -> CheckedText:
    """Check each sentence of a text against its citations.

    Args:
        supports: the entries that can be cited, by id.
        names: texts whose numbers are names, not claims: the question, ids, titles.
        in_sources: tells what the sources have; without it a number that nothing shows is only
            undecided.
        source: the one text that all sentences are about. It contradicts sentences that cite
            nothing, and supports none: somewhere in a long text stands nearly any number.
        rows: the rows of that text. A sentence whose figures are all in the one row that has
            most of its words needs no citation.
        entries: the entries on that text as rows, for figures whose unit it does not print.
        mark: words that are put in parentheses behind an undecided sentence.
        relation: tells what else a sentence states that nothing shows.
        relation_mark: words that are put before it behind such a sentence.
    """
    stays = list[str]()
    removed = list[CheckedSentence]()
    undecided = list[CheckedSentence]()
    cited = dict[str, None]()
    for sentence, gap in sentences_of(text):
        checked = check_sentence(
            sentence, supports, names=names, in_sources=in_sources, source=source
        )
        if checked.is_removed:
            removed.append(checked)
            continue
        if checked.status == "undecided" and checked.why and rows:
            own = [supports[key] for key in _CITATION.findall(sentence)]
            if any(is_shown_by_row(sentence, own, table, names) for table in (rows, entries)):
                checked = CheckedSentence(checked.sentence, "undecided")
        if checked.status == "undecided" and checked.why:
            undecided.append(checked)
            sentence = f"{sentence} ({mark})" if mark else sentence
        elif relation is not None and (
            why := relation(
                sentence, [supports[key].whole for key in _CITATION.findall(sentence)], rows
            )
        ):
            undecided.append(CheckedSentence(checked.sentence, "undecided", why))
            sentence = f"{sentence} ({relation_mark}: {why})"
        stays.append(sentence + gap)
        cited |= dict.fromkeys(key for key in _CITATION.findall(sentence) if key in supports)
    return CheckedText("".join(stays).strip(), tuple(removed), tuple(undecided), tuple(cited))


def sentences_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence with its citations, and the space behind it."""
    position = 0
    for match in _SENTENCE.finditer(text):
        # Citations behind the full stop belong to the sentence before it.
        ids = _CITATION.findall(match[0])
        end = match.start() + (match[0].rindex("]") + 1 if ids else 0)
        yield text[position:end], text[end : match.end()]
        position = match.end()
    yield text[position:], ""


def check_sentence(
    sentence: str,
    supports: Mapping[str, Support],
    *,
    names: Collection[str] = (),
    in_sources: InSources | None = None,
    source: Support | None = None,
) -> CheckedSentence:
    """Return whether a sentence holds against what it cites; see `check_claims`."""
    line = " ".join(sentence.split())
    ids = list(dict.fromkeys(_CITATION.findall(sentence)))
    # An entry that nobody was shown supports nothing, whatever the sentence says.
    for key in ids:
        if key not in supports:
            why = f"cites {key}, which is not in the ledger"
            return CheckedSentence(line, "contradicted", why)
    check = _SentenceCheck(sentence, [supports[key] for key in ids], names, in_sources, source)
    judgements = list(check.judgements())
    if source is not None and not ids:
        source_judgements = _SentenceCheck(sentence, [source], names, in_sources).judgements()
        judgements += [
            judgement for judgement in source_judgements if judgement.status == "contradicted"
        ]
    # One contradicted part makes the sentence false, however true its other parts are.
    for judgement in judgements:
        if judgement.status == "contradicted":
            return CheckedSentence(line, "contradicted", judgement.why, judgement.is_unsourced)
    for judgement in sorted(judgements, key=lambda judgement: not judgement.is_unsourced):
        if judgement.status == "undecided":
            return CheckedSentence(line, "undecided", judgement.why, judgement.is_unsourced)
    return CheckedSentence(
        line, *_without_doubt(check.plain, supports, ids, source, bool(judgements))
    )


def _without_doubt(
    sentence: str,
    supports: Mapping[str, Support],
    ids: Sequence[str],
    source: Support | None,
    has_figures: bool,
) -> tuple[ClaimStatus, str]:
    """Return the status of a sentence of which no figure is doubtful, and what it lacks."""
    if has_figures and source is not None and ids:
        # "All 6 people were trained" needs more than the 6.
        passages = " ".join(f"{supports[key].about} {supports[key].whole}" for key in ids)
        if _EVERY.search(sentence) and not _EVERY.search(passages):
            return "undecided", "nothing that it cites is about all of them"
    if has_figures:
        return "supported", ""
    # A sentence without figures and quotations has nothing that could be shown, but one of all,
    # or of an outcome without its entry, says more than anybody checked. In a text on many sources
    # nobody knows which of them would have to show it.
    cited = [supports[key] for key in ids]
    if source is not None and _speaks_of_all(sentence) and not _counts_none(sentence, cited):
        return "undecided", "no entry that it cites is about all of them"
    if source is not None and not ids and kinds_of(sentence)[STATE]:
        return "undecided", "cites nothing for what it states"
    return "undecided", ""


def is_shown_by_row(
    sentence: str, cited: Sequence[Support], rows: Sequence[str], names: Collection[str] = ()
) -> bool:
    """Return whether the row of a source that has most words of a sentence shows its figures.

    The parts of a sentence may be shown by a row each: "the build passed, and e2e was skipped".
    """
    if _is_part_shown(sentence, cited, rows, names):
        return True
    parts = [part for part in _PARTS.split(sentence) if part.strip(" .")]
    is_parted = len(parts) > 1 and all(_has_claim(part) for part in parts)
    return is_parted and all(_is_part_shown(part, cited, rows, names) for part in parts)


def _has_claim(part: str) -> bool:
    """Return whether a part of a sentence has a figure, a name, a quotation or a state."""
    is_quoting = _QUOTED.search(part) is not None
    return is_quoting or bool(kinds_of(part)[STATE]) or any(facts_of(part))


def _is_part_shown(
    sentence: str, cited: Sequence[Support], rows: Sequence[str], names: Collection[str]
) -> bool:
    states = kinds_of(sentence)[STATE]
    if not _EVERY.search(sentence) and counts_rows(sentence, states, rows):
        return True
    # A status in quotation marks is that of what is cited, wherever else it stands.
    if cited and any(len(match[0].split()) <= _MOST_STATE for match in _QUOTED.finditer(sentence)):
        return False
    for row in rows_of_sentence(_CITATION.sub(" ", sentence), rows):
        # '"Renewal" passed' needs the outcome in its row, too, and "all" needs the word: "Export
        # of all clients" is the name of a case.
        every = _EVERY.search(sentence)
        is_of_all = every is not None and every[0].casefold() not in row.casefold()
        if is_of_all or not states <= kinds_of(row)[STATE]:
            continue
        support = Support(None, text=row)
        check = _SentenceCheck(sentence, [*cited, support], names, None, row=support)
        judgements = list(check.judgements())
        is_supported = all(judgement.status == "supported" for judgement in judgements)
        # An outcome without a figure needs the name of what it is the outcome of.
        is_named = bool(states) and bool(names_in(sentence) & row_words(row))
        if is_supported and (judgements or is_named):
            return True
    return False


def _speaks_of_all(sentence: str) -> bool:
    """Return whether a sentence says something of all of a kind, or of none."""
    text = _NOT.sub(" ", sentence) if _ROMANCE.search(sentence) else sentence
    return _ALL.search(text) is not None


def _counts_none(sentence: str, cited: Sequence[Support]) -> bool:
    """Return whether "no critical findings" cites the zero that counts them."""
    if not _NONE.search(sentence):
        return False
    kinds = kinds_of(sentence)
    for support in cited:
        own = support.kinds
        if support.value == 0 and not do_conflict(kinds, own) and any(map(_share, kinds, own)):
            return True
    return False


def _share(words: frozenset[str], kinds: frozenset[str]) -> bool:
    return bool(words & kinds)


class _SentenceCheck:
    """One sentence with the entries that it cites."""

    def __init__(
        self,
        sentence: str,
        cited: Sequence[Support],
        names: Collection[str],
        in_sources: InSources | None,
        source: Support | None = None,
        row: Support | None = None,
    ) -> None:
        self._cited, self._in_sources, self._source = cited, in_sources, source
        self._row = row
        self._known = "\n".join(names).casefold()
        plain = _CITATION.sub(blank, sentence)
        entry_names = [support.name for support in cited]
        for name in sorted({*names, *entry_names}, key=len, reverse=True):
            if len(name) >= _LEAST_NAME:
                plain = re.sub(re.escape(name), blank, plain, flags=re.IGNORECASE)
        self.plain = plain
        unquoted = with_percentiles(_BULLET.sub(blank, _QUOTED.sub(blank, plain)))
        unquoted = _with_points(unquoted)
        shown_texts = [support.whole for support in (*cited, *([source] if source else ()))]
        unquoted = without_days(unquoted, " ".join(shown_texts))
        self._unquoted = self._with_digits(unquoted) if cited else unquoted

    def judgements(self) -> Iterator[ClaimJudgement]:
        """Yield the judgement of each quotation, number, id and denial."""
        for match in _QUOTED.finditer(self.plain):
            yield self._of_quotation(match[0], match[1] or match[2])
        for fact in facts_of(self._unquoted):
            yield self._of_name(fact) if fact.value is None else self._of_number(fact)
        yield from self._of_days()
        yield from self._of_zero_claims()
        yield from self._of_severity()
        if self._is_denied_by_source():
            yield ClaimJudgement("contradicted", "what it cites denies what it states")

    def _with_digits(self, text: str) -> str:
        """Return the text with number words before counted nouns as digits of the same length."""

        def digits(match: re.Match[str]) -> str:
            word = match[0].strip().lower()
            # "Due" is a number in Italian alone.
            if word == "due" and not _ROMANCE.search(text):
                return match[0]
            number = str(number_of_word(word))
            shown = number.rjust(len(match[0]))
            with_digits = f"{text[: match.start()]}{shown}{text[match.end() :]}"
            fact = Fact(number, match.end() - len(number), Decimal(number))
            is_counted = any(context_of(fact, with_digits).kinds) or self._counts_alike(
                fact, with_digits
            )
            # The nouns of other languages are known less well than their number words.
            is_foreign = match[0].lower() not in ENGLISH
            is_counted |= is_foreign and any(
                support.value is not None and not support.unit for support in self._cited
            )
            # "Ten minutes", as the source says it, needs no figure there.
            phrase = " ".join(text[match.start() : match.end() + _BEHIND_WORD].split()[:2])
            if any(phrase.casefold() in support.whole.casefold() for support in self._cited):
                return match[0]
            return shown if is_counted or has_unit(text, match.end()) else match[0]

        return _NUMBER_WORD.sub(digits, text)

    def _counts_alike(self, fact: Fact, text: str) -> bool:
        """Return whether a cited text has another number before the noun of this one."""
        nouns = list(following_stems(fact, text))[:2]
        for support in self._cited:
            # The source may write its numbers as words, too.
            whole = _NUMBER_WORD.sub(
                lambda match: str(number_of_word(match[0].strip())), support.whole
            )
            for words in words_by_number(whole).values():
                if not words.isdisjoint(nouns):
                    return True
        return False

    def _of_quotation(self, quoted: str, quotation: str) -> ClaimJudgement:
        """Return whether a quotation stands in a cited entry, and is not cut out of a denial."""
        # "..." and "[sic]" stand for words that the writer left out.
        parts = list[str]()
        for part in re.split(r"…|\.\.\.|\[[^\]]{0,200}\]", quotation):
            if part.strip():
                parts.append(part)
        squeezed = [_squeezed(part) for part in parts]
        if not squeezed:
            return SUPPORTED
        for support in self._cited:
            # A word or two beside a status are that status, not another word of its row.
            is_state = support.state and len(quotation.split()) <= _MOST_STATE
            passage = _squeezed(support.state if is_state else support.whole)
            if not all(_holds(passage, part) for part in squeezed):
                continue
            # "tests failed", quoted from "no tests failed", says the opposite of its source.
            if not has_denial(self.plain) and _is_cut_from_denial(passage, squeezed[0]):
                return ClaimJudgement(
                    "contradicted", f"the quotation {quoted} is cut out of a denial"
                )
            return SUPPORTED
        why = f"the quotation {quoted} does not stand in what it cites"
        if self._in_sources is None:
            return ClaimJudgement("contradicted" if self._cited else "undecided", why)
        for part in parts:
            if not self._in_sources(Fact(part.strip().rstrip(".,;:!?"), 0)):
                return ClaimJudgement("contradicted", why, is_unsourced=True)
        return ClaimJudgement("undecided", why)

    def _of_name(self, fact: Fact) -> ClaimJudgement:
        """Return whether an id stands in a cited entry."""
        name = fact.text.strip("`")
        is_percentile = re.fullmatch(r"p\d{2,3}", name, re.IGNORECASE)
        if is_percentile or not any(sign.isdigit() for sign in name):
            return SUPPORTED
        # An id may also be one of the names that the question gave.
        texts = [self._known]
        for support in self._cited:
            texts.append(f"{support.about} {support.whole}".casefold())
        if any(name.casefold() in text for text in texts):
            return SUPPORTED
        return self._unshown(fact, f"{name} does not stand in what it cites")

    def _unshown(self, fact: Fact, why: str) -> ClaimJudgement:
        """Return that nothing cited shows a fact, and whether any source has it."""
        if self._in_sources is None or self._in_sources(fact):
            return ClaimJudgement("undecided", why)
        # The source may print the decimal point as a comma.
        with_comma = Fact(fact.text.replace(".", ","), 0)
        is_sourced = "." in fact.text and fact.value is not None and self._in_sources(with_comma)
        return ClaimJudgement("undecided", why, is_unsourced=not is_sourced)

    def _of_number(self, fact: Fact) -> ClaimJudgement:
        """Return whether a number is that of a cited entry, of the same quantity."""
        # "95 % of the requests took up to 480 ms" is how people read a p95.
        percentile = f"p{fact.text.rstrip('% ')}"
        if fact.percent and any(percentile in support.kinds[SHARE] for support in self._cited):
            return SUPPORTED
        # `0000` is a code, not a number.
        if re.fullmatch(r"0\d+", fact.text):
            return self._of_name(fact)
        unit = unit_behind(fact, self._unquoted)
        claim = NumberClaim(fact, unit, self._unquoted, context_of(fact, self._unquoted))
        if self._row is not None:
            return self._by_row(claim, self._row)
        judgement = claim.judge(self._cited)
        if judgement.status != "undecided":
            return judgement
        # A name such as `stage 2` in the question is no figure.
        named = _NAMED.search(self._unquoted[: fact.end])
        if named and named[0].casefold() in self._known:
            return SUPPORTED
        is_listed = self._in_sources is not None and self._in_sources(fact)
        if is_listed and NAMED_NUMBER.search(self._unquoted[: fact.start]):
            return SUPPORTED
        if not self._cited and self._source is None:
            return self._unshown(fact, f"{claim.shown} has no evidence beside it")
        if claim.is_exactly_of(self._cited) or self._is_count(claim):
            return SUPPORTED
        return judgement if self._may_follow(claim) else self._unshown(fact, judgement.why)

    def _by_row(self, claim: NumberClaim, row: Support) -> ClaimJudgement:
        """Return whether a row of the source, or the entries beside it, show a number."""
        # "More than 101 ms" is no word on a row that has 101 ms itself.
        if claim.is_bound and not claim.context.kinds[LIMIT]:
            return ClaimJudgement("undecided", f"{claim.shown} is a bound")
        # A row shows no other value than the one that the sentence cites.
        if claim.leaves_out(self._cited[:-1]):
            return ClaimJudgement("undecided", f"{claim.shown} is not what it cites")
        judgement = claim.judge(self._cited)
        if judgement.status != "undecided":
            return judgement
        is_shown = (
            claim.is_in_row(row) or claim.is_share_in(row, self._cited) or claim.is_converted([row])
        )
        return SUPPORTED if is_shown else judgement

    def _may_follow(self, claim: NumberClaim) -> bool:
        """Return whether a reader may have a number from its source, though no entry shows it."""
        entries = [*self._cited, *([self._source] if self._source else ())]
        # A bound that nobody printed may be the reader's own, or that of a policy.
        is_bound = bool(kinds_of(self._unquoted)[LIMIT])
        if is_bound or claim.follows_from(self._cited) or claim.is_converted(entries):
            return True
        # Anybody can count a few things, so a small count needs no source that prints it.
        if not claim.unit and claim.fact.value in range(_MOST_COUNTED + 1) and self._cited:
            return True
        if self._source is None:
            return False
        # 600 seconds, where the source has 600042.1 ms; and since a reader has no calculator to
        # cite, a figure of its own may be a sum or a share.
        return (
            claim.follows_from_text(self._cited, self._source)
            or claim.is_among(self._source)
            or claim.is_calculable(entries)
        )

    def _is_count(self, claim: NumberClaim) -> bool:
        """Return whether a number counts what the sentence cites, or all that a source lists."""
        if claim.unit or self._source is None or not self._cited:
            return False
        value = claim.fact.value
        # "One issue blocks it [E4]" cites that issue.
        has_values = any(support.value is not None for support in self._cited)
        if value == len(self._cited) and not has_values:
            return True
        # "Three of its six subtasks" have six of them listed.
        is_listed = self._in_sources is not None and self._in_sources(claim.fact)
        return claim.context.is_total and is_listed

    def _of_days(self) -> Iterator[ClaimJudgement]:
        """Yield the judgement of "28 August", where a cited text has other days alone."""
        days = set[str]()
        for support in self._cited:
            days |= days_of(support.whole)
        for day in days_of(self.plain) if days else ():
            if day not in days:
                yield ClaimJudgement("undecided", f"{day} is not a day of what it cites")

    def _of_zero_claims(self) -> Iterator[ClaimJudgement]:
        """Yield the judgement of "no failed tests", if a cited entry counts just these."""
        for match in _ZERO_CLAIM.finditer(self._unquoted):
            kinds = kinds_of(match["claim"])
            for support in self._cited:
                if not support.value or self._states(support.value):
                    continue
                is_counted = kinds[STATE] or kinds[SEVERITY]
                is_same = is_counted and are_surely_same(kinds, kinds_of(support.about))
                # "No blocking issue" is of no listed kind, but of the words of its entry.
                shared = stems_of(match["claim"]) & stems_of(support.about)
                if is_same or (not is_counted and shared):
                    why = f'"{match[0].strip()}" is contradicted: it cites {support.value}'
                    yield ClaimJudgement("contradicted", why)

    def _states(self, value: Decimal) -> bool:
        """Return whether the sentence has a number, too: "no critical issue is new, 2 are open"."""
        return any(fact.value == value for fact in facts_of(self._unquoted))

    def _of_severity(self) -> Iterator[ClaimJudgement]:
        """Yield the judgement of "of low severity", where only grave findings are cited."""
        named = kinds_of(self._unquoted)[SEVERITY]
        if len(named) != 1 or not self._cited:
            return
        severities = [kinds_of(support.about)[SEVERITY] for support in self._cited]
        if all(severities) and not any(named & severity for severity in severities):
            word = next(iter(named))
            yield ClaimJudgement("contradicted", f"it cites nothing of {word} severity")

    def _is_denied_by_source(self) -> bool:
        """Return whether a cited clause has the words and figures of the sentence, and denies
        them.
        """
        if has_denial(self.plain):
            return False
        stems = stems_of(self.plain)
        figures = {fact.text for fact in facts_of(self._unquoted)}
        if len(stems) < _LEAST_SENTENCE:
            return False
        for support in self._cited:
            for clause in _CLAUSE.split(support.whole):
                if len(stems) < _LEAST_CLAUSE:
                    break
                missing_stems = stems - stems_of(clause)
                # A sentence may name what its clause only means: "the question how ... is settled".
                is_same = not missing_stems or (len(missing_stems) == 1 and len(stems) > _MANY)
                if is_same and has_denial(clause) and _has_all(clause, figures):
                    return True
            for whole_sentence in _WHOLE.split(support.whole):
                is_same = stems == stems_of(whole_sentence) and _has_all(whole_sentence, figures)
                if is_same and has_denial(whole_sentence):
                    return True
        return False


def _has_all(text: str, figures: Collection[str]) -> bool:
    """Return whether a text has all of these figures."""
    figures_of_text = {fact.text for fact in facts_of(text)}
    return all(figure in figures_of_text for figure in figures)


def _with_points(text: str) -> str:
    """Return a text with decimal points where a comma can only be one: 48,8 %, not 1,200."""
    return _DECIMAL_COMMA.sub(".", text)


def _holds(passage: str, part: str) -> bool:
    """Return whether a passage contains these words as whole words."""
    words = part.rstrip(".,;:!?")
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", passage) is not None


def _is_cut_from_denial(passage: str, part: str) -> bool:
    """Return whether the clause before a quotation denies it: I do not "approve the release"."""
    if has_denial(part):
        return False
    before = passage[: passage.find(part.rstrip(".,;:!?"))]
    # The cell before belongs to another column, or to the row above.
    return has_denial(_CELL_END.split(_CLAUSE.split(before)[-1])[-1])


def _squeezed(text: str) -> str:
    """Return a text without typographic signs, line ends and case."""
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
