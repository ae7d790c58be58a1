"""What a stage's function is handed: a way to ask a model so that no reply is paid for twice."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from transom.canonical import Json, canonical_json, digest, write_atomic
from transom.context import Budget
from transom.errors import InputError, Paused, TransomError
from transom.llm import AnsweredFrom, Chain, Reply, Request, Role, ToolCall, ToolSpec, Usage, render
from transom.llm.codec import reply_from_json
from transom.runs.calls import logged
from transom.runs.journal import RunState, tool_key
from transom.store import Store
from transom.telemetry import Telemetry, keys


class Host(Protocol):
    """What a stage needs of its run."""

    id: str
    folder: Path
    store: Store
    chain: Chain
    telemetry: Telemetry
    log_calls: bool
    budget: Budget

    @property
    def state(self) -> RunState: ...

    async def append(self, kind: str, data: dict[str, Any]) -> None: ...

    def journaled_reply(self, key: dict[str, Any]) -> Any | None: ...


class Stage:
    """One attempt of one stage.

    Attributes:
        name: its path in the run, e.g. `spec/round1`.
        attempt: 1-based number of this try.
        folder: where it may leave files for people beside its artifact (`note`).
        memoise: set False by a function whose result must not be reused, e.g. because a machine was too busy.
    """

    def __init__(self, run: Host, name: str, *, attempt: int, epoch: str) -> None:
        self._run = run
        self.name = name
        self.attempt = attempt
        self.epoch = epoch
        self.folder = run.folder / name
        self.memoise = True
        self.answered: dict[str, set[AnsweredFrom]] = {}
        self.usage = Usage()
        self._pinned: str | None = None
        self._first = asyncio.Lock()
        self._ordinals: Counter[str] = Counter()

    @property
    def budget(self) -> Budget:
        """How large the windows of its calls may be."""
        return self._run.budget

    async def ask(self, request: Request, role: Role, *, conversation: str = "main") -> Reply:
        """Ask the run's chain, or take the journaled reply to this very request.

        A reply is synced to the journal before it is used.

        Raises:
            ProviderError, EgressError: from the chain.
        """
        ordinal = self._ordinals[conversation]
        self._ordinals[conversation] += 1
        key = {
            "stage": self.name,
            "epoch": self.epoch,
            "conversation": conversation,
            "ordinal": ordinal,
            "request": request.digest,
            "chain": self._run.chain.fingerprint(role),
        }
        with self._run.telemetry.span(f"chat {role.name}", "client", **{"gen_ai.operation.name": "chat"}) as span:
            reply = self._journaled(key)
            span.set("transom.replayed", reply is not None)
            if reply is None:
                asked = self._complete(request)
                reply = await (logged(request, asked) if self._run.log_calls else asked)
                await self._journal(key, request, role, reply)
            self._pinned = reply.by
            self.answered.setdefault(reply.by, set()).update(reply.answered_from)
            self.usage += reply.usage
            span.set("gen_ai.provider.name", reply.by)
            span.set("gen_ai.usage.input_tokens", reply.usage.input_tokens)
            span.set("gen_ai.usage.output_tokens", reply.usage.output_tokens)
        return reply

    async def _complete(self, request: Request) -> Reply:
        """Ask the chain. The first reply settles who answers in this stage, also for calls that run beside it."""
        if self._pinned is not None:
            return await self._run.chain.complete(request, only=self._pinned)
        async with self._first:
            reply = await self._run.chain.complete(request, only=self._pinned)
            self._pinned = reply.by
            return reply

    def _journaled(self, key: dict[str, object]) -> Reply | None:
        data = self._run.journaled_reply(key)
        if data is None:
            return None
        reply = reply_from_json(data)
        return reply if self._run.chain.still(reply.by, reply.answered_from) else None

    async def _journal(self, key: dict[str, object], request: Request, role: Role, reply: Reply) -> None:
        store = self._run.store
        marked = self._run.chain.policy.mark(request)
        window = {
            "request": await store.put_blob(canonical_json(marked.to_json()).encode("utf-8", "surrogatepass")),
            "rendered": await store.put_blob(render(request).as_text().encode("utf-8", "surrogatepass")),
        }
        shares = [share.to_json() for share in request.window.shares]
        told = {"role": request.role, "sees": sorted(role.sees), "window": window, "reply": reply.to_json()}
        await self._run.append("reply", {**key, "attempt": self.attempt, **told, "shares": shares})

    def call_key(
        self, request: Request, number: int, call: ToolCall, *, conversation: str = "main"
    ) -> dict[str, object]:
        """What the outcome of a tool call is journaled under.

        Args:
            request: the one whose reply asks for the call, the last of its conversation.
            number: the call's place among the calls of that reply; ids need not be unique.
            call: what is asked for.
            conversation: as in `ask`.
        """
        return {
            "stage": self.name,
            "epoch": self.epoch,
            "conversation": conversation,
            "ordinal": self._ordinals[conversation] - 1,
            "request": request.digest,
            "call": digest([number, call.to_json()]),
        }

    def outcome(self, key: dict[str, object]) -> Json:
        """The journaled outcome of a tool call, None where there is none."""
        found: Json = self._run.state.tools.get(tool_key(key))
        return found

    async def carry_out(
        self, key: dict[str, object], tool: ToolSpec, act: Callable[[], Awaitable[Json]], *, lost: Json
    ) -> Json:
        """Carry out a tool call that has no journaled outcome. What comes of it is synced before it is used.

        Args:
            key: see `call_key`.
            tool: what is called. One with effect `once` is journaled before it begins too.
            act: does it, and returns its outcome.
            lost: the outcome of a call that a person says was carried out before a kill.

        Raises:
            Paused: a `once` call was begun, and nobody knows whether it was carried out.
        """
        attributes = {keys.OPERATION: keys.EXECUTE_TOOL, keys.TOOL_NAME: tool.name}
        with self._run.telemetry.span(f"execute_tool {tool.name}", **attributes):
            again = tool.effect != "once" or await self._begin_once(key, tool)
            outcome = await act() if again else lost
            told = {"attempt": self.attempt, "name": tool.name, "effect": tool.effect, "outcome": outcome}
            await self._run.append("tool", {**key, **told})
        return outcome

    async def _begin_once(self, key: dict[str, object], tool: ToolSpec) -> bool:
        """Journal that a call which must not be repeated begins; False where a person says that it is done."""
        begun = self._run.state.intents[tool_key(key)]
        if begun:
            choice = {"stage": self.name, "fingerprint": digest([key, begun]), "edited": ""}
            answer = self._run.state.decisions.get((self.name, choice["fingerprint"], ""))
            if answer is None:
                reason = f"tool {tool.name} was begun, and whether it was carried out is not known"
                await self._run.append("paused", {"stage": self.name, "reason": reason, "choice": choice})
                told = f"transom answer {self._run.id}"
                hint = f"if it was, say {told} keep; if it is to be done again, {told} redo"
                raise Paused(reason, run_id=self._run.id, hint=hint)
            if answer == "keep":
                return False
        await self._run.append("intent", key)
        return True

    def note(self, name: str, text: str) -> Path:
        """Leave a file for people beside the artifact. It is written and never read.

        Raises:
            InputError: the file cannot be written.
        """
        return write_file(self.folder / name, text.encode("utf-8", "surrogatepass"))


def write_file(path: Path, data: bytes) -> Path:
    """Write atomically; a full disk or a read-only folder becomes one clear line.

    Raises:
        InputError: naming the file and what the system said.
    """
    try:
        write_atomic(path, data)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror}", where=str(path), hint="make room or choose another folder, then resume"
        ) from error
    return path


def set_aside(path: Path) -> Path:
    """Copy a file that is about to be replaced beside itself, as `NAME.kept-N`: a person's work is never lost.

    It is copied, not moved: a kill in between must not look as if the file had been deleted.
    """
    number = 1
    while (aside := path.with_name(f"{path.name}.kept-{number}")).exists():
        number += 1
    return Path(shutil.copy2(path, aside))


def cause(error: BaseException) -> str:
    """One line of an error for the journal."""
    return str(error) if isinstance(error, TransomError) else f"{type(error).__name__}: {error}"
