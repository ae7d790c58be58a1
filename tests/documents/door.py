"""The command line in a folder, a model whose replies lie in `replies/`, and small inputs."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml

from transom.cli import main
from transom.errors import NetworkFailed
from transom.llm import Reply, Request, ScriptedProvider, Text

REPLIES = Path(__file__).parent / "replies"
MODEL = "tests.documents.door:FanModel"

BOOT_LOG = """boot 2031-04-02
controller: Aero ver 4.2 built 2031-03-30
sensor: Hygro ver 1.9 built 2031-02-11
"""
FAN: dict[str, Any] = {
    "item_id": "FAN-1",
    "description": "Confirm the fan controller/sensor firmware is recorded.",
    "requirements": {"value": "N/A", "pattern_items": []},
    "input_files": ["logs/boot.log"],
    "waivers": {"value": "N/A", "waive_items": []},
}


class FanModel(ScriptedProvider):
    """A model that answers the roles of the checklist for the item FAN-1.

    Attributes:
        requests_of: every request by its role, of all instances since `forget`.
        instead: replies that a test puts in the place of a file's, by role, first come first.
    """

    requests_of: ClassVar[list[Request]] = []
    instead: ClassVar[dict[str, list[str]]] = {}

    def __init__(self) -> None:
        super().__init__(self._written, name="author")

    @classmethod
    def forget(cls) -> None:
        cls.requests_of.clear()
        cls.instead.clear()

    @classmethod
    def request(cls, role: str) -> Request:
        """The last request of a role."""
        return [each for each in cls.requests_of if each.role == f"checklist.{role}"][-1]

    def _written(self, request: Request) -> Reply:
        name = request.role.removeprefix("checklist.")
        self.requests_of.append(request)
        waiting = self.instead.get(name)
        text = waiting.pop(0) if waiting else (REPLIES / f"{name}.txt").read_text("utf-8")
        return Reply((Text(text),), by="author")


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


@dataclass(frozen=True)
class Door:
    """The command line in a folder."""

    here: Path

    def __call__(self, *arguments: str) -> Answer:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with inside(self.here), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*arguments])
        answer = Answer(code, _text(out), _text(err))
        assert "Traceback" not in answer.err
        return answer

    def json(self, *arguments: str) -> Any:
        """The document of a command."""
        return self(*arguments, "--format", "json", "-q").document

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file of this folder."""
        file = self.here / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def item(self, path: str, content: dict[str, Any], **changes: Any) -> Path:
        """Write an item's file."""
        return self.write(path, yaml.safe_dump(content | changes, sort_keys=False))

    def run_folder(self, name: str) -> Path:
        """The folder of the only run of that name."""
        (folder,) = (self.here / ".transom" / "runs" / name).iterdir()
        return folder


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def fan_door(here: Path) -> Door:
    """A folder with the item FAN-1 and its boot log."""
    door = Door(here)
    door.item("FAN-1.yaml", FAN)
    door.write("logs/boot.log", BOOT_LOG)
    return door


class OtherModel(FanModel):
    """The same replies under another name."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "other"

    def _written(self, request: Request) -> Reply:
        return Reply(super()._written(request).parts, by="other")


class BrokenModel(ScriptedProvider):
    """A model that cannot be reached."""

    def __init__(self) -> None:
        super().__init__(self._broken, name="broken")

    def _broken(self, request: Request) -> Reply:
        raise NetworkFailed("the connection failed", place="broken")


class SlowModel(FanModel):
    """A model that needs longer than a stage may take."""

    async def complete(self, request: Request, **more: Any) -> Reply:
        await asyncio.sleep(5)
        return await super().complete(request, **more)
