"""What every command works with: settings, workspace, output format, progress, store and
providers.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import shlex
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transom.canonical import Json
from transom.cli.output import Live, print_json, print_text, printable, say
from transom.config import Settings, load_settings
from transom.context import WindowBudget
from transom.errors import InputError, RunBusy, SettingsError
from transom.llm import Chain, Provider
from transom.llm.naming import Surroundings, named_chain, place_of_model
from transom.llm.prices import Prices, priced_exporter
from transom.llm.purse import Purse
from transom.runs import Run, Workspace, find_workspace
from transom.store import Store, StoreLocation
from transom.telemetry import Redactor, configure
from transom.telemetry.address import parse_address, safe_address

Format = Literal["text", "json"]

FAILPOINT = "TRANSOM_FAILPOINT"
"""`append:N`: kill this process without warning after its store's N-th journal append. A seam
for tests of resuming.
"""

PATIENCE = "TRANSOM_RUN_PATIENCE"
"""Seconds that a command waits for a run that another process has open. A worker sets it: the lease
of a worker that died lasts for some seconds.
"""
_BUSY_SECONDS = 1.0

_SEATS = {
    **{
        name: (f"checklist.{name}",)
        for name in ("analysis", "section1", "section2", "section3", "section4")
    },
    "agent_a": ("checklist.parser", "checklist.answers"),
    "agent_b": ("checklist.logic",),
    "reflect": ("checklist.repair_a", "checklist.repair_b"),
}


@dataclass(frozen=True)
class Options:
    """The options of every command; `model`, `base_url` and `max_cost` stand where a model may
    be asked, `distributed` and `priority` where workers may do the work.
    """

    format: Annotated[Format, typer.Option(help="Output as text, or as one JSON document.")] = (
        "text"
    )
    model: Annotated[
        str | None,
        typer.Option(metavar="PROVIDER[:NAME]", help="Model to use, or a fallback chain: A,B."),
    ] = None
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of a compatible server.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", help="Cost in USD at which runs pause.")
    ] = None
    workspace: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Workspace folder [.transom/].")
    ] = None
    distributed: Annotated[
        bool, typer.Option("--distributed", help="Give the work to workers (`transom worker`).")
    ] = False
    priority: Annotated[
        int,
        typer.Option(metavar="N", help="Workers take work of a higher priority first."),
    ] = 0
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress on stderr.")] = (
        False
    )
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            metavar="",
            help="Print more on stderr.",
            show_default=False,
        ),
    ] = 0


@dataclass(frozen=True)
class Session:
    """One command's surroundings.

    Attributes:
        verbosity: -1 quiet, 0 as usual, 1 and more verbose.
        failpoint: kill this process after that journal append (see `FAILPOINT`), 0: never.
        patience: seconds that runs of other processes are waited for.
        open_runs: ids of runs that are being worked on; what is left here was cut off.
        chains: those that were made, each beside what from.
        answers: who answers in place of the `model` setting.
        redact: takes secrets out of text; None: the usual ones.
        purses: one for all runs of the command, where their cost is capped.
        given: the settings that stand on the command line.
        distributed: whether workers do the work; `priority` is that of their jobs.
        entry: the command, as runs keep it so that `transom resume` can give it again; empty
            outside a command.
    """

    settings: Settings
    cwd: Path
    format: Format = "text"
    verbosity: int = 0
    base_url: str | None = None
    failpoint: int = 0
    patience: float = 0.0
    open_runs: list[str] = field(default_factory=list)
    live: Live = field(default_factory=Live)
    chains: list[tuple[tuple[str, Surroundings, Any], Chain]] = field(default_factory=list)
    answers: Chain | None = None
    redact: Redactor | None = None
    purses: list[Purse] = field(default_factory=list)
    given: Mapping[str, object] = field(default_factory=dict)
    distributed: bool = False
    priority: int = 0
    entry: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def start(
        options: Options, *, cwd: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> Session:
        """Read the settings and set up logging."""
        try:
            cwd = cwd or Path.cwd()
        except OSError as error:
            raise InputError(
                "the current folder is not there any more", hint="change to another one"
            ) from error
        place = str(options.workspace) if options.workspace else None
        told = {"model": options.model, "execution.max_cost": options.max_cost, "workspace": place}
        given = {key: value for key, value in told.items() if value is not None}
        settings = load_settings(cwd, environ=environ, command_line=given)
        verbosity = -1 if options.quiet else options.verbose
        hosted, level = (
            (settings.llm.anthropic, settings.llm.openai, settings.llm.ollama),
            settings.logging.level,
        )
        # whatever they are called
        keys = [environ.get(one.key_variable, "") for one in hosted if one.key_variable]
        redact = Redactor(environ, keys)
        levels = {-1: "ERROR", 0: level, 1: level if level == "DEBUG" else "INFO"}
        configure(levels.get(verbosity, "DEBUG"), settings.logging.log_file, redact)
        failpoint = int(environ.get(FAILPOINT, "append:0").removeprefix("append:"))
        session = Session(settings, cwd, options.format, verbosity, options.base_url, failpoint)
        # Workers go on while a command that was killed still has its lease.
        patience = math.inf if options.distributed else float(environ.get(PATIENCE, 0.0))
        session = replace(session, redact=redact, given=given, patience=patience)
        return replace(session, distributed=options.distributed, priority=options.priority)

    @property
    def workspace_root(self) -> Path:
        """The workspace's folder, which may not exist yet: --workspace, paths.cache_dir, or the
        nearest upwards.
        """
        return self.settings.workspace or self.settings.paths.cache_dir or find_workspace(self.cwd)

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace, made where it is missing."""
        exporter = priced_exporter(
            self.settings.telemetry.otlp_endpoint, self.settings.paths.prices
        )
        return Workspace.at(
            self.workspace_root,
            state_dir=self.settings.state_dir,
            exporter=exporter,
            store=self.settings.store,
        )

    @cached_property
    def known_workspace(self) -> Workspace:
        """The workspace for commands that only look: nothing is made."""
        return Workspace.known(
            self.workspace_root, state_dir=self.settings.state_dir, store=self.settings.store
        )

    @property
    def known_store(self) -> StoreLocation | None:
        """The location of the workspace's database; None if there is none yet."""
        workspace = self.known_workspace
        return workspace.store_location if workspace.has_store else None

    def begun_by(self, command: str, given: Mapping[str, Any]) -> None:
        """Note the command, for `entry`; `given` are its own options and arguments, as JSON."""
        kept = {key: value for key, value in self.given.items() if key != "workspace"}
        self.entry.update(command=command, given=dict(given), cwd=str(self.cwd), settings=kept)
        self.entry["base_url"] = without_credentials(self.base_url)
        if self.distributed:
            self.entry["distributed"] = True

    def settle(self, **given: Any) -> None:
        """Note what an option of the command comes to, so that it means the same when the
        command is given again.
        """
        self.entry.get("given", {}).update(given)

    def begun_as(self, command: str, **given: Any) -> Session:
        """The session whose runs are gone on with by another command, which is given these in
        place of its own.
        """
        return replace(
            self,
            entry={
                **self.entry,
                "command": command,
                "given": {**self.entry.get("given", {}), **given},
            },
        )

    def again(self, entry: Mapping[str, Any]) -> Session:
        """The session of the command that began a run: its folder, so its settings file, and who
        answered it.

        What is given today, of `--model`, `--base-url` and `--max-cost`, counts more.
        """
        cwd = entry.get("cwd") or str(self.cwd)
        told = {**entry.get("settings", {}), **self.given, "workspace": str(self.workspace_root)}
        try:
            os.chdir(cwd)
        except OSError as error:
            hint = "make it again, or start the command anew"
            raise InputError(
                f"the folder in which it was begun: {error.strerror}", where=cwd, hint=hint
            ) from error
        settings, base_url = (
            load_settings(Path(cwd), command_line=told),
            self.base_url or entry.get("base_url"),
        )
        again = replace(self, settings=settings, cwd=Path(cwd), base_url=base_url)
        is_distributed = entry.get("distributed", False)
        patience = math.inf if is_distributed else self.patience
        return replace(again, entry=dict(entry), distributed=is_distributed, patience=patience)

    @property
    def local_entry(self) -> dict[str, Any]:
        """The command as a worker gives it again: without giving it to workers."""
        return {key: value for key, value in self.entry.items() if key != "distributed"}

    def next_command(self, run_id: str) -> str:
        """Return the command that goes on with a run; "" if no command began it."""
        if not self.entry:
            return ""
        command, place = f"transom resume {run_id}", self.given.get("workspace")
        if place is None or self.workspace_root == find_workspace(self.cwd):
            return command
        return f"{command} --workspace {shlex.quote(str(place))}"

    def report(self, document: object, *lines: str, code: int = 0) -> int:
        """Print a document as JSON, or its lines for people; returns `code`."""
        if self.format == "json":
            print_json(document)
        else:
            print_text(*lines)
        return code

    def tell(self, *lines: str) -> None:
        """Print lines for people as a command goes along; where JSON is asked for there is one
        document at the end.
        """
        if self.format != "json":
            print_text(*lines)

    def progress(self, line: str) -> None:
        """One line on stderr, unless -q was given."""
        self.live.end()
        if self.verbosity >= 0:
            say(printable(line))

    def open_store(self) -> Store:
        """The workspace's database."""

        def after_append(count: int) -> None:
            if count == self.failpoint:
                os.kill(os.getpid(), signal.SIGKILL)

        return self.workspace.open_store(after_append=after_append if self.failpoint else None)

    def chain(
        self,
        store: Store | None = None,
        spec: str | None = None,
        *,
        option: str = "--model",
        own: Mapping[str, Callable[[], Provider]] | None = None,
    ) -> Chain:
        """Who answers: `spec`, or the `model` setting. What is made from the same is the same, with
        its connections.

        In the store the providers' limits keep what was spent. `own` are a product's providers with
        names of their own. `option` is where `spec` was given.
        """
        if self.answers:
            return self.answers
        where = place_of_model(self.settings) if spec is None else option
        around = Surroundings(self.cwd, self.settings, self.base_url, store, where)
        name = spec or self.settings.model
        known = (made for key, made in self.chains if key == (name, around, own))
        if not (chain := next(known, None)):
            chain = (
                named_chain(name, replace(around, own=own)) if own else build_chain(name, around)
            )
            self.chains.append(((name, around, own), chain))
        return chain

    def purse(self, chain: Chain) -> Purse | None:
        """Return the purse of all runs of this command; None if their cost is not capped."""
        limit = self.settings.execution.max_cost
        if limit is None:
            return None
        prices = Prices.load(self.settings.paths.prices)
        prices.check(chain.everyone)
        if not self.purses:
            self.purses.append(Purse(usd=limit, prices=prices))
        (purse,) = self.purses
        purse.free |= {provider.name for provider in chain.everyone if provider.local}
        return purse

    @asynccontextmanager
    async def open_run(
        self,
        kind: str,
        inputs: Mapping[str, Json],
        *,
        name: str,
        store: Store,
        chain: Chain | None = None,
    ) -> AsyncIterator[Run]:
        """`Run.open` with this session's progress and stage limit, remembered for Ctrl-C until
        it ends.
        """
        chain, place, log = chain or self.chain(store), self.workspace, logging.getLogger(__name__)
        purse, entry = self.purse(chain), self.entry or None
        until = time.monotonic() + self.patience
        while True:
            try:
                run = await Run.open(
                    kind, inputs, name=name, workspace=place, store=store, chain=chain, entry=entry
                )
                break
            except RunBusy as busy:
                if time.monotonic() >= until:
                    raise
                log.info("%s; waiting for it", busy.what)
            await asyncio.sleep(_BUSY_SECONDS)
        log.info("run %s: %s %s in %s", run.id, kind, name, run.folder)
        run.next_command = self.next_command(run.id)
        run.progress = self.progress
        run.stage_seconds = self.settings.execution.timeout_per_stage
        run.log_calls = self.settings.logging.log_llm_calls
        if self.verbosity > 0 and any(one.caps.streaming for one in run.chain.everyone):
            run.on_delta = self.live
        run.budget = WindowBudget.of(self.settings.window)
        if purse:
            run.spend_from(purse)
        run.files.keep(self.settings.cache)
        self.open_runs.append(run.id)
        async with run:
            try:
                yield run
            except Exception:
                self.open_runs.remove(run.id)
                raise
            self.live.end()
            log.info("run %s: %s", run.id, run.state.status)
            self.open_runs.remove(run.id)  # Ctrl-C arrives as a BaseException, and leaves it there

    def execute(self, work: Callable[[], Coroutine[Any, Any, int]]) -> int:
        """Run a command's coroutine to its end, and let go of connections."""

        async def whole() -> int:
            try:
                return await work()
            finally:
                for _, chain in self.chains:
                    await chain.aclose()

        return asyncio.run(whole())


