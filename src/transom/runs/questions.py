"""What a run waits for, a person's word about a stage's file or a tool call, or an answer; and what a person says."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from transom.canonical import Json, canonical_json, digest
from transom.errors import InputError
from transom.llm import ToolCall
from transom.llm.turns import Egress

Choice: TypeAlias = dict[str, Any]
"""What waits, as a `paused` record has it: always `stage`, `fingerprint` and `edited`, and

    of a stage's file   file: its path below the folder of the run
    of a tool call      kind (`approval` or `begun`), tool, arguments, key: of its outcome in the journal, egress?
    of a question       kind (`question`), prompt, options
"""
Slot: TypeAlias = tuple[str, str]
"""A stage, and the fingerprint of a call or question; "" for the stage's file."""

APPROVAL, BEGUN, QUESTION = "approval", "begun", "question"
_SHORT = 8  # digits of a fingerprint that a person is shown and types
_CUT = 500  # characters of arguments in an error


def slot(choice: Choice) -> Slot:
    """Where a choice waits, or an answer to it goes."""
    return choice["stage"], "" if "file" in choice else choice["fingerprint"]


def of_call(kind: str, key: Mapping[str, object], call: ToolCall, fingerprint: str, egress: Egress = "any") -> Choice:
    """The choice that a run pauses with for a tool call.

    Args:
        kind: `approval`: whether it is to be carried out; `begun`: whether it was, or is to be done again.
        key: of its outcome in the journal.
        call: what is asked for.
        fingerprint: of the question.
        egress: of the conversation. Arguments made of local text stand in the journal, and are shown where a person
            looks at the run; in no error.
    """
    asked = {"stage": key["stage"], "fingerprint": fingerprint, "edited": "", "key": key}
    told = {"kind": kind, **asked, "tool": call.name, "arguments": canonical_json(call.arguments)}
    return told | {"egress": egress} if egress != "any" else told


# -- what a person is told --------------------------------------------------------------------------------------------


def short(choice: Choice) -> str:
    """What `--question` takes."""
    return str(choice["fingerprint"])[:_SHORT]


def in_full(choice: Choice) -> str:
    """What waits, for whoever decides: a call with all its arguments, or the stage whose file it is."""
    if "tool" in choice:
        return f"{choice['tool']}({choice['arguments']})"
    return str(choice["stage"] if "file" in choice else choice["prompt"])


def cut(choice: Choice) -> str:
    """The same for an error, which is told elsewhere, too: long arguments are cut, and local ones left out."""
    if choice.get("egress", "any") != "any":
        return f"{choice['tool']}(...)"
    told = in_full(choice)
    return told if len(told) <= _CUT else f"{told[:_CUT]}... ({len(told):,} characters)"


def how_to_answer(run_id: str, choice: Choice, *, others: bool = False) -> str:
    """The commands for the answers to what waits, and what is to be said of a call's arguments.

    Args:
        run_id: of the run.
        choice: what waits.
        others: whether something else waits, too: a stage's file is named then.
    """
    command, which = f"transom answer {run_id}", f" --question {short(choice)}"
    if "file" in choice:
        which = f" --question {choice['stage']}" if others else ""
        return f"say which counts: {command} keep{which}, or {command} redo{which}"
    if "tool" not in choice:
        options = f"--choose N, where {_numbered(choice['options'])}" if choice["options"] else '"YOUR WORDS"'
        return f"answer with: {command}{which} {options}"
    if choice["kind"] == APPROVAL:
        told = f"say {command} approve{which}, or {command} refuse{which}"
    else:
        told = f"if it was, say {command} keep{which}; if it is to be done again, {command} redo{which}"
    look, arguments = f"`transom runs show {run_id}` shows them", choice["arguments"]
    if choice.get("egress", "any") != "any":
        return f"{told}; its arguments are made of local text: {look}"
    if len(arguments) > _CUT:
        return f"{told}; its arguments begin with {arguments[:_CUT]}: {look} all"
    return f"{told}; its arguments are {arguments}"


