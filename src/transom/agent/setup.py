"""Who answers an agent and how it is asked, from a name and the settings; and where it lives."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from transom.canonical import Json
from transom.config import Settings, load_settings
from transom.config.model import ModelSeat
from transom.context import WindowBudget
from transom.errors import InputError
from transom.llm import CallSettings, Chain, Provider, Role
from transom.llm.checked import check_kind, check_provider
from transom.llm.limits import PROCESS, RateLimitStore
from transom.llm.prices import priced_exporter
from transom.runs import Named, Run, Stage, Workspace
from transom.runs.journal import fold
from transom.runs.run import RUNS
from transom.runs.stage import KEPT, MAIN
from transom.store import Store

KIND = NAMELESS = "agent"
"""What runs of agents are, and the name of a role that is given as a text."""
SUB = ".sub"
"""What the role of a sub-conversation adds to the name of the role that opens it."""


@dataclass(frozen=True)
class Setup:
    """Who answers, and the settings that hold for it.

    Attributes:
        provider: a name (`anthropic:NAME`, or several, comma-separated), a provider or a chain; None: the one of
            `llm.agent`.
        settings: those of the command line's file and variables come from `transom.config.load_settings`.

    Raises:
        InputError: who answers is no provider; the settings are none.
    """

    provider: str | Provider | Chain | None = None
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if self.provider is not None and not isinstance(self.provider, str | Chain):
            check_provider(self.provider, "provider")
        check_kind(self.settings, Settings, "settings", "Setup")

    @classmethod
    def of(cls, provider: str | Provider | Chain | Setup | None) -> Setup:
        """What an agent was given. A name is looked up in the settings of the current folder; objects need none."""
        if isinstance(provider, Setup):
            return provider
        named = provider is None or isinstance(provider, str)
        return cls(provider, load_settings() if named else Settings())

    @property
    def named(self) -> bool:
        """Whether the providers are made here, and so are to be let go of here."""
        return self.provider is None or isinstance(self.provider, str)

    def chain(self, role: str, limits: RateLimitStore) -> Chain:
        """Who answers a role of that name and its sub-conversations; InputError where no provider is configured."""
        if isinstance(self.provider, Chain):
            return self.provider
        if self.provider is not None and not isinstance(self.provider, str):
            return Chain((self.provider,))
        from transom.llm.naming import Surroundings, named_chain, seat_spec  # noqa: PLC0415  (only for names)

        llm = self.settings.llm
        spec = seat_spec(llm.agent, self.settings.model.split(",")) if self.provider is None else self.provider
        if spec is None:
            hint = "give the agent a provider, set llm.agent.provider and .model, or give it a stage of a run"
            raise InputError("no provider is configured", where=role, hint=hint)
        around = Surroundings(Path.cwd(), self.settings, store=limits, where="provider")
        return named_chain(spec, around, {role + SUB: llm.sub_conversation})

    def role(self, role: Role, *, memory: bool = False) -> Role:
        """The role as the settings have it asked; InputError where its strategy needs a memory, and there is none."""
        seat = self.settings.llm.agent
        strategy = seat.strategy or role.strategy
        if strategy == "memory" and not memory:
            hint = "give the agent one, e.g. sources=[Recall(memory)]"
            raise InputError("its strategy is memory, and there is no memory", where=role.name, hint=hint)
        return replace(role, settings=seated(role.settings, seat), strategy=strategy)


def seated(settings: CallSettings, seat: ModelSeat) -> CallSettings:
    """How a seat is asked: what the settings say, over what its role does."""
    given = {"max_tokens": seat.max_tokens, "temperature": seat.temperature}
    told = {name: value for name, value in given.items() if value is not None}
    return replace(settings, **told) if told else settings  # type: ignore[arg-type]  # each of its field's type


class DeferredStore:
    """The process' own, or the store of a home once that is open: providers are made before their store is."""

    def __init__(self) -> None:
        self.store: RateLimitStore = PROCESS

    def get(self, table: str, key: str) -> Json | None:
        return self.store.get(table, key)

    async def swap(self, table: str, key: str, old: Json | None, new: Json) -> bool:
        """See `RateLimitStore`."""
        return await self.store.swap(table, key, old, new)


