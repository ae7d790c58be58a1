"""The workspace: `.transom/` with its database, run folders and traces."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from transom.canonical import Json, digest
from transom.errors import InputError
from transom.store import SqliteStore, is_network
from transom.telemetry.destination import exporter as configured

if TYPE_CHECKING:
    from transom.telemetry.otlp import Exporter

FOLDER = ".transom"


def find_workspace(start: Path) -> Path:
    """The nearest `.transom/` from `start` upwards, else the one to be made in `start`."""
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
    return start / FOLDER


@dataclass(frozen=True)
class Workspace:
    """Where runs live.

    Attributes:
        root: the `.transom` folder itself.
        state_dir: where the database lies; elsewhere than `root` where that is on a network filesystem.
        exporter: is given what runs leave in their traces, for a collector; None: it stays here.
    """

    root: Path
    state_dir: Path
    exporter: Exporter | None = None

    @staticmethod
    def at(root: Path | str, *, state_dir: Path | None = None, exporter: Exporter | None = None) -> Workspace:
        """Open or make a workspace.

        Args:
            root: the `.transom` folder.
            state_dir: the `state_dir` setting; used as it is. Without it a network filesystem moves the database
                to the user's local state folder, since SQLite's write-ahead log does not work there.
            exporter: for a collector; without one the variables of OpenTelemetry are looked at.

        Raises:
            InputError: the folder cannot be made.
        """
        root = Path(root).absolute()
        try:
            root.mkdir(parents=True, exist_ok=True)
            chosen = state_dir.absolute() if state_dir else _local_state_dir(root) if is_network(root) else root
            if chosen is not root:
                chosen.mkdir(parents=True, exist_ok=True)
            if root.name == ".transom" and not (root / ".gitignore").exists():
                (root / ".gitignore").write_text("*\n")  # runs are nothing for a user's repository
        except OSError as error:
            raise InputError(
                f"cannot make the workspace: {error.strerror}", where=str(root), hint="choose another with --workspace"
            ) from error
        return Workspace(root, chosen, exporter or configured())

    @property
    def database(self) -> Path:
        return self.state_dir / "state.db"

    @property
    def traces(self) -> Path:
        return self.root / "traces"

    def open_store(self, *, after_append: Callable[[int], None] | None = None) -> SqliteStore:
        """The workspace's database."""
        return SqliteStore.open(self.database, after_append=after_append)

    def run_folder(self, name: str, run_id: str) -> Path:
        """`runs/<item-or-name>/<run>/`."""
        return self.root / "runs" / name / run_id


def _local_state_dir(root: Path) -> Path:
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "transom" / hashlib.sha256(str(root).encode()).hexdigest()[:16]


def run_key(kind: str, inputs: Mapping[str, Json]) -> str:
    """What a run is found by: the same kind and inputs are the same run."""
    return digest({"kind": kind, "inputs": dict(inputs)})


def trace_id(run_id: str) -> str:
    """A run's trace for its whole life, the same after every resume: 32 hex digits."""
    return hashlib.sha256(run_id.encode()).hexdigest()[:32]
