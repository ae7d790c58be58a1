"""Where an agent lives, and its conversation while it is open in this process."""

from __future__ import annotations

import json
import logging
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from transom.agent.budget import Meter
from transom.agent.events import Event, OnEvent, nobody
from transom.agent.setup import DeferredStore, Setup
from transom.canonical import Json, digest
from transom.config import Settings
from transom.config.model import SubConversationSeat
from transom.context import History, TokenCorrection
from transom.context.fitting import Frame
from transom.context.oversized import BlockSource
from transom.context.tokens import Measure
from transom.context.window import UNCORRECTED, frame_of
from transom.errors import InputError, ToolError
from transom.llm import Block, Chain, Provider, Request, Role, Tier, ToolCall, ToolResult, ToolResults, Turn
from transom.llm.structured import Check, schema_check
from transom.runs import Named, Run, Stage, Workspace
from transom.runs.conversation import Conversation, ConversationKey, Message, Spent
from transom.runs.journal import fold
from transom.runs.prices import priced_exporter
from transom.runs.run import RUNS
from transom.runs.stage import KEPT, MAIN
from transom.runs.tool_call import refuse_in_stage, refuse_in_tool_call
from transom.store import Store
from transom.tools import Toolbox, ToolDefinition
from transom.tools.definition import ToolOutcome, ran_from_json
from transom.tools.toolbox import OWN

_log = logging.getLogger(__name__)

KIND = NAMELESS = "agent"
"""What runs of agents are, and the name of a role that is given as a text."""
_OF_PROGRAM = re.compile(r"[^/]+(/(?!\d+\.\d+(/|$))[^/]+)*")
"""Conversations in which a program says something: no part of the name is that of a tool call."""


@dataclass(frozen=True, init=False)
class Home:
    """A run of an agent's own, that can be gone on with.

    Attributes:
        workspace: the `.transom` folder; a text is one too.
        name: of the conversation; the same name and role are the same conversation, whoever asks and when.
        store: the workspace's database, where the program has it open for many conversations at once; each opens it
            for itself where None.
    """

    workspace: Path
    name: str
    store: Store | None = None

    def __init__(self, workspace: Path | str, name: str, store: Store | None = None) -> None:
        """See the class.

        Raises:
            InputError: no path, or no name.
        """
        given: tuple[object, object] = (workspace, name)
        if not isinstance(given[0], Path | str) or not isinstance(given[1], str):
            what = f"a home is a folder and a name, and these are {' and '.join(type(one).__name__ for one in given)}"
            raise InputError(what, where="Home", hint='say Home(".transom", "monday")')
        for name_, value in (("workspace", Path(workspace)), ("name", name), ("store", store)):
            object.__setattr__(self, name_, value)

    @staticmethod
    async def unfinished(workspace: Path | str, role: Role) -> list[Home]:
        """The role's conversations that somebody still waits for: cut off, at a pause, a cap or an error.

        Those that another process has open now are among them; it is opening them that raises `RunBusy`.

        Args:
            workspace: the `.transom` folder; looking makes none.
            role: whose conversations.

        Raises:
            StoreError: the database cannot be read.
        """
        workspace = Path(workspace)
        if not workspace.is_dir() or not (there := Workspace.at(workspace)).database.is_file():
            return []
        async with there.open_store() as store:
            rows: list[Any] = list(store.items(RUNS).values())
            mine = [row for row in rows if row["kind"] == KIND and row["inputs"]["role"] == role.name]
            left = [row for row in mine if _is_waited_for(store, row["id"])]
        return [Home(workspace, row["inputs"]["name"]) for row in sorted(left, key=lambda row: str(row["id"]))]


AgentLocation: TypeAlias = Stage | Run | Named | Home | None
"""Where an agent lives: in a stage, kept in a run, in either under a name, in a home, or nowhere for long."""


def stage_of(at: AgentLocation) -> Stage | None:
    """The stage where an agent lives; None where it has a run of its own."""
    if isinstance(at, Run):
        return at.kept
    return at.stage if isinstance(at, Named) else at if isinstance(at, Stage) else None


