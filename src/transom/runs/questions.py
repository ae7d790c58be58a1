"""What a run waits for: a person's word about a stage's file or a tool call, or an answer to a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from transom.canonical import canonical_json, digest
from transom.errors import InputError
from transom.llm import ToolCall
from transom.llm.turns import Egress

Choice: TypeAlias = dict[str, Any]
"""`{stage, fingerprint, edited, file}` of a stage's file, which is a path below the folder of the run; of a tool call
`{kind, stage, fingerprint, edited, tool, arguments, key, egress?}`, with the `key` that its outcome is journaled under.
"""
Slot: TypeAlias = tuple[str, str]
"""A stage, and the fingerprint of a call; "" for the stage's file."""

APPROVAL, BEGUN = "approval", "begun"
_SHORT = 8  # digits of a fingerprint that a person is shown and types
_HANDED_ON = re.compile(r"/\d")  # what a call handed on; what a program opens is named `/sub`, and lasts
_CUT = 500  # characters of arguments in an error


class Wanted(NamedTuple):
    """A tool call of a conversation.

    Attributes:
        call: what is asked for.
        egress: of the conversation. Arguments made of local text stand in the journal, and are shown where a person
            looks at the run; in no error.
    """

    call: ToolCall
    egress: Egress = "any"


def slot(choice: Choice) -> Slot:
    """Where a choice waits, or an answer to it goes."""
    return choice["stage"], "" if "file" in choice else choice["fingerprint"]


def of_call(kind: str, key: dict[str, object], wanted: Wanted, fingerprint: str) -> Choice:
    """The choice that a run pauses with for a tool call.

    Args:
        kind: `approval`: whether it is to be carried out; `begun`: whether it was, or is to be done again.
        key: see `Stage.called`.
        wanted: the call.
        fingerprint: of the question.
    """
    call, egress = wanted.call, wanted.egress
    asked = {"stage": key["stage"], "fingerprint": fingerprint, "edited": "", "key": key}
    told = {"kind": kind, **asked, "tool": call.name, "arguments": canonical_json(call.arguments)}
    return told | {"egress": egress} if egress != "any" else told


def without_call(waiting: dict[Slot, Choice], data: dict[str, Any]) -> dict[Slot, Choice]:
    """What waits once a call has an outcome, whatever it is: nobody is asked about that call any more."""
    return {
        at: one
        for at, one in waiting.items()
        if "key" not in one or any(data[name] != value for name, value in one["key"].items())
    }


def without_conversation(waiting: dict[Slot, Choice], data: dict[str, Any]) -> dict[Slot, Choice]:
    """What waits once a conversation has another reply: none of its calls, nor what one of these handed on."""
    return {at: one for at, one in waiting.items() if "key" not in one or not _within(one["key"], data)}


def _within(key: dict[str, Any], reply: dict[str, Any]) -> bool:
    if any(key[name] != reply[name] for name in ("stage", "epoch")):
        return False
    name, of = key["conversation"], reply["conversation"]
    return name == of or (name.startswith(of) and _HANDED_ON.match(name, len(of)) is not None)


def short(choice: Choice) -> str:
    """What `--question` takes."""
    return str(choice["fingerprint"])[:_SHORT]


def in_full(choice: Choice) -> str:
    """What waits, for whoever decides: a call with all its arguments, or the stage whose file it is."""
    if "file" in choice:
        return str(choice["stage"])
    if "prompt" in choice:
        return str(choice["prompt"])
    return f"{choice['tool']}({choice['arguments']})" if "tool" in choice else "a call that was begun"


def cut(choice: Choice) -> str:
    """The same for an error, which is told elsewhere, too: long arguments are cut, and local ones left out."""
    if choice.get("egress", "any") != "any":
        return f"{choice['tool']}(...)"
    told = in_full(choice)
    return told if len(told) <= _CUT else f"{told[:_CUT]}... ({len(told):,} characters)"


