"""What a stage's function is handed: a way to ask a model so that no reply is paid for twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from transom.canonical import Json
from transom.context import Budget, TokenCorrection
from transom.errors import StoreError
from transom.llm import AnsweredFrom, Reply, Request, Role, Usage
from transom.llm.deltas import tell
from transom.runs.called import Calls
from transom.runs.host import Host
from transom.runs.journal import ToolKey
from transom.runs.models import PLAIN, AskOptions, Models
from transom.runs.names import Named, Names, checked, is_within
from transom.runs.replies import Replies
from transom.runs.spans import of_reply, of_request
from transom.runs.standing import stood
from transom.runs.windows import Talk, talk_after
from transom.runs.written import write_file

NOTHING_USED = Usage()


class Stage(Calls):
    """One attempt of one stage.

    Attributes:
        name: its path in the run, e.g. `spec/round1`.
        attempt: 1-based number of this try.
        place: its run and its name: what a conversation's name is unique in.
        folder: where it may leave files for people beside its artifact (`note`).
        names: of its conversations.
        memoise: set False by a function whose result must not be reused, e.g. because a machine was too busy.
    """

    def __init__(self, run: Host, name: str, *, attempt: int, epoch: str) -> None:
        self._run = run
        self.name, self.attempt, self.epoch = name, attempt, epoch
        self.place = f"{run.id}/{name}"
        self.folder = run.folder / name
        self.memoise = True
        self.answered: dict[str, set[AnsweredFrom]] = {}
        self._used: dict[str, Usage] = {}
        self._models, self._replies = Models(run), Replies(run, attempt)
        self._talks: dict[str, Talk] = {}
        self._told: Counter[str] = Counter()
        self._under_way: set[ToolKey] = set()
        self._met: set[ToolKey] = set()
        self.names = Names(self.place, self._talks)

    @property
    def budget(self) -> Budget:
        """How large the windows of its calls may be."""
        return self._run.budget

    @property
    def usage(self) -> Usage:
        """Tokens of the replies that are used in it."""
        return sum(self._used.values(), NOTHING_USED)

    @property
    def host(self) -> Host:
        """The run that it is a stage of."""
        return self._run

    def named(self, name: str) -> Named:
        """Where an agent lives whose conversation has that name: `Agent(role, at=stage.named("q0"))`.

        The name is what its replies and results are found by when the code runs again, whichever of several agents at
        once comes first.

        Raises:
            InputError: it is no name, or one that stands for something else.
        """
        return Named(self, checked(name, self.place))

    def told(self, conversation: str) -> list[Any]:
        """What the journal has of a conversation beside replies and results (see `tell`), from where it is now."""
        told = self._run.state.told.get((self.name, self.epoch, conversation), [])
        return told[self._told[conversation] :]

    def marks(self, conversation: str) -> dict[int, list[Any]]:
        """What a program said of the events of a conversation that lasts, by their numbers (see `keep_mark`)."""
        return self._run.state.marks.get((self.name, self.epoch, conversation), {})

    async def keep_mark(self, conversation: str, event: int, mark: Json) -> None:
        """Journal what a program says of an event of a conversation."""
        await self._run.append("marked", {**self._where(conversation), "event": event, "mark": mark})

    def told_next(self, conversation: str) -> Any | None:
        """What was told next when the code ran before; None where that is new."""
        return next(iter(self.told(conversation)), None)

    async def ask(
        self, request: Request, role: Role, *, conversation: str = "main", options: AskOptions = PLAIN
    ) -> Reply:
        """Ask the run's chain, or take the journaled reply.

        A reply is synced to the journal before it is used. Who is stopped meanwhile is so when it is there and counts.
        A stage's result must follow from its inputs, so a journaled reply counts for the very same request. In a
        conversation that lasts, what was said stays said: there it counts for its place, after the same words, whatever
        prompt, tools or model are today.

        Args:
            request: what is asked.
            role: who asks.
            conversation: tells conversations of one stage apart.
            options: how it is asked.

        Raises:
            ProviderError, EgressError: from the chain.
            CapReached: the run has cost what it may.
            TimeoutError: no reply in time.
        """
        talk = self._talks.setdefault(conversation, Talk())
        chain = self._run.chain.of(role.name)
        key = self._key(talk, request, role, conversation, lasting=options.lasting)
        about = of_request(request, self.place, conversation)
        with self._run.telemetry.span(f"chat {role.name}", "client", **about) as span:
            reply, found = self._replies.found(key)
            replayed, stop = reply is not None, None
            if reply is None:
                reply = await self._models.reply(request, chain, options, span)
                then = options.judge(reply)
                stop = await self._replies.put(key, reply, then, talk=talk, request=request, role=role)
                if self._run.spending:
                    self._run.spending.add(reply.by, reply.usage)
            else:
                then = stood(self._run.state, found) or options.judge(reply)
                tell(reply, options.on_delta)
            if not (replayed and options.lasting):  # who answered then need not be there today
                self._models.pinned[id(chain)] = reply.by
            self._use(reply, conversation)
            span.update(of_reply(reply, replayed=replayed))
        self._talks[conversation] = talk_after(talk, request, reply, asked=key, found=found)
        if options.answering:
            options.answering.take(reply, then, replayed=replayed)
        if stop:
            if options.held is None:
                raise stop
            options.held(stop)
        return reply

    def counted(self, conversation: str) -> dict[str, TokenCorrection]:
        """How tokens are estimated as a conversation begins, by the name of the model: as the run had learned by then.

        What it begins with is journaled, so that its windows are the same whenever the code runs again.
        """
        key, learned = (self.name, self.epoch, conversation), self._run.learned
        found = self._run.state.counted.get(key)
        if found is not None:
            return {model: TokenCorrection.from_json(one) for model, one in found.items()}
        if not learned or key in self._run.state.begun:
            return {}
        tokens = {model: one.to_json() for model, one in learned.items()}
        self._run.append_soon("counted", {**self._where(conversation), "tokens": tokens})
        return {**learned}

    def answering(self, role: str, conversation: str) -> tuple[str, bool]:
        """The name of the model that the next reply is expected of or journaled by, and whether it will stay so."""
        chain = self._run.chain.of(role)
        pinned = self._models.pinned
        if id(chain) in pinned:
            return pinned[id(chain)], True
        said = self._run.state.said.get((self.name, self.epoch, conversation), {})
        found = said.get(self._talks.get(conversation, Talk()).next)
        return (found["reply"]["by"] if found else chain.providers[0].name), False

    def answered_next(self, conversation: str) -> bool:
        """Whether the journal of a conversation that lasts has a reply to what it holds now."""
        ordinal = self._talks.get(conversation, Talk()).next
        key = {**self._where(conversation), "ordinal": ordinal, "told": self._told[conversation]}
        return self._replies.said(key) is not None

    def _key(self, talk: Talk, request: Request, role: Role, conversation: str, *, lasting: bool) -> dict[str, Any]:
        """What a reply is journaled under."""
        return {
            **self._where(conversation),
            "ordinal": talk.next,
            "request": request.digest,
            "chain": self._run.chain.fingerprint(role),
            **({"told": self._told[conversation]} if lasting else {}),
        }

    def _where(self, conversation: str) -> dict[str, object]:
        return {"stage": self.name, "epoch": self.epoch, "conversation": conversation}

    def _use(self, reply: Reply, conversation: str) -> None:
        """Count a reply to what the stage's result comes of."""
        self.answered.setdefault(reply.by, set()).update(reply.answered_from)
        self._used[conversation] = self._used.get(conversation, NOTHING_USED) + reply.usage

    async def tell(self, conversation: str, told: Json) -> None:
        """Journal something of a conversation that is neither a reply nor a result; not again when code runs again.

        What is told in another way than the last time voids what was told after it.
        """
        number, held = self._told[conversation], self.told_next(conversation)
        self._told[conversation] += 1
        if held == told:
            return
        try:
            await self._run.append("told", {**self._where(conversation), "number": number, "told": told})
        except StoreError:  # it was not said; who is cancelled meanwhile has said it
            self._told[conversation] = number
            raise

    def rewind(self, conversation: str) -> list[tuple[tuple[str, int], Json]]:
        """Begin a conversation and its sub-conversations anew: what the journal has of them is gone through again.

        Returns:
            Their replies that were used, see `replies_within`.
        """
        used = {name: talk.next for name, talk in self._talks.items() if is_within(name, conversation)}
        if not used and not any(is_within(name, conversation) for name in self._told):
            return []
        passed = [one for one in self.replies_within(conversation) if one[0][1] < used.get(one[0][0], 0)]
        for kept in (self._talks, self._told, self._used):
            for name in [name for name in kept if is_within(name, conversation)]:
                del kept[name]
        self._met = {one for one in self._met if not is_within(one[2], conversation)}
        self.names.give_back(conversation)
        return passed

    def replies_within(self, conversation: str) -> list[tuple[tuple[str, int], Json]]:
        """The journaled replies of a conversation and its sub-conversations, oldest first: whose, which, and it."""
        found = self._run.state.replies.items()
        mine = [(key[2:4], one) for key, one in found if key[:2] == (self.name, self.epoch)]
        return [(place, one) for place, one in mine if is_within(place[0], conversation)]

    def note(self, name: str, text: str) -> Path:
        """Leave a file for people beside the artifact. It is written and never read.

        Raises:
            InputError: the file cannot be written.
        """
        return write_file(self.folder / name, text.encode("utf-8", "surrogatepass"))
