"""Advice: what studies of a scope hand over to each other, in an append-only file of events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.studies.rules import Row, Rule, learn
from transom.studies.storage import FileLock, append_line, read_lines

RULE, DESIGN, NUMERICS = "rule", "design", "numerics"
"""Kinds of insight: a rule that rejects, a good design to begin with, what coarse settings hide."""

_CATEGORY = {RULE: "mis", DESIGN: "str", NUMERICS: "cal"}


@dataclass(frozen=True)
class Insight:
    """One piece of knowledge of a scope.

    Attributes:
        content: one readable sentence; `data`: what a program needs of it.
        id: given by the store.
        helpful, harmful: outcomes that bore it out, and that did not.
        mark: a person's `veto` (never used) or `pin` (used whatever its outcomes).
        sources: names of the studies that it comes from.
    """

    scope: str
    kind: str
    content: str
    data: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    helpful: int = 0
    harmful: int = 0
    mark: str = ""
    sources: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        """The playbook's category: `mis` for what to avoid, `str` for strategies, `cal` for calculations."""
        return _CATEGORY[self.kind]

    @cached_property
    def rule(self) -> Rule:
        return Rule.from_data(self.data)

    @property
    def acts(self) -> bool:
        """True for what is not vetoed, and of rules for those that audits do not condemn, or that are pinned."""
        trusted = self.kind != RULE or self.harmful < 2 or self.helpful >= 4 * self.harmful
        return self.mark == "pin" or (self.mark != "veto" and trusted)

    @property
    def identity(self) -> str:
        """The digest of an insight without its numbers."""
        key = self.rule.key if self.kind == RULE else self.data.get("key", self.content)
        return digest([self.scope, self.kind, str(key)])


class Advice:
    """Insights and solves of all scopes in `advice.jsonl`, projected when they are read; safe for several processes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "advice.jsonl"
        self._lock = FileLock(folder / "advice.lock")

    def name(self, insight: Insight, known: Collection[str]) -> str:
        """An id for a new insight; `known` are those that are taken."""
        return f"{insight.category}-{len(known) + 1:05d}"

    def add(self, insight: Insight) -> str:
        """Keep an insight and give its id; one that says the same with other numbers takes them over."""
        with self._lock:
            known = {one.identity: one.id for one in self._project()}
            insight_id = known.get(insight.identity) or self.name(insight, known.values())
            event: dict[str, Any] = {"event": "add", "id": insight_id, "scope": insight.scope, "kind": insight.kind}
            event |= {"content": insight.content, "data": dict(insight.data), "sources": list(insight.sources)}
            append_line(self.path, event)
        return insight_id

    def insights(self, scope: str) -> list[Insight]:
        """All insights of a scope."""
        return [one for one in self._project() if one.scope == scope]

    def outcome(self, insight_id: str, *, helpful: bool, source: str) -> None:
        """Count one outcome of an insight that was used; `source` names study and trial, each counts once."""
        with self._lock:
            append_line(self.path, {"event": "outcome", "id": insight_id, "helpful": helpful, "source": source})

    def keep(self, scope: str, study: str, rows: Sequence[Row]) -> None:
        """Keep the solves of a study in the place of those that it left before."""
        data = [[dict(row.features), row.failure] for row in rows]
        with self._lock:
            append_line(self.path, {"event": "rows", "scope": scope, "study": study, "rows": data})

    def rows(self, scope: str) -> list[Row]:
        """The solves of all studies of a scope."""
        kept = [one for one in read_lines(self.path) if one["event"] == "rows" and one["scope"] == scope]
        last = {event["study"]: event["rows"] for event in kept}
        return [Row(features, failure) for rows in last.values() for features, failure in rows]

    def learn(self, scope: str, study: str, in_words: Callable[[str], str] = str) -> list[str]:
        """Learn rules from all solves of a scope and keep them, their sentences `in_words`; gives their ids."""
        rules = learn(self.rows(scope))
        return [
            self.add(Insight(scope, RULE, in_words(one.sentence), one.to_data(), sources=(study,))) for one in rules
        ]

    def _project(self) -> list[Insight]:
        found: dict[str, Insight] = {}
        counted: set[tuple[str, str]] = set()
        for event in read_lines(self.path):
            one = found.get(event.get("id", ""))
            match event["event"]:
                case "add":
                    sources = tuple(dict.fromkeys((*(one.sources if one else ()), *event["sources"])))
                    one = one or Insight(event["scope"], event["kind"], "", id=event["id"])
                    found[one.id] = replace(one, content=event["content"], data=event["data"], sources=sources)
                case "outcome" if one and (one.id, event["source"]) not in counted:
                    counted.add((one.id, event["source"]))
                    name = "helpful" if event["helpful"] else "harmful"
                    found[one.id] = replace(one, **{name: getattr(one, name) + 1})
        return list(found.values())
