"""Compare a number of a sentence with the numbers of the entries that the sentence cites."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, islice, pairwise, permutations
from typing import Literal

from transom.evidence.facts import Fact, FactSource, facts_of
from transom.evidence.number_words import number_of_word
from transom.evidence.quantities import (
    LIMIT,
    SEVERITY,
    STATE,
    SUBJECT,
    Kinds,
    NumberContext,
    all_words_by_number,
    are_same,
    are_surely_same,
    day_differences,
    do_conflict,
    following_stems,
    kinds_beside,
    kinds_of,
    stems_of,
    words_by_number,
)
from transom.evidence.units import unit_of_key

ClaimStatus = Literal["supported", "contradicted", "undecided"]

_ROUGHLY = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|circa)\s*$|[~≈]\s*$", re.IGNORECASE
)
# Words for an estimate, in seven languages.
_ESTIMATE = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|nearly|almost|some|circa|ca\.|rund|etwa|ungefähr"
    r"|fast|knapp|environ|près de|presque|unos|unas|cerca de|alrededor de|casi|aproximadamente"
    r"|quasi|cerca di|uns|umas|quase|ongeveer|bijna)|[~≈])\s*$",
    re.IGNORECASE,
)
_MOST_ROUND = 2  # digits of an estimate
_ABOVE = re.compile(r"\b(?:over|more than|above|at least)\s*$", re.IGNORECASE)
# Comparisons with a bound, in seven languages: the value lies below or above the number behind.
_BELOW_BOUND = re.compile(
    r"\b(?:less than|fewer than|lower than|under|below|misse[sd]|missed|short of|weniger als|unter"
    r"|unterhalb von|verfehlt|moins de|sous|en dessous de|inférieure?s? à|menos de|por debajo de"
    r"|inferior a|meno di|sotto|abaixo de|minder dan|onder)\s+(?:the |den |die |les |las |los )?$",
    re.IGNORECASE,
)
_ABOVE_BOUND = re.compile(
    r"\b(?:more than|greater than|higher than|longer than|slower than|over|above|exceeds?|at least"
    r"|mehr als|über"
    r"|oberhalb von|mindestens|plus de|au-dessus de|supérieure?s? à"
    r"|dépassent?|au moins"
    r"|más de|por encima de|superior a|al menos|più di|oltre|sopra|almeno|mais de|acima de"
    r"|meer dan|boven)"
    r"\s+(?:the |den |die |les |las |los )?$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"\s?(?P<unit>weeks?|[Ww]ochen?|semaines?|semanas?|settiman[ae]|weken|[Tt]agen?"
    r"|jours?|días?|dias"
    r"|giorn[oi]|dagen|[Ss]tunden?|heures?|horas?|or[ae]|uur|[Mm]inuten?|minutos?|minut[oi]"
    r"|%|percent(?:age points)?|per"
    r" cent|ms|milliseconds?|s|secs?|seconds?|min|minutes?|h|hours?|days?|"
    r"[kmg]i?b|(?:requests?|req|transactions?)(?:/s| per"
    r" second)|/s|rps|tps)(?![\w/])|(?P<scale>[kM])(?!\w)",
)
_WHOLE_BEHIND = re.compile(r"\s(?:of|out of|von|sur|de|su|di|van)\s\d[\d.,]{0,12}(?=\s?[a-z])")
# The beginnings of units of time in seven languages.
_TIMES = {
    ("week", "woche", "semain", "semana", "settiman", "weken"): "w",
    ("tag", "jour", "día", "dia", "giorn", "dag"): "d",
    ("stunde", "heure", "hora", "or", "uur"): "h",
    ("minut",): "min",
}
_SECONDS = {
    "ms": Decimal(1),
    "s": Decimal(1000),
    "min": Decimal(60_000),
    "h": Decimal(3_600_000),
    "d": Decimal(86_400_000),
    "w": Decimal(604_800_000),
}
_ROUGH = Decimal("0.05")
_MOST_NUMBERS = 200
_NEIGHBOURS = 2  # numbers behind one that stand together with it
_MOST_PAIRED = 80  # numbers of a text that are compared with each other
_MOST_PRINTED = 60  # numbers of an entry that a figure may be calculated from
_PRINTED = re.compile(r"(?<![\d.])\d{1,12}(?:\.\d{1,6})?")
_WORD = re.compile(r"[^\W\d_]+")
_EXECUTED, _PLANNED = frozenset({"executed"}), frozenset({"planned"})
_IN_ROW = 5  # neighbours of which several make a sum or a rest
_KEYED_NUMBER = re.compile(r"(?<!\w)([A-Za-z]\w{0,30})[\"']?\s?[:=]\s?[\"']?(\d{1,12})(?![\w.])")
_MOST_IN_ROW = 8  # numbers of a row whose neighbours are compared
_SENTENCE_END = re.compile(r"(?<=[a-z\d)][.!?])\s+(?=[A-ZÀ-Þ])")
_MOST_PARTS = 12
_MOST_COUNT = 12
_SAME_SHARE = Decimal("0.01")
_KEY_BEFORE = re.compile(r"(?<!\w)([A-Za-z]\w{0,40})\W{1,4}$")
_LONGEST_KEY = 48
_KEYED = re.compile(r"[\"']\s{0,3}:|=\s{0,3}[\"']|\|")


@dataclass(frozen=True)
class Support:
    """An entry that can be cited.

    Attributes:
        value: its number, or None.
        unit: `%`, `ms`, `/s`, `ratio`, or "" for a count.
        about: words of its measure, its keys and its label.
        text: the passage of the value.
        name: its name; numbers in it are not claims.
        row: the whole row that was shown: a limit beside the value, further fields, their text.
            Quotations, names and further numbers are checked against it, too.
        state: its value, if that is a word or two: a status, a decision.
    """

    value: Decimal | None
    unit: str = ""
    about: str = ""
    text: str = ""
    name: str = ""
    row: str = ""
    state: str = ""

    @property
    def whole(self) -> str:
        """All that was shown of the entry."""
        return f"{self.text} {self.row}".strip()

    @property
    def kinds(self) -> Kinds:
        """The kinds that the entry is about."""
        # A share is of two counts, which its passage names: passed ones of those executed.
        if self.unit:
            return kinds_of(f"{self.about} {self.text}")
        own, further = kinds_of(self.about), kinds_of(self.text)
        # A passage has more words than those of its value: "executed": 20, "passed": 11.
        return tuple(words or others for words, others in zip(own, further, strict=True))


@dataclass(frozen=True)
class ClaimJudgement:
    """The result for one number, id or quotation."""

    status: ClaimStatus
    why: str = ""
    is_unsourced: bool = False


SUPPORTED = ClaimJudgement("supported")


@dataclass(frozen=True)
class _RowNumber:
    """A number of a cited entry: its value, or another number of its row."""

    value: Decimal
    unit: str
    kinds: Kinds
    is_value: bool = False
    is_alone: bool = False


@dataclass(frozen=True)
class NumberClaim:
    """A number of a sentence with its unit and the words that belong to it."""

    fact: Fact
    unit: str
    sentence: str
    context: NumberContext

    @property
    def shown(self) -> str:
        """The number as it is shown in a reason."""
        text = self.fact.text
        return text if text.endswith(self.unit) else f"{text} {self.unit}"

    def judge(self, cited: Sequence[Support]) -> ClaimJudgement:
        """Return whether the numbers of the cited entries support or contradict the claim."""
        # The first word alone may be a common name: "24 alerts held", of "31 alerts; 24 real".
        elsewhere = self.is_of_another_number(cited)
        if elsewhere != "no":
            status: ClaimStatus = "contradicted" if elsewhere == "surely" else "undecided"
            return ClaimJudgement(status, f"{self.shown} counts something else there")
        kinds = self.context.checked_kinds()
        # "87 % of those executed" names the whole, not what the share is of.
        if self.unit == "%" and kinds[STATE] in (_EXECUTED, _PLANNED):
            kinds = (frozenset(), *kinds[1:])
        equal_values, surely_others = list[_RowNumber](), list[_RowNumber]()
        states_of_equals = list[frozenset[str]]()
        is_supported = has_value = has_part = False
        for support in cited:
            is_supported = is_supported or self.is_in_name(support) or self.is_whole_of(support)
            for number in _numbers_of(support):
                is_equal = self.equals(number)
                # A claim whose words are the name of an entry names no kind any more.
                is_unnamed = number.is_value and not any(kinds)
                # A place with one number is of what its sentence says, unless its key denies it.
                is_unnamed |= number.is_alone and not do_conflict(kinds, number.kinds)
                if is_equal and (is_unnamed or are_same(kinds, number.kinds)):
                    is_supported = True
                    states_of_equals.append(number.kinds[STATE])
                    has_value = has_value or number.is_value
                    has_part = has_part or self.is_part_of(support, number)
                elif is_equal and (number.is_value or do_conflict(kinds, number.kinds)):
                    equal_values.append(number)
                elif number.is_value and self.is_surely_of(support, number):
                    surely_others.append(number)
        denied_states = self.context.kinds[STATE] if self.context.is_denied else frozenset()
        is_state_denied = bool(denied_states)
        if is_supported:
            # "14 tests did not fail", where 14 is the number of failed tests; but "5 were not
            # executed" cites the pending ones.
            if any(denied_states & states for states in states_of_equals):
                return ClaimJudgement(
                    "contradicted", f"{self.shown} is denied, but it cites the same"
                )
            if has_part and not has_value:
                return ClaimJudgement("undecided", f"{self.shown} is a part of what it cites")
            return SUPPORTED
        if is_state_denied:
            return ClaimJudgement("undecided", f"{self.shown} is not what it cites")
        return self._against(cited, equal_values, surely_others)

    def _against(
        self,
        cited: Sequence[Support],
        equal_values: Sequence[_RowNumber],
        surely_others: Sequence[_RowNumber],
    ) -> ClaimJudgement:
        """Return whether cited entries that do not support the claim contradict it.

        Args:
            equal_values: the same number, of another quantity.
            surely_others: another number, of the same quantity.
        """
        kinds = self.context.checked_kinds()
        # Another number of the row may happen to be the sum.
        if self.is_sum_of(surely_others) or self.is_true_bound_of(surely_others):
            return SUPPORTED
        if any(do_conflict(kinds, number.kinds) for number in equal_values):
            why = f"{self.shown} is another quantity than what it cites"
            # A share is of two counts: "93 % of those executed" are those that passed.
            is_of_state = self.unit == "%" and not any(
                do_conflict(kinds[SEVERITY:], number.kinds[SEVERITY:]) for number in equal_values
            )
            return ClaimJudgement("undecided" if is_of_state else "contradicted", why)
        why = f"{self.shown} is not what it cites"
        # What a sentence states beside the very value that it cites may follow from it, and is no
        # other value of it: "83 % [E1], 3 points above the limit".
        contrary = [number for number in surely_others if not self.is_stated_elsewhere(number)]
        is_another_value = bool(contrary) and not self.follows_from(cited)
        if is_another_value or self.is_about_another_subject(cited):
            return ClaimJudgement("contradicted", why)
        return ClaimJudgement("undecided", why)

    @property
    def is_bound(self) -> bool:
        """Whether a comparison stands before it: less than, above."""
        before = self.sentence[: self.fact.start]
        return bool(_BELOW_BOUND.search(before) or _ABOVE_BOUND.search(before))

    def is_true_bound_of(self, numbers: Sequence[_RowNumber]) -> bool:
        """Return whether it is a bound that cited values keep: "less than 5 %", which cites 4.7."""
        before = self.sentence[: self.fact.start]
        is_below, is_above = _BELOW_BOUND.search(before), _ABOVE_BOUND.search(before)
        bound = self.fact.value
        if bound is None or not numbers or not (is_below or is_above):
            return False
        for number in numbers:
            value = _converted(number, self.unit)
            if value is None or (value >= bound if is_below else value <= bound):
                return False
        return True

    def is_stated_elsewhere(self, number: _RowNumber) -> bool:
        """Return whether another number of the sentence is that of an entry."""
        # "143 dependencies have one critical flaw [E1]" states the one.
        if not number.unit and number.value in _word_values(self.sentence):
            return True
        for fact in facts_of(self.sentence):
            if fact.value is None or fact.start == self.fact.start:
                continue
            unit = unit_behind(fact, self.sentence)
            if NumberClaim(fact, unit, self.sentence, self.context).equals(number):
                return True
        return False

    def is_calculable(self, entries: Sequence[Support]) -> bool:
        """Return whether any two numbers of entries make it: a sum, a product, a share, a half."""
        statement = self.fact.value
        if statement is None:
            return False
        values = {Decimal(2)}
        # `LH:201` is no fact, but its number is printed.
        for entry in entries:
            values.update(map(Decimal, _PRINTED.findall(entry.whole)[:_MOST_PRINTED]))
            values.update(_sums_by_key(entry.whole))
        if statement in values:
            return True
        # "About 82 a day" is an estimate of the reader, which may take several steps.
        digits = len(statement.normalize().as_tuple().digits)
        if digits <= _MOST_ROUND and _ESTIMATE.search(self.sentence[: self.fact.start]):
            return True
        values.update(map(Decimal, _PRINTED.findall(self.sentence)[:_MOST_PRINTED]))
        values.discard(statement)
        for value, other in combinations(values, 2):
            results = [value + other, abs(value - other), value * other]
            if value and other:
                ratios = (value / other, other / value)
                results += [*ratios, *(100 * ratio for ratio in ratios)]
                results += [abs(100 - 100 * ratio) for ratio in ratios]
            if any(_rounds_to(result, statement) for result in results):
                return True
        return False

    def is_in_row(self, row: Support) -> bool:
        """Return whether a row of a source has the number, and its key says nothing else of it."""
        kinds = self.context.checked_kinds()
        # In prose a number belongs to the words behind it.
        if self.context.is_denied or not _KEYED.search(row.whole):
            return False
        for number in _numbers_of(row):
            is_of_state = kinds[STATE] <= number.kinds[STATE]
            if self.equals(number) and is_of_state and not do_conflict(kinds, number.kinds):
                return bool(kinds[LIMIT]) == bool(number.kinds[LIMIT])
        return False

    def is_share_in(self, row: Support, cited: Sequence[Support]) -> bool:
        """Return whether numbers of a row make it: 90 of 6,000 are 1.5 %.

        These are the share of two neighbours, the share, sum or difference of two numbers that the
        sentence states, and the sum or difference of two counts whose share it cites.
        """
        statement = self.fact.value
        if statement is None:
            return False
        values = [fact.value for fact in facts_of(row.whole) if fact.value is not None]
        if self.unit == "%" and any(_rounds_to(100 * value, statement) for value in values):
            return True
        counts = [value for value in values[:_MOST_IN_ROW] if value == value.to_integral_value()]
        for value, other in combinations(counts, 2):
            if _are_of_share(value, other, cited) and statement in (
                value + other,
                abs(value - other),
            ):
                return True
        stated = {fact.value for fact in facts_of(self.sentence) if fact.value is not None}
        pairs = list(combinations(sorted(stated - {statement}), 2))
        if any(statement in (value + other, abs(value - other)) for value, other in pairs):
            return True
        if self.unit != "%":
            # The total of two neighbours is the whole that a share is of: 420 of 600.
            return self.context.is_total and any(map(statement.__eq__, map(sum, pairwise(counts))))
        if len(values) <= _MOST_IN_ROW:
            pairs += pairwise(counts)
        for value, other in pairs:
            shares = set[Decimal]()
            for part, total in ((value, other), (other, value), (value, value + other)):
                if total and part <= total:
                    shares |= {100 * part / total, 100 - 100 * part / total}
            if any(_rounds_to(share, statement) for share in shares):
                return True
        return False

    def is_converted(self, cited: Sequence[Support]) -> bool:
        """Return whether it is a time whose entry names no unit: 21 minutes, where it has 1260."""
        if self.unit not in _SECONDS:
            return False
        for support in cited:
            for number in _numbers_of(support):
                if number.unit or number.value == self.fact.value:
                    continue
                for unit in _SECONDS:
                    timed = _RowNumber(number.value, unit, number.kinds)
                    value = _converted(timed, self.unit)
                    if value is not None and _rounds_to(value, self.fact.value or Decimal()):
                        return True
        return False

    def is_surely_of(self, support: Support, number: _RowNumber) -> bool:
        """Return whether the words beside the claim name the quantity of an entry."""
        # A count, such as "three endpoints", is no latency, whatever else the words name.
        is_count = not self.unit and Decimal(1) < (self.fact.value or 0) <= _MOST_COUNT
        if is_count and number.unit in _SECONDS:
            return False
        # "3,511 of 4,180 lines" beside a share of 84 % are counts.
        if number.unit == "%" and not self.unit:
            return False
        # "Of six scenarios two failed" cites the two.
        if self.context.is_total and number.value < (self.fact.value or 0):
            return False
        # "One of three subtasks is open" cites the one.
        if self.context.is_whole and number.value < (self.fact.value or 0):
            return False
        if any(self.context.kinds):
            return are_surely_same(self.context.kinds, number.kinds)
        # "The error rate" is of no listed kind, but of the words of the entry.
        stems = self.context.stems
        return bool(stems) and stems <= stems_of(support.about)

    def is_about_another_subject(self, cited: Sequence[Support]) -> bool:
        """Return whether each cited value is of another subject: defects, where tests are cited."""
        claimed = self.context.kinds[SUBJECT]
        subjects = list[frozenset[str]]()
        for support in cited:
            # "138 lines have no test" may be counted from a share of lines.
            own = zip(self.context.kinds[:SUBJECT], support.kinds[:SUBJECT], strict=True)
            if support.unit == "%" and not self.unit and any(words & kind for words, kind in own):
                return False
            if support.value is not None:
                subjects.append(support.kinds[SUBJECT])
        if not claimed or not subjects:
            return False
        return all(subject and not subject & claimed for subject in subjects)

    def equals(self, number: _RowNumber) -> bool:
        """Return whether it is the same number in the same unit, in any notation."""
        value = _converted(number, self.unit)
        statement = self.fact.value
        if value is None or statement is None:
            return False
        scale = _UNIT.match(self.sentence, self.fact.end)
        if scale is not None and scale["scale"]:
            factor = Decimal(1000 if scale["scale"] == "k" else 1_000_000)
            return _rounds_to(value / factor, statement)
        text = self.fact.text.rstrip("% ")
        plain = Fact(text, 0, statement, either=self.fact.either, called=self.fact.called)
        if FactSource(f"{value.normalize():f}").has(plain):
            return True
        # 0.4 % is 0.375 %, though it has one digit alone.
        if (
            self.unit == "%"
            and statement
            and _has_decimals(statement)
            and _rounds_to(value, statement)
        ):
            return True
        before = self.sentence[: self.fact.start]
        if not _ROUGHLY.search(before) and not _ABOVE.search(before):
            return False
        is_near = abs(value - statement) <= abs(value) * _ROUGH
        is_round = len(statement.normalize().as_tuple().digits) <= 3
        return is_near and is_round and (not _ABOVE.search(before) or value >= statement)

    def is_of_another_number(self, cited: Sequence[Support]) -> Literal["no", "perhaps", "surely"]:
        """Return whether the words behind it stand behind another number of a cited text.

        "19 boxes", where the text has "42 boxes and 19 couriers". Keys of data stand before their
        numbers, so only prose is compared.
        """
        stems = following_stems(self.fact, self.sentence)
        if not stems or any(support.value == self.fact.value for support in cited):
            return "no"
        is_first_elsewhere = False
        for support in cited:
            if support.value is not None or _KEYED.search(support.whole):
                continue
            words = words_by_number(support.whole)
            own_words = words.get(self.fact.value or Decimal())
            if own_words is None or stems.keys() & own_words:
                continue
            other_words = set[str]()
            for value, number_words in words.items():
                if value != self.fact.value:
                    other_words |= number_words
            # One word of many that stands elsewhere by chance is no sign.
            is_mostly_elsewhere = 2 * len(stems.keys() & other_words) >= len(stems)
            all_own_words = all_words_by_number(support.whole).get(self.fact.value or Decimal())
            # "60 fitters in Utrecht" are fitters there, too, though 30 others follow.
            is_of_noun = next(iter(stems)) in (all_own_words or ())
            if is_mostly_elsewhere and not is_of_noun:
                return "surely"
            if is_of_noun and self._is_of_another_sentence(support.whole, next(iter(stems))):
                return "perhaps"
            is_first_elsewhere |= is_mostly_elsewhere or next(iter(stems)) in other_words
        return "perhaps" if is_first_elsewhere else "no"

    def _is_of_another_sentence(self, text: str, noun: str) -> bool:
        """Return whether the sentence of a text that has most words of the claim has another number
        of the same noun: "it begins in 22 hotels", where 22 follow later.
        """
        stems = stems_of(self.sentence)
        scores = list[tuple[int, bool, bool]]()
        for part in _SENTENCE_END.split(text):
            words = all_words_by_number(part)
            has_own = self.fact.value in words
            has_other = any(
                noun in own and value != self.fact.value for value, own in words.items()
            )
            scores.append((len(stems & stems_of(part)), has_own, has_other))
        best = max(score for score, _, _ in scores)
        of_best = [(has_own, has_other) for score, has_own, has_other in scores if score == best]
        return of_best == [(False, True)]

    def is_part_of(self, support: Support, number: _RowNumber) -> bool:
        """Return whether a further number of an entry is of the very quantity of its value.

        22 failed tests are those of three modules, 9, 11 and 2: "2 tests failed" is not the sum.
        """
        if (
            number.is_value
            or support.value is None
            or number.kinds[LIMIT]
            or not any(self.context.kinds[:LIMIT])
        ):
            return False
        own = support.kinds[:LIMIT]
        return number.kinds[:LIMIT] == own and any(own)

    def leaves_out(self, cited: Sequence[Support]) -> bool:
        """Return whether an entry that the sentence cites has another value in its unit, which the
        sentence does not state.
        """
        for support in cited:
            for number in _numbers_of(support):
                if not (number.is_value or number.is_alone):
                    continue
                if _converted(number, self.unit) is None or bool(self.unit) != bool(number.unit):
                    continue
                if not self.equals(number) and not self.is_stated_elsewhere(number):
                    return True
        return False

    def is_among(self, support: Support) -> bool:
        """Return whether an entry has the number, whatever it counts there."""
        return any(self.equals(number) for number in _numbers_of(support))

    def is_in_name(self, support: Support) -> bool:
        """Return whether it is a number of an entry's name: the 77 of `run 77`."""
        named_units = {fact.value for fact in facts_of(support.name)}
        return not any(self.context.kinds) and self.fact.value in named_units

    def is_whole_of(self, support: Support) -> bool:
        """Return whether it is the whole of a share that is cited with both its parts: 788 covered
        and 96 missed lines are 884, if 89.1 % is cited.
        """
        if support.value is None or support.unit != "%" or self.unit or not self.fact.value:
            return False
        parts = [fact.value for fact in facts_of(support.whole) if fact.value is not None]
        for part in parts[:_MOST_PARTS]:
            remainder = self.fact.value - part
            share = 100 * part / self.fact.value
            if remainder in parts and abs(share - support.value) < _SAME_SHARE:
                return True
        return False

    def is_sum_of(self, numbers: Sequence[_RowNumber]) -> bool:
        """Return whether it is the sum of cited values of its own quantity."""
        if len(numbers) < 2:
            return False
        values = [_converted(number, self.unit) for number in numbers]
        return None not in values and sum(filter(None, values)) == self.fact.value

    def follows_from(self, cited: Sequence[Support]) -> bool:
        """Return whether it is a difference, a rest to 100 %, or a share of cited numbers."""
        statement = self.fact.value
        if statement is None:
            return False
        values, further = list[Decimal](), list[Decimal]()
        for support in cited:
            if self.unit == "d" and statement in day_differences(support.whole):
                return True
            for number in _numbers_of(support):
                value = _converted(number, self.unit)
                # A share of two counts has the unit of neither.
                if value is None and self.unit == "%" and not number.unit:
                    value = number.value
                if value is None:
                    continue
                # Among many numbers of a row some pair has any difference.
                (values if number.is_value or number.kinds[LIMIT] else further).append(value)
        for value in values:
            if self.unit == "%" and _rounds_to(100 - value, statement):
                return True
            if any(_rounds_to(abs(value - other), statement) for other in values if other != value):
                return True
            wholes = [other for other in (*values, *further) if other]
            for whole in wholes if self.unit == "%" else ():
                share = 100 * value / whole
                # 60 % of five passed, if two of them failed.
                if _rounds_to(share, statement) or _rounds_to(100 - share, statement):
                    return True
        return False

    def is_exactly_of(self, cited: Sequence[Support]) -> bool:
        """Return whether it is the difference, rest or share that a cited value has to its limit,
        or to another cited value, and states what they say: 370 ms too slow, 74 % too slow.
        """
        statement = self.fact.value
        if statement is None:
            return False
        numbers = list[_RowNumber]()
        for support in cited:
            for number in _numbers_of(support):
                if number.is_value or number.kinds[LIMIT]:
                    numbers.append(number)
        state = self.context.kinds[STATE] - {"executed"}
        for number, reference in permutations(numbers, 2):
            if number.unit != reference.unit or number.value == reference.value:
                continue
            value, total = _converted(number, number.unit), reference.value
            if value is None:
                continue
            if self.unit == number.unit and _rounds_to(abs(value - total), statement):
                return not state or bool(number.kinds[LIMIT] | reference.kinds[LIMIT])
            if self.unit != "%" or not total:
                continue
            share = 100 * value / total
            # The share of those that failed is none of those that passed.
            is_contrary = bool(state and number.kinds[STATE] and not state & number.kinds[STATE])
            results = [100 - share] if is_contrary else [share]
            if number.kinds[LIMIT] | reference.kinds[LIMIT]:
                results += [share - 100, 100 - share]
            if any(_rounds_to(result, statement) for result in results):
                return True
        return False

    def follows_from_text(self, cited: Sequence[Support], source: Support) -> bool:
        """Return whether it is calculated from numbers that stand together in a source.

        These are neighbours, such as a total and a part, or a cited value and any number of its
        unit; among all pairs of a long text some would have any difference.
        """
        statement = self.fact.value
        if statement is None:
            return False
        if self.unit == "d":
            return statement in day_differences(source.whole)
        facts = [fact for fact in facts_of(source.whole) if fact.value is not None]
        texts = [fact.value for fact in facts[:_MOST_NUMBERS] if fact.value is not None]
        # A number with decimals is hardly the difference of two others by chance.
        reach = _MOST_PAIRED if _has_decimals(statement) else _NEIGHBOURS
        for place, value in enumerate(texts[:_MOST_PAIRED]):
            for other in texts[place + 1 : place + 1 + reach]:
                results = {abs(value - other), value + other}
                if self.unit == "%" and value and other:
                    results |= {100 * value / other, 100 * other / value}
                    results |= {abs(100 - 100 * value / other), abs(100 - 100 * other / value)}
                if any(_rounds_to(result, statement) for result in results):
                    return True
        if _is_rest_of_row(statement, texts[:_MOST_PAIRED]):
            return True
        # "75 cases: 38, 22 and 15"
        others = [fact.value for fact in facts_of(self.sentence) if fact.value != statement]
        if (
            len(others) > 1
            and all(part in texts for part in others)
            and sum(filter(None, others)) == (statement)
        ):
            return True
        for support in cited:
            own = support.value
            if own is not None and any(_rounds_to(abs(own - other), statement) for other in texts):
                return True
        return False