@dataclass(frozen=True)
class Home:
    """A run of an agent's own, that can be gone on with.

    Attributes:
        workspace: the `.transom` folder.
        name: of the conversation; the same name and role are the same conversation, whoever asks and when.
        store: the workspace's database, where the program has it open for many conversations at once; each opens it
            for itself where None.

    Raises:
        InputError: no path, or no name.
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
        """The role's conversations that somebody still waits for: cut off, at a pause, a cap or an error.

        Those that another process has open now are among them; it is opening them that raises `RunBusy`. Looking makes
        no workspace.

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


def _is_waited_for(store: Store, run_id: str) -> bool:
    """Whether the last message of a conversation of a program has no answer."""
    found = fold(store.read(f"run/{run_id}")).conversations.items()
    return any(state.open_message is not None for key, state in found if key.stage == KEPT and not key.opener)


class AgentPlace:
    """Where an agent lives, and who answers it there.

    Attributes:
        stage: in whose journal it is; None until `open` where it has a run of its own.
        setup: who answers, and the settings that hold for it.
        chain: the same, made.
        closing: what lets go of the run when the agent is closed.
    """

    def __init__(self, role: str, provider: str | Provider | Chain | Setup | None, at: AgentLocation) -> None:
        where = (Home, Stage, Run, Named, type(None))
        check_kind(at, where, "at", "Agent", 'say at=Home(".transom", "monday"), or leave it out')
        self._home = at if isinstance(at, Home) else None
        self._role, self._limits = role, DeferredStore()
        stage = at.kept if isinstance(at, Run) else at.stage if isinstance(at, Named) else at
        self.stage = stage if isinstance(stage, Stage) else None
        self.closing = AsyncExitStack()
        if self.stage:
            if provider is not None:
                raise InputError("an agent in a run asks the run's own providers", hint="leave provider out")
            self.setup, self.chain = Setup(), self.stage.host.chain
        else:
            self.setup = Setup.of(provider)
            self.chain = self.setup.chain(role, self._limits)

    async def open(self) -> Stage:
        """The stage as it is; else open a run of the agent's own, without a home in a folder that goes with it."""
        if self.stage:
            return self.stage
        settings = self.setup.settings
        try:
            home = self._home or Home(self._temporary() / ".transom", MAIN)
            exporter = priced_exporter(settings.telemetry.otlp_endpoint, settings.paths.prices)
            workspace = Workspace.at(home.workspace, exporter=exporter)
            if (store := home.store) is None:
                store = await self.closing.enter_async_context(workspace.open_store())
            inputs: dict[str, Json] = {"name": home.name, "role": self._role}
            opened = Run.open(KIND, inputs, name=home.name, workspace=workspace, store=store, chain=self.chain)
            run = await self.closing.enter_async_context(await opened)
        except BaseException:
            await self.close()
            raise
        run.budget = WindowBudget.of(settings.window)
        if self._home:
            self._limits.store = store
        if self.setup.named:
            self.closing.push_async_callback(self.chain.aclose)
        self.closing.push_async_callback(_finish, run)
        return run.kept

    def _temporary(self) -> Path:
        """A folder that goes with the run."""
        folder = Path(tempfile.mkdtemp(prefix="transom-"))
        self.closing.callback(weakref.finalize(self.closing, shutil.rmtree, folder, ignore_errors=True))
        return folder

    async def close(self) -> None:
        """Let go of what was opened; it can be opened again."""
        closing, self.closing = self.closing, AsyncExitStack()
        await closing.aclose()


async def _finish(run: Run) -> None:
    """Record how the run of an agent ends: done where something was said in it, and all of it has its answer."""
    state = run.kept.state(MAIN)
    if not run.state.waiting:
        await run.finish("done" if state.messages and state.open_message is None else "stopped")
