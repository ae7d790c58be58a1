"""Advice whose insights stand in a playbook, with what a person says to them there."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from transom.errors import InputError
from transom.learning import Curator, InsightCategory, Playbook, Source
from transom.studies.advice import Advice, Insight

_BY = "studies"


class PlaybookAdvice(Advice):
    """Text and standing of insights lie in the playbook, what programs need of them in the folder.

    What is retired in the playbook does nothing; what a person confirmed there acts whatever came of it.
    """

    def __init__(self, folder: Path, playbook: Playbook) -> None:
        super().__init__(folder)
        self.playbook = playbook

    def name(self, insight: Insight, known: Collection[str]) -> str:
        source = Source(study=insight.sources[0] if insight.sources else "", by=_BY)
        category, tags = InsightCategory(insight.category), [insight.scope, insight.kind]
        key = self.playbook.add_insight(category, insight.content, tags=tags, source=source).id
        # The playbook may hold two insights for one whose numbers differ; here they stay two.
        return next(name for n in count(1) if (name := key if n == 1 else f"{key}/{n}") not in known)

    def add(self, insight: Insight) -> str:
        key = super().add(insight)
        with suppress(InputError):  # it is retired, or another one says the same
            if "/" not in key and self.playbook.require(key).content != insight.content:
                Curator(self.playbook).edit(key, content=insight.content, by=_BY)
        return key

    def insights(self, scope: str) -> list[Insight]:
        return [replace(one, mark=self._mark(one.id)) for one in super().insights(scope)]

    def outcome(self, insight_id: str, *, helpful: bool, source: str) -> None:
        super().outcome(insight_id, helpful=helpful, source=source)
        # A rule's own predictions are tried by going against it: it is borne out where that ends badly.
        mistake, study_name = insight_id.startswith("mis"), source.rpartition("/")[0]
        known, key = Source(study=study_name, by=_BY), insight_id.partition("/")[0]
        self.playbook.record_outcome(key, helpful != mistake, followed=not mistake, source=known, key=source)

    def _mark(self, key: str) -> str:
        known = self.playbook.get(key.partition("/")[0])
        return "" if known is None else "veto" if known.retired else "pin" if known.confirmed_at else ""
