"""What the attempts at one piece of work wrote, each as a diff to the one before it.

Attempts are told apart by a number behind the name of the stage (`build/parser`, `build/parser#1`),
or are made of one stage again and again.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transom.canonical import digest, pretty_json
from transom.runs.checkpoints import checkpoints, stage_output
from transom.runs.history import RunView
from transom.runs.questions import Choice

_NUMBER = re.compile(r"#\d+")
_MOST_BYTES = 1_000_000
_MOST_LINES = 2_000
"""Lines of a diff; a page cannot use more."""


@dataclass(frozen=True)
class StageAttempt:
    """An attempt.

    Attributes:
        stage: the stage.
        number: the attempt of that stage, from 1.
        at: when it ended, UTC, ISO 8601.
        diff: what it changed in the file of the attempt before it; "" if nothing.
        is_kept: whether both files are still there.
    """

    stage: str
    number: int
    at: str
    diff: str
    is_kept: bool

    @property
    def added(self) -> int:
        """How many lines it added."""
        return self._count("+")

    @property
    def removed(self) -> int:
        """How many lines it removed."""
        return self._count("-")

    def _count(self, sign: str) -> int:
        # The first three lines name the files.
        return sum(line.startswith(sign) for line in self.diff.splitlines()[3:])

    def to_json(self) -> dict[str, Any]:
        names = {"stage": self.stage, "attempt": self.number, "at": self.at}
        return {**names, "diff": self.diff, "is_kept": self.is_kept}


def attempts_of(run: RunView, folder: Path) -> list[StageAttempt]:
    """Return the attempts of a run that followed another one, oldest first."""
    files: dict[str, str] = {}
    for writing in run.data_of("writing"):
        files[writing["stage"]] = writing.get("file", "")
    ends = Counter(_work_of(ending["stage"]) for ending in run.data_of("done"))
    places = {point.position: point.file for point in checkpoints(run.records)}
    before: dict[str, str | None] = {}
    attempts: list[StageAttempt] = []
    for record in run.records:
        data: Any = record.data
        # Most work is done once, and its file is not read.
        if record.kind != "done" or ends[work := _work_of(data["stage"])] < 2:
            continue
        stage, file = data["stage"], files.get(data["stage"], "")
        text = _kept_text(folder, file, data.get("output", ""), places[record.seq])
        if work in before:
            diff = _diff(before[work] or "", text or "", file)
            is_kept = text is not None and before[work] is not None
            attempt = StageAttempt(
                stage, data["attempt"], record.at, diff if is_kept else "", is_kept
            )
            attempts.append(attempt)
        before[work] = text
    return attempts


def _work_of(stage: str) -> str:
    """Return the name of a stage without the number of the attempt."""
    return _NUMBER.sub("", stage)


def edit_in_question(choice: Choice, folder: Path) -> str:
    """Return what a person changed in a stage's file that a run asks about, as a diff; "" if the
    file that the stage wrote is not kept, or the edit is no text in UTF-8.
    """
    written = stage_output(folder, choice["stage"])
    path = folder / choice["file"]
    if written is None or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return ""
    try:
        edited = path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""
    if isinstance(written, str):
        return _diff(written, edited, choice["file"])
    # The file that was kept is parsed, so that both are written in the same way.
    with suppress(ValueError, RecursionError):
        edited = pretty_json(json.loads(edited))
    return _diff(pretty_json(written), edited, choice["file"])


def _kept_text(folder: Path, file: str, output: str, checkpoint: str) -> str | None:
    """Return what a stage wrote, if its file or its checkpoint still has it."""
    path = folder / file
    with suppress(OSError, ValueError):
        if file and path.stat().st_size <= _MOST_BYTES:
            content = path.read_bytes()
            if digest(content) == output:
                return content.decode("utf-8")
        kept: Mapping[str, Any] = json.loads((folder / checkpoint).read_bytes())
        text = kept["output"]
        return text if isinstance(text, str) else pretty_json(text)
    return None


def _diff(before: str, after: str, name: str) -> str:
    """Return two texts as a unified diff."""
    texts = before.splitlines(), after.splitlines()
    lines = [*difflib.unified_diff(*texts, f"a/{name}", f"b/{name}", lineterm="")]
    if not lines:
        return ""
    hidden = len(lines) - _MOST_LINES
    if hidden > 0:
        lines = [*lines[:_MOST_LINES], f"@@ {hidden} more lines @@"]
    return "\n".join([f"diff --git a/{name} b/{name}", *lines, ""])
