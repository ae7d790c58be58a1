"""The playbook: insights that gain or lose standing by the outcomes of those who used them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from transom.canonical import Json, write_atomic
from transom.errors import InputError
from transom.learning.duplicates import adds_nothing, same
from transom.learning.exchange import export_json, import_json
from transom.learning.insight import Draft, Insight, InsightCategory, Source, supports
from transom.learning.ledger import next_serial
from transom.learning.likeness import fingerprint
from transom.learning.reader import PlaybookReader
from transom.llm.turns import Egress
from transom.store.tables import Connection

Level = Literal["global", "domain", "study"]

_LONGEST = 4_000  # characters of an insight


@dataclass(frozen=True)
class Outcome:
    """What came of a piece of work. One outcome counts once for an insight, however often its run is resumed.

    Attributes:
        good: whether it went well.
        run, stage, attempt: which piece of work it was.
        kinds: of what failed, as tags: `convergence`, `mesh`.
        source: more on where it comes from.
    """

    good: bool
    run: str
    stage: str = ""
    attempt: int = 1
    kinds: frozenset[str] = frozenset()
    source: Source = field(default_factory=Source)


class Playbook(PlaybookReader):
    """A playbook in a database, seen from one domain, study and person; safe for several processes and threads.

    Args:
        path: the database, e.g. a workspace's; None for one in memory, which ends with this object.
        domain, study, user: see `View`.
        embedder: see `transom.memory.find_embedder`; None: search is by words alone.
        clock: the time, UTC, ISO 8601.

    Raises:
        StoreError: the database cannot be used.
    """

    # what is added

    def add_insight(
        self,
        category: InsightCategory,
        content: str,
        source_trial: int | None = None,
        tags: Iterable[str] | None = None,
        *,
        source: Source | None = None,
        level: Level | None = None,
        personal: bool = False,
        overrides: str = "",
        valid_from: str = "",
        valid_until: str = "",
        egress: Egress = "any",
    ) -> Insight:
        """Add an insight, unless one that says the same is there; that one then learns the tags and the source.

        Args:
            category: what it is about.
            content: its text, at most 4,000 characters.
            source_trial: number of the trial that it was learned from.
            tags: by which it is found.
            source: where it was learned; goes before `source_trial`.
            level: how wide it holds; None: in the domain, or everywhere where there is none.
            personal: it is only its user's own.
            overrides: id of a wider insight that it stands in for here.
            valid_from, valid_until: when it holds, ISO 8601, the end exclusive.
            egress: `local` where it must not reach a remote provider.

        Returns:
            The insight that stands. It may be a retired one, since what evidence condemned is not learned again.

        Raises:
            InputError: an empty or overlong text, a level that this playbook has no name for, an id that is none.
        """
        known = source or Source(trial=source_trial)
        scope, owner = self._scope(level), self._owner(personal)
        wanted = Draft(
            category, content, [*(tags or ())], known, scope, owner, overrides, valid_from, valid_until, egress
        )
        return self.add(wanted)[0]

    def add(self, draft: Draft) -> tuple[Insight, bool]:
        """Add what was drafted; returns the insight that stands, and whether it is new."""
        text = draft.content.strip()
        if not text or len(text) > _LONGEST:
            what = "the content is empty" if not text else f"the content has {len(text)} characters"
            raise InputError(what, where="insight", hint=f"give one fact or rule in at most {_LONGEST} characters")
        if draft.overrides and self.view.rank(self.require(draft.overrides)) < self.view.rank(draft):
            what = f"{draft.overrides} is narrower than an insight in {draft.scope}"
            raise InputError(what, where="playbook", hint="name the domain, the study or the person that it holds for")
        vector = self.index.embed(text)

        def put(run: Connection) -> tuple[str, bool]:
            noted: dict[str, Json] = {"tags": [*draft.tags], "egress": draft.egress}
            if told := draft.source.to_json():
                noted["sources"] = [told]
            if there := same(self, text, draft, vector):
                if not adds_nothing(self.require(there), draft):
                    self.ledger.append(run, "seen", there, {**noted, "content": text})
                    self.reindex(run, there)
                return there, False
            key = f"{draft.category.value}-{next_serial(run):05}"
            noted |= {
                "category": draft.category.value, "content": text, "fingerprint": fingerprint(text),
                "scope": draft.scope, "owner": draft.owner, "overrides": draft.overrides,
                "valid_from": draft.valid_from, "valid_until": draft.valid_until,
            }  # fmt: skip
            self.ledger.append(run, "added", key, noted)
            self.index.put_vector(run, self.reindex(run, key), vector)
            return key, True

        key, added = self.ledger.tables.write(put)
        return self.require(key), added

    # what came of it

    def record_outcome(
        self,
        item_id: str,
        helpful: bool,
        *,
        followed: bool | None = None,
        source: Source | None = None,
        key: str | None = None,
    ) -> bool:
        """Count one outcome for or against an insight.

        Args:
            item_id: its id; one that was merged stands for what it became part of.
            helpful: the outcome was good.
            followed: whether the insight was followed, see `supports`.
            source: where the outcome comes from.
            key: names the outcome; one of the same key is counted once.

        Returns:
            Whether it was counted: False where there is no such insight, or its key was counted before.
        """

        def count(run: Connection) -> bool:
            row = run.execute("SELECT id, merged_into FROM insights WHERE id = ?", (item_id,)).fetchone()
            if row is None:
                return False
            insight = row[1] or row[0]
            for_it = supports(InsightCategory(insight.partition("-")[0]), helpful, followed)
            data: dict[str, Json] = {"helpful": helpful, "supports": for_it}
            if source:
                data["source"] = source.to_json()
            whole_key = None if key is None else json.dumps([key, insight])
            return self.ledger.append(run, "feedback", insight, data, whole_key) > 0

        return self.ledger.tables.write(count)

    def record(self, outcome: Outcome, cited: Iterable[str], *, violated: Iterable[str] = ()) -> list[str]:
        """Count an outcome for the insights that were relied on, and for no others.

        A failure says nothing of a mistake that is about something else: where the kinds of the failure are known
        and none is among its tags, it is not counted.

        Args:
            outcome: what came of the work.
            cited: ids that a reply named, or that the program itself acted on.
            violated: ids of insights that were gone against.

        Returns:
            The ids that were counted.
        """
        told = outcome.source
        source = Source(outcome.run, outcome.stage, told.trial, told.study, told.by)
        key = json.dumps([outcome.run, outcome.stage, outcome.attempt])
        against = {*violated}
        counted = []
        for item in dict.fromkeys((*cited, *against)):
            insight = self.get(item)
            if insight is None or (item not in against and _says_nothing(insight, outcome)):
                continue
            followed = False if item in against else None
            if self.record_outcome(item, outcome.good, followed=followed, source=source, key=key):
                counted.append(item)
        return counted

    def prune_harmful(self, threshold: int = -3) -> int:
        """Retire the insights that evidence condemns: those with that net score or less. Returns how many.

        They stay as tombstones, so that they are not learned again; see `Curator.restore`.
        """

        def retire(run: Connection) -> int:
            where, values = self.view.visible
            clause = f"retired = '' AND helpful + harmful - 2 * against <= ? AND {where}"
            condemned = self.ledger.insights(clause, [threshold, *values])
            for one in condemned:
                why = f"net score {one.net_score}: {one.against_count} outcomes against it, {one.for_count} for it"
                self.ledger.append(run, "retired", one.id, {"why": why})
            return len(condemned)

        return self.ledger.tables.write(retire)

    def save(self, path: Path) -> None:
        """Write the insights that are seen from here to a JSON file, the same bytes for the same insights."""
        write_atomic(path, export_json(self).encode())

    @classmethod
    def load(cls, path: Path) -> Self:
        """A playbook in memory with the insights of a JSON file.

        Raises:
            InputError: the file cannot be read as a playbook.
        """
        playbook = cls()
        import_json(playbook, path)
        return playbook

    @classmethod
    def beside(cls, path: Path) -> Self:
        """A playbook in a database beside a JSON file, which it takes in where it is there; `save` writes the file."""
        playbook = cls(path.with_suffix(".db"))
        if path.exists():
            import_json(playbook, path)
        return playbook

    def _scope(self, level: Level | None) -> str:
        if level == "global" or (level is None and not self.view.domain):
            return "global"
        name = self.view.study if level == "study" else self.view.domain
        if not name:
            raise InputError(f"no {level} is named", where="playbook", hint=f"open it with {level}=NAME")
        return f"{level or 'domain'}/{name}"

    def _owner(self, personal: bool) -> str:
        if personal and not self.view.user:
            raise InputError("nobody is named whose own it is", where="playbook", hint="open it with user=NAME")
        return self.view.user if personal else ""


def _says_nothing(insight: Insight, outcome: Outcome) -> bool:
    about = {*insight.tags}
    known = insight.category is InsightCategory.MISTAKE and outcome.kinds and about
    return not outcome.good and bool(known) and not about & outcome.kinds
