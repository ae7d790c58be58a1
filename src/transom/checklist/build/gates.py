"""Holding a checker to its gates, in the order in which they make sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from transom.checklist.atoms import CheckerConfig, Source
from transom.checklist.build.agreement import check_agreement
from transom.checklist.build.static_gates import (
    CHECKER,
    check_forbidden,
    check_locked_layer,
    check_signatures,
    check_syntax,
    check_yaml,
)
from transom.checklist.build.trial_gates import Prober, Sample, check_schema, check_sources, check_vectors
from transom.checklist.results import FindingRow, GateRow
from transom.checklist.run.files import classify
from transom.checklist.spec.shapes import CheckSection
from transom.errors import InputError
from transom.formats.yaml_files import parse_yaml, validate_yaml
from transom.gates import Finding
from transom.sandbox import Sandbox
from transom.tools.files import read_lines


@dataclass(frozen=True)
class Trial:
    """What generated code is tried on, and where.

    Attributes:
        own: the item's input files; atom A must do with each of them.
        others: files that were seen beside them; only those of a kind in `SOURCES` are tried.
    """

    sandbox: Sandbox
    own: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()

    @cached_property
    def level(self) -> str:
        return self.sandbox.level.value

    @property
    def files(self) -> list[Path]:
        """All files that there are today."""
        return [path for path in dict.fromkeys((*self.own, *self.others)) if path.is_file()]

    def samples(self, sources: Sequence[Source]) -> list[Sample]:
        """The files for the schema gate; those that do not exist any more are passed over."""
        fitting = [path for path in self.others if path not in self.own and classify(path.name, sources)[0]]
        return [_sample(path) for path in (*self.own, *fitting) if path.is_file()]


async def hold(code: str, yaml: str, section: CheckSection, trial: Trial) -> tuple[GateRow, ...]:
    """Run every gate; code that does not parse is not run.

    Args:
        code: `atoms.py`.
        yaml: `checker.yaml`.
        section: Section 2, which the YAML must agree with.
        trial: where the code is run, and on which real files.
    """
    syntax = check_syntax(code)
    rows = [_row("syntax", syntax)]
    if syntax:
        return tuple(rows)
    rows.append(_row("signatures", check_signatures(code)))
    rows.append(_row("forbidden_io", check_forbidden(code)))
    rows.append(_row("locked_layer", check_locked_layer(code)))
    config, unread = _config(yaml)
    async with Prober(code, trial.sandbox) as prober:
        rows.append(_row("vectors", await check_vectors(prober)))
        sources, unfit = await check_sources(prober)
        rows.append(_row("sources", unfit))
        # Where all items forbid, a clean file is one in which nothing is found.
        silent = config is not None and all(item.mode == "forbid" for item in config.items)
        rows.append(_row("schema", await check_schema(prober, trial.samples(sources), may_be_silent=silent)))
    rows.append(_row("yaml", check_yaml(config, yaml, code) if config else unread))
    if config:
        rows.append(_row("agreement", check_agreement(config, yaml, section)))
    return tuple(rows)


def _config(text: str) -> tuple[CheckerConfig | None, list[Finding]]:
    try:
        return validate_yaml(CheckerConfig, parse_yaml(text, Path(CHECKER))), []
    except InputError as error:
        line = (error.where or "").rpartition(":")[2]
        return None, [Finding("yaml", CHECKER, int(line) if line.isdigit() else None, error.what)]


def _sample(path: Path) -> Sample:
    return Sample(path.name, "\n".join(read_lines(path)) + "\n")


def _row(gate: str, findings: Sequence[Finding]) -> GateRow:
    return GateRow(gate=gate, passed=not findings, findings=tuple(FindingRow.of(finding) for finding in findings))
