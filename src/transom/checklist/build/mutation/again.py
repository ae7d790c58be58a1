"""What of a verdict can change, and whether the same evidence gives it again: elsewhere, later, further down."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from transom.checklist.build.mutation.runtime import Desk, Kept
from transom.checklist.build.mutation.steady import Aside
from transom.checklist.run import Verdict
from transom.sandbox import Sandbox

FURTHER = 3000
"""Blank lines that are put before a file's text: more than anybody looks at who looks at the beginning only."""
FAR = "            \n" * 5500
"""The same for who looks at the first 5,000 lines or 64 KB."""
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
        asides: lines in some of them that are about something else.
    """

    run: Try
    sandbox: Sandbox
    desk: Desk
    movable: frozenset[Path]
    asides: Mapping[Path, Aside]

    async def problems(self, before: Sequence[tuple[Texts, Result]]) -> list[str]:
        """What tells the second time from the first.

        Fresh processes with other orders of sets see some of the texts, those that came out otherwise first and the
        files as they are last, each further down.

        Args:
            before: texts and what came of them, in the order in which they were judged.
        """
        (base, *rest) = before
        rest.sort(key=lambda one: one[1].outcome == base[1].outcome)
        for seed, move in zip(_SEEDS, (self._far, self._aside), strict=True):
            async with Kept(self.sandbox.seeded(seed)) as kept:
                tries = [(texts, first, self._moved) for texts, first in rest[:_AGAIN]]
                for texts, first, way in (*tries, (*base, move)):
                    again = result_of(await self.run(kept, way(texts)))
                    if again.outcome != first.outcome:
                        return [await self._why(texts, first)]
            rest = rest[_AGAIN:]
        return []

    async def _why(self, texts: Texts, first: Result) -> str:
        given = "gives another result when"
        told = " and ".join(dict.fromkeys(repr(line) for aside in self.asides.values() for line in aside.lines))
        tries = (
            (self.sandbox, texts, "keeps something between calls: the same files give another result after others"),
            *((self.sandbox.seeded(seed), texts, "goes by the order of a set") for seed in _SEEDS),
            (self.sandbox, self._moved(texts), f"{given} {FURTHER} blank lines are put before the same lines"),
            (
                self.sandbox,
                self._far(texts),
                f"{given} {len(FAR) >> 10} KB of blank lines are put before the same lines",
            ),
            (self.sandbox, self._aside(texts), f"{given} {told} are added far from them"),
        )
        said = [said for box, shown, said in tries if (await self._alone(box, shown)).outcome != first.outcome]
        return f"an atom {said[0] if said else tries[0][2]}"

    async def _alone(self, sandbox: Sandbox, texts: Texts) -> Result:
        async with Kept(sandbox) as kept:
            return result_of(await self.run(kept, texts))

    def _moved(self, texts: Texts, room: str = "\n" * FURTHER) -> Texts:
        return {**texts, **{path: room + texts.get(path, self.desk.texts[path]) for path in self.movable}}

    def _far(self, texts: Texts) -> Texts:
        return self._moved(texts, FAR)

    def _aside(self, texts: Texts) -> Texts:
        more: dict[Path, str] = {}
        for path, aside in self.asides.items():
            lines = texts.get(path, self.desk.texts[path]).split("\n")
            more[path] = "\n".join([*lines[: aside.after], *aside.lines, *lines[aside.after :]])
        return {**texts, **more}
