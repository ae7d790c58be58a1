"""A person's decision on the verdict of a check: confirmed, or overturned and kept by the item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from transom.canonical import digest
from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.checker import ATOMS_FILE
from transom.checklist.building.lessons import DOMAIN, named_in
from transom.checklist.copies import source_of
from transom.checklist.item import Item, load_item
from transom.checklist.judging import CONFIG, Verdict
from transom.checklist.judging.overturning import (
    cap_of_overturned,
    overturned_verdict,
    write_overturned,
)
from transom.checklist.judging.verdict import VERDICT_FILE
from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.learning import Playbook
from transom.learning.verdict_decisions import (
    DecidableVerdict,
    GivenDecision,
    VerdictDecision,
    decide,
    require_item,
)
from transom.runs.history import RunView
from transom.runs.summarising import RunRow
from transom.store import Store


@dataclass(frozen=True)
class JudgedItem:
    """A verdict on an item, with its bytes and its checker.

    Attributes:
        checker: the folder of the checker.
        config: what the checker checks; None if it is gone.
    """

    verdict: Verdict
    data: bytes
    checker: Path
    config: CheckerConfig | None

    @property
    def description(self) -> str:
        """The description in one line; "" if the checker is gone."""
        return " ".join(self.config.description.split()) if self.config else ""


def judged_item(folder: Path, row: RunRow) -> JudgedItem:
    """Return the verdict of a run, and its checker.

    Args:
        folder: the folder of the run.
        row: the run.

    Raises:
        InputError: the run has no verdict.
    """
    path = folder / "run" / "verdict" / VERDICT_FILE
    if not path.is_file():
        problem = "there is no verdict in this run"
        raise InputError(problem, place=row.id, hint="see: transom runs list")
    data = path.read_bytes()
    checker = folder
    # The last build of the run counts.
    for config_path in sorted(folder.glob(f"build/checker*/{CONFIG}")):
        checker = config_path.parent
    # `check run` judges with a checker of another run.
    if folder_name := row.inputs.get("checker"):
        checker = Path(str(folder_name))
    config: CheckerConfig | None = None
    if (checker / CONFIG).is_file():
        config = validate_yaml(CheckerConfig, load_yaml(checker / CONFIG))
    return JudgedItem(Verdict.model_validate_json(data), data, checker, config)


def decide_check(
    playbook: Playbook, store: Store, folder: Path, row: RunRow, given: GivenDecision
) -> VerdictDecision:
    """Confirm or overturn the verdict of a check.

    An overturned verdict is kept in the item's file, see `write_overturned`.

    Args:
        playbook: the workspace's playbook.
        store: the workspace's store.
        folder: the folder of the run.
        row: the run.
        given: the decision.

    Raises:
        InputError: the run has no verdict, or one on another item than the person means, or the
            item's file takes no entry.
    """
    checked = judged_item(folder, row)
    item_id, status = checked.verdict.item_id, checked.verdict.status
    require_item(item_id, given.item_id, row.id)
    kept_in = ""
    # First, so that nothing is counted for a decision that the item cannot keep. An item that was
    # moved since the run keeps nothing; the insight does.
    item = None if given.is_confirmed else _item_of(row)
    if item is not None and write_overturned(item, status, given.person, given.reason):
        kept_in = str(item.path)
    atoms = checked.checker / ATOMS_FILE
    original = source_of(store, atoms) or atoms
    # A checker that was run alone was built in another run: RUN/build/checker/atoms.py.
    build = original.parents[2] if row.inputs.get("checker") else folder
    text = checked.description if checked.config else item_id
    sha = digest(checked.data)
    verdict = DecidableVerdict(row.id, item_id, status, sha, text, named_in(build))
    return replace(decide(playbook.of_domain(DOMAIN), verdict, given), kept_in=kept_in)


def objection_to(row: RunRow, verdict: Verdict) -> str:
    """Return who overturned the verdict of a run, and why; "" if nobody did."""
    try:
        item = _item_of(row)
    # The item is being edited; its verdict is shown all the same.
    except InputError:
        return ""
    entry = overturned_verdict(item, verdict.status)
    return cap_of_overturned(entry).text if entry else ""


def input_paths(run: RunView, verdict: Verdict) -> dict[str, Path]:
    """Return the files that a verdict read, as far as they are where the command found them,
    by their names in the verdict.
    """
    item = Path(str(run.row.inputs.get("item", "")))
    options = run.state.entry.get("given", {})
    # The same places as the command: the item's folder, the roots, the values of variables.
    folders = [item.parent, *map(Path, options.get("roots") or ())]
    folders += [Path(text.partition("=")[2]) for text in options.get("variables") or ()]
    working_folder = Path(run.state.entry.get("cwd") or item.parent)
    paths: dict[str, Path] = {}
    for entry in verdict.inputs:
        for folder in folders:
            path = working_folder / folder / entry.path
            if path.is_file():
                paths.setdefault(entry.path, path)
    return paths


def _item_of(row: RunRow) -> Item | None:
    """Return the item that a run checked; None if it was moved since."""
    path = row.inputs.get("item")
    return load_item(Path(path)) if isinstance(path, str) and Path(path).is_file() else None
