"""What a stage's function is handed: the place of its conversations, so that no reply is paid
for twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from transom.context.tokens import Measure
from transom.errors import InputError, RunError, TransomError
from transom.llm import Reply, Request, Role, Usage
from transom.llm.attempts import of_provider
from transom.llm.capabilities import UNBOUNDED
from transom.llm.deltas import OnDelta, both
from transom.llm.purse import FAILED_ATTEMPT, Estimate, Purse, release_all, reserve_all
from transom.runs.artifact import write_file
from transom.runs.conversation import Conversation, ConversationKey
from transom.runs.event_log import Host, tell_nobody
from transom.runs.observe import logged, of_reply, of_request
from transom.runs.tool_calls import ToolJournal
from transom.runs.windows import WindowWriter

MAIN = "main"
KEPT = "conversation"
"""Stands in the place of a stage for conversations that a run keeps."""


@dataclass(frozen=True)
class Named:
    """A conversation by a name of its own, see `Stage.named` and `Run.named`."""

    stage: Stage
    name: str


class Stage:
    """One attempt of one stage; or the place of the conversations that a run keeps.

    Attributes:
        name: its path in the run, e.g. `spec/round1`.
        attempt: 1-based number of this try.
        place: its run and its name: what a conversation's name is unique in.
        folder: where it may leave files for people beside its artifact (`note`).
        kept: whether what was said in its conversations stays said; a stage's function may go
            another way.
        memoise: set False by a function whose result must not be reused, e.g. because a machine was
            too busy.
        tools: its tool calls.
    """

    def __init__(
        self, run: Host, name: str, *, attempt: int, epoch: str, kept: bool = False
    ) -> None:
        self.host = run
        self.name, self.attempt, self.epoch, self.kept = name, attempt, epoch, kept
        self.place = f"{run.id}/{name}"
        self.folder = run.folder / name
        self.memoise = True
        self.tools = ToolJournal(run, self.place, self.is_claimed)
        self._pinned: dict[int, str] = {}  # who answered first, by the `id` of the chain
        self._first = asyncio.Lock()
        self._windows: dict[str, WindowWriter] = {}
        self._claimed: set[str] = set()

    # -- names of conversations --------------------------------------------------------------------

    def named(self, name: str) -> Named:
        """Where an agent lives whose conversation has that name: `Agent(role,
        at=stage.named("q0"))`.
        """
        given: object = name
        line = isinstance(given, str) and name.strip() and name.isprintable()
        if not line or name == MAIN or "/" in name or "#" in name:
            hint = f'give a line of text without / and # that is not {MAIN}, as in named("q0")'
            raise InputError(
                f"a conversation cannot be named {name!r}", where=self.place, hint=hint
            )
        return Named(self, name)

    def claim(self, name: str) -> str:
        """Give a conversation its name; RunError where another one has it."""
        if name in self._claimed:
            whose, where = ("the run", "run") if self.kept else (f"stage {self.name}", "stage")
            what = f"the second conversation of {whose} needs a name, and {name} is taken"
            raise RunError(what, where=self.place, hint=f'say Agent(role, at={where}.named("..."))')
        self._claimed.add(name)
        return name

    def claim_call(self, fingerprint: str) -> str:
        """The name of the conversation of a call: the one that began with the same before, else
        a new one.
        """
        known = [key.conversation for key in self._of_stage()]
        for name in [name for name in known if name not in self._claimed]:
            messages = self.state(name).messages
            if messages and messages[0].data["fingerprint"] == fingerprint:
                return self.claim(name)
        number = 1
        while (name := MAIN if number == 1 else f"{MAIN}#{number}") in {*self._claimed, *known}:
            number += 1
        return self.claim(name)

    def is_claimed(self, conversation: str) -> bool:
        """Whether this attempt opened it, or the conversation that it is within."""
        return self.kept or conversation.split("/", 1)[0] in self._claimed

    def release(self, name: str) -> None:
        """A kept conversation was closed, and may be opened again."""
        self._claimed.discard(name)

    # -- conversations in the journal --------------------------------------------------------------

    def key(self, conversation: str) -> ConversationKey:
        """Where a conversation is found in the run."""
        return ConversationKey(self.name, self.epoch, conversation)

    def state(self, conversation: str) -> Conversation:
        """A conversation as its events have it; it is another object after a failed write."""
        # asked for each turn, and nearly always known
        key: Any = self.name, self.epoch, conversation
        return self.host.state.conversations.get(key) or self.host.state.conversation(
            ConversationKey(*key)
        )

    async def append(self, kind: str, conversation: str, data: dict[str, Any]) -> None:
        """Append an event of a conversation."""
        where = {"stage": self.name, "epoch": self.epoch, "conversation": conversation}
        await self.host.append(kind, {**where, **data})

    async def ask(
        self,
        request: Request,
        role: Role,
        *,
        conversation: str = MAIN,
        judge: Callable[[Reply], str] | None = None,
        on_delta: OnDelta | None = None,
        seconds: float | None = None,
        size: Measure | None = None,
        tokens: int | None = None,
        purse: Purse | None = None,
    ) -> tuple[Reply, BaseException | None]:
        """Ask the run's chain; the reply is synced to the journal before it is used.

        Args:
            judge: reply -> its status, see `runs.conversation`; None: every answer is whole.
            size: of the window, by which estimates of tokens learn from the usage that comes back.
            tokens: of the window, as estimated from above; None to have the providers estimate it.
            purse: limits what the conversation may use, beside the purse of the run.

        Returns:
            The reply, and what came to stop its reader while it was written, to be raised once it
            was taken in.

        Raises:
            CapReached: the conversation or the run has used what it may.
            TimeoutError: no reply in time.
        """
        hear = both(on_delta, self.host.on_delta)
        purses: list[Purse] = []
        if purse is not None and purse.is_capped:
            purses.append(purse)
        if self.host.purse is not None and self.host.purse.is_capped:
            purses.append(self.host.purse)
        if not purses:
            return await self._ask_and_keep(request, role, conversation, judge, hear, size, seconds)
        began = time.monotonic()
        estimates = self._estimates(purses, request, role, tokens)
        self._take_in(purses, conversation)
        async with asyncio.timeout(seconds):
            await reserve_all(purses, estimates)
        try:
            # The time for which the call waited for others is a part of its own.
            if seconds is not None:
                seconds -= time.monotonic() - began
            return await self._ask_and_keep(request, role, conversation, judge, hear, size, seconds)
        finally:
            # In this order: a call that waits must never see the sum without either.
            self._take_in(purses, conversation)
            release_all(purses, estimates)

    def _estimates(
        self, purses: Sequence[Purse], request: Request, role: Role, tokens: int | None
    ) -> list[Estimate]:
        """Return what a call reserves in each purse."""
        chain = self.host.chain.of(role.name)
        answering = self._pinned.get(id(chain))
        providers = [provider for provider in chain.providers if answering in (None, provider.name)]
        read = self.host.chain.estimate_tokens(request) if tokens is None else tokens
        written = request.settings.max_tokens
        return [purse.estimate(providers, read, written) for purse in purses]

    def _take_in(self, purses: Sequence[Purse], conversation: str) -> None:
        """Have purses count all that the journal has of a conversation and those around it."""
        root = self.key(conversation).root
        for purse in purses:
            purse.take_in((self.host.id, *root), self.state(conversation).spent.replies)

    async def _ask_and_keep(
        self,
        request: Request,
        role: Role,
        conversation: str,
        judge: Callable[[Reply], str] | None,
        hear: OnDelta | None,
        size: Measure | None,
        seconds: float | None,
    ) -> tuple[Reply, BaseException | None]:
        """Ask, and journal the reply; see `ask`."""
        host, state = self.host, self.state(conversation)
        chain = host.chain.of(role.name)
        attributes = of_request(request, self.place, conversation)
        with host.telemetry.span(f"chat {role.name}", "client", **attributes) as span:
            noting = FAILED_ATTEMPT.set(partial(self._attempt_failed, conversation))
            try:
                reply = await self._watched(request, id(chain), hear, seconds)
            except (TransomError, TimeoutError) as error:
                span.update(of_provider(self._pinned.get(id(chain)) or chain.failed(error)))
                raise
            finally:
                FAILED_ATTEMPT.reset(noting)
            if request.window.egress != "any":
                reply = replace(reply, egress=request.window.egress)
            told = self._record(request, role, reply, state.replies, size)
            if judge and (status := judge(reply)):
                told["status"] = status
            stop = await self._keep(conversation, host.chain.policy.mark(request), state, told)
            span.update(of_reply(reply))
        return reply, stop

    def _attempt_failed(self, conversation: str, by: str, usage: Usage) -> None:
        """Journal what an attempt took that failed after its reply had begun."""
        where = self.key(conversation)._asdict()
        self.host.append_soon("attempt_failed", {**where, "by": by, "usage": usage.to_json()})

    async def _watched(
        self, request: Request, chain: int, hear: OnDelta | None, seconds: float | None
    ) -> Reply:
        """Wait for a reply, at most `seconds`; meanwhile a person is told of a silent model."""
        host, silence = self.host, None
        if host.progress is not tell_nobody:
            silence = host.silence.begin(partial(self._silence, request.role))
            if hear:  # a reply that is shown as it comes is no silence
                hear = both(hear, silence.restart)
        try:
            asked = logged(
                request, self._answer(request, chain, hear), host.chain, told=host.log_calls
            )
            if seconds is None:
                return await asked
            # in this very task: a stop that comes with it is heard
            async with asyncio.timeout(seconds):
                return await asked
        finally:
            if silence:
                host.silence.end(silence)

    def _silence(self, role: str, seconds: int) -> str:
        return (
            f"{self.name}: {self.next_model(role)} has not answered for {seconds} s; still waiting"
        )

    async def _answer(self, request: Request, chain: int, hear: OnDelta | None) -> Reply:
        """The first reply settles who answers in this stage, also for calls that run beside it."""
        if by := self._pinned.get(chain):
            return await self.host.chain.answer(request, only=by, on_delta=hear)
        async with self._first:
            reply = await self.host.chain.answer(
                request, only=self._pinned.get(chain), on_delta=hear
            )
            self._pinned[chain] = reply.by
            return reply

    def _record(
        self, request: Request, role: Role, reply: Reply, ordinal: int, size: Measure | None
    ) -> dict[str, Any]:
        """The event of a reply, without its status and window."""
        told: dict[str, Any] = {
            "ordinal": ordinal,
            "attempt": self.attempt,
            "request": request.digest,
            "role": request.role,
            "sees": sorted(role.sees),
            "reply": reply.to_json(),
            "shares": {name: [used, limit] for name, used, limit in request.window.shares},
        }
        if size:
            told["size"] = [*size]
        room = self.host.chain.of(role.name).caps if ordinal == 0 else None
        if room and room.context_tokens < UNBOUNDED and room.context_known:
            told["context_tokens"] = room.context_tokens
        return told

    async def _keep(
        self, conversation: str, marked: Request, state: Conversation, told: dict[str, Any]
    ) -> BaseException | None:
        """Journal a reply that is paid for; a cancel meanwhile is returned when it is there."""
        if conversation not in self._windows:
            self._windows[conversation] = WindowWriter(self.host.store)
        writer = self._windows[conversation]
        ordinal: int = told["ordinal"]
        stop: BaseException | None = None
        for attempt in (1, 2):
            try:
                told["window"] = await writer.keep(marked, state.turns, ordinal)
                await self.append("model_reply", conversation, told)
            except BaseException as error:
                stop = stop or error
                if self.state(conversation).replies > ordinal:
                    break
                if attempt == 2 or not isinstance(error, asyncio.CancelledError):
                    raise
            else:
                break
        return stop

    def pin(self, role: str, by: str) -> None:
        """In a stage who answered before is asked from then on."""
        if not self.kept:
            self._pinned.setdefault(id(self.host.chain.of(role)), by)

    def next_model(self, role: str) -> str:
        """The name of the model that is asked next."""
        chain = self.host.chain.of(role)
        return self._pinned.get(id(chain)) or chain.providers[0].name

    # -- what its result comes of ------------------------------------------------------------------

    @property
    def replied(self) -> dict[str, Any]:
        """For the record of its end: who answered in it and from what, and the tokens of the
        replies that are used.
        """
        state = self.host.state
        mine = [
            key
            for key in self._of_stage()
            if self.is_claimed(key.conversation) and state.counts(key)
        ]
        messages = [message for key in mine for message in state.conversation(key).messages]
        replies = [data["reply"] for message in messages for data in message.replies.values()]
        answered: dict[str, dict[str, Any]] = {}
        for reply in replies:
            answered.setdefault(reply["by"], {}).update(
                {str(one): one for one in reply["answered_from"]}
            )
        pairs = [
            [by, [sources[text] for text in sorted(sources)]]
            for by, sources in sorted(answered.items())
        ]
        return {
            "answered": pairs,
            "usage": sum((Usage(**one["usage"]) for one in replies), Usage()).to_json(),
        }

    def note(self, name: str, text: str) -> Path:
        """Leave a file for people beside the artifact. It is written and never read."""
        return write_file(self.folder / name, text.encode("utf-8", "surrogatepass"))

    def _of_stage(self) -> list[ConversationKey]:
        return [key for key in self.host.state.conversations if key[:2] == (self.name, self.epoch)]
