"""Whose evidence it is, and from when: each source is compared with what is asked for.

The feature is taken from its folder. Commit, branch, version and image count if the question or the
policy names them. A source that names another one is no evidence; one that names none is reported,
and holds a READY back only for what was named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from transom.evidence.caps import Cap, caps_of_identity
from transom.evidence.dates import PrintedDate, freshness_of, read_date
from transom.evidence.identity import (
    Identity,
    IdentityFact,
    IdentityMatch,
    IdentityRequirement,
    compare_identity,
)
from transom.evidence.subject_names import Facet, same_name
from transom.formats.measurements import Reading, SubjectFact
from transom.investigator.features import Feature
from transom.investigator.reading.subjects import newest_date
from transom.investigator.reading.vocabulary import key_words, word_set

NAMED: tuple[Facet, ...] = ("commit", "branch", "version", "image")
"""Facets that a question or a policy may name beside the feature."""
# A review of the issue, and what was planned, may be older than what was built.
_DATED_KINDS = ("analysis",)
_IN_QUESTION: dict[Facet, re.Pattern[str]] = {
    "commit": re.compile(r"\b(?:commit|revision|sha)\s+([0-9a-f]{7,40})\b", re.IGNORECASE),
    "branch": re.compile(r"\b(?:on|of|from)\s+(?:the\s+)?branch\s+([\w./-]*\w)", re.IGNORECASE),
    "version": re.compile(r"\b(?:version|release)\s+(v?\d[\w.-]*\w|v?\d)", re.IGNORECASE),
    "image": re.compile(r"\b(?:image)\s+([\w./-]+:[\w.-]+\w)", re.IGNORECASE),
}
_ISSUE_KEY = re.compile(r"(?<![A-Za-z0-9-])[A-Z][A-Z0-9]{1,9}-\d{1,7}(?![\d-])")
_SMALL = word_set("the a an of for to in on at and or with by feature epic story project")


@dataclass(frozen=True)
class SubjectProblem:
    """A statement of a source that makes it no evidence for this case."""

    text: str
    fact: SubjectFact


@dataclass(frozen=True)
class RequiredSubject:
    """What the evidence must be about, and how old it may be.

    Attributes:
        requirements: what the question or the policy names beside the feature.
        max_age: how old a report may be; None for any age.
        is_date_required: whether a report without a date holds a READY back.
    """

    feature: Feature
    as_of: date
    requirements: tuple[IdentityRequirement, ...] = ()
    max_age: timedelta | None = None
    is_date_required: bool = False

    def problems(self, reading: Reading) -> list[SubjectProblem]:
        """Return why a source is no evidence: another subject, or too old."""
        problems = list[SubjectProblem]()
        for fact in reading.subject:
            if fact.facet == "feature" and not names_feature(self.feature, fact.text):
                text = f"{reading.source} is of {fact.text!r}, not of {self.feature.feature_id}"
                problems.append(SubjectProblem(text, fact))
        for match in self._matches(reading):
            if match.outcome == "differs":
                fact = next(fact for fact in reading.subject if fact.facet == match.facet)
                problems.append(SubjectProblem(f"{reading.source}: {match.message}", fact))
        newest = newest_date(reading.subject)
        if newest is not None and self.max_age is not None and reading.kind in _DATED_KINDS:
            problems += self._age_problems(reading, newest)
        return problems

    def _age_problems(self, reading: Reading, newest: SubjectFact) -> list[SubjectProblem]:
        printed = read_date(newest.text)
        if not isinstance(printed, PrintedDate) or self.max_age is None:
            return []
        # The day of the judgement counts as a whole: reports are written until its end.
        end_of_day = datetime(
            self.as_of.year, self.as_of.month, self.as_of.day, tzinfo=UTC
        ) + timedelta(days=1)
        # A report from the future is of another case, or its clock is wrong.
        if printed.earliest > end_of_day:
            text = f"{reading.source} is dated {newest.text}, after {self.as_of}"
            return [SubjectProblem(text, newest)]
        if freshness_of(printed, end_of_day, self.max_age) == "stale":
            days = self.max_age.days
            text = (
                f"{reading.source} is of {printed.day}, more than {days} days before {self.as_of}"
            )
            return [SubjectProblem(text, newest)]
        return []

    def caps(self, reading: Reading) -> list[Cap]:
        """Return what a source does not say although it was asked for."""
        # An unreadable report is held back for that, and not a second time.
        if reading.kind not in _DATED_KINDS or not reading.usable:
            return []
        caps = list(caps_of_identity(self._matches(reading), reading.source))
        if self.is_date_required and newest_date(reading.subject) is None:
            caps.append(Cap("identity", f"{reading.source} does not say its date", reading.source))
        return [
            Cap(cap.rule, f"{reading.source}: {cap.text}", reading.source)
            if not cap.text.startswith(reading.source)
            else cap
            for cap in caps
        ]

    def _matches(self, reading: Reading) -> Sequence[IdentityMatch]:
        identity = Identity(
            tuple(IdentityFact(fact.facet, fact.text, reading.source) for fact in reading.subject)
        )
        if reading.kind not in _DATED_KINDS:
            return ()
        return compare_identity(identity, self.requirements)


def named_in(question: str) -> list[IdentityRequirement]:
    """Return the commit, branch, version and image that a question names."""
    requirements = list[IdentityRequirement]()
    for facet, pattern in _IN_QUESTION.items():
        # The word before the value is required: "2.1" alone may be anything.
        match = pattern.search(question)
        if match is not None:
            requirements.append(IdentityRequirement(facet, match[1], "the question"))
    return requirements


def without_requirements(question: str) -> str:
    """Return a question without the commit, branch, version and image that it names."""
    for pattern in _IN_QUESTION.values():
        question = pattern.sub(", ", question)
    return question


def names_feature(feature: Feature, text: str) -> bool:
    """Return whether a text names a feature, or says nothing that another feature could mean."""
    own_names = [feature.feature_id, feature.jira_key, feature.folder, feature.summary]
    names = []
    for name in own_names:
        if name:
            names.append(name)
    # An id, a key, a folder and a title are all names of the same feature.
    if any(same_name("feature", name, text) == "same" for name in names):
        return True
    keys = _ISSUE_KEY.findall(text)
    if keys:
        own_keys = []
        for name in names:
            for key in _ISSUE_KEY.findall(name):
                own_keys.append(key)
        # Without a key of its own nobody can say whether another one is meant.
        return not own_keys or any(key in own_keys for key in keys)
    words = _words([text])
    own_words = _words(names)
    return not words or words <= own_words or _words([feature.summary]) <= words


def _words(texts: Iterable[str]) -> set[str]:
    words = set()
    for text in texts:
        for word in key_words(text.replace("-", " ")):
            words.add(word)
    return words - _SMALL
