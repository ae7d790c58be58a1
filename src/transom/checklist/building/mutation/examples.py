"""The ItemSpec's examples: atom A must read each alone as the ItemSpec says, and in place of a
real line as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz

from transom.canonical import Json
from transom.checklist.atoms import CheckerConfig, Entry, Requirements, Source, ValidationItem
from transom.checklist.building.mutation.alterations import places
from transom.checklist.building.prober import ParserAnswer, Prober, RealFile
from transom.checklist.judging.entries import field_of, has_field, is_empty, shortfall, show
from transom.checklist.judging.evaluate import evaluate
from transom.checklist.judging.gather import File, GatheredEvidence, classify
from transom.checklist.judging.logic import Logic
from transom.checklist.judging.verdict import Outcome
from transom.checklist.writing.shapes import SpecExample

# Two lines of one kind are alike: they differ in names, numbers and outcome. Below this they are of
# two kinds.
_ALIKE: Final = 60.0
_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Tried:
    """Outcome of one trial: the checker's `problem`, or why there was nothing to try.

    With `spec` the ItemSpec is at fault: the fields are as it says and give another outcome.
    """

    problem: str | None = None
    spec: bool = False
    untried: str | None = None


@dataclass(frozen=True)
class Examples:
    """The trials of one checker."""

    prober: Prober
    config: CheckerConfig
    sources: tuple[Source, ...]
    files: tuple[RealFile, ...]

    async def alone(self, example: SpecExample) -> Tried:
        """Try the example as the whole text of a file.

        An atom that needs more around it must read it in a real file.
        """
        item, name = self._item(example), self.name_of(example)
        if item is None:
            return Tried(untried=f"{_label_of(example)} is of no item of checker.yaml")
        answer = await self.prober.answer(name, _ended(example.text))
        own_entries = _entries_of(item, answer)
        if answer.refused is not None:
            return Tried(untried=f"{_label_of(example)} cannot be read alone: {answer.refused}")
        # Such an example shows what must not become an entry at all.
        if example.outcome == "none":
            if own_entries:
                message = f"is read as an entry: {show(own_entries[0].parsed_fields)}"
            else:
                message = None
            return Tried(
                problem=message
                and f"{_label_of(example)} does not belong to the item, and {message}"
            )
        # Some formats need a header above the line.
        if not own_entries and not _may_be_silent(example, item):
            return await self._only_in_place(example, item)
        problem = _wrong_fields(example, answer.entries)
        if problem:
            return Tried(problem=f"{_label_of(example)}: {problem}")
        judged, _, _ = await self.judged(example, item, Requirements())
        outcome = "fails" if judged.missing_items or judged.extra_items else "holds"
        if outcome == example.outcome:
            return Tried()
        message = (
            f"{_label_of(example)}: the item {outcome}, and the ItemSpec says that it"
            f" {example.outcome}"
        )
        return Tried(problem=message, spec=bool(example.fields))

    async def in_place(self, example: SpecExample) -> Tried | None:
        """Try the example's line in place of the real line that is most like it.

        Returns None if no line is like it.
        """
        item = self._item(example)
        if item and not item.count and example.outcome != "none":
            spot = await self._spot(example, item)
        else:
            spot = None
        if item is None or spot is None:
            return None
        file, number, line = spot
        before = await self.prober.answer(file.name, file.text)
        after = await self.prober.answer(file.name, file.with_line(number, line))
        place = f"{_label_of(example)}, in place of {file.name}:{number},"
        # Refusing the file is noticed, too.
        if after.refused is not None:
            return Tried()
        entries = _entries_of(item, after, number)
        if not entries:
            if after.placed == before.placed:
                return Tried(problem=f"{place} changes nothing")
            return Tried()
        # A field may come from what stands around the line, so only the item's own question is
        # asked.
        outcomes = {_outcome_of(item, entry) for entry in entries}
        if example.outcome in outcomes:
            return Tried()
        if await self._rests_on_others(file, number, item):
            return Tried(
                untried=(
                    f"{place} cannot be tried: the lines around it decide which fields that line"
                    " gives"
                )
            )
        return Tried(
            problem=f"{place} {outcomes.pop()}, and the ItemSpec says that it {example.outcome}"
        )

    async def _rests_on_others(self, file: RealFile, number: int, item: ValidationItem) -> bool:
        """Return whether a real line gives another outcome, or none, alone.

        Such a line is a command with its error below, or an XML element.
        """

        async def outcomes(text: str, line: int) -> set[str]:
            answer = await self.prober.answer(file.name, text)
            return {_outcome_of(item, entry) for entry in _entries_of(item, answer, line)}

        alone = await outcomes(_ended(file.lines[number - 1]), 1)
        return alone != await outcomes(file.text, number)

    async def _only_in_place(self, example: SpecExample, item: ValidationItem) -> Tried:
        """Try an example that an atom reads only among other lines.

        There all its fields must be right.
        """
        spot, placed = await self._spot(example, item), await self.in_place(example)
        if spot is None or placed is None:
            return Tried(
                problem=f"{_label_of(example)} yields no {item.category} with {item.select}"
            )
        file, number, line = spot
        answer = await self.prober.answer(file.name, file.with_line(number, line))
        entries = _entries_of(item, answer, number)
        problem = placed.problem or _wrong_fields(example, entries)
        if problem:
            return Tried(
                problem=f"{_label_of(example)} yields nothing alone; in a real file: {problem}"
            )
        return Tried()

    async def _spot(
        self, example: SpecExample, item: ValidationItem | None
    ) -> tuple[RealFile, int, str] | None:
        """Return the place that the example's deciding line fits.

        It is the file, the line that is replaced, and the line.
        """
        if item is None:
            return None
        line = await self._deciding_line(example, item)
        if line is None:
            return None
        kind = classify(self.name_of(example), self.sources)[0]
        spots: list[tuple[float, RealFile, int]] = []
        for file in self.files:
            if classify(file.name, self.sources)[0] != kind:
                continue
            lines = file.lines
            for entry in (await self.prober.answer(file.name, file.text)).entries:
                if entry.line_number and _belongs(entry, item):
                    spots.append(
                        (fuzz.ratio(lines[entry.line_number - 1], line), file, entry.line_number)
                    )
        # No real file has anything of the item.
        if not spots:
            return None
        score, best, number = max(spots, key=lambda spot: spot[0])
        if score >= _ALIKE:
            return (best, number, line)
        return None

    async def _deciding_line(self, example: SpecExample, item: ValidationItem) -> str | None:
        """Return the line of the entry that decides the example, or the last line without one.

        None if other lines decide as well, or what the text lacks decides: another file may have
        that.
        """
        lines, name = example.text.split("\n"), self.name_of(example)
        answer = await self.prober.answer(name, _ended(example.text))
        own_entries = []
        for answered in answer.entries:
            if answered.line_number and _belongs(answered, item):
                own_entries.append(answered)
        if not own_entries:
            return next((line for line in reversed(lines) if line.strip()), None)
        deciding = [entry for entry in own_entries if _decides(item, entry, example)]
        entry = next(iter(reversed(deciding) if item.take == "last" else deciding), None)
        if entry is None:
            return None
        line = lines[(entry.line_number or 1) - 1]
        if _is_told_elsewhere(example, item, line):
            return None
        # The line has to decide by itself, or it would prove nothing elsewhere.
        single = (await self.prober.answer(name, _ended(line))).entries
        if all(_decides(item, entry, example) for entry in single if _belongs(entry, item)):
            return line
        return None

    async def entries(self, example: SpecExample, item: ValidationItem) -> list[Entry] | None:
        """Return the item's entries of the example alone, or None if it needs lines around it."""
        answer = await self.prober.answer(self.name_of(example), _ended(example.text))
        own_entries = _entries_of(item, answer)
        if answer.refused is not None or not (own_entries or _may_be_silent(example, item)):
            return None
        return own_entries

    async def judged(
        self, example: SpecExample, item: ValidationItem, requirements: Requirements
    ) -> tuple[Outcome, CheckerConfig, GatheredEvidence]:
        """Judge the example for one item, without waivers."""
        return await self.judged_text(
            self.name_of(example), _ended(example.text), item, requirements
        )

    async def judged_text(
        self, name: str, text: str, item: ValidationItem, requirements: Requirements
    ) -> tuple[Outcome, CheckerConfig, GatheredEvidence]:
        """Return the judgement of one item on a text in a file of that name, without waivers."""
        answer = await self.prober.answer(name, text)
        kind, rank = classify(name, self.sources)
        evidence = GatheredEvidence((File(name, kind, rank, lambda: [text]),), answer.entries)
        # There is one file in the trial, so a condition on other files cannot hold.
        alone = item.model_copy(update={"only_with": None})
        config = self.config.model_copy(update={"items": (alone,), "requirements": requirements})
        return await evaluate(config, evidence, Logic()), config, evidence

    def _item(self, example: SpecExample) -> ValidationItem | None:
        return next((item for item in self.config.items if item.id == example.item), None)

    def name_of(self, example: SpecExample) -> str:
        """Return a name for the example's file: its own, a real one, or one of the first kind."""
        if example.file:
            return example.file
        if self.files:
            return self.files[0].name
        glob = next((glob for source in self.sources for glob in source.files), "*.log")
        return glob.replace("*", "example").replace("?", "x")


