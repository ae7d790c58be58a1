"""Atoms B and C as the evaluation sees them: asked in batches, wherever they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    StrictBool,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from transom.checklist.atoms import Entry
from transom.checklist.judging.runner import AtomWorker
from transom.checklist.standard_atoms import check_existence, validate_logic
from transom.errors import AtomFailed

DefaultMatch = Literal["contains", "words", "exact"]
_BATCH = 5_000
_STANDARD: Final[Mapping[str, Callable[..., Any]]] = {
    "validate_logic": validate_logic,
    "check_existence": check_existence,
}

# Appended to a checker's own atoms, so that a report with ten thousand entries takes a few calls
# and not as many.
BATCH_SOURCE = """

def transom_batch(function, calls):
    target = {"validate_logic": validate_logic, "check_existence": check_existence}[function]
    answers = [target(**call) for call in calls]
    return [{key: answer[key] for key in ("is_match", "reason")} for answer in answers]
"""


class AtomAnswer(BaseModel):
    """What B and C have in common: yes or no, and why."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    is_match: StrictBool
    reason: Annotated[str, StringConstraints(strict=True)]


_ANSWERS = TypeAdapter(Annotated[list[AtomAnswer], FailFast()])


class Logic:
    """Atoms B and C: a checker's own in the sandbox, behind `BATCH_SOURCE`, else the standard
    ones in this process.

    Args:
        worker: the sandbox with a checker's own atoms, or None for the standard ones.
        default_match: how the standard atom B compares plain texts.
    """

    def __init__(
        self, worker: AtomWorker | None = None, default_match: DefaultMatch = "contains"
    ) -> None:
        self._worker = worker
        self._default_match = default_match

    async def match(self, questions: Sequence[tuple[Entry, str]]) -> list[AtomAnswer]:
        """Ask atom B whether each entry's value fits the pattern beside it.

        Raises:
            AtomFailed: an own atom failed, or answered something else.
        """
        calls: list[dict[str, Any]] = []
        for entry, pattern in questions:
            call = {"text": entry.value, "pattern": pattern, "parsed_fields": entry.parsed_fields}
            if self._worker is None:
                # An own atom may not know the way of comparing, the standard one does.
                call["default_match"] = self._default_match
            calls.append(call)
        return await self._ask("validate_logic", calls)

    async def exist(self, groups: Sequence[Sequence[Entry]]) -> list[AtomAnswer]:
        """Ask atom C whether each group has what it should; raises as `match` does."""
        answers: list[list[Any]] = []
        for group in groups:
            if self._worker is None:
                # The standard atom looks at nothing but the length.
                answers.append(list(group))
            else:
                answers.append([entry.model_dump(mode="json") for entry in group])
        # Entries cross into the sandbox as JSON; here they stay as they are.
        return await self._ask("check_existence", [{"items": items} for items in answers])

    async def _ask(self, function: str, calls: Sequence[dict[str, Any]]) -> list[AtomAnswer]:
        if self._worker is None:
            return [AtomAnswer.model_validate(_STANDARD[function](**call)) for call in calls]
        answers: list[AtomAnswer] = []
        # A message to the sandbox has a limit of its own.
        for start in range(0, len(calls), _BATCH):
            batch = calls[start : start + _BATCH]
            raw = await self._worker.call("transom_batch", {"function": function, "calls": batch})
            try:
                answers += _ANSWERS.validate_python(raw)
            except ValidationError as error:
                message = f"{function} answered something else than is_match and reason"
                raise AtomFailed(message, kind="schema", place="atoms.py") from error
        if len(answers) != len(calls):
            raise AtomFailed(
                f"{function} left questions unanswered", kind="schema", place="atoms.py"
            )
        return answers
