"""What an agent is made with: its role and tools, its provider and settings, and its place."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from transom.canonical import Json
from transom.config import Settings, load_settings
from transom.config.runtime_sections import ModelSeat
from transom.context import WindowBudget
from transom.errors import InputError, ToolError
from transom.llm import CallSettings, Chain, Provider, Role
from transom.llm.checked import check_kind, check_provider
from transom.llm.limits import PROCESS, RateLimitStore
from transom.llm.prices import priced_exporter
from transom.runs import Named, Run, Stage, Workspace
from transom.runs.journal import fold
from transom.runs.run import RUNS
from transom.runs.stage import MAIN
from transom.store import Store
from transom.tools import ToolDefinition, as_tools

KIND = NAMELESS = "agent"
"""The kind of the runs of agents, and the name of a role that is given as a text."""
SUB = ".sub"
"""The end of the name of a sub-conversation's role; the name of the role that opens it stands
before it.
"""


@dataclass(frozen=True)
class Setup:
    """The provider of an agent, and its settings.

    Attributes:
        provider: a name (`anthropic:NAME`, or several, comma-separated), a provider or a chain;
            None for the provider of the setting `llm.agent`.
        settings: the settings; `transom.config.load_settings` reads those of the command line.
    """

    provider: str | Provider | Chain | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        check_kind(self.settings, Settings, "settings", "Setup")
        if not isinstance(self.provider, str | Chain | None):
            check_provider(self.provider, "provider")
            object.__setattr__(self, "provider", self._chain_of(self.provider))

    def _chain_of(self, provider: Provider) -> Chain:
        return Chain((provider,), retry=self.settings.llm.retry)

    @classmethod
    def of(cls, provider: str | Provider | Chain | Setup | None) -> Setup:
        """Return the setup of an agent.

        A name is looked up in the settings of the current folder; an object needs no settings.
        """
        if isinstance(provider, Setup):
            return provider
        if isinstance(provider, str | None):
            return cls(provider, load_settings())
        return cls(provider)

    def chain(self, role: str, limits: RateLimitStore) -> Chain:
        """Return the providers of a role and its sub-conversations.

        Args:
            role: the name of the role.
            limits: where the rate limits of the providers are counted.

        Raises:
            InputError: no provider is configured.
        """
        if isinstance(self.provider, Chain):
            return self.provider
        # Imported here since only a model that is given by its name needs it.
        from transom.llm.naming import (  # noqa: PLC0415
            Surroundings,
            named_chain,
            place_of_seat,
            seat_spec,
        )

        llm, spec = self.settings.llm, self.provider
        setting = "provider"  # where an error says that the name comes from
        if spec is None:
            setting = place_of_seat(self.settings, llm.agent)
            spec = seat_spec(llm.agent, self.settings.model.split(","), setting)
        if not isinstance(spec, str):
            hint = (
                "give the agent a provider, set llm.agent.provider and .model, or give it a stage"
                " of a run"
            )
            raise InputError("no provider is configured", place=role, hint=hint)
        around = Surroundings(Path.cwd(), self.settings, store=limits, place=setting)
        return named_chain(spec, around, {role + SUB: llm.sub_conversation})

    def role(self, role: Role, *, memory: bool = False) -> Role:
        """Return the role with the settings of `llm.agent`.

        Args:
            role: the role as the program declares it.
            memory: whether a source of the agent keeps answers.

        Raises:
            InputError: the role's strategy needs a memory, and there is none.
        """
        seat = self.settings.llm.agent
        strategy = seat.strategy or role.strategy
        # Without a place for its answers the strategy would lose all of them without a word.
        if strategy == "memory" and not memory:
            hint = "give the agent one, e.g. sources=[Recall(memory)]"
            raise InputError(
                "its strategy is memory, and there is no memory", place=role.name, hint=hint
            )
        return replace(role, settings=seated(role.settings, seat), strategy=strategy)


def seated(settings: CallSettings, seat: ModelSeat) -> CallSettings:
    """Return the call settings of a role, with those that its seat overrides."""
    if seat.max_tokens is not None:
        settings = replace(settings, max_tokens=seat.max_tokens)
    if seat.temperature is not None:
        settings = replace(settings, temperature=seat.temperature)
    return settings


class DeferredStore:
    """The store of rate limits: the process' own, or a home's once the home is open.

    The providers are made before the home is opened.
    """

    def __init__(self) -> None:
        self.store: RateLimitStore = PROCESS

    def get(self, table: str, key: str) -> Json | None:
        """Return a document; see `RateLimitStore`."""
        return self.store.get(table, key)

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """Replace a document if it equals `old`; see `RateLimitStore`."""
        return await self.store.swap(table, key, old, new)


@dataclass(frozen=True)
class Home:
    """A run of an agent's own, which a later process can go on with.

    Attributes:
        workspace: the `.transom` folder.
        name: the name of the conversation; the same name and role are always the same conversation.
        store: the workspace's database, if the program has it open for many conversations at once;
            if None, each conversation opens it for itself.
    """

    workspace: Path | str
    name: str
    store: Store | None = None

    def __post_init__(self) -> None:
        check_kind(self.workspace, (Path, str), "workspace", "Home")
        check_kind(self.name, str, "name", "Home")
        object.__setattr__(self, "workspace", Path(self.workspace))

    @staticmethod
    async def unfinished(workspace: Path | str, role: Role) -> list[Home]:
        """Return the role's conversations that still have something open: a message without an
        answer, after a kill, a pause, a cap or an error.

        Conversations that another process has open now are among them; opening one of these raises
        `RunBusy`.
        """
        folder = Path(workspace)
        if not folder.is_dir():
            return []
        opened = Workspace.at(folder)
        if not opened.has_store:
            return []
        names: dict[str, str] = {}
        async with opened.open_store() as store:
            row: Any
            for row in store.items(RUNS).values():
                if row["kind"] != KIND or row["inputs"]["role"] != role.name:
                    continue
                if fold(store.read(f"run/{row['id']}")).status != "done":
                    names[str(row["id"])] = row["inputs"]["name"]
        # The id of a run begins with the time when it began.
        return [Home(folder, name) for _, name in sorted(names.items())]


AgentLocation: TypeAlias = Stage | Run | Named | Home | None
"""The place where a conversation is kept: a stage or a run, either under a name, or a home; None if
it is gone with its agent.
"""


AgentProvider: TypeAlias = str | Provider | Chain | Setup | None
"""The model of an agent: a name, a provider, a chain, or a setup; None for that of the settings."""


class AgentPlace:
    """The place where a conversation is kept, and its providers there.

    Attributes:
        stage: the stage in whose journal it is; None if the agent opens a run of its own.
        setup: the provider as given, and the settings.
        chain: the providers.
        closing: what is closed with the agent.
    """

    def __init__(self, role: str, provider: AgentProvider, location: AgentLocation) -> None:
        kinds = (Home, Stage, Run, Named, type(None))
        hint = 'pass at=Home(".transom", "monday"), or leave it out'
        check_kind(location, kinds, "at", "Agent", hint)
        self._home = location if isinstance(location, Home) else None
        self._role = role
        self._limits = DeferredStore()
        self.stage: Stage | None = None
        if isinstance(location, Stage):
            self.stage = location
        elif isinstance(location, Named):
            self.stage = location.stage
        elif isinstance(location, Run):
            self.stage = location.kept
        self.closing = AsyncExitStack()
        if self.stage:
            if provider is not None:
                problem = "an agent in a run asks the run's own providers"
                raise InputError(problem, hint="leave provider out")
            self.setup = Setup()
            self.chain = self.stage.host.chain
        else:
            self.setup = Setup.of(provider)
            self.chain = self.setup.chain(role, self._limits)

    @property
    def has_home(self) -> bool:
        """Whether the conversation is kept in a `Home`."""
        return self._home is not None

    async def open(self) -> Stage:
        """Return the agent's stage, or that of a new run of its own.

        Without a home, the run is in a folder that is deleted with the agent.
        """
        if self.stage:
            return self.stage
        settings = self.setup.settings
        try:
            home = self._home or self._temporary_home()
            exporter = priced_exporter(settings.telemetry.otlp_endpoint, settings.paths.prices)
            workspace = Workspace.at(home.workspace, exporter=exporter)
            store = home.store
            # A store that the program opened is closed by the program.
            if store is None:
                store = await self.closing.enter_async_context(workspace.open_store())
            # The role's name, not its text: a home goes on with a changed prompt.
            inputs: dict[str, Json] = {"name": home.name, "role": self._role}
            opened = await Run.open(
                KIND, inputs, name=home.name, workspace=workspace, store=store, chain=self.chain
            )
            run = await self.closing.enter_async_context(opened)
        except BaseException:
            await self.close()
            raise
        # A stage has the budget of its run; an agent's own run has that of its settings.
        run.budget = WindowBudget.of(settings.window)
        if self._home is None:
            run.how_to_decide = _DECIDE_NOW
        if self._home:
            self._limits.store = store
        if not isinstance(self.setup.provider, Chain):  # a program closes its own chain itself
            self.closing.push_async_callback(self.chain.aclose)
        stage = run.new_kept_stage()
        self.closing.push_async_callback(_finish, run, stage)
        return stage

    def _temporary_home(self) -> Home:
        folder = tempfile.mkdtemp(prefix="transom-")
        # An agent that is never closed leaves no folder either.
        remove = weakref.finalize(self.closing, shutil.rmtree, folder, ignore_errors=True)
        self.closing.callback(remove)
        return Home(Path(folder, ".transom"), MAIN)

    async def close(self) -> None:
        """Close what was opened; it can be opened again."""
        closing, self.closing = self.closing, AsyncExitStack()
        await closing.aclose()


_DECIDE_NOW = (
    "call agent.decide(...) and agent.resume() before the agent is closed, or keep it:"
    ' Agent(..., at=Home(".transom", "monday"))'
)


async def _finish(run: Run, stage: Stage) -> None:
    """Record how the run of an agent ends: `done` if each message has its answer."""
    if not run.state.waiting:  # otherwise it is paused, and says so already
        await run.finish("stopped" if stage.state(MAIN).open_message else "done")


def with_output(role: Role, output: Any) -> Role:
    """Return a role whose answers follow an output."""
    if role.output is not None and role.output != output:
        problem = "the role has an output, and the agent another"
        raise InputError(problem, place=role.name, hint="pass output= once")
    return replace(role, output=output)


def checked_tools(role: Role, tools: Iterable[Any], deps: object) -> list[ToolDefinition]:
    """Return the tools as definitions; check them and the role, as a type checker would have."""
    hint = 'write "You know the stock.", or Role("clerk", "You know the stock.")'
    check_kind(role, Role, "role", "Agent", hint)
    check_kind(tools, Iterable, "tools", "Agent", "pass tools=[...]")
    definitions = [tool.with_deps(deps) for tool in as_tools(list(tools))]
    specs = [tool.spec for tool in definitions]
    missing = [spec.name for spec in role.tools if spec not in specs]
    if missing:
        problem = f"it names {', '.join(missing)} among its tools, and no such tool is given"
        hint = "give the agent tools=[...]; the role need name none"
        raise ToolError(problem, place=role.name, hint=hint)
    return definitions
