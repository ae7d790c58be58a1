"""Atoms B and C as the evaluation sees them: asked in batches, wherever they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import BaseModel, ConfigDict, FailFast, StrictBool, StringConstraints, TypeAdapter, ValidationError

from transom.checklist.atoms import Entry
from transom.checklist.run.runner import AtomWorker
from transom.checklist.standard_atoms import check_existence, validate_logic
from transom.errors import AtomFailed

_BATCH = 5_000

# Appended to a checker's own atoms, so that a report with ten thousand entries takes a few calls and not as many.
BATCH_SOURCE = """

def transom_batch(function, calls):
    target = {"validate_logic": validate_logic, "check_existence": check_existence}[function]
    answers = [target(**call) for call in calls]
    return [{key: answer[key] for key in ("is_match", "reason")} for answer in answers]
"""


class Answer(BaseModel):
    """What B and C have in common: yes or no, and why."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    is_match: StrictBool
    reason: Annotated[str, StringConstraints(strict=True)]


_ANSWERS = TypeAdapter(Annotated[list[Answer], FailFast()])


@dataclass(frozen=True)
class Comparison:
    """One question to atom B."""

    entry: Entry
    pattern: str


class Logic(Protocol):
    """Atoms B and C."""

    async def match(self, questions: Sequence[Comparison]) -> list[Answer]: ...

    async def exist(self, groups: Sequence[Sequence[Entry]]) -> list[Answer]: ...


class StandardLogic:
    """The audited atoms. They are ours, so they run in this process."""

    async def match(self, questions: Sequence[Comparison]) -> list[Answer]:
        return [_read(validate_logic(q.entry.value, q.pattern, q.entry.parsed_fields)) for q in questions]

    async def exist(self, groups: Sequence[Sequence[Entry]]) -> list[Answer]:
        # The standard C looks at nothing but the length.
        return [_read(check_existence([{"value": entry.value} for entry in group])) for group in groups]


class OwnLogic:
    """A checker's own atoms, in the sandbox, behind `BATCH_SOURCE`."""

    def __init__(self, worker: AtomWorker) -> None:
        self._worker = worker

    async def match(self, questions: Sequence[Comparison]) -> list[Answer]:
        return await self._ask(
            "validate_logic",
            [{"text": q.entry.value, "pattern": q.pattern, "parsed_fields": q.entry.parsed_fields} for q in questions],
        )

    async def exist(self, groups: Sequence[Sequence[Entry]]) -> list[Answer]:
        return await self._ask(
            "check_existence", [{"items": [entry.model_dump(mode="json") for entry in group]} for group in groups]
        )

    async def _ask(self, function: str, calls: Sequence[object]) -> list[Answer]:
        answers: list[Answer] = []
        for start in range(0, len(calls), _BATCH):
            batch = list(calls[start : start + _BATCH])
            raw = await self._worker.call("transom_batch", {"function": function, "calls": batch})
            try:
                answers += _ANSWERS.validate_python(raw)
            except ValidationError as error:
                raise AtomFailed(
                    f"{function} answered something else than is_match and reason", kind="schema", where="atoms.py"
                ) from error
        if len(answers) != len(calls):
            raise AtomFailed(f"{function} left questions unanswered", kind="schema", where="atoms.py")
        return answers


def _read(answer: dict[str, object]) -> Answer:
    return Answer.model_validate(answer)