def how_to_answer_call(run_id: str, choice: Choice) -> tuple[str, str, str]:
    """The commands for the two answers to a call, whatever else waits; and what is to be said of its arguments."""
    words = ("approve", "refuse") if choice["kind"] == APPROVAL else ("keep", "redo")
    first, second = (f"transom answer {run_id} {word} --question {short(choice)}" for word in words)
    look = f"`transom runs show {run_id}` shows them"
    if choice.get("egress", "any") != "any":
        return first, second, f"its arguments are made of local text: {look}"
    if len(choice["arguments"]) > _CUT:
        return first, second, f"its arguments begin with {choice['arguments'][:_CUT]}: {look} all"
    return first, second, f"its arguments are {choice['arguments']}"


def chosen(run_id: str, waiting: dict[Slot, Choice], question: str | None) -> Choice:
    """The one choice that a person means.

    Args:
        run_id: whose.
        waiting: all that it waits for.
        question: a stage's or question's name, or the beginning of a fingerprint; None: the only one.

    Raises:
        InputError: there is none, or there are several: never is one taken for another.
    """
    if question is None:
        fitting = list(waiting.values())
    else:
        fitting = [one for at, one in waiting.items() if at[0] == question]
        if not fitting and len(question) >= _SHORT:  # fewer digits may fit by chance
            fitting = [one for at, one in waiting.items() if at[1].startswith(question)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise _several(run_id, fitting)
    asked = f"question {question} of run {run_id}" if question and waiting else f"run {run_id}"
    raise InputError(f"{asked} waits for no answer", hint=f"see: transom runs show {run_id}")


def _several(run_id: str, fitting: list[Choice]) -> InputError:
    calls = [one for one in fitting if "file" not in one]
    if not calls:
        stages = ", ".join(one["stage"] for one in fitting)
        return InputError(f"several stages wait: {stages}", where=run_id, hint="name one with --question")
    prints = [str(one["fingerprint"]) for one in calls]
    digits = next(many for many in range(_SHORT, 65) if len({one[:many] for one in prints}) == len(prints))
    told = [f"--question {one['fingerprint'][:digits]}: {cut(one)}" for one in calls]
    told += [f"--question {one['stage']}: its file" for one in fitting if "file" in one]
    hint = f"say which one you answer; all that it is about: transom runs show {run_id}"
    return InputError(f"{len(fitting)} answers are waited for: {'; '.join(told)}", where=run_id, hint=hint)


QUESTION = "question"


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

    def to_choice(self) -> dict[str, Any]:
        """As it waits in the journal."""
        told = {"kind": QUESTION, "stage": self.name, "fingerprint": self.fingerprint, "edited": ""}
        return {**told, "prompt": self.prompt, "options": list(self.options)}

    def how_to_answer(self, run_id: str) -> str:
        """The command, with the options where there are some."""
        options = "; ".join(f"{number}: {option}" for number, option in enumerate(self.options, 1))
        words = f"--choose N, where {options}" if options else '"YOUR WORDS"'
        return f"transom answer {run_id} --question {self.fingerprint[:8]} {words}"


def read_answer(options: Sequence[str], text: str, where: str) -> str:
    """What a person's text answers: an option by its words or its number, or the text where there are no options.

    Raises:
        InputError: the text is blank or none of the options.
    """
    text = text.strip()
    if not text:
        raise InputError("the answer is empty", where=where, hint="write what you answer")
    if not options or text in options:
        return text
    if text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    same = [option for option in options if option.casefold() == text.casefold()]
    if len(same) == 1:
        return same[0]
    listed = "; ".join(f"{number}: {option}" for number, option in enumerate(options, 1))
    raise InputError(f"{text!r} is none of the options", where=where, hint=f"say one of {listed}")


def is_reworded(waiting: dict[Any, dict[str, Any]], question: Question) -> bool:
    """Whether another wording of this question waits, which nobody needs to answer any more."""
    return any(one["stage"] == question.name and one["fingerprint"] != question.fingerprint for one in waiting.values())
