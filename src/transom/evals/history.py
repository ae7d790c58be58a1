"""Stored evaluations: each run's result is kept in the workspace's store; a name makes one a
baseline.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.canonical import Json, plain
from transom.errors import InputError
from transom.evals.document import Evaluation
from transom.formats.yaml_files import read_bytes
from transom.store import Store

_RUNS, _ORDER, _BASELINES = "evaluations", "evaluation_order", "eval_baselines"
_MOST_BYTES = 64 << 20


async def remember(store: Store, evaluation: Evaluation, baseline: str | None = None) -> None:
    """Store an evaluation by its run's id, and with a name as its suite's newest baseline."""
    # ids of one second have no order
    await store.put_if_absent(_ORDER, evaluation.run_id, len(store.items(_ORDER)))
    await store.put(_RUNS, evaluation.run_id, plain(evaluation))  # type: ignore[arg-type]  # a model's plain form
    if baseline:
        number: int = 1 + max((row["number"] for row in _baselines(store).values()), default=0)
        row: dict[str, Json] = {"suite": evaluation.suite, "name": baseline, "number": number}
        row["run"] = evaluation.run_id
        await store.put(_BASELINES, f"{evaluation.suite}/{baseline}", row)


def newest_baseline(store: Store, suite: str) -> tuple[str, Evaluation] | None:
    """Return name and evaluation of a suite's newest baseline, or None."""
    mine = [row for row in _baselines(store).values() if row["suite"] == suite]
    newest = max(mine, key=lambda row: int(row["number"]), default=None)
    return (newest["name"], _kept(store, newest["run"])) if newest else None


def history(store: Store, suite: str) -> list[tuple[Evaluation, list[str]]]:
    """Return a suite's evaluations, oldest first, each with its baseline names."""
    names = [
        (row["run"], row["name"]) for row in _baselines(store).values() if row["suite"] == suite
    ]
    order: dict[str, Any] = store.items(_ORDER)
    runs = sorted(store.items(_RUNS), key=lambda run: order.get(run, -1))
    mine = [one for one in (_kept(store, run) for run in runs) if one.suite == suite]
    return [(one, [name for run, name in names if run == one.run_id]) for one in mine]


def find_evaluation(store: Store, text: str) -> tuple[str, Evaluation]:
    """Find an evaluation by JSON file, baseline name (`NAME` or `SUITE/NAME`), or the start of its
    run's id.

    Raises:
        InputError: none or several match, or the file is not an evaluation.
    """
    if text.endswith(".json"):
        return text, _read(Path(text))
    named = {
        key: row["run"] for key, row in _baselines(store).items() if text in (key, row["name"])
    }
    fits = named or {run: run for run in store.items(_RUNS) if run.startswith(text)}
    if len(fits) != 1:
        what = f"{len(fits)} evaluations match {text!r}" if fits else f"unknown evaluation {text!r}"
        hint = (
            f"name one of {', '.join(sorted(fits))}" if fits else "see: transom eval history SUITE"
        )
        raise InputError(what, hint=hint)
    name = next(iter(fits))
    return name, _kept(store, fits[name])


def _read(path: Path) -> Evaluation:
    try:
        return Evaluation.model_validate_json(read_bytes(path, _MOST_BYTES))
    except ValidationError as error:
        hint = "name a file that `eval run --format json` wrote"
        raise InputError(
            "is not an evaluation (transom.eval/1)", where=str(path), hint=hint
        ) from error


def _baselines(store: Store) -> dict[str, Any]:
    return dict(store.items(_BASELINES))


def _kept(store: Store, run: str) -> Evaluation:
    return Evaluation.model_validate(store.get(_RUNS, run))
