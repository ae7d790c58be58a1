"""What of a verdict can change, and whether the same evidence gives it again: elsewhere, later, further down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from transom.checklist.build.mutation.runtime import Desk, Kept
from transom.checklist.run import Verdict
from transom.sandbox import Sandbox

FURTHER = 3000
"""Blank lines that are put before a file's text: more than anybody looks at who looks at the beginning only."""
_SEEDS = (1, 2)
_AGAIN = 6


@dataclass(frozen=True)
class Result:
    """What of a verdict can change."""

    status: str
    sides: Counter[tuple[str, ...]]
    entries: Counter[tuple[str, ...]]
    fields: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @property
    def violations(self) -> int:
        """How many, waived ones included."""
        return sum(count for (side, *_), count in self.sides.items() if side != "found")

    @property
    def outcome(self) -> tuple[str, Mapping[tuple[str, ...], int]]:
        """The status, and how many entries stand on which side: the same wherever the lines stand."""
        return self.status, self.sides

    def of(self, item: str) -> Mapping[tuple[str, ...], int]:
        """How many entries of one item stand on which side."""
        return {place: count for place, count in self.sides.items() if place[1] == item}


def result_of(verdict: Verdict) -> Result:
    """What of a verdict can change."""
    lists = (
        ("found", verdict.found_items), ("missing", verdict.missing_items),
        ("extra", verdict.extra_items), ("waived", verdict.waived),
    )  # fmt: skip
    sides: Counter[tuple[str, ...]] = Counter()
    entries: Counter[tuple[str, ...]] = Counter()
    fields: dict[tuple[str, str], set[str]] = {}
    for side, found in lists:
        for entry in found:
            place = (side, entry.id, entry.source_file or "")
            sides[place] += 1
            entries[(*place, entry.value, json.dumps(entry.parsed_fields, sort_keys=True))] += 1
            for part in entry.parsed_fields.values():
                for name, value in part.items() if isinstance(part, dict) else ():
                    if isinstance(value, str):
                        fields.setdefault((entry.id, name), set()).add(value)
    return Result(verdict.status, sides, entries, {key: frozenset(texts) for key, texts in fields.items()})


Texts: TypeAlias = Mapping[Path, str]
Try: TypeAlias = Callable[[Kept, Texts], Awaitable[Verdict]]


@dataclass(frozen=True)
class Repeat:
    """Runs a checker again on texts that it has judged.

    Attributes:
        run: one run on the files as they are, some of them with another text.
        sandbox: where it ran before.
        desk: the files' texts.
        movable: files in which a line means the same wherever it stands.
    """

    run: Try
    sandbox: Sandbox
    desk: Desk
    movable: frozenset[Path]

    async def problems(self, before: Sequence[tuple[Texts, Result]]) -> list[str]:
        """What tells the second time from the first.

        Fresh processes with other orders of sets see some of the texts, those that came out otherwise first and the
        files as they are last, each further down.

        Args:
            before: texts and what came of them, in the order in which they were judged.
        """
        (base, *rest) = before
        rest.sort(key=lambda one: one[1].outcome == base[1].outcome)
        for seed in _SEEDS:
            async with Kept(self.sandbox.seeded(seed)) as kept:
                for texts, first in (*rest[:_AGAIN], base):
                    again = result_of(await self.run(kept, self._moved(texts)))
                    if again.outcome != first.outcome:
                        return [await self._why(texts, first)]
            rest = rest[_AGAIN:]
        return []

    async def _why(self, texts: Texts, first: Result) -> str:
        tries = (
            (self.sandbox, texts, "keeps something between calls: the same files give another result after others"),
            *((self.sandbox.seeded(seed), texts, "goes by the order of a set") for seed in _SEEDS),
            (
                self.sandbox,
                self._moved(texts),
                f"gives another result when {FURTHER} blank lines are put before the same lines",
            ),
        )
        said = [said for box, shown, said in tries if (await self._alone(box, shown)).outcome != first.outcome]
        return f"an atom {said[0] if said else tries[0][2]}"

    async def _alone(self, sandbox: Sandbox, texts: Texts) -> Result:
        async with Kept(sandbox) as kept:
            return result_of(await self.run(kept, texts))

    def _moved(self, texts: Texts) -> Texts:
        moved = {path: texts.get(path, self.desk.texts[path]) for path in self.movable}
        return {**texts, **{path: "\n" * FURTHER + text for path, text in moved.items()}}
