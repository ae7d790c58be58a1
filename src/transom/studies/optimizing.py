"""Optimise a Python function: the door for those who have no solver and no study file."""

from __future__ import annotations

import inspect
import logging
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transom.canonical import digest
from transom.errors import InputError
from transom.studies.advice import RULE
from transom.studies.control import StudyStopped
from transom.studies.expression import Formula
from transom.studies.function_digest import UnknownFunction, function_digest
from transom.studies.functions import VALUE, FunctionSolver
from transom.studies.runner import StudyRunner
from transom.studies.study import JobLimits, Number
from transom.studies.study_file import check_study
from transom.studies.study_stages import conclude
from transom.studies.taxonomy import load_taxonomy
from transom.studies.trials import StudyTrial, failures, ranked
from transom.studies.verify import Verification

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

_LOG = logging.getLogger("transom.studies")
_COMPARISON = re.compile(r"(?P<left>[^<>=]+)(?P<sign><=|>=)(?P<right>[^<>=]+)")
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
# Names of arguments in version 0.1, and what stands in their place.
_DEPRECATED = {
    "name": "folder=StudyFolder(path, study_name=...)",
    "scope": "folder=StudyFolder(path, scope=...)",
    "workers": "n_jobs=...",
    "seconds": 'limits={"seconds": ...}',
    "memory": 'limits={"memory": ...}',
}


@dataclass(frozen=True)
class StudyFolder:
    """Where `optimize` keeps trials and rules.

    Attributes:
        path: the folder; None: nothing is kept.
        study_name: name of the study in it; default: the function's name.
        scope: the family of studies that share rules; default: the study's name.
    """

    path: Path | str | None
    study_name: str | None = None
    scope: str | None = None


@dataclass(frozen=True)
class Optimum:
    """The outcome of `optimize`.

    Attributes:
        params: the best design that meets the constraints; None if there is none.
        value: its objective; `outputs`: all that the function returned for it.
        trials: all trials, by number.
        failures: class of failure -> number of trials.
        rules: sentences on the designs that fail, for the next study in the same folder.
        stopped: why it ended before all trials, if a person has to act; else "".
    """

    params: dict[str, Number] | None
    value: float | None
    outputs: dict[str, float]
    trials: tuple[StudyTrial, ...]
    failures: dict[str, int]
    rules: tuple[str, ...]
    stopped: str = ""


def optimize(
    objective: Callable[..., object],
    space: Mapping[str, Any],
    *,
    n_trials: int = 40,
    constraints: Sequence[str] = (),
    minimize: str | None = None,
    maximize: str | None = None,
    require: Sequence[str] = (),
    start: Sequence[Mapping[str, Number]] = (),
    folder: StudyFolder | Path | str | None = None,
    seed: int | None = None,
    surrogate: int = 0,
    n_jobs: int = 1,
    limits: JobLimits | Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = _LOG.info,
    **deprecated: Any,
) -> Optimum:
    """Find the design that minimises or maximises a function and meets the constraints.

    The function is called with one keyword argument for each variable, in a process of its own. It
    returns a number, or a mapping of names to numbers. If it raises, or exceeds a limit, its design
    has failed; the search goes on, and keeps away from such designs.

    Args:
        objective: the function.
        space: variable -> its range: `(low, high)` for a number, `range(1, 9)` for an integer, a
            list of choices, or a mapping with the keys of a variable in a study file.
        n_trials: number of calls, all in all.
        constraints: conditions on what the function returns, such as `stress <= 180`.
        minimize: the name, or the formula of names, that is made small; default: the number that
            the function returns.
        maximize: the same, made large.
        require: conditions on the variables, such as `hole < width`; other designs are not tried.
        start: designs to begin with.
        folder: where trials and rules are kept, so that the same call goes on there, and other
            studies of the scope learn from it; a `StudyFolder` also names the study and its scope.
            A function whose source or values are unknown needs such a name. None: nothing is kept.
        seed: makes the search repeatable.
        surrogate: number of proposals of which a model of the calls so far picks one, for
            functions that take minutes; 0: no model. Needs scikit-learn.
        n_jobs: calls at the same time.
        limits: limits of one call, such as `{"seconds": 60, "memory": "1.5 GB"}`; default: those
            of a study file.
        progress: called with one line after each trial.
        deprecated: names of earlier versions: `name`, `scope`, `workers`, `seconds`, `memory`.

    Raises:
        InputError: an argument is wrong.
    """
    place = folder if isinstance(folder, StudyFolder) else StudyFolder(folder)
    limits = limits.model_dump() if isinstance(limits, JobLimits) else dict(limits or {})
    if deprecated:
        place, limits, n_jobs = _current_arguments(deprecated, place, limits, n_jobs)
    study = _study(objective, space, minimize, maximize, constraints, require)
    # Trials of another function are trials of another problem.
    study["solver"] = {"use": "function", "options": {"source": _source_of(objective, place)}}
    name = place.study_name or _name_of(objective)
    data = {
        **study,
        "study": name,
        "playbook": {"scope": place.scope or name},
        "start": [dict(design) for design in start],
        "budget": {"trials": n_trials, "workers": n_jobs},
        "limits": limits,
        "sampler": {"seed": seed, "surrogate": surrogate},
    }
    checked = check_study(data, where="optimize")
    # Rules and trials live in a folder also if nothing is kept; then it is a temporary one.
    with _opened(place.path) as (root, storage):
        solver = FunctionSolver(objective, checked, load_taxonomy())
        runner = StudyRunner(checked, root, storage=storage, progress=progress, own_solver=solver)
        stopped = ""
        try:
            runner.run()
        except StudyStopped as error:
            stopped = str(error)
        # Rules are learned of a stopped study, too.
        conclude(runner, Verification(asked=False))
        return _optimum(runner, stopped)


