"""Samplers that see the trials of a study otherwise than its storage has them.

Optuna cannot change a trial that has ended. Where a sampler must not learn from one, or must learn
something else from it, it is shown the study through a function.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

See = Callable[[FrozenTrial], FrozenTrial | None]
"""What a sampler sees of a trial; None: nothing."""


class SeeingSampler(BaseSampler):
    """A sampler that asks another one, which sees each trial through a function.

    Args:
        base: the sampler that proposes designs.
        see: called with each trial of the study.
    """

    def __init__(self, base: BaseSampler, see: See) -> None:
        self.base = base
        self._see = see

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that are sampled together."""
        return self.base.infer_relative_search_space(self._seen(study), trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose values of the parameters that are sampled together."""
        return self.base.sample_relative(self._seen(study), trial, search_space)

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Propose the value of one parameter."""
        seen = self._seen(study)
        return self.base.sample_independent(seen, trial, param_name, param_distribution)

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
