"""The model of `study.yaml`: variables, objectives, constraints, solver."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ByteSize,
    ConfigDict,
    Field,
    FiniteFloat,
    model_validator,
)

from transom.canonical import digest
from transom.formats.yaml_files import read_text
from transom.studies.expression import Formula
from transom.studies.optional import optuna_missing

Number: TypeAlias = float | int | str
"""A value of a variable, constant or setting: a number, or a word for the solver."""

FormulaText: TypeAlias = Annotated[str, AfterValidator(lambda text: Formula.parse(text).text)]


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    return pattern


Pattern: TypeAlias = Annotated[str, AfterValidator(_compiles)]
"""A regular expression."""

Moment: TypeAlias = Literal["pre_solve", "post_solve", "on_failure", "study_end"]


class Data(BaseModel):
    """Base of models that are read from or written to files: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Variable(Data):
    """A design variable: a range, or choices. Variables with one unit are compared by their
    ratios.
    """

    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    step: FiniteFloat | None = Field(None, gt=0)
    log: bool = False
    integer: bool = False
    choices: tuple[Number, ...] = ()
    unit: str = ""
    title: str = ""

    @model_validator(mode="after")
    def _one_kind(self) -> Variable:
        if self.choices and (self.low, self.high) != (None, None):
            raise ValueError("has choices and bounds; keep one of them")
        if not self.choices:
            if self.low is None or self.high is None:
                raise ValueError("needs low and high, or choices")
            if self.low > self.high:
                raise ValueError(
                    f"its bounds contradict each other: low {self.low:g} is above high"
                    f" {self.high:g}"
                )
            if self.integer and any(number % 1 for number in (self.low, self.high, self.step or 1)):
                raise ValueError("is an integer, so low, high and step must be whole numbers")
        self.distribution()  # refuses what Optuna does not support, e.g. a logarithm of 0
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Low and high; 0 and 0 for choices."""
        return (self.low or 0.0, self.high or 0.0)

    def distribution(self) -> Any:
        """Return the variable as an Optuna distribution; InputError if Optuna is not installed."""
        try:
            from optuna import distributions as kinds  # noqa: PLC0415  slow
        except ImportError as error:
            raise optuna_missing() from error

        if self.choices:
            return kinds.CategoricalDistribution(self.choices)
        low, high = self.bounds
        if self.integer:
            return kinds.IntDistribution(
                int(low), int(high), log=self.log, step=int(self.step or 1)
            )
        return kinds.FloatDistribution(low, high, log=self.log, step=self.step)

    def suggest(self, trial: Any, name: str) -> None:
        """Let a trial of Optuna draw a value, unless it has one."""
        if self.choices:
            trial.suggest_categorical(name, self.choices)
            return
        low, high = self.bounds
        if self.integer:
            step = int(self.step or 1)
            trial.suggest_int(name, int(low), int(high), log=self.log, step=step)
        else:
            trial.suggest_float(name, low, high, log=self.log, step=self.step)

    def allows(self, value: Number) -> bool:
        """Return whether a value is within the bounds, or one of the choices."""
        if self.choices:
            return value in self.choices
        low, high = self.bounds
        return isinstance(value, int | float) and low <= value <= high

    def draw(self, pick: random.Random) -> Number:
        """Draw a value uniformly."""
        if self.choices:
            return pick.choice(self.choices)
        low, high = self.bounds
        value = (
            math.exp(pick.uniform(math.log(low), math.log(high)))
            if self.log
            else pick.uniform(low, high)
        )
        # Rounding may pass the upper bound if the range is no multiple of the step.
        if step := self.step or (1.0 if self.integer else None):
            value = min(high, low + round((value - low) / step) * step)
        return int(value) if self.integer else value

    def near(self, value: Number, spread: float, pick: random.Random) -> Number:
        """Draw a value around another; `spread` is the standard deviation as a share of the
        range.
        """
        if self.choices or self.integer or self.step:
            return self.draw(pick) if pick.random() < spread else value
        low, high = self.bounds
        return min(high, max(low, float(value) + pick.gauss(0, spread) * (high - low)))


class Constant(Data):
    """A number of the study that does not vary; a plain number has no unit."""

    value: Number
    unit: str = ""
    title: str = ""


class Wish(Data):
    """An output of the solver, or a formula of outputs, variables and constants."""

    name: FormulaText


class Objective(Wish):
    """An output or formula to minimise or maximise."""

    direction: Literal["minimize", "maximize"] = "minimize"


class Bound(Wish):
    """A bound on an output or formula."""

    max: float | None = None
    min: float | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.max is None and self.min is None:
            raise ValueError("needs max or min")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise ValueError(
                f"its bounds contradict each other: min {self.min:g} is above max {self.max:g}"
            )
        return self


class Extractor(Data):
    """The place of an output: a file, and one of the other keys."""

    file: str
    json_pointer: str | None = Field(None, alias="json")
    regex: Pattern | None = None
    calculix: Literal["displacement", "mises"] | None = None
    nastran: Literal["displacement", "mises", "mass", "frequency"] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Extractor:
        if len(self.model_dump(exclude={"file"}, exclude_none=True)) != 1:
            raise ValueError("needs one of json, regex, calculix, nastran")
        return self


class SolverSpec(Data):
    """The solver: a command line with templates and outputs, or a plug-in (`use`).

    Attributes:
        finished: pattern that only a run that converged prints; without it, return code 0 counts.
    """

    use: str | None = None
    options: dict[str, Number | bool] = {}
    command: tuple[str, ...] = ()
    templates: dict[str, str] = {}
    outputs: dict[str, Extractor] = {}
    finished: Pattern | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> SolverSpec:
        if bool(self.use) == bool(self.command):
            raise ValueError("needs either use: NAME or command: [...]")
        if self.command and not self.outputs:
            raise ValueError("a command needs outputs: the places of its results")
        return self


class VerificationSpec(Data):
    """Finer settings for the best designs; outputs may differ by the share `tolerance`."""

    settings: dict[str, Number]
    tolerance: float = Field(0.1, gt=0)


class SolveBudget(Data):
    """The budget: solves that end with a result or a failure of the design; `workers` at once."""

    trials: int = Field(40, ge=1)
    workers: int = Field(1, ge=1, le=256)


class JobLimits(Data):
    """Limits of one solve: seconds of wall time, memory of all its processes, size of its files
    (`1.5 GB`).
    """

    seconds: float = Field(600, gt=0)
    memory: ByteSize = Field(ByteSize(4e9), gt=0)
    disk: ByteSize = Field(ByteSize(2e9), gt=0)


class LearningSpec(Data):
    """The use of earlier studies of the scope: rules that reject designs, and first designs.

    `audit` is the share of rejected designs that is solved anyway, to score the rules. Insights in
    `veto` are not used, insights in `pin` are used regardless of their outcomes.
    """

    rules: bool = True
    audit: float = Field(0.07, ge=0, le=1)
    warm_start: int = Field(5, ge=0)
    veto: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()


class SamplerSpec(Data):
    """The sampler of Optuna that proposes designs.

    `steps`: whether, with TPE, every other design of the second half is a step from the best one.
    `surrogate`: number of its proposals of which a model of the solves picks one; 0: no model.
    """

    kind: Literal["tpe", "random"] = "tpe"
    seed: int | None = None
    steps: bool = True
    surrogate: int = Field(0, ge=0, le=1000)


class PlaybookSpec(Data):
    """The family of studies that share insights."""

    scope: str


class Study(Data):
    """A study file; paths are relative to `folder`.

    Attributes:
        start: designs that are solved first; a variable that one leaves out is the sampler's.
        storage: URL of a storage of Optuna; default: a file in the study's folder.
        keep: which folders of solves stay: all, those of failed designs and of the best ones, or
            those of the best ones.
    """

    study: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")
    description: str = ""
    variables: dict[str, Variable] = Field(min_length=1)
    constants: dict[str, Number | Constant] = {}
    features: dict[str, FormulaText] = {}
    require: tuple[FormulaText, ...] = ()
    objectives: tuple[Objective, ...] = Field(min_length=1)
    constraints: tuple[Bound, ...] = ()
    settings: dict[str, Number] = {}
    verify: VerificationSpec | None = None
    solver: SolverSpec
    budget: SolveBudget = SolveBudget()
    limits: JobLimits = JobLimits()
    learning: LearningSpec = LearningSpec()
    sampler: SamplerSpec = SamplerSpec()
    playbook: PlaybookSpec | None = None
    failures: tuple[str, ...] = ()
    hooks: dict[Moment, tuple[str, ...]] = {}
    start: tuple[dict[str, Number], ...] = ()
    storage: str | None = None
    keep: Literal["all", "failed", "best"] = "all"
    folder: Path = Field(Path(), exclude=True)

    @property
    def scope(self) -> str:
        """The family of studies that it shares insights with."""
        return self.playbook.scope if self.playbook else self.study

    @property
    def storage_url(self) -> str | None:
        """The URL of its storage, or the path of its journal; None: its own file."""
        if self.storage is None or "://" in self.storage:
            return self.storage
        return str(self.folder / self.storage)

    @cached_property
    def fixed(self) -> dict[str, Number]:
        """Constants and numerical settings by name."""
        constants = {}
        for name, constant in self.constants.items():
            constants[name] = constant.value if isinstance(constant, Constant) else constant
        return {**constants, **self.settings}

    def unmet(self, values: Mapping[str, Number]) -> str | None:
        """Return the first requirement that does not hold, or None."""
        return next((text for text in self.require if Formula.parse(text)(values) != 1), None)

    @cached_property
    def needed_outputs(self) -> frozenset[str]:
        """Names of the outputs that the objectives and constraints use."""
        wishes: tuple[Wish, ...] = (*self.objectives, *self.constraints)
        # What is no variable and no constant must come from the solver.
        names = frozenset[str]().union(*(Formula.parse(wish.name).names for wish in wishes))
        return names - {*self.variables, *self.fixed}

    def values(
        self, params: Mapping[str, Number], settings: Mapping[str, Number] | None = None
    ) -> dict[str, Number]:
        """Return all named numbers before the solve: constants, settings, variables."""
        return {**self.fixed, **(settings or {}), **params}

    @cached_property
    def problem(self) -> str:
        """Digest of everything that the result of a solve depends on, except the design.

        Bounds, steps, `require` and constraints are no part of it: trials go on counting if they
        fit the new ones. Choices are, since Optuna's storages do not let them change.
        """
        kinds = {}
        for name, variable in self.variables.items():
            kind = "integer" if variable.integer else "number"
            kinds[name] = [list(variable.choices) or kind, variable.log]
        keys = {"constants", "objectives", "settings", "solver"}
        data = self.model_dump(mode="json", include=keys, by_alias=True)
        return digest({**data, "variables": kinds, "templates": self.templates})

    @cached_property
    def definition(self) -> str:
        """Digest of the problem with its bounds and constraints, which tells its runs apart.

        Earlier versions stored it with the trials, in place of `problem`.
        """
        keys = {
            "variables",
            "constants",
            "require",
            "objectives",
            "constraints",
            "settings",
            "solver",
        }
        data = self.model_dump(mode="json", include=keys, by_alias=True)
        if self.solver.finished is None:  # studies that are older than this key go on
            del data["solver"]["finished"]
        return digest({**data, "templates": self.templates})

    @cached_property
    def limits_digest(self) -> str:
        """Digest of the constraints, whose violations are stored with each trial."""
        return digest([item.model_dump(mode="json") for item in self.constraints])

    def within_bounds(self, params: Mapping[str, Number]) -> bool:
        """Return whether each variable of a design is within its bounds or one of its choices."""
        return all(
            variable.allows(params[name])
            for name, variable in self.variables.items()
            if name in params
        )

    def misfit(self, params: Mapping[str, Number]) -> str:
        """Return why a design is outside the present bounds or requirements; "" if it fits."""
        if not self.within_bounds(params):
            return "it is outside the bounds of today"
        unmet = self.unmet(self.values(params))
        return f"it does not meet the requirement {unmet}" if unmet else ""

    @cached_property
    def templates(self) -> dict[str, str]:
        """File name -> text of the solver's templates; InputError if one cannot be read."""
        texts = {}
        for name, path in self.solver.templates.items():
            texts[name] = read_text(self.folder / path)
        return texts


def random_design(study: Study, pick: random.Random) -> dict[str, Number]:
    """Draw a design uniformly from the bounds; its requirements may not hold."""
    return {name: variable.draw(pick) for name, variable in study.variables.items()}


def nearby_design(
    study: Study, design: Mapping[str, Number], spread: float, pick: random.Random
) -> dict[str, Number]:
    """Draw a design around another one; see `Variable.near`."""
    moved = {}
    for name, variable in study.variables.items():
        moved[name] = variable.near(design[name], spread, pick)
    return moved
