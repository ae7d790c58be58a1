"""Earlier items that are described alike and whose checkers passed: the first round sees how
they were read.
"""

from __future__ import annotations

from transom.canonical import Json
from transom.checklist.writing.shapes import SpecDocument
from transom.errors import MemoryUnavailable
from transom.memory import Memory, MemoryEntry
from transom.runs import Artifact, Run, Stage, text_file

SIMILAR = "similar_items"
_KIND = "itemspec"
_MOST, _MOST_NAMES, _LONGEST = 3, 6, 160
_HEADING = (
    "The nearest earlier items whose checkers passed, as examples of form. Decide by the words of"
    " this item."
)


async def recall_similar(run: Run, memory: Memory, item_id: str, description: str) -> Artifact[str]:
    """Return the nearest earlier items as the text of a block.

    They are looked up once, so that a run that is resumed sees the same.
    """

    async def step(_: Stage, item_id: str, description: str) -> str:
        # Memory is a help and no condition: without it the item is written all the same.
        try:
            neighbours = await memory.retrieve(description, _MOST + 1, {"kind": _KIND})
        except MemoryUnavailable as error:
            run.progress(f"{error}; the ItemSpec is written without examples of similar items")
            return ""
        lines = []
        for neighbour in neighbours:
            # The item itself is its own nearest neighbour once it was built.
            if neighbour.entry.id != _key(item_id):
                lines.append(_line(neighbour.entry))
        if lines:
            return "\n".join([_HEADING, *lines[:_MOST]])
        return ""

    return await run.stage(
        "spec/similar", step, item_id, description, out=text_file("similar_items.txt")
    )


async def remember_spec(
    run: Run, memory: Memory, item_id: str, description: str, document: SpecDocument
) -> None:
    """Keep how an item was read, now that its checker passed."""
    names: list[Json] = [item.name for item in document.check.items]
    noted: dict[str, Json] = {"kind": _KIND, "type": document.check.capability_type, "items": names}
    try:
        await memory.store(description, noted, key=_key(item_id))
    except MemoryUnavailable as error:
        run.progress(f"{error}; the item is no example for later ones")


def _key(item_id: str) -> str:
    return f"{_KIND}/{item_id}"


def _line(entry: MemoryEntry) -> str:
    names = entry.metadata.get("items")
    if isinstance(names, list):
        short_names = [_short(str(name)) for name in names[:_MOST_NAMES]]
    else:
        short_names = []
    return (
        f"- {_short(entry.content)}\n  Type {entry.metadata.get('type')}; validation items:"
        f" {'; '.join(short_names)}"
    )


def _short(text: str) -> str:
    plain = " ".join(text.split())
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:_LONGEST].rsplit(' ', 1)[0]} ..."
