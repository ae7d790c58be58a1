"""A model as judge: it sees question, rubric and answer, and marks each criterion of the rubric."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from transom.agent import call
from transom.canonical import Json, pretty_json
from transom.errors import ReplyError
from transom.evals.scenario_models import Scenario, ScenarioModel, ScenarioOutcome
from transom.evals.scorers import RUBRIC, SCORERS, Score
from transom.llm import Block, CallSettings, Role, Tier
from transom.llm.strict_json import read_json
from transom.llm.turns import Egress
from transom.runs import Run, Stage, model_file

JUDGE_ROLE = "evals.judge"
_PROMPT = Path(__file__).resolve().parent / "prompts" / "judge.md"
_MARKS = {"met": 1.0, "partly": 0.5, "not": 0.0}


class CriterionMark(ScenarioModel):
    """The mark of one criterion."""

    number: int
    mark: Literal["met", "partly", "not"]
    reason: str


class Marks(ScenarioModel):
    """The judge's answer: a mark for each criterion, in order."""

    criteria: tuple[CriterionMark, ...]


def judge_role() -> Role:
    """Return the judge's role."""
    # It does not see the ground truth, so that it judges the answer and not the verdict.
    prompt = (Block("judge_task", _PROMPT.read_text(encoding="utf-8"), Tier.STABLE),)
    sees = frozenset({"judge_task", "question", "rubric", "answer", "retry"})
    return Role(JUDGE_ROLE, prompt, sees, settings=CallSettings(max_tokens=4096), output=Marks)


async def judge(run: Run, stage: str, scenario: Scenario, outcome: ScenarioOutcome) -> Score:
    """Have the outcome marked by the scenario's rubric, as a stage of the run.

    Raises:
        ProviderError, ReplyError: no provider answered, or the marks could not be read.
        EgressError: the answer has egress "local", and the judge is remote.
    """
    role = judge_role()

    async def ask(
        current_stage: Stage, rubric: list[Json], question: Json, answer: Json, egress: Egress
    ) -> Marks:
        # The marks name criteria by their numbers.
        numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(rubric, 1))
        blocks = [
            Block("question", pretty_json(question), trust="untrusted"),
            Block("rubric", numbered),
            Block("answer", pretty_json(answer), trust="untrusted", egress=egress),
        ]
        reply = await call(current_stage, role, blocks, lambda text: _read(text, len(rubric)))
        return reply.value

    # Only what a reader of the answer sees: tool calls and costs must not sway the judge.
    answer_fields = {"verdict", "text", "criteria", "evidence", "questions", "reported"}
    answer = outcome.model_dump(mode="json", include=answer_fields)
    inputs = ([*scenario.rubric], dict(scenario.input), answer, outcome.egress)
    out = model_file("marks.json", Marks)
    marks = (await run.stage(stage, ask, *inputs, out=out, uses=[role])).value
    total, reasons = 0.0, list[str]()
    for row in marks.criteria:
        total += _MARKS[row.mark]
        if row.mark != "met":
            reasons.append(f"{scenario.rubric[row.number - 1]}: {row.mark} ({row.reason})")
    value = round(total / len(marks.criteria), 6)
    return Score(RUBRIC, SCORERS[RUBRIC].dimension, value, tuple(reasons))


def _read(text: str, count: int) -> Marks:
    try:
        marks = Marks.model_validate(read_json(text))
    except (ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise ReplyError(f"the marks are not the JSON that was asked for: {reason}") from error
    # The text goes to the judge, which is asked again.
    if [row.number for row in marks.criteria] != list(range(1, count + 1)):
        raise ReplyError(f"mark each of the {count} criteria once, in order, from 1")
    return marks