def _may_be_silent(example: SpecExample, item: ValidationItem) -> bool:
    """Return whether the example's outcome may come of what its text lacks."""
    return not example.fields and (example.outcome == "holds") is (item.mode == "forbid")


def _is_told_elsewhere(example: SpecExample, item: ValidationItem, line: str) -> bool:
    """Return whether another line, such as a heading, states what the item asks of."""
    field_names = [item.condition.field] if item.condition else [item.select, *item.required]
    for fields in example.fields:
        for name, value in fields.items():
            # A truth value is not printed as such, so it can be looked for nowhere.
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                continue
            if name not in field_names or not str(value).strip():
                continue
            if places(example.text, value) and not places(line, value):
                return True
    return False


def _outcome_of(item: ValidationItem, entry: Entry) -> str:
    fulfils = shortfall(item, entry.parsed_fields) is None
    if fulfils is (item.mode == "require"):
        return "holds"
    return "fails"


def _decides(item: ValidationItem, entry: Entry, example: SpecExample) -> bool:
    """Return whether the fields of an entry, none of them empty, give the example's outcome."""
    fields = {item.select, *item.required, *([item.condition.field] if item.condition else [])}
    filled = not any(is_empty(field_of(entry.parsed_fields, name)) for name in fields)
    return filled and _outcome_of(item, entry) == example.outcome


