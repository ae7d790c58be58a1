"""Where and how a check is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from transom.checklist.building.settings import BuildSettings
from transom.checklist.item import Item
from transom.checklist.judging import Occasion, Roots
from transom.llm import CallSettings
from transom.sandbox import Sandbox

# An item that is a claim needs no memory, and loads none.
if TYPE_CHECKING:
    from transom.memory import Memory


@dataclass(frozen=True)
class Places:
    """Folders where files are looked for, and where copies for a person go.

    Attributes:
        variables: `--var NAME=PATH`.
        search_root: the setting `paths.search_root`, which the usual variables stand for when
            nobody says.
        others: `--root`: more folders to look for logs in, and for the files that they name.
        out: the folder for a person's copies; inside the run if None.
        base: where relative input files start; the folder of the item's file if None.
    """

    variables: Mapping[str, Path] = field(default_factory=dict)
    search_root: Path | None = None
    other_roots: tuple[Path, ...] = ()
    out: Path | None = None
    base: Path | None = None

    def roots(self, item: Item | None, otherwise: Path) -> Roots:
        """Return the folders of variables, and where an item's relative input files start.

        Without an item they start at `otherwise`.
        """
        base = self.base or (item.path.absolute().parent if item else otherwise)
        return Roots.with_defaults(self.variables, self.search_root, base, self.other_roots)


@dataclass(frozen=True)
class Manner:
    """Manner of a check: how the roles ask by the tag of a round, where code runs, by which day
    waivers expire.
    """

    occasion: Occasion
    sandbox: Sandbox
    spec: Mapping[str, CallSettings] = field(default_factory=dict)
    build: BuildSettings = field(default_factory=BuildSettings)
    memory: Memory | None = None
    parallel_rounds: bool = False
