"""Opens a study in a storage of Optuna: the trials of earlier runs, and the first designs."""

from __future__ import annotations

import math
import random
import socket
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.errors import InputError
from transom.studies.storage import open_storage
from transom.studies.study import Number, Study
from transom.studies.trials import FAILED_BY, LIMITS, START, StudyTrial

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

# Attributes of the study in the storage: the digest of its problem, the designs of `start` that
# were queued, and the folder that has its locks.
_PROBLEM, _STARTED, _FOLDER = "problem", "started", "folder"
_CONSTRAINT = "constraints:"  # begins the attributes in which Optuna stores constraints
_INFEASIBLE = 1e-9


def open_study(
    study: Study,
    folder: Path,
    storage: BaseStorage | None,
    designs: Callable[[], Iterable[tuple[str, dict[str, Number]]]],
) -> optuna.Study:
    """Open or create a study, and queue the designs that come first.

    Args:
        folder: the study's folder, whose lock is held.
        storage: the storage; None: the study's own.
        designs: returns designs of other studies with the insights that they come from; called for
            a new study.

    Raises:
        InputError: the storage has another study under this name.
    """
    import optuna  # noqa: PLC0415  slow

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # A storage of its own needs no check of who else uses it.
    is_shared = storage is None and study.storage is not None
    storage = storage or open_storage(folder, study.storage_url)
    directions = [item.direction for item in study.objectives]
    opened = _create(study, storage, directions)
    stored_problem = opened.user_attrs.get(_PROBLEM)
    # An earlier version stored another digest of the same problem.
    if stored_problem == study.definition:
        stored_problem = study.problem
        opened.set_user_attr(_PROBLEM, stored_problem)
    has_results = any(item.state.is_finished() for item in opened.trials)
    if stored_problem is None and has_results:
        raise InputError(
            f"the storage has a study {study.study} that Transom did not make",
            place=str(study.storage or folder),
            hint="give yours another name, and take the trials over with: transom study import",
        )
    if stored_problem not in (None, study.problem):
        if has_results:
            raise InputError(
                "trials of another problem are kept under this name: variables, choices, settings"
                " or solver differ",
                place=str(folder),
                hint="give this study another name under `study`; transom study import takes over"
                " trials whose results still hold",
            )
        # Without results it starts anew.
        optuna.delete_study(study_name=study.study, storage=storage)
        opened = _create(study, storage, directions)
        stored_problem = None
    if is_shared:
        _keep_to_one_folder(opened, folder)
    if stored_problem is None:
        opened.set_user_attr(_PROBLEM, study.problem)
    for design in _new_start_designs(study, opened):
        opened.enqueue_trial(design, user_attrs={"source": START})
    if stored_problem is None:
        for insight_id, design in designs():
            opened.enqueue_trial(design, user_attrs={"source": insight_id})
    return opened


def _create(study: Study, storage: BaseStorage, directions: list[Any]) -> optuna.Study:
    import optuna  # noqa: PLC0415  slow

    try:
        return optuna.create_study(
            storage=storage, study_name=study.study, directions=directions, load_if_exists=True
        )
    except ValueError as error:  # its number of objectives differs
        raise InputError(
            f"the storage has a study {study.study} with other objectives",
            place=study.storage or study.study,
            hint="give this study another name under `study`",
        ) from error


def _keep_to_one_folder(opened: optuna.Study, folder: Path) -> None:
    """Refuse a study whose unfinished trials have their locks in another folder.

    Only the locks tell whether the worker of a trial lives. Processes in two workspaces, or on two
    machines without a common one, would solve each other's trials again.
    """
    import optuna  # noqa: PLC0415  slow

    place = f"{socket.gethostname()}:{folder.absolute()}"
    stored_place = opened.user_attrs.get(_FOLDER, place)
    running = opened.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,))
    if stored_place != place and running:
        raise InputError(
            f"trials of this study are under way in {stored_place}",
            place=str(folder),
            hint="run it in that workspace; all processes of a study share one",
        )
    if opened.user_attrs.get(_FOLDER) != place:
        opened.set_user_attr(_FOLDER, place)


