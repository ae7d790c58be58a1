"""The prompt files and the table round x block."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from transom.checklist.atoms import (
    ENTRY_KEYS,
    LOCKED_LAYER,
    SIGNATURES,
    TYPE_NAMES,
    Condition,
    Operator,
    ValidationItem,
)
from transom.checklist.vectors import VECTORS
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.gate import check_section1, check_spec
from transom.checklist.writing.views import (
    BUILD_VIEWS,
    PROMPTS_DIR,
    ROUND_VIEWS,
    VIEWS,
    load_prompt,
)
from transom.formats.markdown import fences, parse
from transom.formats.tags import read_fences, read_tag

COMMON = ("role", "principles", "type_system", "data_structure", "important_notes")
FILES = {path.stem: path.read_text(encoding="utf-8") for path in PROMPTS_DIR.glob("*.md")}
RULES = [*(f"PR{n}" for n in range(1, 7)), *(f"CR{n}" for n in range(1, 6)), *(f"WR{n}" for n in range(3)),
         *(f"Q{n}" for n in range(1, 7))]  # fmt: skip

TABLE = {
    "checklist.analysis": (
        [
            *COMMON,
            "description_patterns",
            "example_reasoning",
            "many_questions",
            "task",
            "instructions",
        ],
        ["configuration", "similar_items", "retry"],
        ["analysis"],
    ),
    "checklist.section1": (
        [
            *COMMON,
            "output_format",
            "parsing_rules",
            "task",
            "template_section",
            "worked_answer",
            "instructions",
        ],
        ["configuration", "previous_analysis", "retry"],
        ["section1"],
    ),
    "checklist.section2": (
        [
            *COMMON,
            "output_format",
            "check_rules",
            "task",
            "template_section",
            "worked_answer",
            "instructions",
        ],
        ["configuration", "section1_parsing_logic", "analysis_reference", "retry"],
        ["section2"],
    ),
    "checklist.section3": (
        [
            *COMMON,
            "output_format",
            "waiver_rules",
            "task",
            "template_section",
            "worked_answer",
            "instructions",
        ],
        ["configuration", "previous_sections", "analysis_reference", "retry"],
        ["section3"],
    ),
    "checklist.section4": (
        [
            *COMMON,
            "output_format",
            "parsing_rules",
            "quality_criteria",
            "quality_checklist",
            "task",
            "template_section",
            "worked_answer",
            "instructions",
        ],
        ["configuration", "previous_sections_summary", "previous_section", "observed", "retry"],
        ["section4"],
    ),
    "checklist.parser": (
        [
            "parser_role",
            "data_structure",
            "parsing_rules",
            "parser_contract",
            "parser_tools",
            "parser_instructions",
        ],
        ["section_1", "section_4_1", "available_files", "log_snippets", "playbook", "retry"],
        ["atom_a"],
    ),
    "checklist.logic": (
        ["logic_role", "type_system", "logic_contract", "yaml_template", "logic_instructions"],
        ["section_2", "section_3", "section_4_2", "atom_a_code", "playbook", "retry"],
        ["checker", "atoms"],
    ),
    "checklist.repair_a": (
        [
            "parser_role",
            "data_structure",
            "parsing_rules",
            "parser_contract",
            "parser_tools",
            "instructions",
        ],
        [
            *("section_1", "section_4_1", "available_files", "log_snippets"),
            *("previous_code", "findings", "tried", "guidance", "playbook", "retry"),
        ],
        ["atom_a"],
    ),
    "checklist.answers": (
        ["parser_role", "parser_contract", "instructions"],
        ["section_1", "section_4_1", "previous_code", "questions", "retry"],
        ["answers"],
    ),
    "checklist.repair_b": (
        ["logic_role", "type_system", "logic_contract", "yaml_template", "instructions"],
        [
            *("section_2", "section_3", "section_4_2", "atom_a_code"),
            *("previous_checker", "findings", "tried", "guidance", "playbook", "retry"),
        ],
        ["checker", "atoms"],
    ),
}


def test_the_table_round_by_block() -> None:
    found = {
        role: ([block for block, _ in view.prompt], list(view.dynamic), list(view.tags))
        for role, view in VIEWS.items()
    }
    assert found == TABLE
    assert [*ROUND_VIEWS, *BUILD_VIEWS] == list(TABLE)


def test_numbered_files_become_the_blocks_of_their_round() -> None:
    files = {
        role: [file for block, file in view.prompt if block != file] for role, view in VIEWS.items()
    }
    assert files == {
        "checklist.analysis": ["task_round1", "instructions_round1"],
        "checklist.section1": [
            "task_round2",
            "template_section1",
            "worked_answer_round2",
            "instructions_round2",
        ],
        "checklist.section2": [
            "task_round3",
            "template_section2",
            "worked_answer_round3",
            "instructions_round3",
        ],
        "checklist.section3": [
            "task_round4",
            "template_section3",
            "worked_answer_round4",
            "instructions_round4",
        ],
        "checklist.section4": [
            "task_round5",
            "template_section4",
            "worked_answer_round5",
            "instructions_round5",
        ],
        "checklist.parser": [],
        "checklist.logic": [],
        "checklist.repair_a": ["instructions_repair_a"],
        "checklist.answers": ["instructions_answers"],
        "checklist.repair_b": ["instructions_repair_b"],
    }


def test_every_file_is_seen_by_some_role_and_every_role_by_files_that_exist() -> None:
    assert {file for view in VIEWS.values() for _, file in view.prompt} == set(FILES)


def test_no_role_sees_a_block_twice() -> None:
    for view in VIEWS.values():
        assert len(view.sees) == len(view.prompt) + len(view.dynamic)


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_id_lives_in_exactly_one_file(rule: str) -> None:
    holders = [name for name, text in FILES.items() if re.search(rf"\b{rule}\b", text)]
    home = {
        "P": "parsing_rules",
        "C": "check_rules",
        "W": "waiver_rules",
        "Q": "quality_checklist",
    }[rule[0]]
    assert holders == [home]


def test_every_round_gets_the_type_system_the_data_structure_and_the_notes() -> None:
    for view in ROUND_VIEWS.values():
        assert {"type_system", "data_structure", "important_notes"} <= view.sees


def test_quality_points_name_findings_that_the_gate_makes() -> None:
    points = re.findall(r"\*\*(Q\d),.*?(?=\n- \*\*Q|\Z)", FILES["quality_checklist"], re.DOTALL)
    assert points == [f"Q{n}" for n in range(1, 7)]
    cases = yaml.safe_load((Path(__file__).parent / "data" / "gate_cases.yaml").read_text("utf-8"))[
        "losses"
    ]
    made = {finding for case in cases for finding in case["findings"]} | {
        "spec.items.count",
        "spec.waiver.count",
    }
    for name in re.findall(r"`(spec\.[\w.*]+)`", FILES["quality_checklist"]):
        stem = name.rstrip(".*")
        assert any(finding == stem or finding.startswith(stem) for finding in made), name


def test_no_prompt_holds_a_placeholder_except_the_templates() -> None:
    for name, text in FILES.items():
        assert ("{TODO" in text) is name.startswith("template_section"), name
        assert "<!--" not in text


def test_the_parser_is_told_the_contract_word_for_word() -> None:
    contract = FILES["parser_contract"]
    assert LOCKED_LAYER in contract
    assert SIGNATURES["extract_context"] in contract
    sources = read_fences(contract, "python")[0].text
    names = [node.targets[0].id for node in ast.parse(sources).body if isinstance(node, ast.Assign)
             and isinstance(node.targets[0], ast.Name)]  # fmt: skip
    assert names == ["SCOPE", "SOURCES"]
    assert all(f"`{key}`" in FILES["data_structure"] for key in ENTRY_KEYS)


def test_the_logic_role_is_told_the_signatures_and_the_vectors() -> None:
    contract = FILES["logic_contract"]
    assert SIGNATURES["validate_logic"] in contract
    assert SIGNATURES["check_existence"] in contract
    for operator in Operator:
        assert f"`{operator.value}`" in contract
    for kind in ("alternatives", "regex", "wildcard", "contains", "exact"):
        assert f"`{kind}`" in contract
    assert "Invalid Regex:" in contract
    assert all(f"`{vector.name}`" in contract for vector in VECTORS)


def test_the_yaml_template_has_the_items_keys_and_hides_every_value() -> None:
    (fence,) = read_fences(FILES["yaml_template"], "yaml")
    keys = re.findall(r"^(?:- |  )?(\w+): *(\S*)", fence.text, re.MULTILINE)
    item_keys = {name for name, _ in keys}
    assert set(ValidationItem.model_fields) <= item_keys
    assert {name: value for name, value in keys if value not in {"", "<TO_BE_INFERRED>"}} == {
        "atoms": "standard",
        "matching": "any",
        "keyword_waivers": "true",
    }


def test_type_names_are_those_of_the_runtime() -> None:
    for number, name in TYPE_NAMES.items():
        assert f"| {number} | {name} |" in FILES["type_system"]


@pytest.mark.parametrize(("role", "view"), VIEWS.items())
def test_instructions_name_the_tag_of_the_answer(role: str, view: object) -> None:
    text = "\n".join(load_prompt(file) for _, file in VIEWS[role].prompt if "instructions" in file)
    assert all(f"<{tag}>" in text and f"</{tag}>" in text for tag in VIEWS[role].tags)


def test_the_instructions_of_the_build_roles_show_an_answer_that_can_be_read() -> None:
    assert read_fences(read_tag(load_prompt("parser_instructions"), "atom_a").text, "python")
    assert read_fences(read_tag(load_prompt("logic_instructions"), "checker").text, "yaml")
    assert read_fences(read_tag(load_prompt("logic_instructions"), "atoms").text, "python")


def test_the_worked_answers_are_one_item_spec_that_the_gate_accepts() -> None:
    sections = [
        read_tag(load_prompt(f"worked_answer_round{n + 1}"), f"section{n}").text
        for n in range(1, 5)
    ]
    text = "\n\n".join(
        ["# ItemSpec: CLK-1", "**Description**: Check that all clocks are used.", *sections]
    )
    assert check_spec(parse_spec(text)) == []


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ({"check": "existence check"}, {"check": "existence"}),
        ({"check": "Pattern match"}, {"check": "pattern"}),
        ({"quantifier": "EACH"}, {"quantifier": "each"}),
        ({"quantifier": "per file"}, {"quantifier": "per_file"}),
        ({"quantifier": "per-file", "take": "Last"}, {"take": "last"}),
        ({"mode": "Forbid"}, {"mode": "forbid"}),
    ],
)
def test_the_configuration_may_use_the_words_of_section_2(
    word: dict[str, str], meaning: dict[str, str]
) -> None:
    item = ValidationItem.model_validate({"id": "2.1", "name": "x", "select": "a.b", **word})
    assert {name: getattr(item, name) for name in meaning} == meaning


@pytest.mark.parametrize(
    ("sign", "operator"), [("==", "equals"), ("<=", "le"), (" != ", "not_equals"), ("In", "in")]
)
def test_a_condition_may_use_the_signs_of_section_2(sign: str, operator: str) -> None:
    condition = Condition.model_validate({"field": "a.b", "op": sign, "value": 1})
    assert condition.op == operator


@pytest.mark.parametrize("sign", ["=>", "about", "", 3])
def test_an_unknown_sign_is_refused(sign: object) -> None:
    with pytest.raises(ValidationError):
        Condition.model_validate({"field": "a.b", "op": sign, "value": 1})


def test_templates_have_the_headings_of_their_section() -> None:
    titles = {n: parse(load_prompt(f"template_section{n}"))[1] for n in range(1, 5)}
    assert [(part.level, part.number, part.title) for part in titles.values()] == [
        (2, "1", "Parsing Logic"),
        (2, "2", "Check Logic"),
        (2, "3", "Waiver Logic"),
        (2, "4", "Implementation Guide"),
    ]
    assert (
        len([f for part in parse(load_prompt("template_section1")) for f in fences(part.blocks)])
        == 2
    )
    assert check_section1(load_prompt("template_section1"))


def test_loading() -> None:
    assert load_prompt("role") == FILES["role"].rstrip("\n")
