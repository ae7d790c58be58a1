"""Holds what a model says of a criterion, a waiver or an approval to that criterion's own status.

A sentence is removed if it contradicts the status: it calls a criterion met that is not, speaks of
a waiver that nobody gave, or calls the feature ready. A sentence about an unmet criterion that
states neither keeps its place with the status behind it. Figures and quotations are not judged
here (see `transom.evidence.claims`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import filterfalse, product, starmap
from operator import attrgetter

from transom.evidence.claims import CheckedSentence, sentences_of
from transom.evidence.facts import facts_of
from transom.investigator.cited_states import (
    denied_state,
    has_part,
    is_good,
    named_rows,
    other_severity,
    repeated_rows,
    tells_condition,
    unrepeated_state,
    with_figure_of_nothing,
    with_figures_of_parts,
)
from transom.investigator.criterion_topics import spoken_words, topic_words
from transom.investigator.ledger import (
    UNCHECKED,
    UNCHECKED_CLAIM,
    UNCHECKED_STATE,
    Evidence,
)
from transom.investigator.reading.vocabulary import singular
from transom.investigator.reading.vocabulary import words as release_words
from transom.investigator.result import CriterionResult, Investigation, Verdict
from transom.investigator.stated_limits import AT_LEAST, says_kept, wrong_comparison
from transom.investigator.wording import FIGURE, QUOTE, StatementClause, clauses_of, fold, words

_CITATION = re.compile(r"\[([A-Za-z]+\d+)\]")
_MARK = re.compile(rf"\((?:{UNCHECKED}|{UNCHECKED_CLAIM}: [^()]{{1,60}})\)(?P<space>\s*)")
_QUOTED = re.compile(r"[\"“«][^\"“”«»\n]{2,600}[\"”»]")
_NAMED = "criterion"
"""Begins the word that stands in a folded text for the whole name of a criterion."""
_TELLING = 0.5
_MOST_ROWS = 4


@dataclass(frozen=True)
class CheckedStatements:
    """A text without the sentences that contradict the criteria, and those sentences."""

    text: str
    removed: tuple[CheckedSentence, ...] = ()


@dataclass(frozen=True)
class Standing:
    """The results that statements are held to.

    Attributes:
        verdict: the final verdict; "ready" may be said only of READY.
        evidence: the ledger's rows.
        names: texts that are names and state nothing: the question, the feature, the stages.
        file: the name of that source.
        limits: the limits that the sources state, by source, measure and label.
        source: the kind of the one source that the text is about, as criteria name it; "" if it is
            about the whole case.
    """

    criteria: Sequence[CriterionResult]
    verdict: Verdict
    evidence: Mapping[str, Evidence]
    names: Sequence[str] = field(default=())
    source: str = ""
    file: str = ""
    limits: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    @cached_property
    def criterion_names(self) -> list[str]:
        return [row.name for row in self.criteria]

    @cached_property
    def unmet(self) -> list[CriterionResult]:
        """The required criteria that neither hold nor are waived."""
        unmet = list[CriterionResult]()
        for row in self.criteria:
            if row.required and row.status in ("fail", "unknown"):
                unmet.append(row)
        return unmet

    def check(self, text: str, *, is_strict: bool = False, marks: bool = True) -> CheckedStatements:
        """Remove the sentences that contradict the criteria.

        Args:
            is_strict: remove every sentence that argues without a checked figure, too; for a model
                whose verdict is better than the rules allow.
            marks: put the status of the criterion behind a sentence about an unmet one that does
                not tell it.
        """
        sentences_kept: list[str] = []
        removed: list[CheckedSentence] = []
        for sentence, mark, gap in _marked_sentences(text):
            # Line breaks and list marks are kept, so that the text stays as it was written.
            checked = _Sentence(self, sentence, is_marked=bool(mark))
            finding = checked.finding() if sentence.strip() else _Finding()
            unproven = is_strict and not finding.is_proven and sentence.strip()
            if finding.wrong or unproven:
                # The mark of a sentence goes with it.
                why = finding.wrong or "it states no checked fact, and the verdict is not granted"
                line = " ".join(sentence.split())
                removed.append(CheckedSentence(line, "contradicted", why))
                continue
            added = ""
            if finding.mismatch and not mark and f"({UNCHECKED})" not in sentence:
                added = f" ({UNCHECKED_STATE}: {finding.mismatch})"
            elif finding.doubt and marks:
                added = f" ({finding.doubt})"
            sentences_kept.append(f"{sentence}{mark}{added}{gap}")
        return CheckedStatements("".join(sentences_kept).strip(), tuple(removed))

    @cached_property
    def topics(self) -> dict[str, frozenset[str]]:
        """The words that tell each criterion apart, by its id."""
        return {row.id: topic_words(row) for row in self.criteria}

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much a word tells: the fewer criteria it is a word of, the more."""
        counts = Counter(word for own in self.topics.values() for word in own)
        return {word: 1 / count for word, count in counts.items() if count <= _MOST_ROWS}

    def weight_of(self, row: CriterionResult, spoken: frozenset[str]) -> float:
        """Return how much spoken words tell of a criterion."""
        return sum(self.weights.get(word, 0) for word in self.topics[row.id] & spoken)

    def owns(self, criterion: CriterionResult, row: Evidence) -> bool:
        """Whether a row is evidence of a criterion, or of the source that it was judged by."""
        if row.id in criterion.evidence:
            return True
        # A text on one source cites places of that source.
        if self.source and criterion.source == self.source:
            return True
        for key in criterion.evidence:
            if key in self.evidence and self.evidence[key].source == row.source:
                return True
        return False

    def keeps_limit(self, row: Evidence) -> bool | None:
        """Return whether a figure keeps the limit that is stated for it; None if none is."""
        try:
            value = float(row.value)
        except ValueError:
            return None
        for other in self.evidence.values():
            is_limit = other.measure == f"{row.measure}.limit" and other.source == row.source
            if is_limit and other.label == f"{row.label} target".strip():
                limit = float(other.value)
                return value >= limit if row.measure.endswith(AT_LEAST) else value <= limit
        # A limit that decided nothing has no entry of its own.
        limit_of_source = self.limits.get((row.source, row.measure, row.label))
        if limit_of_source is not None:
            is_least = row.measure.endswith(AT_LEAST)
            return value >= limit_of_source if is_least else value <= limit_of_source
        # The policy's own limit stands in the criterion that the figure alone decides.
        for criterion in self.criteria:
            if criterion.evidence == [row.id] and criterion.status in ("pass", "fail"):
                return criterion.status == "pass"
        return None

    @cached_property
    def of_people(self) -> frozenset[str]:
        """The ids of the criteria that people decide."""
        reviewed = set()
        for key, row in self.evidence.items():
            if row.measure.startswith("review."):
                reviewed.add(key)
        decided = set()
        for criterion in self.criteria:
            # A name such as "Approved by legal" tells it before anybody has decided.
            is_named_so = any(clause.state == "approved" for clause in clauses_of(criterion.name))
            if is_named_so or reviewed & set(criterion.evidence):
                decided.add(criterion.id)
        return frozenset(decided)

    @cached_property
    def people(self) -> list[tuple[str, Evidence]]:
        """The folded names of those who decided, with their decisions."""
        people = []
        for row in self.evidence.values():
            if row.measure == "review.person" and row.label:
                people.append((fold(row.label), row))
        return people


