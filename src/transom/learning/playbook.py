"""The playbook: insights that gain or lose standing by the outcomes of those who used them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from transom.canonical import Json, write_atomic
from transom.errors import InputError
from transom.learning.exchange import export_json, import_json
from transom.learning.insight import Draft, Insight, InsightCategory, Source, supports
from transom.learning.ledger import INDEX, Ledger, PlaybookEvent, next_serial
from transom.learning.likeness import NEARLY, PARAPHRASE, contradict, fingerprint, may_paraphrase
from transom.learning.retrieval import HEADING, Ranked, View, Wish, choose, fit
from transom.learning.snapshot import Snapshot
from transom.learning.tasks import TaskType, profile_of
from transom.llm import Block
from transom.llm.turns import Egress
from transom.memory import Embedder
from transom.memory.index import Index
from transom.store.codec import now
from transom.store.tables import Connection

Level = Literal["global", "domain", "study"]
PLAYBOOK_TOKENS = 5_000
"""What a playbook may take of a window where nobody says otherwise."""

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
            if same := self._same(text, draft, vector):
                if not _known(self.require(same), draft):
                    self.ledger.append(run, "seen", same, {**noted, "content": text})
                    self.reindex(run, same)
                return same, False
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

    # what is looked up

    def get(self, item_id: str) -> Insight | None:
        """The insight, living or not, or None."""
        found = self.ledger.insights("id = ?", (item_id,))
        return found[0] if found else None

    def require(self, item_id: str) -> Insight:
        """The insight.

        Raises:
            InputError: there is none of that id.
        """
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
        """The number of the newest event."""
        return self.ledger.epoch

    def events(self, item_id: str | None = None) -> list[PlaybookEvent]:
        """What happened to an insight, or to all, in order."""
        return self.ledger.events(item_id)

    def choose(self, wish: Wish) -> list[Ranked]:
        """The best insights for a wish, the best first."""
        return choose(self.ledger, self.index, self.view, wish, self.clock())

    def search_by_content(self, query: str, category: InsightCategory | None = None, limit: int = 5) -> list[Insight]:
        """The insights whose words or meaning fit a query, the best first."""
        found = self.choose(Wish(query, category=category, limit=3 * limit, fill=False))
        return [one.insight for one in sorted(found, key=lambda one: -one.relevance)][:limit]

    def get_by_category(self, category: InsightCategory) -> list[Insight]:
        """The living insights of a category, those that stand best first."""
        found = [one for one in self.items.values() if one.category is category]
        return sorted(found, key=lambda one: (-one.lower_bound, one.id))

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
        """The insights that a kind of work is to be shown, as text; "" for none.

        Args:
            task_type: a `TaskType`, or free words, which are then searched for too.
            max_items: how many at most.
            min_confidence: others are left out.
            tags: insights with one of these are worth more.
            query: the task in words.
            tokens: what they may take, as estimated; None: the part of 5,000 that the kind of work is given.
        """
        profile = profile_of(task_type)
        words = query or ("" if task_type in TaskType.__members__.values() else str(task_type))
        wish = Wish(words, profile, None, frozenset(tags or ()), max_items, min_confidence)
        shown = fit(self.choose(wish), profile, int(PLAYBOOK_TOKENS * profile.share) if tokens is None else tokens)
        return "\n".join([HEADING, *(one.line for one in shown)]) if shown else ""

    async def blocks(self, query: str, tokens: int) -> Sequence[Block]:
        """What fits a query, as it stands now; within a session `snapshot` gives the same each time."""
        return await self.snapshot().blocks(query, tokens)

    def snapshot(
        self, task: TaskType | str = "", *, limit: int = 15, tags: Iterable[str] = (), local: bool = True
    ) -> Snapshot:
        """A source of blocks that stays as the playbook is now.

        Args:
            task: the kind of work.
            limit: insights at most.
            tags: insights with one of these are worth more.
            local: whether insights are shown that must not reach a remote provider.
        """
        wanted = frozenset(tags)
        return Snapshot(self.choose, self.epoch, task=task, limit=limit, tags=wanted, local=local)

    def get_stats(self) -> dict[str, Any]:
        """Counts over the living insights that are seen from here."""
        items = [*self.items.values()]
        where, values = self.view.visible
        retired = self.ledger.insights(f"retired != '' AND {where}", values)
        categories = Counter(one.category.value for one in items)
        tested = [one for one in items if one.helpful_count + one.harmful_count]
        return {
            "total_items": len(items),
            "by_category": {one.value: categories[one.value] for one in InsightCategory if categories[one.value]},
            "by_scope": dict(sorted(Counter(one.scope for one in items).items())),
            "total_helpful": sum(one.helpful_count for one in items),
            "total_harmful": sum(one.harmful_count for one in items),
            "untested": len(items) - len(tested),
            "average_confidence": sum(one.confidence for one in tested) / len(tested) if tested else 0.5,
            "retired": len(retired),
        }

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

    def reindex(self, run: Connection, key: str) -> int:
        """Have an insight found by its content and tags as they are now; returns its number for the index."""
        sql = "SELECT number, content, tags FROM insights WHERE id = ?"
        number, content, tags = run.execute(sql, (key,)).fetchone()
        self.index.put_words(run, number, content, " ".join(json.loads(tags)))
        return int(number)

    def embed_missing(self) -> int:
        """Give vectors to insights that were added without this embedder; returns to how many."""
        return self.index.embed_missing("SELECT number, content FROM insights")

    def close(self) -> None:
        """Let go of the database. Closing twice does no harm."""
        self.ledger.tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

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

    def _same(self, text: str, draft: Draft, vector: bytes | None) -> str | None:
        """Id of an insight that says the same: equal, nearly equal, or a paraphrase; a living one before a retired."""
        where, values = self.view.visible
        if draft.overrides:  # it says something else on purpose, unless it was said here before
            where, values = "scope = ? AND owner = ? AND overrides = ?", [draft.scope, draft.owner, draft.overrides]
        equal = self.ledger.insights(f"fingerprint = ? AND {where}", [fingerprint(text), *values])
        if not equal and not draft.overrides:
            near = self.index.sharing(text, NEARLY)
            marks = ",".join("?" * len(near))
            alike = self.ledger.insights(f"number IN ({marks}) AND {where}", [*near, *values])
            equal = [one for one in alike if _alike(one, draft) and not contradict(one.content, text)]
        if not equal and not draft.overrides and vector is not None:
            hits = self.index.search(text, 5, f"SELECT number FROM insights WHERE {where}", values, vector)
            close = [hit.item for hit in hits if (hit.likeness or 0.0) >= PARAPHRASE]
            insights = self.ledger.numbered(close)
            alike = [insights[number] for number in close if number in insights]
            equal = [one for one in alike if _alike(one, draft) and may_paraphrase(one.content, text)]
        best = min(equal, key=lambda one: (bool(one.retired), self.view.rank(one)), default=None)
        return None if best is None else best.merged_into or best.id


def _known(one: Insight, draft: Draft) -> bool:
    """Whether a draft adds nothing to an insight, not even where it was learned."""
    sources = not draft.source.to_json() or draft.source in one.sources
    return sources and {*draft.tags} <= {*one.tags} and draft.egress in ("any", one.egress)


def _alike(one: Insight, draft: Draft) -> bool:
    """What to avoid and what to do are never the same, whatever words they share."""
    return (one.category is InsightCategory.MISTAKE) == (draft.category is InsightCategory.MISTAKE)


def _says_nothing(insight: Insight, outcome: Outcome) -> bool:
    about = {*insight.tags}
    known = insight.category is InsightCategory.MISTAKE and outcome.kinds and about
    return not outcome.good and bool(known) and not about & outcome.kinds
