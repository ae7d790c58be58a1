"""Stored evaluations, in the workspace's store. A name makes an evaluation a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.canonical import Json, plain
from transom.errors import InputError, NotFoundError
from transom.evals.document import Evaluation
from transom.formats.yaml_files import read_bytes
from transom.store import Store

_RUNS, _ORDER, _BASELINES = "evaluations", "evaluation_order", "eval_baselines"
_MOST_BYTES = 64 << 20


async def remember(store: Store, evaluation: Evaluation, baseline: str | None = None) -> None:
    """Store an evaluation by its run's id, and with a name as its suite's newest baseline."""
    # Run ids of the same second have no order.
    await store.put_if_absent(_ORDER, evaluation.run_id, len(store.items(_ORDER)))
    document: Any = plain(evaluation)
    await store.put(_RUNS, evaluation.run_id, document)
    if baseline:
        numbers = [int(row["number"]) for row in _baselines(store).values()]
        row: dict[str, Json] = {
            "suite": evaluation.suite,
            "name": baseline,
            "number": 1 + max(numbers, default=0),
            "run": evaluation.run_id,
        }
        await store.put(_BASELINES, f"{evaluation.suite}/{baseline}", row)


def newest_baseline(store: Store, suite: str) -> tuple[str, Evaluation] | None:
    """Return name and evaluation of a suite's newest baseline, or None."""
    rows = [row for row in _baselines(store).values() if row["suite"] == suite]
    if not rows:
        return None
    newest = max(rows, key=lambda row: int(row["number"]))
    return newest["name"], _stored(store, newest["run"])


def suites(store: Store) -> list[str]:
    """Return the names of the suites that were run in a workspace, in their order."""
    return sorted({str(document["suite"]) for document in _documents(store).values()})


def history(store: Store, suite: str) -> list[tuple[Evaluation, list[str]]]:
    """Return a suite's evaluations, oldest first, each with its baseline names."""
    names: dict[str, list[str]] = {}
    for row in _baselines(store).values():
        if row["suite"] == suite:
            names.setdefault(row["run"], []).append(row["name"])
    # Workspaces of earlier releases have evaluations without a number; they are the oldest.
    order: dict[str, Any] = store.items(_ORDER)
    evaluations = []
    for run in sorted(store.items(_RUNS), key=lambda run: order.get(run, -1)):
        evaluation = _stored(store, run)
        if evaluation.suite == suite:
            evaluations.append((evaluation, names.get(evaluation.run_id, [])))
    return evaluations


def stored_evaluation(store: Store, run_id: str) -> Evaluation:
    """Return the evaluation of a run; NotFoundError if there is none."""
    if run_id not in store.items(_RUNS):
        raise NotFoundError(
            f"unknown evaluation {run_id!r}", hint="see: transom eval history SUITE"
        )
    return _stored(store, run_id)


def find_evaluation(store: Store, text: str) -> tuple[str, Evaluation]:
    """Find an evaluation.

    Args:
        store: of the workspace.
        text: a JSON file, a baseline (`NAME` or `SUITE/NAME`), or the start of a run's id.

    Raises:
        InputError: no evaluation or several match, or the file is not an evaluation.
    """
    if text.endswith(".json"):
        return text, _read(Path(text))
    matches = {}
    for key, row in _baselines(store).items():
        if text in (key, row["name"]):
            matches[key] = row["run"]
    # The name of a baseline may look like the start of a run's id; the name counts.
    if not matches:
        matches = {run: run for run in store.items(_RUNS) if run.startswith(text)}
    if not matches:
        hint = "see: transom eval history SUITE"
        raise InputError(f"unknown evaluation {text!r}", hint=hint)
    if len(matches) > 1:
        hint = f"name one of {', '.join(sorted(matches))}"
        raise InputError(f"{len(matches)} evaluations match {text!r}", hint=hint)
    ((name, run),) = matches.items()
    return name, _stored(store, run)


def _read(path: Path) -> Evaluation:
    try:
        return Evaluation.model_validate_json(read_bytes(path, _MOST_BYTES))
    except ValidationError as error:
        hint = "name a file that `eval run --format json` wrote"
        raise InputError(
            "is not an evaluation (transom.eval/1)", place=str(path), hint=hint
        ) from error


def _baselines(store: Store) -> dict[str, Any]:
    return dict(store.items(_BASELINES))


def _documents(store: Store) -> dict[str, Any]:
    return dict(store.items(_RUNS))


def _stored(store: Store, run: str) -> Evaluation:
    return Evaluation.model_validate(store.get(_RUNS, run))