@dataclass
class _Finding:
    """What is wrong or doubtful in a sentence.

    Attributes:
        mismatch: the cited state that it does not repeat.
        is_proven: whether it states a checked figure, a status that holds, or an open one.
    """

    wrong: str = ""
    doubt: str = ""
    mismatch: str = ""
    is_proven: bool = False


@dataclass
class _Claim:
    """A clause with the criteria that it is about; each group are those it may mean.

    Attributes:
        predicate: the text of the clause that states its state: its own, or one beside it.
    """

    clause: StatementClause
    groups: list[list[CriterionResult]]
    person: Evidence | None = None
    predicate: str = ""


class _Sentence:
    """One sentence of a model, held to a standing."""

    def __init__(self, standing: Standing, sentence: str, *, is_marked: bool = False) -> None:
        self.standing, self.sentence, self.is_marked = standing, sentence, is_marked
        self.cited = [key for key in _CITATION.findall(sentence) if key in standing.evidence]
        self.rows = [standing.evidence[key] for key in self.cited]

    def finding(self) -> _Finding:
        """Return what is wrong, doubtful or proven in the sentence."""
        finding = _Finding(
            wrong=denied_state(self.sentence, self.rows),
            mismatch=self._mismatch(),
        )
        denied: set[str] = set()
        claims = list(self._claims())
        # What the sentence itself denies is no claim: "tests passed, but coverage is not met".
        for claim in claims:
            if claim.clause.tone not in ("denies", "measured"):
                continue
            has_figure = FIGURE in claim.clause.text.split()
            for group in claim.groups:
                # "No high vulnerability, and no high issue [E1]": the figure is one of issues.
                if not has_figure or self._owns_any(group, self.rows):
                    denied.update(map(attrgetter("id"), group))
            finding.is_proven = True
        for claim in claims:
            problem, ids = self._problem(claim)
            if ids and self._is_of_another_source(ids):
                continue
            is_certain = bool(problem) and claim.clause.tone == "asserts"
            if is_certain and not ids & denied and not self._is_uncertain(claim):
                if self._is_reported(claim.clause):
                    finding.mismatch = finding.mismatch or problem
                else:
                    finding.wrong = finding.wrong or problem
            elif problem:
                finding.doubt = finding.doubt or problem
            elif claim.clause.tone == "asserts":
                finding.is_proven = True
        return finding

    def _mismatch(self) -> str:
        """Return the state that the sentence does not repeat: of what it cites, or what it names.

        "CVE-2026-7001 is fixed" names its entry, though it cites nothing.
        """
        rows = self.rows
        if not rows and self.standing.file:
            own = [
                row for row in self.standing.evidence.values() if row.source == self.standing.file
            ]
            rows = named_rows(self.sentence, own)
        return (
            unrepeated_state(self.sentence, rows)
            or other_severity(self.sentence, rows)
            or self._wrong_comparison(rows)
        )

    def _is_reported(self, clause: StatementClause) -> bool:
        """Whether a clause may tell what its source says, though its criterion looks otherwise.

        It does if nothing that it cites is bad news, or if it states that very figure. The status
        of the criterion is then shown beside it.
        """
        # The name of a criterion is said of the criterion, not of what its source says.
        if not self.standing.source or _named_in(clause.text):
            return False
        # "One of three has approved" is no word on the whole; its figures are checked elsewhere.
        if has_part(self.sentence) and clause.state in ("met", "approved"):
            return True
        if clause.state != "met":
            return False
        if not self.rows:
            return not clause.is_universal
        values = {fact.value for fact in facts_of(self.sentence)}
        for row in self.rows:
            is_good_figure = row.value == "0" or self.standing.keeps_limit(row)
            is_stated = any(fact.value in values for fact in facts_of(row.value))
            if not (is_good_figure or is_stated or is_good(row)):
                return False
        return True

    def _wrong_comparison(self, rows: Sequence[Evidence]) -> str:
        """Return what is wrong with "meets its target", by the target of the one figure."""
        if not rows and self.standing.file:
            return self._kept_by_nothing()
        if len(rows) != 1:
            return ""
        row = rows[0]
        is_kept = self.standing.keeps_limit(row)
        return "" if is_kept is None else wrong_comparison(self.sentence, row, is_kept=is_kept)

    def _kept_by_nothing(self) -> str:
        """Return the failed criterion of a source if a sentence that cites nothing says that a
        limit is kept.
        """
        own = [row for row in self.standing.criteria if row.source == self.standing.source]
        missed = [row for row in own if row.status == "fail"]
        is_kept = bool(missed) and says_kept(self.sentence)
        return _status_of(missed[0]) if is_kept else ""

    def _is_of_another_source(self, ids: Collection[str]) -> bool:
        """Whether a sentence on one source, which cites it, was taken for one on other sources."""
        own = {row.id for row in self.standing.criteria if row.source == self.standing.source}
        return bool(self.standing.source and self.cited) and own.isdisjoint(ids)

    def _problem(self, claim: _Claim) -> tuple[str, set[str]]:
        """Return what speaks against a clause, "" for nothing; and the criteria concerned."""
        clause = claim.clause
        if clause.tone not in ("asserts", "silent"):
            return "", set()
        repeated = self._repeated_by(claim)
        groups = list(filterfalse(partial(self._owns_any, rows=repeated), claim.groups))
        if repeated and not groups:
            return "", set()
        # What a person decided is held to that person's decision, not to the whole review.
        if clause.tone == "asserts" and claim.person is not None:
            return self._of_person(claim.person, self.sentence), set()
        if clause.state == "waived" and clause.tone == "asserts":
            return self._of_waiver(claim)
        problem = self._of_groups(clause, groups)
        if problem is not None:
            return problem
        if claim.groups or clause.tone == "silent":
            return "", set()
        # The verdict alone says whether the feature is ready, whatever its criteria look like.
        if clause.state == "ready":
            ready = self.standing.verdict == "READY"
            return "" if ready else f"the verdict is {self.standing.verdict}", set()
        # A sentence without a topic speaks of the one source, if there is one.
        unmet = [] if self.standing.source else self.standing.unmet
        if unmet:
            return (_status_of(unmet[0]), {row.id for row in unmet})
        return ("", set())

    def _of_groups(
        self, clause: StatementClause, groups: Sequence[Sequence[CriterionResult]]
    ) -> tuple[str, set[str]] | None:
        for group in groups:
            unmet = []
            for row in group:
                if row.status != "pass":
                    unmet.append(row)
            if unmet and (clause.tone == "asserts" or all(row.required for row in unmet)):
                return _status_of(unmet[0]), {row.id for row in unmet}
        return None

    def _repeated_by(self, claim: _Claim) -> list[Evidence]:
        """Return the cited places whose state a clause repeats, and does not claim of more."""
        clause = claim.clause
        # The name of a criterion, "all", and "ready" claim more than one place can tell.
        if clause.is_universal or clause.state == "ready" or _named_in(clause.text):
            return []
        return repeated_rows(claim.predicate or clause.text, self.rows)

    def _owns_any(self, group: Sequence[CriterionResult], rows: Sequence[Evidence]) -> bool:
        return any(starmap(self.standing.owns, product(group, rows)))

    def _counts(self, part: str, row: Evidence) -> bool:
        """Whether a row may count what a part of the sentence says there is none of."""
        measured = set(map(singular, fold(row.measure.replace(".", " ")).split()))
        # What else is said must not mean a criterion that the row is no evidence of.
        other_words = [word for word in fold(part).split() if singular(word) not in measured]
        groups = self._meant(StatementClause(" ".join(other_words), "silent"))
        return all(self._owns_any(group, [row]) for group in groups)

    def _is_uncertain(self, claim: _Claim) -> bool:
        """Whether a clause may mean something that holds, so that it is marked, not removed."""
        if claim.person is not None or claim.clause.state == "waived":
            return False
        if claim.groups:
            return not any(all(row.status != "pass" for row in group) for group in claim.groups)
        return claim.clause.state != "ready" and not claim.clause.is_universal

    def _of_waiver(self, claim: _Claim) -> tuple[str, set[str]]:
        waived = []
        for row in self.standing.criteria:
            if row.status == "waived":
                waived.append(row)
        for group in claim.groups:
            if not any(row in waived for row in group):
                return f"{_status_of(group[0])}, and no waiver applies to it", set()
        if not claim.groups and (not waived or (claim.clause.is_universal and self.standing.unmet)):
            return "no such waiver is in the policy or in --waivers", set()
        return "", set()

    def _of_person(self, decision: Evidence, sentence: str) -> str:
        status = release_words().status_of(decision.value)
        if status == "pass":
            return ""
        # "Approved on 10 September, with two conditions" repeats "approved with conditions".
        if status == "conditional" and tells_condition(sentence):
            return ""
        return f'the decision of {decision.label} is "{decision.value[:60]}"'

    def _claims(self) -> Iterator[_Claim]:
        """Yield the clauses, each with its topic: its own, or the one before it."""
        clauses = clauses_of(self._masked())
        claims = [self._claim(clause) for clause in clauses]
        for number, claim in enumerate(claims):
            if claim.clause.tone == "silent":
                claim.clause, claim.predicate = _toned(number, clauses)
            # "The scan is clean and approved": the second part has the topic of the first.
            if not claim.groups and claim.person is None:
                before = []
                for entry in claims[:number]:
                    if entry.groups or entry.person:
                        before.append(entry)
                if before:
                    claim.groups, claim.person = before[-1].groups, before[-1].person
        if not any(claim.groups or claim.person for claim in claims):
            decision = self._cited_decision()
            for claim in claims:
                claim.person = decision
        yield from claims

    def _masked(self) -> str:
        """Return the sentence with names, citations, figures and quotations replaced."""
        text = self.sentence
        for number, row in enumerate(self.standing.criteria):
            for name in (row.name, row.id):
                pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
                text = re.sub(pattern, f"{_NAMED}{number}x", text, flags=re.IGNORECASE)
        labels = []
        for key in self.cited:
            cited_row = self.standing.evidence[key]
            # The label of a decision is a person, whose name the clause is held to.
            if not cited_row.measure.startswith("review."):
                labels.append(cited_row.label)
        for name in sorted([*self.standing.names, *labels], key=len, reverse=True):
            # "UAT" is the name of a stage and a topic; only names with words of a state mislead.
            if words().marks.search(fold(name)):
                text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text, flags=re.IGNORECASE)
        text = _CITATION.sub(" ", text)
        # "Two of three endpoints meet their target" asserts no criterion on all of them.
        text = with_figures_of_parts(text, self.rows)
        # Figures that nobody checked stay what they are: claims. Those of a sentence on one source
        # were found in a row of it, or the sentence is marked.
        if not self.cited and (self.is_marked or not self.standing.file):
            return text
        # "No critical vulnerability is open [E1]", where E1 counts 0 of them.
        text = with_figure_of_nothing(text, self.rows, self._counts)
        text = _QUOTED.sub(f" {QUOTE} ", text)
        for fact in sorted(facts_of(text), key=lambda entry: entry.start, reverse=True):
            if fact.value is not None:
                text = f"{text[: fact.start]} {FIGURE} {text[fact.end :]}"
        return text

    def _claim(self, clause: StatementClause) -> _Claim:
        for name, decision in self.standing.people:
            if re.search(rf"(?<!\S){re.escape(name)}(?!\S)", clause.text):
                return _Claim(clause, [], decision)
        groups = [[self.standing.criteria[number]] for number in _named_in(clause.text)]
        return _Claim(clause, groups or self._meant(clause))

    def _meant(self, clause: StatementClause) -> list[list[CriterionResult]]:
        """Return the criteria that the words of a clause mean, the equally likely ones together."""
        standing = self.standing
        spoken = spoken_words(clause.text, standing.weights)
        rows = list(standing.criteria)
        if clause.state == "approved" and clause.tone == "asserts":
            decided = []
            for row in rows:
                if row.id in standing.of_people:
                    decided.append(row)
            if any(standing.topics[row.id] & spoken for row in decided):
                rows = decided
        groups: list[list[CriterionResult]] = []
        # A clause may name several criteria; each takes its words away from the next.
        while spoken:
            scores = {row.id: standing.weight_of(row, spoken) for row in rows}
            best = max(scores.values(), default=0)
            likely = []
            for row in rows:
                if scores[row.id] == best:
                    likely.append(row)
            least = 0.0
            if groups:
                least = _TELLING
            if best <= least or (groups and len(likely) > 1):
                break
            groups.append(self._cited_of(likely))
            spoken -= frozenset[str]().union(*(standing.topics[row.id] for row in likely))
        return groups

    def _cited_of(self, rows: list[CriterionResult]) -> list[CriterionResult]:
        """Return those of equally likely criteria whose evidence is cited, or all of them."""
        cited = []
        for row in rows:
            if set(row.evidence) & set(self.cited):
                cited.append(row)
        return cited or rows

    def _cited_decision(self) -> Evidence | None:
        for key in self.cited:
            row = self.standing.evidence[key]
            if row.measure in ("review.person", "review.decision"):
                return row
        return None