def _label_of(example: SpecExample) -> str:
    first = example.text.strip().split("\n")[0].strip()
    text = first if len(first) <= 70 else f"{first[:67]}..."
    return f"the example of item {example.item} {text!r}"


def _ended(text: str) -> str:
    return f"{text}\n"


def _entries_of(item: ValidationItem, answer: ParserAnswer, line: int | None = None) -> list[Entry]:
    """Return the item's entries of an answer, of one line or of all."""
    entries = []
    for entry in answer.entries:
        if _belongs(entry, item) and line in (None, entry.line_number):
            entries.append(entry)
    return entries


def _belongs(entry: Entry, item: ValidationItem) -> bool:
    return has_field(entry.parsed_fields, item.select)


def _wrong_fields(example: SpecExample, entries: Sequence[Entry]) -> str | None:
    """Return the first field that no entry yields as the ItemSpec says.

    Each expected entry is compared with an entry of its own, in order.
    """
    remaining = list(entries)
    for expected in example.fields:
        # The best fit counts, so that an additional entry before it does no harm.
        wrong = {index: _differences(expected, entry) for index, entry in enumerate(remaining)}
        best = min(wrong, key=lambda index: len(wrong[index]), default=None)
        if best is None:
            return f"there is no entry with {', '.join(expected)}"
        if wrong[best]:
            return wrong[best][0]
        remaining = remaining[best + 1 :]
    return None


def _differences(expected: object, entry: Entry) -> list[str]:
    assert isinstance(expected, dict)
    read_fields = {name: field_of(entry.parsed_fields, name) for name in expected}
    differences: list[str] = []
    for name, value in expected.items():
        if not _is_same(read_fields[name], value):
            differences.append(
                f"{name} is {show(read_fields[name])}, the ItemSpec says {show(value)}"
            )
    return differences


def _is_same(actual: Json, expected: Json) -> bool:
    """Return whether values are equal; numbers within rounding, and absent like empty."""
    # A missing field and an empty one say the same to an item.
    if is_empty(actual) and is_empty(expected):
        return True
    numbers = []
    for value in (actual, expected):
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers.append(value)
    if len(numbers) == 2:
        return abs(numbers[0] - numbers[1]) <= _TOLERANCE * max(abs(numbers[0]), abs(numbers[1]))
    return type(actual) is type(expected) and actual == expected
