"""What a round sees of the earlier ones: the table, the excerpts, and a part that is not built as it should be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.checklist.spec.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
    section_texts,
)
from transom.checklist.spec.earlier import EARLIER, earlier_blocks
from transom.checklist.spec.excerpts import (
    analysis_excerpt,
    is_of_every_entry,
    section1_fields,
    section1_names,
    section2_rules,
)
from transom.checklist.spec.rounds import ROUNDS
from transom.checklist.spec.summary import DETAILS, SUMMARY_TOKENS, summarise
from transom.checklist.spec.views import ROUND_VIEWS
from transom.llm import estimate_tokens

DATA = Path(__file__).parent / "data"
PARTS = section_texts((DATA / "IMP-10-0-0-00_ItemSpec.md").read_text(encoding="utf-8"))
ANALYSIS = (DATA / "IMP-10-0-0-00_analysis.md").read_text(encoding="utf-8")
ONE, TWO, THREE = PARTS["1"], PARTS["2"], PARTS["3"]
LABELS = ("Notation", "Capability type", "Reason")
NOISE = [
    "",
    "### Remarks",
    "#### Details",
    "## 9. Other",
    "- a line",
    "**Bold**: text",
    "```",
    "| a | b |",
    "|---|---|",
]

few = settings(max_examples=examples(40), deadline=None)


def fields_of(text: str) -> set[str]:
    """The fields of Section 1 as its reader finds them, but for the keys that every entry has."""
    found = parse_section1(text).categories
    return {field.name for category in found if not is_of_every_entry(category) for field in category.fields}


def keys_of(text: str) -> set[str]:
    return set(parse_section1(text).keys())


@st.composite
def damaged(draw: st.DrawFn, text: str) -> str:
    """The text with some lines lost, moved, or come in from elsewhere."""
    lines = text.splitlines()
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["lose", "come", "level", "double"])):
            case "lose" if len(lines) > 1:
                del lines[at]
            case "come":
                lines.insert(at, draw(st.sampled_from(NOISE)))
            case "level":
                lines[at] = f"#{lines[at]}" if lines[at].startswith("#") else lines[at].replace("**", "")
            case _:
                lines.insert(at, lines[at])
    return "\n".join(lines) + "\n"


# -- the table

ELSEWHERE = ("configuration", "similar_items", "previous_section", "observed", "retry")


def test_the_table_has_the_rounds_and_their_blocks() -> None:
    assert list(EARLIER) == list(ROUND_VIEWS) == [each.role for each in ROUNDS]
    for each in ROUNDS:
        excerpts = EARLIER[each.role]
        given = [name for name in ROUND_VIEWS[each.role].dynamic if name not in ELSEWHERE]
        assert list(dict.fromkeys(excerpt.block for excerpt in excerpts)) == given
        used = {tag for excerpt in excerpts for tag in excerpt.of}
        assert used == set(each.inputs) - {"config", "files", "similar"}, "a stage rests on exactly what its round sees"


def test_excerpts_of_one_block_follow_one_another() -> None:
    texts = {"section1": ONE, "section2": TWO, "analysis": ANALYSIS}
    sections, analysis = earlier_blocks("checklist.section3", texts)
    assert sections.text == f"{section1_names(ONE)}\n{section2_rules(TWO)}"
    assert (sections.name, analysis.name) == ("previous_sections", "analysis_reference")
    assert "### Step 7" in analysis.text


# -- the analysis


def test_steps_are_given_as_written_and_labels_of_the_conclusion() -> None:
    shown = analysis_excerpt(ANALYSIS, steps=(5, 6), labels=("Notation", "Reason"))
    start, end = ANALYSIS.index("### Step 5"), ANALYSIS.index("### Step 7")
    assert shown.startswith(ANALYSIS[start:end])
    whole, cut = parse_analysis(ANALYSIS), parse_analysis(shown)
    assert [step.number for step in cut.steps] == [5, 6]
    assert (cut.reading, cut.reason, cut.capability_type) == (whole.reading, whole.reason, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### Step 7", "### Last thoughts"),
        ("### Step 3: Required fields", "**Step 3: Required fields**"),
        ("### Conclusion", "### Result"),
        ("### Conclusion", "### Open questions\n\nSome.\n\n### Conclusion"),
        ("- **Reason**:", "- Since"),
        ("**Capability type**: 4", "**Capability type**: unclear"),
    ],
)
def test_an_analysis_that_is_built_otherwise_is_given_whole(old: str, new: str) -> None:
    assert old in ANALYSIS
    text = ANALYSIS.replace(old, new)
    assert analysis_excerpt(text, steps=(7,), labels=LABELS) == text


@few
@given(damaged(ANALYSIS))
def test_what_an_excerpt_is_to_show_of_an_analysis_is_there(text: str) -> None:
    whole = parse_analysis(text)
    cut = parse_analysis(analysis_excerpt(text, steps=(5, 6), labels=LABELS))
    wanted = [(step.number, step.text) for step in whole.steps if step.number in (5, 6)]
    assert wanted == [(step.number, step.text) for step in cut.steps if step.number in (5, 6)]
    assert (cut.reading, cut.capability_type, cut.reason) == (whole.reading, whole.capability_type, whole.reason)


# -- Sections 1 and 2


def test_fields_are_as_written_and_examples_become_one_line_each() -> None:
    shown = section1_fields(ONE)
    assert shown.startswith(ONE[: ONE.index("### 1.3 File Metadata")].rstrip())
    assert "```" not in shown
    assert '"netlist Genus 21.10-s080_1 2025-03-04 11:52:07 Verilog"; "spef loaded: top_slow.spef"' in shown
    assert shown.endswith("**References to other files**, by kind: `spef`\n")


def test_names_can_be_read_like_the_section() -> None:
    shown = parse_section1(section1_names(ONE))
    assert shown.dotted_fields() == parse_section1(ONE).dotted_fields()
    assert [category.name for category in shown.categories] == ["Netlist File Information", "SPEF File Information"]
    assert not any(field.meaning for category in shown.categories for field in category.fields)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("### 1.2 SPEF File Information", "### SPEF File Information"),
        ("### 1.1 Netlist", "### 1.1 Netlist\n\n- **Purpose**: x\n\n### 1.9 Other"),
        ("- **Category key**: `spef`\n", ""),
        ("  - `matched_content`", "  - `page` (Integer): the page\n  - `matched_content`"),
        ("### Data Structure", "### Layout"),
        ("**Output Example**:", "**What comes out**:"),
        ('"value": "netlist', '"value": ... "netlist'),
    ],
)
@pytest.mark.parametrize("make", [section1_fields, section1_names])
def test_a_section_1_that_is_built_otherwise_is_given_whole(make: Callable[[str], str], old: str, new: str) -> None:
    assert old in ONE
    text = ONE.replace(old, new)
    assert make(text) == text


@few
@given(damaged(ONE))
def test_every_key_and_field_is_in_both_excerpts_of_section_1(text: str) -> None:
    for shown in (section1_fields(text), section1_names(text)):
        assert [name for name in fields_of(text) | keys_of(text) if name not in shown] == []


def test_section_2_loses_its_sequence_and_nothing_else() -> None:
    assert section2_rules(TWO) == TWO[: TWO.index("### Validation Sequence")].rstrip() + "\n"
    moved = TWO.replace("### Validation Sequence", "#### Validation Sequence") + "\n##### Remarks\n\nSeen twice.\n"
    assert section2_rules(moved).endswith("##### Remarks\n\nSeen twice.\n")
    unknown = TWO.replace("### Validation Sequence", "### In this order")
    assert section2_rules(unknown) == unknown


# -- the summary


def test_the_summary_says_what_the_sections_say() -> None:
    shown = summarise(ONE, TWO, THREE)
    assert estimate_tokens(shown) < 0.55 * estimate_tokens(ONE + TWO + THREE)
    assert parse_section1(shown).dotted_fields() == parse_section1(ONE).dotted_fields()
    whole, cut = parse_section2(TWO), parse_section2(shown)
    for name in ("interpretation", "capability_type", "overall_pass", "overall_fail", "edge_cases"):
        assert getattr(cut, name) == getattr(whole, name), name
    for old, new in zip(whole.items, cut.items, strict=True):
        for name in ("id", "name", "required", "condition", "validation", "mode", "quantifier", "fails"):
            assert getattr(new, name) == getattr(old, name), name
    before, after = parse_section3(THREE), parse_section3(shown)
    for one, other in zip(before.scenarios, after.scenarios, strict=True):
        for name in ("id", "name", "items", "reason", "keywords", "stages"):
            assert getattr(other, name) == getattr(one, name), name
    assert [(d.item, d.waivable) for d in after.decisions] == [(d.item, d.waivable) for d in before.decisions]
    assert after.supported


def test_a_check_without_waivers_has_a_summary() -> None:
    none = THREE[: THREE.index("### 3.1")].replace("yes (type 4", "no (type 1") + THREE[THREE.index("### Waiver") :]
    shown = summarise(ONE, TWO, none.replace("| yes |", "| no |"))
    after = parse_section3(shown)
    assert (after.supported, after.scenarios) == (False, ())
    assert [d.waivable for d in after.decisions] == [False] * 4


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [
        ("1", "### 1.2 SPEF File Information", "### SPEF File Information"),
        ("2", "### 2.2 Netlist Version Completeness", "### Netlist Version Completeness"),
        ("2", "- **Mode**: require\n", ""),
        ("2", "**Capability type**: 4", "**Capability type**: open"),
        ("2", "### Edge Cases", "### Special cases"),
        ("3", "### 3.2 SPEF Version Completeness (Item 2.4)", "### SPEF Version Completeness (Item 2.4)"),
        ("3", "### Waiver Decisions", "### Which items"),
        ("3", "**Waiver support**: yes", "**Waiver support**: partly"),
    ],
)
def test_only_the_section_that_is_built_otherwise_is_given_whole(number: str, old: str, new: str) -> None:
    texts = {"1": ONE, "2": TWO, "3": THREE}
    assert old in texts[number]
    texts[number] = texts[number].replace(old, new)
    shown = summarise(*texts.values())
    for name, text in texts.items():
        assert (text.strip() in shown) == (name == number)


@pytest.mark.slow
@few
@given(damaged(ONE), damaged(TWO), damaged(THREE), st.integers(0, SUMMARY_TOKENS))
def test_every_name_and_id_is_in_a_summary_of_any_size(one: str, two: str, three: str, tokens: int) -> None:
    shown = summarise(one, two, three, tokens=tokens)
    check = parse_section2(two)
    wanted = fields_of(one) | keys_of(one)
    wanted |= {text for item in check.items for text in (item.id, item.name)}
    wanted |= {text for each in parse_section3(three).scenarios for text in (each.id, each.name)}
    assert [text for text in wanted if text not in shown] == []


@pytest.mark.slow
@few
@given(st.integers(0, 2_000), st.integers(1, 60))
def test_a_summary_keeps_its_bound_or_names_alone_and_says_what_is_left_out(tokens: int, words: int) -> None:
    wordy = ONE.replace(" (String): ", f" (String): {'prose ' * words}")
    shown = summarise(wordy, TWO.replace("- **FAIL condition**:", f"- **FAIL condition**: {'prose ' * words}"), THREE,
                      tokens=tokens)  # fmt: skip
    _, mark, told = shown.partition("(Left out for want of room: ")
    dropped = tuple(told.strip().removesuffix(".)").split(", ")) if mark else ()
    assert dropped == DETAILS[: len(dropped)]
    assert estimate_tokens(shown) <= tokens or dropped == DETAILS
    assert ("prose" in shown) == bool({"FAIL conditions", "meanings of the fields"} - set(dropped))


def test_a_section_given_whole_takes_no_room_from_the_others() -> None:
    odd = ONE.replace("### 1.2 SPEF File Information", "### SPEF File Information")
    tight = estimate_tokens(summarise(ONE, TWO, THREE))
    assert "Left out" not in summarise(odd, TWO, THREE, tokens=tight)