def _is_waited_for(store: Store, run_id: str) -> bool:
    """Whether the last message of a conversation of a program has no answer."""
    found = fold(store.read(f"run/{run_id}")).conversations.items()
    mine = [state for key, state in found if key.stage == KEPT and _OF_PROGRAM.fullmatch(key.conversation)]
    return any(state.open_message is not None for state in mine)


@dataclass
class AgentConfig:
    """What an agent is made of.

    Attributes:
        role: who is asked, as the settings have it.
        toolbox: what it may call.
        setup: who answers, and the settings that hold for it.
        chain: the same, made.
        at: where it lives.
        meter: what is used, and may be; a sub-conversation has that of the agent that opens it.
        sources: what each message is looked up in.
        shelf: where a chain that was made for it keeps what was spent of its limits.
    """

    role: Role
    toolbox: Toolbox
    setup: Setup
    chain: Chain
    at: AgentLocation
    meter: Meter = field(default_factory=Meter)
    sources: tuple[BlockSource, ...] = ()
    shelf: DeferredStore = field(default_factory=DeferredStore)


def check_given(role: object, tools: object, at: object) -> None:
    """Look at what no type checker has looked at. Each tool by itself is the toolbox's to refuse.

    Raises:
        InputError: no role, one whose answers are to follow a schema that is none, no tools, or no place to live.
    """
    if not isinstance(role, Role):
        hint = 'say "You know the stock.", or Role("clerk", "You know the stock.")'
        raise InputError(f"who is talked with is a Role, and this is {_kind(role)}", where="Agent", hint=hint)
    if role.schema is not None:
        schema_check(role.schema)
    if not isinstance(tools, Iterable) or isinstance(tools, str):
        raise InputError(f"tools are a list, and this is {_kind(tools)}", where="Agent", hint="say tools=[...]")
    if not isinstance(at, Stage | Run | Named | Home | None):
        hint = 'say at=Home(".transom", "monday"), or leave it out'
        raise InputError(f"it lives in a Home, a run or a stage, and this is {_kind(at)}", where="Agent", hint=hint)


def given_role(role: Role, tools: Sequence[ToolDefinition]) -> Role:
    """The role; a tool that it names has a name and a schema there, and what carries it out has to be given as well.

    Raises:
        ToolError: that is missing.
    """
    specs = [tool.spec for tool in tools]
    missing = [spec.name for spec in role.tools if spec not in specs]
    if missing:
        what = f"it names {', '.join(missing)} among its tools, and no such tool is given"
        raise ToolError(what, where=role.name, hint="give the agent tools=[...]; the role need name none")
    return role


def given_setup(provider: str | Provider | Chain | Setup | None, at: AgentLocation) -> Setup:
    """Who answers where an agent lives.

    Raises:
        InputError: its run knows that itself.
    """
    if stage_of(at) is None:
        return Setup.of(provider)
    if provider is not None:
        raise InputError("an agent in a run asks the run's own providers", hint="leave provider out")
    return Setup()