def _current_arguments(
    deprecated: Mapping[str, Any], place: StudyFolder, limits: dict[str, Any], n_jobs: int
) -> tuple[StudyFolder, dict[str, Any], int]:
    """Return folder, limits and number of jobs with the arguments of earlier versions.

    Raises:
        TypeError: a name was never an argument.
    """
    unknown = sorted(deprecated.keys() - _DEPRECATED.keys())
    if unknown:
        raise TypeError(f"optimize() got an unexpected keyword argument {unknown[0]!r}")
    for name, value in deprecated.items():
        warnings.warn(
            f"optimize({name}=) is deprecated; pass {_DEPRECATED[name]}",
            DeprecationWarning,
            # The caller of `optimize`.
            stacklevel=3,
        )
        if name == "name":
            place = replace(place, study_name=value)
        elif name == "scope":
            place = replace(place, scope=value)
        elif name == "workers":
            n_jobs = value
        else:
            limits = {**limits, name: int(value) if name == "memory" else value}
    return place, limits, n_jobs


def _name_of(function: Callable[..., object]) -> str:
    """Return a name for the study of a function, which may be a lambda or an object."""
    name = _NAME.sub("-", getattr(function, "__name__", "study"))
    return name.strip("-.") or "study"


def _study(
    objective: Callable[..., object],
    space: Mapping[str, Any],
    minimize: str | None,
    maximize: str | None,
    constraints: Sequence[str],
    require: Sequence[str],
) -> dict[str, Any]:
    """Return the problem in the form of a study file."""
    if minimize and maximize:
        raise InputError("both minimize and maximize are given", hint="negate one of them")
    # A wrong parameter name would fail every design; it is one error before the first one.
    try:
        inspect.signature(objective).bind(**space)
    except TypeError as error:
        hint = f"give it the parameters {', '.join(space)}"
        raise InputError(f"the function cannot be called: {error}", hint=hint) from error
    direction = "maximize" if maximize else "minimize"
    variables = {}
    for variable, values in space.items():
        variables[variable] = _variable(variable, values)
    return {
        "variables": variables,
        "objectives": [{"name": minimize or maximize or VALUE, "direction": direction}],
        "constraints": [_constraint(text) for text in constraints],
        "require": list(require),
    }


def _source_of(objective: Callable[..., object], place: StudyFolder) -> str:
    """Return the digest of a function, which says if trials in the folder are of this problem.

    Raises:
        InputError: they are kept, and nothing tells this function from another one.
    """
    if place.path is None:
        return ""
    try:
        return function_digest(objective)
    except UnknownFunction as error:
        if place.study_name is None:
            raise InputError(
                f"the function cannot be told from others in the folder: {error}",
                place="folder",
                hint="name the study: folder=StudyFolder(path, study_name=...)",
            ) from error
        # Whoever names the study says by it that the function is the same.
        return digest("")


def _variable(name: str, values: Any) -> dict[str, Any]:
    """Return a variable in the form of a study file."""
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, range):
        if not values:
            raise InputError(f"{name}: the range is empty", hint="write range(1, 9) for 1 to 8")
        return {"low": values[0], "high": values[-1], "step": values.step, "integer": True}
    if isinstance(values, list):
        return {"choices": values}
    if isinstance(values, tuple) and len(values) == 2:
        return {"low": values[0], "high": values[1]}
    hint = "write (low, high), range(1, 9), or a list of choices"
    raise InputError(f"{name}: {values!r} is not a range", place="space", hint=hint)


def _constraint(text: str) -> dict[str, Any]:
    """Return a constraint in the form of a study file."""
    match = _COMPARISON.fullmatch(text)
    left, right = (match["left"].strip(), match["right"].strip()) if match else ("", "")
    if match is None or not left or not right:
        raise InputError(
            f"{text!r} is not a constraint", place="constraints", hint="write stress <= 180"
        )
    bound = "max" if match["sign"] == "<=" else "min"
    try:
        formula = Formula.parse(right)
    except ValueError as error:
        raise InputError(str(error), place="constraints", hint="write stress <= 180") from error
    if formula.names:  # a bound that varies, such as stress <= 0.6 * strength
        return {"name": f"{left} - ({right})", bound: 0}
    return {"name": left, bound: formula({})}


@contextmanager
def _opened(folder: Path | str | None) -> Iterator[tuple[Path, BaseStorage | None]]:
    """Yield the folder and the storage of the study; without a folder, ones that do not last."""
    if folder is not None:
        yield Path(folder), None
        return
    from optuna.storages import InMemoryStorage  # noqa: PLC0415  slow

    with tempfile.TemporaryDirectory(prefix="transom-") as temporary:
        yield Path(temporary), InMemoryStorage()


def _optimum(runner: StudyRunner, stopped: str) -> Optimum:
    trials = runner.trials()
    best = next(iter(ranked(runner.study, trials)), None)
    rules = []
    for insight in runner.guide.advice.insights(runner.study.scope):
        if insight.kind == RULE and insight.acts:
            rules.append(insight.content)
    return Optimum(
        params=dict(best.params) if best else None,
        value=best.values[0] if best else None,
        outputs=dict(best.outputs) if best else {},
        trials=tuple(trials),
        failures=failures(trials),
        rules=tuple(rules),
        stopped=stopped,
    )
