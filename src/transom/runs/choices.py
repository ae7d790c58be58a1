"""Choices that a run leaves to a person: which counts, her edit of a file or what it is made from today; and whether a
tool call is to be carried out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.errors import InputError
from transom.runs.approvals import decided, from_words
from transom.runs.journal import RunState
from transom.runs.questions import QUESTION, read_answer
from transom.runs.waiting import APPROVAL, Choice


def why_it_waits(choice: Choice, folder: Path, state: RunState) -> str:
    """One clause for a person; an answer that an edit made void is named."""
    path = folder / choice["file"]
    if any(key[:2] == (choice["stage"], choice["fingerprint"]) for key in state.decisions):
        return f"{path} was changed again after the answer for stage {choice['stage']}"
    return f"both {path} and what stage {choice['stage']} is made from have changed"


def how_to_answer(run_id: str, stage: str, state: RunState) -> str:
    """The commands; with the stage where several wait."""
    which = f" --question {stage}" if set(state.waiting) - {(stage, "")} else ""
    return f"say which counts: transom answer {run_id} keep{which}, or transom answer {run_id} redo{which}"


def answered(
    choice: Choice, folder: Path, answer: str, progress: Callable[[str], None], reason: str = "", *, by: str = ""
) -> dict[str, Any]:
    """The journal's `decided` record for a person's answer, for the file as it lies there now.

    Raises:
        InputError: the answer does not fit what is waited for.
    """
    if choice.get("kind") == APPROVAL:
        return decided(from_words(choice, answer, reason), choice["stage"])
    if choice.get("kind") == QUESTION:
        text = read_answer(choice["options"], answer, choice["stage"])
        kept = {name: choice[name] for name in ("stage", "fingerprint", "edited")}
        return {**kept, "answer": text, "person": {"text": text, "by": by, "reason": reason}}
    if answer not in ("keep", "redo"):
        raise InputError(f"{answer!r} is no answer", hint="say keep or redo")
    if "file" in choice:
        return {**choice, "edited": _as_it_is(choice, folder, progress), "answer": answer}
    return {**{name: choice[name] for name in ("stage", "fingerprint", "edited")}, "answer": answer}


def _as_it_is(choice: Choice, folder: Path, progress: Callable[[str], None]) -> str:
    """Digest of the file that a choice is about; where it changed since the run paused, the person is told."""
    path = folder / choice["file"]
    if not path.is_file():
        return str(choice["edited"])  # gone: the next walk makes it anew, whatever was answered
    found = digest(path.read_bytes())
    if found != choice["edited"]:
        progress(f"{path} was changed again since the run paused; the answer is for it as it is now")
    return found
