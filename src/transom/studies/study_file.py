"""Reads and checks `study.yaml` before the first solve; errors have file:line and what to do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.errors import InputError
from transom.formats.yaml_files import Key, YamlFile, load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.studies.expression import Formula
from transom.studies.study import Study, Wish, random_design

_RELAX = "widen the bounds of the variables, or relax it"
_TRIED = 4000  # random designs; if none meets the requirements, no sampler would find one either


def load_study(path: Path) -> Study:
    """Read a study; InputError with file:line and what to do."""
    file = load_yaml(path)
    study = validate_yaml(Study, file).model_copy(update={"folder": path.absolute().parent})
    for place, problem, hint in _mistakes(study):
        raise InputError(problem, place=file.place_of(*place), hint=hint)
    _check_space(study, file)
    return study


def check_study(data: Mapping[str, Any], where: str) -> Study:
    """Return the study of plain data, checked as a study file is.

    Args:
        where: what a message names as the place of a mistake.

    Raises:
        InputError: something is wrong.
    """
    try:
        study = Study.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{place}: {message}", place=where) from error
    for _, problem, hint in _mistakes(study):
        raise InputError(problem, place=where, hint=hint)
    unmet = _unmet_everywhere(study)
    if unmet is not None:
        raise InputError(_infeasible(unmet), place=where, hint=_RELAX)
    return study


def _mistakes(study: Study) -> Iterator[tuple[tuple[Key, ...], str, str]]:
    """Yield mistakes across fields: the place, the problem, and what to do."""
    yield from _name_mistakes(study)
    yield from _start_mistakes(study)
    if study.sampler.surrogate and len(study.objectives) > 1:
        hint = "leave it out, or keep one objective"
        yield ("sampler", "surrogate"), "sampler.surrogate needs a single objective", hint
    before = {*study.variables, *study.fixed}
    # only a plug-in knows its outputs
    after = before | study.solver.outputs.keys() if study.solver.command else None
    for place, text in _formulas(study):
        dotted, formula = ".".join(map(str, place)), Formula.parse(text)
        known_names = before if place[0] in ("features", "require") else after
        if known_names is not None and (unknown := sorted(formula.names - known_names)):
            yield (
                place,
                f"{dotted}: unknown name {unknown[0]}",
                f"known: {', '.join(sorted(known_names))}",
            )
        if place[0] == "require" and not formula.compares:
            yield place, f"{dotted}: {text!r} is not a comparison", "use < or <="


def _formulas(study: Study) -> Iterator[tuple[tuple[Key, ...], str]]:
    """Yield every formula with its place."""
    for name, text in study.features.items():
        yield ("features", name), text
    for number, text in enumerate(study.require):
        yield ("require", number), text
    groups: tuple[tuple[str, Sequence[Wish]], ...] = (
        ("objectives", study.objectives),
        ("constraints", study.constraints),
    )
    for group, wishes in groups:
        for number, wish in enumerate(wishes):
            yield (group, number, "name"), wish.name


def _name_mistakes(study: Study) -> Iterator[tuple[tuple[Key, ...], str, str]]:
    groups: dict[str, str] = {}
    for group, names in (
        ("variables", study.variables),
        ("constants", study.constants),
        ("settings", study.settings),
    ):
        for name in names:
            if not name.isidentifier():
                yield (group, name), f"{name!r} cannot be a name", "use letters, digits and _"
            if name in groups:
                yield (group, name), f"{name} is in {groups[name]} and in {group}", "rename one"
            groups[name] = group
    for group, wishes in (("objectives", study.objectives), ("constraints", study.constraints)):
        # Equal names would overwrite each other in the records.
        for name, number in {wish.name: number for number, wish in enumerate(wishes)}.items():
            if name in [wish.name for wish in wishes[:number]]:
                yield (
                    (group, number, "name"),
                    f"two of {group} are named {name}",
                    "give max and min in one",
                )
    for name in sorted(study.solver.outputs.keys() & groups.keys()):
        hint = "rename the output: if it is not written, the other number would be used for it"
        yield (
            ("solver", "outputs", name),
            f"{name} is in {groups[name]} and in solver.outputs",
            hint,
        )
    for name in sorted(
        (study.verify.settings if study.verify else {}).keys() - study.settings.keys()
    ):
        yield (
            ("verify", "settings", name),
            f"verify.settings.{name} is not a setting",
            "name one of `settings`",
        )


def _check_space(study: Study, file: YamlFile) -> None:
    """Refuse requirements that no design meets."""
    unmet = _unmet_everywhere(study)
    if unmet is not None:
        where = file.place_of("require", study.require.index(unmet))
        raise InputError(_infeasible(unmet), place=where, hint=_RELAX)


def _start_mistakes(study: Study) -> Iterator[tuple[tuple[Key, ...], str, str]]:
    """Yield what is wrong with the designs to begin with."""
    for number, design in enumerate(study.start):
        for name, value in design.items():
            place, variable = ("start", number, name), study.variables.get(name)
            if variable is None:
                yield place, f"{name} is not a variable", f"known: {', '.join(study.variables)}"
            elif not variable.allows(value):
                yield place, f"{name} = {value} is outside its bounds or choices", "widen them"


def _unmet_everywhere(study: Study) -> str | None:
    """Return the requirement that most random designs fail first, if none meets all."""
    # The requirement that is missed first most often is the one to relax.
    pick, unmet = random.Random(0), Counter[str]()
    for _ in range(_TRIED):
        text = study.unmet(study.values(random_design(study, pick)))
        if text is None:
            return None
        unmet[text] += 1
    return unmet.most_common(1)[0][0]


def _infeasible(unmet: str) -> str:
    return (
        f"the space is infeasible: none of {_TRIED} designs within the bounds meets `require`,"
        f" first of all {unmet!r}"
    )
