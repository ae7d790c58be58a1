"""What a run waits for, a person's word about a stage's file or a tool call, or an answer; and
what a person says.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from transom.canonical import canonical_json, digest
from transom.errors import InputError
from transom.llm import ToolCallPart
from transom.llm.turns import Egress

Choice: TypeAlias = dict[str, Any]
"""What waits, as a `paused` record has it: always `stage`, `fingerprint` and `edited`, and

    of a stage's file   file: its path below the folder of the run
    of a tool call      kind (`approval` or `begun`), tool, arguments, key: of its outcome in the
                        journal, egress?
    of a question       kind (`question`), prompt, options, needs_name?, evidence?
"""
Slot: TypeAlias = tuple[str, str]
"""A stage, and the fingerprint of a call or question; "" for the stage's file."""

APPROVAL, BEGUN, QUESTION = "approval", "begun", "question"
# digits of a fingerprint that a person is shown and types; equal ones are none that anybody meets
_SHORT = 8
_TO_ANSWER, TO_GO_ON = "answer with: ", "to continue, run: "
"""What the clauses begin with that name a command; an error has them after a semicolon."""
_PAUSED_RUN = re.compile(r"^((?:[\w.-]+: )?)run \S+ is paused: ")
"""What the text of the error `Paused` begins with; a story's name may stand before it."""
_CUT = 500  # characters of arguments in an error


def slot(choice: Choice) -> Slot:
    """Where a choice waits, or an answer to it goes."""
    return choice["stage"], "" if "file" in choice else choice["fingerprint"]


def of_call(
    kind: str,
    key: Mapping[str, object],
    call: ToolCallPart,
    fingerprint: str,
    egress: Egress = "any",
) -> Choice:
    """Return the choice that a run pauses with for a tool call.

    If its conversation is local (`egress`), no error quotes the arguments.
    """
    fields = {"stage": key["stage"], "fingerprint": fingerprint, "edited": "", "key": key}
    choice = {
        "kind": kind,
        **fields,
        "tool": call.name,
        "arguments": canonical_json(call.arguments),
    }
    return choice | {"egress": egress} if egress != "any" else choice


# -- what a person is told -------------------------------------------------------------------------


def short_name(choice: Choice) -> str:
    """Return the value that `--question` takes for a choice."""
    return str(choice["stage"] if "file" in choice else choice["fingerprint"][:_SHORT])


def options_of(choice: Choice) -> tuple[str, ...]:
    """Return the possible answers; an empty tuple if any text is one."""
    if "prompt" in choice:
        return tuple(choice["options"])
    return ("approve", "refuse") if choice.get("kind") == APPROVAL else ("keep", "redo")


def in_full(choice: Choice) -> str:
    """Return what waits in full: a call with all its arguments, the stage of a file, or the
    question.
    """
    if "tool" in choice:
        return f"{choice['tool']}({choice['arguments']})"
    return str(choice["stage"] if "file" in choice else choice["prompt"])


def cut(choice: Choice) -> str:
    """Return what waits for an error, which others read, too: long arguments are cut, and local
    ones are left out.
    """
    if choice.get("egress", "any") != "any":
        return f"{choice['tool']}(...)"
    text = in_full(choice)
    return text if len(text) <= _CUT else f"{text[:_CUT]}... ({len(text):,} characters)"


def command(run_id: str, question: str, options: Sequence[str], *, needs_name: bool = False) -> str:
    """Return the command that answers with the first option, and the other options behind it.

    Example: `transom answer RUN --question ID yes (or: no)`. The command can be pasted; the whole
    line answers nothing, since a shell refuses the parenthesis.
    """
    first, *others = map(shlex.quote, options or ["YOUR WORDS"])
    if any(" " in option for option in options):
        first, others = "--choose N", []
    elif not options:
        first = '"YOUR WORDS"'
    parts = ["transom answer", run_id, *(["--question", question] * bool(question)), first]
    parts += ["--by NAME"] * needs_name
    if others:
        parts.append(f"(or: {', '.join(others)})")
    return " ".join(parts)


def without_command(reason: str) -> str:
    """Return why a run waits without the command to give in a terminal, for a page that has a
    button or a link for it.
    """
    # A page says what is paused, and links to it.
    reason = _PAUSED_RUN.sub(r"\1", reason)
    for clause in (f"; {_TO_ANSWER}", f"; {TO_GO_ON}", " See: git "):
        reason = reason.partition(clause)[0]
    return reason


