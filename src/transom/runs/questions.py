"""Questions of a program to a person: the run waits, and the answer stands in its journal from then on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transom.canonical import digest
from transom.errors import InputError

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
