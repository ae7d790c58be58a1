"""The playbook: a store of insights, whose scores follow from the outcomes of their use."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self

from transom.canonical import Json
from transom.errors import InputError, NotFoundError
from transom.learning.insight import Insight, InsightCategory, InsightSource, bound, supports
from transom.learning.ledger import INDEX, InsightLedger, PlaybookEvent
from transom.learning.retrieval import (
    PlaybookQuery,
    PlaybookView,
    Ranked,
    choose,
    counts_of,
    equal_id,
    fit,
    near,
    text_of,
)
from transom.learning.snapshot import Snapshot
from transom.learning.tasks import PROFILES, TaskType, profile_of
from transom.llm.turns import Egress
from transom.memory import Embedder
from transom.memory.index import Index
from transom.runs import Artifact, Run, Stage, text_file
from transom.store import Connection, StoreLocation
from transom.store.codec import now
from transom.telemetry import Redactor

Level = Literal["global", "domain", "study"]

PLAYBOOK_TOKENS = 5_000
"""Default limit, in tokens, of the playbook's share of a window."""

_LONGEST = 4_000  # characters of an insight, at most


class Playbook:
    """A playbook in a database, viewed from one domain, study and person; safe for several
    processes and threads.

    Args:
        path: the database file, e.g. a workspace's; None for a database in memory.
        domain, study, user: see `View`.
        embedder: see `transom.memory.find_embedder`; None for search by words only.
        clock: returns the time; UTC, ISO 8601.
        read_only: whether to only read; the folder of the database need not be writable.
        redact: removes secrets from stored texts; see `transom.store.open_tables`.

    Raises:
        StoreError: the database cannot be used.
    """

    def __init__(
        self,
        path: StoreLocation | None = None,
        *,
        domain: str = "",
        study: str = "",
        user: str = "",
        embedder: Embedder | None = None,
        clock: Callable[[], str] = now,
        read_only: bool = False,
        redact: Redactor | None = None,
        full_sync: bool = False,
    ) -> None:
        self.view = PlaybookView(domain, study, user)
        self.ledger = InsightLedger(path, read_only=read_only, redact=redact, full_sync=full_sync)
        self.clock = clock
        self.index = Index(self.ledger.tables, INDEX, embedder)

    def close(self) -> None:
        """Close the database. A second call does nothing."""
        self.ledger.tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def of_domain(self, domain: str) -> Playbook:
        """Return this playbook as it is seen from a domain; both use the same open database."""
        playbook = copy(self)
        playbook.view = replace(self.view, domain=domain)
        return playbook

    # reading

    def get(self, item_id: str) -> Insight | None:
        """Return an insight, also a retired one; None if the id is unknown."""
        insights = self.ledger.insights("id = ?", (item_id,))
        return insights[0] if insights else None

    def require(self, item_id: str) -> Insight:
        """Return an insight, also a retired one.

        Raises:
            InputError: the id is unknown.
        """
        insight = self.get(item_id)
        if insight is None:
            raise NotFoundError(
                f"unknown insight {item_id!r}", place="playbook", hint="see: transom playbook list"
            )
        return insight

    @property
    def items(self) -> dict[str, Insight]:
        """Return all living visible insights by id, in the order of insertion."""
        insights = self.ledger.insights(*self.view.living(self.clock()))
        return {insight.id: insight for insight in insights}

    def everywhere(self, scope: str = "", *, is_retired: bool = False) -> list[Insight]:
        """Return the insights of all scopes that are everyone's or this person's, best first.

        Args:
            scope: only this scope, such as `domain/study`; "" for all.
            is_retired: the retired ones instead of the living ones.
        """
        state = "retired = ''"
        if is_retired:
            state = "retired != ''"
        # Own insights of other people stay hidden, also from whoever sees every scope.
        condition, values = f"{state} AND owner IN ('', ?)", [self.view.user]
        if scope:
            condition, values = f"{condition} AND scope = ?", [*values, scope]
        insights = self.ledger.insights(condition, values)
        return sorted(insights, key=lambda insight: (-insight.lower_bound, insight.id))

    @property
    def epoch(self) -> int:
        """Return the number of the newest event; 0 without events."""
        rows = self.ledger.tables.query("SELECT coalesce(max(seq), 0) FROM insight_events")
        return int(rows[0][0])

    def events(self, item_id: str | None = None) -> list[PlaybookEvent]:
        """Return the events of an insight, or of all insights, in order."""
        return self.ledger.events(item_id)

    def outcomes_around(self, insight: Insight) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the outcomes in an insight's scope before and after it was added.

        What became worse after it is a hint that it misleads.

        Returns:
            The number of good outcomes and of all, before; and the same, after.
        """
        of_scope = {item.id for item in self.ledger.insights("scope = ?", (insight.scope,))}
        added_at = 0
        outcomes: dict[str, tuple[int, bool]] = {}
        withdrawn = set()
        for event in self.events():
            if event.kind == "added" and event.insight == insight.id:
                added_at = event.seq
            elif event.kind == "withdrawn":
                withdrawn.add(event.data["of"])
            elif event.kind == "feedback" and event.insight in of_scope:
                # One outcome may count for several insights.
                place = json.dumps(event.data.get("source") or event.seq, sort_keys=True)
                outcomes.setdefault(place, (event.seq, bool(event.data["helpful"])))
        before, after = [0, 0], [0, 0]
        for number, good in outcomes.values():
            if number not in withdrawn:
                side = before if number < added_at else after
                side[0] += good
                side[1] += 1
        return (before[0], before[1]), (after[0], after[1])

    def get_stats(self) -> dict[str, Any]:
        """Return counts of the living visible insights."""
        condition, values = self.view.visible
        retired = self.ledger.insights(f"retired != '' AND {condition}", values)
        return {**counts_of([*self.items.values()]), "retired": len(retired)}

    def get_by_category(self, category: InsightCategory) -> list[Insight]:
        """Return the living insights of a category, best first."""
        insights = [insight for insight in self.items.values() if insight.category is category]
        return sorted(insights, key=lambda insight: (-insight.lower_bound, insight.id))

    def choose(self, wish: PlaybookQuery) -> list[Ranked]:
        """Return the insights that match a wish best, best first."""
        return choose(self.ledger, self.index, self.view, wish, self.clock())

    def search_by_content(
        self, query: str, category: InsightCategory | None = None, limit: int = 5
    ) -> list[Insight]:
        """Return the insights whose words or meaning match a query, best first."""
        # The score also counts outcomes, so more candidates are needed to find the most relevant.
        ranked = self.choose(PlaybookQuery(query, category=category, limit=3 * limit, fill=False))
        ranked.sort(key=lambda candidate: -candidate.relevance)
        return [candidate.insight for candidate in ranked[:limit]]

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
        """Return the insights for a kind of task as text; "" if there are none.

        Args:
            task_type: a `TaskType`, or free words, which are then the query, too.
            max_items, min_confidence, tags, query: see `Wish`.
            tokens: estimated tokens at most; None for the task profile's share of 5,000.
        """
        profile = profile_of(task_type)
        # Free words in place of a kind of task are a query.
        words = query or ("" if task_type in PROFILES else str(task_type))
        wish = PlaybookQuery(words, profile, None, frozenset(tags or ()), max_items, min_confidence)
        if tokens is None:
            tokens = int(PLAYBOOK_TOKENS * profile.share)
        return text_of(fit(self.choose(wish), profile, tokens))

    def snapshot(self, task: TaskType | str = "", *, local: bool = True) -> Snapshot:
        """Return a source of blocks that is fixed at the current epoch.

        Args:
            task: kind of the task.
            local: whether to include insights with egress "local".
        """
        wish = PlaybookQuery(
            profile=profile_of(task), min_confidence=0.5, before=self.epoch, local=local
        )
        return Snapshot(self.choose, wish)

    async def recall(
        self, run: Run, stage: str, query: str, tokens: int = PLAYBOOK_TOKENS
    ) -> Artifact[str]:
        """Return the insights for a query as text.

        It is a stage of the run, so a resumed run reads the same text.
        """

        async def step(_: Stage, query: str) -> str:
            # The provider is not known yet, so insights with egress "local" are left out.
            blocks = await self.snapshot(local=False).blocks(query, tokens)
            return "\n".join(block.text for block in blocks)

        return await run.stage(stage, step, query, out=text_file("playbook.txt"))

    # adding

    def add_insight(
        self,
        category: InsightCategory,
        content: str,
        source_trial: int | None = None,
        tags: Iterable[str] | None = None,
        *,
        source: InsightSource | None = None,
        level: Level | None = None,
        personal: bool = False,
        overrides: str = "",
        valid_from: str = "",
        valid_until: str = "",
        egress: Egress = "any",
    ) -> Insight:
        """Add an insight.

        If an insight with an equal text exists, it gets the new tags and the source instead. An
        insight that is only near to another one is added, and `Curator.questions` asks a person
        whether both say the same.

        Args:
            category, content, tags, overrides, valid_from, valid_until, egress: see `Insight`.
            source_trial: number of the trial that it comes from.
            source: its origin; takes precedence over `source_trial`.
            level: its scope; None for the playbook's domain, or global without a domain.
            personal: whether only the playbook's user sees it.

        Returns:
            The stored insight. It may be retired, since a retired insight is not learned again.

        Raises:
            InputError: the text is empty or too long, the playbook has no name for the level, or an
                id is unknown.
        """
        draft = Insight(
            "",
            category,
            content,
            tags=(*(tags or ()),),
            sources=(source or InsightSource(trial=source_trial),),
            scope=self._scope(level),
            owner=self._owner(personal),
            overrides=overrides,
            valid_from=bound(valid_from),
            valid_until=bound(valid_until),
            egress=egress,
        )
        return self.add(draft)[0]

    def add(self, draft: Insight) -> tuple[Insight, bool]:
        """Add an insight without an id, and return the stored insight and whether it is new.

        See `add_insight`.
        """
        draft = replace(draft, content=self.ledger.tables.cleaned(draft.content.strip()))
        if not 0 < len(draft.content) <= _LONGEST:
            problem = "the content is empty"
            if draft.content:
                problem = f"the content has {len(draft.content)} characters"
            raise InputError(
                problem,
                place="insight",
                hint=f"give one fact or rule in at most {_LONGEST} characters",
            )
        if draft.overrides:
            overridden = self.require(draft.overrides)
            if self.view.rank(overridden) < self.view.rank(draft):
                raise InputError(
                    f"{draft.overrides} is narrower than an insight in {draft.scope}",
                    place="playbook",
                    hint="name the domain, the study or the person that it holds for",
                )
        # Outside of the transaction: an embedding takes longer than other processes should wait.
        vector = self.index.embed(draft.content)

        def put(run: Connection) -> tuple[str, bool]:
            existing = equal_id(self.ledger, self.view, draft)
            if existing:
                # Without news there is no event, so that repetitions do not fill the history.
                if not self.require(existing).covers(draft):
                    fields: dict[str, Json] = {
                        "tags": [*draft.tags],
                        "sources": [source.to_json() for source in draft.sources],
                        "egress": draft.egress,
                        "content": draft.content,
                    }
                    self.ledger.append(run, "seen", existing, fields)
                    self.reindex(run, existing)
                return existing, False
            # Before the draft is indexed: it would be its own neighbour.
            neighbour = near(self.ledger, self.index, self.view, draft, vector)
            key = self.ledger.add(run, draft)
            self.index.put_vector(run, self.reindex(run, key), vector)
            if neighbour:
                self.ledger.append(run, "near", key, {"to": neighbour})
            return key, True

        key, is_new = self.ledger.tables.write(put)
        return self.require(key), is_new

    def reindex(self, run: Connection, key: str) -> int:
        """Update the search index of an insight, and return its number in the index."""
        sql = "SELECT number, content, tags FROM insights WHERE id = ?"
        number, content, tags = run.execute(sql, (key,)).fetchone()
        self.index.put_words(run, number, content, " ".join(json.loads(tags)))
        return int(number)

    def embed_missing(self) -> int:
        """Embed the insights that have no vector, and return their number."""
        return self.index.embed_missing("SELECT number, content FROM insights")

    # outcomes

    def record_outcome(
        self,
        item_id: str,
        helpful: bool,
        *,
        followed: bool | None = None,
        source: InsightSource | None = None,
        key: str | None = None,
    ) -> bool:
        """Count one outcome for or against an insight.

        Args:
            item_id: the insight. For a merged one, the outcome counts for the insight that it was
                merged into.
            helpful: whether the outcome was good.
            followed: see `supports`.
            source: origin of the outcome.
            key: id of the outcome; outcomes with one key count once.

        Returns:
            False if the insight is unknown, or the key was counted before.
        """

        def count(run: Connection) -> bool:
            row = run.execute(
                "SELECT id, merged_into FROM insights WHERE id = ?", (item_id,)
            ).fetchone()
            if row is None:
                return False
            insight = row[1] or row[0]
            category = InsightCategory(insight.partition("-")[0])
            data: dict[str, Json] = {
                "helpful": helpful,
                "supports": supports(category, helpful, followed),
            }
            if source:
                data["source"] = source.to_json()
            # One outcome may count for several insights.
            event_key = None if key is None else json.dumps([key, insight])
            return self.ledger.append(run, "feedback", insight, data, event_key) > 0

        return self.ledger.tables.write(count)

    def record(
        self,
        cited: Iterable[str],
        good: bool,
        source: InsightSource,
        *,
        attempt: int = 1,
        kinds: Collection[str] = (),
        followed: bool | None = None,
    ) -> list[str]:
        """Count the outcome of a piece of work for the insights that it cited, and for no others.

        A failure counts for a mistake only if one of the failure's kinds is among the mistake's
        tags: a failure of another kind is no evidence for it.

        Args:
            cited: ids of the insights; unknown ones are ignored.
            good: whether the outcome was good.
            source: run and stage. With the attempt they identify the outcome, so that a resumed run
                counts it once.
            attempt: number of the attempt.
            kinds: kinds of the failure, as tags: `convergence`, `mesh`.
            followed: whether the cited insights were followed. If that is unknown (None), `kinds`
                decide.

        Returns:
            The ids that were counted.
        """
        key = json.dumps([source.run, source.stage, attempt])
        counted = []
        for item_id in dict.fromkeys(cited):
            insight = self.get(item_id)
            if insight is None or not (good or followed or _is_of(insight, kinds)):
                continue
            if self.record_outcome(item_id, good, followed=followed, source=source, key=key):
                counted.append(item_id)
        return counted

    def prune_harmful(self, threshold: int = -3) -> int:
        """Retire the insights with net scores up to `threshold`, and return their number.

        They stay as retired entries.
        """

        def retire(run: Connection) -> int:
            visible, values = self.view.visible
            condition = f"retired = '' AND helpful + harmful - 2 * against <= ? AND {visible}"
            # A net score of 0 is no evidence against an insight.
            insights = self.ledger.insights(condition, [min(threshold, -1), *values])
            for insight in insights:
                reason = (
                    f"net score {insight.net_score}: {insight.against_count} outcomes against it,"
                    f" {insight.for_count} for it"
                )
                self.ledger.append(run, "retired", insight.id, {"why": reason})
            return len(insights)

        return self.ledger.tables.write(retire)

    def _scope(self, level: Level | None) -> str:
        if level == "global" or (level is None and not self.view.domain):
            return "global"
        # Without a level, an insight belongs to the domain, which is narrower than everything.
        name = self.view.study if level == "study" else self.view.domain
        if not name:
            raise InputError(
                f"no {level} is named", place="playbook", hint=f"open it with {level}=NAME"
            )
        return f"{level or 'domain'}/{name}"

    def _owner(self, personal: bool) -> str:
        if personal and not self.view.user:
            raise InputError(
                "a personal insight needs a user", place="playbook", hint="open it with user=NAME"
            )
        return self.view.user if personal else ""


def _is_of(insight: Insight, kinds: Collection[str]) -> bool:
    """Return whether a failure of these kinds counts for an insight."""
    if insight.category is not InsightCategory.MISTAKE:
        return True
    # A mistake is one of a kind: failures of other kinds say nothing about it.
    return not {*kinds}.isdisjoint(insight.tags)
