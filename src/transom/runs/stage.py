"""The argument of a stage's function: the place of its conversations, where no reply is paid for
twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from transom.context.tokens import Measure
from transom.errors import InputError, RunError, TransomError
from transom.llm import Reply, Request, Role, Usage
from transom.llm.attempts import of_provider
from transom.llm.capabilities import UNBOUNDED
from transom.llm.deltas import OnDelta, joined
from transom.llm.purse import FAILED_ATTEMPT, Estimate, Purse, release_all, reserve_all
from transom.runs.artifact import write_file
from transom.runs.conversation import ConversationKey, ConversationState
from transom.runs.event_log import RunHost, tell_nobody
from transom.runs.observe import log_failure, log_reply, of_reply, of_request
from transom.runs.tool_calls import ClaimedNames, ToolJournal
from transom.runs.windows import WindowWriter

MAIN = "main"
KEPT = "conversation"
"""The name of the stage of conversations that a run keeps."""

Judge: TypeAlias = Callable[[Reply], tuple[str, TransomError | None]]
"""Returns the status of a reply, see `runs.conversation`, and the error of a failed one."""


@dataclass(frozen=True)
class Named:
    """A conversation by a name of its own; see `Stage.named` and `Run.named`."""

    stage: Stage
    name: str


@dataclass(slots=True)
class AskedReply:
    """A reply that is in the journal.

    Attributes:
        reply: the reply.
        failure: the error to raise if it is no answer.
        stop: the cancellation or other error that arrived while the reply was written; to be raised
            once the reply was taken in.
    """

    reply: Reply
    failure: TransomError | None
    stop: BaseException | None


class Stage:
    """One attempt of one stage; or the place of the conversations that a run keeps.

    Attributes:
        host: its run.
        name: its path in the run, e.g. `spec/round1`.
        attempt: 1-based number of this try.
        epoch: changes when a person deletes the stage's file, so that models are asked again.
        place: its run and its name; the name of a conversation is unique in them.
        folder: the folder for files that it leaves for people beside its artifact (`note`).
        is_kept: whether its conversations only ever grow; a stage's function may say something else
            when it runs again.
        memoise: set False by a function whose result must not be reused, e.g. because a machine was
            too busy.
        tools: the journal of its tool calls.
    """

    def __init__(
        self, run: RunHost, name: str, *, attempt: int, epoch: str, is_kept: bool = False
    ) -> None:
        self.host = run
        self.name = name
        self.attempt = attempt
        self.epoch = epoch
        self.is_kept = is_kept
        self.place = f"{run.id}/{name}"
        self.folder = run.folder / name
        self.memoise = True
        self._claimed = ClaimedNames(is_kept=is_kept)
        self.tools = ToolJournal(run, self.place, self._claimed)
        # The provider that answered first, by the `id` of the chain.
        self._pinned: dict[int, str] = {}
        self._first_reply = asyncio.Lock()
        self._windows: dict[str, WindowWriter] = {}

    # -- names of conversations --------------------------------------------------------------------

    def named(self, name: str) -> Named:
        """Return the place of a conversation with a name: `Agent(role, at=stage.named("q0"))`.

        Raises:
            InputError: the name is not a line of text, contains `/` or `#`, or is `main`.
        """
        argument: object = name
        is_line = isinstance(argument, str) and name.strip() and name.isprintable()
        if not is_line or name == MAIN or "/" in name or "#" in name:
            hint = f'give a line of text without / and # that is not {MAIN}, as in named("q0")'
            problem = f"a conversation cannot be named {name!r}"
            raise InputError(problem, place=self.place, hint=hint)
        return Named(self, name)

    def claim(self, name: str) -> str:
        """Give a conversation its name and return it; RunError if another one has the name."""
        if name in self._claimed.names:
            owner, variable = "the run", "run"
            if not self.is_kept:
                owner, variable = f"stage {self.name}", "stage"
            problem = f"the second conversation of {owner} needs a name, and {name} is taken"
            hint = f'write Agent(role, at={variable}.named("..."))'
            raise RunError(problem, place=self.place, hint=hint)
        self._claimed.names.add(name)
        return name

    def claim_call(self, fingerprint: str) -> str:
        """Return the name of the conversation of a call.

        It is the one whose first message has this fingerprint, if an earlier attempt had one, else
        a new one.
        """
        journaled = [key.conversation for key in self._keys()]
        for name in journaled:
            if name in self._claimed.names:
                continue
            messages = self.state(name).messages
            if messages and messages[0].data["fingerprint"] == fingerprint:
                return self.claim(name)
        number, name = 1, MAIN
        while name in self._claimed.names or name in journaled:
            number += 1
            name = f"{MAIN}#{number}"
        return self.claim(name)

    def release(self, name: str) -> None:
        """Free the name of a kept conversation that was closed, so that it can be opened again."""
        self._claimed.names.discard(name)

    # -- conversations in the journal --------------------------------------------------------------

    def key(self, conversation: str) -> ConversationKey:
        """Return the key under which a conversation is found in the run."""
        return ConversationKey(self.name, self.epoch, conversation)

    def state(self, conversation: str) -> ConversationState:
        """Return a conversation as its events have it; always the same object."""
        return self.host.state.conversation(self.key(conversation))

    async def append(
        self, kind: str, conversation: str, data: dict[str, Any], blobs: Sequence[bytes] = ()
    ) -> None:
        """Append an event of a conversation, with the blobs that it names."""
        key = {"stage": self.name, "epoch": self.epoch, "conversation": conversation}
        await self.host.append(kind, {**key, **data}, blobs=blobs)

    async def ask(
        self,
        request: Request,
        role: Role,
        *,
        conversation: str = MAIN,
        judge: Judge | None = None,
        on_delta: OnDelta | None = None,
        seconds: float | None = None,
        size: Measure | None = None,
        tokens: int | None = None,
        purse: Purse | None = None,
    ) -> AskedReply:
        """Ask the run's chain; the reply is synced to the journal before it is used.

        Args:
            request: what is asked.
            role: the role that asks.
            conversation: the conversation that the request belongs to.
            judge: judges a reply before it is journaled; None: every reply is an answer.
            on_delta: receives the pieces of the reply as they come.
            seconds: the most seconds to wait for the reply.
            size: the size of the window, by which estimates of tokens learn from the usage that
                comes back.
            tokens: the most tokens of the window; None to have the providers estimate it.
            purse: limits what the conversation may use, beside the purse of the run.

        Raises:
            CapReached: the conversation or the run has used what it may.
            TimeoutError: there was no reply in time.
        """
        on_delta = joined(on_delta, self.host.on_delta)
        # A call without a limit waits for nobody.
        purses: list[Purse] = []
        if purse is not None and purse.is_capped:
            purses.append(purse)
        if self.host.purse is not None and self.host.purse.is_capped:
            purses.append(self.host.purse)
        if not purses:
            return await self._ask_and_journal(
                request, role, conversation, judge, on_delta, size, seconds
            )
        began = time.monotonic()
        estimates = self._estimates(purses, request, role, tokens)
        self._count_spent(purses, conversation)
        async with asyncio.timeout(seconds):
            await reserve_all(purses, estimates)
        try:
            # The time for which the call waited for others is a part of its own.
            if seconds is not None:
                seconds -= time.monotonic() - began
            return await self._ask_and_journal(
                request, role, conversation, judge, on_delta, size, seconds
            )
        finally:
            # In this order: a call that waits must never see the sum without either.
            self._count_spent(purses, conversation)
            release_all(purses, estimates)

    def _estimates(
        self, purses: Sequence[Purse], request: Request, role: Role, tokens: int | None
    ) -> list[Estimate]:
        """Return what a call reserves in each purse."""
        chain = self.host.chain.of(role.name)
        answering = self._pinned.get(id(chain))
        # Only a provider that can still answer may decide what the call could cost.
        providers = [provider for provider in chain.providers if answering in (None, provider.name)]
        if tokens is None:
            tokens = self.host.chain.estimate_tokens(request)
        reply_tokens = request.settings.max_tokens
        return [purse.estimate(providers, tokens, reply_tokens) for purse in purses]

    def _count_spent(self, purses: Sequence[Purse], conversation: str) -> None:
        """Have purses count all that the journal has of a conversation and those around it."""
        root = self.key(conversation).root
        for purse in purses:
            purse.take_in((self.host.id, *root), self.state(conversation).spent.replies)

    async def _ask_and_journal(
        self,
        request: Request,
        role: Role,
        conversation: str,
        judge: Judge | None,
        on_delta: OnDelta | None,
        size: Measure | None,
        seconds: float | None,
    ) -> AskedReply:
        """Ask, and journal the reply; see `ask`."""
        host, state = self.host, self.state(conversation)
        chain = host.chain.of(role.name)
        attributes = of_request(request, self.place, conversation)
        with host.telemetry.span(f"chat {role.name}", "client", **attributes) as span:
            token = FAILED_ATTEMPT.set(partial(self._journal_failed_attempt, conversation))
            try:
                if seconds is None:
                    reply = await self._answer(request, id(chain), on_delta)
                else:
                    async with asyncio.timeout(seconds):
                        reply = await self._answer(request, id(chain), on_delta)
            except (TransomError, TimeoutError) as error:
                span.update(of_provider(self._pinned.get(id(chain)) or chain.failed(error)))
                raise
            finally:
                FAILED_ATTEMPT.reset(token)
            # What is made of local text is local.
            if request.window.egress != "any":
                reply = replace(reply, egress=request.window.egress)
            record = self._record(request, role, reply, state.replies, size)
            failure: TransomError | None = None
            if judge:
                status, failure = judge(reply)
                if status:
                    record["status"] = status
            stop = await self._journal_reply(
                conversation, host.chain.policy.mark(request), reply, state, record
            )
            span.update(of_reply(reply))
        return AskedReply(reply, failure, stop)

    def _journal_failed_attempt(self, conversation: str, provider: str, usage: Usage) -> None:
        """Journal the usage of an attempt that failed after its reply had begun."""
        key = self.key(conversation)._asdict()
        self.host.append_soon("attempt_failed", {**key, "by": provider, "usage": usage.to_json()})

    async def _answer(self, request: Request, chain: int, on_delta: OnDelta | None) -> Reply:
        """Return the reply of the provider that answers in this stage, and log the call.

        The first reply settles which provider that is, also for calls that run at the same time.
        Meanwhile a person is told of a silent model.

        Args:
            request: what is asked.
            chain: the `id` of the role's chain.
            on_delta: receives the pieces of the reply.
        """
        host, silence = self.host, None
        if host.progress is not tell_nobody:
            silence = host.silence.begin(partial(self._silence_line, request.role))
            if on_delta:  # a reply that is shown as it comes is not silent
                on_delta = joined(on_delta, silence.restart)
        began = time.monotonic()
        try:
            provider = self._pinned.get(chain)
            if provider:
                reply = await host.chain.answer(request, only=provider, on_delta=on_delta)
            else:
                async with self._first_reply:
                    # Another call may have settled it while this one waited.
                    provider = self._pinned.get(chain)
                    reply = await host.chain.answer(request, only=provider, on_delta=on_delta)
                    self._pinned[chain] = reply.by
        except Exception as error:
            seconds = time.monotonic() - began
            log_failure(request, error, host.chain, seconds, answers_logged=host.log_calls)
            raise
        finally:
            if silence:
                host.silence.end(silence)
        if host.log_calls:
            log_reply(request, reply, host.chain.policy, began)
        return reply

    def _silence_line(self, role: str, seconds: int) -> str:
        model = self.next_model(role)
        return f"{self.name}: {model} has not answered for {seconds} s; still waiting"

    def _record(
        self, request: Request, role: Role, reply: Reply, ordinal: int, size: Measure | None
    ) -> dict[str, Any]:
        """Return the event of a reply, without its status and window."""
        record: dict[str, Any] = {
            "ordinal": ordinal,
            "attempt": self.attempt,
            "request": request.digest,
            "role": request.role,
            "sees": sorted(role.sees),
            "reply": reply.to_json(),
            "shares": {share.name: (share.used, share.limit) for share in request.window.shares},
        }
        if size:
            record["size"] = [*size]
        if ordinal == 0:
            # A recording plays with a window of the same size.
            caps = self.host.chain.of(role.name).caps
            if caps.context_tokens < UNBOUNDED and caps.context_known:
                record["context_tokens"] = caps.context_tokens
        return record

    async def _journal_reply(
        self,
        conversation: str,
        request: Request,
        reply: Reply,
        state: ConversationState,
        record: dict[str, Any],
    ) -> BaseException | None:
        """Journal a reply that is paid for, even if the task is cancelled meanwhile.

        Returns:
            The cancellation, or another error that came after the reply was written; None if there
            was neither.
        """
        ordinal: int = record["ordinal"]
        try:
            await self._append_reply(conversation, request, reply, state, record)
        except BaseException as error:
            if state.replies == ordinal:  # it is not in the journal yet
                if not isinstance(error, asyncio.CancelledError):
                    raise
                await _shielded(self._append_reply(conversation, request, reply, state, record))
            return error
        return None

    async def _append_reply(
        self,
        conversation: str,
        request: Request,
        reply: Reply,
        state: ConversationState,
        record: dict[str, Any],
    ) -> None:
        """Append a reply's record and its window."""
        # It knows what is stored, so it is put back only once this window is.
        writer = self._windows.pop(conversation, None) or WindowWriter()
        record["window"], blobs = writer.keep(request, state.turns, record["ordinal"])
        state.arriving = record["reply"], reply
        await self.append("model_reply", conversation, record, blobs)
        self._windows[conversation] = writer

    def pin(self, role: str, provider: str) -> None:
        """Have the provider that answered in the journal asked from now on.

        A kept conversation may go on with another one.
        """
        if not self.is_kept:
            self._pinned.setdefault(id(self.host.chain.of(role)), provider)

    def next_model(self, role: str) -> str:
        """Return the name of the model that is asked next."""
        chain = self.host.chain.of(role)
        return self._pinned.get(id(chain)) or chain.providers[0].name

    # -- the record of its end ---------------------------------------------------------------------

    @property
    def replied(self) -> dict[str, Any]:
        """The part of the record of its end that says who answered, from what, and the tokens of
        the replies that are used.
        """
        state = self.host.state
        usage = Usage()
        # By provider: the sources of its answers, each once, and sorted so that the record does not
        # depend on which call came first.
        sources_of: dict[str, dict[str, Any]] = {}
        for key in self._keys():
            if not (key.conversation in self._claimed and state.counts(key)):
                continue
            for message in state.conversation(key).messages:
                for record in message.replies.values():
                    reply = record["reply"]
                    usage += Usage(**reply["usage"])
                    sources = sources_of.setdefault(reply["by"], {})
                    for source in reply["answered_from"]:
                        sources[str(source)] = source
        pairs: list[list[Any]] = []
        for provider, sources in sorted(sources_of.items()):
            pairs.append([provider, [sources[text] for text in sorted(sources)]])
        return {"answered": pairs, "usage": usage.to_json()}

    def note(self, name: str, text: str) -> Path:
        """Leave a file for people beside the artifact. It is written and never read."""
        return write_file(self.folder / name, text.encode("utf-8", "surrogatepass"))

    def _keys(self) -> list[ConversationKey]:
        """Return the conversations of the stage, in the order in which they began."""
        stage = (self.name, self.epoch)
        return [key for key in self.host.state.conversations if key[:2] == stage]


async def _shielded(work: Coroutine[Any, Any, None]) -> None:
    """Do work to its end, however often the task is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()
