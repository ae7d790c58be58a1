"""The five rounds: the gate finds nothing, the worked example has its parts, and edits of a
person are honoured.
"""

from __future__ import annotations

import pytest

from tests.checklist.rules.support import (
    Rounds,
    ask,
    configuration,
    rounds,
    shipped,
    summary_of,
    tagged,
)
from transom.checklist.rules import RULE_VERSIONS, rule_table
from transom.checklist.writing.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_spec,
)
from transom.errors import NeedsModel

BOTH = "Confirm the netlist/spef version is correct."
ENDPOINTS = (
    "Confirm that every endpoint in the post-route setup report meets timing. One item per endpoint"
    " line; the item text starts with the endpoint name. An endpoint marked (VIOLATED) is a"
    " violation, one marked (MET) is found."
)


@pytest.fixture(scope="module")
def both() -> Rounds:
    return rounds(BOTH)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("description", "requirements", "waivers", "kind"),
    [
        (BOTH, "N/A", "N/A", 4),
        (BOTH, "N/A", 0, 4),
        (BOTH, "N/A", 3, 4),
        (BOTH, 2, "N/A", 3),
        (BOTH, 2, 0, 3),
        ("The SPEF version is correct.", "N/A", "N/A", 4),
        ("The netlist version is correct (waive for ECO netlists).", 1, 1, 3),
        (ENDPOINTS, "N/A", "N/A", 4),
        (ENDPOINTS, "N/A", 2, 4),
        ("No endpoint violates timing.", "N/A", "N/A", 4),
    ],
)
def test_the_gate_finds_nothing(
    description: str, requirements: object, waivers: object, kind: int
) -> None:
    written = rounds(description, requirements, waivers)
    assert written.findings() == []
    assert parse_spec(written.document()).check.capability_type == kind


def test_the_worked_example(both: Rounds) -> None:
    spec = parse_spec(both.document("IMP-10-0-0-00", BOTH))
    assert {
        category.key: [f.name for f in category.fields] for category in spec.parsing.categories
    } == {
        "netlist": ["loaded", "tool_name", "tool_version", "timestamp", "format"],
        "spef": ["loaded", "tool_name", "tool_version", "timestamp", "standard_version"],
        None: ["source_file", "line_number", "matched_content"],
    }
    assert [
        (item.id, item.name, item.rule.check, item.rule.quantifier, item.rule.select)
        for item in spec.check.items
    ] == [
        ("2.1", "Netlist File Loading Status", "existence", "per_file", "netlist.loaded"),
        ("2.2", "Netlist Version Completeness", "existence", "per_file", "netlist.tool_name"),
        ("2.3", "SPEF File Loading Status", "existence", "per_file", "spef.loaded"),
        ("2.4", "SPEF Version Completeness", "existence", "per_file", "spef.tool_name"),
    ]
    assert [(s.id, s.items) for s in spec.waiver.scenarios] == [
        ("3.1", ("2.3",)),
        ("3.2", ("2.4",)),
        ("3.3", ("2.2",)),
        ("3.4", ("2.2", "2.4")),
    ]
    assert [decision.waivable for decision in spec.waiver.decisions] == [False, True, True, True]
    assert [scenario.name for scenario in spec.guide.scenarios] == [
        "SPEF Unavailable During Synthesis",
        "Golden Netlist with Historical Timestamp",
        "Vendor-Specific SPEF Format Extensions",
        "Multiple Netlist and SPEF Files in a Hierarchical Design",
    ]
    assert [row.applicable for row in spec.guide.matrix] == [True, True, True, False, False, False]


def test_the_type_is_corrected_with_its_reason(both: Rounds) -> None:
    analysis = parse_analysis(both.analysis)
    assert len(analysis.steps) == 7
    assert analysis.capability_type == 4
    assert analysis.reason.startswith("corrected from type 1")
    assert "slash" in analysis.reading


def test_patterns_make_version_items_pattern_items_and_loading_stays() -> None:
    check = parse_section2(rounds(BOTH, 2).section2)
    assert [item.rule.check for item in check.items] == [
        "existence",
        "pattern",
        "existence",
        "pattern",
    ]
    assert check.correspondence == ("2.2", "2.4")


def test_patterns_for_endpoints_are_left_to_a_model() -> None:
    with pytest.raises(NeedsModel, match=r"requirements\.value: 2"):
        rounds(ENDPOINTS, 2)


