"""A whole new domain by one YAML file: from a sentence to entries and a configuration, nothing
else added.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.rules.support import ask, load_atom, rounds, snippet, tagged
from transom.checklist.building.reading import read_atom_a, read_logic
from transom.checklist.rules import Knowledge, load_knowledge
from transom.checklist.rules.reading import read_description
from transom.checklist.writing.document import section_texts
from transom.errors import NeedsModel

DESCRIPTION = "Confirm that every block in the power report has a total power. One item per block."
REPORT = "Power report\nblock u_core total 1.25\nblock u_io\n"


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Knowledge:
    folder = tmp_path_factory.mktemp("knowledge")
    (folder / "power.yaml").write_text((Path(__file__).parent / "data" / "power.yaml").read_text())
    return load_knowledge([folder])


@pytest.mark.slow
def test_from_a_sentence_to_a_checker(knowledge: Knowledge) -> None:
    written = rounds(DESCRIPTION, knowledge=knowledge)
    assert written.findings() == []
    cut = section_texts(written.document())
    seen = {"available_files": "run.power", "log_snippets": snippet("run.power", REPORT)}
    reply = ask("parser", knowledge, section_1=cut["1"], section_4_1=cut["4.1"], **seen)
    assert [source.name for source in reply.answered_from] == ["_common.yaml", "power.yaml"]
    entries = load_atom(read_atom_a(reply.text))(REPORT, "run.power")
    assert [entry["parsed_fields"]["block"] for entry in entries] == [
        {"name": "u_core", "total": 1.25},
        {"name": "u_io", "total": None},
    ]
    logic = ask(
        "logic",
        knowledge,
        section_2=cut["2"],
        section_3=cut["3"],
        section_4_2=cut["4.2"],
        atom_a_code="",
    )
    config = read_logic(logic.text).config("POWER-1", DESCRIPTION)
    (item,) = config.items
    assert (item.select, item.required, item.quantifier) == (
        "block.name",
        ("block.name", "block.total"),
        "each",
    )
    assert item.keywords == ("off", "shutdown", "black-box", "macro")


@pytest.mark.parametrize(
    "said",
    [
        "Every block in the power report has a total power.",
        "Does every block of the power report have a total power?",
        "It must be verified that all blocks have a total power.",
        "Please make sure that, in the power report, each block has a total power.",
        "We need every block to have a total power.",
        (
            "All blocks must have a total power. Each block line is one item; its text starts with"
            " the block name."
        ),
        "No blocks without total power.",
        "There must be no block without a total power in the power report.",
        "Ensure the absence of blocks without total power.",
        "The number of blocks without total power is zero.",
        "Blocks without total power are not allowed.",
        "Is the total power given for every block?",
        "Verification of the total power of all blocks",
        "Total power of each block: check",
        "The total power of every block is to be verified.",
        "All blocks have a total power (waivable if the block is switched off).",
        (
            "All blocks have a total power. If the block is switched off, the total of the block"
            " may be waived."
        ),
    ],
)
def test_every_way_of_saying_it_comes_for_free(knowledge: Knowledge, said: str) -> None:
    assert read_description(said, knowledge).domain.domain == "power"


@pytest.mark.parametrize(
    "said",
    [
        "Does any block have a total power?",
        "No block has a total power.",
        "There are blocks without total power.",
        "Not every block has a total power.",
        "Every block has a total power or a leakage power.",
        "Blocks without total power are allowed.",
        "All blocks have a total power below the budget.",
        "All blocks have a total power. One item per report.",
    ],
)
def test_and_so_do_the_near_misses(knowledge: Knowledge, said: str) -> None:
    with pytest.raises(NeedsModel):
        read_description(said, knowledge)


def test_the_other_domains_do_not_change(knowledge: Knowledge) -> None:
    assert rounds("Confirm the netlist/spef version is correct.", knowledge=knowledge) == rounds(
        "Confirm the netlist/spef version is correct."
    )


def test_without_the_file_it_is_not_understood() -> None:
    with pytest.raises(NeedsModel, match="power"):
        rounds(DESCRIPTION)


def test_patterns_that_the_domain_does_not_compare_are_not_understood(knowledge: Knowledge) -> None:
    with pytest.raises(NeedsModel, match=r"requirements\.value: 2"):
        rounds(DESCRIPTION, 2, knowledge=knowledge)


@pytest.mark.slow
def test_a_domain_without_waivers_makes_a_plain_check(tmp_path: Path) -> None:
    text = (Path(__file__).parent / "data" / "power.yaml").read_text()
    head, rest = text.split("waivers:\n", 1)
    (tmp_path / "power.yaml").write_text(
        head + "waivers: []\nsources:\n" + rest.split("sources:\n", 1)[1]
    )
    plain = load_knowledge([tmp_path])
    written = rounds(DESCRIPTION, knowledge=plain)
    assert written.findings() == []
    assert "**Waiver support**: no (type 1" in written.section3
    assert "### 3.1" not in written.section3
    with pytest.raises(NeedsModel, match=r"waivers\.value: 0"):
        rounds(DESCRIPTION, waivers=0, knowledge=plain)


def test_a_file_of_another_dialect_is_named(knowledge: Knowledge) -> None:
    cut = section_texts(rounds(DESCRIPTION, knowledge=knowledge).document())
    seen = {
        "available_files": "x",
        "log_snippets": snippet("other.power", "\nunit u_core watts 3\n"),
    }
    with pytest.raises(NeedsModel, match=r"unit u_core watts 3.*other\.power:2"):
        ask("parser", knowledge, section_1=cut["1"], section_4_1=cut["4.1"], **seen)


def test_tags_are_those_of_the_prompts(knowledge: Knowledge) -> None:
    assert tagged(
        ask("analysis", knowledge, configuration=f"description: {DESCRIPTION}\n"), "analysis"
    )
