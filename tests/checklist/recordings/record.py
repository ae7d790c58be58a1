"""Makes `calls.json` beside this module again, from the replies that stand in
`<name>/replies/<role>.txt`.

    python -m tests.checklist.recordings.record [NAME ...]

Without names: all that have a `calls.json`. A second reply of a role stands in `<role>.retry.txt`,
one that answers what real files showed in `<role>.observed.txt`. Where a reply is missing, the
window that waits for it is written to a temporary folder, which the message names; answer it from
that window alone.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tests.llm.recording import write_recording
from transom.checklist.judging import Verdict
from transom.cli import command_session
from transom.cli.check.answers import Answer
from transom.cli.check.options import CheckArguments
from transom.cli.check.steps import answer_of
from transom.cli.common_options import CommonOptions
from transom.errors import InputError, ProviderError, TransomError
from transom.llm import Chain, Reply, Request, ScriptedProvider, Text, render
from transom.store import Store

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "examples" / "checks" / "data"
WINDOWS = Path(tempfile.gettempdir()) / "recording-windows"
BY = "replay"


@dataclass
class Author:
    """Answers a role with the reply that was written for it."""

    folder: Path
    calls: list[tuple[Request, Reply]] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        again = next(
            (f".{block}" for block in ("observed", "retry") if request.window.text(block)), ""
        )
        name = f"{request.role}{again}.txt"
        path = self.folder / "replies" / name
        if not path.is_file():
            window = WINDOWS / self.folder.name / name
            window.parent.mkdir(parents=True, exist_ok=True)
            window.write_text(render(request).as_text(), encoding="utf-8")
            raise ProviderError(
                f"no reply for the window in {window}", place=str(path), hint="write it, run again"
            )
        reply = Reply((Text(path.read_text(encoding="utf-8")),), by=BY)
        self.calls.append((request, reply))
        return reply


class Written(command_session.Session):
    """A session in which an author answers."""

    author: Author

    @staticmethod
    def by(author: Author, workspace: Path) -> Written:
        started = command_session.Session.start(
            CommonOptions(format="json", workspace=workspace), cwd=workspace, environ={}
        )
        written = Written(**{each.name: getattr(started, each.name) for each in fields(started)})
        object.__setattr__(written, "author", author)
        return written

    def chain(self, store: Store | None = None, spec: str | None = None, **_: Any) -> Chain:
        return Chain((ScriptedProvider(self.author.answer, name=BY),))


async def play(folder: Path, workspace: Path) -> tuple[Answer, Author]:
    """Check the folder's item with its replies.

    Raises:
        ProviderError: a reply is missing.
    """
    author = Author(folder)
    written = Written.by(author, workspace)
    options = CheckArguments(
        folder / "item.yaml", (f"CHECKLIST_ROOT={DATA}",), results=workspace / "out"
    )
    async with written.open_store() as store:
        return await answer_of(written, store, options), author


async def record(folder: Path, workspace: Path) -> str:
    """Check the folder's item with its replies and write `calls.json`. Returns the verdict's
    status.

    Raises:
        InputError: the replies lead to no verdict.
        ProviderError: a reply is missing.
    """
    result, author = await play(folder, workspace)
    if not isinstance(result, Verdict):
        findings = result.model_dump_json(by_alias=True, indent=1)
        raise InputError(f"the replies stop with {result.status}: {findings}", place=str(folder))
    write_recording(folder / "calls.json", author.calls)
    return result.status


def main(names: list[str]) -> int:
    folders = [HERE / name for name in names] or sorted(
        path.parent for path in HERE.glob("*/calls.json")
    )
    failed = False
    for folder in folders:
        with tempfile.TemporaryDirectory() as workspace:
            try:
                said = asyncio.run(record(folder, Path(workspace)))
            except TransomError as error:
                said, failed = str(error), True
        sys.stdout.write(f"{folder.name}: {said}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
