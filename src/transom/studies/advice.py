"""The advice store: insights that studies of a scope hand over to each other.

`AdviceStore` is all that a study needs of a playbook; `FileAdvice` is one that keeps an append-only file of events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from transom.canonical import digest
from transom.studies.rules import Row, Rule, learn
from transom.studies.storage import FileLock, cut_torn_line

RULE, DESIGN, NUMERICS = "rule", "design", "numerics"
"""Kinds of insight: a rule that rejects, a good design to begin with, what coarse settings hide."""

_CATEGORY = {RULE: "mis", DESIGN: "str", NUMERICS: "cal"}


@dataclass(frozen=True)
class Insight:
    """One piece of knowledge of a scope.

    Attributes:
        id: given by the store.
        scope: the family of studies that it holds for.
        kind: `rule`, `design` or `numerics`.
        content: one readable sentence.
        data: what a program needs of it.
        helpful: outcomes that bore it out; harmful: those that did not.
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
        return _CATEGORY.get(self.kind, "dom")

    @property
    def rule(self) -> Rule:
        return Rule.from_data(self.data, helpful=self.helpful, harmful=self.harmful, id=self.id)


class AdviceStore(Protocol):
    """A store of insights, safe for several processes."""

    def add(self, insight: Insight) -> str:
        """Keep an insight and give its id; one that says the same with other numbers takes them over."""

    def insights(self, scope: str) -> Sequence[Insight]:
        """All insights of a scope."""

    def outcome(self, insight_id: str, *, helpful: bool, source: str) -> None:
        """Count one outcome of an insight that was used; `source` names study and trial, each counts once."""


class RowStore(Protocol):
    """The solves of all studies, as rows to learn from."""

    def keep(self, scope: str, study: str, rows: Sequence[Row]) -> None:
        """Keep the rows of a study in the place of those that it left before."""

    def rows(self, scope: str) -> Sequence[Row]:
        """The rows of all studies of a scope."""


class FileRows:
    """Rows in `rows.jsonl`, one line for each time a study ended; the last one of a study counts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "rows.jsonl"
        self._lock = FileLock(folder / "rows.lock")

    def keep(self, scope: str, study: str, rows: Sequence[Row]) -> None:
        data = [[dict(row.features), row.failure] for row in rows]
        with self._lock.locked():
            _append(self.path, {"scope": scope, "study": study, "rows": data})

    def rows(self, scope: str) -> list[Row]:
        last = {event["study"]: event["rows"] for event in _events(self.path) if event["scope"] == scope}
        return [Row(features, failure) for rows in last.values() for features, failure in rows]


class FileAdvice:
    """Insights in `advice.jsonl`: appended events, projected when they are read."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "advice.jsonl"
        self._lock = FileLock(folder / "advice.lock")

    def name(self, insight: Insight, known: Collection[str]) -> str:
        """An id for a new insight; `known` are those that are taken."""
        return f"{insight.category}-{len(known) + 1:05d}"

    def add(self, insight: Insight) -> str:
        key = identity(insight)
        with self._lock.locked():
            known = {identity(one): one.id for one in self._project()}
            insight_id = known.get(key) or self.name(insight, known.values())
            event: dict[str, Any] = {"event": "add", "id": insight_id, "scope": insight.scope, "kind": insight.kind}
            event |= {"content": insight.content, "data": dict(insight.data), "sources": list(insight.sources)}
            _append(self.path, event)
        return insight_id

    def insights(self, scope: str) -> list[Insight]:
        return [one for one in self._project() if one.scope == scope]

    def outcome(self, insight_id: str, *, helpful: bool, source: str) -> None:
        with self._lock.locked():
            _append(self.path, {"event": "outcome", "id": insight_id, "helpful": helpful, "source": source})

    def _project(self) -> list[Insight]:
        found: dict[str, Insight] = {}
        counted: set[tuple[str, str]] = set()
        for event in _events(self.path):
            one = found.get(event["id"])
            match event["event"]:
                case "add":
                    sources = dict.fromkeys((*(one.sources if one else ()), *event["sources"]))
                    blank = one or Insight(event["scope"], event["kind"], "", id=event["id"])
                    fresh = {"content": event["content"], "data": event["data"], "sources": tuple(sources)}
                    found[event["id"]] = replace(blank, **fresh)
                case "outcome" if one and (event["id"], event["source"]) not in counted:
                    counted.add((event["id"], event["source"]))
                    name = "helpful" if event["helpful"] else "harmful"
                    found[event["id"]] = replace(one, **{name: getattr(one, name) + 1})
        return list(found.values())


def identity(insight: Insight) -> str:
    """The digest of an insight without its numbers."""
    if insight.kind == RULE:
        return digest([insight.scope, RULE, *map(str, insight.rule.key)])
    return digest([insight.scope, insight.kind, str(insight.data.get("key", insight.content))])


def keep_rules(
    advice: AdviceStore, rows: RowStore, scope: str, study: str, in_words: Callable[[str], str] = str
) -> list[str]:
    """Learn rules from all rows of a scope and keep them, their sentences `in_words`; gives their ids."""
    found = [
        Insight(scope, RULE, in_words(one.sentence), one.to_data(), sources=(study,)) for one in learn(rows.rows(scope))
    ]
    return [advice.add(one) for one in found]


def active_rules(insights: Iterable[Insight]) -> list[Rule]:
    """The rules that may reject: not vetoed, and trusted or pinned."""
    rules = [one for one in insights if one.kind == RULE and one.mark != "veto"]
    return [one.rule for one in rules if one.mark == "pin" or one.rule.trusted]


def _append(path: Path, event: Mapping[str, Any]) -> None:
    with suppress(FileNotFoundError):
        cut_torn_line(path)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(event, sort_keys=True) + "\n")


def _events(path: Path) -> Iterable[dict[str, Any]]:
    """Whole lines of the file; a line that a kill or a full disk cut short is passed over."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue
