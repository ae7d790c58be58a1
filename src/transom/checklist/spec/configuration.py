"""The item as the rounds see it: a YAML writer's text, input files as a count, names only where a round needs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from transom.checklist.item import Item
from transom.formats.yaml_files import dump_yaml


def simplified(item: Item) -> str:
    """Description and what it means, requirements and waivers; of the input files only how many there are."""
    requirements, waivers = item.requirements, item.waivers
    count = len(item.input_files)
    return dump_yaml(
        {
            "description": item.description,
            **({"reads_as": item.reads_as.to_json()} if item.reads_as else {}),
            "requirements": {
                "value": _value(requirements.value if requirements else None),
                "pattern_items": list(requirements.pattern_items) if requirements else [],
            },
            "input_files": f"{count} file{'' if count == 1 else 's'} configured",
            "waivers": {
                "value": _value(waivers.value if waivers else None),
                "waive_items": [waiver.pattern for waiver in waivers.waive_items] if waivers else [],
            },
        }
    )


def input_details(item: Item, sizes: Mapping[str, int]) -> str:
    """Base names, endings and sizes of the input files; never a path or a content.

    Args:
        item: whose files.
        sizes: bytes by the name as written, where the file could be found.
    """
    rows = []
    for name in item.input_files:
        path = PurePosixPath(name.written)
        size = sizes.get(name.written)
        rows.append({"name": path.name, "extension": "".join(path.suffixes[-2:]), "bytes": size})
    return dump_yaml({"input_file_details": rows}) if rows else ""


def _value(value: int | None) -> int | str:
    return "N/A" if value is None else value
