"""An evaluation as a log of Inspect, for its viewer.

Source: the JSON form of `inspect_ai.log.EvalLog`, version 2. Each epoch of a scenario is a sample,
and each score one of its scores; a status stands beside them as `passed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from transom.canonical import Json, digest
from transom.evals.document import EpochRow, Evaluation, ScenarioRow
from transom.evals.scenario_models import Used

_VERSION: Final = 2
_PASSED: Final = "passed"


def inspect_log(evaluation: Evaluation) -> dict[str, Json]:
    """Return an evaluation as the data of an Inspect log."""
    created = _created(evaluation.run_id)
    rows = evaluation.scenarios
    samples: list[Json] = [
        _sample(row, number, epoch, evaluation)
        for row in rows
        for number, epoch in enumerate(row.details.epochs, 1)
    ]
    identifiers: list[Json] = [row.id for row in rows]
    model = evaluation.fingerprint.model
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "eval_id": digest([evaluation.run_id, "eval"])[:22],
            "run_id": evaluation.run_id,
            "created": created,
            "task": evaluation.suite,
            "task_id": digest([evaluation.suite, "task"])[:22],
            "task_version": 0,
            "dataset": {
                "name": evaluation.suite,
                "samples": len(rows),
                "sample_ids": identifiers,
            },
            "model": f"transom/{model}",
            "config": {"epochs": max((row.epochs for row in rows), default=1)},
            "packages": {"transom": evaluation.fingerprint.transom},
            "metadata": {"prompts": evaluation.fingerprint.prompts},
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [_metric(name, value) for name, value in _means(evaluation)],
        },
        "stats": {
            "started_at": created,
            "completed_at": created,
            "model_usage": {f"transom/{model}": _usage(evaluation.usage)},
        },
        "samples": samples,
    }


def log_name(evaluation: Evaluation) -> str:
    """Return the name of the log's file; the viewer lists no file with a name of another form."""
    stamp = _created(evaluation.run_id).replace(":", "-")
    task = re.sub(r"[^\w-]", "-", evaluation.suite).replace("_", "-")
    return f"{stamp}_{task}_{digest([evaluation.run_id, 'task'])[:22]}.json"


def _created(run_id: str) -> str:
    """Return the time in a run's id, as Inspect wants it."""
    # A run's id begins with its time: 20261129-213750-fbb398242a.
    stamp = "-".join(run_id.split("-")[:2])
    for form in ("%Y%m%d-%H%M%S", "%Y%m%d-%H%M"):
        try:
            return datetime.strptime(stamp, form).replace(tzinfo=UTC).isoformat()
        except ValueError:
            continue
    return datetime.fromtimestamp(0, UTC).isoformat()


def _means(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    yield _PASSED, evaluation.summary.pass_rate
    yield from evaluation.summary.avg_scores.items()


def _metric(name: str, value: float) -> Json:
    return {
        "name": name,
        "scorer": name,
        "params": {},
        "metrics": {"mean": {"name": "mean", "value": value, "params": {}}},
    }


def _sample(row: ScenarioRow, number: int, epoch: EpochRow, evaluation: Evaluation) -> Json:
    answer = epoch.answer or (epoch.verdict or "")
    why = "\n".join(epoch.why)
    scores: dict[str, Json] = {
        _PASSED: _score(1.0 if epoch.status == "pass" else 0.0, epoch.verdict or "", why)
    }
    for name, value in epoch.dimensions.items():
        scores[name] = _score(value, epoch.verdict or "", "")
    model = f"transom/{evaluation.fingerprint.model}"
    title = row.details.title or row.id
    sample: dict[str, Json] = {
        "id": row.id,
        "epoch": number,
        "input": title,
        "target": "pass",
        "messages": [
            {"role": "user", "content": title, "source": "input"},
            {"role": "assistant", "content": answer, "source": "generate", "model": model},
        ],
        "output": {
            "model": model,
            "choices": [
                {
                    "message": {"role": "assistant", "content": answer, "source": "generate"},
                    "stop_reason": "stop",
                }
            ],
            "usage": _usage(epoch.used),
            "time": epoch.used.seconds,
        },
        "scores": scores,
        "metadata": {"tags": list(row.details.tags), "scores": dict(epoch.scores)},
        "store": {},
        "events": [],
        "model_usage": {model: _usage(epoch.used)},
        "total_time": epoch.used.seconds,
    }
    # The viewer shows an error instead of scores.
    if epoch.status == "error":
        sample["error"] = {"message": why or "error", "traceback": "", "traceback_ansi": ""}
    return sample


def _score(value: float, verdict: str, explanation: str) -> Json:
    return {"value": value, "answer": verdict, "explanation": explanation}


def _usage(used: Used) -> Json:
    usage: dict[str, Json] = {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "total_tokens": used.tokens,
        "input_tokens_cache_read": used.cached_tokens,
    }
    if used.cost_usd is not None:
        usage["total_cost"] = used.cost_usd
    return usage
