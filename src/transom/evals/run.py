"""Running a suite: each epoch is a stage, so that a killed evaluation can be resumed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from transom.errors import EgressError, ProviderError, ReplyError, TransomError
from transom.evals.document import (
    Details,
    EpochRow,
    Evaluation,
    Fingerprint,
    ScenarioRow,
    Status,
    summarise,
)
from transom.evals.faults import ScenarioCase, prepared
from transom.evals.judge import judge
from transom.evals.scenario_models import Scenario, ScenarioOutcome, Used
from transom.evals.scorers import DIMENSIONS, VERDICT, below, by_dimension, score
from transom.evals.suite import Suite
from transom.runs import Run, Stage, model_file

Runner = Callable[[ScenarioCase], Awaitable[ScenarioOutcome]]
"""A product's function for one epoch. A `TransomError` from it ends the epoch as an error with
its text.
"""

_MARGIN = 60.0  # seconds by which a stage's timeout exceeds the scenario's own
_log = logging.getLogger(__name__)


async def run_suite(
    run: Run,
    suite: Suite,
    runner: Runner,
    fingerprint: Fingerprint,
    *,
    epochs: int | None = None,
    jobs: int = 1,
    judged: bool = False,
) -> Evaluation:
    """Run and score every scenario.

    Args:
        run: stores the outcomes; a resumed run repeats none of them.
        suite: at least one scenario.
        runner: the product's function for one epoch.
        fingerprint: fingerprint of the evaluated program.
        epochs: number of epochs of each scenario; overrides the suite's.
        jobs: number of epochs that run at once.
        judged: whether a model marks the rubrics (role `evals.judge`).

    Raises:
        InputError: a fault matches no file.
    """
    for scenario in suite.scenarios:
        run.stage_seconds = max(run.stage_seconds, scenario.timeout + _MARGIN)
    slots = asyncio.Semaphore(jobs)

    async def run_epoch(scenario: Scenario, epoch: int) -> EpochRow:
        async with slots:
            row = await _epoch(run, scenario, epoch, runner, model=fingerprint.model, judged=judged)
        reason = f"; {row.why[0]}" if row.why else ""
        run.progress(f"{scenario.id}/{epoch}: {row.status}{reason}")
        return row

    tasks: dict[str, list[asyncio.Task[EpochRow]]] = {}
    try:
        async with asyncio.TaskGroup() as group:
            for scenario in suite.scenarios:
                tasks[scenario.id] = []
                for number in range(1, (epochs or scenario.epochs) + 1):
                    task = group.create_task(run_epoch(scenario, number))
                    tasks[scenario.id].append(task)
    except BaseExceptionGroup as error_group:
        # Such as a wrong scenario file or a full disk: all epochs fail alike, and one error is
        # enough.
        raise error_group.exceptions[0] from None
    rows, usage = list[ScenarioRow](), Used()
    for scenario in suite.scenarios:
        epoch_rows = [task.result() for task in tasks[scenario.id]]
        rows.append(_row(scenario, epoch_rows))
        usage = sum([epoch_row.used for epoch_row in epoch_rows], usage)
    return Evaluation(
        suite=suite.name,
        summary=summarise(tuple(rows)),
        scenarios=tuple(rows),
        fingerprint=fingerprint,
        usage=usage,
        run_id=run.id,
    )


async def _epoch(
    run: Run, scenario: Scenario, epoch: int, runner: Runner, *, model: str, judged: bool
) -> EpochRow:
    """Run and score one epoch, or take its stored outcome."""
    stage_name = f"{scenario.id}/{epoch}"
    with prepared(scenario, epoch, run.folder / stage_name / "work") as case:

        async def work(stage: Stage, definition: str) -> ScenarioOutcome:
            del definition  # an input of the stage: another definition is another stage
            outcome = await _answer(case, runner)
            # A resumed run tries an epoch with an error again.
            stage.memoise = outcome.error is None
            return outcome

        outcome_file = model_file("outcome.json", ScenarioOutcome)
        result = await run.stage(stage_name, work, scenario.digest, out=outcome_file)
        outcome = result.value
        scores, notes = score(case, outcome), list[str]()
        if scenario.rubric and judged and outcome.error is None:
            try:
                scores.append(await judge(run, f"{stage_name}/judge", scenario, outcome))
            except (EgressError, ProviderError, ReplyError) as error:
                notes.append(f"the rubric was not judged: {error}")
    foreseen = scenario.abstains.get(model)
    abstains = foreseen is not None and outcome.verdict == foreseen.verdict
    failed = []
    for result_score in below(scenario, scores):
        # A foreseen abstention is a wrong verdict by definition.
        if not (abstains and result_score.scorer == VERDICT):
            failed.append(result_score)
    # Reasons of a failure come first, since reports show only the first ones.
    scores.sort(key=lambda result_score: result_score not in failed)
    status: Status = "fail" if failed else "pass"
    reasons = list[str]()
    for result_score in scores:
        reasons += [f"{result_score.scorer}: {reason}" for reason in result_score.why]
    if outcome.error:
        status, reasons = "error", [outcome.error]
    return EpochRow(
        status=status,
        verdict=outcome.verdict,
        answer=outcome.text,
        dimensions=by_dimension(scores),
        scores={result_score.scorer: result_score.value for result_score in scores},
        why=(*reasons, *notes),
        used=outcome.used,
        abstains=foreseen.why if foreseen and abstains else "",
    )


async def _answer(case: ScenarioCase, runner: Runner) -> ScenarioOutcome:
    """Return the runner's outcome; an exception becomes an outcome with an error."""
    start, deadline = time.monotonic(), asyncio.timeout(case.scenario.timeout)
    try:
        async with deadline:
            outcome = await runner(case)
    except TimeoutError as error:
        # The product may also have given up by itself.
        text = f"it gave up waiting: {error}"
        if deadline.expired():
            text = f"it took longer than {case.scenario.timeout:g} s"
        outcome = ScenarioOutcome(error=text)
    except TransomError as error:
        outcome = ScenarioOutcome(error=str(error))
    except Exception as error:  # noqa: BLE001  a defect of the product must not end the others
        _log.exception("%s: the runner failed", case.scenario.id)
        outcome = ScenarioOutcome(error=f"{type(error).__name__}: {error}")
    if outcome.used.seconds:
        return outcome
    usage = outcome.used.model_copy(update={"seconds": round(time.monotonic() - start, 3)})
    return outcome.model_copy(update={"used": usage})


def _row(scenario: Scenario, epochs: Sequence[EpochRow]) -> ScenarioRow:
    """Return the row of a scenario from those of its epochs."""
    statuses = [epoch.status for epoch in epochs]
    scores = {}
    for name in DIMENSIONS:
        values = [epoch.dimensions[name] for epoch in epochs if name in epoch.dimensions]
        if values:
            scores[name] = round(sum(values) / len(values), 6)
    # An error is worth more attention than a wrong answer.
    status: Status = "error" if "error" in statuses else "fail"
    if statuses.count("pass") >= scenario.pass_share * len(epochs):
        status = "pass"
    details = Details(
        title=scenario.title,
        tags=scenario.tags,
        definition=scenario.digest,
        pass_share=scenario.pass_share,
        epochs=tuple(epochs),
    )
    return ScenarioRow(
        id=scenario.id,
        status=status,
        scores=scores,
        epochs=len(epochs),
        details=details,
    )