def test_what_was_narrowed_is_in_names_and_fields() -> None:
    written = rounds(ENDPOINTS.replace("setup", "hold"))
    assert [item.name for item in parse_section2(written.section2).items] == [
        "Endpoint Hold Timing"
    ]
    assert "narrowed to `hold`" in written.section1
    assert '"check": "hold"' in written.section1


# -- a person's edits


def test_a_field_removed_from_the_analysis_stays_away(both: Rounds) -> None:
    edited = "\n".join(
        line for line in both.analysis.splitlines() if "`netlist.format`" not in line
    )
    one = tagged(ask("section1", previous_analysis=edited), "section1")
    assert "netlist.format" not in parse_section1(one).dotted_fields()
    two = tagged(ask("section2", section1_parsing_logic=one, analysis_reference=edited), "section2")
    assert "netlist.format" not in two


def test_an_item_removed_from_the_analysis_stays_away(both: Rounds) -> None:
    edited = "\n".join(
        line for line in both.analysis.splitlines() if "SPEF File Loading Status" not in line[:40]
    )
    two = tagged(
        ask("section2", section1_parsing_logic=both.section1, analysis_reference=edited), "section2"
    )
    assert [item.id for item in parse_section2(two).items] == ["2.1", "2.2", "2.3"]
    assert parse_section2(two).items[2].name == "SPEF Version Completeness"


def test_an_optional_field_that_a_person_adds_is_known(both: Rounds) -> None:
    edited = both.analysis.replace(
        "- `spef.loaded` (Boolean)", "- `spef.loaded` (Boolean)\n- `spef.vendor` (String)"
    )
    assert (
        "spef.vendor"
        in parse_section1(
            tagged(ask("section1", previous_analysis=edited), "section1")
        ).dotted_fields()
    )


@pytest.mark.parametrize(
    ("role", "old", "new", "words"),
    [
        ("section1", "`netlist.format`", "`netlist.dialect`", "netlist.dialect"),
        ("section2", "2. Netlist Version Completeness", "2. Netlist Size", "Netlist Size"),
        ("section2", "### Step 5", "### Thoughts", "no step 5"),
        (
            "section2",
            "**Capability type**: 4",
            "**Capability type**: unclear",
            "no capability type",
        ),
    ],
)
def test_what_no_knowledge_has_is_named(
    both: Rounds, role: str, old: str, new: str, words: str
) -> None:
    assert old in both.analysis
    edited = both.analysis.replace(old, new)
    blocks = {
        "previous_analysis": edited,
        "analysis_reference": edited,
        "section1_parsing_logic": both.section1,
    }
    with pytest.raises(NeedsModel, match=words):
        ask(role, **blocks)


def test_an_item_whose_field_was_removed_is_named(both: Rounds) -> None:
    one = "\n".join(line for line in both.section1.splitlines() if "`loaded` (Boolean)" not in line)
    with pytest.raises(NeedsModel, match=r"without netlist\.loaded"):
        ask("section2", section1_parsing_logic=one, analysis_reference=both.analysis)


def test_a_renamed_item_stops_the_rounds_after_it(both: Rounds) -> None:
    two = both.section2.replace(
        "### 2.2 Netlist Version Completeness", "### 2.2 Origin of the Netlist"
    )
    with pytest.raises(NeedsModel, match="Origin of the Netlist"):
        ask("section3", previous_sections=two)
    with pytest.raises(NeedsModel, match="Origin of the Netlist"):
        ask("section4", previous_sections_summary=summary_of(both.section1, two, both.section3))


def test_a_choice_that_does_not_exist_is_named() -> None:
    written = rounds(ENDPOINTS)
    edited = written.analysis.replace("check = `setup`", "check = `recovery`")
    with pytest.raises(NeedsModel, match="recovery"):
        ask("section1", previous_analysis=edited)


def test_without_its_block_a_rule_abstains() -> None:
    for role in RULE_VERSIONS:
        with pytest.raises(NeedsModel, match="no block"):
            ask(role.removeprefix("checklist."))


def test_a_configuration_that_is_no_yaml_is_left_alone() -> None:
    for text in ("description: [", "- a\n- b\n", "description:\n"):
        with pytest.raises(NeedsModel):
            ask("analysis", configuration=text)


def test_answers_name_what_they_rest_on() -> None:
    knowledge = shipped()
    reply = ask("analysis", configuration=configuration(BOTH))
    assert {(s.name, s.digest) for s in reply.answered_from} == {
        (name, knowledge.digests[name]) for name in ("_common.yaml", "versions.yaml")
    }
    assert set(rule_table(knowledge)) == set(RULE_VERSIONS)
