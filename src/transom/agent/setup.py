"""The provider of an agent and its settings, and the place where the agent lives."""

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
from transom.runs.stage import MAIN
from transom.store import Store

KIND = NAMELESS = "agent"
"""The kind of the runs of agents, and the name of a role that is given as a text."""
SUB = ".sub"
"""The end of the name of a sub-conversation's role; before it stands that of the role that opens
it.
"""


@dataclass(frozen=True)
class Setup:
    """The provider of an agent, and the settings that hold for it.

    Attributes:
        provider: a name (`anthropic:NAME`, or several, comma-separated), a provider or a chain;
            None: the one of `llm.agent`.
        settings: those of the command line's file and variables come from
            `transom.config.load_settings`.
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
        """The setup of an agent. A name is looked up in the settings of the current folder;
        objects need none.
        """
        if isinstance(provider, Setup):
            return provider
        return cls(provider, load_settings() if isinstance(provider, str | None) else Settings())

    def chain(self, role: str, limits: RateLimitStore) -> Chain:
        """The providers of a role of that name and its sub-conversations; InputError where none
        is configured.
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

        llm, spec, where = self.settings.llm, self.provider, "provider"
        if spec is None:
            where = place_of_seat(self.settings, llm.agent)
            spec = seat_spec(llm.agent, self.settings.model.split(","), where)
        if not isinstance(spec, str):
            hint = (
                "give the agent a provider, set llm.agent.provider and .model, or give it a stage"
                " of a run"
            )
            raise InputError("no provider is configured", where=role, hint=hint)
        around = Surroundings(Path.cwd(), self.settings, store=limits, where=where)
        return named_chain(spec, around, {role + SUB: llm.sub_conversation})

    def role(self, role: Role, *, memory: bool = False) -> Role:
        """The role as the settings have it asked; InputError where its strategy needs a memory,
        and there is none.
        """
        seat = self.settings.llm.agent
        strategy = seat.strategy or role.strategy
        if strategy == "memory" and not memory:
            hint = "give the agent one, e.g. sources=[Recall(memory)]"
            raise InputError(
                "its strategy is memory, and there is no memory", where=role.name, hint=hint
            )
        return replace(role, settings=seated(role.settings, seat), strategy=strategy)


def seated(settings: CallSettings, seat: ModelSeat) -> CallSettings:
    """The call settings of a seat: those that the settings give, over those of its role."""
    given = {"max_tokens": seat.max_tokens, "temperature": seat.temperature}
    told = {name: value for name, value in given.items() if value is not None}
    return replace(settings, **told) if told else settings  # type: ignore[arg-type]


class DeferredStore:
    """The store of rate limits: the process' own, or a home's once that is open, which is after
    the providers are.
    """

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
        name: of the conversation; the same name and role are the same conversation, whoever asks
            and when.
        store: the workspace's database, where the program has it open for many conversations at
            once; each opens it for itself where None.
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
        """The role's conversations that were not closed with all answered: cut off, at a pause, a
        cap or an error.

        Those that another process has open now are among them; opening one of these raises
        `RunBusy`.
        """
        workspace = Path(workspace)
        if not workspace.is_dir() or not (there := Workspace.at(workspace)).has_store:
            return []
        async with there.open_store() as store:
            rows: list[Any] = list(store.items(RUNS).values())
            mine = [
                row for row in rows if row["kind"] == KIND and row["inputs"]["role"] == role.name
            ]
            left = [row for row in mine if fold(store.read(f"run/{row['id']}")).status != "done"]
        return [
            Home(workspace, row["inputs"]["name"])
            for row in sorted(left, key=lambda row: str(row["id"]))
        ]


AgentLocation: TypeAlias = Stage | Run | Named | Home | None
"""The place where an agent lives: a stage, a run, either under a name, a home, or nowhere for
long.
"""


class AgentPlace:
    """The place where an agent lives, and its providers there.

    Attributes:
        stage: in whose journal it is; None until `open` where it has a run of its own.
        setup: the provider as given, and the settings.
        chain: the providers, made.
        closing: lets go of the run when the agent is closed.
    """

    def __init__(
        self, role: str, provider: str | Provider | Chain | Setup | None, at: AgentLocation
    ) -> None:
        where = (Home, Stage, Run, Named, type(None))
        check_kind(at, where, "at", "Agent", 'say at=Home(".transom", "monday"), or leave it out')
        self._home = at if isinstance(at, Home) else None
        self._role, self._limits = role, DeferredStore()
        stage = at.kept if isinstance(at, Run) else at.stage if isinstance(at, Named) else at
        self.stage = stage if isinstance(stage, Stage) else None
        self.closing = AsyncExitStack()
        if self.stage and provider is not None:
            raise InputError(
                "an agent in a run asks the run's own providers", hint="leave provider out"
            )
        self.setup = Setup() if self.stage else Setup.of(provider)
        self.chain = self.stage.host.chain if self.stage else self.setup.chain(role, self._limits)

    async def open(self) -> Stage:
        """The stage as it is; else open a run of the agent's own, without a home in a folder
        that goes with it.
        """
        if self.stage:
            return self.stage
        settings, home = self.setup.settings, self._home
        try:
            if home is None:
                folder = tempfile.mkdtemp(prefix="transom-")
                self.closing.callback(
                    weakref.finalize(self.closing, shutil.rmtree, folder, ignore_errors=True)
                )
                home = Home(Path(folder, ".transom"), MAIN)
            exporter = priced_exporter(settings.telemetry.otlp_endpoint, settings.paths.prices)
            workspace = Workspace.at(home.workspace, exporter=exporter)
            if (store := home.store) is None:
                store = await self.closing.enter_async_context(workspace.open_store())
            inputs: dict[str, Json] = {"name": home.name, "role": self._role}
            opened = Run.open(
                KIND, inputs, name=home.name, workspace=workspace, store=store, chain=self.chain
            )
            run = await self.closing.enter_async_context(await opened)
        except BaseException:
            await self.close()
            raise
        run.budget = WindowBudget.of(settings.window)
        if self._home:
            self._limits.store = store
        if not isinstance(self.setup.provider, Chain):  # they were made here
            self.closing.push_async_callback(self.chain.aclose)
        self.closing.push_async_callback(_finish, run)
        return run.kept

    async def close(self) -> None:
        """Let go of what was opened; it can be opened again."""
        closing, self.closing = self.closing, AsyncExitStack()
        await closing.aclose()


async def _finish(run: Run) -> None:
    """Record how the run of an agent ends: done where all that was said in it has its answer."""
    if not run.state.waiting:
        await run.finish("stopped" if run.kept.state(MAIN).open_message else "done")
