"""Checkers of our own example items, made by the rules without a run, and what the gates need to
try them.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.common import EXAMPLES
from tests.checklist.rules.support import ask, rounds, snippet
from transom.checklist.atoms import CheckerConfig
from transom.checklist.building.checker import atoms_source, checker_yaml
from transom.checklist.building.gates import Trial
from transom.checklist.building.reading import read_atom_a, read_logic
from transom.checklist.item import Item, load_item
from transom.checklist.writing.document import parse_spec, section_texts
from transom.checklist.writing.shapes import SpecDocument
from transom.formats.text_files import TextFile
from transom.sandbox import Sandbox

DATA = EXAMPLES / "data"


@dataclass(frozen=True)
class Made:
    """A checker and its surroundings."""

    item: Item
    spec: SpecDocument
    code: str
    config: CheckerConfig
    trial: Trial

    @property
    def yaml(self) -> str:
        return checker_yaml(self.config)


@functools.cache
def made(path: Path, data: Path = DATA) -> Made:
    """The checker that the rules make of an item."""
    item = load_item(path)
    files = tuple(data / re.sub(r"^\$\{\w+\}/", "", name.written) for name in item.input_files)
    waivers = item.waivers.value if item.waivers else None
    text = rounds(item.description, waivers="N/A" if waivers is None else waivers).document(
        item.item_id
    )
    cut = section_texts(text)
    views = "\n".join(snippet(file.name, TextFile(file).whole()) for file in files)
    listing = "\n".join(file.name for file in files)
    blocks = {"available_files": listing, "log_snippets": views}
    atom_a = read_atom_a(ask("parser", section_1=cut["1"], section_4_1=cut["4.1"], **blocks).text)
    told = {
        "section_2": cut["2"],
        "section_3": cut["3"],
        "section_4_2": cut["4.2"],
        "atom_a_code": atom_a,
    }
    logic = read_logic(ask("logic", **told).text)
    config = logic.config(item.item_id, item.description)
    trial = Trial(Sandbox(), files, (), (data.resolve(),), item)
    return Made(item, parse_spec(text), atoms_source(atom_a, logic), config, trial)
