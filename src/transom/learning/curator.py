"""Curation of a playbook: single changes, questions for a person, and a report on its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from transom.canonical import Json
from transom.errors import InputError
from transom.learning.insight import HALF_LIFE_DAYS, Insight, InsightSource, bound, days_between
from transom.learning.likeness import fingerprint
from transom.learning.playbook import Playbook
from transom.learning.retrieval import equal_insights
from transom.store import Connection

_BEST = 5  # insights in each list of a report
_FEWEST_OUTCOMES = 4  # outcomes from which mixed evidence is worth a question
_UNSURE = (0.35, 0.65)  # confidence of an insight with mixed evidence


@dataclass(frozen=True)
class ReviewQuestion:
    """A question to a person about an insight.

    Attributes:
        kind: `uncertain`: its evidence is mixed; `near`: its text is close to that of
            `other`; `stale`: it was not used for a long time.
        insight: the insight.
        text: the question.
        other: the insight with the close text; None for the other kinds.
    """

    kind: Literal["uncertain", "near", "stale"]
    insight: Insight
    text: str
    other: Insight | None = None

    def to_json(self) -> dict[str, Json]:
        document: dict[str, Json] = {
            "kind": self.kind,
            "insight": self.insight.id,
            "content": self.insight.content,
            "text": self.text,
        }
        if self.other:
            document |= {"other": self.other.id, "other_content": self.other.content}
        return document


@dataclass(frozen=True)
class Forgotten:
    """What was undone of a run.

    Attributes:
        retired: ids of the insights that came of it alone.
        shared: ids of the insights that came of others, too; they stay.
        withdrawn: number of its outcomes that no longer count.
    """

    retired: tuple[str, ...]
    shared: tuple[str, ...]
    withdrawn: int


def _is_from(source: InsightSource, origin: str) -> bool:
    return origin in (source.run, source.study)


class Curator:
    """An editor of single insights. Each change is an event, and events are never rewritten.

    Its methods raise InputError if an id is unknown, or its insight is retired.
    """

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook

    def merge(self, keep: str, *duplicates: str, by: str = "") -> Insight:
        """Merge duplicates into one insight: it gets their counts, tags and sources, and later
        feedback on them.
        """
        into = self._living(keep)

        def join(run: Connection) -> None:
            # An error in the middle rolls all of them back.
            for key in duplicates:
                if self._living(key).id == into.id:
                    raise InputError(
                        f"{key} cannot be merged into itself",
                        place="playbook",
                        hint="name another one",
                    )
                self._playbook.ledger.append(run, "merged", key, {"into": into.id, "by": by})
            self._playbook.reindex(run, into.id)

        self._playbook.ledger.tables.write(join)
        return self._playbook.require(keep)

    def edit(
        self,
        key: str,
        *,
        content: str | None = None,
        tags: Iterable[str] | None = None,
        valid_from: str | None = None,
        valid_until: str | None = None,
        by: str = "",
    ) -> Insight:
        """Change fields of an insight; its id and counts stay.

        Raises:
            InputError: the text is empty, or another insight has it.
        """
        playbook, insight = self._playbook, self._living(key)
        fields: dict[str, Json] = {
            "tags": None if tags is None else [*tags],
            "valid_from": None if valid_from is None else bound(valid_from),
            "valid_until": None if valid_until is None else bound(valid_until),
        }
        changes: dict[str, Json] = {
            "by": by,
            **{name: value for name, value in fields.items() if value is not None},
        }
        if content is not None and not content.strip():
            raise InputError("the content is empty", place=key, hint="give a text, or retire it")
        if content is not None:
            content = playbook.ledger.tables.cleaned(content)
        # Outside of the transaction: an embedding takes longer than other processes should wait.
        vector = playbook.index.embed(content) if content else None

        def change(run: Connection) -> None:
            if content is not None:
                equal = equal_insights(
                    playbook.ledger,
                    replace(insight, content=content),
                    "id != ? AND scope = ? AND owner = ? AND retired = ''",
                    (key, insight.scope, insight.owner),
                )
                if equal:
                    hint = f"merge them: transom playbook merge {equal[0].id} {key}"
                    raise InputError(f"{equal[0].id} says the same", place=key, hint=hint)
                changes.update(
                    content=content.strip(),
                    fingerprint=fingerprint(content),
                    before=insight.content,
                )
            playbook.ledger.append(run, "edited", key, changes)
            number = playbook.reindex(run, key)
            if content is not None:
                playbook.index.put_vector(run, number, vector)

        playbook.ledger.tables.write(change)
        return playbook.require(key)

    def retire(self, key: str, why: str, *, by: str = "") -> Insight:
        """Hide an insight. It stays as a retired entry, and is not learned again.

        Raises:
            InputError: no reason is given.
        """
        self._living(key)
        if not why.strip():
            raise InputError(
                "no reason is given", place=key, hint="give a reason (--why) for later readers"
            )
        return self._append("retired", key, {"why": why, "by": by})

    def forget(self, origin: str, *, by: str = "") -> Forgotten:
        """Undo what a run or a study left: retire its insights, and take back its outcomes.

        Args:
            origin: id of the run, or name of the study.
            by: the person.

        Raises:
            InputError: nothing came of it.
        """
        retired, shared = [], []
        insights = {item.id: item for item in self._playbook.everywhere()}
        for insight in insights.values():
            origins = [_is_from(source, origin) for source in insight.sources]
            if all(origins) and origins:
                self.retire(insight.id, f"all that came of {origin} is forgotten", by=by)
                retired.append(insight.id)
            elif any(origins):
                shared.append(insight.id)
        withdrawn = self.withdraw(lambda source: _is_from(source, origin), by=by)
        if not (retired or shared or withdrawn):
            raise InputError(
                f"nothing in the playbook came of {origin!r}",
                place="playbook",
                hint="transom playbook show ID names the sources of an insight",
            )
        return Forgotten(tuple(retired), tuple(shared), withdrawn)

    def withdraw(self, is_withdrawn: Callable[[InsightSource], bool], *, by: str = "") -> int:
        """Take back the outcomes whose sources a function selects.

        Returns:
            How many counted until now.
        """
        withdrawn = 0
        for event in self._playbook.events():
            source = InsightSource.from_json(event.data.get("source") or {})
            if event.kind == "feedback" and is_withdrawn(source):
                data = {**event.data, "of": event.seq, "by": by}
                withdrawn += self._append_once("withdrawn", event.insight, data, f"-{event.seq}")
        return withdrawn

    def restore(self, key: str, *, by: str = "") -> Insight:
        """Use a retired insight again.

        Raises:
            InputError: it is not retired, or it was merged.
        """
        insight = self._playbook.require(key)
        if insight.merged_into or not insight.retired:
            problem = "it is not retired"
            if insight.merged_into:
                problem = f"it was merged into {insight.merged_into}"
            raise InputError(problem, place=key, hint="see: transom playbook show")
        return self._append("restored", key, {"by": by})

    def confirm(self, key: str, *, by: str) -> Insight:
        """Record that a person confirms an insight: one outcome for it, and one use."""
        self._living(key)
        return self._append("confirmed", key, {"by": by})

    def distinguish(self, key: str, *, by: str) -> Insight:
        """Record that an insight differs from those that it is near to, and keep them all."""
        self._living(key)
        return self._append("distinct", key, {"by": by})

    def questions(
        self, limit: int | None = 10, insights: Mapping[str, Insight] | None = None
    ) -> list[ReviewQuestion]:
        """Return the questions to ask first: mixed evidence, then near insights, then insights
        that were not used for the longest time.

        Args:
            limit: number of questions at most; None for all of them.
            insights: the living insights that they are about, by their ids [those in the
                playbook's view].
        """
        current_time = self._playbook.clock()
        living = self._playbook.items if insights is None else insights
        uncertain: list[tuple[int, str, ReviewQuestion]] = []
        stale: list[ReviewQuestion] = []
        idle_days: dict[str, float] = {}
        for insight in living.values():
            # A new insight is not stale, and neither is one that a person has confirmed.
            last = max(insight.created_at, insight.last_used, insight.confirmed_at)
            idle_days[insight.id] = days_between(last, current_time)
            if (
                insight.tested >= _FEWEST_OUTCOMES
                and _UNSURE[0] <= insight.confidence <= _UNSURE[1]
            ):
                text = (
                    f"{insight.for_count} outcomes speak for it, {insight.against_count} against"
                    " it. When does it hold?"
                )
                question = ReviewQuestion("uncertain", insight, text)
                uncertain.append((-insight.tested, insight.id, question))
            elif idle_days[insight.id] >= HALF_LIFE_DAYS:
                text = f"It was last used {idle_days[insight.id]:.0f} days ago. Does it still hold?"
                stale.append(ReviewQuestion("stale", insight, text))
        uncertain.sort(key=lambda row: row[:2])
        stale.sort(key=lambda question: (-idle_days[question.insight.id], question.insight.id))
        questions = [question for *_, question in uncertain]
        questions += [*self._near_questions(living), *stale]
        return questions[:limit]

    def _near_questions(self, living: Mapping[str, Insight]) -> Iterator[ReviewQuestion]:
        """Yield a question for each pair of near insights that no person has judged yet."""
        for key, other_key in self._playbook.ledger.open_pairs():
            insight, other = living.get(key), self._playbook.require(other_key)
            # The other insight may have been merged, even into this one.
            other = self._playbook.require(other.merged_into or other.id)
            if insight is None or other.id == insight.id:
                continue
            text = f'{other.id} is near to it: "{other.content}". Do both say the same?'
            if other.retired:
                text = (
                    f'{other.id} is near to it and retired ({other.retired}): "{other.content}".'
                    " Does it hold nevertheless?"
                )
            yield ReviewQuestion("near", insight, text, other)

    def _append(self, kind: str, key: str, data: dict[str, Json]) -> Insight:
        self._playbook.ledger.tables.write(
            lambda run: self._playbook.ledger.append(run, kind, key, data)
        )
        return self._playbook.require(key)

    def _append_once(self, kind: str, key: str, data: dict[str, Json], event_key: str) -> bool:
        """Append an event unless one with its key is there."""
        ledger = self._playbook.ledger
        return ledger.tables.write(lambda run: ledger.append(run, kind, key, data, event_key)) > 0

    def _living(self, key: str) -> Insight:
        insight = self._playbook.require(key)
        if insight.retired:
            raise InputError(
                f"it is retired ({insight.retired})", place=key, hint="restore it first"
            )
        return insight


@dataclass(frozen=True)
class Report:
    """The state of a playbook.

    Attributes:
        created_at: time of the report; UTC, ISO 8601.
        stats: see `Playbook.get_stats`.
        best, worst: the insights with the highest scores, and those with more outcomes against than
            for them.
        questions: the questions to ask a person first.
    """

    created_at: str
    stats: Mapping[str, Any]
    best: list[Insight]
    worst: list[Insight]
    questions: list[ReviewQuestion]


def elsewhere(playbook: Playbook) -> dict[str, int]:
    """Return the number of living insights by scope, for scopes outside of the playbook's view."""
    visible_scopes = playbook.view.scopes
    sql = (
        "SELECT scope, count(*) FROM insights WHERE retired = '' AND scope NOT IN"
        f" ({','.join('?' * len(visible_scopes))})"
    )
    return dict(
        playbook.ledger.tables.query(f"{sql} GROUP BY scope ORDER BY scope", visible_scopes)
    )


def learning_report(playbook: Playbook) -> Report:
    """Return the report of a playbook."""
    tested = [insight for insight in playbook.items.values() if insight.tested]
    tested.sort(key=lambda insight: (-insight.lower_bound, insight.id))
    best = [insight for insight in tested if insight.net_score > 0][:_BEST]
    worst = [insight for insight in reversed(tested) if insight.net_score < 0][:_BEST]
    return Report(
        playbook.clock(), playbook.get_stats(), best, worst, Curator(playbook).questions()
    )
