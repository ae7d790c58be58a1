"""Fifty ordinary lines on real files: right, or left to a person; never wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.checklist.rules.evidence import run
from tests.checklist.rules.support import ask, rounds, snippet
from transom.checklist.building.reading import read_atom_a, read_logic
from transom.checklist.judging import LoadedChecker
from transom.checklist.writing.document import section_texts
from transom.errors import NeedsModel
from transom.formats.yaml_files import dump_yaml, load_yaml

DATA = Path(__file__).parent / "data"
LINES: Any = load_yaml(DATA / "everyday.yaml").data["lines"]  # type: ignore[index,call-overload]  # a mapping
FILES = {
    path.name: path.read_text(errors="replace") for path in sorted((DATA / "everyday").iterdir())
}
AT_ONCE, OF = 40, 50
# A question to a person, in whatever form.
OPEN = ("asks", "ERROR", "NEEDS_REVIEW", "NEEDS_MODEL")


def verdict(line: dict[str, Any], names: list[str], folder: Path) -> str:
    """What the rules alone say of these files; `asks` where they leave it to a person."""
    patterns = line.get("patterns")
    value: object = len(patterns) if patterns else "N/A"
    try:
        cut = section_texts(rounds(line["says"], value).document())
        seen = {
            "available_files": " ".join(names),
            "log_snippets": "\n".join(snippet(one, FILES[one]) for one in names),
        }
        atom = ask("parser", section_1=cut["1"], section_4_1=cut["4.1"], **seen)
        logic = ask(
            "logic", section_2=cut["2"], section_3=cut["3"], section_4_2=cut["4.2"], atom_a_code=""
        )
    except NeedsModel:
        return "asks"
    checker = LoadedChecker(
        folder,
        read_atom_a(atom.text),
        read_logic(logic.text).config("ITEM", line["says"]),
        None,
        None,
        "",
    )
    item = dump_yaml({"requirements": {"value": value, "pattern_items": patterns or []}})
    return run(checker, folder, FILES, item=item, inputs=names).status


@pytest.mark.slow
def test_fifty_ordinary_lines(tmp_path: Path) -> None:
    wrong, open_ = [], []
    for line in LINES:
        told = {names: verdict(line, names.split(), tmp_path) for names in line["files"]}
        pairs = [(told[names], truth) for names, truth in line["files"].items()]
        wrong += [line["says"] for said, truth in pairs if said not in (truth, *OPEN)]
        open_ += [line["says"] for said, truth in pairs if said in OPEN and said != truth]
    right = len(LINES) - len({*wrong, *open_})
    assert (wrong, len(LINES)) == ([], OF)
    assert right >= AT_ONCE, f"{right} of {OF}; open: {sorted({*open_})}"
