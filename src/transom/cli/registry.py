"""What a workspace remembers of items: whose an id is, which ItemSpec and which checker are the newest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from transom.canonical import Json, digest
from transom.checklist.item import Item, load_item
from transom.checklist.spec.document import clean
from transom.errors import InputError
from transom.store import SqliteStore

ITEMS, SPECS, CHECKERS, HOMES = "items", "specs", "checkers", "homes"


def place(path: Path) -> str:
    """A path as the workspace keeps it: absolute, without `..`, links as they are."""
    return os.path.abspath(path)  # noqa: PTH100  resolve() would follow the links


async def claim_id(store: SqliteStore, item: Item) -> None:
    """Make an item's id its own in this workspace."""
    mine = place(item.path)
    holder = str(await store.put_if_absent(ITEMS, item.item_id, mine))
    if holder == mine:
        return
    other = Path(holder)
    if other.is_file() and not other.samefile(mine) and _id_of(other) == item.item_id:
        raise InputError(
            f"the item id {item.item_id} belongs to {holder} in this workspace",
            where=mine,
            hint="write an item_id of its own into one of them",
        )
    await store.put(ITEMS, item.item_id, mine)


async def register_spec(store: SqliteStore, item: Item, spec: str) -> None:
    """Remember an item's newest ItemSpec."""
    await store.put(SPECS, place(item.path), digest(clean(spec)))


async def register_checker(store: SqliteStore, item: Item, folder: Path, spec: str) -> None:
    """Remember an item's newest checker, and for the checker whose it is."""
    row: dict[str, Json] = {
        "folder": place(folder),
        "description": digest(item.meaning),
        "itemspec": digest(clean(spec)),
    }
    await register_spec(store, item, spec)
    await store.put(CHECKERS, place(item.path), row)
    await store.put(HOMES, place(folder), str(Path(place(item.path)).parent))


def newest_checker(store: SqliteStore, item: Item) -> Path:
    """The folder of the newest checker that was built for an item."""
    row = cast("dict[str, str] | None", store.get(CHECKERS, place(item.path)))
    why = _why_not(store, item, row)
    if row is None or why:
        raise InputError(why, where=str(item.path), hint=f"build one with: transom check all {item.path}")
    return Path(row["folder"])


def _why_not(store: SqliteStore, item: Item, row: dict[str, str] | None) -> str:
    if row is None:
        return "no checker was built for this item"
    if not Path(row["folder"]).is_dir():
        return f"its checker {row['folder']} is gone"
    if row["description"] != digest(item.meaning):
        return "its description changed since its checker was built"
    if store.get(SPECS, place(item.path)) != row["itemspec"]:
        return "its ItemSpec changed since its checker was built"
    return ""


def home(store: SqliteStore, folder: Path) -> Path | None:
    """The folder of the item that a checker was built for; its relative input files are meant from there."""
    known = store.get(HOMES, place(folder))
    return Path(str(known)) if known else None


def _id_of(path: Path) -> str | None:
    try:
        return load_item(path).item_id
    except InputError:
        return None
