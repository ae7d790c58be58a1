"""What a round sees of the earlier ones: the table, the excerpts, and a part that is not built
as it should be.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.checklist.atoms import ENTRY_KEYS
from transom.checklist.writing.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
    section_texts,
)
from transom.checklist.writing.earlier import DETAILS, EARLIER, SUMMARY_TOKENS, earlier_blocks
from transom.checklist.writing.rounds import ROUNDS
from transom.checklist.writing.views import ROUND_VIEWS
from transom.llm import estimate_tokens

DATA = Path(__file__).parent / "data"
PARTS = section_texts((DATA / "IMP-10-0-0-00_ItemSpec.md").read_text(encoding="utf-8"))
ANALYSIS = (DATA / "IMP-10-0-0-00_analysis.md").read_text(encoding="utf-8")
ONE, TWO, THREE = PARTS["1"], PARTS["2"], PARTS["3"]
TEXTS = {"analysis": ANALYSIS, "section1": ONE, "section2": TWO, "section3": THREE}
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


def names_of(text: str) -> set[str]:
    """The keys and fields of Section 1 as its reader finds them, but for the keys that every
    entry has.
    """
    parsing = parse_section1(text)
    fields = {field.name for category in parsing.categories for field in category.fields}
    return {*parsing.keys(), *fields} - {*ENTRY_KEYS}


def seen(role: str, block: str, tokens: int = SUMMARY_TOKENS, **texts: str) -> str:
    """What a round sees in a block, with some texts in place of the usual ones."""
    blocks = earlier_blocks(f"checklist.{role}", {**TEXTS, **texts}, tokens=tokens)
    return next(one.text for one in blocks if one.name == block)


def summary(tokens: int = SUMMARY_TOKENS, **texts: str) -> str:
    return seen("section4", "previous_sections_summary", tokens, **texts)


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
                lines[at] = (
                    f"#{lines[at]}" if lines[at].startswith("#") else lines[at].replace("**", "")
                )
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
        used = {excerpt.of for excerpt in excerpts}
        assert used == set(each.inputs) - {"config", "files", "similar"}, (
            "a stage rests on exactly what its round sees"
        )


def test_excerpts_of_one_block_follow_one_another() -> None:
    shown = seen("section3", "previous_sections")
    assert shown.startswith("## 1. Parsing Logic")
    assert shown.endswith(
        TWO[TWO.index("## 2. Check Logic") : TWO.index("### Validation Sequence")].rstrip() + "\n"
    )
    assert "### Step 7" in seen("section3", "analysis_reference")


# -- the analysis


def test_steps_are_given_as_written_and_the_conclusion() -> None:
    shown = seen("section2", "analysis_reference")
    start, end = ANALYSIS.index("### Step 5"), ANALYSIS.index("### Step 7")
    assert shown.startswith(ANALYSIS[start:end])
    whole, cut = parse_analysis(ANALYSIS), parse_analysis(shown)
    assert [step.number for step in cut.steps] == [5, 6]
    assert (cut.reading, cut.reason, cut.capability_type) == (
        whole.reading,
        whole.reason,
        whole.capability_type,
    )


def test_an_analysis_whose_conclusion_would_be_lost_is_given_whole() -> None:
    text = ANALYSIS.replace("### Conclusion\n", "")
    assert seen("section2", "analysis_reference", analysis=text) == text


@few
@given(damaged(ANALYSIS))
def test_what_an_excerpt_is_to_show_of_an_analysis_is_there(text: str) -> None:
    whole, cut = (
        parse_analysis(text),
        parse_analysis(seen("section2", "analysis_reference", analysis=text)),
    )
    wanted = {step.number for step in whole.steps if step.number in (5, 6)}
    assert wanted <= {step.number for step in cut.steps}
    assert (cut.reading, cut.capability_type, cut.reason) == (
        whole.reading,
        whole.capability_type,
        whole.reason,
    )


# -- Sections 1 and 2


def test_fields_are_as_written_and_one_example_stays() -> None:
    shown = seen("section2", "section1_parsing_logic")
    assert shown.startswith(ONE[: ONE.index("### 1.3 File Metadata")].rstrip())
    assert shown.count("```python") == 1
    assert parse_section1(shown).output_example is not None
    assert "**parsed_fields Example**" not in shown
    assert '"value": "netlist Genus 21.10-s080_1 2025-03-04 11:52:07 Verilog"' in shown


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  - `matched_content`", "  - `page` (Integer): the page\n  - `matched_content`"),
        ("### 1.2 SPEF File Information", "### 1.2 File metadata of a SPEF"),
    ],
)
def test_a_section_1_of_which_a_name_would_be_lost_is_given_whole(old: str, new: str) -> None:
    assert old in ONE
    text = ONE.replace(old, new)
    assert seen("section2", "section1_parsing_logic", section1=text) == text


@few
@given(damaged(ONE))
def test_every_key_and_field_is_in_every_excerpt_of_section_1(text: str) -> None:
    blocks = (("section2", "section1_parsing_logic"), ("section3", "previous_sections"))
    for shown in (
        *(seen(role, block, section1=text) for role, block in blocks),
        summary(section1=text),
    ):
        assert [name for name in names_of(text) if name not in shown] == []


def test_section_2_loses_its_sequence_and_nothing_else() -> None:
    moved = (
        TWO.replace("### Validation Sequence", "#### Validation Sequence")
        + "\n##### Remarks\n\nSeen twice.\n"
    )
    shown = seen("section3", "previous_sections", section2=moved)
    assert shown.endswith("##### Remarks\n\nSeen twice.\n")
    assert "Validation Sequence" not in shown
    unknown = TWO.replace("### Validation Sequence", "### In this order")
    assert seen("section3", "previous_sections", section2=unknown).endswith(unknown)


# -- the summary


def test_the_summary_says_what_the_sections_say() -> None:
    shown = summary()
    assert estimate_tokens(shown) < 0.6 * estimate_tokens(ONE + TWO + THREE)
    assert parse_section1(shown).dotted_fields() == parse_section1(ONE).dotted_fields()
    whole, cut = parse_section2(TWO), parse_section2(shown)
    for name in ("interpretation", "capability_type", "overall_pass", "overall_fail", "edge_cases"):
        assert getattr(cut, name) == getattr(whole, name), name
    for old, new in zip(whole.items, cut.items, strict=True):
        assert (new.purpose, new.completeness, new.passes) == ("", "", "")
        assert new.rule == old.rule
        assert new.fails == old.fails
    before, after = parse_section3(THREE), parse_section3(shown)
    for one, other in zip(before.scenarios, after.scenarios, strict=True):
        assert (other.scenario, other.justification) == ("", "")
        for name in ("id", "name", "items", "reason", "keywords", "stages"):
            assert getattr(other, name) == getattr(one, name), name
    assert [(d.item, d.waivable) for d in after.decisions] == [
        (d.item, d.waivable) for d in before.decisions
    ]
    assert after.supported


@pytest.mark.slow
@few
@given(damaged(ONE), damaged(TWO), damaged(THREE), st.integers(0, SUMMARY_TOKENS))
def test_every_name_and_id_is_in_a_summary_of_any_size(
    one: str, two: str, three: str, tokens: int
) -> None:
    shown = summary(tokens, section1=one, section2=two, section3=three)
    wanted = names_of(one)
    wanted |= {text for item in parse_section2(two).items for text in (item.id, item.name)}
    wanted |= {text for each in parse_section3(three).scenarios for text in (each.id, each.name)}
    assert [text for text in wanted if text not in shown] == []


@pytest.mark.slow
@few
@given(st.integers(0, 2_000), st.integers(1, 60))
def test_a_summary_keeps_its_bound_or_names_alone_and_says_what_is_left_out(
    tokens: int, words: int
) -> None:
    wordy = TWO.replace("- **FAIL condition**:", f"- **FAIL condition**: {'prose ' * words}")
    shown = summary(tokens, section2=wordy)
    _, mark, told = shown.partition("(Left out for want of room: ")
    dropped = tuple(told.strip().removesuffix(".)").split(", ")) if mark else ()
    assert dropped == DETAILS[: len(dropped)]
    assert estimate_tokens(shown) <= tokens or dropped == DETAILS
    assert ("prose" in shown) == ("fail condition" not in dropped)
