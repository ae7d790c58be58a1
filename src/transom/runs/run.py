"""A run: journaled stages, one code path for fresh and resumed.

Control flow is plain Python around `run.stage(...)`. Kill it anywhere; walking the same code again reuses what is done,
replays the replies that were paid for, and goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Any, Self, TypeVar

from transom.canonical import Json, digest
from transom.context import WindowBudget
from transom.errors import CapReached, Paused, RunError, TransomError
from transom.llm import AnsweredFrom, Chain, Role, Usage
from transom.llm.deltas import OnDelta
from transom.runs.approvals import answered
from transom.runs.artifact import Artifact, File, epoch_of, lineage_of
from transom.runs.checkpoints import Retention
from transom.runs.event_log import EventLog
from transom.runs.journal import VERSION, RunState
from transom.runs.lease import RunLease, RunLock
from transom.runs.mapping import MapResult, map_items, stage_names
from transom.runs.plan import Attempt, Plan
from transom.runs.questions import Choice, PersonAnswer, Question, chosen, is_reworded
from transom.runs.spending import Spending
from transom.runs.stage import KEPT, Named, Stage, checked
from transom.runs.step import Step, cause, fingerprint, pause_at_cap, pause_for_choice, pause_for_time
from transom.runs.tool_call import in_stage, refuse_in_tool_call
from transom.runs.workspace import Workspace, run_key, trace_id
from transom.runs.written import write_file
from transom.store import Record, Store
from transom.telemetry import Redactor, Telemetry, current_span, keys

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741  an item

STAGE_SECONDS = 300.0
RUNS = "runs"
_ID_BYTES = 5  # fifty runs may begin in one second, day after day, and no two may ever share a journal or a trace


class Run:
    """A journaled walk through stages. Open it with `Run.open`, as an async context manager."""

    def __init__(self, run_id: str, folder: Path, workspace: Workspace, store: Store, chain: Chain) -> None:
        self.id = run_id
        self.folder = folder
        self.workspace = workspace
        self.store = store
        self.chain = chain
        self.stage_seconds = STAGE_SECONDS
        self.log_calls = True
        self.on_delta: OnDelta | None = None
        self.budget = WindowBudget(open=True)
        self.spending: Spending | None = None
        self._kept: Stage | None = None
        self._lock = RunLock(workspace.state_dir / "locks", run_id)
        self._log = EventLog(store, f"run/{run_id}", folder)
        self.state: RunState = self._log.state
        redact = Redactor(secrets=chain.secrets)
        self.telemetry = Telemetry.open(workspace.traces, trace_id(run_id), redact, workspace.exporter)
        self._lease = RunLease(run_id, self.telemetry.close, self._lock.release)

    @staticmethod
    async def open(
        kind: str,
        inputs: Mapping[str, Json],
        *,
        name: str,
        workspace: Workspace,
        store: Store,
        chain: Chain,
        entry: Mapping[str, Json] | None = None,
    ) -> Run:
        """Open a run, fresh or resumed.

        Args:
            kind: what sort of run, e.g. `check`.
            inputs: what identifies it; the same kind and inputs are the same run, whatever its name.
            name: the folder's name for people: the item's id.
            workspace: where it lives.
            store: the workspace's database.
            chain: who answers its roles.
            entry: what `transom resume` must know to start it again; the last one given counts.

        Raises:
            RunBusy: another process works on it.
            RunError: an earlier version of transom made it.
        """
        key = run_key(kind, inputs)
        fresh: dict[str, Json] = {
            "id": f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(_ID_BYTES)}",  # equal runs may be in other stores
            "kind": kind,
            "name": name,
            "inputs": dict(inputs),
        }
        row: Any = await store.put_if_absent(RUNS, key, fresh)
        run = Run(row["id"], workspace.run_folder(row["name"], row["id"]), workspace, store, chain)
        try:
            if run.state.version not in (None, VERSION):
                hint = "finish it with that version, or start afresh in another --workspace"
                raise RunError("the run was made by an earlier version of transom", where=run.id, hint=hint)
            await run.append("opened", {"journal": VERSION, **({"entry": dict(entry)} if entry is not None else {})})
        except BaseException:
            run.close()
            raise
        return run

    @staticmethod
    def known(store: Store, kind: str, inputs: Mapping[str, Json]) -> bool:
        """Whether a run of this kind and these inputs was ever opened."""
        return store.get(RUNS, run_key(kind, inputs)) is not None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lease.leave(error)

    def close(self) -> None:
        """Free the run and its trace, or have the last stage that still works do so; may be called twice."""
        self._lease.close()

    @property
    def progress(self) -> Callable[[str], None]:
        """Is told, for people, how far the run is."""
        return self._log.tell

    @progress.setter
    def progress(self, tell: Callable[[str], None]) -> None:
        self._log.tell = tell

    async def append(self, kind: str, data: dict[str, Any], *, sync: bool | None = None) -> None:
        """Append to the journal and take it into the state; `sync`: whether it survives power loss."""
        await self._log.append(kind, data, sync=sync)

    def append_soon(self, kind: str, data: dict[str, Any]) -> None:
        """Append without waiting (see `EventLog.append_soon`)."""
        self._log.append_soon(kind, data)

    async def settle(self) -> None:
        """Wait until all that was appended is in the journal."""
        await self._log.settle()

    def keep(self, retention: Retention) -> None:
        """Say which older attempts' files stay in the run's folder, from now on and of those that are there."""
        self._log.keep(retention)

    def leave_iteration(self, number: int, told: Json) -> None:
        """Leave in the run's folder, for people alone, what was wrong with attempt `number` (from 1) of a loop."""
        self._log.leave_iteration(number, told)

    def records(self) -> list[Record]:
        """The journal, oldest first."""
        return list(self.store.read(f"run/{self.id}"))

    @property
    def kept(self) -> Stage:
        """Where the conversations live that the run itself keeps, beside its stages."""
        if self._kept is None:
            self._kept = Stage(self, KEPT, attempt=1, epoch="", kept=True)
        return self._kept

    def named(self, name: str) -> Named:
        """Where an agent lives whose conversation the run keeps under that name: `Agent(role, at=run.named("q0"))`.

        Raises:
            InputError: it is no name, or one that stands for something else.
        """
        return Named(self.kept, checked(name, self.id))

    async def stage(
        self,
        name: str,
        fn: Callable[..., Awaitable[T]],
        *inputs: object,
        out: File[T],
        uses: Sequence[Role] = (),
        version: int = 1,
        reuse: bool = True,
    ) -> Artifact[T]:
        """Run a journaled step, or reuse what it left.

        Args:
            name: unique path in the run, e.g. `spec/round1`; never reused in one walk.
            fn: `async fn(stage, *inputs)`; reads nothing but its inputs, artifacts arrive as their values.
            inputs: declared inputs: artifacts of earlier stages, models, JSON values, text, bytes.
            out: how the value is kept.
            uses: the roles that it asks.
            version: bumped by hand when `fn` changes so that old results are void.
            reuse: False for a stage that looks at the world anew each time; it is journaled, never reused.

        Raises:
            Paused: it ran out of time, or inputs and file both changed and a person must say which counts.
            RunError: the name was walked before, another stage writes the same file, the run is closed, or a tool
                handler of the run calls this.
        """
        refuse_in_tool_call(self, name, "begin a stage of its own run")
        if name == KEPT:
            raise RunError(f"a stage cannot be called {KEPT!r}: conversations of the run itself are", where=self.id)
        path = self.folder / (out.folder or name) / out.name
        self._lease.claim(name, path)
        step = Step(name, fn, inputs, out, path, fingerprint(self.chain, inputs, uses, version))
        with self._lease.working():
            return await self._walk(step, step.plan(self.state, self.chain) if reuse else Plan("run"))

    async def map(
        self,
        name: str,
        fn: Callable[..., Awaitable[T]],
        items: Sequence[I],
        *inputs: object,
        key: Callable[[I], str],
        out: File[T],
        limit: int = 8,
        uses: Sequence[Role] = (),
        version: int = 1,
    ) -> list[MapResult[T]]:
        """Run one stage for each item, `limit` at once; each is journaled and reused by itself.

        Args:
            name: the items' stages are called `NAME/KEY`.
            fn: `async fn(stage, item, *inputs)`.
            items: each a declared input of its own stage.
            inputs: declared inputs of every stage.
            key: tells the items apart, e.g. a relative path.
            out: how each value is kept, in the folder of its stage.
            limit: how many work at once.
            uses: as in `stage`.
            version: as in `stage`.

        Returns:
            A result for each item, in their order; one that fails or waits holds up no other.

        Raises:
            RunError: two items have one key.
        """
        keys = [key(item) for item in items]
        names = stage_names(name, keys)

        def run_one(index: int) -> Awaitable[Artifact[T]]:
            return self.stage(names[index], fn, items[index], *inputs, out=out, uses=uses, version=version)

        return await map_items(items, keys, run_one, limit)

    async def ask(self, name: str, prompt: str, *, options: Sequence[str] = ()) -> PersonAnswer:
        """Ask a person; once answered, the same question is answered from the journal.

        Args:
            name: of the question, unique in the run.
            prompt: one sentence.
            options: what may be answered; any text where there are none.

        Raises:
            Paused: nobody has answered yet; `transom answer` takes the answer, `transom resume` goes on.
            RunError: a tool handler of the run calls this.
        """
        refuse_in_tool_call(self, name, "ask a person in its own run")
        question = Question(name, prompt, tuple(options))
        if answer := self.state.answers.get(question.fingerprint):
            return PersonAnswer(**answer)
        if is_reworded(self.state.waiting, question):
            await self.append("settled", {"stage": name})
        await self.append("paused", {"stage": "", "reason": prompt, "choice": question.to_choice()})
        raise Paused(prompt, run_id=self.id, hint=f"answer with: {question.how_to_answer(self.id)}")

    async def _walk(self, step: Step[T], plan: Plan) -> Artifact[T]:
        name, path, inputs = step.name, step.path, step.inputs
        if plan.action == "ask":
            await pause_for_choice(self, step, plan)
        if any(stage == name for stage, _ in self.state.waiting):
            await self.append("settled", {"stage": name})
        epoch = epoch_of(plan.deletions, inputs)
        attributes = {keys.OPERATION: keys.STAGE_RUN, keys.STAGE: name, keys.RUN_ID: self.id, keys.ACTION: plan.action}
        with self.telemetry.span(f"stage {name}", **attributes):
            value = await (self._attempt(step, plan, epoch) if plan.action == "run" else self._reuse(step, plan))
        edited = "" if plan.action == "run" else plan.edited
        by, usage = step.author(self.state, plan)
        return Artifact(value, path, digest(path.read_bytes()), lineage_of(epoch, edited, inputs), epoch, by, usage)

    async def _reuse(self, step: Step[T], plan: Plan) -> T:
        value = step.out.read(step.path)
        self.progress(f"{step.name}: {'edited by hand, kept' if plan.edited else 'unchanged, reused'}")
        done = self.state.stage(step.name).done
        if plan.action == "keep" and done:
            kept = Attempt(done.attempt.number, step.fingerprint, plan.deletions)
            await self._append_done(step, kept, done.output, {}, Usage())
        return value

    async def _attempt(self, step: Step[T], plan: Plan, epoch: str) -> T:
        history = self.state.stage(step.name)
        known = [a for a in history.attempts if (a.fingerprint, a.deletions) == (step.fingerprint, plan.deletions)]
        attempt = known[-1] if known else Attempt(len(history.attempts) + 1, step.fingerprint, plan.deletions)
        await self.append("started", {"stage": step.name, **attempt.to_json()})
        self.progress(f"{step.name}: working" + (f" (attempt {attempt.number})" if attempt.number > 1 else ""))
        if span := current_span():
            span.set(keys.ATTEMPT, attempt.number)
        stage = Stage(self, step.name, attempt=attempt.number, epoch=epoch)
        values = [value.value if isinstance(value, Artifact) else value for value in step.inputs]
        began = time.monotonic()
        value = await self._timed(stage, step.fn, values)
        data = step.out.encode(value)
        if aside := step.spare_edit(history, data):
            self.progress(f"{step.path.name} was changed by hand; that version is kept as {aside.name}")
        file = step.path.relative_to(self.folder).as_posix()
        await self.append("writing", {"stage": step.name, "output": digest(data), "file": file})
        write_file(step.path, data)
        if stage.memoise:
            await self._append_done(step, attempt, digest(data), stage.answered, stage.usage)
        else:
            failed = {"stage": step.name, "attempt": attempt.number, "error": "its result is not to be reused"}
            await self.append("failed", failed)
        if time.monotonic() - began > self.stage_seconds:
            await pause_for_time(self, stage.name)  # work that never awaited: it is kept, but the limit holds
        return value

    async def _timed(self, stage: Stage, fn: Callable[..., Awaitable[T]], values: Sequence[Any]) -> T:
        """Run a stage's function within its wall-clock limit; a limit that is reached is a pause, not a failure."""
        limit = asyncio.timeout(self.stage_seconds)
        try:
            async with limit:
                with in_stage(self):
                    return await fn(stage, *values)
        except TimeoutError as error:
            if not limit.expired():
                raise
            await pause_for_time(self, stage.name, error)
        except Paused:
            raise
        except CapReached as error:
            await pause_at_cap(self, stage.name, error)
        except TransomError as error:
            await self.append("failed", {"stage": stage.name, "attempt": stage.attempt, "error": cause(error)})
            raise

    async def _append_done(
        self, step: Step[T], attempt: Attempt, output: str, answered: Mapping[str, set[AnsweredFrom]], usage: Usage
    ) -> None:
        await self.append("done", step.done(attempt, output, answered, usage))
        self._log.shelve(step.name, step.path, ",".join(sorted(answered)))

    async def decide(self, answer: str, question: str | None = None, reason: str = "", *, by: str = "") -> Choice:
        """Record a person's answer to what waits for one; returns what was answered.

        It is for the file as it lies there now; where that is another than the one at which the run paused,
        `progress` is told.

        Args:
            answer: `keep` or `redo`; `approve` or `refuse` where a tool call waits; an option or free text.
            question: which, where several wait: a question's or stage's name, or the beginning of a fingerprint.
            reason: kept with the answer; the model reads it where a call is refused.
            by: who answers.

        Raises:
            InputError: nothing waits, several do and none is named, or the answer does not fit.
        """
        choice = chosen(self.id, self.state.waiting, question)
        await self.append("decided", answered(choice, self.folder, answer, self.progress, reason, by=by))
        return choice

    async def finish(self, status: str) -> None:
        """Record how the run ended."""
        await self.append("closed", {"status": status})
