"""A run: journaled stages, one code path for fresh and resumed.

Control flow is plain Python around `run.stage(...)`. Kill it anywhere; walking the same code again
reuses what is done, replays the replies that were paid for, and goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from secrets import token_hex
from typing import Any, Self, TypeVar

from transom.canonical import Json, digest
from transom.errors import CapReached, InputError, NotFoundError, Paused, RunError, TransomError
from transom.llm import AnsweredFrom, Chain, Role, Usage
from transom.llm.checked import check_kind
from transom.runs.artifact import (
    A_PERSON,
    Artifact,
    ArtifactFile,
    Attempt,
    StagePlan,
    StageStep,
    decide,
    epoch_of,
    fetch_artifact,
    fingerprint,
    lineage_of,
    set_aside,
    write_output,
)
from transom.runs.event_log import RunHost
from transom.runs.journal import VERSION
from transom.runs.questions import PersonAnswer, Question
from transom.runs.stage import KEPT, Named, Stage
from transom.runs.summarising import RunRow
from transom.runs.tool_calls import HandlerScope, refuse_in_tool_call
from transom.runs.walk import MapResult, folder_of
from transom.runs.workspace import RunLease, Workspace, run_key, trace_id
from transom.store import Store
from transom.telemetry import Redactor, Telemetry, current_span, keys

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741  an item

RUNS = "runs"
# fifty runs may begin in one second, day after day, and no two may ever share a journal or a trace
_ID_BYTES = 5


class Run(RunHost):
    """A journaled walk through stages, opened with `Run.open`."""

    def __init__(self, row: RunRow, workspace: Workspace, store: Store, chain: Chain) -> None:
        self.workspace = workspace
        lock = workspace.hold_run(store, row.id, row.name)
        redact = Redactor(secrets=chain.secrets)
        telemetry = Telemetry.open(workspace.traces, trace_id(row.id), redact, workspace.exporter)
        self._lease = RunLease(row.id, telemetry.close, lock.release)
        folder = workspace.run_folder(row.name, row.id)
        super().__init__(row, folder, store, chain, telemetry)
        if workspace.full_sync:
            self.followed = frozenset()

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
            inputs: what identifies it; the same kind and inputs are the same run, whatever its
                name.
            name: the folder's name for people: the item's id.
            entry: what `transom resume` must know to start it again; the last one given counts.

        Raises:
            RunBusy: another process works on it.
            RunError: another version of transom made it, with another format of the journal.
        """
        check_kind(workspace, Workspace, "workspace", "Run.open", 'write Workspace.at(".transom")')
        check_kind(chain, Chain, "chain", "Run.open")
        # The row of the first process that opens the run wins, so that two never make two journals.
        key = run_key(kind, inputs)
        fresh: dict[str, Json] = {
            # equal runs may be in other stores
            "id": f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(_ID_BYTES)}",
            "kind": kind,
            "name": name,
            "inputs": dict(inputs),
        }
        document: Any = await store.put_if_absent(RUNS, key, fresh)
        run = Run(RunRow(**document, key=key), workspace, store, chain)
        try:
            if run.state.version not in (None, VERSION):
                raise RunError(
                    f"another version of transom made the run: its journal has format"
                    f" {run.state.version}, and this version continues format {VERSION}",
                    place=run.id,
                    hint="finish it with that version, or begin it anew in another workspace",
                )
            await run.append(
                "opened",
                {"journal": VERSION, **({"entry": dict(entry)} if entry is not None else {})},
            )
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

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not self.state.is_closed:
            if isinstance(error, TransomError) and error.exit_code == Paused.exit_code:
                await self._pause_after(error)
            self._name_next_step(error)
        await self._lease.leave(error)

    async def _pause_after(self, error: TransomError) -> None:
        """Record that the run waits: a stage that needs a person or a model has not failed."""
        if self.state.status == "failed":
            await self.pause("", error.problem)

    def _name_next_step(self, error: Exception) -> None:
        """Let an error that leaves the run open end with the command that goes on. No other place
        does so, whatever went wrong.
        """
        # A pause names its own command. A name that belongs to nothing stands in the inputs of the
        # run: it would fail in the same way again.
        if not self.next_command or isinstance(error, Paused | NotFoundError):
            return
        if isinstance(error, TransomError):
            error.next_step = error.next_step or self.how_to_go_on()
        else:
            error.add_note(self.how_to_go_on())

    def close(self) -> None:
        """Free the run and its trace, or have the last stage that still works do so; may be
        called twice.
        """
        self._lease.close()

    @cached_property
    def kept(self) -> Stage:
        """The place of the conversations that the run keeps itself."""
        return self.new_kept_stage()

    def new_kept_stage(self) -> Stage:
        """Return a stage for the kept conversations of an agent that has the run to itself.

        Unlike `kept` the run does not refer to it, so both are gone with the agent.
        """
        return Stage(self, KEPT, attempt=1, epoch="", is_kept=True)

    def named(self, name: str) -> Named:
        """Where an agent lives whose conversation the run keeps under that name: `Agent(role,
        at=run.named("q0"))`.
        """
        return self.kept.named(name)

    # -- stages ------------------------------------------------------------------------------------

    async def stage(
        self,
        name: str,
        fn: Callable[..., Awaitable[T]],
        *inputs: object,
        out: ArtifactFile[T],
        uses: Sequence[Role] = (),
        version: int = 1,
        reuse: bool = True,
    ) -> Artifact[T]:
        """Run a journaled step, or reuse what it left.

        Args:
            name: unique path in the run, e.g. `spec/round1`; never reused in one walk.
            fn: `async fn(stage, *inputs)`; reads nothing but its inputs, artifacts arrive as their
                values.
            inputs: declared inputs: artifacts of earlier stages, models, JSON values, text, bytes.
            out: how the value is kept.
            uses: the roles that it asks.
            version: bumped by hand when `fn` changes so that old results are void.
            reuse: False for a stage that looks at the world anew each time; it is journaled, never
                reused.

        Raises:
            Paused: it ran out of time, or inputs and file both changed and a person must say which
                counts.
            RunError: the name was walked before, another stage writes the same file, the run is
                closed, or a tool handler of the run calls this.
        """
        refuse_in_tool_call(self, name, "begin a stage of its own run")
        check_kind(out, ArtifactFile, "out", name, 'write text_file("NAME.txt")')
        if name == KEPT:
            raise RunError(
                f"a stage cannot be called {KEPT!r}: conversations of the run itself are",
                place=self.id,
            )
        path = self.folder / (out.folder or name) / out.name
        # Name and file are taken for this walk before anything is read.
        with self._lease.working(name, path):
            step = StageStep(
                name, fn, inputs, out, path, fingerprint(self.chain, inputs, uses, version)
            )
            if self.workspace.keeps_artifacts:
                fetch_artifact(self.store, self.state.stage(name), path)
            return await self._walk(step, self._plan(step) if reuse else StagePlan("run"))

    async def map(
        self,
        name: str,
        fn: Callable[..., Awaitable[T]],
        items: Sequence[I],
        *inputs: object,
        key: Callable[[I], str],
        out: ArtifactFile[T],
        limit: int = 8,
        uses: Sequence[Role] = (),
        version: int = 1,
    ) -> list[MapResult[T]]:
        """Run one stage for each item, `limit` at once; each is journaled and reused by itself.

        Args:
            name: the items' stages are called `NAME/KEY`.
            fn: `async fn(stage, item, *inputs)`; these are the declared inputs of its stage.
            key: tells the items apart, e.g. a relative path; equal ones are a RunError.
            limit: how many work at once; for the other arguments see `stage`.

        Returns:
            A result for each item, in their order; one that fails or waits holds up no other.
        """
        item_keys = [key(item) for item in items]
        if twice := [item_key for item_key, count in Counter(item_keys).items() if count > 1]:
            hint = "give key= that tells the items apart"
            raise RunError(f"two items of {name} have the key {twice[0]!r}", hint=hint)
        places = asyncio.Semaphore(limit)

        async def run_item(place: str, item: I) -> MapResult[T]:
            stage_name = f"{name}/{folder_of(place)}"
            async with places:
                try:
                    artifact = await self.stage(
                        stage_name, fn, item, *inputs, out=out, uses=uses, version=version
                    )
                    return MapResult(place, artifact=artifact)
                except Paused as pause:
                    return MapResult(place, question=pause)
                except TransomError as error:
                    return MapResult(place, error=error)

        results = await asyncio.gather(*map(run_item, item_keys, items), return_exceptions=True)
        # once all have ended: what is at work when the run is closed would go on behind it
        for result in results:
            if isinstance(result, BaseException):
                raise result  # a defect, or the run was stopped
        return [result for result in results if isinstance(result, MapResult)]

    def _plan(self, step: StageStep[T]) -> StagePlan:
        """Return what to do with a stage, by the journal, its current file, and the providers of
        today.
        """
        history, file_digest = self.state.stage(step.name), step.file_digest
        # An answer is out of date if its provider answers from other sources now.
        is_current = True
        for provider, sources in history.last_end["answered"] if history.last_end else ():
            answer_sources = [AnsweredFrom(**source) for source in sources]
            is_current = is_current and self.chain.is_current(provider, answer_sources)
        decided = self.state.decisions.get((step.name, step.fingerprint, file_digest or ""))
        answer = decided["answer"] if decided else None
        return decide(
            history,
            fingerprint=step.fingerprint,
            is_current=is_current,
            file_digest=file_digest,
            answer=answer,
        )

    async def _walk(self, step: StageStep[T], plan: StagePlan) -> Artifact[T]:
        name, path, inputs = step.name, step.path, step.inputs
        if plan.action == "ask":
            raise await self._pause_for_choice(step, plan)
        if any(stage == name for stage, _ in self.state.waiting):
            await self.append("settled", {"stage": name})
        # Deletions upstream void the journaled replies of this stage, too.
        epoch = epoch_of(plan.deletions, inputs)
        attributes = {
            keys.OPERATION: keys.STAGE_RUN,
            keys.STAGE: name,
            keys.RUN_ID: self.id,
            keys.ACTION: plan.action,
        }
        with self.telemetry.span(f"stage {name}", **attributes):
            if plan.action == "run":
                value = await self._attempt(step, plan, epoch)
            else:
                value = await self._reuse(step, plan, epoch)
        providers, usage = "", Usage()
        last_end = self.state.stage(name).last_end
        if plan.edited:
            providers = A_PERSON
        elif last_end:
            providers = ",".join(provider for provider, _ in last_end["answered"])
            usage = Usage(**last_end["usage"])
        lineage = lineage_of(epoch, plan.edited, inputs)
        return Artifact(value, path, digest(path.read_bytes()), lineage, epoch, providers, usage)

    async def _reuse(self, step: StageStep[T], plan: StagePlan, epoch: str) -> T:
        """Return the value in the stage's file.

        An unedited file that cannot be read back was written by another version of Transom. Its
        stage runs again and replays its replies, so that nobody has to delete the file.
        """
        try:
            value = step.output.read(step.path)
        # A file that a person edited is theirs to correct.
        except InputError:
            if plan.edited:
                raise
            self.progress(f"{step.name}: made by another version, so it is made again")
            return await self._attempt(step, plan, epoch)
        if plan.edited or self.label is None:
            self.progress(
                f"{step.name}: {'edited by hand, kept' if plan.edited else 'unchanged, reused'}"
            )
        last_end = self.state.stage(step.name).last_end
        # The journal must say that these inputs were answered with the edit, or the next walk would
        # ask again.
        if plan.action == "keep" and last_end:
            fields = {
                "attempt": last_end["attempt"],
                "fingerprint": step.fingerprint,
                "deletions": plan.deletions,
            }
            nobody = {"answered": [], "usage": Usage().to_json()}
            await self.append(
                "done", {"stage": step.name, **fields, "output": last_end["output"], **nobody}
            )
        return value

    async def _attempt(self, step: StageStep[T], plan: StagePlan, epoch: str) -> T:
        history = self.state.stage(step.name)
        attempt = Attempt(len(history.attempts) + 1, step.fingerprint, plan.deletions)
        for earlier in history.attempts:
            # The same inputs after the same deletions: its replies are replayed.
            if earlier[1:] == attempt[1:]:
                attempt = earlier
        await self.append("started", {"stage": step.name, **attempt._asdict()})
        # "Attempt 2" would be read as another stage's number, which a label may hold.
        again = ", tried again" if attempt.attempt > 1 else ""
        if self.label is None:
            self.progress(f"{step.name}: working{again}")
        elif label := self.label(step.name):
            self.progress(f"{label}{again}")
        if span := current_span():
            span.set(keys.ATTEMPT, attempt.attempt)
        stage = Stage(self, step.name, attempt=attempt.attempt, epoch=epoch)
        values = [value.value if isinstance(value, Artifact) else value for value in step.inputs]
        began = time.monotonic()
        value = await self._timed(stage, step.fn, values)
        data = step.output.encode(value)
        # The file that a person edited is about to be replaced.
        if step.file_digest not in (None, digest(data), *history.outputs):
            self.progress(
                f"{step.path.name} was changed by hand; that version is kept as"
                f" {set_aside(step.path).name}"
            )
        file = step.path.relative_to(self.folder).as_posix()
        writing: dict[str, Any] = {"stage": step.name, "output": digest(data), "file": file}
        blobs = [data] if self.workspace.keeps_artifacts else []
        if blobs:
            writing["in_database"] = True
        # Written first: a kill in between must not make the file look edited by a person.
        await self.append("writing", writing, blobs=blobs)
        await write_output(step.path, data)
        if stage.memoise:
            record = {"stage": step.name, **attempt._asdict(), "output": digest(data)}
            await self.append("done", {**record, **stage.replied})
        else:
            failed = {
                "stage": step.name,
                "attempt": attempt.attempt,
                "error": "its result is not to be reused",
            }
            await self.append("failed", failed)
        if time.monotonic() - began > self.stage_seconds:
            # work that never awaited: it is kept, but the limit holds
            raise await self._pause_for_time(stage.name)
        return value

    async def _timed(
        self, stage: Stage, fn: Callable[..., Awaitable[T]], values: Sequence[Any]
    ) -> T:
        """Run a stage's function within its wall-clock limit; a limit that is reached is a
        pause, not a failure.
        """
        limit = asyncio.timeout(self.stage_seconds)
        try:
            async with limit:
                with HandlerScope(self, "stage"):
                    return await fn(stage, *values)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise await self._pause_for_time(stage.name) from error
        except Paused:
            raise
        except CapReached as error:
            options = " --max-cost USD, with more of them" if error.cap == "usd" else ""
            hint = self.how_to_go_on(options)
            raise await self.pause(
                stage.name, f"stage {stage.name}: {error.problem}", hint=hint
            ) from error
        except TransomError as error:
            await self.append(
                "failed", {"stage": stage.name, "attempt": stage.attempt, "error": str(error)}
            )
            raise

    # -- a person ----------------------------------------------------------------------------------

    async def ask(
        self,
        name: str,
        prompt: str,
        *,
        options: Sequence[str] = (),
        needs_name: bool = False,
        evidence: str = "",
    ) -> PersonAnswer:
        """Ask a person; once answered, the same question is answered from the journal.

        Args:
            name: of the question, unique in the run.
            prompt: one sentence.
            options: what may be answered; any text where there are none.
            needs_name: whether `transom answer` takes the answer only with `--by NAME`.
            evidence: what the person looks at before the answer, such as a diff; the page *Waiting*
                shows it.

        Raises:
            Paused: nobody has answered yet; `transom answer` takes the answer, `transom resume`
                goes on.
            RunError: a tool handler of the run calls this.
        """
        refuse_in_tool_call(self, name, "ask a person in its own run")
        question = Question(name, prompt, tuple(options), needs_name, evidence)
        if answer := self.answer(name, question.fingerprint):
            return answer
        waiting = [
            choice["fingerprint"]
            for choice in self.state.waiting.values()
            if choice["stage"] == name
        ]
        # another wording, which nobody needs to answer now
        if any(fingerprint != question.fingerprint for fingerprint in waiting):
            await self.append("settled", {"stage": name})
        raise await self.pause("", prompt, question.to_choice())

    async def _pause_for_choice(self, step: StageStep[Any], plan: StagePlan) -> Paused:
        """Return the pause of a stage whose inputs and file both changed; an earlier answer may be
        void.
        """
        choice = {"stage": step.name, "fingerprint": step.fingerprint, "edited": plan.edited}
        choice["file"] = step.path.relative_to(self.folder).as_posix()
        reason = f"both {step.path} and what stage {step.name} is made from have changed"
        if any(key[:2] == (step.name, step.fingerprint) for key in self.state.decisions):
            reason = f"{step.path} was changed again after the answer for stage {step.name}"
        return await self.pause(step.name, reason, choice)

    async def _pause_for_time(self, stage: str) -> Paused:
        return await self.pause(
            stage, f"stage {stage} reached its limit of {self.stage_seconds:g} s"
        )

    async def finish(
        self, status: str, *, waits: str = "", judgement: Mapping[str, str] | None = None
    ) -> None:
        """Record how the run ended.

        Args:
            status: how it ended; where a person judged, that is the person's judgement.
            waits: what a person or a model has to bring before it can end otherwise: one clause,
                which `transom waiting` shows.
            judgement: who judged (`by`), and how the rules did (`rules`).
        """
        data: dict[str, Any] = {"status": status}
        if waits:
            data["waits"] = waits
        if judgement:
            data["judgement"] = dict(judgement)
        await self.append("closed", data)
