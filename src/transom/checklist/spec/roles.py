"""The checklist's seats at a model, made from the table of views and the prompt files."""

from __future__ import annotations

from collections.abc import Collection

from transom.checklist.spec.views import VIEWS, load_prompt
from transom.llm import Block, CallSettings, Role, Tier, ToolSpec


def make_role(
    name: str, settings: CallSettings | None = None, tools: tuple[ToolSpec, ...] = (), beyond: Collection[str] = ()
) -> Role:
    """The role of that name: its prompt blocks, and what it may see beside them.

    Args:
        name: a key of `VIEWS`, e.g. `checklist.parser`.
        settings: how it asks; the defaults where None.
        tools: what it may call.
        beyond: prompt blocks that it does without.
    """
    view = VIEWS[name]
    prompt = tuple(
        Block(prompt.block, load_prompt(prompt.file), Tier.STABLE)
        for prompt in view.prompt
        if prompt.block not in beyond
    )
    return Role(name, prompt, view.sees, tools, settings or CallSettings())
