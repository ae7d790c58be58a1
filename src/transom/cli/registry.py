"""What a workspace remembers of items: whose an id is, the newest ItemSpec and checker, and
whose a checker is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transom.canonical import digest
from transom.checklist.item import Item, load_item
from transom.checklist.writing.document import clean
from transom.errors import InputError
from transom.store import Store

ITEMS, SPECS, CHECKERS, HOMES = "items", "specs", "checkers", "homes"


def place(path: Path) -> str:
    """A path as the workspace keeps it: absolute, without `..`, links as they are."""
    return os.path.abspath(path)  # noqa: PTH100  resolve() would follow the links


async def claim(store: Store, item: Item) -> None:
    """Make an item's id its own in this workspace; one whose item is gone, moved or called
    otherwise now is free.
    """
    mine = place(item.path)
    other = Path(str(await store.put_if_absent(ITEMS, item.item_id, mine)))
    try:
        taken = (
            str(other) != mine
            and not other.samefile(mine)
            and load_item(other).item_id == item.item_id
        )
    except (OSError, InputError):
        taken = False
    if taken:
        what = f"the item id {item.item_id} belongs to {other} in this workspace"
        raise InputError(what, where=mine, hint="write an item_id of its own into one of them")
    if str(other) != mine:
        await store.put(ITEMS, item.item_id, mine)


async def keep_spec(store: Store, item: Item, spec: str) -> None:
    """Remember an item's newest ItemSpec."""
    await store.put(SPECS, place(item.path), digest(clean(spec)))


async def keep_checker(store: Store, item: Item, folder: Path, spec: str) -> None:
    """Remember an item's newest checker, and for the checker whose it is."""
    await keep_spec(store, item, spec)
    await store.put(
        CHECKERS, place(item.path), {"folder": place(folder), "made_of": _today(store, item)}
    )
    await store.put(HOMES, place(folder), str(Path(place(item.path)).parent))


def newest_checker(store: Store, item: Item) -> Path:
    """The folder of the newest checker that was built for an item, from what the item and its
    ItemSpec say today.
    """
    row: Any = store.get(CHECKERS, place(item.path))
    if row is None:
        why = "no checker was built for this item"
    elif not Path(row["folder"]).is_dir():
        why = f"its checker {row['folder']} is gone"
    elif row["made_of"] != _today(store, item):
        why = "its description or its ItemSpec changed since its checker was built"
    else:
        return Path(row["folder"])
    raise InputError(
        why, where=str(item.path), hint=f"build one with: transom check all {item.path}"
    )


def _today(store: Store, item: Item) -> str:
    return digest([item.meaning, store.get(SPECS, place(item.path))])


def home(store: Store, folder: Path) -> Path | None:
    """The folder of the item that a checker was built for; its relative input files are meant
    from there.
    """
    known = store.get(HOMES, place(folder))
    return Path(str(known)) if known else None
