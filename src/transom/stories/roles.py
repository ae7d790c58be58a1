"""The four roles: who sees what, as a table, and the blocks that a run supplies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from transom.agent import RETRY
from transom.canonical import Json
from transom.formats.yaml_files import dump_yaml
from transom.llm import Block, Role, Tier, ToolSpec
from transom.stories.handoff import StoryHandoff
from transom.stories.story import Story

PROMPTS: Final = Path(__file__).with_name("prompts")

VIEWS: Final[Mapping[str, tuple[str, ...]]] = {
    "sm": ("story", "feedback"),
    "po": ("story", "sm_summary"),
    "dev": ("story", "playbook", "po_decision", "po_summary", "findings"),
    "qa": ("story", "dev_summary", "files", "diff", "tests"),
}
"""Seat -> blocks that it sees beside its own prompt and `workplace`. The story is whole; summaries are cut short."""
_OURS = ("workplace", "po_decision", "tests")


def make_role(seat: str, tools: tuple[ToolSpec, ...] = ()) -> Role:
    """The role `stories.SEAT`. Dev is not asked again where its reply cannot be read: its work is what counts."""
    prompt = Block("instructions", (PROMPTS / f"{seat}.md").read_text(encoding="utf-8"), Tier.STABLE)
    again = () if seat == "dev" else (RETRY,)
    return Role(f"stories.{seat}", (prompt,), frozenset(("instructions", "workplace", *VIEWS[seat], *again)), tools)


def blocks_for(seat: str, story: Story, handoff: StoryHandoff, more: Mapping[str, Json] | None = None) -> list[Block]:
    """What a seat is given: the story whole, what the hand-over passes on, and what the run adds of its own.

    Args:
        seat: `sm`, `po`, `dev` or `qa`.
        story: the story.
        handoff: what the other seats left.
        more: blocks beside these, text or data; empty ones are left out, and those that the seat does not see.
    """
    data = story.model_dump(mode="json")
    unseen = ("text", "line", "owns_file", "status_text")
    told = {key: value for key, value in data.items() if value and key not in unseen}
    told |= {"criteria": {f"AC {number}": text for number, text in enumerate(story.criteria, 1)}}
    blocks = [Block("story", f"{dump_yaml(told)}\n{story.text}", Tier.SESSION, data=data)]
    for name, value in {**handoff.get_context_for_stage(seat), **(more or {})}.items():
        if value and name in (*VIEWS[seat], "workplace"):
            is_text = isinstance(value, str)
            text = value if isinstance(value, str) else dump_yaml(value).strip()
            blocks.append(
                Block(name, text, trust="ours" if name in _OURS else "untrusted", data=None if is_text else value)
            )
    return blocks


def listed(texts: Sequence[str]) -> str:
    """Lines of a list."""
    return "\n".join(f"- {text}" for text in texts)
