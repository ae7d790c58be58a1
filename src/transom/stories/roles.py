"""The four roles: who sees what, as a table, and the blocks that a run supplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from transom.agent import RETRY
from transom.canonical import Json
from transom.formats.yaml_files import dump_yaml
from transom.llm import Block, Role, Tier, ToolSpec
from transom.llm.turns import Trust
from transom.stories.handoff import StoryHandoff
from transom.stories.story import Story

PROMPTS: Final = Path(__file__).with_name("prompts")

VIEWS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sm": ("story", "feedback"),
        "po": ("story", "sm_summary"),
        "dev": ("story", "playbook", "po_decision", "po_summary", "findings"),
        "qa": ("story", "dev_summary", "files", "diff", "tests"),
    }
)
"""Seat -> blocks that it sees beside its own prompt and `workplace`. The story is whole; summaries are cut short."""


def make_role(seat: str, tools: tuple[ToolSpec, ...] = ()) -> Role:
    """The role `stories.SEAT`. Dev is not asked again where its reply cannot be read: its work is what counts."""
    prompt = Block("instructions", (PROMPTS / f"{seat}.md").read_text(encoding="utf-8"), Tier.STABLE)
    again = () if seat == "dev" else (RETRY,)
    return Role(f"stories.{seat}", (prompt,), frozenset(("instructions", "workplace", *VIEWS[seat], *again)), tools)


def story_text(data: Json) -> str:
    """A story as roles see it: what is known of it, then its own text."""
    assert isinstance(data, dict)
    told = {
        key: value for key, value in data.items() if key not in ("text", "line", "owns_file", "status_text") and value
    }
    return f"{dump_yaml(told)}\n{data['text']}"


def blocks_for(seat: str, story: Story, handoff: StoryHandoff, more: Mapping[str, Json] | None = None) -> list[Block]:
    """What a seat is given: the story whole, what the hand-over passes on, and what the run adds of its own.

    Args:
        seat: `sm`, `po`, `dev` or `qa`.
        story: the story.
        handoff: what the other seats left.
        more: blocks beside these, text or data; empty ones are left out, and those that the seat does not see.
    """
    data: Json = story.model_dump(mode="json")
    blocks = [Block("story", story_text(data), Tier.SESSION, data=data)]
    for name, value in {**handoff.get_context_for_stage(seat), **(more or {})}.items():
        if value and name in (*VIEWS[seat], "workplace"):
            trust: Trust = "ours" if name in ("workplace", "po_decision", "tests") else "untrusted"
            blocks.append(Block(name, _text(value), trust=trust, data=None if isinstance(value, str) else value))
    return blocks


def _text(value: Json) -> str:
    return value if isinstance(value, str) else dump_yaml(value).strip()


def listed(texts: Sequence[str]) -> str:
    """Lines of a list."""
    return "\n".join(f"- {text}" for text in texts)


def window_sizes(seat: str, blocks: Sequence[Block]) -> dict[str, int]:
    """Block -> characters, of what a call would see."""
    prompt = make_role(seat).prompt
    return {block.name: len(block.text) for block in (*prompt, *blocks)}
