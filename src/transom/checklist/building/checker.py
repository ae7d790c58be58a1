"""The files of a checker folder, from what the roles wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.artifacts import CHECKER, SEPARATOR
from transom.checklist.vectors import STANDARD_SOURCE
from transom.formats.yaml_files import dump_yaml

if TYPE_CHECKING:
    from transom.checklist.building.reading import LogicReply

ATOMS_FILE = "atoms.py"
CHECKER_FILE = CHECKER
BUILD_FILE = "build.json"
ITEM_FILE = "item.yaml"
SPEC_FILE = "ItemSpec.md"


def atoms_source(atom_a: str, logic: LogicReply) -> str:
    """Return `atoms.py`: atom A, then the shipped B and C or the reply's own."""
    logic_source = logic.atoms or STANDARD_SOURCE
    title = "its own" if logic.atoms else "the standard ones, as shipped"
    return f"{atom_a.rstrip()}\n\n\n{SEPARATOR} {title}.\n{logic_source.strip()}\n"


def checker_yaml(config: CheckerConfig) -> str:
    """Return `checker.yaml` in the order of the model, with `N/A` for no value."""
    data: dict[str, Any] = config.model_dump(mode="json", by_alias=True)
    # Checkers of models have no claim, and their files stay as they were.
    if config.claim is None:
        del data["claim"]
    for part in ("requirements", "waivers"):
        if data[part]["value"] is None:
            data[part]["value"] = "N/A"
    # Two lists side by side, as people write them in items.
    rows = data["waivers"].pop("waive_items")
    data["waivers"] |= {
        "waive_items": [row["pattern"] for row in rows],
        "waive_reasons": [row["reason"] or "" for row in rows],
    }
    # Empty settings say nothing; without them a person can read the file.
    data["items"] = [
        {key: value for key, value in item.items() if value not in (None, [])}
        for item in data["items"]
    ]
    return dump_yaml(data)
