"""Tell which quantity the words around a number name: failed tests, p95 latency, line coverage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from transom.evidence.facts import Fact, facts_of
from transom.evidence.vocabulary import shipped_vocabulary

Kinds = tuple[frozenset[str], ...]
"""The kinds that a text names, one set for each row of `_ROWS`: states such as `failed`, severities
such as `critical`, parts of coverage such as `line`, statistics such as `p95`, `limit`, subjects
such as `test`.
"""

# Kinds with their words. Kinds of one row exclude each other.
_ROWS = (
    (
        "failed=fail,fails,failing,failed,failure,failures,fehlgeschlagen,fehlgeschlagene,"
        "scheitern,"
        "échoue,échouent,échoué,échoués,échouée,échouées,fallan,falliscono,falham,falen,fallado,"
        "fallados,fallaron,fallido,fallidos,fallito,falliti,fallite,"
        "falhou,falharam,mislukt,mislukte,gefaald"
        " passed=pass,passes,passing,passed,bestanden,bestandene,réussi,réussis,réussies,"
        "réussissent,superado,superados,superaron,pasó,pasaron,superato,superati,superate,"
        "passaram,"
        "geslaagd,geslaagde"
        " skipped=skipped,übersprungen,übersprungene,ignoré,ignorés,omitido,omitidos,saltati,"
        "ignorados,overgeslagen"
        " blocked=blocked,blockiert,blockierte,bloqués,bloqueados,bloccati,geblokkeerd"
        " executed=executed,ran,ausgeführt,ausgeführte,liefen,exécutés,exécutées,ejecutados,"
        "ejecutaron,eseguiti,executados,uitgevoerd"
        " planned=planned,geplant,geplante,prévus,planificados,pianificati,planeados,gepland"
        " estimate=estimate,estimated,geschätzt,schätzung,estimé,estimado,stimato,geschat"
    ),
    (
        "critical=critical,kritische,kritisch,critique,critiques,crítica,críticas,critiche,critici"
        " high=high,hohe,hoch,élevé,élevés,élevée,élevées,alto,altos,alta,altas,alte"
        " medium=medium,moderate,mittlere,mittel,moyen,moyens,moyenne,moyennes,medio,medios,"
        "media,medias,medie"
        " low=low,niedrige,niedrig,geringe,faible,faibles,baja,bajas,basse,bassa,baixa"
    ),
    ("line=line,lines,statement,statements,zeilenabdeckung branch=branch,branches,zweigabdeckung"),
    "average=average,mean,avg p50=median,p50 p90=p90 p95=p95 p99=p99 max=maximum min=minimum",
    (
        "limit=target,limit,threshold,required,requires,goal,allowed,ziel,zielwert,grenzwert,"
        "schwelle,objectif,seuil,seuils,cible,limite,objetivo,umbral,límite,obiettivo,soglia,doel,"
        "drempel"
    ),
    (
        "test=test,tests,case,cases,scenario,scenarios,testfälle,szenario,szenarien,scénarios,"
        "escenarios,scenari,cenários "
        "vulnerability=vulnerability,vulnerabilities,schwachstelle,schwachstellen,vulnérabilités,"
        "vulnerabilidades,vulnerabilità,kwetsbaarheden "
        "coverage=coverage,covered latency=latency,response throughput=throughput "
        "issue=defect,defects,bug,bugs,issue,issues stage=stage,stages subtask=subtask,subtasks "
        "criterion=criterion,criteria"
    ),
)
STATE, SEVERITY, SHARE, LIMIT, SUBJECT = 0, 1, 3, 4, 5
_NO_KINDS: Kinds = (frozenset(),) * len(_ROWS)


def _words_of_row(row: str) -> Mapping[str, str]:
    """Return the kind of each word of a row."""
    kinds = dict[str, str]()
    for part in row.split():
        kind, _, words = part.partition("=")
        for word in words.split(","):
            kinds[word] = kind
    return kinds


_KINDS = tuple(_words_of_row(row) for row in _ROWS)
_WORD = re.compile(r"p\d{2,3}\b|[^\W\d_]+", re.IGNORECASE)
# `numFailedTests` and `p(95)` are keys, "95th percentile" is how people call the latter.
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PERCENTILE = re.compile(
    r"\bp\((\d{2,3})\)|\b(\d{2,3})(?:th|st|nd|\.|e|º|°)?[ -](?:percentile|perzentil|centile"
    r"|percentil|percentiel)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"(?:\bof|\bout of|\bvon|\bsur|\bsu|\bvan|/)\s*(?:the\s+)?$", re.IGNORECASE)
_TOTAL = re.compile(
    r"\s*(?:[^\W\d]+\s+){0,3}(?:of|out of|von|sur|su|van|de los|de las|dos|das|/)\s*"
    r"(?:(?:the|all|its|their|these|seiner|ihrer|ses|sus)\s+)?",
    re.IGNORECASE,
)
_TOTAL_AHEAD = re.compile(
    r"(?:^|[.;:]\s)\W*(?:out )?(?:of|von|sur|de|di|van)\s+(?:\w{1,5}\s+)?$", re.IGNORECASE
)
_AGAINST = re.compile(
    r"\d[^.;\n]{0,12}\b(?:against|versus|vs\.?|gegenüber|contre|contra|contro)\s+$", re.IGNORECASE
)
_PART_IN_WORDS = re.compile(
    r"\b(?:one|none|some|half|most|each) (?:out )?of\s+(?:(?:the|these|its)\s+)?$", re.IGNORECASE
)
_AFTER_BELOW = re.compile(
    r"\b(?:below|under|above|over|within|unter|über|sous|dessous|dessus|debajo|encima|dentro"
    r"|sotto|sopra|entro|onder|boven)\s(?:\w{1,4}\s){0,2}\w{4,12}\s?:",
    re.IGNORECASE,
)
_JOINTS = "and|but|while|und|aber|et|mais|y|pero|e|ma|en|maar|mas"
_END_BEHIND = re.compile(rf"[,;:()]|\b(?:{_JOINTS}|against|with|versus|where)\b")
_END_OF_TOTAL = re.compile(rf"[,;:()]|\b(?:{_JOINTS})\b")
_END_AHEAD = re.compile(rf"[,;()]|\b(?:{_JOINTS}|against|versus|where)\b")
# "It misses its target: 355 ms" gives a measured value, "Target: 300 ms" the limit itself.
_AFTER_MISSING = re.compile(
    r"\b(?:miss|meet|exceed|reach|fail|keep|hold|violat|break|above|over|below|under|within|beyond)"
    r"\w{0,6}\s(?:its|the|their|a|an|this|that)\s(?:\w{1,20}\s)?"
    r"(?:targets?|limits?|thresholds?|bounds?)\s?:",
    re.IGNORECASE,
)
# What parts a number of a row from the next; the digits of p95 do not.
_BETWEEN = re.compile(r"[,;{}()\[\]\n]|(?<![A-Za-z_\d])\d")
_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_MOST_DATES = 12  # of a text, whose differences are taken
_MOST_AHEAD = 48  # characters before and behind a number
_MOST_WORDS = 8  # behind a number
_BESIDE_LIMIT = 2  # words behind a number that may call it a limit
_STEM = 5  # characters of a word that are compared


def kinds_of(text: str) -> Kinds:
    """Return the kinds that a text names, by row."""
    parted = _CAMEL.sub(" ", _PERCENTILE.sub(r"p\1\2 ", text)).replace("_", " ")
    words = {word.lower() for word in _WORD.findall(parted)}
    rows = list[frozenset[str]]()
    for row in _KINDS:
        rows.append(frozenset(row[word] for word in words & row.keys()))
    return tuple(rows)


def with_percentiles(text: str) -> str:
    """Return a text of the same length with `p95` in place of "95th percentile"."""
    return _PERCENTILE.sub(lambda match: f"p{match[1] or match[2]}".ljust(len(match[0])), text)


def are_same(claimed: Kinds, kinds: Kinds) -> bool:
    """Return whether each kind that a claim names is one of these; a limit is no value.

    A claim that names no kind is the same as any value; see `are_surely_same`.
    """
    for words, other_words in zip(claimed, kinds, strict=True):
        if words and not words & other_words:
            return False
    return bool(claimed[LIMIT]) == bool(kinds[LIMIT])


def are_surely_same(claimed: Kinds, kinds: Kinds) -> bool:
    """Return whether a claim names these kinds, and at least one of them."""
    return any(claimed) and are_same(claimed, kinds)


def do_conflict(claimed: Kinds, kinds: Kinds) -> bool:
    """Return whether a claim names a kind that excludes these: skipped, where failed is meant."""
    for words, other_words in zip(claimed, kinds, strict=True):
        if words and other_words and not words & other_words:
            return True
    return False


@dataclass(frozen=True)
class NumberContext:
    """The words that belong to a number in a sentence.

    Attributes:
        kinds: the kinds that they name.
        is_total: it is the total of `3 of 5`, of which less is checked.
        stems: the beginnings of its longer words.
        is_denied: a denial stands among the words.
        is_whole: it is a total whose part is a word: `one of three`.
    """

    kinds: Kinds
    stems: frozenset[str]
    is_total: bool
    is_denied: bool
    is_whole: bool = False

    def checked_kinds(self) -> Kinds:
        """Return the kinds that must agree with the evidence."""
        if not self.is_total:
            return self.kinds
        return (*_NO_KINDS[:SUBJECT], self.kinds[SUBJECT])


def context_of(fact: Fact, sentence: str) -> NumberContext:
    """Return the words that belong to a number.

    These are the words behind it up to the next number or mark; if they name no quantity, also the
    words before it.
    """
    facts = [other for other in facts_of(sentence) if other.value is not None]
    following = [other for other in facts if other.start >= fact.end]
    behind = _words_behind(fact, following, sentence)
    before = sentence[: fact.start]
    start = max([other.end for other in facts if other.end <= fact.start], default=0)
    is_total = start > 0 and _TOTAL.fullmatch(before, start) is not None
    # "Of 31 alerts, 24 were real" has its total in front.
    is_total |= bool(following) and _TOTAL_AHEAD.search(before) is not None
    is_whole = _PART_IN_WORDS.search(before) is not None
    is_total |= is_whole
    ahead = _END_AHEAD.split(sentence[max(start, fact.start - _MOST_AHEAD) : fact.start])[-1]
    ahead = _AFTER_BELOW.split(_AFTER_MISSING.split(ahead)[-1])[-1]
    words = behind if any(kinds_of(behind)) else f"{ahead} {behind}"
    kinds = list(kinds_of(words))
    # "1240 ms misses its target" is no target, but "a target of 800 ms" and "80 % required" are.
    neighbours = [ahead, *behind.split()[:_BESIDE_LIMIT]]
    kinds[LIMIT] = kinds_of(" ".join(neighbours))[LIMIT]
    # "620 ms against 600 ms" has its limit behind it.
    if _AGAINST.search(before) and not kinds[LIMIT]:
        kinds[LIMIT] = frozenset({"limit"})
    # "82 % against a target of 85 %" has no total.
    is_total = is_total and not kinds[LIMIT]
    # "No test fails: is not met: failed tests 22" denies nothing of the 22.
    is_denied = has_denial(words.rpartition(":")[2])
    return NumberContext(tuple(kinds), stems_of(words), is_total, is_denied, is_whole)


def following_stems(fact: Fact, text: str) -> dict[str, None]:
    """Return the beginnings of the words behind a number, up to the next number or line end.

    They are the keys, in their order and each once.
    """
    text = text[: text.find("\n", fact.end) if "\n" in text[fact.end :] else len(text)]
    facts = [other for other in facts_of(text) if other.value is not None]
    following = [other for other in facts if other.start >= fact.end]
    words = re.findall(r"[^\W\d_]{4,}", _words_behind(fact, following, text).casefold())
    return dict.fromkeys(word[:_STEM] for word in words)


@lru_cache(maxsize=512)
def all_words_by_number(text: str) -> Mapping[Decimal, frozenset[str]]:
    """Return the words behind each number of a text."""
    words = dict[Decimal, frozenset[str]]()
    for fact in facts_of(text):
        if fact.value is not None:
            words[fact.value] = (
                words.get(fact.value, frozenset()) | following_stems(fact, text).keys()
            )
    return words


@lru_cache(maxsize=512)
def words_by_number(text: str) -> Mapping[Decimal, frozenset[str]]:
    """Return the words behind each number of a text, without those behind several numbers."""
    words = all_words_by_number(text)
    counts = Counter(word for stems in words.values() for word in stems)
    return {
        value: frozenset(word for word in stems if counts[word] == 1)
        for value, stems in words.items()
    }


@lru_cache(maxsize=128)
def day_differences(text: str) -> frozenset[Decimal]:
    """Return the days between any two of the first dates of a text, and 0 if there is a date."""
    days = set[date]()
    for match in list(_DAY.finditer(text))[:_MOST_DATES]:
        with suppress(ValueError):  # such as 2026-13-45
            days.add(date.fromisoformat(match[0]))
    return frozenset(Decimal(abs((day - other).days)) for day in days for other in days)


def _words_behind(fact: Fact, following: Sequence[Fact], sentence: str) -> str:
    """Return the words behind a number, also those behind the total of `3 of 5`."""
    end = following[0].start if following else len(sentence)
    between = sentence[fact.end : end]
    behind = _END_BEHIND.split(between)[0]
    if following and _OF.search(between):
        rest_end = following[1].start if len(following) > 1 else len(sentence)
        behind += _END_OF_TOTAL.split(sentence[following[0].end : rest_end])[0]
    return " ".join(behind.split()[:_MOST_WORDS])


def kinds_beside(fact: Fact, text: str) -> Kinds:
    """Return the kinds that the key or words beside a number of a source name."""
    before = _BETWEEN.split(text[max(0, fact.start - _MOST_AHEAD) : fact.start])[-1]
    behind = _BETWEEN.split(text[fact.end : fact.end + _MOST_AHEAD])[0]
    # The next key of a document stands behind the number, not with it.
    return kinds_of(before if '"' in before or ":" in before else f"{before} {behind}")


@lru_cache(maxsize=1)
def _denial_words() -> frozenset[str]:
    """Return the words that deny, of the vocabulary of trouble."""
    vocabulary = shipped_vocabulary()
    words = {"nor", "neither", "nobody", "nothing", "cannot"}
    for listed in (*vocabulary.denials.values(), *vocabulary.negations.values()):
        words |= {word.casefold() for word in listed}
    return frozenset(words)


def has_denial(text: str) -> bool:
    """Return whether a text has a word that denies: no, not, never, without, isn't."""
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text.casefold())
    denials = _denial_words()
    return any(word in denials or word.endswith(("n't", "n’t")) for word in words)


def stems_of(text: str) -> frozenset[str]:
    """Return the beginnings of the longer words of a text that deny nothing."""
    words = re.findall(r"[^\W\d_]{5,}", text.casefold())
    return frozenset(word[:_STEM] for word in words if not has_denial(word))
