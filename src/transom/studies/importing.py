"""Takes over trials that were solved elsewhere: from a table, or from a study of Optuna."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.studies.expression import Formula
from transom.studies.runner import StudyRunner
from transom.studies.storage import open_storage
from transom.studies.study import Number, Study, Variable
from transom.studies.trials import (
    FAILED_BY,
    IMPORT,
    RECORD,
    StudyTrial,
    objective_values,
    same_design,
    violations,
)

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

_TABLES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json")
_GROUPS = ("params", "outputs", "objectives", "user_attrs")
_SOLVED, _FAILED = {"solved", "complete"}, {"failed", "fail"}
_FAILURE = "solver_error"  # the class of a failure that tells none
_SHOWN = 20  # studies that an error names, at most


@dataclass
class ForeignTrial:
    """What a table or a storage tells of one trial.

    Attributes:
        place: how a message names it, such as `line 3`.
        state: `solved`, `failed`, or the word of the source; "" if it tells none.
        numbers: parameters, outputs and objectives by name, as they are written.
        values: the objectives by position, as Optuna has them.
        constraints: violations by position, of constraints that Optuna knows.
        failure, reason: class and text of a failure.
    """

    place: str
    state: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    values: Sequence[float] = ()
    constraints: Sequence[float] = ()
    failure: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ImportedTrials:
    """How many trials were taken over, and why the others were not."""

    added: int
    skipped: tuple[tuple[str, str], ...]


def import_trials(runner: StudyRunner, source: str, name: str | None = None) -> ImportedTrials:
    """Take over trials that were solved elsewhere; they use no budget.

    Args:
        source: a table (.csv, .tsv, .jsonl), the journal of a study of Optuna, or the URL of a
            storage of Optuna.
        name: name of the study in the storage, if it has several.

    Raises:
        InputError: the source cannot be read, or tells of no trial.
    """
    study = runner.study
    outcomes = list(_outcomes(source, name, study))
    if not outcomes:
        raise InputError("it has no trials", place=source)
    skipped: list[tuple[str, str]] = []
    trials = runner.trials()
    added = 0
    # One wrong row is a line in the answer; it does not stop the others.
    for outcome in outcomes:
        try:
            trial = _trial(outcome, study, runner)
        except ValueError as error:
            skipped.append((outcome.place, str(error)))
            continue
        if equal_trial := same_design(trial.params, trials):
            skipped.append((outcome.place, f"trial {equal_trial.number} has this design"))
            continue
        try:
            runner.add_ended(trial)
        except ValueError:  # Optuna checks the steps
            skipped.append((outcome.place, "a value is not on the steps of its variable"))
            continue
        trials.append(trial)
        added += 1
    return ImportedTrials(added, tuple(skipped))


def _outcomes(source: str, name: str | None, study: Study) -> Iterator[ForeignTrial]:
    path = Path(source)
    if "://" not in source and not path.is_file():
        raise InputError("there is no such file", place=source, hint="name a table or a storage")
    if "://" in source or path.suffix.lower() not in _TABLES:
        return _stored(source, name)
    if path.suffix.lower() in (".jsonl", ".ndjson", ".json"):
        return _json_rows(path)
    return _table_rows(path, study)


def _table_rows(path: Path, study: Study) -> Iterator[ForeignTrial]:
    """Yield the rows of a table; a semicolon or a tab may separate its columns."""
    text = TextFile(path).whole()
    header = text.partition("\n")[0]
    # The header decides: values may have commas of their own.
    delimiter = max(",;\t", key=header.count)
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    # Where a semicolon separates columns, a comma may be the decimal mark.
    has_decimal_commas = delimiter == ";"
    for row in rows:
        cells = {}
        for column, cell in row.items():
            if column and isinstance(cell, str) and cell.strip():
                value = cell.strip()
                cells[column.strip()] = value.replace(",", ".") if has_decimal_commas else value
        if not any(_plain(column) in study.variables for column in cells):
            continue
        yield _outcome(cells, f"line {rows.line_num}")


def _json_rows(path: Path) -> Iterator[ForeignTrial]:
    """Yield the objects of a file: one a line, or one list."""
    text = TextFile(path).whole()
    try:
        rows = json.loads(text)
        rows = rows if isinstance(rows, list) else [rows]
    except ValueError:
        rows = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                rows += [json.loads(line)] if line.strip() else []
            except ValueError as error:
                raise InputError("it is not JSON", place=f"{path}:{number}") from error
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            yield _outcome(_flat(row), f"row {number}")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object whose groups, such as `params`, are written into the names."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": item for key, item in value.items()}
        elif value is not None:
            flat[name] = value
    return flat


def _outcome(cells: Mapping[str, Any], place: str) -> ForeignTrial:
    outcome = ForeignTrial(place)
    outcome.state = str(cells.get("kind", cells.get("state", ""))).rpartition(".")[2].lower()
    outcome.failure = str(cells.get("failure", ""))
    outcome.reason = str(cells.get("reason", ""))
    # Optuna's tables have `value`, or `values_0`, `values_1` and so on.
    by_position: dict[int, Any] = {}
    for column, value in cells.items():
        outcome.numbers[_plain(column)] = value
        if column == "value":
            by_position[0] = value
        elif column.startswith("values_") and column[7:].isdecimal():
            by_position[int(column[7:])] = value
    outcome.values = [float(by_position[number]) for number in sorted(by_position)]
    return outcome


def _plain(column: str) -> str:
    """Return a column's name without the group that Transom's or Optuna's tables put before it."""
    for group in _GROUPS:
        if column.startswith((f"{group}.", f"{group}_")):
            return column[len(group) + 1 :]
    return column


