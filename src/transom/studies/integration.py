"""Learning for your own runner: a mixin for new code, a wrapper for existing code.

Both watch one method of the runner, which takes an Optuna trial (or a mapping of parameters) and
returns the objective or raises. Every outcome is classified, and at the end of `run` rules are
learned for the next study of the scope.
"""

from __future__ import annotations

import functools
import math
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from transom.errors import InputError
from transom.studies.advice import RULE, Advice, StudyInsight
from transom.studies.control import learnable
from transom.studies.expression import Formula
from transom.studies.failure_rules import Features, SolveRow
from transom.studies.failures import Diagnosis, classify
from transom.studies.job_output import JobOutput
from transom.studies.taxonomy import load_taxonomy
from transom.studies.trials import StudyTrial

OBJECTIVE = ("objective", "_objective", "_objective_function", "evaluate")
"""Names of methods that are tried as the runner's objective."""


class Learning:
    """Insights from the trials of a runner.

    Args:
        study: the study's name; its rows replace its earlier ones.
        scope: the family of studies that share insights; None: only this study.
        folder: where the insights are stored.
        features: name -> formula of parameters, such as `hole / width`; default: the parameters
            themselves.

    Attributes:
        study, scope: see above; the scope is the study's name if none was given.
        advice: the stored insights.
        seen: the features and the outcome of each trial, in their order.
        used: how often each rule warned of a trial, by its id.
        added: ids of the insights that this study added.
    """

    def __init__(
        self,
        study: str = "study",
        scope: str | None = None,
        folder: Path | str = "knowledge_base",
        *,
        features: Mapping[str, str] | None = None,
    ) -> None:
        self.study, self.scope = study, scope or study
        self.advice = Advice(Path(folder))
        self._taxonomy = load_taxonomy()
        self._features = Features(
            {name: Formula.parse(text) for name, text in (features or {}).items()}
        )
        self._known = {insight.id for insight in self.advice.insights(self.scope)}
        self._version = (-1, -1)  # of the advice, when the rules were read
        self._rules: list[StudyInsight] = []
        self.seen: list[SolveRow] = []
        # `_trials[i]` is the outcome of `seen[i]`; `_numbers[i]` is what the runner calls it.
        self._trials: list[StudyTrial] = []
        self._numbers: list[int] = []
        self.used: Counter[str] = Counter()
        self.added: list[str] = []

    @property
    def rules(self) -> list[StudyInsight]:
        """Rules of earlier studies, as the playbook has them now: one that is retired ends."""
        version = self.advice.version
        if version != self._version:
            self._version = version
            rules = []
            # What is learned meanwhile waits for the next study.
            for insight in self.advice.insights(self.scope):
                if insight.id in self._known and insight.kind == RULE and insight.acts:
                    rules.append(insight)
            self._rules = rules
        return self._rules

    def _measure(self, params: Mapping[str, Any]) -> dict[str, float]:
        numbers = {}
        for name, value in params.items():
            if isinstance(value, int | float):
                numbers[name] = float(value)
        return self._features(numbers) if self._features.formulas else numbers

    def warnings(self, params: Mapping[str, Any]) -> list[StudyInsight]:
        """Return the rules of earlier studies that predict a failure of this design; check
        before expensive solves.
        """
        return self._matching(self._measure(params))

    def _matching(self, features: Mapping[str, float]) -> list[StudyInsight]:
        """Return the rules of earlier studies that predict a failure of a design with these
        features.
        """
        matching = []
        for insight in self.rules:
            if insight.rule.matches(features):
                matching.append(insight)
        return matching

    def record(self, trial: Any, error: str | None = None) -> str | None:
        """Record the outcome of a trial or mapping; `error` is the exception's text. Returns the
        class of failure. A failure of the machine or the set-up teaches nothing.
        """
        params = trial if isinstance(trial, Mapping) else trial.params
        diagnosed = Diagnosis(None)
        if error is not None:
            output = JobOutput({"error": f"Error: {error}"}, return_code=1)
            diagnosed = classify(output, self._taxonomy)
        kind: Literal["solved", "failed", "lost"] = "failed"
        if diagnosed.failure is None:
            kind = "solved"
        elif diagnosed.severity in ("machine", "study"):
            kind = "lost"
        place = len(self.seen)
        self._numbers.append(getattr(trial, "number", place))
        self._trials.append(
            StudyTrial(
                number=place,
                kind=kind,
                params={},  # the rules need only the features in `seen`
                failure=diagnosed.failure,
                reason=diagnosed.reason,
            )
        )
        self.seen.append(SolveRow(self._measure(params), diagnosed.failure))
        return diagnosed.failure

    def _conclude(self) -> None:
        """Score the rules of earlier studies, and learn, from the outcomes that tell of designs."""
        # Whether an unclear failure was the machine's shows only in what came after it.
        places = []
        for trial in learnable(self._trials, self._taxonomy):
            if trial.kind != "lost":
                places.append(trial.number)
        self.used = Counter()
        for place in places:
            row = self.seen[place]
            # The runner solved the design in any case, which tests each rule that warned.
            for rule in self._matching(row.features):
                self.used[rule.id] += 1
                self.advice.outcome(
                    rule.id,
                    helpful=row.failure is not None,
                    study=self.study,
                    trial=self._numbers[place],
                )
        self.advice.keep(self.scope, self.study, [self.seen[place] for place in places])
        added = []
        for insight_id in self.advice.learn(self.scope, self.study):
            if insight_id not in self._known:
                added.append(insight_id)
        self.added = added

    def report(self) -> dict[str, Any]:
        """Return trials, failures by class, insights that were added and used, with their
        standing.
        """
        failures, total = Counter(row.failure for row in self.seen if row.failure), len(self.seen)
        insights = self.advice.insights(self.scope)
        return {
            "study": self.study,
            "scope": self.scope,
            "total_trials": total,
            "success_rate": 1 - failures.total() / total if total else None,
            "failures": dict(failures.most_common()),
            "insights_added": len(self.added),
            "insights_used": dict(self.used),
            "insights": [
                {
                    "id": insight.id,
                    "content": insight.content,
                    "helpful_count": insight.helpful,
                    "harmful_count": insight.harmful,
                }
                for insight in insights
                if insight.id in {*self.used, *self.added}
            ],
        }

    def watch(self, runner: object, name: str | None = None) -> None:
        """Record the outcomes of the method `name`, or of the first in `OBJECTIVE`; InputError
        if there is none.
        """
        names = (name,) if name else OBJECTIVE
        method = next(
            (candidate for candidate in names if callable(getattr(runner, candidate, None))), None
        )
        if method is None:
            problem = f"{type(runner).__name__} has no method {', '.join(names)}"
            raise InputError(problem, place="context engineering", hint="name it with objective=")
        objective: Callable[..., Any] = getattr(runner, method)

        @functools.wraps(objective)
        def watched(trial: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                value = objective(trial, *args, **kwargs)
            except Exception as raised:
                self.record(trial, f"{type(raised).__name__}: {raised}")
                raise
            values = [value]
            if isinstance(value, Sequence) and not isinstance(value, str):
                values = list(value)
            # An objective that returns no value at all has no result.
            good = bool(values) and all(
                isinstance(candidate, int | float) and math.isfinite(candidate)
                for candidate in values
            )
            self.record(trial, None if good else "no result")
            return value

        setattr(runner, method, watched)

    def guide(self, runner: object) -> Callable[[], None]:
        """Let the rules reject what the sampler of a runner's Optuna study proposes.

        Returns:
            A function that gives the study its own sampler back.
        """
        if "optuna" not in sys.modules:
            return lambda: None
        import optuna  # noqa: PLC0415  slow

        from transom.studies.samplers import FollowingSampler  # noqa: PLC0415  slow: Optuna

        own_samplers = []
        for attribute in vars(runner).values():
            if isinstance(attribute, optuna.Study):
                own_samplers.append((attribute, attribute.sampler))
                texts = {name: formula.text for name, formula in self._features.formulas.items()}
                attribute.sampler = FollowingSampler(
                    lambda: self.rules, features=texts, base=attribute.sampler
                )

        def restore() -> None:
            for study, sampler in own_samplers:
                study.sampler = sampler

        return restore

    def around(self, run: Callable[..., Any], runner: object, *args: Any, **kwargs: Any) -> Any:
        """Call the runner's own `run`; learned rules are stored also after an interruption."""
        restore = self.guide(runner)
        try:
            return run(*args, **kwargs)
        finally:
            restore()
            self._conclude()


class ContextEngineeringMixin:
    """Adds learning to a runner: `class Mine(ContextEngineeringMixin, TheirRunner)`,
    `init_context_engineering()`.
    """

    _learning: Learning

    def init_context_engineering(
        self, *args: Any, objective: str | None = None, **kwargs: Any
    ) -> None:
        """Watch the method `objective`; call this at the end of `__init__`, with the arguments
        of `Learning`.
        """
        self._learning = Learning(*args, **kwargs)
        self._learning.watch(self, objective)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the runner, and learn."""
        # The other base class has `run`.
        return self._learning.around(super().run, self, *args, **kwargs)  # type: ignore[misc]

    def get_learning_report(self) -> dict[str, Any]:
        """Return the learning report; see `Learning.report`."""
        return self._learning.report()


class ContextAwareRunner(ContextEngineeringMixin):
    """Adds learning to an existing runner: `ContextAwareRunner(runner).run(n_trials=100)`.

    If an attribute of the runner is an Optuna study, rules of earlier studies also reject what its
    sampler proposes. Arguments are those of `Learning`, and `objective`. Everything else is the
    runner's own.
    """

    def __init__(
        self, runner: Any, *args: Any, objective: str | None = None, **kwargs: Any
    ) -> None:
        self._runner, self._learning = runner, Learning(*args, **kwargs)
        self._learning.watch(runner, objective)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runner, name)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the runner, and learn."""
        return self._learning.around(self._runner.run, self._runner, *args, **kwargs)