@lru_cache(maxsize=64)
def _sums_by_key(text: str) -> frozenset[Decimal]:
    """Return the sum of the numbers with each key of a text: all `LH:201` and `LH:661`."""
    sums = dict[str, Decimal]()
    for match in islice(_KEYED_NUMBER.finditer(text), _MOST_NUMBERS):
        sums[match[1]] = sums.get(match[1], Decimal()) + Decimal(match[2])
    return frozenset(sums.values())


def _are_of_share(value: Decimal, other: Decimal, cited: Sequence[Support]) -> bool:
    """Return whether two counts make a cited share: 1760 covered and 240 missed lines, 88 %."""
    for support in cited:
        if support.value is None or support.unit not in ("%", "ratio") or not value + other:
            continue
        share = support.value * 100 if support.unit == "ratio" else support.value
        largest = max(value, other)
        for part, total in ((min(value, other), largest), (largest, value + other)):
            if total and abs(100 * part / total - share) < _SAME_SHARE * 10:
                return True
    return False


@lru_cache(maxsize=64)
def _word_values(sentence: str) -> frozenset[Decimal]:
    """Return the numbers that a sentence writes as words."""
    numbers = set[Decimal]()
    for word in _WORD.findall(sentence):
        number = number_of_word(word)
        if number is not None:
            numbers.add(Decimal(number))
    return frozenset(numbers)


