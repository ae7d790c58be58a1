"""A conversation with a role: ask, carry out what the reply asks for, ask again, until it asks for nothing more.

This is the one loop: for a single call and for an agent, fresh and resumed, streamed or not. Nothing in it asks where a
reply or a result comes from; the stage knows what its journal has.
"""

from __future__ import annotations

import weakref
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from transom.agent.caps import Meter
from transom.agent.events import Event, OnEvent, nobody
from transom.agent.findings import Findings
from transom.agent.hands import Hands, Keep, Shrink, as_it_is
from transom.agent.left import left_from_json
from transom.agent.requesting import Requests
from transom.canonical import Json
from transom.context import Budget, History, Mark, TokenCorrection
from transom.errors import OutOfTurns, ReplyError, ToolError, TransomError
from transom.llm import AssistantMessage, Block, Reply, Request, Role, ToolResults, ToolSpec, Turn, UserMessage
from transom.llm.turns import Egress, strictest
from transom.runs import Stage
from transom.tools import Toolbox
from transom.tools.definition import ToolOutcome


async def nothing_before() -> None:
    """Has nothing said."""


@dataclass
class Conversation:
    """A role's conversation in one stage. Without tools it is one request and one reply.

    Attributes:
        stage: in whose journal replies and results are kept.
        role: who is asked.
        toolbox: what it may call; the role declares the same tools.
        budget: the window's size; the run's where None.
        name: tells conversations of one stage apart.
        history: what was said and came back, as windows hold it: its older part may be folded.
        turns: all of it, word for word.
        requests: how many there were.
        rounds: how many replies called tools since somebody last asked something.
        pending: the last request and its reply, while what it calls for is not yet answered.
        failed: whether the last request ended in an error of its own, as the journal has it.
        learned: by the name of a model, how its tokens are estimated, as learned from the usage that came back; begins
            with what the run had learned, where it is not given.
        tokens: how they are estimated now, see `learned`.
        meter: what is used, and may be.
        deadline: when the message that is under way has to be over, see `Meter.deadline`.
        tell: is told what happens.
        keep: is given each new result before it is journaled, and may keep a large one elsewhere.
        digest: is given each kept result before the model is told, and may hand it on as a summary.
        folded: is called when the older part of the conversation was folded.
        marks: what the program says of events, by their numbers.
        lasting: whether what was said in it stays said, see `Stage.ask`.
        late: tools that were registered since the last request.
        before: is called before each request, and may have something said first.
        left_by: what left the last message without its answer; None where it has one, or an end that the journal knows.
        left_then: the same of the last message, when the code ran before, see `agent.left`.
        as_then: the error of today that this was made into.
        findings: what was found in sub-conversations, and it is not told yet.
        egress: `local` once anything local was told in it, came back, or was answered from: all of it is, from then on.
    """

    stage: Stage
    role: Role
    toolbox: Toolbox = field(default_factory=Toolbox)
    budget: Budget | None = None
    name: str = "main"
    history: History = field(default_factory=History)
    turns: list[Turn] = field(default_factory=list)
    requests: int = 0
    rounds: int = 0
    pending: tuple[Request, Reply] | None = None
    failed: bool = False
    learned: dict[str, TokenCorrection] = field(default_factory=dict)
    tokens: TokenCorrection = field(default_factory=TokenCorrection)
    meter: Meter = field(default_factory=Meter)
    deadline: float | None = None
    tell: OnEvent = nobody
    keep: Keep = as_it_is
    digest: Shrink = as_it_is
    folded: Callable[[], None] = lambda: None
    marks: dict[int, list[Mark]] = field(default_factory=dict)
    lasting: bool = False
    late: list[ToolSpec] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] = nothing_before
    left_by: BaseException | None = None
    left_then: Json = None
    as_then: BaseException | None = None
    egress: Egress = "any"
    findings: Findings = field(default_factory=Findings)
    _unheard: Exception | None = None
    _behind: list[Turn] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.role.tools != self.toolbox.specs:
            declared, given = (
                ", ".join(spec.name for spec in specs) for specs in (self.role.tools, self.toolbox.specs)
            )
            what = f"it declares the tools [{declared}] and is given [{given}]"
            raise ToolError(what, where=self.role.name, hint="give the role the specs of its toolbox")
        self.role = self.window.held(self.role)
        mine = weakref.proxy(self)  # for its parts, which hold it in no circle
        self._hands, self._requests = Hands(mine), Requests(mine)
        self.learned = {**self.learned} or self.stage.counted(self.name)
        self._requests.count()
        if self.lasting:
            kept = self.stage.marks(self.name)
            for event, told in kept.items():
                self.marks[event] = [Mark.from_json({key: one[key] for key in one if key != "egress"}) for one in told]
                if any(one.get("egress") for one in told):
                    self.egress = "local"

    async def ask(self, blocks: Sequence[Block]) -> tuple[Request, Reply]:
        """The last request, and the reply to it, which asks for no tool.

        A reply that was cut off is handed back as it is: what it asks for may be half of what was meant. After an
        error the conversation is whole, and asking again goes on where it was.

        Raises:
            OutOfTurns: the role calls tools although it was told that its turns are used up.
            CapReached: it may use no more.
            ReplyError: an answer does not follow the role's schema, and its repair does not either.
            VisibilityError, WindowOverflow, EgressError, ProviderError, Paused: see `context.go_on` and `Stage`.
        """
        try:
            found = self.pending = await self._answer(tuple(blocks))
            if self.left_then:
                raise self.end_as_then()
        except (OutOfTurns, ReplyError):  # as the journal has it, whoever goes through it
            self.left_by = None
            raise
        except BaseException as error:
            self.left_by = error
            raise
        self.pending = self.left_by = None
        return found

    async def _answer(self, given: tuple[Block, ...]) -> tuple[Request, Reply]:
        while True:
            request, reply = self.pending = self.pending or await self._requests.answered(given)
            if held := self._requests.take_stop() or self._unheard:
                self._unheard = None
                raise held
            if not reply.calls or reply.stop == "length":
                return request, reply
            self._end_turn(reply, await self._hands.results(reply))
            self.rounds += 1
            self.pending = None

    def end_as_then(self) -> TransomError:
        """What the last message ends with, since it did so when the code ran before."""
        self.as_then = error = left_from_json(self.left_then, self)
        return error

    async def give_up(self) -> None:
        """Answer the calls of a reply that nobody waits for any more; those that came to no end never will."""
        if self.pending:
            reply = self.pending[1]
            self._end_turn(reply, await self._hands.give_up(reply))
            self.pending = None
        await self.findings.tell(self)

    async def end_with(self, request: Request, reply: Reply) -> None:
        """Take in the reply that a message ends with. What it calls for although it was cut off is not carried out."""
        try:
            self._end_turn(reply, await self._hands.cut_short(reply))
        except BaseException as error:
            self.pending, self.left_by = (request, reply), error
            raise

    def add(self, *turns: Turn) -> None:
        """Say something, or have something come back."""
        self.turns += turns
        for turn in turns:
            if turn.egress != "any":
                self.egress = "local"
        before, self.history = self.history.count, self.history.add(*turns)
        if self.marks and self.history.count > before:  # what was said of the event when the program ran before
            for mark in self.marks.get(self.history.count, ()):
                self.history = self.history.add(mark=mark)

    def find(self, told: UserMessage) -> None:
        """Be told what was found; behind a reply whose calls are under way or were stopped, and what comes of them."""
        if self.pending:
            self._behind.append(told)
            self.egress = strictest(self.egress, told.egress)  # the program knows it
        else:
            self.add(told)

    def ask_for(self, asked: UserMessage) -> None:
        """Have somebody ask something: from now on rounds are counted anew."""
        self.rounds = 0
        self.left_by, self.left_then = CancelledError(), None  # as long as nobody knows of another end
        self.add(asked)

    def _end_turn(self, reply: Reply, came: Sequence[ToolOutcome]) -> None:
        """A reply and what came of its calls, together."""
        self.add(AssistantMessage(reply.parts), *([ToolResults(tuple([ran.result for ran in came]))] if came else []))
        for ran in came:
            if ran.mark:
                self.history = self.history.add(mark=ran.mark)
        if self._behind:
            behind, self._behind = self._behind, []
            self.add(*behind)

    @cached_property
    def window(self) -> Budget:
        """How large its windows may be where its model answers."""
        return (self.budget or self.stage.budget).on(self.stage.host.chain.of(self.role.name).caps)

    @property
    def at_rest(self) -> bool:
        """Whether whatever was said has its answer."""
        return self.pending is None and (not self.turns or isinstance(self.turns[-1], AssistantMessage))

    def hear(self, event: Event) -> None:
        """Tell of what is paid for. A listener's error is raised as soon as the reply is in its place."""
        try:
            self.tell(event)
        except Exception as error:  # noqa: BLE001  see above
            self._unheard = self._unheard or error
