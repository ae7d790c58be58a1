"""Scenarios of the test matrix on the current files: one item file for each combination of
requirements and waivers that fits the checker's type.

Patterns are the values that the checker reads from the real files; waivers are the keywords of
Section 3. What must come of a scenario follows from the base scenario, never from the scenario
itself. The files stay beside the results, so that a person can run one by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from transom.canonical import Json, pretty_json
from transom.checklist.atoms import AnyOf, Requirements, Shape, Waiver, Waivers
from transom.checklist.item import Item
from transom.checklist.judging import Inputs, LoadedChecker, Verdict, check_files
from transom.formats.yaml_files import dump_yaml
from transom.runs import write_file
from transom.sandbox import Sandbox

FOLDER: Final = "scenarios"
RESULTS: Final = "results.json"

_ROWS: Final = {1: {1}, 2: {1, 4}, 3: {1, 2, 3, 4, 5, 6}, 4: {1, 2, 3}}
"""The rows of the matrix that fit a type."""

_NO_SUCH: Final = "a text that no file holds"
_NOT_NEEDED: Final = "a waiver that nothing needs"
_MOST_VALUES: Final = 10

Outcome = Literal["PASS", "FAIL"]


@dataclass(frozen=True)
class MatrixScenario:
    """A row of the matrix.

    Attributes:
        expected: what must come of it; None if any outcome is right.
    """

    row: int
    name: str
    requirements: Requirements
    waivers: Waivers
    expected: Outcome | None


class ScenarioCheck(Shape):
    """What came of a scenario; `problem` is empty if it was what had to come."""

    scenario: int
    file: str
    expected: Outcome | None
    status: str
    found: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    unused_waivers: tuple[str, ...] = ()
    problem: str = ""


async def run_scenarios(
    checker: LoadedChecker, item: Item, inputs: Inputs, sandbox: Sandbox, as_of: str, folder: Path
) -> tuple[ScenarioCheck, ...]:
    """Write and run the scenarios of an item; the files go to `folder`."""

    async def verdict_of(requirements: Requirements, waivers: Waivers) -> Verdict:
        changed = replace(item, requirements=requirements, waivers=waivers)
        return await check_files(checker, changed, inputs, sandbox, as_of)

    fitting = _ROWS[checker.config.capability_type]
    has_patterns = any(each.check == "pattern" for each in checker.config.items)
    wrong = Requirements(value=1, pattern_items=(_NO_SUCH,)) if has_patterns else Requirements()
    # Without its waivers and with a pattern that fits nothing, the real values come to light.
    base = await verdict_of(wrong, Waivers())
    rows: list[ScenarioCheck] = []
    for scenario in _scenarios(checker, base, wrong, has_patterns=has_patterns):
        if scenario.row not in fitting:
            continue
        name = f"{item.item_id}_{scenario.name}.yaml"
        write_file(folder / name, _item_text(item, scenario).encode("utf-8"))
        rows.append(
            _row(scenario, name, base, await verdict_of(scenario.requirements, scenario.waivers))
        )
    document = pretty_json([row.model_dump(mode="json") for row in rows])
    write_file(folder / RESULTS, document.encode("utf-8"))
    return tuple(rows)


def _scenarios(
    checker: LoadedChecker, base: Verdict, wrong: Requirements, *, has_patterns: bool
) -> Iterator[MatrixScenario]:
    everything = Waivers(value=0, waive_items=(Waiver(pattern="all is waived"),))
    selective = _selective(checker, base)
    if not has_patterns:
        yield MatrixScenario(1, "base", Requirements(), Waivers(), None)
        yield MatrixScenario(2, "global_waiver", Requirements(), everything, "PASS")
        yield MatrixScenario(3, "selective_waiver", Requirements(), selective, "PASS")
        return
    # Values that the base run left over are those which real files hold.
    values = dict.fromkeys(entry.value for entry in base.extra_items if entry.value.strip())
    # Without a value in the files there is nothing that a pattern could match.
    if values:
        own = tuple(AnyOf(any_of=(value,)) for value in list(values)[:_MOST_VALUES])
        # With values left out, entries beyond the patterns are extra, and no outcome is wrong.
        every = len(values) <= _MOST_VALUES
        patterns = Requirements(value=len(own), pattern_items=own)
        yield MatrixScenario(4, "pattern", patterns, Waivers(), "PASS" if every else None)
    yield MatrixScenario(5, "pattern_global_waiver", wrong, everything, "PASS")
    yield MatrixScenario(6, "pattern_selective_waiver", wrong, selective, None)


def _selective(checker: LoadedChecker, base: Verdict) -> Waivers:
    """Return a waiver for each violated item, and one that nothing needs.

    A waiver is a keyword of the item, or else its id. If nothing is violated, the keywords of all
    items stand there, without use.
    """
    violated = {entry.id for entry in (*base.missing_items, *base.extra_items)}
    patterns: dict[str, None] = {}
    for item in checker.config.items:
        if item.id in violated or not violated:
            words = []
            for word in item.keywords:
                # A keyword that names a stage waives only if the log shows it.
                if word not in item.stages:
                    words.append(word)
            patterns[words[0] if words and item.waivable else item.id] = None
    patterns[_NOT_NEEDED] = None
    return Waivers(
        value=len(patterns), waive_items=tuple(Waiver(pattern=each) for each in patterns)
    )


def _row(scenario: MatrixScenario, name: str, base: Verdict, verdict: Verdict) -> ScenarioCheck:
    violations = _ids([*verdict.missing_items, *verdict.extra_items])
    row = ScenarioCheck(
        scenario=scenario.row,
        file=name,
        expected=scenario.expected,
        status=verdict.status,
        found=_ids(verdict.found_items),
        violations=violations,
        waived=_ids(verdict.waived),
        unused_waivers=tuple(each.pattern for each in verdict.unused_waivers),
    )
    return row.model_copy(update={"problem": _problem(scenario, row, base)})


def _problem(scenario: MatrixScenario, row: ScenarioCheck, base: Verdict) -> str:
    """Return what is wrong with an outcome, or ""."""
    # A PASS that waits for a person is one that the waivers let through.
    outcome = "FAIL" if row.violations else "PASS"
    if row.status == "ERROR":
        return "the checker came to no verdict"
    if scenario.expected and outcome != scenario.expected:
        return f"{scenario.expected} was expected, and {', '.join(row.violations)} is violated"
    # A global waiver fits anything, so it cannot be unused.
    if scenario.waivers.value == 0 and row.unused_waivers:
        return "a global waiver has no unused waivers"
    if scenario.waivers.value and _NOT_NEEDED not in row.unused_waivers:
        return "the waiver that nothing needs is not reported as unused"
    before = _ids([*base.missing_items, *base.extra_items])
    if scenario.waivers.value is not None and not {*row.waived, *row.violations} >= {*before}:
        return "a violation is neither waived nor reported"
    return ""


def _item_text(item: Item, scenario: MatrixScenario) -> str:
    patterns: list[Json] = []
    for each in scenario.requirements.pattern_items:
        patterns.append(each if isinstance(each, str) else {"any_of": list(each.any_of)})
    requirements, waivers = scenario.requirements, scenario.waivers
    return dump_yaml(
        {
            "item_id": f"{item.item_id}_{scenario.name}",
            "description": item.description,
            "requirements": {
                "value": "N/A" if requirements.value is None else requirements.value,
                "pattern_items": patterns,
            },
            "input_files": [_placed(item, name.written) for name in item.input_files],
            "waivers": {
                "value": "N/A" if waivers.value is None else waivers.value,
                "waive_items": [waiver.pattern for waiver in waivers.waive_items],
            },
        }
    )


def _placed(item: Item, written: str) -> str:
    """Return an input file as it must be written in another folder."""
    if written.startswith("$"):
        return written
    return str(item.path.absolute().parent / written)


def _ids(entries: Sequence[object]) -> tuple[str, ...]:
    return tuple(sorted({str(getattr(entry, "id", "")) for entry in entries}))
