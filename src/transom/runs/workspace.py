"""The workspace: `.transom/` with its database, run folders and traces; and how one of its runs
is held.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transom.canonical import Json, digest
from transom.errors import InputError, RunBusy, RunError
from transom.runs.recognising import FOLDER
from transom.store import (
    Lease,
    LeasingStore,
    PostgresAddress,
    Store,
    StoreLocation,
    is_network,
    open_store,
    open_store_for_reading,
)
from transom.store.file_lock import lock_file
from transom.store.sqlite_errors import is_read_only, read_only_error
from transom.telemetry.otlp import Exporter
from transom.telemetry.otlp import exporter as configured


def find_workspace(start: Path) -> Path:
    """Return the nearest `.transom/` from `start` upwards, else the one to be made in `start`."""
    return next(
        (folder / FOLDER for folder in (start, *start.parents) if (folder / FOLDER).is_dir()),
        start / FOLDER,
    )


@dataclass(frozen=True)
class Workspace:
    """Where runs live: the folder `.transom`; the database lies in `state_dir`, unless `server`
    is the address of another one. Traces go to `exporter`, too. With `full_sync` every write to the
    database survives power loss. With `keeps_artifacts` the database has the files of runs, too.
    """

    root: Path
    state_dir: Path = field(kw_only=True)
    exporter: Exporter | None = None
    server: PostgresAddress | None = None
    full_sync: bool = False
    keeps_artifacts: bool = False

    @staticmethod
    def at(
        root: Path | str,
        *,
        state_dir: Path | None = None,
        exporter: Exporter | None = None,
        store: str | None = None,
        full_sync: bool = False,
        keeps_artifacts: bool = False,
    ) -> Workspace:
        """Open or make a workspace; InputError if its folder cannot be made, StoreError if it is
        read-only. `store` is the address of a PostgreSQL database to use instead of a file.

        Without a `state_dir` a network filesystem moves the database to the user's local state
        folder, since SQLite's write-ahead log does not work there. Without an `exporter` the
        variables of OpenTelemetry are looked at.
        """
        workspace = Workspace.known(root, state_dir=state_dir, exporter=exporter, store=store)
        workspace = replace(workspace, full_sync=full_sync, keeps_artifacts=keeps_artifacts)
        root = workspace.root
        try:
            root.mkdir(parents=True, exist_ok=True)
            workspace.state_dir.mkdir(parents=True, exist_ok=True)
            if root.name == FOLDER and not (root / ".gitignore").exists():
                (root / ".gitignore").write_text("*\n")  # runs are nothing for a user's repository
        except OSError as error:
            workspace.check_writable()
            problem, hint = (
                f"cannot make the workspace: {error.strerror}",
                "choose another with --workspace",
            )
            raise InputError(problem, place=str(root), hint=hint) from error
        workspace.check_writable()
        return workspace

    @staticmethod
    def known(
        root: Path | str,
        *,
        state_dir: Path | None = None,
        exporter: Exporter | None = None,
        store: str | None = None,
    ) -> Workspace:
        """Return the workspace of a folder for looking at it: nothing is made, and the folder need
        not be there. For the arguments see `at`.
        """
        root = Path(root).absolute()
        # In a sandbox a path through `..` leads nowhere: the folders on the way are not there.
        if ".." in root.parts:
            root = root.resolve()
        chosen = state_dir.absolute() if state_dir else root
        if not state_dir and is_network(root):
            local = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
            chosen = local / "transom" / hashlib.sha256(str(root).encode()).hexdigest()[:16]
        server = PostgresAddress(store) if store else None
        return Workspace(root, state_dir=chosen, exporter=exporter or configured(), server=server)

    def check_writable(self) -> None:
        """Raise StoreError if the workspace is there and can only be read."""
        for folder in (self.root, self.state_dir):
            if folder.is_dir() and not os.access(folder, os.W_OK):
                raise read_only_error(self.root)
        if is_read_only(self.database):
            raise read_only_error(self.root)

    @property
    def database(self) -> Path:
        """The SQLite file of a workspace without a server."""
        return self.state_dir / "state.db"

    @property
    def store_location(self) -> StoreLocation:
        """The workspace's database."""
        return self.server or self.database

    @property
    def has_store(self) -> bool:
        """Whether there is a database to look at."""
        return self.server is not None or self.database.is_file()

    @property
    def traces(self) -> Path:
        return self.root / "traces"

    def open_store(self, *, after_append: Callable[[int], None] | None = None) -> Store:
        """Open the workspace's database."""
        return open_store(self.store_location, after_append=after_append, full_sync=self.full_sync)

    def open_store_for_reading(self) -> Store:
        """Open the workspace's database, or an empty one if there is none. The workspace may be
        read-only.
        """
        return open_store_for_reading(self.store_location)

    def hold_run(self, store: Store, run_id: str, name: str) -> Lease:
        """Hold a run for this process, until the lease is released.

        A file locks a run of a SQLite database. Processes that share a database over the network
        see no common file, so the database grants the lease.

        Raises:
            RunBusy: another process holds it, or this one does.
        """
        if not isinstance(store, LeasingStore):
            return RunLock(self.state_dir / "locks", run_id, name)
        stream = f"run/{run_id}"
        lease = store.hold(stream)
        if lease is None:
            holder = store.holder_of(stream) or "another process"
            raise RunBusy(
                f"{holder} has run {run_id} of {name} open",
                hint="wait for it to end, then try again; after a crash it is free in 10 seconds",
            )
        return lease

    def is_held(self, store: Store, run_id: str) -> bool:
        """Return whether a process works on a run.

        The run's lock is not tried, which might disturb the process.
        """
        if isinstance(store, LeasingStore):
            return bool(store.holder_of(f"run/{run_id}"))
        try:
            os.kill(int((self.state_dir / "locks" / f"{run_id}.lock").read_text()), 0)
        except PermissionError:  # it lives, and is another person's
            return True
        # It has gone, or the lock's file is empty: nobody holds the run.
        except (OSError, ValueError, OverflowError):
            return False
        return True

    def interrupt(self, store: Store, run_id: str) -> None:
        """Interrupt the process that works on a run, as Ctrl-C does; the run can be resumed.

        Raises:
            RunError: no process works on it.
        """
        hint = "look at the run again; it may have ended meanwhile"
        nobody = RunError("no process works on this run", place=run_id, hint=hint)
        if isinstance(store, LeasingStore):
            # The process may be on another machine. It reads this when it renews its lease.
            if not store.interrupt(f"run/{run_id}"):
                raise nobody
            return
        path = self.state_dir / "locks" / f"{run_id}.lock"
        try:
            with path.open("r+b") as lock:
                # The lock tells the process from a later one with the same number.
                lock_file(lock, shared=True, wait=False)
        except BlockingIOError:
            process = int(path.read_text() or 0)
            if process and process != os.getpid():
                os.kill(process, signal.SIGINT)
                return
        except OSError:
            pass
        raise nobody

    def run_folder(self, name: str, run_id: str) -> Path:
        """`runs/<item-or-name>/<run>/`."""
        return self.root / "runs" / name / run_id