def chosen(run_id: str, waiting: dict[Slot, Choice], question: str | None) -> Choice:
    """The one choice that a person means.

    Raises:
        InputError: there is none, or there are several: never is one taken for another.
    """
    fitting = [one for at, one in waiting.items() if question is None or at[0] == question]
    if question and not fitting and len(question) >= _SHORT:  # fewer digits may fit by chance
        fitting = [one for at, one in waiting.items() if at[1].startswith(question)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        asked = f"question {question} of run {run_id}" if question else f"run {run_id}"
        raise InputError(f"{asked} waits for no answer", hint=f"see: transom runs show {run_id}")
    prints = {str(one["fingerprint"]) for one in fitting if "file" not in one}
    digits = next(many for many in range(_SHORT, 65) if len({one[:many] for one in prints}) == len(prints))
    told = [
        f"{one['stage']}: its file" if "file" in one else f"{one['fingerprint'][:digits]}: {cut(one)}"
        for one in fitting
    ]
    what = f"{len(fitting)} answers are waited for: --question {'; --question '.join(told)}"
    raise InputError(what, where=run_id, hint=f"say which one you answer; see: transom runs show {run_id}")


# -- questions of a program -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PersonAnswer:
    """What a person answered.

    Attributes:
        text: one of the options where the question has some, else free text.
        by: who answered, "" where nobody said.
        reason: why, "" where nobody said.
    """

    text: str
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Question:
    """What a program asks a person.

    Attributes:
        name: unique in the run, e.g. `feature`.
        prompt: one sentence.
        options: what may be answered; any text where empty.
    """

    name: str
    prompt: str
    options: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Changes with every part of it: an answer is for the question as it was asked."""
        return digest([QUESTION, self.name, self.prompt, list(self.options)])

    def to_choice(self) -> Choice:
        """As it waits in the journal."""
        told = {"kind": QUESTION, "stage": self.name, "fingerprint": self.fingerprint, "edited": ""}
        return {**told, "prompt": self.prompt, "options": list(self.options)}


def _numbered(options: Sequence[str]) -> str:
    return "; ".join(f"{number}: {option}" for number, option in enumerate(options, 1))


def _read_answer(options: Sequence[str], text: str, where: str) -> str:
    """What a person's text answers: an option by its words or its number, or the text where there are no options."""
    text = text.strip()
    if not text:
        raise InputError("the answer is empty", where=where, hint="write what you answer")
    if not options or text in options:
        return text
    if text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    same = [option for option in options if option.casefold() == text.casefold()]
    if len(same) != 1:
        raise InputError(f"{text!r} is none of the options", where=where, hint=f"say one of {_numbered(options)}")
    return same[0]


# -- leave for tool calls ---------------------------------------------------------------------------------------------


class Approval(BaseModel):
    """What a person says to one tool call; `ApprovalRequest.approve` and `.refuse` make it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fingerprint: str
    decision: Literal["approve", "refuse"]
    by: str = Field(min_length=1)
    reason: str = ""


class ApprovalRequest(BaseModel):
    """One tool call that waits for a person. It says all that a decision needs, and survives JSON.

    Attributes:
        place: digest of where in the run the call stands.
        fingerprint: digest of all the rest, so that an answer counts for what was shown and for nothing else.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)  # arguments may be local

    run_id: str
    stage: str
    tool: str
    arguments: Json
    place: str
    fingerprint: str

    @staticmethod
    def of(run_id: str, key: Mapping[str, object], call: ToolCall) -> ApprovalRequest:
        """What is asked about a call; the same call elsewhere in the run is a question of its own."""
        shown = {"run_id": run_id, "stage": key["stage"], "tool": call.name, "arguments": call.arguments}
        shown["place"] = digest(["approval", key])
        return ApprovalRequest.model_validate({**shown, "fingerprint": digest([*shown.values()])})

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.fingerprint != digest([self.run_id, self.stage, self.tool, self.arguments, self.place]):
            raise ValueError("the question was changed after it was asked; ask the run again")
        return self

    def approve(self, by: str, reason: str = "") -> Approval:
        """Leave to carry it out, once."""
        return Approval(fingerprint=self.fingerprint, decision="approve", by=by, reason=reason)

    def refuse(self, by: str, reason: str = "") -> Approval:
        """The model is told the reason and goes on without the call."""
        return Approval(fingerprint=self.fingerprint, decision="refuse", by=by, reason=reason)


def answered(
    choice: Choice, folder: Path, answer: str, progress: Callable[[str], None], reason: str = "", *, by: str = ""
) -> dict[str, Any]:
    """The journal's `decided` record for a person's answer, for the file as it lies there now.

    Raises:
        InputError: the answer does not fit what is waited for.
    """
    kind, edited = choice.get("kind"), choice["edited"]
    if kind == QUESTION:
        answer = _read_answer(choice["options"], answer, choice["stage"])
    else:
        words = ("approve", "refuse") if kind == APPROVAL else ("keep", "redo")
        if answer not in words:
            raise InputError(f"{answer!r} is no answer to {cut(choice)}", hint=f"say {' or '.join(words)}")
    if kind == APPROVAL:
        by = by or _somebody()
    if "file" in choice and (path := folder / choice["file"]).is_file():  # gone: the next walk makes it anew
        edited = digest(path.read_bytes())
        if edited != choice["edited"]:
            progress(f"{path} was changed again since the run paused; the answer is for it as it is now")
    told: dict[str, Any] = {name: choice[name] for name in ("stage", "fingerprint", "file") if name in choice}
    return {**told, "edited": edited, "answer": answer, "by": by, "reason": reason}


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "a person"
