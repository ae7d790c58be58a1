"""Samplers that see the trials of a study otherwise than its storage has them.

Optuna cannot change a trial that has ended. Where a sampler must not learn from one, or must learn
something else from it, it is shown the study through a function.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Container, Mapping, Sequence
from copy import copy
from pathlib import Path
from threading import Lock
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from transom.studies.advice import RULE, Advice, StudyInsight
from transom.studies.expression import Formula
from transom.studies.failure_rules import Features, SolveRow, choice_features
from transom.studies.trials import FAILED_BY

See = Callable[[FrozenTrial], FrozenTrial | None]
"""What a sampler sees of a trial; None: nothing."""


class SeeingSampler(BaseSampler):
    """A sampler that asks another one, which sees each trial through a function.

    Args:
        base: the sampler that proposes designs.
        see: called with each trial of the study.
        of_trial: returns the sampler that draws a trial's values together, or that of a parameter
            alone; default: `base` draws all.
    """

    def __init__(
        self, base: BaseSampler, see: See, of_trial: Callable[[int, str], BaseSampler] | None = None
    ) -> None:
        self.base = base
        self._see = see
        self._of_trial = of_trial

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that are sampled together."""
        return self.base.infer_relative_search_space(self._seen(study), trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose values of the parameters that are sampled together."""
        sampler = self._of_trial(trial.number, "") if self._of_trial else self.base
        return sampler.sample_relative(self._seen(study), trial, search_space)

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Propose the value of one parameter."""
        sampler = self._of_trial(trial.number, param_name) if self._of_trial else self.base
        return sampler.sample_independent(self._seen(study), trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Draw other numbers from now on; Optuna calls this for each of several workers."""
        self.base.reseed_rng()

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Prepare for a trial."""
        self.base.before_trial(study, trial)

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Any,
    ) -> None:
        """Take note of the end of a trial."""
        self.base.after_trial(study, trial, state, values)

    def _seen(self, study: optuna.Study) -> optuna.Study:
        """Return the study as the other sampler sees it."""
        # Optuna has no public way from a study to its storage.
        storage: Any = _SeenStorage(study._storage, self._see)
        return optuna.load_study(study_name=study.study_name, storage=storage)


Pick = Callable[[Sequence[Mapping[str, Any]]], tuple[int, float] | None]
"""Picks one of several designs: its number, and its predicted objective; None: no opinion."""


class ScreeningSampler(SeeingSampler):
    """A sampler that draws each design several times, and proposes the one that a model picks.

    Args:
        base: the sampler that tells which values are drawn together.
        see: what the samplers see of a trial.
        of_trial: returns the sampler of a trial; the text makes its random numbers others.
        names: the variables that a design must have; one with fewer is not picked.
        draws: number of designs that are drawn.
        fits: returns whether a design may be solved. The first one that is drawn is proposed if it
            may not, so that rules which reject designs are scored as without a model.
        pick: called with the designs that fit.
        attribute: user attribute of the trial that keeps the predicted objective.
    """

    def __init__(
        self,
        base: BaseSampler,
        see: See,
        of_trial: Callable[[int, str], BaseSampler],
        *,
        names: frozenset[str],
        draws: int,
        fits: Callable[[Mapping[str, Any]], bool],
        pick: Pick,
        attribute: str,
    ) -> None:
        super().__init__(base, see, of_trial)
        self._make = of_trial
        self._names = names
        self._draws = draws
        self._fits = fits
        self._pick = pick
        self._attribute = attribute

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose the most promising of several designs."""
        first = super().sample_relative(study, trial, search_space)
        if set(first) != self._names or not self._fits(first):
            return first
        designs = [first]
        seen = self._seen(study)
        for number in range(1, self._draws):
            sampler = self._make(trial.number, f"draw {number}")
            design = sampler.sample_relative(seen, trial, search_space)
            if self._fits(design):
                designs.append(design)
        picked = self._pick(designs)
        if picked is None:
            return first
        number, predicted = picked
        # Optuna has no public way from a trial that is being drawn to its attributes.
        study._storage.set_trial_user_attr(trial._trial_id, self._attribute, predicted)
        return designs[number]


class _SeenStorage:
    """A storage whose trials are seen through a function; for the rest it is the other one."""

    def __init__(self, storage: BaseStorage, see: See) -> None:
        self._storage = storage
        self._see = see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        """Return the trials that are seen."""
        trials = []
        for stored in self._storage.get_all_trials(study_id, deepcopy=deepcopy):
            trial = self._see(stored)
            if trial is not None and (states is None or trial.state in states):
                trials.append(trial)
        return trials


_LEARNED_AFTER = 10  # failures after which rules are learned again
_LONGEST_STREAK = 10  # failures in a row, without a good trial between, that rules learn from
_DRAWS = 50  # proposals that rules may reject; the next one is taken
_AUDIT = 0.07  # share of rejected designs that are tried anyway, to score the rules


class TransomSampler(SeeingSampler):
    """A sampler for `optuna.create_study` that learns from trials that failed.

    To the sampler that proposes designs, a failed trial violates a constraint. Rules on the
    parameters of failed trials are kept in a folder, and keep this study and later ones of its
    scope from proposing such designs.

    Args:
        scope: the family of studies that share rules.
        folder: where rules are kept; None: nothing is learned for other studies.
        features: name -> formula of parameters that rules may use, such as `hole / width`;
            default: the parameters. Choices are always used.
        base: the sampler that proposes designs; default: TPE, multivariate.
        seed: seed of the default sampler.
    """

    def __init__(
        self,
        *,
        scope: str = "study",
        folder: Path | str | None = None,
        features: Mapping[str, str] | None = None,
        base: BaseSampler | None = None,
        seed: int | None = None,
    ) -> None:
        default = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        super().__init__(base or default, self._as_infeasible)
        self.scope = scope
        self.rules: list[StudyInsight] = []
        self._advice = None if folder is None else Advice(Path(folder))
        self._features = {name: Formula.parse(text) for name, text in (features or {}).items()}
        self._random = random.Random(seed)
        self._directions: Sequence[StudyDirection] = ()
        # Failures wait for the next good trial: until then, the machine may be the cause.
        self._waiting: list[SolveRow] = []
        self._new_failures = 0
        self._version = (0, 0)  # of the advice, when the rules were loaded
        self._lock = Lock()
        self._audited: dict[int, tuple[str, ...]] = {}
        self._learn()

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose values that no rule rejects."""
        return self._draw(
            trial,
            {},
            search_space,
            lambda: super(TransomSampler, self).sample_relative(study, trial, search_space),
        )

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Propose a value that no rule rejects, given the parameters before it."""

        def propose() -> dict[str, Any]:
            value = super(TransomSampler, self).sample_independent(
                study, trial, param_name, param_distribution
            )
            return {param_name: value}

        ranges = {**trial.distributions, param_name: param_distribution}
        return self._draw(trial, trial.params, ranges, propose)[param_name]

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Learn again, if enough trials have failed since; take what changed in the playbook."""
        self._directions = study.directions
        if self._new_failures >= _LEARNED_AFTER:
            self._learn()
        elif self._advice is not None and self._advice.version != self._version:
            self._load()
        super().before_trial(study, trial)

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Keep what the trial says about its parameters."""
        super().after_trial(study, trial, state, values)
        if self._advice is None or state not in (TrialState.COMPLETE, TrialState.FAIL):
            return
        has_failed = state == TrialState.FAIL
        row = SolveRow(
            self._measure(trial.params, trial.distributions), "failed" if has_failed else None
        )
        with self._lock:
            self._keep(study.study_name, row)
        for rule in self._audited.pop(trial.number, ()):
            self._advice.outcome(
                rule, helpful=has_failed, study=study.study_name, trial=trial.number
            )

    def _keep(self, study_name: str, row: SolveRow) -> None:
        """Keep a trial's row, and the failures before it, once a good trial has followed them."""
        assert self._advice is not None
        # A streak without a good trial may be an outage of the machine.
        self._waiting.append(row)
        if row.failure is not None:
            return
        failures = len(self._waiting) - 1
        if failures <= _LONGEST_STREAK:
            self._advice.add_rows(self.scope, study_name, self._waiting)
            self._new_failures += failures
        self._waiting = []

    def _as_infeasible(self, frozen: FrozenTrial) -> FrozenTrial | None:
        """Return a failed trial as one that violates a constraint; samplers ignore failed ones."""
        if frozen.state != TrialState.FAIL or not frozen.params:
            return frozen
        # The stored trial belongs to Optuna and must stay as it is.
        trial = copy(frozen)
        worst = []
        for direction in self._directions:
            worst.append(-math.inf if direction == StudyDirection.MAXIMIZE else math.inf)
        trial.state = TrialState.COMPLETE
        trial.values = worst
        trial.system_attrs = dict(frozen.system_attrs)
        trial.set_constraint("failed", FAILED_BY)
        return trial

    def _draw(
        self,
        trial: FrozenTrial,
        fixed: Mapping[str, Any],
        ranges: Mapping[str, BaseDistribution],
        propose: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """Return the first proposal that no rule rejects, or a rejected one to test the rules."""
        rejecting: tuple[str, ...] = ()
        is_audit = self._random.random() < _AUDIT
        for _ in range(_DRAWS):
            params = propose()
            features = self._measure({**fixed, **params}, ranges)
            matching = []
            for insight in self.rules:
                if insight.rule.matches(features):
                    matching.append(insight)
            if not matching:
                return params
            rejecting = tuple(insight.id for insight in matching)
            if is_audit:
                break
        self._audited[trial.number] = rejecting
        return params

    def _measure(
        self, params: Mapping[str, Any], ranges: Mapping[str, BaseDistribution]
    ) -> dict[str, float]:
        """Return the features of parameters, as far as they are known."""
        numbers: dict[str, float] = {}
        choices: dict[str, float] = {}
        for name, value in params.items():
            distribution = ranges.get(name)
            if isinstance(distribution, CategoricalDistribution):
                choices |= choice_features(name, value, distribution.choices)
            elif isinstance(value, int | float):
                numbers[name] = float(value)
        if not self._features:
            return numbers | choices
        formulas = {}
        for name, formula in self._features.items():
            if formula.names <= numbers.keys():
                formulas[name] = formula
        return Features(formulas)(numbers) | choices

    def _learn(self) -> None:
        """Learn rules from all trials of the scope, and take them."""
        if self._advice is None:
            return
        self._advice.learn(self.scope, self.scope)
        self._new_failures = 0
        self._load()

    def _load(self) -> None:
        """Take the rules of the scope that all its trials confirm and nobody retired."""
        assert self._advice is not None
        # Read first: what changes while the rules are read is taken before the next trial.
        self._version = self._advice.version
        rows = self._advice.rows(self.scope)
        rules = []
        for insight in self._advice.insights(self.scope):
            if insight.kind == RULE and insight.acts and insight.rule.stands(rows):
                rules.append(insight)
        # Set at once: another worker may be drawing.
        self.rules = rules


class FollowingSampler(TransomSampler):
    """A sampler that follows rules which are learned elsewhere.

    Args:
        follow: returns the rules that act now.
        features: name -> formula of parameters that rules use.
        base: the sampler that proposes designs.
    """

    def __init__(
        self,
        follow: Callable[[], list[StudyInsight]],
        *,
        features: Mapping[str, str],
        base: BaseSampler,
    ) -> None:
        super().__init__(features=features, base=base)
        self._follow = follow

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Take the rules of this moment."""
        self.rules = self._follow()
        super().before_trial(study, trial)