def run_key(kind: str, inputs: Mapping[str, Json]) -> str:
    """Return the key of a run: the same kind and inputs are the same run."""
    return digest({"kind": kind, "inputs": dict(inputs)})


def trace_id(run_id: str) -> str:
    """Return the id of a run's trace, the same after every resume: 32 hex digits."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:32]


class RunLock:
    """Holds a run for this process; RunBusy says who else does."""

    def __init__(self, folder: Path, run_id: str, name: str) -> None:
        # The lock is the open file, not its existence: the system frees it when a process dies.
        path = folder / f"{run_id}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RunError(f"cannot lock the run: {error.strerror}", place=str(path)) from error
        try:
            lock_file(self._handle, wait=False)
        except OSError as error:
            holder = os.read(self._handle, 32).decode("ascii", "replace").strip()
            os.close(self._handle)
            is_own = holder == str(os.getpid())
            holder_name = (
                "this process" if is_own else f"process {holder}" if holder else "another process"
            )
            hint = (
                "go on with what has it open, or close that"
                if is_own
                else "wait for it to end, then try again"
            )
            raise RunBusy(f"{holder_name} has run {run_id} of {name} open", hint=hint) from error
        # For people, and for the error of a second process.
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Free the run; may be called twice."""
        if self._handle >= 0:
            # A process that goes on with something else, e.g. a server, does not work on it.
            os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = -1


class RunLease:
    """One walk's stages, and when the run may be freed: when it is closed and the last stage at
    work has ended.
    """

    def __init__(self, run_id: str, *free: Callable[[], None]) -> None:
        self._run_id, self._free = run_id, free
        self._names: dict[Path, str] = {}
        self._at_work: list[asyncio.Task[Any] | None] = []  # a task for each of its stages
        self._closed = False

    @contextmanager
    def working(self, name: str, path: Path) -> Iterator[None]:
        """Hold the run while a stage works, even if the run is closed meanwhile.

        The stage's name and file are its own in this walk.
        """
        problem = f"stage {name} begins after the run was closed" if self._closed else ""
        if name in self._names.values() or path in self._names:
            other = self._names.get(path, name)
            problem = (
                f"stages {other} and {name} of one walk have one name, or write one file: {path}"
            )
        if problem:
            raise RunError(problem, place=self._run_id)
        self._names[path] = name
        task = asyncio.current_task()
        self._at_work.append(task)
        try:
            yield
        finally:
            self._at_work.remove(task)
            if self._closed:
                self.close()

    def close(self) -> None:
        """Free the run, or have the last stage at work do so."""
        self._closed = True
        # A stage that still works writes to the journal and the trace.
        if not self._at_work:
            for give_back in self._free:
                give_back()

    async def leave(self, error: BaseException | None) -> None:
        """Close, once the stages beside the one that ended the walk have ended, too.

        Their replies are paid for, and until then nobody else may write their files. Ctrl-C stops
        them.
        """
        self._closed = True
        others = [
            task
            for task in dict.fromkeys(self._at_work)
            if task and task is not asyncio.current_task()
        ]
        # Ctrl-C ends all of them; any other error lets them finish.
        if error is not None and not isinstance(error, Exception):
            for task in others:
                task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self.close()
