"""A person's yes for what no evidence shows: one question for each lack, all asked at once."""

from __future__ import annotations

from dataclasses import dataclass

from transom.errors import Paused
from transom.evidence.caps import Cap
from transom.runs import Question, Run
from transom.runs.questions import command, short_name
from transom.stories.shared import Stopped

_ACCEPT, _REFUSE = "accept it", "give up"


@dataclass(frozen=True)
class Lack:
    """Something that keeps a story from being done until a person accepts it.

    Attributes:
        name: of the question, unique in the story's round.
        text: one sentence that says what is missing.
        source_file: the file that it is about, or "".
    """

    name: str
    text: str
    source_file: str = ""


@dataclass(frozen=True)
class Work:
    """What a person looks at who may accept it: the command that shows a diff, and the diff."""

    command: str
    diff: str


class Capped(Stopped):
    """Raised when a story would be done, and waits for a person to accept what is missing."""

    def __init__(self, reason: str, caps: tuple[Cap, ...]) -> None:
        super().__init__("paused", reason)
        self.caps = caps


async def accept_lacks(
    run: Run, stage: str, lacks: list[Lack], work: Work, *, may_ask: bool = True
) -> dict[str, str]:
    """Return the name of each lack -> who accepts it.

    Args:
        may_ask: whether a person is asked; else each open lack ends the story as failed.
        stage: the beginning of the questions' names.
        work: what the person looks at.

    Raises:
        Capped: some are not answered; each waits as a question of its own.
        Stopped: a person gave up.
    """
    accepted: dict[str, str] = {}
    caps: list[Cap] = []
    pauses: list[Paused] = []
    for lack in lacks:
        prompt = f"{lack.text}; may it be merged? See: {work.command}"
        question = Question(
            f"{stage}/{lack.name}",
            prompt,
            (_ACCEPT, _REFUSE),
            needs_name=True,
            evidence=work.diff,
        )
        # An answer to the same question about other work does not count: the fingerprint differs.
        answer = run.answer(question.name, question.fingerprint)
        if answer is None and not may_ask:
            raise Stopped("failed", f"{lack.text} (questions are off)")
        if answer is None:
            await _settle_older(run, question)
            pauses.append(await run.pause("", prompt, question.to_choice()))
            short = short_name(question.to_choice())
            ready = command(run.id, short, question.options, needs_name=True)
            ready = ready.replace("--choose N", "--choose 1")
            caps.append(Cap("measured", lack.text, lack.source_file, accept=ready))
        elif answer.text == _REFUSE:
            raise Stopped("failed", f"{lack.text}; {answer.by or 'a person'} gave up")
        else:
            accepted[lack.name] = answer.by or "a person"
    # All at once: a person comes once, and answers what is there.
    if pauses:
        raise Capped("; ".join(cap.text for cap in caps) + f"; {pauses[0]}", tuple(caps))
    return accepted


async def _settle_older(run: Run, question: Question) -> None:
    """Withdraw the same question about earlier work, which nobody needs to answer now."""
    for choice in [*run.state.waiting.values()]:
        older = choice["stage"] == question.name
        if older and choice["fingerprint"] != question.fingerprint:
            await run.append("settled", {"stage": question.name})
            return