def _kind(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


@dataclass
class OpenPlace:
    """The stage of an agent while it is open, and its run where that is the agent's own."""

    stage: Stage
    run: Run | None
    closing: AsyncExitStack

    async def close(self, *, answered: bool) -> None:
        """Let go of the run; a kept one can be gone on with.

        Args:
            answered: whether something was said in it, and all of it has its answer.
        """
        try:
            if self.run is not None and not self.run.state.waiting:
                await self.run.finish("done" if answered else "stopped")
        finally:  # a store that takes no more holds nobody up
            await self.closing.aclose()


async def open_place(config: AgentConfig) -> OpenPlace:
    """A stage as it is; else open a run of an agent's own, without a home in a folder that goes with it.

    Raises:
        RunBusy: another process has this conversation open.
        InputError: the workspace cannot be made.
    """
    closing, home = AsyncExitStack(), config.at if isinstance(config.at, Home) else None
    if stage := stage_of(config.at):
        return OpenPlace(stage, None, closing)
    settings: Settings = config.setup.settings
    try:
        if home is None:
            folder = Path(tempfile.mkdtemp(prefix="transom-"))
            closing.callback(weakref.finalize(closing, shutil.rmtree, folder, ignore_errors=True))
            home = Home(folder / ".transom", MAIN)
        exporter = priced_exporter(settings.telemetry.otlp_endpoint, settings.paths.prices)
        workspace = Workspace.at(home.workspace, exporter=exporter)
        store = home.store
        if store is None:
            store = await closing.enter_async_context(workspace.open_store())
        inputs: dict[str, Json] = {"name": home.name, "role": config.role.name}
        opened = Run.open(KIND, inputs, name=home.name, workspace=workspace, store=store, chain=config.chain)
        run = await closing.enter_async_context(await opened)
        run.budget, config.shelf.shelf = config.setup.budget, store
        if config.setup.named:
            closing.push_async_callback(config.chain.aclose)
    except BaseException:
        await closing.aclose()
        raise
    return OpenPlace(run.kept, run, closing)


class WindowHistory:
    """What windows hold of a conversation: its turns, the older part of them folded."""

    def __init__(self) -> None:
        self.history = History()
        self._state: Conversation | None = None
        self._version = self._turns = self._marks = 0

    def of(self, state: Conversation) -> History:
        """The history with all turns of a conversation."""
        if state is not self._state or state.version != self._version:
            self.history, self._turns, self._marks = History(), 0, 0
            self._state, self._version = state, state.version
        if self._turns < len(state.turns) or self._marks < len(state.marks):
            self._add(state)
        return self.history

    def _add(self, state: Conversation) -> None:
        new = state.marks if self._turns == 0 else state.marks[self._marks :]
        if not new:
            self.history = self.history.add(*state.turns[self._turns :])
        else:
            for at in range(self._turns, len(state.turns) + 1):
                if at > self._turns:
                    self.history = self.history.add(state.turns[at - 1])
                for mark in [mark for end, mark in new if end == at]:
                    self.history = self.history.add(mark=mark)
        self._turns, self._marks = len(state.turns), len(state.marks)


class TokenCounts:
    """How the tokens of each model are estimated, learned from the usage that came back in a conversation."""

    def __init__(self) -> None:
        self._learned: dict[str, TokenCorrection] = {}
        self._state: Conversation | None = None
        self._version = self._replies = 0

    def of(self, state: Conversation, model: str) -> TokenCorrection:
        """How a model's tokens are estimated now."""
        if state is not self._state or state.version != self._version:
            self._learned, self._replies = {}, 0
            self._state, self._version = state, state.version
        if self._replies < state.replies:
            for message in state.messages[-1:] if self._replies else state.messages:
                for ordinal, data in message.replies.items():
                    if ordinal >= self._replies and "size" in data:
                        by, usage = data["reply"]["by"], data["reply"]["usage"]
                        known = self._learned.get(by, UNCORRECTED)
                        self._learned[by] = known.learned(Measure(*data["size"]), usage["input_tokens"])
            self._replies = state.replies
        return self._learned.get(model, UNCORRECTED)


class EqualCalls:
    """What came of earlier calls of a conversation, by what they asked for."""

    def __init__(self) -> None:
        self._made: dict[str, ToolResult] = {}
        self._state: Conversation | None = None
        self._version = self._turns = 0

    def find(self, state: Conversation, call: ToolCall) -> ToolResult | None:
        """The result of the first equal call that succeeded."""
        if state is not self._state or state.version != self._version:
            self._made, self._turns, self._state, self._version = {}, 0, state, state.version
        for at in range(max(1, self._turns), len(state.turns)):
            turn: Turn = state.turns[at]
            before: Any = state.turns[at - 1]
            if isinstance(turn, ToolResults):
                for one, result in zip(before.calls, turn.results, strict=True):
                    if not result.is_error:
                        self._made.setdefault(one.wanted, result)
        self._turns = len(state.turns)
        return self._made.get(call.wanted)


class LargeResults(Protocol):
    """What becomes of results that are too large for a window."""

    def offer_reading(self, session: Session) -> None:
        """Parts of what is kept or folded can be read from the next call on."""
        ...

    async def keep(self, session: Session, outcome: ToolOutcome, most: int) -> ToolOutcome:
        """A result of more than so many tokens is kept in the store, an outline stands in its place."""
        ...

    async def digest(self, session: Session, number: int, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """What the model is told of a kept result: its outline, or a summary by a sub-conversation."""
        ...


@dataclass(eq=False)
class Session:
    """The open conversation of one agent, or of one of its sub-conversations.

    Attributes:
        stage: in whose journal its events are.
        id: its name there.
        toolbox: what it may call.
        meter: what it and its sub-conversations may use.
        large: what becomes of results that are too large.
        seat: how sub-conversations are asked.
        tell: is told what happens.
        always: blocks that every message is answered from.
        sources: what each message is looked up in.
        parent: the conversation that opened it, if one did.
        deadline: when the message that is under way has to be over.
        next: which message the program says next.
        given: in a sub-conversation, all blocks that it was given.
        readable: what it can read in parts beside its own results, by name.
        raises: whether a cap that is reached is an error, and no end that a response names.
        half: whether a part was heard of a reply that has not come.
        unheard: what a listener raised.
        asked: the last request, and the message that it is of.
    """

    stage: Stage
    id: str
    role_given: Role
    toolbox: Toolbox
    meter: Meter
    large: LargeResults
    seat: SubConversationSeat = field(default_factory=SubConversationSeat)
    tell: OnEvent = nobody
    always: tuple[Block, ...] = ()
    sources: tuple[BlockSource, ...] = ()
    parent: Session | None = None
    deadline: float | None = None
    next: int = 0
    given: tuple[Block, ...] = ()
    readable: dict[str, ToolResult] = field(default_factory=dict)
    raises: bool = False
    half: bool = False
    unheard: Exception | None = None
    asked: tuple[Message, Request] | None = None
    key: ConversationKey = field(init=False)

    def use(self, id: str) -> None:  # noqa: A002  the conversation's
        """Go on as the conversation of that id."""
        self.id, self.key = id, self.stage.key(id)
        self._root = self.key.root

    def __post_init__(self) -> None:
        self.use(self.id)
        chain = self.stage.host.chain
        self.window = self.stage.budget.on(chain.of(self.role_given.name).caps)
        self._role = self.window.held(self.role_given)
        self.history, self.equal, self.tokens = WindowHistory(), EqualCalls(), TokenCounts()
        self._blocks: tuple[Message, tuple[Block, ...]] | None = None
        self._check: tuple[Role, Check | None] | None = None
        self._taken: set[int] = set()
        self._frame: tuple[Role, tuple[Block, ...], Frame] | None = None
        self.given = self.given or self.always

    @property
    def state(self) -> Conversation:
        """The conversation as its events have it."""
        try:  # asked for a dozen times a turn
            return self.stage.host.state.conversations[self.key]
        except KeyError:
            return self.stage.state(self.id)

    @property
    def spent(self) -> Spent:
        """What it and all around it used so far."""
        return self.stage.host.state.spent.get(self._root) or Spent()

    @property
    def role(self) -> Role:
        """Who is asked, with the tools that there are now."""
        if self._role.tools is not self.toolbox.specs:
            self._role = replace(self._role, tools=self.toolbox.specs)
        return self._role

    @property
    def check(self) -> Check | None:
        """Holds an answer to the role's schema; None for free text."""
        role = self._role
        if self._check is None or self._check[0].schema is not role.schema:
            self._check = role, None if role.schema is None else schema_check(role.schema)
        return self._check[1]

    @property
    def correction(self) -> TokenCorrection:
        """How tokens are estimated as the model counts that is asked next."""
        return self.tokens.of(self.state, self.stage.next_model(self._role.name))

    def fingerprint(self, text: str | None, blocks: Sequence[Block]) -> str:
        """The same as long as a message is the same; in a stage also who is asked, and who answers."""
        told: list[Json] = [text, [block.to_json() for block in blocks]]
        if not self.stage.kept:
            own = replace(self.role, tools=tuple(spec for spec in self.role.tools if spec.name not in OWN))
            told += [own.digest, self.stage.host.chain.fingerprint(own), [block.to_json() for block in self.always]]
        return digest(told)

    def frame(self, blocks: tuple[Block, ...]) -> Frame:
        """What stands around the conversation; found anew where a tool came, or something else is asked with."""
        role = self.role
        if self._frame is None or self._frame[0] is not role or self._frame[1] is not blocks:
            self._frame = role, blocks, frame_of(role, blocks, self.window)
        return self._frame[2]

    async def append(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append an event."""
        await self.stage.append(kind, self.id, {**data})

    def refuse(self) -> None:
        """Keep out whoever may not talk here.

        Raises:
            RunError: a tool handler of the same run does this, or one of its stages where the run keeps this.
        """
        refuse_in_tool_call(self.stage.host, self.id)
        if self.stage.kept:
            refuse_in_stage(self.stage.host, self.id)

    async def blocks_of(self, message: Message) -> tuple[Block, ...]:
        """All that a message is answered from: what it came with, and what was recalled for it."""
        if self._blocks is None or self._blocks[0] is not message:
            found = list(self.always)
            for name in ("blocks", "recalled"):
                if sha := message.data.get(name):
                    found += [Block(**one) for one in json.loads(self.stage.host.store.get_blob(sha))]
            self._blocks = message, tuple(found)
        return self._blocks[1]

    def take_in(self, number: int) -> None:
        """A message of the journal counts: its tools hear again what came of their calls, and quotas are as then."""
        self.stage.count(self.id, number + 1)
        if number in self._taken:
            return
        self._taken.add(number)
        box, message = self.toolbox, self.state.messages[number]
        if not any(tool.recall or tool.limits.calls is not None for tool in box.tools):
            return
        for place, outcome in self._outcomes(message):
            box.recall(ran_from_json(outcome), place)

    def _outcomes(self, message: Message) -> Iterator[tuple[Any, Any]]:
        for ordinal, came in message.results.items():
            for call, outcome in came.items():
                yield (self.id, ordinal, call), outcome
        for key, sub in self.stage.host.state.within(self.key).items():
            first = key.conversation.removeprefix(f"{self.id}/").split(".", 1)[0]
            if first.isdigit() and int(first) in message.replies:
                for one in sub.messages:
                    for ordinal, came in one.results.items():
                        for call, outcome in came.items():
                            yield (key.conversation, ordinal, call), outcome

    def hear(self, event: Event) -> None:
        """Something happens. A listener's error is raised once what is under way is in the journal."""
        try:
            self.tell(event)
        except Exception as error:  # noqa: BLE001  see above
            self.unheard = self.unheard or error

    def check_listener(self) -> None:
        """Raise what a listener raised."""
        error, self.unheard = self.unheard, None
        if error:
            raise error


def purpose_blocks(purpose: str, background: str, local: bool) -> tuple[Block, ...]:
    """What a sub-conversation is to find out, and what it knows; as local as who asks."""
    egress = "local" if local else "any"
    blocks = [Block("purpose", purpose, Tier.SESSION, egress=egress)]  # type: ignore[arg-type]  # one of its marks
    if background:
        blocks.append(Block("background", background, Tier.SESSION, "untrusted", egress))  # type: ignore[arg-type]
    return tuple(blocks)


def warn_of_undeclared(box: Toolbox, where: str) -> None:
    """Tell a person once of tools whose effect nobody declared."""
    names = [tool.name for tool in box.tools if tool.effect == "unknown"]
    if names:
        _log.info("%s: tools without a declared effect are never repeated: %s", where, ", ".join(names))
