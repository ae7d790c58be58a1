"""What the rounds are told of an item and its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from transom.checklist.item import Item
from transom.formats.yaml_files import dump_yaml


def simplified(item: Item) -> str:
    """Return the item without its files' names: a round sees only how many there are."""
    requirements, waivers = item.requirements, item.waivers
    count = len(item.input_files)
    return dump_yaml(
        {
            "description": item.description,
            "requirements": {
                "value": _value(requirements.value if requirements else None),
                "pattern_items": list(requirements.pattern_items) if requirements else [],
            },
            "input_files": f"{count} file{'' if count == 1 else 's'} configured",
            "waivers": {
                "value": _value(waivers.value if waivers else None),
                "waive_items": (
                    [waiver.pattern for waiver in waivers.waive_items] if waivers else []
                ),
            },
        }
    )


def input_details(item: Item, sizes: Mapping[str, int]) -> str:
    """Return base names, endings and sizes of the input files, never a path or a content.

    Only files that were found have a size.
    """
    # Paths name projects and people, which no model has to know.
    rows = []
    for name in item.input_files:
        path = PurePosixPath(name.written)
        size = sizes.get(name.written)
        rows.append({"name": path.name, "extension": "".join(path.suffixes[-2:]), "bytes": size})
    if rows:
        return dump_yaml({"input_file_details": rows})
    return ""


def _value(value: int | None) -> int | str:
    if value is None:
        return "N/A"
    return value
