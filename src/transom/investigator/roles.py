"""The investigator's roles, and the blocks that they see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from transom.agent import RETRY
from transom.canonical import Json, compact_json
from transom.learning.snapshot import BLOCK
from transom.llm import Block, CallSettings, Role, Tier, ToolSpec

IDENTIFY, READER, MERGE, MAIN, FOLLOW_UP, CLOSELY = (
    f"investigator.{name}"
    for name in ("identify", "reader", "merge", "main", "follow_up", "closely")
)
SEES: dict[str, tuple[str, ...]] = {
    IDENTIFY: ("question", "features"),
    READER: ("question", "source", "content", "observations", BLOCK),
    MERGE: ("summaries",),
    MAIN: ("question", "feature", "criteria", "summaries", "evidence", "memory", BLOCK),
    FOLLOW_UP: ("question", "feature", "criteria", "summaries", "evidence", "memory"),
    CLOSELY: (),
}
_FOLDER = Path(__file__).parent / "prompts"
_MOST_TOKENS = {
    READER: 1_200,
    MERGE: 1_200,
    IDENTIFY: 300,
    MAIN: 2_500,
    FOLLOW_UP: 1_500,
    CLOSELY: 800,
}


def role_of(name: str, tools: Sequence[ToolSpec] = ()) -> Role:
    """Return the role of a name, a key of `SEES`."""
    prompt = (Block("role", _prompt(name), Tier.STABLE),)
    settings = CallSettings(max_tokens=_MOST_TOKENS[name])
    return Role(name, prompt, frozenset({"role", RETRY, *SEES[name]}), tuple(tools), settings)


@cache
def _prompt(name: str) -> str:
    return (_FOLDER / f"{name.partition('.')[2]}.md").read_text(encoding="utf-8").strip()


def ours(name: str, text: str) -> Block:
    """Return a trusted block."""
    return Block(name, text or "-", Tier.SESSION)


def outside(name: str, rows: Sequence[str] | str, data: Json = None) -> Block:
    """Return an untrusted block, which may hold text of the data."""
    text = rows if isinstance(rows, str) else "\n".join(rows)
    return Block(name, text or "-", Tier.SESSION, trust="untrusted", data=data)


def insights(text: str) -> list[Block]:
    """Return the playbook's block, or none if the text is empty."""
    if text:
        return [outside(BLOCK, text)]
    return []


def json_rows(name: str, rows: Sequence[dict[str, Json]]) -> Block:
    """Return an untrusted block with a line of JSON per row; its data are the rows."""
    return outside(name, [compact_json(row) for row in rows], list(rows))
