"""Sources and settings of a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transom.checklist.writing.document import section_texts
from transom.learning import Playbook
from transom.llm import CallSettings
from transom.runs import Artifact
from transom.tools import MAX_TURNS
from transom.tools.constrained import FileLimits
from transom.tools.files import ViewLimits


@dataclass(frozen=True)
class BuildInputs:
    """Sources of a checker: the item, as far as there is one, and its ItemSpec.

    Attributes:
        spec: the ItemSpec, as an artifact of the same run or as a text.
        files: the item's own input files that exist, in its order.
        roots: where else to look, and what file names are shown relative to.
        variables: what `${NAME}` stands for in the files.
    """

    item_id: str
    description: str
    item_text: str | None
    spec: Artifact[str] | str
    files: tuple[Path, ...]
    roots: tuple[Path, ...]
    variables: Mapping[str, Path] = field(default_factory=dict)

    @property
    def spec_text(self) -> str:
        if isinstance(self.spec, Artifact):
            return self.spec.value
        return self.spec

    def section(self, number: str) -> Artifact[str] | str:
        """Return a section as an input of its own.

        A stage is then redone when its sections change, not when others do.

        Raises:
            InputError: the ItemSpec has no such section.
        """
        text = section_texts(self.spec_text)[number]
        if isinstance(self.spec, Artifact):
            return self.spec.part(text)
        return text


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