def _is_rest_of_row(statement: Decimal, values: Sequence[Decimal]) -> bool:
    """Return whether a number is a sum of neighbours, or the rest that they leave of a total.

    "242 passed", where the row has a total of 256, and 1, 1 and 12 that did not.
    """
    for place in range(len(values)):
        group = values[place : place + _IN_ROW]
        whole = max(group)
        for size in range(2, len(group)):
            for parts in combinations(group, size):
                if whole not in parts and statement in (sum(parts), whole - sum(parts)):
                    return True
    return False


@lru_cache(maxsize=512)
def _numbers_of(support: Support) -> tuple[_RowNumber, ...]:
    """Return the value of an entry, and the further numbers of its row."""
    numbers = list[_RowNumber]()
    about = kinds_of(support.about)
    if support.value is not None:
        kinds = list(support.kinds)
        # A long passage may speak of a target; the value is one only if its measure says so.
        kinds[LIMIT] = about[LIMIT]
        numbers.append(_RowNumber(support.value, support.unit, tuple(kinds), is_value=True))
    text = support.whole
    values_in_text = {fact.value for fact in facts_of(support.text) if fact.value is not None}
    for fact in facts_of(text):
        if fact.value is None or len(numbers) >= _MOST_NUMBERS:
            continue
        neighbours = kinds_beside(fact, text)
        rows = list(neighbours)
        rows[SUBJECT] = neighbours[SUBJECT] or about[SUBJECT]
        # A limit is of the entry's own quantity, any other number of the row only of its subject.
        if neighbours[LIMIT]:
            rows = [
                words or other_numbers
                for words, other_numbers in zip(neighbours, about, strict=True)
            ]
        key = _KEY_BEFORE.search(text[max(0, fact.start - _LONGEST_KEY) : fact.start])
        by_key = unit_of_key(key[1]) if key else None
        unit = unit_behind(fact, text) or (by_key.unit if by_key else "") or support.unit
        value = fact.value
        if support.value is not None and value == support.value:
            continue
        is_alone = support.value is None and values_in_text == {value}
        numbers.append(_RowNumber(value, unit, tuple(rows), is_alone=is_alone))
    return tuple(numbers)


