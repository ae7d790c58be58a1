"""Evaluations as they were: each run is kept in the workspace's store, and a name makes one a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.canonical import plain
from transom.errors import InputError
from transom.evals.document import Evaluation
from transom.formats.yaml_files import read_bytes
from transom.store import Store

_RUNS, _BASELINES = "evaluations", "eval_baselines"


async def remember(store: Store, evaluation: Evaluation) -> None:
    """Keep an evaluation under its run's id."""
    await store.put(_RUNS, evaluation.run_id, plain(evaluation))  # type: ignore[arg-type]  # a model's plain form


async def save_baseline(store: Store, evaluation: Evaluation, name: str) -> None:
    """Make a remembered evaluation the baseline of that name, and the newest of its suite."""
    number = len(store.items(_BASELINES))
    key = f"{evaluation.suite}/{name}"
    await store.put(_BASELINES, key, {"run": evaluation.run_id, "number": number, "name": name})


def newest_baseline(store: Store, suite: str) -> tuple[str, Evaluation] | None:
    """The name and the evaluation of the baseline that was saved last."""
    rows = _baselines(store, suite)
    return (rows[-1][0], _read(store, rows[-1][1])) if rows else None


def history(store: Store, suite: str) -> list[tuple[Evaluation, list[str]]]:
    """Evaluations of a suite, oldest first, each with its names as a baseline."""
    found = [Evaluation.model_validate(one) for one in store.items(_RUNS).values()]
    names = _baselines(store, suite)
    mine = [one for one in found if one.suite == suite]
    return [(one, [name for name, run in names if run == one.run_id]) for one in mine]


def find_evaluation(store: Store, text: str) -> tuple[str, Evaluation]:
    """An evaluation by its JSON file, its baseline's name (`NAME` or `SUITE/NAME`), or the beginning of its run's id.

    Raises:
        InputError: nothing or several things fit, or the file is none.
    """
    if text.endswith(".json"):
        return text, read_evaluation(Path(text))
    named = {key: row["run"] for key, row in _rows(store).items() if text in (key, row["name"])}
    fits = named or {run: run for run in store.items(_RUNS) if run.startswith(text)}
    if len(fits) == 1:
        name, run = next(iter(fits.items()))
        return name, _read(store, run)
    what = f"{len(fits)} evaluations are called {text!r}" if fits else f"no evaluation is called {text!r}"
    hint = f"name one of {', '.join(sorted(fits))}" if fits else "see: transom eval history SUITE"
    raise InputError(what, hint=hint)


def read_evaluation(path: Path) -> Evaluation:
    """An evaluation from a JSON file.

    Raises:
        InputError: no file, or another document.
    """
    try:
        return Evaluation.model_validate_json(read_bytes(path, 64 << 20))
    except ValidationError as error:
        hint = "name a file that `eval run --format json` wrote"
        raise InputError("is no evaluation (transom.eval/1)", where=str(path), hint=hint) from error


def _rows(store: Store) -> dict[str, Any]:
    return dict(store.items(_BASELINES))


def _baselines(store: Store, suite: str) -> list[tuple[str, str]]:
    mine = [row for key, row in _rows(store).items() if key == f"{suite}/{row['name']}"]
    return [(row["name"], row["run"]) for row in sorted(mine, key=lambda row: int(row["number"]))]


def _read(store: Store, run: str) -> Evaluation:
    return Evaluation.model_validate(store.get(_RUNS, run))
