"""Features that are similar to one, and what was found open there.

Features are similar if they depend on the same things, if they are about the topic of the question,
or, where it asks for the same issues, if the same criteria are open. The answer names what they
share, from the documents and reports of today and from earlier investigations.
"""

from __future__ import annotations

from collections.abc import Sequence

from transom.investigator.deciding import Decision
from transom.investigator.feature_lists import (
    STATES,
    chosen_criteria,
    name_of,
    open_points,
    words_ignored,
)
from transom.investigator.feature_parts import parts_by_feature
from transom.investigator.features import Feature
from transom.investigator.inquiry import Inquiry
from transom.investigator.reading.dependency_sentences import NamedThing
from transom.investigator.reading.documents import lines_of
from transom.investigator.release import judge_feature
from transom.investigator.remembering import RememberedFeature, remembered_features
from transom.investigator.similar_questions import SimilarQuestion, similar_question

_OPEN = ("fail", "unknown")


async def similar_features(inquiry: Inquiry, question: str, own_name: str = "") -> list[str]:
    """Return the lines on similar features and their issues; none for another question.

    Args:
        own_name: the feature that was spoken of, for which "it" and a bare "similar" stand.
    """
    asked_for = similar_question(question, inquiry.data, own_name)
    if asked_for is None:
        return []
    comparison = _Comparison(inquiry, asked_for)
    return comparison.lines(
        await remembered_features(inquiry.memory, comparison.things, asked_for.topic)
    )


class _Comparison:
    """Compares the features of a folder with a reference or a topic.

    Attributes:
        things: what the reference depends on.
    """

    def __init__(self, inquiry: Inquiry, asked_for: SimilarQuestion) -> None:
        self._inquiry = inquiry
        self._asked_for = asked_for
        self._data = inquiry.data
        self._parts = parts_by_feature(inquiry.data)
        self.things = list[str]()
        if asked_for.reference is not None:
            self.things += self._parts[asked_for.reference.feature_id].dependencies
        stages = inquiry.policy.stages
        stage = stages[-1]
        self._decisions = {row.feature_id: self._judged(row, stage) for row in self._data.features}
        criteria = next(iter(self._decisions.values())).criteria
        self._chosen, self._used_words = chosen_criteria(asked_for.rest, criteria)
        self._stage = stage
        # "Ready for UAT" names a stage, "UAT issues" a criterion.
        target = inquiry.policy.stage_in(asked_for.rest)
        if not self._chosen and target is not None and target != stage:
            self._stage = target
            for feature in self._data.features:
                self._decisions[feature.feature_id] = self._judged(feature, target)

    def lines(self, remembered: Sequence[RememberedFeature]) -> list[str]:
        """Return the similar features with their issues, what was found before, and the rest."""
        lines = [self._heading()]
        other_names = list[str]()
        for feature in self._data.features:
            if feature == self._asked_for.reference:
                continue
            shared = self._shared(feature)
            if shared is None:
                other_names.append(feature.summary)
                continue
            lines += self._issues(feature, shared)
            for row in remembered:
                if row.feature_id == feature.feature_id:
                    lines.append(f"  investigated before: {row.text}")
        ids_here = {feature.feature_id for feature in self._data.features}
        for row in remembered:
            if row.feature_id not in ids_here:
                also = f" (depends on {', '.join(row.shared)}, too)" if row.shared else ""
                lines.append(f"As investigated before, {row.text}{also}.")
        if len(lines) == 1:
            lines.append("No such feature is in the folder or was investigated before.")
        if other_names:
            lines.append(f"Not so for {len(other_names)} in the folder: {'; '.join(other_names)}.")
        ignored = words_ignored(self._asked_for.rest, self._used_words, self._inquiry.policy)
        if ignored:
            lines.append(f"Not considered: {', '.join(ignored)}.")
        return lines

    def _heading(self) -> str:
        """Return the line that says by what the features were chosen."""
        reference, topic = self._asked_for.reference, self._asked_for.topic
        if topic:
            return f"Features that name {topic}:"
        if reference is None:
            return "No feature is named that others could be similar to, so all are listed:"
        if self._asked_for.wants_same_issues:
            if not self._open_names(reference):
                return f"Nothing that the question asks for is open for {reference.summary}:"
            return f"Features with criteria open that are open for {reference.summary}, too:"
        if not self.things:
            return (
                f"No document says what {reference.summary} depends on, so nothing tells which"
                " features are similar:"
            )
        return (
            f"Features that depend on the same as {reference.summary} ({', '.join(self.things)}):"
        )

    def _shared(self, feature: Feature) -> str | None:
        """Return what a feature shares, with its places; None if it is not similar."""
        reference, topic = self._asked_for.reference, self._asked_for.topic
        if topic:
            return self._place_of(topic, feature)
        if reference is None:
            return ""
        if self._asked_for.wants_same_issues:
            own, other = self._open_names(reference), self._open_names(feature)
            return "; ".join(name for name in other if name in own) or None
        parts = self._parts[feature.feature_id]
        shared = parts.dependencies_shared_with(self._parts[reference.feature_id])
        named_places = list[str]()
        for name, places in shared.items():
            named_places.append(f"{name} ({', '.join(places)})")
        return f"depends on {', '.join(named_places)}" if named_places else None

    def _place_of(self, topic: str, feature: Feature) -> str | None:
        """Return the first place of a feature that names a topic: its name, else a document."""
        named_thing = NamedThing(topic)
        if named_thing.find(feature.summary):
            return "in its name"
        for file in self._data.docs(feature):
            for mention in named_thing.mentions(lines_of(file.path)):
                if mention.kind != "alike":
                    return f"{file.source}#line:{mention.line}: {mention.quote}"
        return None

    def _open_names(self, feature: Feature) -> list[str]:
        names = list[str]()
        for row in self._decisions[feature.feature_id].criteria:
            is_asked_for = row.id in self._chosen if self._chosen else row.required
            if row.status in _OPEN and is_asked_for:
                names.append(row.name)
        return names

    def _issues(self, feature: Feature, shared: str) -> list[str]:
        """Return the lines on a similar feature: what is open, and what it shares."""
        decision = self._decisions[feature.feature_id]
        lines = list[str]()
        for row in decision.criteria:
            if row.id in self._chosen:
                state = STATES.get(row.status, f"is {row.status}")
                lines.append(f"{name_of(feature)}: {row.name}: {state}: {row.why}")
        if not lines:
            open_ = open_points(decision) or "; nothing is open"
            lines.append(f"{name_of(feature)}: {decision.verdict} for {self._stage}{open_}")
        return [*lines, f"  in common: {shared}"] if shared else lines

    def _judged(self, feature: Feature, stage: str) -> Decision:
        inquiry = self._inquiry
        return judge_feature(
            self._data, feature, inquiry.policy, stage, inquiry.as_of, inquiry.waivers
        )
