"""The shared items: the descriptions that must be understood are, all others abstain. Skipped
where they are absent.
"""

from __future__ import annotations

import gzip
import re

import pytest

from tests.checklist.rules.support import SHARED, ask, load_atom, rounds, shipped, snippet
from transom.checklist.building.reading import read_atom_a
from transom.checklist.rules.reading import read_description
from transom.checklist.writing.document import section_texts
from transom.errors import NeedsModel
from transom.formats.yaml_files import load_yaml

ITEMS = SHARED / "data" / "eda-items"
EDA = SHARED / "data" / "eda"

pytestmark = pytest.mark.skipif(not ITEMS.is_dir(), reason=f"no shared items at {ITEMS}")

UNDERSTOOD = {
    1: "versions",
    2: "versions",
    3: "versions",
    4: "tool_versions",
    5: "tool_versions",
    6: "tool_versions",
    7: "sta_endpoints",
    8: "sta_endpoints",
    9: "sta_endpoints",
    10: "sta_endpoints",
    11: "physical_verification",
    12: "physical_verification",
    13: "physical_verification",
    14: "inferred_latches",
    15: "log_messages",
    16: "clocks",
    18: "files_read",
}


def item(number: int) -> dict[str, object]:
    data = load_yaml(ITEMS / f"EDA-S-{number:02}" / "item.yaml").data
    assert isinstance(data, dict)
    return dict(data)


@pytest.mark.parametrize("number", range(1, 19))
def test_understood_or_left_alone(number: int) -> None:
    text = str(item(number)["description"])
    if number in UNDERSTOOD:
        assert read_description(text, shipped()).domain.domain == UNDERSTOOD[number]
    else:
        with pytest.raises(NeedsModel):
            read_description(text, shipped())


@pytest.mark.parametrize(
    ("number", "count"), [(1, 2), (3, 1), (7, 20), (8, 53), (9, 53), (14, 3), (15, 4)]
)
def test_from_the_description_to_entries(number: int, count: int) -> None:
    told = item(number)
    files = told["input_files"]
    assert isinstance(files, list)
    path = EDA / re.sub(r"^\$\{\w+\}/", "", str(files[0]))
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("latin-1")
    cut = section_texts(
        rounds(str(told["description"]), waivers=0 if number == 3 else "N/A").document()
    )
    seen = {"available_files": path.name, "log_snippets": snippet(path.name, text)}
    atom = load_atom(
        read_atom_a(ask("parser", section_1=cut["1"], section_4_1=cut["4.1"], **seen).text)
    )
    assert len(atom(text, path.name)) == count


@pytest.mark.parametrize("name", ["postroute_tt_025C_1v80.log", "6_report.log", "1_2_yosys.log"])
def test_logs_of_other_kinds_are_left_alone(name: str) -> None:
    (path,) = EDA.rglob(name)
    cut = section_texts(rounds("Confirm the netlist/spef version is correct.").document())
    seen = {
        "available_files": name,
        "log_snippets": snippet(name, path.read_text(errors="replace")),
    }
    with pytest.raises(NeedsModel):
        ask("parser", section_1=cut["1"], section_4_1=cut["4.1"], **seen)
