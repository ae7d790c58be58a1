"""One stage of a run as it was asked for: what the journal says is to be done about it, and why it pauses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from transom.canonical import Json, digest
from transom.errors import CapReached, Paused, TransomError
from transom.llm import AnsweredFrom, Chain, Role, Usage
from transom.runs.approvals import how_to_answer, why_it_waits
from transom.runs.artifact import A_PERSON, File, input_digest
from transom.runs.host import Host
from transom.runs.journal import RunState
from transom.runs.plan import Attempt, Plan, StageHistory, decide
from transom.runs.written import set_aside

T = TypeVar("T")


@dataclass(frozen=True)
class Step(Generic[T]):
    """One stage of a walk.

    Attributes:
        name: its unique path in the run.
        fn: what does it.
        inputs: what it is given, and all that it reads.
        out: how its value is kept.
        path: where.
        fingerprint: the same as long as it would do the same.
    """

    name: str
    fn: Callable[..., Awaitable[T]]
    inputs: tuple[object, ...]
    out: File[T]
    path: Path
    fingerprint: str

    def plan(self, state: RunState, chain: Chain) -> Plan:
        """What is to be done about it, by the journal, by its file as it lies there, and by who answers today."""
        history = state.stage(self.name)
        found = digest(self.path.read_bytes()) if self.path.is_file() else None
        is_current = history.done is None or all(chain.is_current(by, sources) for by, sources in history.done.answered)
        answer = state.decisions.get((self.name, self.fingerprint, found or ""))
        return decide(history, fingerprint=self.fingerprint, is_current=is_current, found=found, answer=answer)

    def author(self, state: RunState, plan: Plan) -> tuple[str, Usage]:
        """Whose its value is, and what it took."""
        if plan.action != "run" and plan.edited:
            return A_PERSON, Usage()
        done = state.stage(self.name).done
        return (done.by, done.usage) if done else ("", Usage())

    def done(
        self, attempt: Attempt, output: str, answered: Mapping[str, set[AnsweredFrom]], usage: Usage
    ) -> dict[str, Any]:
        """The record of its end."""
        pairs = [[by, sorted((s.to_json() for s in sources), key=str)] for by, sources in sorted(answered.items())]
        told = {"output": output, "answered": pairs, "usage": usage.to_json()}
        return {"stage": self.name, **attempt.to_json(), **told}

    def spare_edit(self, history: StageHistory, data: bytes) -> Path | None:
        """Keep its file aside, where no attempt wrote it and `data` is to take its place; where that is."""
        if not self.path.is_file():
            return None
        found = digest(self.path.read_bytes())
        return set_aside(self.path) if found != digest(data) and found not in history.outputs else None


def fingerprint(chain: Chain, inputs: Sequence[object], uses: Sequence[Role], version: int) -> str:
    """Of a stage: its inputs, the roles that it asks and who answers them, and its hand-bumped version."""
    roles: list[Json] = [[role.digest, chain.fingerprint(role)] for role in uses]
    digests: list[Json] = [input_digest(value) for value in inputs]
    return digest({"inputs": digests, "roles": roles, "version": version})


def cause(error: BaseException) -> str:
    """One line of an error for the journal."""
    return str(error) if isinstance(error, TransomError) else f"{type(error).__name__}: {error}"


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
