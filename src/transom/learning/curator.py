"""Curation of a playbook: single changes, questions for a person, and a report on its state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from transom.canonical import Json
from transom.errors import InputError
from transom.learning.insight import HALF_LIFE_DAYS, Insight, bound, days_between
from transom.learning.likeness import fingerprint
from transom.learning.playbook import Playbook
from transom.learning.retrieval import equal_insights
from transom.store import Connection

_BEST = 5  # insights in each list of a report
_TRIED = 4  # outcomes from which mixed evidence is worth a question
_UNSURE = (0.35, 0.65)  # confidence of an insight with mixed evidence


@dataclass(frozen=True)
class ReviewQuestion:
    """A question for a person on an insight.

    Attributes:
        kind: `uncertain`: its evidence is mixed; `near`: its text is close to another one's;
            `stale`: it was not used for a long time.
        insight: the insight.
        text: the question.
        other: the insight that it is near to.
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


class Curator:
    """Changes single insights; each change is an event, and no event is ever rewritten.

    InputError: an id is unknown, or its insight is retired.
    """

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook

    def merge(self, keep: str, *others: str, by: str = "") -> Insight:
        """Merge others into one insight: it gets their counts, tags and sources, and later
        feedback on them.
        """
        into = self._living(keep)

        def join(run: Connection) -> None:
            for key in others:
                if self._living(key).id == into.id:
                    raise InputError(
                        f"{key} cannot be merged into itself",
                        where="playbook",
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
        """Change fields of an insight; its id and counts stay. InputError: another insight has
        that text.
        """
        playbook, insight = self._playbook, self._living(key)
        given: dict[str, Json] = {
            "tags": None if tags is None else [*tags],
            "valid_from": None if valid_from is None else bound(valid_from),
            "valid_until": None if valid_until is None else bound(valid_until),
        }
        changes: dict[str, Json] = {
            "by": by,
            **{name: value for name, value in given.items() if value is not None},
        }
        if content is not None and not content.strip():
            raise InputError("the content is empty", where=key, hint="give a text, or retire it")
        if content is not None:
            content = playbook.ledger.tables.cleaned(content)
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
                    raise InputError(f"{equal[0].id} says the same", where=key, hint=hint)
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
        """Hide an insight. It stays as a tombstone and is not learned again. InputError: no
        reason is given.
        """
        self._living(key)
        if not why.strip():
            raise InputError(
                "no reason is given", where=key, hint="give a reason (--why) for later readers"
            )
        return self._append("retired", key, {"why": why, "by": by})

    def restore(self, key: str, *, by: str = "") -> Insight:
        """Show a retired insight again. InputError: it is not retired, or it was merged."""
        insight = self._playbook.require(key)
        if insight.merged_into or not insight.retired:
            what = (
                f"it was merged into {insight.merged_into}"
                if insight.merged_into
                else "it is not retired"
            )
            raise InputError(what, where=key, hint="see: transom playbook show")
        return self._append("restored", key, {"by": by})

    def confirm(self, key: str, *, by: str) -> Insight:
        """Record that a person confirms an insight: one outcome for it, and it is no longer
        stale.
        """
        self._living(key)
        return self._append("confirmed", key, {"by": by})

    def distinguish(self, key: str, *, by: str) -> Insight:
        """Record that an insight and the ones it is near to are different, and keep them all."""
        self._living(key)
        return self._append("distinct", key, {"by": by})

    def questions(self, limit: int | None = 10) -> list[ReviewQuestion]:
        """Return the questions to ask first: mixed evidence, then near insights, then insights
        that were longest not used. `limit` None: all of them.
        """
        now, living = self._playbook.clock(), self._playbook.items
        uncertain, stale = list[tuple[int, str, ReviewQuestion]](), list[ReviewQuestion]()
        idle_days: dict[str, float] = {}
        for insight in living.values():
            last = max(insight.created_at, insight.last_used, insight.confirmed_at)
            idle_days[insight.id] = days_between(last, now)
            if insight.tested >= _TRIED and _UNSURE[0] <= insight.confidence <= _UNSURE[1]:
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

    def _living(self, key: str) -> Insight:
        insight = self._playbook.require(key)
        if insight.retired:
            raise InputError(
                f"it is retired ({insight.retired})", where=key, hint="restore it first"
            )
        return insight


@dataclass(frozen=True)
class Report:
    """The state of a playbook at a time, UTC: its best and worst insights, and questions for a
    person.
    """

    at: str
    stats: Mapping[str, Any]
    best: list[Insight]
    worst: list[Insight]
    questions: list[ReviewQuestion]


def elsewhere(playbook: Playbook) -> dict[str, int]:
    """Count the living insights by scope, for scopes that this playbook's view does not include."""
    seen = playbook.view.scopes
    sql = (
        "SELECT scope, count(*) FROM insights WHERE retired = '' AND scope NOT IN"
        f" ({','.join('?' * len(seen))})"
    )
    return dict(playbook.ledger.tables.query(f"{sql} GROUP BY scope ORDER BY scope", seen))


def learning_report(playbook: Playbook) -> Report:
    """Return the report of a playbook."""
    ordered = sorted(
        (one for one in playbook.items.values() if one.tested),
        key=lambda one: (-one.lower_bound, one.id),
    )
    best = [one for one in ordered if one.net_score > 0][:_BEST]
    worst = [one for one in reversed(ordered) if one.net_score < 0][:_BEST]
    return Report(
        playbook.clock(), playbook.get_stats(), best, worst, Curator(playbook).questions()
    )
