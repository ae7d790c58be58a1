"""What every command works with: settings, workspace, output, progress, store and models."""

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
from typing import Any

from transom.canonical import Json
from transom.cli.chains import build_chain, without_credentials
from transom.cli.common_options import CommonOptions, Format
from transom.cli.output import Live, ReportFile, print_json, print_text, printable, say
from transom.cli.typed_commands import with_workspace
from transom.config import Settings, load_settings
from transom.config.runtime_sections import Notice
from transom.context import WindowBudget
from transom.errors import InputError, Paused, RunBusy
from transom.llm import Chain, Provider
from transom.llm.naming import Surroundings, named_chain, place_of_model
from transom.llm.prices import Prices, priced_exporter
from transom.llm.purse import Purse
from transom.llm.shared_purse import SharedPurse
from transom.runs import Run, Workspace, find_workspace, write_file
from transom.runs.history import view
from transom.runs.notices import notice_of, send_notice
from transom.runs.stage_lines import LABELS
from transom.runs.summarising import RunRow
from transom.store import LeasingStore, Store, StoreLocation
from transom.telemetry import Redactor, configure

FAILPOINT = "TRANSOM_FAILPOINT"
"""`append:N`: kill this process without warning after its store's N-th journal append. A seam
for tests of resuming.
"""

PATIENCE = "TRANSOM_RUN_PATIENCE"
"""Seconds that a command waits for a run that another process has open. A worker sets it: the lease
of a worker that died lasts for some seconds.
"""
_BUSY_SECONDS = 1.0


