"""Earlier items that are described alike and whose checkers passed: the first round sees how
they were read.
"""

from __future__ import annotations

from transom.canonical import Json
from transom.checklist.writing.quality import overall_quality
from transom.checklist.writing.shapes import SpecDocument
from transom.errors import MemoryUnavailable
from transom.memory import Memory, MemoryEntry, Recalled
from transom.runs import Artifact, Run, Stage, text_file

SIMILAR = "similar_items"
_KIND = "itemspec"
_MOST, _CONSIDERED, _MOST_NAMES, _LONGEST = 3, 9, 6, 160
_BEST_QUALITY = 10.0
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
            neighbours = await memory.retrieve(description, _CONSIDERED + 1, {"kind": _KIND})
        except MemoryUnavailable as error:
            run.progress(f"{error}; the ItemSpec is written without examples of similar items")
            return ""
        # Of items that are alike, the better written ItemSpec is the better example.
        neighbours.sort(key=_worth, reverse=True)
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
    """Keep how an item was read, now that its checker passed.

    People find it by the same metadata: `transom memory search TEXT --where kind=itemspec --where
    type=4 --where "quality>=9"`.
    """
    names: list[Json] = [item.name for item in document.check.items]
    noted: dict[str, Json] = {
        "kind": _KIND,
        "item": item_id,
        "type": document.check.capability_type,
        "quality": overall_quality(document),
        "items": names,
    }
    try:
        await memory.store(description, noted, key=_key(item_id))
    except MemoryUnavailable as error:
        run.progress(f"{error}; the item is no example for later ones")


def _worth(neighbour: Recalled) -> float:
    """Return how near an earlier item is, weighed by the quality of its ItemSpec."""
    quality = neighbour.entry.metadata.get("quality")
    share = quality / _BEST_QUALITY if isinstance(quality, int | float) else 1.0
    return neighbour.score * share


def _key(item_id: str) -> str:
    return f"{_KIND}/{item_id}"


def _line(entry: MemoryEntry) -> str:
    names = entry.metadata.get("items")
    if isinstance(names, list):
        short_names = [_short(str(name)) for name in names[:_MOST_NAMES]]
    else:
        short_names = []
    quality = entry.metadata.get("quality")
    shown_quality = f", quality {quality}" if quality is not None else ""
    return (
        f"- {_short(entry.content)}\n  Type {entry.metadata.get('type')}{shown_quality};"
        f" validation items: {'; '.join(short_names)}"
    )


def _short(text: str) -> str:
    plain = " ".join(text.split())
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[:_LONGEST].rsplit(' ', 1)[0]} ..."
