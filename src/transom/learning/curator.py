"""Curation of a playbook: single changes, questions for a person, and a report on its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from transom.canonical import Json
from transom.errors import InputError
from transom.learning.insight import HALF_LIFE_DAYS, Insight, InsightCategory, bound, days_between
from transom.learning.likeness import fingerprint
from transom.learning.playbook import Playbook
from transom.store import Connection

_BEST = 5  # insights in each list of a report
_TRIED = 4  # outcomes from which mixed evidence is worth a question
_UNSURE = (0.35, 0.65)  # confidence of an insight with mixed evidence


@dataclass(frozen=True)
class ReviewQuestion:
    """A question for a person on an insight with mixed evidence, or on one that was long not
    used.
    """

    kind: Literal["uncertain", "stale"]
    insight: Insight
    text: str

    def to_json(self) -> dict[str, Json]:
        return {
            "kind": self.kind,
            "insight": self.insight.id,
            "content": self.insight.content,
            "text": self.text,
        }


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
        vector = playbook.index.embed(content) if content else None

        def change(run: Connection) -> None:
            if content is not None:
                print_of = fingerprint(content)
                equal = playbook.ledger.insights(
                    "fingerprint = ? AND id != ? AND scope = ? AND owner = ? AND retired = '' "
                    "AND (category = 'mis') = ?",
                    (
                        print_of,
                        key,
                        insight.scope,
                        insight.owner,
                        insight.category is InsightCategory.MISTAKE,
                    ),
                )
                if equal:
                    hint = f"merge them: transom playbook merge {equal[0].id} {key}"
                    raise InputError(f"{equal[0].id} says the same", where=key, hint=hint)
                changes.update(
                    content=content.strip(), fingerprint=print_of, before=insight.content
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

    def questions(self, limit: int = 10) -> list[ReviewQuestion]:
        """Return the questions to ask first: mixed evidence, then insights that were longest not
        used.
        """
        now, asked = self._playbook.clock(), list[tuple[int, float, str, ReviewQuestion]]()
        for one in self._playbook.items.values():
            idle = days_between(max(one.created_at, one.last_used, one.confirmed_at), now)
            if one.tested >= _TRIED and _UNSURE[0] <= one.confidence <= _UNSURE[1]:
                text = (
                    f"{one.for_count} outcomes speak for it, {one.against_count} against it. When"
                    " does it hold?"
                )
                asked.append((0, -one.tested, one.id, ReviewQuestion("uncertain", one, text)))
            elif idle >= HALF_LIFE_DAYS:
                text = f"It was last used {idle:.0f} days ago. Does it still hold?"
                asked.append((1, -idle, one.id, ReviewQuestion("stale", one, text)))
        return [question for *_, question in sorted(asked, key=lambda row: row[:3])][:limit]

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
