"""Questions that ask for features: which failed UAT, which have open findings, which are ready.

Each feature of the data folder is judged by the rules when the question is asked. The words of the
question choose the criteria; words that choose nothing are shown as not considered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from transom.investigator.criterion_topics import spoken_words, topic_words
from transom.investigator.deciding import Decision
from transom.investigator.features import Feature
from transom.investigator.policy import CriterionWaiver, Policy
from transom.investigator.question_words import NEUTRAL_WORDS, OPENING, is_grammar
from transom.investigator.reading.dependency_sentences import NamedThing
from transom.investigator.reading.vocabulary import plain_words, singular, word_set
from transom.investigator.release import judge_feature
from transom.investigator.result import CriterionResult
from transom.investigator.sources import DataFolder
from transom.investigator.wording import fold

_LISTS: Final = re.compile(
    OPENING + r"(?:(?:which|what|welche|all|of|the|our|any|other|every|alle|sind) )*"
    r"(?:features?|products?|epics?)\b(?P<predicate>[^?!\n]*)",
    re.IGNORECASE,
)
_FAILED: Final = re.compile(
    r"\b(?:fail\w*|miss\w*|lack\w*|without|open|block\w*|broken|violat\w*|reject\w*|stuck|held"
    r"|unmet|problems?|issues?|below|less|under|low|not|cannot|nicht|fehl\w*|durchgefallen"
    r"|scheitert\w*)\b|n['’]t\b",
    re.IGNORECASE,
)
_PASSED: Final = re.compile(
    r"\b(?:pass\w*|met|meet\w*|ready|fulfil\w*|approved|bestanden|erfüllt|bereit|fertig)\b",
    re.IGNORECASE,
)
_READINESS: Final = re.compile(
    r"\b(?:block\w*|stuck|held|issues?|problems?|bereit|fertig)\b", re.IGNORECASE
)
_READY: Final = re.compile(r"\b(?:ready|readiness|bereit|fertig)\b", re.IGNORECASE)
# Words that ask for the state, the reasons or the list, and choose no criterion.
_ASKING: Final = word_set(
    "fail failed failing failure miss missed missing lack lacking without open opened block blocked"
    " blocking broken violate violated reject rejected stuck held hold back unmet problem problems"
    " issue issues below not cannot pass passed passing meet met fulfil fulfilled approved ready"
    " reason reasons reach reached user still yet they them those these same against currently"
    " production level criterion criteria requirement requirements got one line nicht warum less"
    " than under low"
)
STATES: Final = {"fail": "is not met", "unknown": "is not known", "pass": "is met"}


@dataclass(frozen=True)
class _FeatureQuestion:
    """What a question asks of each feature.

    Attributes:
        text: the question behind its "which features".
        wants_passed: whether it asks for those that hold, not for those that fail.
    """

    text: str
    wants_passed: bool


def feature_list(
    question: str,
    data: DataFolder,
    policy: Policy,
    as_of: date,
    waivers: Sequence[CriterionWaiver] = (),
) -> list[str]:
    """Return the features that a question asks for, each with its criterion and reason.

    Returns:
        No line if the question asks for no features, or for something that no criterion tells.
    """
    asked_for = _question(question, data)
    if asked_for is None:
        return []
    decisions = dict[str, tuple[Feature, Decision]]()
    stage = policy.stages[-1]
    for feature in data.features:
        decision = judge_feature(data, feature, policy, stage, as_of, waivers)
        decisions[feature.feature_id] = feature, decision
    if not decisions:
        return []
    criteria = next(iter(decisions.values()))[1].criteria
    chosen, used_words = chosen_criteria(asked_for.text, criteria)
    # "Not ready for UAT" asks for the verdict at that stage, "failed UAT" for the test.
    if _READY.search(asked_for.text):
        chosen, used_words = [], frozenset()
    ignored = words_ignored(asked_for.text, used_words, policy)
    is_verdict = _READINESS.search(asked_for.text) or _READY.search(asked_for.text) or not ignored
    if chosen:
        lines = _by_criterion(asked_for, decisions, chosen)
        lines += _at_stage(asked_for, data, policy, as_of, waivers)
    elif is_verdict:
        target = policy.stage_in(asked_for.text) or stage
        if target != stage:
            for feature, _ in list(decisions.values()):
                decision = judge_feature(data, feature, policy, target, as_of, waivers)
                decisions[feature.feature_id] = feature, decision
        lines = _by_verdict(asked_for, decisions, target)
    else:
        return []
    if ignored:
        lines.append(f"Not considered: {', '.join(ignored)}.")
    return lines


def _question(question: str, data: DataFolder) -> _FeatureQuestion | None:
    match = _LISTS.match(" ".join(question.split()))
    if match is None:
        return None
    # A question that names a feature is about that one.
    for feature in data.features:
        names = (feature.summary, feature.feature_id, feature.jira_key)
        if any(name and NamedThing(name).find(question) for name in names):
            return None
    text = match["predicate"]
    has_failed = _FAILED.search(text) is not None
    has_passed = _PASSED.search(text) is not None
    if not has_failed and not has_passed:
        return None
    return _FeatureQuestion(text, wants_passed=has_passed and not has_failed)


def chosen_criteria(
    text: str, criteria: Sequence[CriterionResult]
) -> tuple[list[str], frozenset[str]]:
    """Return the ids of the criteria that a text is about, and the words that chose them."""
    topics = {row.id: topic_words(row) for row in criteria}
    shares = dict[str, float]()
    for words in topics.values():
        for word in words:
            shares[word] = shares.get(word, 0.0) + 1.0
    # Words of grammar stand in names of criteria, too: "tells a stage".
    spoken = spoken_words(fold(text), shares) - _ASKING - (NEUTRAL_WORDS - {"deployment"})
    # A word that few criteria share says more: "security review" is one of them.
    weights = dict[str, float]()
    for criterion_id, words in topics.items():
        weights[criterion_id] = sum(1 / shares[word] for word in words & spoken)
    top_weight = max(weights.values(), default=0.0)
    if not top_weight:
        return [], frozenset()
    chosen = [criterion_id for criterion_id, weight in weights.items() if weight == top_weight]
    return chosen, frozenset(spoken)


def _by_criterion(
    asked_for: _FeatureQuestion,
    decisions: Mapping[str, tuple[Feature, Decision]],
    chosen: Sequence[str],
) -> list[str]:
    wanted_states = ("pass", "waived") if asked_for.wants_passed else ("fail", "unknown")
    lines = list[str]()
    other_items = list[str]()
    for feature, decision in decisions.values():
        count = len(lines)
        for row in decision.criteria:
            if row.id in chosen and row.status in wanted_states:
                state = STATES.get(row.status, f"is {row.status}")
                lines.append(f"{name_of(feature)}: {row.name}: {state}: {row.why}")
        if count == len(lines):
            other_items.append(feature.summary)
    # What failed stands before what is not known.
    lines.sort(key=lambda line: ": is not known: " in line)
    return [*lines, *_rest(other_items, has_rows=bool(lines))]


def _by_verdict(
    asked_for: _FeatureQuestion, decisions: Mapping[str, tuple[Feature, Decision]], target: str
) -> list[str]:
    lines = list[str]()
    other_items = list[str]()
    for feature, decision in decisions.values():
        if (decision.verdict == "READY") != asked_for.wants_passed:
            other_items.append(feature.summary)
            continue
        lines.append(f"{name_of(feature)}: {decision.verdict} for {target}{open_points(decision)}")
    return [*lines, *_rest(other_items, has_rows=bool(lines))]


def _at_stage(
    asked_for: _FeatureQuestion,
    data: DataFolder,
    policy: Policy,
    as_of: date,
    waivers: Sequence[CriterionWaiver],
) -> list[str]:
    """Return the features that are NOT_READY for a stage that has the name of the criterion.

    "Failed UAT" may mean the acceptance test, or the promotion to the stage of that name.
    """
    stage = policy.stage_in(asked_for.text)
    if stage is None or stage == policy.stages[-1] or asked_for.wants_passed:
        return []
    lines = list[str]()
    for feature in data.features:
        decision = judge_feature(data, feature, policy, stage, as_of, waivers)
        if decision.verdict == "NOT_READY":
            lines.append(f"  {name_of(feature)}{open_points(decision)}")
    heading = f"NOT_READY for the stage {stage} by its other criteria:"
    return [heading, *lines] if lines else []


def open_points(decision: Decision) -> str:
    """Return what keeps a feature from READY, as the end of a line; "" if nothing does."""
    rows = list[str]()
    for row in decision.criteria:
        if row.required and row.status in ("fail", "unknown"):
            rows.append(f"{row.name}: {STATES[row.status]}: {row.why}")
    rows += [cap.text for cap in decision.capped_by]
    return f"; open: {'; '.join(rows)}" if rows else ""


def name_of(feature: Feature) -> str:
    """Return the name by which lists call a feature."""
    return f"{feature.summary} ({feature.jira_key or feature.feature_id})"


def _rest(summaries: Sequence[str], *, has_rows: bool) -> list[str]:
    """Return the line on the features that the question does not ask for."""
    if not summaries:
        return []
    noun = "feature" if len(summaries) == 1 else "features"
    if not has_rows:
        return [f"None of the {len(summaries)} {noun}: {'; '.join(summaries)}."]
    return [f"Not so for {len(summaries)} other {noun}: {'; '.join(summaries)}."]


def words_ignored(text: str, used_words: frozenset[str], policy: Policy) -> list[str]:
    """Return the words of a question that chose nothing."""
    stage = plain_words(policy.stage_in(text) or "")
    ignored = list[str]()
    for word in plain_words(text):
        own = singular(word)
        is_plain = is_grammar(word) or {word, own} & (NEUTRAL_WORDS | _ASKING) or word in stage
        if is_plain or spoken_words(fold(word), dict.fromkeys(used_words, 1.0)):
            continue
        ignored.append(word)
    return list(dict.fromkeys(ignored))
