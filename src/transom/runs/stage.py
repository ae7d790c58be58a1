"""What a stage's function is handed: a way to ask a model so that no reply is paid for twice."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from transom.canonical import canonical_json, write_atomic
from transom.errors import InputError, TransomError
from transom.llm import AnsweredFrom, Reply, Request, Role, Usage, render
from transom.llm.codec import reply_from_json
from transom.runs.calls import logged

if TYPE_CHECKING:
    from transom.runs.run import Run


class Stage:
    """One attempt of one stage.

    Attributes:
        name: its path in the run, e.g. `spec/round1`.
        attempt: 1-based number of this try.
        folder: where it may leave files for people beside its artifact (`note`).
        memoise: set False by a function whose result must not be reused, e.g. because a machine was too busy.
    """

    def __init__(self, run: Run, name: str, *, attempt: int, epoch: str) -> None:
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
        told = {"role": request.role, "sees": sorted(role.sees), "window": window, "reply": reply.to_json()}
        await self._run.append("reply", {**key, "attempt": self.attempt, **told})

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
