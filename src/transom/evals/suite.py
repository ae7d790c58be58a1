"""A suite: a folder with `suite.yaml`, and one folder per scenario or a table of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transom.errors import InputError
from transom.evals.scenario_models import Defaults, Scenario
from transom.evals.scenario_table import TABLE_FILE, scenarios_in_table
from transom.evals.scorers import SCORERS
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

    def only(self, names: Sequence[str]) -> Suite:
        """Return the suite with the scenarios of these ids or tags; without names, all of them.

        Raises:
            InputError: no scenario has the name.
        """
        if not names:
            return self
        selected, all_names = list[Scenario](), set[str]()
        for scenario in self.scenarios:
            scenario_names = {scenario.id, *scenario.tags}
            all_names |= scenario_names
            if scenario_names & {*names}:
                selected.append(scenario)
        # A misspelled name would otherwise leave scenarios out without a word.
        for name in names:
            if name not in all_names:
                raise InputError(
                    f"no scenario has the id or tag {name!r}",
                    place=str(self.folder),
                    hint=f"known: {', '.join(sorted(all_names))}",
                )
        return replace(self, scenarios=tuple(selected))


def load_suite(folder: Path) -> Suite:
    """Read a suite's folder.

    Raises:
        InputError: `suite.yaml` or scenarios are missing, or a file is wrong, with file:line.
    """
    path = folder / SUITE_FILE
    if not path.is_file():
        raise InputError(
            f"{SUITE_FILE} is missing", place=str(folder), hint="name the folder of a suite"
        )
    file = validate_yaml(SuiteFile, load_yaml(path))
    defaults = file.model_dump(include=set(Defaults.model_fields), exclude_unset=True)
    paths = sorted(folder.glob(f"*/{SCENARIO_FILE}"))
    table = folder / TABLE_FILE
    if not paths and not table.is_file():
        hint = f"add a folder with a {SCENARIO_FILE}, or a {TABLE_FILE}"
        raise InputError("the suite has no scenario", place=str(folder), hint=hint)
    name = folder.resolve().name
    scenarios = [_load(path, folder, defaults) for path in paths]
    if table.is_file():
        scenarios += _tabled(table, folder, defaults, {scenario.id for scenario in scenarios})
    return Suite(name, folder, file.product, tuple(scenarios))


def _tabled(
    path: Path, suite: Path, defaults: Mapping[str, Any], taken: Set[str]
) -> Iterator[Scenario]:
    """Yield the scenarios of a table; missing keys come from the suite's defaults."""
    for place, scenario in scenarios_in_table(path):
        if scenario.id in taken:
            raise InputError(f"a folder has the id {scenario.id!r}, too", place=place)
        yield _merged(scenario, suite, suite, defaults, lambda *_, at=place: at)


def _load(path: Path, suite: Path, defaults: Mapping[str, Any]) -> Scenario:
    """Read one scenario; missing keys come from the suite's defaults."""
    read = load_yaml(path)
    # The model has these fields for the program; in a file they would contradict the folder.
    for key in ("id", "folder", "data_folder"):
        if isinstance(read.data, dict) and key in read.data:
            raise InputError(
                f"unknown key {key}",
                place=read.place_of(key),
                hint="remove it; the folder's name is the id",
            )
    scenario = validate_yaml(Scenario, read).model_copy(update={"id": path.parent.name})
    return _merged(scenario, path.parent, suite, defaults, read.place_of)


def _merged(
    scenario: Scenario,
    folder: Path,
    suite: Path,
    defaults: Mapping[str, Any],
    place_of: Callable[..., str],
) -> Scenario:
    own = scenario.model_fields_set
    least = {**defaults.get("least", {}), **scenario.least}
    for name in least:
        # A misspelled scorer would leave its pass mark at the default.
        if name not in SCORERS:
            near = nearest_key(name, SCORERS)
            hint = f"did you mean {near}?" if near else f"known: {', '.join(SCORERS)}"
            raise InputError(
                f"least: unknown scorer {name!r}", place=place_of("least", name), hint=hint
            )
    update = {key: value for key, value in defaults.items() if key not in own}
    update |= {"least": least, "folder": folder}
    merged = scenario.model_copy(update=update)
    if merged.data is None:
        return merged
    # A path is relative to the file that names it.
    base, place = suite, str(suite / SUITE_FILE)
    if "data" in own:
        base, place = folder, place_of("data")
    data = (base / merged.data).resolve()
    if not data.is_dir():
        problem = f"the data folder {merged.data} does not exist"
        raise InputError(problem, place=place, hint="correct the key data")
    return merged.model_copy(update={"data_folder": data})
