"""A suite: a folder with `suite.yaml` and one folder per scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.evals.scorers import SCORERS
from transom.evals.shapes import Defaults, Scenario
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import nearest_key, validate_yaml

SUITE_FILE = "suite.yaml"
SCENARIO_FILE = "scenario.yaml"


class SuiteFile(Defaults):
    """`suite.yaml`: the product that runs the scenarios, and their defaults."""

    product: str
    title: str = ""


@dataclass(frozen=True)
class Suite:
    """Scenarios that are run and compared together, by their ids; `product` names their runner."""

    name: str
    folder: Path
    product: str
    scenarios: tuple[Scenario, ...]

    def only(self, wanted: Sequence[str]) -> Suite:
        """Return the scenarios with one of these ids or tags; all if none is given.

        Raises:
            InputError: no scenario has the name.
        """
        if not wanted:
            return self
        known = {name for one in self.scenarios for name in (one.id, *one.tags)}
        for name in wanted:
            if name not in known:
                hint = f"known: {', '.join(sorted(known))}"
                raise InputError(
                    f"no scenario has the id or tag {name!r}", where=str(self.folder), hint=hint
                )
        return replace(
            self, scenarios=tuple(one for one in self.scenarios if {one.id, *one.tags} & {*wanted})
        )


def load_suite(folder: Path) -> Suite:
    """Read a suite's folder.

    Raises:
        InputError: `suite.yaml` or scenarios are missing, or a file is wrong, with file:line.
    """
    path = folder / SUITE_FILE
    if not path.is_file():
        raise InputError(
            f"{SUITE_FILE} is missing", where=str(folder), hint="name the folder of a suite"
        )
    file = validate_yaml(SuiteFile, load_yaml(path))
    kept = file.model_dump(include=set(Defaults.model_fields), exclude_unset=True)
    paths = sorted(folder.glob(f"*/{SCENARIO_FILE}"))
    if not paths:
        hint = f"add a folder with a {SCENARIO_FILE}"
        raise InputError("the suite has no scenario", where=str(folder), hint=hint)
    name = folder.resolve().name
    return Suite(name, folder, file.product, tuple(_load(one, folder, kept) for one in paths))


def _load(path: Path, suite: Path, kept: Mapping[str, Any]) -> Scenario:
    """Read one scenario; missing keys come from the suite's defaults."""
    read = load_yaml(path)
    for key in ("id", "folder", "data_folder"):
        if isinstance(read.data, dict) and key in read.data:
            raise InputError(
                f"unknown key {key}",
                where=read.where(key),
                hint="remove it; the folder's name is the id",
            )
    scenario = validate_yaml(Scenario, read)
    own = scenario.model_fields_set
    least = {**kept.get("least", {}), **scenario.least}
    for name in least:
        if name not in SCORERS:
            near = nearest_key(name, SCORERS)
            hint = f"did you mean {near}?" if near else f"known: {', '.join(SCORERS)}"
            raise InputError(
                f"least: unknown scorer {name!r}", where=read.where("least", name), hint=hint
            )
    given = {key: value for key, value in kept.items() if key not in own}
    merged = scenario.model_copy(
        update={**given, "least": least, "id": path.parent.name, "folder": path.parent}
    )
    if merged.data is None:
        return merged
    data = ((path.parent if "data" in own else suite) / merged.data).resolve()
    if not data.is_dir():
        where = read.where("data") if "data" in own else str(suite / SUITE_FILE)
        raise InputError(
            f"the data folder {merged.data} does not exist",
            where=where,
            hint="correct the key data",
        )
    return merged.model_copy(update={"data_folder": data})
