"""Why a run pauses by itself: each time it is in the journal before anybody is told."""

from __future__ import annotations

from typing import Any, NoReturn

from transom.errors import CapReached, Paused
from transom.runs.choices import how_to_answer, why_it_waits
from transom.runs.host import Host
from transom.runs.plan import Plan
from transom.runs.step import Step


async def pause_for_time(run: Host, stage: str, error: TimeoutError | None = None) -> NoReturn:
    """A stage took as long as it may."""
    reason = f"stage {stage} reached its limit of {run.stage_seconds:g} s"
    await run.append("paused", {"stage": stage, "reason": reason})
    raise Paused(reason, run_id=run.id) from error


async def pause_at_cap(run: Host, stage: str, error: CapReached) -> NoReturn:
    """A stage used what it may use."""
    reason = f"stage {stage}: {error.what}"
    await run.append("paused", {"stage": stage, "reason": reason})
    more = " --max-cost USD, with more of them" if error.cap == "usd" else ""
    raise Paused(reason, run_id=run.id, hint=f"go on with: transom resume {run.id}{more}") from error


async def pause_for_choice(run: Host, step: Step[Any], plan: Plan) -> NoReturn:
    """Inputs and file of a stage both changed, and a person says which counts."""
    choice = {"stage": step.name, "fingerprint": step.fingerprint, "edited": plan.edited}
    choice["file"] = step.path.relative_to(run.folder).as_posix()
    reason = why_it_waits(choice, run.folder, run.state)
    await run.append("paused", {"stage": step.name, "reason": reason, "choice": choice})
    raise Paused(reason, run_id=run.id, hint=how_to_answer(run.id, step.name, run.state))