def standing_of(result: Investigation, ledger: Iterable[Evidence]) -> Standing:
    """Return the standing of an answer, by its final verdict."""
    names = (
        result.question,
        result.feature_name,
        result.feature_id,
        result.target_stage,
        result.current_stage or "",
    )
    return Standing(result.criteria, result.final_verdict, {row.id: row for row in ledger}, names)


def _marked_sentences(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each sentence, the mark behind it with the space before the mark, and the space behind
    both.
    """
    before = ("", "", "")
    for sentence, gap in sentences_of(text):
        mark = _MARK.match(sentence)
        if mark is not None:
            # No full stop ends a mark, so the next sentence begins with it.
            before = (before[0], before[2] + mark[0].rstrip(), mark["space"])
            sentence = sentence[mark.end() :]
            if not sentence:
                before = (*before[:2], gap)
                continue
        yield before
        before = (sentence, "", gap)
    yield before


def _status_of(row: CriterionResult) -> str:
    return f'by the rules, "{row.name}" is {row.status}'


def _toned(number: int, clauses: Sequence[StatementClause]) -> tuple[StatementClause, str]:
    """Return a clause that states nothing with the tone of the one before it, or behind it; and
    the text of that one.

    A name that stands alone is a statement: "User acceptance testing passed".
    """
    clause = clauses[number]
    around = [*reversed(clauses[:number]), *clauses[number + 1 :]]
    spoken = next((entry for entry in around if entry.tone != "silent"), None)
    if spoken is not None:
        toned = StatementClause(clause.text, spoken.tone, spoken.state, spoken.is_universal)
        return toned, spoken.text
    if clause.text.split() and all(word.startswith(_NAMED) for word in clause.text.split()):
        return StatementClause(clause.text, "asserts"), ""
    return clause, ""


def _named_in(text: str) -> list[int]:
    return [int(number) for number in re.findall(rf"{_NAMED}(\d+)x", text)]
