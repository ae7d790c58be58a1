"""Looking things up in a playbook: its insights, what fits a task, and what happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from transom.errors import InputError
from transom.learning.insight import Insight, InsightCategory
from transom.learning.ledger import INDEX, Ledger, PlaybookEvent
from transom.learning.retrieval import HEADING, Ranked, View, Wish, choose, fit
from transom.learning.snapshot import Snapshot
from transom.learning.tasks import TaskType, profile_of
from transom.llm import Block
from transom.memory import Embedder
from transom.memory.index import Index
from transom.runs import Artifact, Run, Stage, text_file
from transom.store.codec import now
from transom.store.tables import Connection

PLAYBOOK_TOKENS = 5_000
"""What a playbook may take of a window where nobody says otherwise."""


class PlaybookReader:
    """What a playbook is asked; see `Playbook`."""

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
    def elsewhere(self) -> dict[str, int]:
        """How many living insights there are in scopes that are not seen from here."""
        marks = ",".join("?" * len(self.view.scopes))
        sql = f"SELECT scope, count(*) FROM insights WHERE retired = '' AND scope NOT IN ({marks}) GROUP BY scope"
        return dict(self.ledger.tables.query(f"{sql} ORDER BY scope", self.view.scopes))

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

    async def recall(self, run: Run, stage: str, query: str, tokens: int = PLAYBOOK_TOKENS) -> Artifact[str]:
        """What fits a query, as the text of a block; asked once, so that a run that is resumed sees the same."""

        async def step(_: Stage, query: str) -> str:
            # Who answers is not known yet, so what must stay on this machine is left out.
            return "\n".join(block.text for block in await self.snapshot(local=False).blocks(query, tokens))

        return await run.stage(stage, step, query, out=text_file("playbook.txt"))

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