def _new_start_designs(study: Study, opened: optuna.Study) -> list[dict[str, Number]]:
    """Return the study's first designs that no earlier run has queued, and mark them."""
    # Designs that a person adds to `start` later are queued, and no design twice.
    queued = opened.user_attrs.get(_STARTED, [])
    new = []
    for design in study.start:
        if dict(design) not in queued:
            new.append(dict(design))
    if new:
        opened.set_user_attr(_STARTED, [*queued, *new])
    return new


def sampler_of(study: Study) -> Callable[[int, str], BaseSampler]:
    """Return a function that makes the sampler of one trial, or of one parameter of it.

    With a seed, each trial draws from a seed of its own, which its number decides. So a resumed
    study proposes what an undisturbed one would, and no two processes propose the same.
    """
    import optuna  # noqa: PLC0415  slow

    spec = study.sampler

    def make(number: int, name: str) -> BaseSampler:
        seed = None
        if spec.seed is not None:
            seed = random.Random(f"{spec.seed}/{number}/{name}").getrandbits(32)
        if spec.kind == "tpe":
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        return optuna.samplers.RandomSampler(seed=seed)

    return make


def as_fitting(
    frozen: FrozenTrial,
    trial: StudyTrial | None,
    study: Study,
    ranges: Mapping[str, BaseDistribution],
) -> FrozenTrial | None:
    """Return a trial as samplers see it: within the present bounds and constraints.

    Args:
        frozen: the trial as the storage has it.
        trial: its outcome as the study sees it; None: it has not ended.

    Returns:
        None if the trial does not count.
    """
    if trial is not None and trial.kind == "lost":
        return None
    # Samplers leave out trials whose distributions are not those of today.
    is_changed = any(
        ranges[name] != distribution
        for name, distribution in frozen.distributions.items()
        if name in ranges
    )
    has_other_limits = (
        trial is not None
        and trial.kind == "solved"
        and frozen.user_attrs.get(LIMITS, study.limits_digest) != study.limits_digest
    )
    if not is_changed and not has_other_limits:
        return frozen
    fitting = copy(frozen)
    if is_changed:
        # Outside the present bounds it would teach the sampler what it may not propose.
        if not study.within_bounds(frozen.params):
            return None
        distributions = {}
        for name in frozen.params:
            if name in ranges:
                distributions[name] = ranges[name]
        fitting.distributions = distributions
    if has_other_limits and trial is not None:
        fitting.values = stored_values(study, trial)
        system_attrs = {}
        for key, value in frozen.system_attrs.items():
            if not key.startswith(_CONSTRAINT):
                system_attrs[key] = value
        fitting.system_attrs = system_attrs
        for name, violation in stored_violations(trial).items():
            fitting.set_constraint(name, violation)
    return fitting


def stored_values(study: Study, trial: StudyTrial) -> list[float]:
    """Return the values of a trial for Optuna, which chooses the best trial by them alone."""
    if trial.feasible:
        return list(trial.values)
    # Samplers rank designs that violate a constraint by their violations, so nothing is lost.
    values = []
    for objective in study.objectives:
        values.append(-math.inf if objective.direction == "maximize" else math.inf)
    return values


def stored_violations(trial: StudyTrial) -> dict[str, float]:
    """Return the constraints of a trial for Optuna; a failed or rejected design violates one."""
    return {"solved": -1.0 if trial.kind == "solved" else FAILED_BY, **trial.violations}


def earlier_feasibility(trial: StudyTrial) -> list[float]:
    """Return what optuna-dashboard reads for constraints: an attribute of older Optuna versions.

    It is too small to matter to a sampler that adds up violations.
    """
    return [-1.0 if trial.feasible else _INFEASIBLE]
