"""Holding a checker to its gates, in the order in which they make sense."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from transom.checklist.atoms import CheckerConfig, Entry, Source
from transom.checklist.building.artifacts import ATOM_A, CHECKER, Parts, split, tree_of
from transom.checklist.building.logic_gates import (
    check_hard_coding,
    check_likeness,
    check_vector,
    item_values,
)
from transom.checklist.building.mutation.gate import Mutation, mutate
from transom.checklist.building.mutation.suggestion import SuggestedLine
from transom.checklist.building.prober import Prober, RealFile
from transom.checklist.building.static_gates import (
    check_agreement,
    check_forbidden,
    check_locked_layer,
    check_signatures,
    check_syntax,
    check_yaml,
    emitted,
)
from transom.checklist.building.trial_gates import check_schema, check_sources, take_files
from transom.checklist.item import Item
from transom.checklist.judging.gather import classify
from transom.checklist.results import Combination, GateRow, MutationRow, objections
from transom.checklist.vectors import VECTORS
from transom.checklist.writing.shapes import SpecDocument
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.yaml_files import YamlFile, parse_yaml
from transom.formats.yaml_models import validate_yaml
from transom.sandbox import Sandbox
from transom.telemetry import child_span, keys

# What cannot be tried is not refused, and a question is none to refuse for: both are said.
_REMARKS: Final = ("questions", "patterns", "untried")
MOST_FILES: Final = 8  # of many files the item's own come first


@dataclass(frozen=True)
class Trial:
    """Files that generated code is tried on, and where.

    Attributes:
        own: the item's input files; atom A must do with each of them.
        other_files: files that were seen beside them; only those of a kind in `SOURCES` are tried.
        roots: where files that others name may lie.
        item: no atom may hold its patterns and waivers.
        tests: try the combinations of requirements and waivers, too.
    """

    sandbox: Sandbox
    own: tuple[Path, ...] = ()
    other_files: tuple[Path, ...] = ()
    roots: tuple[Path, ...] = ()
    item: Item | None = None
    tests: bool = False

    @cached_property
    def level(self) -> str:
        return self.sandbox.level.value

    @property
    def files(self) -> list[Path]:
        """Return all files that exist today."""
        existing: list[Path] = []
        # Logs of the last build may be gone today.
        for path in dict.fromkeys((*self.own, *self.other_files)):
            if path.is_file():
                existing.append(path)
        return existing

    def paths(self, sources: Sequence[Source]) -> list[Path]:
        """Return the files for the schema gate without those that do not exist any more."""
        fitting = []
        for path in self.other_files:
            # The item's own files are tried in any case, fitting or not.
            if path not in self.own and classify(path.name, sources)[0]:
                fitting.append(path)
        existing: list[Path] = []
        for path in (*self.own, *fitting):
            if path.is_file():
                existing.append(path)
        return existing


@dataclass(frozen=True)
class GateReport:
    """Rows of every gate that was run, in order; each finding names the artifact that must be
    repaired.
    """

    rows: tuple[GateRow, ...]
    mutation: MutationRow | None = None
    tests: tuple[Combination, ...] = ()
    suggestions: tuple[SuggestedLine, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return objections(self.rows)

    @property
    def passed(self) -> bool:
        return all(row.passed for row in self.rows)


async def run_gates(code: str, yaml: str, spec: SpecDocument, trial: Trial) -> GateReport:
    """Run every gate that the checker is fit for.

    A part that does not parse keeps no other from its gates.
    """
    with child_span("check build", **{keys.OPERATION: keys.CHECK, keys.GATE: "build"}) as span:
        report = await _run_gates(code, yaml, spec, trial)
        for row in report.rows:
            span.event(row.gate, **{keys.FINDINGS: len(row.findings)})
        span.set(keys.FINDINGS, sum(len(row.findings) for row in report.rows))
        return report


async def run_parser_gates(code: str, trial: Trial) -> tuple[Finding, ...]:
    """Return the findings on atom A that do not depend on its logic."""
    atoms = split(code)
    rows = _static_rows(atoms)
    # A part that does not parse cannot be run; its syntax finding stands already.
    if tree_of(atoms.a):
        async with Prober(atoms.a, trial.sandbox) as prober:
            # Whether an empty file is a clean one, only the logic says.
            rows += (await _parser_rows(prober, trial, may_be_silent=True))[0]
    findings = []
    for row in rows:
        for finding in row.findings:
            if finding.artifact == ATOM_A:
                findings.append(finding)
    return tuple(findings)


def static_rows(code: str) -> list[GateRow]:
    """Run the gates that only look at code."""
    return _static_rows(split(code))


async def run_code_gates(
    code: str, yaml: str | None, sandbox: Sandbox, seconds: float
) -> tuple[GateRow, ...]:
    """Run the gates that need neither files nor an ItemSpec.

    Args:
        yaml: the text of `checker.yaml`; None: its gates are left out.
        seconds: how long the code may run for all gates together. The row `time` says that it did
            not end, and takes the place of the gates that were not reached.
    """
    atoms = split(code)
    rows = _static_rows(atoms)
    if tree_of(code):
        try:
            async with (
                asyncio.timeout(seconds),
                Prober(code, sandbox, raises_timeouts=True) as prober,
            ):
                for vector in VECTORS:
                    rows.append(_row(f"vectors.{vector.name}", await check_vector(prober, vector)))
                rows.append(_row("likeness", await check_likeness(prober, atoms)))
                rows += (await _parser_rows(prober, Trial(sandbox), may_be_silent=True))[0]
        except TimeoutError as error:
            # A call that its sandbox ended says after how long.
            problem = str(error) or f"it did not end within {seconds:g} s"
            rows.append(_row("time", [Finding("time", "atoms.py", None, problem)]))
    if yaml is not None:
        config, file, unread = read_config(yaml)
        # Without files only the code of atom A says which fields there are.
        if config and file:
            unread = check_yaml(config, file, atoms, frozenset())
        rows.append(_row("yaml", unread))
        if config and file:
            own = item_values(config, None, [])
            rows.append(_row("hard_coding", check_hard_coding(atoms, own)))
    return tuple(rows)


async def _run_gates(code: str, yaml: str, spec: SpecDocument, trial: Trial) -> GateReport:
    atoms = split(code)
    config, file, unread = read_config(yaml)
    rows = _static_rows(atoms)
    entries: list[Entry] = []
    parsed: list[GateRow] = []
    files: list[RealFile] = []
    async with AsyncExitStack() as stack:
        # All processes end together, whichever of them was started.
        async def start(part: str) -> Prober:
            return await stack.enter_async_context(Prober(part, trial.sandbox))

        worker = await start(code) if tree_of(code) else None
        if worker or tree_of(atoms.a):
            # Where all items forbid, a clean file is one in which nothing is found.
            silent = config is not None and all(
                item.mode == "forbid" or item.count for item in config.items
            )
            parsed, entries, files = await _parser_rows(
                worker or await start(atoms.a), trial, may_be_silent=silent
            )
        # What real files hold must not stand in code either, so the entries come first.
        own = item_values(config, trial.item, entries) if config else {}
        if worker or tree_of(atoms.logic):
            logic = worker or await start(atoms.logic)
            for vector in VECTORS:
                rows.append(_row(f"vectors.{vector.name}", await check_vector(logic, vector)))
            rows.append(_row("likeness", await check_likeness(logic, atoms, tuple(own))))
        rows += parsed
        if config and file:
            rows.append(_row("hard_coding", check_hard_coding(atoms, own)))
            rows.append(_row("yaml", check_yaml(config, file, atoms, emitted(entries))))
            rows.append(_row("agreement", check_agreement(config, yaml, spec.check)))
        else:
            rows.append(_row("yaml", unread))
        # Trials of a checker that is known to be wrong would report the same fault again.
        if config is None or worker is None or not all(row.passed for row in rows):
            return GateReport(tuple(rows))
        mutation = await mutate(worker, config, spec, files[:MOST_FILES], tests=trial.tests)
    mutation_rows = _mutation_rows(atoms, mutation)
    if trial.tests:
        mutation_rows.append(
            _row("tests", [_disagreement(test) for test in mutation.tests if test.result])
        )
    return GateReport((*rows, *mutation_rows), mutation.row, mutation.tests, mutation.suggestions)


def _disagreement(test: Combination) -> Finding:
    """Return the finding on a test that ended otherwise.

    What the file says is atom A's part, what follows from it the configuration's.
    """
    artifact = ATOM_A if test.name.endswith("_base") else CHECKER
    first = test.example.strip().split("\n")[0]
    expected, result = (
        outcome.model_dump_json(exclude_defaults=True)
        for outcome in (test.expected, test.result or test.expected)
    )
    return Finding(
        "tests", artifact, None, f"{test.name} on {first!r}: {result}, expected is {expected}"
    )


def _static_rows(atoms: Parts) -> list[GateRow]:
    return [
        _row("syntax", check_syntax(atoms)),
        _row("signatures", check_signatures(atoms)),
        _row("forbidden_io", check_forbidden(atoms)),
        _row("locked_layer", check_locked_layer(atoms)),
    ]


async def _parser_rows(
    prober: Prober, trial: Trial, *, may_be_silent: bool
) -> tuple[list[GateRow], list[Entry], list[RealFile]]:
    """Return the rows of atom A's gates, what it reads, and the files that it was tried on."""
    sources, unfit = await check_sources(prober)
    files, findings = await take_files(prober, trial.paths(sources))
    entries: list[Entry] = []
    if not findings:
        entries, findings = await check_schema(prober, files, may_be_silent=may_be_silent)
    return [_row("sources", unfit), _row("schema", findings)], entries, files


def _mutation_rows(atoms: Parts, mutation: Mutation) -> list[GateRow]:
    findings: dict[str, list[Finding]] = {}
    for (gate, artifact), messages in mutation.messages.items():
        line = atoms.line_of(ATOM_A) if artifact == ATOM_A else None
        findings.setdefault(gate, []).extend(
            Finding(gate, artifact, line, message) for message in messages
        )
    return [
        GateRow(gate=gate, passed=gate in _REMARKS or not rows, findings=tuple(rows))
        for gate, rows in findings.items()
        if rows or gate not in _REMARKS
    ]


def read_config(text: str) -> tuple[CheckerConfig | None, YamlFile | None, list[Finding]]:
    """Return the configuration of a checker and its file, or the findings that prevent it."""
    try:
        file = parse_yaml(text, Path(CHECKER))
        return validate_yaml(CheckerConfig, file), file, []
    except InputError as error:
        line = (error.place or "").rpartition(":")[2]
        return (
            None,
            None,
            [Finding("yaml", CHECKER, int(line) if line.isdigit() else None, error.problem)],
        )


def _row(gate: str, findings: Sequence[Finding]) -> GateRow:
    return GateRow(gate=gate, passed=not findings, findings=tuple(findings))
