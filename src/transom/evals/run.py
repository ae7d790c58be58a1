"""Running a suite: each epoch of each scenario is a stage, so that a killed evaluation can be
resumed.
"""

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
    summarise,
)
from transom.evals.faults import Case, prepared
from transom.evals.judge import judge
from transom.evals.scorers import DIMENSIONS, VERDICT, below, by_dimension, score
from transom.evals.shapes import Outcome, Scenario, Used
from transom.evals.suite import Suite
from transom.runs import Run, Stage, model_file

Runner = Callable[[Case], Awaitable[Outcome]]
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
    run.stage_seconds = max(run.stage_seconds, *(one.timeout + _MARGIN for one in suite.scenarios))
    slots = asyncio.Semaphore(jobs)

    async def one(scenario: Scenario, epoch: int) -> EpochRow:
        async with slots:
            row = await _epoch(run, scenario, epoch, runner, model=fingerprint.model, judged=judged)
        run.progress(
            f"{scenario.id}/{epoch}: {row.status}" + "".join(f"; {why}" for why in row.why[:1])
        )
        return row

    tasks: dict[str, list[asyncio.Task[EpochRow]]] = {}
    try:
        async with asyncio.TaskGroup() as group:
            for scenario in suite.scenarios:
                numbers = range(1, (epochs or scenario.epochs) + 1)
                tasks[scenario.id] = [
                    group.create_task(one(scenario, number)) for number in numbers
                ]
    except BaseExceptionGroup as several:
        # e.g. a wrong scenario file or a full disk: one error message
        raise several.exceptions[0] from None
    rows = tuple(
        _row(scenario, [task.result() for task in tasks[scenario.id]])
        for scenario in suite.scenarios
    )
    used = sum((epoch.used for row in rows for epoch in row.details.epochs), Used())
    return Evaluation(
        suite=suite.name,
        summary=summarise(rows),
        scenarios=rows,
        fingerprint=fingerprint,
        usage=used,
        run_id=run.id,
    )


async def _epoch(
    run: Run, scenario: Scenario, epoch: int, runner: Runner, *, model: str, judged: bool
) -> EpochRow:
    stage = f"{scenario.id}/{epoch}"
    with prepared(scenario, epoch, run.folder / stage / "work") as case:

        async def work(at: Stage, definition: str) -> Outcome:
            del definition
            outcome = await _answer(case, runner)
            at.memoise = outcome.error is None
            return outcome

        out = model_file("outcome.json", Outcome)
        outcome = (await run.stage(stage, work, scenario.digest, out=out)).value
        scores, notes = score(case, outcome), list[str]()
        if scenario.rubric and judged and outcome.error is None:
            try:
                scores.append(await judge(run, f"{stage}/judge", scenario, outcome))
            except (EgressError, ProviderError, ReplyError) as error:
                notes.append(f"the rubric was not judged: {error}")
    foreseen = scenario.abstains.get(model)
    abstains = foreseen is not None and outcome.verdict == foreseen.verdict
    failed = [one for one in below(scenario, scores) if not (abstains and one.scorer == VERDICT)]
    scores.sort(key=lambda one: one not in failed)  # reasons of a failure come first
    reasons = (
        [outcome.error]
        if outcome.error
        else [f"{one.scorer}: {why}" for one in scores for why in one.why]
    )
    return EpochRow(
        status="error" if outcome.error else "fail" if failed else "pass",
        verdict=outcome.verdict,
        dimensions=by_dimension(scores),
        scores={one.scorer: one.value for one in scores},
        why=(*reasons, *notes),
        used=outcome.used,
        abstains=foreseen.why if foreseen and abstains else "",
    )


async def _answer(case: Case, runner: Runner) -> Outcome:
    """Return the runner's outcome; an exception becomes an outcome with an error, so that others
    go on.
    """
    began, limit = time.monotonic(), asyncio.timeout(case.scenario.timeout)
    try:
        async with limit:
            outcome = await runner(case)
    except TimeoutError as error:
        text = (
            f"it took longer than {case.scenario.timeout:g} s"
            if limit.expired()
            else f"it gave up waiting: {error}"
        )
        outcome = Outcome(error=text)
    except TransomError as error:
        outcome = Outcome(error=str(error))
    except Exception as error:  # noqa: BLE001  a defect of the product; the other scenarios still tell something
        _log.exception("%s: the runner failed", case.scenario.id)
        outcome = Outcome(error=f"{type(error).__name__}: {error}")
    if outcome.used.seconds:
        return outcome
    used = outcome.used.model_copy(update={"seconds": round(time.monotonic() - began, 3)})
    return outcome.model_copy(update={"used": used})


def _row(scenario: Scenario, epochs: Sequence[EpochRow]) -> ScenarioRow:
    passed = sum(one.status == "pass" for one in epochs)
    enough = passed >= scenario.pass_share * len(epochs)
    scores = {}
    for name in DIMENSIONS:
        found = [one.dimensions[name] for one in epochs if name in one.dimensions]
        if found:
            scores[name] = round(sum(found) / len(found), 6)
    details = Details(
        title=scenario.title,
        tags=scenario.tags,
        definition=scenario.digest,
        pass_share=scenario.pass_share,
        epochs=tuple(epochs),
    )
    failed = "error" if any(one.status == "error" for one in epochs) else "fail"
    return ScenarioRow(
        id=scenario.id,
        status="pass" if enough else failed,
        scores=scores,
        epochs=len(epochs),
        details=details,
    )
