"""The playbook: insights that gain or lose standing by the outcomes of those who used them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from transom.canonical import Json
from transom.errors import InputError
from transom.learning.insight import Insight, InsightCategory, Source, bound, supports
from transom.learning.ledger import INDEX, Ledger, PlaybookEvent
from transom.learning.retrieval import Ranked, View, Wish, choose, counts_of, fit, same, text_of
from transom.learning.snapshot import Snapshot
from transom.learning.tasks import PROFILES, TaskType, profile_of
from transom.llm.turns import Egress
from transom.memory import Embedder
from transom.memory.index import Index
from transom.runs import Artifact, Run, Stage, text_file
from transom.store.codec import now
from transom.store.tables import Connection

Level = Literal["global", "domain", "study"]

PLAYBOOK_TOKENS = 5_000
"""What a playbook may take of a window where nobody says otherwise."""

_LONGEST = 4_000  # characters of an insight


class Playbook:
    """A playbook in a database, seen from one domain, study and person; safe for several processes and threads.

    Args:
        path: the database, e.g. a workspace's; None for one in memory, which ends with this object.
        domain, study, user: see `View`.
        embedder: see `transom.memory.find_embedder`; None: search is by words alone.
        clock: the time, UTC, ISO 8601.

    Raises:
        StoreError: the database cannot be used.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        domain: str = "",
        study: str = "",
        user: str = "",
        embedder: Embedder | None = None,
        clock: Callable[[], str] = now,
    ) -> None:
        self.view = View(domain, study, user)
        self.ledger = Ledger(path)
        self.clock = clock
        self.index = Index(self.ledger.tables, INDEX, embedder)

    def close(self) -> None:
        """Let go of the database. Closing twice does no harm."""
        self.ledger.tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # what it is asked

    def get(self, item_id: str) -> Insight | None:
        """The insight, living or not, or None."""
        found = self.ledger.insights("id = ?", (item_id,))
        return found[0] if found else None

    def require(self, item_id: str) -> Insight:
        """The insight. InputError: there is none of that id."""
        found = self.get(item_id)
        if found is None:
            raise InputError(f"there is no insight {item_id!r}", where="playbook", hint="see: transom playbook list")
        return found

    @property
    def items(self) -> dict[str, Insight]:
        """All living insights that are seen from here, by id, in the order in which they were added."""
        return {one.id: one for one in self.ledger.insights(*self.view.living(self.clock()))}

    @property
    def epoch(self) -> int:
        """The number of the newest event; 0 for none."""
        return int(self.ledger.tables.query("SELECT coalesce(max(seq), 0) FROM insight_events")[0][0])

    def events(self, item_id: str | None = None) -> list[PlaybookEvent]:
        """What happened to an insight, or to all, in order."""
        return self.ledger.events(item_id)

    def get_stats(self) -> dict[str, Any]:
        """Counts over the living insights that are seen from here."""
        where, values = self.view.visible
        retired = self.ledger.insights(f"retired != '' AND {where}", values)
        return {**counts_of([*self.items.values()]), "retired": len(retired)}

    def get_by_category(self, category: InsightCategory) -> list[Insight]:
        """The living insights of a category, those that stand best first."""
        found = [one for one in self.items.values() if one.category is category]
        return sorted(found, key=lambda one: (-one.lower_bound, one.id))

    def choose(self, wish: Wish) -> list[Ranked]:
        """The best insights for a wish, the best first."""
        return choose(self.ledger, self.index, self.view, wish, self.clock())

    def search_by_content(self, query: str, category: InsightCategory | None = None, limit: int = 5) -> list[Insight]:
        """The insights whose words or meaning fit a query, the best first."""
        found = self.choose(Wish(query, category=category, limit=3 * limit, fill=False))
        return [one.insight for one in sorted(found, key=lambda one: -one.relevance)][:limit]

    def get_context_for_task(
        self,
        task_type: TaskType | str,
        max_items: int = 20,
        min_confidence: float = 0.5,
        tags: Iterable[str] | None = None,
        *,
        query: str = "",
        tokens: int | None = None,
    ) -> str:
        """The insights that a kind of work is to be shown, as text; "" for none. See `Wish`.

        Args:
            task_type: a `TaskType`, or free words, which are then searched for too.
            tokens: what they may take, as estimated; None: the part of 5,000 that the kind of work is given.
        """
        profile = profile_of(task_type)
        words = query or ("" if task_type in PROFILES else str(task_type))
        wish = Wish(words, profile, None, frozenset(tags or ()), max_items, min_confidence)
        room = int(PLAYBOOK_TOKENS * profile.share) if tokens is None else tokens
        return text_of(fit(self.choose(wish), profile, room))

    def snapshot(self, task: TaskType | str = "", *, local: bool = True) -> Snapshot:
        """A source of blocks that stays as the playbook is now; `local`: also what must not leave this machine."""
        wish = Wish(profile=profile_of(task), min_confidence=0.5, before=self.epoch, local=local)
        return Snapshot(self.choose, wish)

    async def recall(self, run: Run, stage: str, query: str, tokens: int = PLAYBOOK_TOKENS) -> Artifact[str]:
        """What fits a query, as the text of a block; asked once, so that a run that is resumed sees the same."""

        async def step(_: Stage, query: str) -> str:
            # Who answers is not known yet, so what must stay on this machine is left out.
            return "\n".join(block.text for block in await self.snapshot(local=False).blocks(query, tokens))

        return await run.stage(stage, step, query, out=text_file("playbook.txt"))

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
            category, content, tags, overrides, valid_from, valid_until, egress: see `Insight`.
            source_trial: number of the trial that it was learned from.
            source: where it was learned; goes before `source_trial`.
            level: how wide it holds; None: in the domain, or everywhere where there is none.
            personal: it is only its user's own.

        Returns:
            The insight that stands. It may be a retired one, since what evidence condemned is not learned again.

        Raises:
            InputError: an empty or overlong text, a level that this playbook has no name for, an id that is none.
        """
        draft = Insight(
            "", category, content, tags=(*(tags or ()),), sources=(source or Source(trial=source_trial),),
            scope=self._scope(level), owner=self._owner(personal), overrides=overrides, valid_from=bound(valid_from),
            valid_until=bound(valid_until), egress=egress,
        )  # fmt: skip
        return self.add(draft)[0]

    def add(self, draft: Insight) -> tuple[Insight, bool]:
        """Add one that has no id yet; returns the insight that stands, and whether it is new."""
        draft = replace(draft, content=draft.content.strip())
        if not 0 < len(draft.content) <= _LONGEST:
            what = f"the content has {len(draft.content)} characters" if draft.content else "the content is empty"
            raise InputError(what, where="insight", hint=f"give one fact or rule in at most {_LONGEST} characters")
        if draft.overrides and self.view.rank(self.require(draft.overrides)) < self.view.rank(draft):
            what = f"{draft.overrides} is narrower than an insight in {draft.scope}"
            raise InputError(what, where="playbook", hint="name the domain, the study or the person that it holds for")
        vector = self.index.embed(draft.content)

        def put(run: Connection) -> tuple[str, bool]:
            if there := same(self.ledger, self.index, self.view, draft, vector):
                if not self.require(there).covers(draft):
                    sources = [one.to_json() for one in draft.sources]
                    noted: dict[str, Json] = {"tags": [*draft.tags], "sources": [*sources], "egress": draft.egress}
                    self.ledger.append(run, "seen", there, {**noted, "content": draft.content})
                    self.reindex(run, there)
                return there, False
            key = self.ledger.add(run, draft)
            self.index.put_vector(run, self.reindex(run, key), vector)
            return key, True

        key, added = self.ledger.tables.write(put)
        return self.require(key), added

    def reindex(self, run: Connection, key: str) -> int:
        """Have an insight found by its content and tags as they are now; returns its number for the index."""
        sql = "SELECT number, content, tags FROM insights WHERE id = ?"
        number, content, tags = run.execute(sql, (key,)).fetchone()
        self.index.put_words(run, number, content, " ".join(json.loads(tags)))
        return int(number)

    def embed_missing(self) -> int:
        """Give vectors to insights that were added without this embedder; returns to how many."""
        return self.index.embed_missing("SELECT number, content FROM insights")

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
            item_id: one that was merged stands for what it became part of.
            helpful: the outcome was good.
            followed: see `supports`.
            source: where the outcome comes from.
            key: names the outcome; one of the same key is counted once.

        Returns:
            False where there is no such insight, or its key was counted before.
        """

        def count(run: Connection) -> bool:
            row = run.execute("SELECT id, merged_into FROM insights WHERE id = ?", (item_id,)).fetchone()
            if row is None:
                return False
            insight = row[1] or row[0]
            for_it = supports(InsightCategory(insight.partition("-")[0]), helpful, followed)
            data: dict[str, Json] = {"helpful": helpful, "supports": for_it}
            data |= {"source": source.to_json()} if source else {}
            whole_key = None if key is None else json.dumps([key, insight])
            return self.ledger.append(run, "feedback", insight, data, whole_key) > 0

        return self.ledger.tables.write(count)

    def record(
        self,
        cited: Iterable[str],
        good: bool,
        source: Source,
        *,
        attempt: int = 1,
        kinds: Collection[str] = (),
        followed: bool | None = None,
    ) -> list[str]:
        """Count what came of a piece of work for the insights that were relied on, and for no others.

        A failure says nothing of a mistake unless one of the failure's kinds is among its tags: whoever named it and
        failed at something else has not shown that it holds.

        Args:
            source: run and stage, which with the attempt name the outcome: resumed, it counts once all the same.
            kinds: of what failed, as tags: `convergence`, `mesh`.
            followed: whoever cites an insight did as it says, for certain; None: that is judged by `kinds`.

        Returns:
            The ids that were counted.
        """
        key, known = json.dumps([source.run, source.stage, attempt]), filter(None, map(self.get, dict.fromkeys(cited)))
        told = [one for one in known if good or followed or _is_of(one, kinds)]
        return [one.id for one in told if self.record_outcome(one.id, good, followed=followed, source=source, key=key)]

    def prune_harmful(self, threshold: int = -3) -> int:
        """Retire what evidence condemns: net scores up to that. Returns how many; they stay as tombstones."""

        def retire(run: Connection) -> int:
            where, values = self.view.visible
            clause = f"retired = '' AND helpful + harmful - 2 * against <= ? AND {where}"
            condemned = self.ledger.insights(clause, [min(threshold, -1), *values])  # others nothing condemns
            for one in condemned:
                why = f"net score {one.net_score}: {one.against_count} outcomes against it, {one.for_count} for it"
                self.ledger.append(run, "retired", one.id, {"why": why})
            return len(condemned)

        return self.ledger.tables.write(retire)

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


def _is_of(insight: Insight, kinds: Collection[str]) -> bool:
    """Whether a failure of these kinds speaks for an insight or against it: of a mistake only where it is its own."""
    return insight.category is not InsightCategory.MISTAKE or not {*kinds}.isdisjoint(insight.tags)
