"""Settings of a build."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from transom.llm import CallSettings
from transom.tools import MAX_TURNS
from transom.tools.constrained import FileLimits
from transom.tools.files import ViewLimits

# An item that is a claim needs no playbook, and loads none.
if TYPE_CHECKING:
    from transom.learning import Playbook


@dataclass(frozen=True)
class BuildSettings:
    """Settings of the build: how its roles ask, and how much of the logs they are shown.

    Attributes:
        limits, tools: how much of the logs is shown at first, and how much a role may look at by
            itself.
        max_turns: how many of its replies may call tools.
        max_iterations: repairs after the first draft, of all artifacts together.
        tests: run the combinations of requirements and waivers that fit the item's type, too.
        prompts: a person's folder of prompts, whose files replace shipped ones.
    """

    parser: CallSettings = field(default_factory=CallSettings)
    logic: CallSettings = field(default_factory=CallSettings)
    repair: CallSettings = field(default_factory=CallSettings)
    limits: ViewLimits = field(default_factory=ViewLimits)
    tools: FileLimits = field(default_factory=FileLimits)
    max_turns: int = MAX_TURNS
    max_iterations: int = 3
    playbook: Playbook | None = None
    tests: bool = False
    prompts: Path | None = None
