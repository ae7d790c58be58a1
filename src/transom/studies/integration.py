"""Learning for people who have a runner of their own: a mixin for new code, a wrapper for existing code.

Both watch one method of the runner, which takes an Optuna trial (or a mapping of parameters) and returns the objective
or raises. Every outcome is classified, and at the end of `run` rules are learned for the next study of the scope.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.studies.advice import RULE, AdviceStore, FileAdvice, FileRows, Insight, RowStore, active_rules
from transom.studies.expression import Formula
from transom.studies.failures import JobOutput, Taxonomy, classify, load_taxonomy
from transom.studies.rules import Features, Row, Rule, learn

OBJECTIVE = ("objective", "_objective", "_objective_function", "evaluate")
"""Names under which a runner's objective is looked for."""


class Learning:
    """What a runner's trials taught.

    Args:
        study: the study's name; its rows take the place of those that it left before.
        scope: the family of studies that share insights.
        folder: where insights are kept, unless `advice` and `rows` say otherwise.
        features: name -> formula of parameters, such as `hole / width`; the parameters themselves where empty.
    """

    def __init__(
        self,
        study: str,
        scope: str,
        folder: Path | str = "knowledge_base",
        *,
        features: Mapping[str, str] | None = None,
        advice: AdviceStore | None = None,
        rows: RowStore | None = None,
        taxonomy: Taxonomy | None = None,
    ) -> None:
        self.study, self.scope = study, scope
        self.advice: AdviceStore = advice or FileAdvice(Path(folder))
        self.rows: RowStore = rows or FileRows(Path(folder))
        self.taxonomy = taxonomy or load_taxonomy()
        self.features = Features({name: Formula.parse(text) for name, text in (features or {}).items()})
        self.known = list(self.advice.insights(scope))
        self.rules = active_rules(self.known)
        self.seen: list[Row] = []
        self.used: Counter[str] = Counter()
        self.added: list[str] = []

    def measure(self, params: Mapping[str, Any]) -> dict[str, float]:
        """The features of a design."""
        numbers = {name: value for name, value in params.items() if isinstance(value, int | float)}
        return self.features(numbers) if self.features.formulas else {name: float(one) for name, one in numbers.items()}

    def warnings(self, params: Mapping[str, Any]) -> list[Rule]:
        """The rules of earlier studies that expect this design to fail; ask before a solve that costs much."""
        features = self.measure(params)
        return [rule for rule in self.rules if rule.matches(features)]

    def record(
        self, number: int, params: Mapping[str, Any], error: str | None = None, *, failed: bool = False
    ) -> str | None:
        """Take in how a trial ended; gives the class of its failure.

        Args:
            error: what the solver or an exception said.
            failed: it failed although nothing said so.
        """
        failure = None
        if error is not None or failed:
            job = JobOutput(texts={"error": f"Error: {error or 'no result'}"}, return_code=1)
            failure = classify(job, self.taxonomy).failure
        for rule in self.warnings(params):
            self.used[rule.id] += 1
            self.advice.outcome(rule.id, helpful=failure is not None, source=f"{self.study}/{number}")
        self.seen.append(Row(self.measure(params), failure))
        return failure

    def finish(self) -> list[str]:
        """Learn from what was recorded; gives the ids of new insights."""
        self.rows.keep(self.scope, self.study, self.seen)
        known = {one.id for one in self.known}
        for rule in learn(self.rows.rows(self.scope)):
            insight = Insight(self.scope, RULE, rule.sentence, rule.to_data(), sources=(self.study,))
            self.added.append(self.advice.add(insight))
        self.added = [one for one in dict.fromkeys(self.added) if one not in known]
        return self.added

    def report(self) -> dict[str, Any]:
        """Trials, failures by class, insights that were added and those that acted, with their standing."""
        failures = Counter(row.failure for row in self.seen if row.failure)
        total = len(self.seen)
        standing = [one for one in self.advice.insights(self.scope) if one.id in {*self.used, *self.added}]
        return {
            "study": self.study,
            "scope": self.scope,
            "total_trials": total,
            "success_rate": 1 - failures.total() / total if total else None,
            "failures": dict(failures.most_common()),
            "insights_added": len(self.added),
            "insights_used": dict(self.used),
            "insights": [
                {"id": one.id, "content": one.content, "helpful_count": one.helpful, "harmful_count": one.harmful}
                for one in standing
            ],
        }


def _watched(objective: Callable[..., Any], learning: Learning) -> Callable[..., Any]:
    """An objective whose outcomes are taken in."""

    @functools.wraps(objective)
    def watched(trial: Any, *args: Any, **kwargs: Any) -> Any:
        error: str | None = None
        value: Any = None
        try:
            value = objective(trial, *args, **kwargs)
            return value
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            params = trial if isinstance(trial, Mapping) else trial.params
            number = getattr(trial, "number", len(learning.seen))
            learning.record(number, params, error, failed=error is None and not _finite(value))

    return watched


def _finite(value: Any) -> bool:
    values = value if isinstance(value, Sequence) else [value]
    return all(one is not None and one == one and abs(one) != float("inf") for one in values)


def _find_objective(runner: object, name: str | None) -> str:
    for candidate in (name,) if name else OBJECTIVE:
        if callable(getattr(runner, candidate, None)):
            return candidate
    wanted = name or ", ".join(OBJECTIVE)
    hint = "name it with objective="
    raise InputError(f"{type(runner).__name__} has no method {wanted}", where="context engineering", hint=hint)


class ContextEngineeringMixin:
    """Adds learning to a runner: `class Mine(ContextEngineeringMixin, TheirRunner)`, `init_context_engineering()`."""

    _learning: Learning

    def init_context_engineering(
        self, study: str = "study", scope: str | None = None, *, objective: str | None = None, **given: Any
    ) -> None:
        """Begin to watch; call it at the end of `__init__`. Further arguments are those of `Learning`."""
        self._learning = Learning(study, scope or study, **given)
        name = _find_objective(self, objective)
        setattr(self, name, _watched(getattr(self, name), self._learning))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the runner; what it learned is kept, also where it was interrupted."""
        try:
            return super().run(*args, **kwargs)  # type: ignore[misc]  # the runner that this is mixed into has it
        finally:
            self._learning.finish()

    def get_learning_report(self) -> dict[str, Any]:
        """What was learned; see `Learning.report`."""
        return self._learning.report()


class ContextAwareRunner:
    """Adds learning to a runner that is there: `ContextAwareRunner(runner).run(n_trials=100)`.

    Everything else is the runner's own.
    """

    def __init__(
        self, runner: Any, study: str = "study", scope: str | None = None, *, objective: str | None = None, **given: Any
    ) -> None:
        self._runner, self._learning = runner, Learning(study, scope or study, **given)
        name = _find_objective(runner, objective)
        setattr(runner, name, _watched(getattr(runner, name), self._learning))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the runner; what it learned is kept, also where it was interrupted."""
        try:
            return self._runner.run(*args, **kwargs)
        finally:
            self._learning.finish()

    def get_learning_report(self) -> dict[str, Any]:
        """What was learned; see `Learning.report`."""
        return self._learning.report()