def without_credentials(url: str | None) -> str | None:
    """An address without user, password and query, any of which may hold a key: the journal
    keeps no secrets.
    """
    if url is None:
        return None
    try:
        parts = parse_address(url)
    except ValueError:  # of what is no address nobody knows where the password stands
        return safe_address(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def build_chain(spec: str, around: Surroundings) -> Chain:
    """The chain that a `model` setting names, with the checklist's own seats.

    A `--model` of the command line answers every role: whoever gives it means it.
    """
    settings = around.settings
    _check_blocks(settings)

    def rules() -> Provider:
        from transom.checklist.rules import RULE_VERSIONS, load_knowledge, rule_table
        from transom.llm import RulesProvider

        knowledge = load_knowledge(settings.paths.knowledge_dirs)
        return RulesProvider(rule_table(knowledge), RULE_VERSIONS, knowledge.digests)

    told = settings.origins.get("model") == "command line"
    seats = (
        {}
        if told
        else {role: getattr(settings.llm, seat) for seat, roles in _SEATS.items() for role in roles}
    )
    return named_chain(spec, replace(around, own={"rules": rules}), seats)


def _check_blocks(settings: Settings) -> None:
    if not settings.egress.local_blocks:
        return
    from fnmatch import filter as matching

    from transom.checklist.writing.views import VIEWS
    from transom.formats.yaml_models import nearest_key

    known = sorted({block for view in VIEWS.values() for block in view.sees})
    for pattern in settings.egress.local_blocks:
        if not matching(known, pattern):
            what, near = (
                f"egress.local_blocks: no role sees a block {pattern!r}",
                nearest_key(pattern, known),
            )
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise SettingsError(what, where=settings.origins.get("egress.local_blocks"), hint=hint)
