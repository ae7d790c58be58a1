"""Sources of a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from transom.checklist.writing.document import section_texts
from transom.runs import Artifact


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