def _stored(source: str, name: str | None) -> Iterator[ForeignTrial]:
    """Yield the trials of a study of Optuna."""
    import optuna  # noqa: PLC0415  slow

    storage = open_storage(Path(), source)
    # Without a name, the storage must leave no choice.
    names = optuna.get_all_study_names(storage)
    if name is None and len(names) != 1:
        known_names = ", ".join(names[:_SHOWN]) or "none"
        raise InputError(
            f"the storage has {len(names)} studies",
            place=source,
            hint=f"add --name with one of: {known_names}",
        )
    if name is not None and name not in names:
        known_names = ", ".join(names[:_SHOWN]) or "none"
        raise InputError(
            f"the storage has no study {name!r}", place=source, hint=f"it has: {known_names}"
        )
    study = optuna.load_study(study_name=name or names[0], storage=storage)
    for frozen in study.get_trials(deepcopy=False):
        yield _stored_outcome(frozen)


def _stored_outcome(frozen: FrozenTrial) -> ForeignTrial:
    place = f"trial {frozen.number}"
    record = frozen.user_attrs.get(RECORD)
    if isinstance(record, Mapping):  # a study of Transom
        outcome = _outcome(_flat({**record, "params": frozen.params}), place)
        outcome.values = record.get("values", ())
        return outcome
    outcome = ForeignTrial(place, frozen.state.name.lower())
    for key, value in frozen.user_attrs.items():
        if isinstance(value, int | float):
            outcome.numbers[key] = value
    outcome.numbers |= frozen.params
    outcome.values = frozen.values or ()
    outcome.constraints = list(frozen.constraints.values())
    return outcome


def _trial(outcome: ForeignTrial, study: Study, runner: StudyRunner) -> StudyTrial:
    """Return the trial of an outcome; raise ValueError if it does not count."""
    params = {}
    for name, variable in study.variables.items():
        if name not in outcome.numbers:
            raise ValueError(f"it has no value of {name}")
        params[name] = _value(variable, name, outcome.numbers[name])
    if misfit := study.misfit(params):
        raise ValueError(misfit)
    state = outcome.state
    about: dict[str, Any] = {
        "number": len(runner.trials()),
        "params": params,
        "source": IMPORT,
        "by": "import",
    }
    # A failure needs no results, but its class must be one that rules know.
    if state in _FAILED:
        failure = outcome.failure if outcome.failure in runner.taxonomy.classes else _FAILURE
        reason = outcome.reason or "it failed where it was solved"
        return StudyTrial(**about, kind="failed", failure=failure, reason=reason)
    if state and state not in _SOLVED:
        raise ValueError(f"it is {state}, so it has no result")
    names = {**study.values(params), **_outputs(outcome, study)}
    values = _objectives(outcome, study, names)
    outputs = {}
    for name in study.needed_outputs:
        if name in names:
            outputs[name] = float(names[name])
    return StudyTrial(
        **about,
        kind="solved",
        outputs=outputs,
        values=values,
        violations=_violations(outcome, study, names),
    )


def _value(variable: Variable, name: str, written: Any) -> Number:
    """Return a variable's value as the study has it."""
    for choice in variable.choices:
        if written == choice or str(written) == str(choice):
            return choice
    if variable.choices:
        raise ValueError(f"{name} = {written} is not one of its choices")
    try:
        number = float(written)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {written} is not a number") from None
    return int(number) if variable.integer and number == round(number) else number


def _outputs(outcome: ForeignTrial, study: Study) -> dict[str, float]:
    """Return the outputs that objectives and constraints use, as far as they are known."""
    outputs = {}
    for name in study.needed_outputs:
        written = outcome.numbers.get(name)
        if written is None or isinstance(written, bool):
            continue
        try:
            outputs[name] = float(written)
        except (TypeError, ValueError):
            raise ValueError(f"{name} = {written} is not a number") from None
    # An objective that is a plain output can be read from Optuna's values.
    for objective, value in zip(study.objectives, outcome.values, strict=False):
        if objective.name in study.needed_outputs:
            outputs.setdefault(objective.name, float(value))
    return outputs


def _objectives(
    outcome: ForeignTrial, study: Study, names: Mapping[str, Number]
) -> tuple[float, ...]:
    """Return the objectives, computed if their names are known, else as they are told."""
    missing = []
    for objective in study.objectives:
        missing += sorted(Formula.parse(objective.name).names - names.keys())
    if not missing:
        values = objective_values(study, names)
    elif len(outcome.values) == len(study.objectives):
        values = tuple(map(float, outcome.values))
    else:
        raise ValueError(f"it has no value of {missing[0]}")
    if not all(map(math.isfinite, values)):
        raise ValueError(f"its objectives are {', '.join(map(str, values))}")
    return values


def _violations(
    outcome: ForeignTrial, study: Study, names: Mapping[str, Number]
) -> dict[str, float]:
    """Return the violations; those that Optuna knows count if there are as many as constraints."""
    missing = []
    for bound in study.constraints:
        missing += sorted(Formula.parse(bound.name).names - names.keys())
    if not missing:
        return violations(study, names)
    if len(outcome.constraints) != len(study.constraints):
        raise ValueError(f"it has no value of {missing[0]}, which a constraint needs")
    pairs = zip(study.constraints, outcome.constraints, strict=True)
    violations_by_name = {}
    for bound, value in pairs:
        violations_by_name[bound.name] = max(-FAILED_BY, min(FAILED_BY / 2, value))
    return violations_by_name
