"""The records of a workspace about items and checkers.

They hold the owner of each item id, the newest ItemSpec and checker of each item, and the folder
that each checker was built for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.checklist.item import Item, load_item
from transom.checklist.writing.review_mark import clean
from transom.errors import InputError
from transom.store import Store

ITEMS, SPECS, CHECKERS, HOMES = "items", "specs", "checkers", "homes"


def place(path: Path) -> str:
    """Return a path as the workspace records it: absolute, without `..`, links unchanged."""
    return os.path.abspath(path)  # noqa: PTH100  resolve() would follow the links


async def claim(store: Store, item: Item) -> None:
    """Make an item's id its own in this workspace.

    Raises:
        InputError: the id belongs to another item. If that one is gone, moved or has another id
            now, the id is free.
    """
    path = place(item.path)
    # Two commands may claim the same id at once; the first one gets it.
    owner = Path(str(await store.put_if_absent(ITEMS, item.item_id, path)))
    if str(owner) == path:
        return
    if _has_id(owner, item.item_id, except_for=path):
        raise InputError(
            f"the item id {item.item_id} belongs to {owner} in this workspace",
            place=path,
            hint="write an item_id of its own into one of them",
        )
    await store.put(ITEMS, item.item_id, path)


def _has_id(owner: Path, item_id: str, *, except_for: str) -> bool:
    """Return whether a file is another item that has the id today."""
    try:
        # The same file may be reached by another path, e.g. over a link.
        return not owner.samefile(except_for) and load_item(owner).item_id == item_id
    except (OSError, InputError):
        return False


async def record_spec(store: Store, item: Item, spec: str) -> None:
    """Record an item's newest ItemSpec."""
    await store.put(SPECS, place(item.path), digest(clean(spec)))


async def record_checker(store: Store, item: Item, folder: Path, spec: str) -> None:
    """Record an item's newest checker, and for the checker the folder of its item."""
    await record_spec(store, item, spec)
    path = place(item.path)
    checker = place(folder)
    state = _state_of(store, item)
    await store.put(CHECKERS, path, {"folder": checker, "made_of": state})
    await store.put(HOMES, checker, str(Path(path).parent))


def newest_checker(store: Store, item: Item) -> Path:
    """Return the folder of the newest checker that was built for an item.

    Raises:
        InputError: there is none, or the item or its ItemSpec changed since it was built.
    """
    row: Any = store.get(CHECKERS, place(item.path))
    if row is None:
        problem = "no checker was built for this item"
    elif not Path(row["folder"]).is_dir():
        problem = f"its checker {row['folder']} is gone"
    elif row["made_of"] != _state_of(store, item):
        problem = "its description or its ItemSpec changed since its checker was built"
    else:
        return Path(row["folder"])
    hint = f"build one with: transom check all {item.path}"
    raise InputError(problem, place=str(item.path), hint=hint)


def _state_of(store: Store, item: Item) -> str:
    """Return a digest of what a checker is built from: the item and its ItemSpec."""
    return digest([item.meaning, store.get(SPECS, place(item.path))])


def home(store: Store, folder: Path) -> Path | None:
    """Return the folder of the item that a checker was built for.

    Relative input files of the checker are meant from there.
    """
    folder_of_item = store.get(HOMES, place(folder))
    return Path(str(folder_of_item)) if folder_of_item else None