def how_to_answer(run_id: str, choice: Choice) -> str:
    """Return how to answer a choice, and which call it is about."""
    options = options_of(choice)
    needs_name = bool(choice.get("needs_name"))
    line = f"{_TO_ANSWER}{command(run_id, short_name(choice), options, needs_name=needs_name)}"
    if "--choose" in line:
        return f"{line}, where {_numbered(options)}"
    if "tool" not in choice:
        return line
    meaning = ""
    if choice["kind"] == BEGUN:
        meaning = ", where keep says that it was carried out, and redo carries it out again"
    return f"{line}{meaning}; the call is {cut(choice)}, in full: transom runs show {run_id}"


def chosen(run_id: str, waiting: dict[Slot, Choice], question: str | None) -> Choice:
    """Return the one choice that a person means, by a name or the beginning of a fingerprint.

    An ambiguous name is an error: no choice is ever taken for another.
    """
    fitting = [
        choice
        for waiting_slot, choice in waiting.items()
        if question is None or waiting_slot[0] == question
    ]
    if question and not fitting and len(question) >= _SHORT:  # fewer digits may fit by chance
        fitting = [
            choice
            for waiting_slot, choice in waiting.items()
            if waiting_slot[1].startswith(question)
        ]
    if len(fitting) == 1:
        return fitting[0]
    see = f"transom runs show {run_id}"
    if not fitting:
        subject = f"question {question} of run {run_id}" if question else f"run {run_id}"
        hint = f"it has its answer, or another message took its place; see: {see}"
        raise InputError(f"{subject} waits for no answer", hint=hint)
    listed = "; ".join(f"--question {short_name(choice)}: {cut(choice)}" for choice in fitting)
    problem = f"{len(fitting)} answers are waited for: {listed}"
    raise InputError(problem, place=run_id, hint=f"name the question that you answer; see: {see}")


# -- questions of a program ------------------------------------------------------------------------


@dataclass(frozen=True)
class PersonAnswer:
    """What a person answered: an option or free text; `by` and `reason` are "" where nobody
    said.
    """

    text: str
    by: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Question:
    """What a program asks a person in one sentence, by a name unique in the run; without
    options, any text is taken.

    Attributes:
        needs_name: whether the answer counts only with the name of the person who gives it.
        evidence: what the person looks at before the answer, such as a diff.
    """

    name: str
    prompt: str
    options: tuple[str, ...] = ()
    needs_name: bool = False
    evidence: str = ""

    @property
    def fingerprint(self) -> str:
        """Changes with the question and its options: an answer is for the question as it was
        asked.
        """
        return digest([QUESTION, self.name, self.prompt, list(self.options)])

    def to_choice(self) -> Choice:
        """As it waits in the journal."""
        choice: Choice = {
            "kind": QUESTION,
            "stage": self.name,
            "fingerprint": self.fingerprint,
            "edited": "",
        }
        choice |= {"prompt": self.prompt, "options": list(self.options)}
        if self.needs_name:
            choice["needs_name"] = True
        if self.evidence:
            choice["evidence"] = self.evidence
        return choice


def _numbered(options: Sequence[str]) -> str:
    return "; ".join(f"{number}: {option}" for number, option in enumerate(options, 1))


# -- the answer ------------------------------------------------------------------------------------


def _chosen_option(choice: Choice, text: str) -> str:
    """Return the option that a text names by its words or its number, or the text if there are no
    options.
    """
    text, options = text.strip(), options_of(choice)
    if not text:
        raise InputError("the answer is empty", place=choice["stage"], hint="write what you answer")
    by_text = {option.casefold(): option for option in options}
    by_text |= {str(number): option for number, option in enumerate(options, 1)}
    # last: options that are numbers themselves mean what they say
    by_text |= {option: option for option in options}
    if options and text not in by_text and text.casefold() not in by_text:
        problem = f"{text!r} is no answer to {cut(choice)}"
        raise InputError(
            problem, place=choice["stage"], hint=f"answer with one of {_numbered(options)}"
        )
    return by_text.get(text, by_text.get(text.casefold(), text))


def answered(
    choice: Choice, folder: Path, answer: str, reason: str = "", *, by: str = ""
) -> dict[str, Any]:
    """Return the `decided` record of a person's answer, about the file as it is now."""
    edited, answer = choice["edited"], _chosen_option(choice, answer)
    # A command that was pasted as it was printed names nobody.
    if choice.get("needs_name") and by.strip() in ("", "NAME"):
        problem = f"the answer to {cut(choice)!r} needs the name of the person who gives it"
        raise InputError(problem, place=choice["stage"], hint="add: --by NAME, with your own name")
    # gone: the next walk makes it anew
    # The edit that counts is the file as it is now, not as it was when the question came up.
    if "file" in choice and (path := folder / choice["file"]).is_file():
        edited = digest(path.read_bytes())
    fields: dict[str, Any] = {
        name: choice[name] for name in ("stage", "fingerprint", "file") if name in choice
    }
    return {**fields, "edited": edited, "answer": answer, "by": by, "reason": reason}
