"""The item of an ItemSpec for which nobody names a file: the workspace knows it by its id."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from transom.checklist.item import Item, load_item
from transom.checklist.item_files import own_files
from transom.checklist.manner import Places
from transom.errors import InputError
from transom.runs.history import all_runs
from transom.store import Store

CHECK: Final = "check"
"""The kind of the runs in which the ItemSpec of an item is written."""


def known_item(store: Store, item_id: str, places: Places) -> Item | None:
    """Return the item of the newest run that specified an id, if its files are here, or None.

    A file that is gone, cannot be read, or has another id today is not it. Who names roots says
    where the files are, and needs no item for that.
    """
    if places.other_roots:
        return None
    for row in all_runs(store):
        if row.kind != CHECK or row.name != item_id:
            continue
        path = Path(str(row.inputs.get("item", "")))
        with suppress(InputError):
            item = load_item(path)
            if item.item_id == item_id and own_files(item, places.roots(item, path.parent)):
                return item
    return None
