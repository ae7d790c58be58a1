"""Advice: insights and solves that studies of a scope share.

Text, standing and marks of an insight are in a playbook; its data for programs, and the solves of
all studies, in an append-only file beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.errors import InputError
from transom.learning import Curator, InsightCategory, InsightSource, Playbook
from transom.studies.failure_rules import FailureRule, SolveRow, learn
from transom.studies.storage import FileLock, append_line, read_lines

RULE, DESIGN, NUMERICS = "rule", "design", "numerics"
"""Kinds of insight: a rule that rejects designs, a good first design, an error of coarse
settings.
"""

_CATEGORY = {
    RULE: InsightCategory.MISTAKE,
    DESIGN: InsightCategory.STRATEGY,
    NUMERICS: InsightCategory.CALCULATION,
}
_BY = "studies"
_FORGOTTEN = "the trials that it came of are forgotten"


@dataclass(frozen=True)
class StudyInsight:
    """One piece of knowledge of a scope.

    Attributes:
        content: one readable sentence; `data`: its data for programs.
        id: its id in the playbook; if two insights share an entry, the second one has the suffix
            `/2`. helpful, harmful: outcomes that confirmed it, and that refuted it.
        mark: a person's `veto` (never used) or `pin` (used regardless of outcomes).
    """

    scope: str
    kind: str
    content: str
    data: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    helpful: int = 0
    harmful: int = 0
    mark: str = ""

    @cached_property
    def rule(self) -> FailureRule:
        return FailureRule.from_data(self.data)

    @property
    def acts(self) -> bool:
        """Whether it is used: pinned, or not vetoed and, if it is a rule, not refuted by audits."""
        trusted = self.kind != RULE or self.harmful < 2 or self.helpful >= 4 * self.harmful
        return self.mark == "pin" or (self.mark != "veto" and trusted)

    @property
    def identity(self) -> str:
        """Digest of an insight without its numbers."""
        key = self.rule.key if self.kind == RULE else self.data.get("key", self.content)
        return digest([self.scope, self.kind, str(key)])


class Advice:
    """Insights and solves of all scopes; safe for several processes.

    Args:
        playbook: a workspace's playbook; None: one in the folder.
    """

    def __init__(self, folder: Path, playbook: Playbook | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "advice.jsonl"
        self.playbook = playbook or Playbook(folder / "playbook.db")
        self._lock = FileLock(folder / "advice.lock")
        self._counted, self._forgets = 0, 0  # bytes of the file, and events in them

    def add(self, insight: StudyInsight, study: str = "") -> str:
        """Store an insight of a study; returns its id. An equal one with other numbers takes
        them over.
        """
        source = InsightSource(study=study, by=_BY)
        with self._lock:
            # The lock covers reading and writing: two studies may learn the same rule at one time.
            insights_by_identity = {item.identity: item for item in self._latest()}
            if equal_insight := insights_by_identity.get(insight.identity):
                key = equal_insight.id
                with suppress(InputError):  # it is retired, or another one has that text
                    if "/" not in key and self.playbook.require(key).content != insight.content:
                        Curator(self.playbook).edit(key, content=insight.content, by=_BY)
            else:
                tags, taken_ids = (
                    [insight.scope, insight.kind],
                    {item.id for item in insights_by_identity.values()},
                )
                # A playbook merges equal texts, so two rules with one sentence share an entry. They
                # are told
                # apart here by a suffix, since each has data of its own.
                entry = self.playbook.add_insight(
                    _CATEGORY[insight.kind], insight.content, tags=tags, source=source
                )
                first = entry.id
                # Other trials say the same. What a person retired is not learned again.
                if entry.retired == _FORGOTTEN:
                    Curator(self.playbook).restore(first, by=_BY)
                key = next(
                    name
                    for n in count(1)
                    if (name := first if n == 1 else f"{first}/{n}") not in taken_ids
                )
            event = {"event": "add", "id": key, "scope": insight.scope, "kind": insight.kind}
            append_line(self.path, event | {"content": insight.content, "data": dict(insight.data)})
        return key

    def insights(self, scope: str) -> list[StudyInsight]:
        """Return all insights of a scope with their standing."""
        insights = []
        for insight in self._latest():
            if insight.scope == scope:
                insights.append(self._standing(insight))
        return insights

    def _latest(self) -> list[StudyInsight]:
        """Return the latest version of each insight, in order of addition, without standing."""
        latest: dict[str, StudyInsight] = {}
        for event in read_lines(self.path):
            # Events are replayed in order, so what is learned again after it was forgotten is back.
            if event["event"] == "forget":
                for key, insight in list(latest.items()):
                    if key in event["ids"] or insight.data.get("key") in event["keys"]:
                        del latest[key]
            if event["event"] == "add":
                key = event["id"]
                latest[key] = StudyInsight(
                    event["scope"], event["kind"], event["content"], event["data"], key
                )
        return list(latest.values())

    def _standing(self, insight: StudyInsight) -> StudyInsight:
        entry = self.playbook.get(insight.id.partition("/")[0])
        if entry is None:
            return insight
        mark = "veto" if entry.retired else "pin" if entry.confirmed_at else ""
        return replace(insight, helpful=entry.for_count, harmful=entry.against_count, mark=mark)

    def outcome(self, insight_id: str, *, helpful: bool, study: str, trial: int) -> None:
        """Count an outcome of a used insight; each trial of a study counts once."""
        # A rule is tested by solving a design that it rejects: a failure confirms the rule.
        # Outcomes are counted on the entry; the suffix of a second rule is no part of its id.
        key, mistake = insight_id.partition("/")[0], insight_id.startswith(InsightCategory.MISTAKE)
        source = InsightSource(study=study, trial=trial, by=_BY)
        self.playbook.record_outcome(
            key, helpful != mistake, followed=not mistake, source=source, key=f"{study}/{trial}"
        )

    def withdraw(self, study: str, trials: Iterable[int]) -> None:
        """Take back the outcomes of trials."""
        numbers = set(trials)

        def is_of_trials(source: InsightSource) -> bool:
            return (source.by, source.study) == (_BY, study) and source.trial in numbers

        if numbers:
            Curator(self.playbook).withdraw(is_of_trials, by=_BY)

    def keep(self, scope: str, study: str, rows: Sequence[SolveRow]) -> None:
        """Store the solves of a study, replacing its earlier ones."""
        data = [[dict(row.features), row.failure] for row in rows]
        with self._lock:
            append_line(self.path, {"event": "rows", "scope": scope, "study": study, "rows": data})

    def add_rows(self, scope: str, study: str, rows: Sequence[SolveRow]) -> None:
        """Store solves of a study beside its earlier ones."""
        data = [[dict(row.features), row.failure] for row in rows]
        event = {"event": "more rows", "scope": scope, "study": study, "rows": data}
        with self._lock:
            append_line(self.path, event)

    def forget(self, *, keys: Sequence[str], ids: Sequence[str]) -> None:
        """Drop insights, by the keys in their data or by their ids, and retire their entries."""
        with self._lock:
            before = {insight.id.partition("/")[0] for insight in self._latest()}
            append_line(self.path, {"event": "forget", "keys": list(keys), "ids": list(ids)})
            after = {insight.id.partition("/")[0] for insight in self._latest()}
        # Two insights may share an entry, which stays for the other one.
        for entry in sorted(before - after):
            with suppress(InputError):  # a person has retired it
                Curator(self.playbook).retire(entry, _FORGOTTEN, by=_BY)

    @property
    def version(self) -> tuple[int, int]:
        """Return what changes if the standing of an insight does, by any process."""
        return self.playbook.epoch, self._forgotten_times()

    def _forgotten_times(self) -> int:
        """Return how often something was forgotten."""
        with suppress(FileNotFoundError), self.path.open("rb") as lines:
            lines.seek(self._counted)  # only what came since the last look is read
            for line in lines:
                if line.endswith(b"\n"):
                    self._counted += len(line)
                    self._forgets += b'"event": "forget"' in line
        return self._forgets

    def rules_with_rows(self, scope: str) -> set[str]:
        """Return the ids of the rules that cover a solve which is known today."""
        rows = self.rows(scope)
        rules = []
        for insight in self.insights(scope):
            if insight.kind == RULE:
                rules.append(insight)
        covering = set()
        for insight in rules:
            if any(insight.rule.matches(row.features) for row in rows):
                covering.add(insight.id)
        return covering

    def rows(self, scope: str) -> list[SolveRow]:
        """Return the solves of all studies of a scope."""
        by_study: dict[str, list[SolveRow]] = {}
        for event in read_lines(self.path):
            if event["event"] not in ("rows", "more rows") or event["scope"] != scope:
                continue
            # A study that ends again replaces its rows; one that runs adds to them.
            if event["event"] == "rows":
                by_study[event["study"]] = []
            rows = by_study.setdefault(event["study"], [])
            rows += [SolveRow(features, failure) for features, failure in event["rows"]]
        return list(itertools.chain.from_iterable(by_study.values()))

    def learn(self, scope: str, study: str, in_words: Callable[[str], str] = str) -> list[str]:
        """Learn rules from all solves of a scope and store them, with sentences by `in_words`;
        returns their ids.
        """
        rules = learn(self.rows(scope))
        ids = []
        for rule in rules:
            ids.append(
                self.add(StudyInsight(scope, RULE, in_words(rule.sentence), rule.to_data()), study)
            )
        return ids
