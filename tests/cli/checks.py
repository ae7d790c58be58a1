"""A folder with the shipped examples, and `transom` at work in it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.checklist.shipped_model import MODEL, copy_items
from transom.cli import main
from transom.runs.windows import requests_of
from transom.store import Record, SqliteStore

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "checks"
ROUNDS = (
    "round1_analysis",
    "round2_section1",
    "round3_section2",
    "round4_section3",
    "round5_section4",
)


@dataclass(frozen=True)
class Answer:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    def line(self, code: int = 2) -> str:
        """The one line that an error is."""
        assert self.code == code, (self.code, self.out, self.err)
        assert self.out == ""
        assert self.err.startswith("transom: "), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.strip().removeprefix("transom: ")

    def stages(self, what: str) -> list[str]:
        """The stages of which progress said this, e.g. `working`."""
        lines = (line.split(": ", 1) for line in self.err.splitlines() if ": " in line)
        return [line[0] for line in lines if line[1].startswith(what)]


@dataclass(frozen=True)
class Desk:
    """A folder with copies of the examples, and the command line in it."""

    here: Path
    capfd: pytest.CaptureFixture[str]

    @staticmethod
    def at(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
        shutil.copytree(EXAMPLES / "data", here / "data")
        for item in EXAMPLES.glob("*.yaml"):
            shutil.copy(item, here)
        return Desk(here, capfd)

    @staticmethod
    def with_model(
        here: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> Desk:
        """Return a desk whose items have no claim, and at which a written model answers."""
        desk = Desk.at(here, capfd)
        copy_items(here)
        monkeypatch.setenv("TRANSOM_MODEL", MODEL)
        # Commands in processes of their own find the model, too.
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        return desk

    def use_rules(self) -> None:
        """Let the embedded default answer, and give the items their claims again."""
        os.environ.pop("TRANSOM_MODEL", None)
        for item in EXAMPLES.glob("*.yaml"):
            shutil.copy(item, self.here)

    def __call__(self, *arguments: str) -> Answer:
        self.capfd.readouterr()
        code = main(list(arguments))
        out, err = self.capfd.readouterr()
        assert "Traceback" not in err
        assert "defect" not in err, err
        return Answer(code, out, err)

    def check(self, *arguments: str) -> Answer:
        """`transom check ...` with the examples' data."""
        return self("check", *arguments, "--var", f"CHECKLIST_ROOT={self.here / 'data'}")

    def verdict(self, *arguments: str) -> dict[str, Any]:
        """The verdict of `transom check ... --format json`, without what differs from run to
        run.
        """
        document: dict[str, Any] = self.check(*arguments, "--format", "json", "-q").document
        for waived in document.get("waived", []):
            waived["waiver"].pop("applied_at")
        return {key: value for key, value in document.items() if key not in ("run_id", "seconds")}

    def run_of(self, name: str, kind: str = "check") -> Path:
        """The folder of the only run of that name and kind."""
        runs = self("runs", "list", "--format", "json").document["runs"]
        (found,) = [run["run_id"] for run in runs if (run["name"], run["kind"]) == (name, kind)]
        return self.here / ".transom" / "runs" / name / str(found)

    def file(self, name: str, item: str = "VER-01") -> Path:
        """A kept file in the only `check` run of an item."""
        (found,) = self.run_of(item).glob(f"**/{name}")
        return found

    def records(self, kind: str, workspace: Path | None = None) -> list[Any]:
        """What the journals of the workspace hold of a kind."""
        return [
            record.data
            for record in asyncio.run(_records(workspace or self.here / ".transom"))
            if record.kind == kind
        ]

    def requests(self) -> list[Any]:
        """Every request whose reply was journaled, oldest first."""
        return asyncio.run(_requests(self.here / ".transom"))

    def attempts(self, stage: str) -> int:
        """How often a stage was begun."""
        return sum(record["stage"] == stage for record in self.records("started"))


class Workshop:
    """Desks at which `transom check` was given once. Each is restored for every test, at the
    path where it was made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[tuple[str, ...], Path] = {}

    def desk(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
    ) -> Desk:
        new = arguments not in self.made
        here = self.made.setdefault(arguments, self.folder / f"desk{len(self.made)}")
        shutil.rmtree(here, ignore_errors=True)
        if not new:
            shutil.copytree(here.with_suffix(".kept"), here, symlinks=True)
            monkeypatch.chdir(here)
            monkeypatch.setenv("TRANSOM_MODEL", MODEL)
            monkeypatch.setenv("PYTHONPATH", str(ROOT))
            return Desk(here, capfd)
        here.mkdir()
        monkeypatch.chdir(here)
        desk = Desk.with_model(here, capfd, monkeypatch)
        assert desk.check(*arguments, "-q").code < 2
        shutil.copytree(here, here.with_suffix(".kept"), symlinks=True)
        return desk


async def _records(workspace: Path) -> list[Record]:
    async with SqliteStore.open(workspace / "state.db") as store:
        return [record for stream in store.streams("run/") for record in store.read(stream)]


async def _requests(workspace: Path) -> list[Any]:
    async with SqliteStore.open(workspace / "state.db") as store:
        return [
            request
            for stream in store.streams("run/")
            for request in requests_of(store, store.read(stream))
        ]


@pytest.fixture
def stage_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let progress name stages as the journal does, for tests that watch which ones are made."""
    monkeypatch.setattr("transom.cli.command_session.LABELS", {})


def edit(path: Path, old: str, new: str) -> None:
    """Change a text in a file, which must be there."""
    text = path.read_text("utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new), "utf-8")