def has_unit(text: str, position: int) -> bool:
    """Return whether a unit begins at a position."""
    return _UNIT.match(text, position) is not None


def unit_behind(fact: Fact, text: str) -> str:
    """Return the unit behind a number: `%`, `ms`, `s`, `min`, `h`, `d`, `/s`, a size, or ""."""
    match = _UNIT.match(text, fact.end)
    # "290 of 300 ms" has its unit behind the whole.
    total = _WHOLE_BEHIND.match(text, fact.end) if match is None else None
    if total is not None:
        match = _UNIT.match(text, total.end())
    if match is None or match["scale"]:
        return "%" if fact.percent else ""
    unit = match["unit"].lower()
    if fact.percent or unit.startswith(("%", "per")):
        return "%"
    for beginnings, short in _TIMES.items():
        if unit.startswith(beginnings):
            return short
    if "/s" in unit or "per second" in unit or unit in ("rps", "tps"):
        return "/s"
    if unit in ("kb", "mb", "gb", "kib", "mib", "gib"):
        return unit
    if unit.startswith(("ms", "milli")):
        return "ms"
    return "min" if unit.startswith("min") else unit[0]


def _has_decimals(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent < 0


def _rounds_to(value: Decimal, statement: Decimal) -> bool:
    """Return whether a value, rounded to the digits of another, is that one."""
    exponent = statement.as_tuple().exponent
    return isinstance(exponent, int) and round(value, max(0, -exponent)) == statement


def _converted(number: _RowNumber, unit: str) -> Decimal | None:
    """Return the value in a unit, or None if it cannot be converted."""
    value = number.value
    if unit == "%":
        if number.unit == "ratio":
            return value * 100
        if number.unit == "%":
            return value
        return None
    if unit in _SECONDS:
        if number.unit not in _SECONDS:
            return None
        return value * _SECONDS[number.unit] / _SECONDS[unit]
    if unit == "/s":
        return value if number.unit in ("/s", "") else None
    if unit:
        return value if number.unit == unit else None
    return value
