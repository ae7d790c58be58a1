"""Adding what a person decided to an item's file."""

from __future__ import annotations

from collections.abc import Mapping

from transom.canonical import Json
from transom.checklist.item import Item
from transom.formats.yaml_files import add_entry, add_key, load_yaml
from transom.runs import write_file


def add_to_item(item: Item, key: str, value: Mapping[str, Json], comment: str = "") -> None:
    """Add a key to the item's file, with a comment above it; all else stays as it is written."""
    _write(item, add_key(load_yaml(item.path), key, dict(value), comment))


def add_entry_to_item(item: Item, key: str, value: Mapping[str, Json]) -> None:
    """Add an entry to a list of the item's file; all else stays as it is written."""
    _write(item, add_entry(load_yaml(item.path), key, dict(value)))


def _write(item: Item, text: str) -> None:
    """Write the item's file, and keep its permissions."""
    path = item.path.resolve()  # of a link the file that it leads to
    mode = path.stat().st_mode
    write_file(path, text.encode())
    path.chmod(mode)
