"""A model as judge: a role that sees question, rubric and answer, and marks each criterion of
the rubric.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from transom.agent import call
from transom.canonical import Json, pretty_json
from transom.errors import ReplyError
from transom.evals.scorers import RUBRIC, SCORERS, Score
from transom.evals.shapes import Outcome, Scenario, Shape
from transom.llm import Block, CallSettings, Role, Tier
from transom.llm.reading import read_json
from transom.llm.turns import Egress
from transom.runs import Run, Stage, model_file

JUDGE_ROLE = "evals.judge"
_PROMPT = Path(__file__).resolve().parent / "prompts" / "judge.md"
_MARKS = {"met": 1.0, "partly": 0.5, "not": 0.0}


class Mark(Shape):
    """The mark of one criterion."""

    number: int
    mark: Literal["met", "partly", "not"]
    reason: str


class Marks(Shape):
    """The judge's answer: a mark for each criterion, in order."""

    criteria: tuple[Mark, ...]


def judge_role() -> Role:
    """Return the judge's role. It does not see the ground truth, so it judges the answer, not
    the verdict.
    """
    prompt = (Block("judge_task", _PROMPT.read_text(encoding="utf-8"), Tier.STABLE),)
    sees = frozenset({"judge_task", "question", "rubric", "answer", "retry"})
    return Role(JUDGE_ROLE, prompt, sees, settings=CallSettings(max_tokens=4096), output=Marks)


async def judge(run: Run, stage: str, scenario: Scenario, outcome: Outcome) -> Score:
    """Have the outcome marked by the scenario's rubric, as a stage of the run.

    Raises:
        ProviderError, ReplyError: no provider answered, or the marks could not be read.
        EgressError: the answer has egress "local", and the judge is remote.
    """
    role = judge_role()

    async def ask(
        at: Stage, rubric: list[Json], question: Json, answer: Json, egress: Egress
    ) -> Marks:
        numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(rubric, 1))
        blocks = [
            Block("question", pretty_json(question), trust="untrusted"),
            Block("rubric", numbered),
            Block("answer", pretty_json(answer), trust="untrusted", egress=egress),
        ]
        return (await call(at, role, blocks, lambda text: _read(text, len(rubric)))).value

    shown = outcome.model_dump(
        mode="json", include={"verdict", "text", "criteria", "evidence", "questions", "reported"}
    )
    inputs = ([*scenario.rubric], dict(scenario.input), shown, outcome.egress)
    marks = (
        await run.stage(stage, ask, *inputs, out=model_file("marks.json", Marks), uses=[role])
    ).value
    given = [_MARKS[one.mark] for one in marks.criteria]
    why = tuple(
        f"{scenario.rubric[one.number - 1]}: {one.mark} ({one.reason})"
        for one in marks.criteria
        if one.mark != "met"
    )
    return Score(RUBRIC, SCORERS[RUBRIC].dimension, round(sum(given) / len(given), 6), why)


def _read(text: str, count: int) -> Marks:
    try:
        marks = Marks.model_validate(read_json(text))
    except (ValueError, ValidationError) as error:
        raise ReplyError(
            f"the marks are not the JSON that was asked for: {str(error).splitlines()[0]}"
        ) from error
    if [one.number for one in marks.criteria] != list(range(1, count + 1)):
        raise ReplyError(f"mark each of the {count} criteria once, in order, from 1")
    return marks
