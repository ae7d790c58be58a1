"""A cheap model of a study's solves, which picks the most promising of several proposals.

The sampler draws several designs; the surrogate picks the one with the largest constrained expected
improvement (Gardner et al., "Bayesian Optimization with Inequality Constraints", 2014): how much
better than the best design it may be, times the probability that it meets each constraint and that
its solve gives a result. Gaussian processes of scikit-learn predict these.

It is used only while it predicts solves that it has not seen better than their mean does.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from transom.errors import InputError, install_hint
from transom.studies.study import Number, Study
from transom.studies.trials import StudyTrial, ranked

if TYPE_CHECKING:
    import numpy as np
    from sklearn.gaussian_process import GaussianProcessRegressor

PREDICTED = "predicted"
"""User attribute of a trial that has the objective which the surrogate predicted for it."""
_FEWEST = 10  # solves with results that the model needs, and three for each variable
_MOST = 200  # newest solves that it uses; the time of a fit grows with their cube
_LEAST_CHANCE = 1e-3  # of a result; a design is not ruled out because its neighbours failed
_NOISE = 1e-6  # variance of a solve, as a share of that of all solves
_CATEGORY = math.sqrt(0.5)  # the distance of two choices is then that of a variable's two bounds


def require_scikit_learn() -> None:
    """Import scikit-learn.

    Raises:
        InputError: it is not installed.
    """
    try:
        import sklearn.gaussian_process  # noqa: F401, PLC0415  an optional extra, and slow
    except ImportError as error:
        raise InputError(
            "sampler.surrogate needs scikit-learn", hint=f"run: {install_hint('surrogate')}"
        ) from error


@dataclass(frozen=True)
class Surrogate:
    """A model of the solves of a study.

    Attributes:
        best: the objective of the best feasible design, with its sign so that less is better; None
            if no design is feasible.
        objective: the model of the objective, with the same sign.
        violations: a model of each constraint's violation; at most 0 if it is met.
        success: the model of whether a solve gives a result; None if none has failed.
    """

    study: Study
    best: float | None
    objective: GaussianProcessRegressor
    violations: tuple[GaussianProcessRegressor, ...]
    success: GaussianProcessRegressor | None

    @classmethod
    def fit(cls, study: Study, trials: Sequence[StudyTrial]) -> Surrogate | None:
        """Fit the solves of a study.

        Args:
            study: a study with one objective.
            trials: its trials.

        Returns:
            None if the solves are too few, or predicted no better than by their mean.
        """
        solved, failed = [], []
        for trial in trials:
            if trial.kind == "solved" and trial.same_as is None:
                solved.append(trial)
            elif trial.kind == "failed" and trial.same_as is None:
                failed.append(trial)
        solved, failed = solved[-_MOST:], failed[-_MOST:]
        if len(solved) < max(_FEWEST, 3 * len(study.variables)):
            return None
        places = _places(study, [trial.params for trial in solved])
        sign = _sign(study)
        objective = _fitted(places, [sign * trial.values[0] for trial in solved])
        if not _predicts(objective):
            return None
        violations = []
        for bound in study.constraints:
            seen = [trial.violations.get(bound.name, 0.0) for trial in solved]
            violations.append(_fitted(places, seen))
        success = None
        if failed:
            all_places = _places(study, [trial.params for trial in (*solved, *failed)])
            success = _fitted(all_places, [1.0] * len(solved) + [0.0] * len(failed))
        feasible = ranked(study, solved)
        best = sign * feasible[0].values[0] if feasible else None
        return cls(study, best, objective, tuple(violations), success)

    def pick(self, designs: Sequence[Mapping[str, Number]]) -> tuple[int, float]:
        """Return the number of the most promising design, and the objective predicted for it."""
        import numpy as np  # noqa: PLC0415  slow

        places = _places(self.study, designs)
        mean, spread = _prediction(self.objective, places)
        scores = np.ones(len(designs))
        if self.best is not None:
            scores *= _expected_improvement(self.best, mean, spread)
        for model in self.violations:
            violation, uncertainty = _prediction(model, places)
            # Above 0, so that of designs without a chance the better one is still picked.
            scores *= np.maximum(_below(-violation / uncertainty), 1e-12)
        if self.success is not None:
            chance, _ = _prediction(self.success, places)
            scores *= np.clip(chance, _LEAST_CHANCE, 1.0)
        number = int(np.argmax(scores))
        return number, _sign(self.study) * float(mean[number])


@dataclass(frozen=True)
class PredictionError:
    """How far the surrogate was off in a study.

    Attributes:
        picked: number of solved designs that it picked.
        error: median distance of the predicted from the solved objective, as a share of the range
            of the objective over all solves.
        mean_error: the same distance, had it predicted the mean of the solves before each design.
    """

    picked: int
    error: float
    mean_error: float


def prediction_error(trials: Sequence[StudyTrial]) -> PredictionError | None:
    """Return how far the surrogate was off; None if it picked no design that gave a result."""
    solved = [trial for trial in trials if trial.kind == "solved"]
    values = [trial.values[0] for trial in solved]
    errors, mean_errors = [], []
    for number, trial in enumerate(solved):
        if trial.predicted is not None and number:
            errors.append(abs(trial.predicted - trial.values[0]))
            mean_errors.append(abs(fmean(values[:number]) - trial.values[0]))
    span = max(values, default=0.0) - min(values, default=0.0)
    if not errors or not span:
        return None
    return PredictionError(len(errors), median(errors) / span, median(mean_errors) / span)


def varying(study: Study) -> list[str]:
    """Return the names of the variables that have more than one value."""
    names = []
    for name, variable in study.variables.items():
        low, high = variable.bounds
        if len(variable.choices) > 1 or low != high:
            names.append(name)
    return names


def _sign(study: Study) -> float:
    """Return the factor that makes less of the objective better."""
    return -1.0 if study.objectives[0].direction == "maximize" else 1.0


def _places(study: Study, designs: Sequence[Mapping[str, Number]]) -> np.ndarray[Any, Any]:
    """Return designs as points: each number as 0 to 1, each choice as a coordinate of its own."""
    import numpy as np  # noqa: PLC0415  slow

    rows = []
    for design in designs:
        row: list[float] = []
        for name in varying(study):
            variable, value = study.variables[name], design[name]
            if variable.choices:
                row += [_CATEGORY * (value == choice) for choice in variable.choices]
                continue
            low, high = variable.bounds
            number = float(value)
            if variable.log:
                low, high, number = math.log(low), math.log(high), math.log(number)
            row.append((number - low) / (high - low))
        rows.append(row)
    return np.array(rows)


def _fitted(places: np.ndarray[Any, Any], values: Sequence[float]) -> GaussianProcessRegressor:
    """Return a Gaussian process with a length of its own for each coordinate."""
    import numpy as np  # noqa: PLC0415  slow
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415  slow
    from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: PLC0415  slow
    from sklearn.gaussian_process.kernels import (  # noqa: PLC0415  slow
        ConstantKernel,
        Matern,
        WhiteKernel,
    )

    lengths = np.full(places.shape[1], 0.5)
    smooth = Matern(lengths, length_scale_bounds=(0.05, 20.0), nu=2.5)
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * smooth + WhiteKernel(1e-3, (_NOISE, 1.0))
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    with warnings.catch_warnings():
        # A length at its bound says that a coordinate hardly matters; the model still predicts.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(places, np.array(values))


def _predicts(model: GaussianProcessRegressor) -> bool:
    """Return whether a model predicts each solve from the others better than their mean does."""
    import numpy as np  # noqa: PLC0415  slow

    # What is left of the value when its own solve is left out, in closed form (Rasmussen and
    # Williams, "Gaussian Processes for Machine Learning", equation 5.12). Values have variance 1.
    inverse = np.linalg.inv(model.L_ @ model.L_.T)
    left_out = (inverse @ model.y_train_) / np.diag(inverse)
    return bool(np.mean(left_out**2) < np.var(model.y_train_))


def _prediction(
    model: GaussianProcessRegressor, places: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return mean and standard deviation at points; the deviation is never 0."""
    import numpy as np  # noqa: PLC0415  slow

    mean, spread = model.predict(places, return_std=True)
    return mean, np.maximum(spread, 1e-12)


def _expected_improvement(
    best: float, mean: np.ndarray[Any, Any], spread: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return by how much each design is expected to be below the best one, at least 0."""
    import numpy as np  # noqa: PLC0415  slow

    steps = (best - mean) / spread
    density = np.exp(-0.5 * steps**2) / math.sqrt(2 * math.pi)
    # A product of chances must tell hopeless designs apart, too.
    improvement: np.ndarray[Any, Any] = spread * (steps * _below(steps) + density)
    return np.maximum(improvement, 1e-300)


def _below(steps: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the probability that a standard normal variable is below each number."""
    from scipy.special import ndtr  # noqa: PLC0415  slow; scikit-learn brings it

    chance: np.ndarray[Any, Any] = ndtr(steps)
    return chance