@dataclass(frozen=True)
class Session:
    """The surroundings of one command.

    A run keeps the command that began it. The `record_*` methods write this record, and
    `recorded_session` returns the session that it describes.

    Attributes:
        verbosity: -1 quiet, 0 normal, 1 and more verbose.
        failpoint: kill this process after that journal append (see `FAILPOINT`), 0: never.
        patience: seconds to wait for runs that other processes have open.
        open_runs: ids of runs in progress; if the command ends, those left here were cut off.
        chains: the chains made so far, each with what it was made from.
        answers: a chain that answers in place of the `model` setting.
        redact: takes secrets out of text; None: the usual ones.
        purses: the one purse of all runs of the command, if their cost is capped.
        shared_purse: the name of the purse that processes share in their database; "" for none.
        overrides: the settings that stand on the command line.
        distributed: whether workers do the work; `priority` is that of their jobs.
        entry: the command as its runs record it, for `transom resume`; empty outside a command.
        is_part: whether another process has the command, e.g. a batch whose items this one checks.
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
    shared_purse: str = ""
    overrides: Mapping[str, object] = field(default_factory=dict)
    distributed: bool = False
    priority: int = 0
    entry: dict[str, Any] = field(default_factory=dict)
    is_part: bool = False

    @staticmethod
    def start(
        options: CommonOptions, *, cwd: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> Session:
        """Read the settings and set up logging."""
        try:
            cwd = cwd or Path.cwd()
        except OSError as error:
            raise InputError(
                "the current folder is not there any more", hint="change to another one"
            ) from error
        overrides: dict[str, object] = {}
        if options.model is not None:
            overrides["model"] = options.model
        if options.max_cost is not None:
            overrides["execution.max_cost"] = options.max_cost
        if options.workspace:
            overrides["workspace"] = str(options.workspace)
        settings = load_settings(cwd, environ=environ, command_line=overrides)
        verbosity = -1 if options.quiet else options.verbose
        redact = _redactor(settings, environ)
        level = settings.logging.level
        log_file = settings.logging.log_file
        # -v shows what happens, unless the settings ask for even more. Who keeps a file reads the
        # details there: prompts of pages would bury the result.
        is_kept = log_file is not None and level in ("DEBUG", "INFO")
        levels = {-1: "ERROR", 0: "WARNING" if is_kept else level}
        levels[1] = "DEBUG" if level == "DEBUG" and not is_kept else "INFO"
        configure(level, log_file, redact, levels.get(verbosity, "DEBUG"))
        # Workers go on while a command that was killed still has its lease.
        patience = math.inf if options.distributed else float(environ.get(PATIENCE, 0.0))
        return Session(
            settings,
            cwd,
            options.format,
            verbosity,
            options.base_url,
            failpoint=int(environ.get(FAILPOINT, "append:0").removeprefix("append:")),
            patience=patience,
            redact=redact,
            overrides=overrides,
            distributed=options.distributed,
            priority=options.priority,
        )

    @property
    def workspace_root(self) -> Path:
        """The workspace's folder, which may not exist yet.

        It is --workspace, `paths.cache_dir`, or the nearest one upwards.
        """
        return self.settings.workspace or self.settings.paths.cache_dir or find_workspace(self.cwd)

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace, made if it is missing."""
        exporter = priced_exporter(
            self.settings.telemetry.otlp_endpoint, self.settings.paths.prices
        )
        return Workspace.at(
            self.workspace_root,
            state_dir=self.settings.state_dir,
            exporter=exporter,
            store=self.settings.store,
            full_sync=self.full_sync,
            keeps_artifacts=self.keeps_artifacts,
        )

    @cached_property
    def known_workspace(self) -> Workspace:
        """The workspace for commands that only look: nothing is made."""
        return Workspace.known(
            self.workspace_root, state_dir=self.settings.state_dir, store=self.settings.store
        )

    @property
    def full_sync(self) -> bool:
        """Whether every write has to survive power loss."""
        return self.settings.durability == "full"

    @property
    def keeps_artifacts(self) -> bool:
        """Whether the database has the files of runs, too."""
        return self.settings.paths.artifacts == "database"

    @property
    def known_store(self) -> StoreLocation | None:
        """The location of the workspace's database; None if there is none yet."""
        workspace = self.known_workspace
        return workspace.store_location if workspace.has_store else None

    def record_command(self, command: str, arguments: Mapping[str, Any]) -> None:
        """Record the command in `entry`.

        Args:
            command: its words behind `transom`.
            arguments: its own options and arguments, as JSON.
        """
        settings = dict(self.overrides)
        # The run lies in its workspace, so the record need not name it. It may be moved, too.
        settings.pop("workspace", None)
        self.entry.update(
            command=command, given=dict(arguments), cwd=str(self.cwd), settings=settings
        )
        self.entry["base_url"] = without_credentials(self.base_url)
        if self.distributed:
            self.entry["distributed"] = True

    def record_arguments(self, **arguments: Any) -> None:
        """Record what options come to, so that they mean the same when the run is resumed.

        For example, `--as-of` without a value is today, and stays that day.
        """
        self.entry.get("given", {}).update(arguments)

    def recording(self, command: str, **arguments: Any) -> Session:
        """Return this session for runs that another command resumes, with changed arguments."""
        arguments = {**self.entry.get("given", {}), **arguments}
        return replace(self, entry={**self.entry, "command": command, "given": arguments})

    def recorded_session(self, entry: Mapping[str, Any]) -> Session:
        """Return the session of the command that began a run: its folder, settings and model.

        The `--model`, `--base-url` and `--max-cost` of this session override the recorded ones.
        """
        cwd = entry.get("cwd") or str(self.cwd)
        overrides = {
            **entry.get("settings", {}),
            **self.overrides,
            "workspace": str(self.workspace_root),
        }
        try:
            # Relative paths of the recorded command are meant from its folder.
            os.chdir(cwd)
        except OSError as error:
            hint = "make it again, or start the command anew"
            raise InputError(
                f"the folder in which it was begun: {error.strerror}", place=cwd, hint=hint
            ) from error
        # A distributed run goes on with the workers.
        is_distributed = entry.get("distributed", False)
        return replace(
            self,
            settings=load_settings(Path(cwd), command_line=overrides),
            cwd=Path(cwd),
            base_url=self.base_url or entry.get("base_url"),
            entry=dict(entry),
            distributed=is_distributed,
            patience=math.inf if is_distributed else self.patience,
        )

    @property
    def local_entry(self) -> dict[str, Any]:
        """The recorded command as a worker runs it: without giving it to workers."""
        entry = dict(self.entry)
        entry.pop("distributed", None)
        return entry

    def next_command(self, run_id: str) -> str:
        """Return the command that resumes a run; "" if no command began it."""
        if not self.entry:
            return ""
        return self.in_this_workspace(f"transom resume {run_id}")

    def in_this_workspace(self, text: str) -> str:
        """Return a text for a person whose commands work in the workspace of this one."""
        return with_workspace(text, self._workspace_option)

    @cached_property
    def _workspace_option(self) -> str:
        """The option that names the workspace; "" if a command in the same folder finds it."""
        workspace = self.overrides.get("workspace")
        if workspace is None or self.workspace_root == find_workspace(self.cwd):
            return ""
        return f"--workspace {shlex.quote(str(workspace))}"

    def show(
        self, result: object, *lines: str, code: int = 0, reports: tuple[ReportFile, ...] = ()
    ) -> int:
        """Print a result as JSON or as lines for people, then write its reports.

        The reports come last, so that a report that cannot be written costs no result.

        Args:
            result: what `--format json` prints.
            lines: what it is in text.
            code: the exit code of the command.
            reports: the files of `--report`.

        Returns:
            The exit code.
        """
        if self.format == "json":
            print_json(result)
        else:
            print_text(*map(self.in_this_workspace, lines))
        for report in reports:
            write_file(report.path, report.render(result))
        return code

    def tell(self, *lines: str) -> None:
        """Print lines for people while a command works.

        With `--format json` they are left out: there is one document, at the end.
        """
        if self.format != "json":
            print_text(*map(self.in_this_workspace, lines))

    def warn(self, line: str) -> None:
        """Print a warning or an error on stderr."""
        say(self.in_this_workspace(line))

    def progress(self, line: str) -> None:
        """Print one line on stderr, unless -q was given."""
        self.live.end()
        if self.verbosity >= 0:
            say(printable(self.in_this_workspace(line)))

    def open_store(self) -> Store:
        """Open the workspace's database."""

        def kill_at_failpoint(count: int) -> None:
            if count == self.failpoint:
                os.kill(os.getpid(), signal.SIGKILL)

        hook = kill_at_failpoint if self.failpoint else None
        return self.workspace.open_store(after_append=hook)

    def chain(
        self,
        store: Store | None = None,
        spec: str | None = None,
        *,
        option: str = "--model",
        own: Mapping[str, Callable[[], Provider]] | None = None,
    ) -> Chain:
        """Return the chain that answers. The same arguments give the same chain and connections.

        Args:
            store: keeps what the providers' limits have counted.
            spec: names of models; None for the `model` setting.
            option: the option in which `spec` was given, for messages.
            own: a product's providers with names of their own.
        """
        # An evaluation answers from its own chain, whatever the settings say.
        if self.answers:
            return self.answers
        place = place_of_model(self.settings) if spec is None else option
        surroundings = Surroundings(self.cwd, self.settings, self.base_url, store, place)
        name = spec or self.settings.model
        for (known_name, known_surroundings, known_own), chain in self.chains:
            if (known_name, known_surroundings, known_own) == (name, surroundings, own):
                return chain
        if own:
            chain = named_chain(name, replace(surroundings, own=own))
        else:
            chain = build_chain(name, surroundings)
        self.chains.append(((name, surroundings, own), chain))
        return chain

    def purse(self, chain: Chain) -> Purse | None:
        """Return the purse of all runs of this command; None if their cost is not capped."""
        limit = self.settings.execution.max_cost
        if limit is None:
            return None
        prices = Prices.load(self.settings.paths.prices)
        prices.check(chain.everyone)
        # All runs of a batch spend from the same purse.
        if not self.purses:
            self.purses.append(Purse(usd=limit, prices=prices))
        (purse,) = self.purses
        purse.free |= {provider.name for provider in chain.everyone if provider.local}
        return purse

    def _shared(self, purse: Purse, run: Run) -> SharedPurse | None:
        """Return what a run spends from the purse of all processes; None if there is none."""
        if not self.shared_purse:
            return None
        # Only a database that leases runs is shared by processes.
        assert isinstance(run.store, LeasingStore)
        return SharedPurse.like(purse, run.store, self.shared_purse, run.id)

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
        """Open a run with this session's progress and limits.

        Until it ends, it is listed in `open_runs`, so that Ctrl-C can say how to resume it. Once it
        is left, the settings in `notify` say who is told.
        """
        chain = chain or self.chain(store)
        log = logging.getLogger(__name__)
        # An unknown price is refused before the run begins.
        purse = self.purse(chain)
        run = await self._open_patiently(kind, inputs, name=name, store=store, chain=chain)
        log.info("run %s: %s %s in %s", run.id, kind, name, run.folder)
        run.next_command = self.next_command(run.id)
        run.progress = self.progress
        run.label = LABELS.get(kind)
        run.stage_seconds = self.settings.execution.timeout_per_stage
        run.log_calls = self.settings.logging.log_llm_calls
        # A reply is shown while it is written, if its model can do that.
        if self.verbosity > 0 and any(model.caps.streaming for model in run.chain.everyone):
            run.on_delta = self.live
        run.budget = WindowBudget.of(self.settings.window)
        if purse:
            run.spend_from(self._shared(purse, run) or purse)
        run.files.keep(self.settings.cache)
        row = RunRow(run.id, kind, name, dict(inputs))
        # From here on, an interruption leaves a run that can be resumed.
        self.open_runs.append(run.id)
        try:
            async with run:
                try:
                    yield run
                except Exception:
                    self.open_runs.remove(run.id)
                    raise
                self.live.end()
                log.info("run %s: %s", run.id, run.state.status)
                # Ctrl-C arrives as a BaseException, and so leaves the run in the list.
                self.open_runs.remove(run.id)
        except Exception as error:
            await self._notify(run, row, has_failed=not isinstance(error, Paused))
            raise
        await self._notify(run, row, has_failed=False)

    async def _notify(self, run: Run, row: RunRow, *, has_failed: bool) -> None:
        """Tell that a run is left; nothing is told of the parts of another one, e.g. of a batch."""
        settings = self.settings.notify
        if self.open_runs or not self.entry or not (settings.command or settings.url):
            return
        left = view(self.workspace, run.store, row)
        event: Notice = "failed" if has_failed else "finished"
        if left.state.waiting or left.state.waits or left.status == "paused":
            event = "waiting"
        await self.give_notice(notice_of(left, event, run.next_command))

    async def give_notice(self, notice: Mapping[str, Any]) -> None:
        """Send a notice, if the settings say so; never from a part of another command."""
        settings = self.settings.notify
        if self.is_part or notice["event"] not in settings.events:
            return
        if problem := await send_notice(settings, notice, self.cwd, "notify"):
            self.progress(f"the notice failed: {problem}")

    async def _open_patiently(
        self, kind: str, inputs: Mapping[str, Json], *, name: str, store: Store, chain: Chain
    ) -> Run:
        """Open a run, after waiting for another process that has it open."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return await Run.open(
                    kind,
                    inputs,
                    name=name,
                    workspace=self.workspace,
                    store=store,
                    chain=chain,
                    entry=self.entry or None,
                )
            except RunBusy as busy:
                if time.monotonic() >= deadline:
                    raise
                logging.getLogger(__name__).info("%s; waiting for it", busy.problem)
            await asyncio.sleep(_BUSY_SECONDS)

    def execute(self, work: Callable[[], Coroutine[Any, Any, int]]) -> int:
        """Run a command's coroutine to its end, and close the connections of its models."""

        async def work_and_close() -> int:
            try:
                return await work()
            finally:
                for _, chain in self.chains:
                    await chain.aclose()

        return asyncio.run(work_and_close())


def _redactor(settings: Settings, environ: Mapping[str, str]) -> Redactor:
    """Return what takes secrets out of texts, also keys in variables that the settings name."""
    keys: list[str] = []
    for hosted in (settings.llm.anthropic, settings.llm.openai, settings.llm.ollama):
        if hosted.key_variable:
            keys.append(environ.get(hosted.key_variable, ""))
    return Redactor(environ, keys)
