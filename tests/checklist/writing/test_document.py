"""Reading an ItemSpec: the worked example in full, what models write instead, what is missing."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.checklist.atoms import Operator
from transom.checklist.writing import words
from transom.checklist.writing.document import (
    SECTION_NAMES,
    assemble,
    needs_review,
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
    parse_section4,
    parse_spec,
    section_texts,
)
from transom.checklist.writing.gate import check_spec
from transom.checklist.writing.review_mark import clean, is_marked
from transom.checklist.writing.shapes import SpecDocument
from transom.errors import InputError
from transom.evidence.findings import Finding

DATA = Path(__file__).parent / "data"
EXAMPLE = (DATA / "IMP-10-0-0-00_ItemSpec.md").read_text(encoding="utf-8")
ANALYSIS = (DATA / "IMP-10-0-0-00_analysis.md").read_text(encoding="utf-8")
TITLES = (
    "## 1. Parsing Logic",
    "## 2. Check Logic",
    "## 3. Waiver Logic",
    "## 4. Implementation Guide",
)


def four_sections() -> dict[str, str]:
    starts = [EXAMPLE.index(title) for title in TITLES] + [len(EXAMPLE)]
    return {str(n + 1): EXAMPLE[starts[n] : starts[n + 1]] for n in range(4)}


def bare(value: object) -> object:
    """A shape without lines and texts, for comparing what two spellings say."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [
            f.name
            for f in dataclasses.fields(value)
            if f.name not in {"line", "lines", "text", "pattern_line"}
        ]
        return {name: bare(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [bare(part) for part in value]
    return value


def line_of(text: str) -> int:
    return EXAMPLE[: EXAMPLE.index(text)].count("\n") + 1


@pytest.fixture(scope="module")
def doc() -> SpecDocument:
    return parse_spec(EXAMPLE)


def test_title_and_description(doc: SpecDocument) -> None:
    assert (doc.item_id, doc.description) == (
        "IMP-10-0-0-00",
        "Confirm the netlist/spef version is correct.",
    )


def test_categories_and_fields(doc: SpecDocument) -> None:
    found = {
        c.key: (c.number, c.name, [(f.name, f.type) for f in c.fields])
        for c in doc.parsing.categories
    }
    shared = [
        ("loaded", "Boolean"),
        ("tool_name", "String"),
        ("tool_version", "String"),
        ("timestamp", "String"),
    ]
    assert found == {
        "netlist": ("1.1", "Netlist File Information", [*shared, ("format", "String")]),
        "spef": ("1.2", "SPEF File Information", [*shared, ("standard_version", "String")]),
        None: (
            "1.3",
            "File Metadata",
            [("source_file", "String"), ("line_number", "Integer"), ("matched_content", "String")],
        ),
    }
    assert doc.parsing.keys() == ("netlist", "spef")
    assert len(doc.parsing.dotted_fields()) == 10
    assert doc.parsing.categories[0].fields[1].line == line_of("  - `tool_name`")


def test_examples_are_data_with_their_line(doc: SpecDocument) -> None:
    shown, output = doc.parsing.fields_example, doc.parsing.output_example
    assert shown is not None
    assert output is not None
    assert isinstance(shown.value, dict)
    assert list(shown.value) == ["netlist", "spef"]
    assert isinstance(output.value, list)
    assert len(output.value) == 2
    assert shown.line == line_of('{\n    "netlist"')


def test_validation_items(doc: SpecDocument) -> None:
    assert [
        (i.id, i.name, i.required, i.check, i.mode, i.quantifier, i.select)
        for i in (item.rule for item in doc.check.items)
    ] == [
        (
            "2.1",
            "Netlist File Loading Status",
            ("netlist.loaded",),
            "existence",
            "require",
            "per_file",
            "netlist.loaded",
        ),
        (
            "2.2",
            "Netlist Version Completeness",
            ("netlist.tool_name", "netlist.tool_version", "netlist.timestamp", "netlist.format"),
            "existence",
            "require",
            "per_file",
            "netlist.tool_name",
        ),
        (
            "2.3",
            "SPEF File Loading Status",
            ("spef.loaded",),
            "existence",
            "require",
            "per_file",
            "spef.loaded",
        ),
        (
            "2.4",
            "SPEF Version Completeness",
            ("spef.tool_name", "spef.tool_version", "spef.timestamp", "spef.standard_version"),
            "existence",
            "require",
            "per_file",
            "spef.tool_name",
        ),
    ]
    first = doc.check.items[0].rule.condition
    assert first is not None
    assert (first.field, first.op, first.value) == ("netlist.loaded", Operator.EQUALS, True)
    assert doc.check.items[1].rule.condition is None
    assert doc.check.capability_type == 4
    assert (doc.check.pattern_ids, doc.check.existence_ids) == ((), ("2.1", "2.2", "2.3", "2.4"))
    assert doc.check.correspondence == ()
    assert len(doc.check.edge_cases) == len(doc.check.sequence) == 5


def test_waivers(doc: SpecDocument) -> None:
    assert doc.waiver.supported is True
    assert [(s.id, s.name, s.items) for s in doc.waiver.scenarios] == [
        ("3.1", "SPEF File Loading Status", ("2.3",)),
        ("3.2", "SPEF Version Completeness", ("2.4",)),
        ("3.3", "Netlist Version Completeness", ("2.2",)),
        ("3.4", "Version Information of Both Files", ("2.2", "2.4")),
    ]
    assert doc.waiver.stages_of("2.3") == ("synthesis", "pre-extraction", "floorplan")
    assert doc.waiver.keywords_of("2.1") == ()
    assert doc.waiver.keywords_of("2.4")[:2] == ("SPEF", "legacy")
    assert [(d.item, d.waivable) for d in doc.waiver.decisions] == [
        ("2.1", False),
        ("2.2", True),
        ("2.3", True),
        ("2.4", True),
    ]


def test_guide(doc: SpecDocument) -> None:
    assert [(s.rank, s.kind, s.files) for s in (d.source for d in doc.guide.sources)] == [
        ("primary", "sta_log", ("sta*.log", "timing*.log", "*.log")),
        ("secondary", "netlist", ("*.v", "*.vg")),
        ("secondary", "spef", ("*.spef",)),
        ("fallback", "", ()),
    ]
    assert [(e.category, len(e.keywords), len(e.patterns)) for e in doc.guide.extractions] == [
        ("netlist", 5, 3),
        ("spef", 6, 2),
    ]
    assert all(re.compile(p.regex) for e in doc.guide.extractions for p in e.patterns)
    assert [
        len(part) for part in (doc.guide.references, doc.guide.error_tolerance, doc.guide.steps)
    ] == [1, 4, 3]
    assert [(s.number, s.items) for s in doc.guide.scenarios] == [
        (1, ("2.1", "2.2", "2.3", "2.4")),
        (2, ("2.1", "2.2")),
        (3, ("2.3", "2.4")),
        (4, ("2.1", "2.2", "2.3", "2.4")),
    ]
    assert [(r.requirements, r.waivers, r.applicable) for r in doc.guide.matrix] == [
        ("N/A", "N/A", True),
        ("N/A", "0", True),
        ("N/A", ">0", True),
        (">0", "N/A", False),
        (">0", "0", False),
        (">0", ">0", False),
    ]


def test_analysis_corrects_the_type_and_says_why() -> None:
    analysis = parse_analysis(ANALYSIS)
    assert [step.number for step in analysis.steps] == [1, 2, 3, 4, 5, 6, 7]
    assert analysis.capability_type == 4
    assert "type 1" in analysis.reason
    assert "slash" in analysis.reading
    assert ANALYSIS.split("\n")[analysis.line - 1].startswith("- **Capability type**")


def test_the_last_word_on_the_type_counts() -> None:
    text = ANALYSIS.replace(
        "None: no particular", "- Capability type: 1\n- Reason: too early\n\nNone: no particular"
    )
    analysis = parse_analysis(text)
    assert analysis.capability_type == 4
    assert "step 7" in analysis.reason


def _numbered(text: str) -> str:
    return re.sub(r"^- ", "1. ", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(lambda t: t.replace("\n", "\r\n"), id="crlf"),
        pytest.param(
            lambda t: re.sub(r"^(\s*)- (?!item:)", r"\1* ", t, flags=re.MULTILINE), id="stars"
        ),
        pytest.param(lambda t: t.replace("**", ""), id="not bold"),
        pytest.param(lambda t: re.sub(r"\*\*([^*]+)\*\*:", r"**\1:**", t), id="colon inside"),
        pytest.param(lambda t: t.replace("**", "__"), id="underscores"),
        pytest.param(
            lambda t: t.replace("```python", "```json").replace("True", "true"), id="json fences"
        ),
        pytest.param(lambda t: t.replace("```python", "```"), id="fences without language"),
        pytest.param(lambda t: t.replace("```", "~~~"), id="tildes"),
        pytest.param(
            lambda t: re.sub(r"^## (\d)\.", r"## Section \1:", t, flags=re.MULTILINE),
            id="section n",
        ),
        pytest.param(lambda t: re.sub(r"^## (\d)", r"# \1", t, flags=re.MULTILINE), id="level 1"),
        pytest.param(
            lambda t: re.sub(r"^### (\d\.\d.*)$", r"**\1**", t, flags=re.MULTILINE),
            id="bold headings",
        ),
        pytest.param(lambda t: t.replace("\n- **", "\n\n- **"), id="loose lists"),
        pytest.param(lambda t: re.sub(r"\n- \*\*(\w)", r"\n\n**\1", t), id="paragraphs"),
        pytest.param(
            lambda t: t.replace("Required fields", "Required Fields (all)"), id="label with a note"
        ),
        pytest.param(
            lambda t: t.replace("`netlist.", "`parsed_fields.netlist."), id="full field names"
        ),
        pytest.param(
            lambda t: t.replace("```python\n{", "```python\nparsed_fields = {"), id="assignment"
        ),
        pytest.param(lambda t: t.replace("2.1, 2.2, 2.3, 2.4\n", "all items\n"), id="all items"),
        pytest.param(lambda t: t.replace("(String):", "- string,"), id="types after a dash"),
    ],
)
def test_spellings_say_the_same(spell: Any, doc: SpecDocument) -> None:
    changed = spell(EXAMPLE)
    assert changed != EXAMPLE
    found, wanted = bare(parse_spec(changed)), bare(doc)
    assert isinstance(found, dict)
    assert isinstance(wanted, dict)
    if "string," in changed:
        assert [f.type for c in parse_spec(changed).parsing.categories for f in c.fields].count(
            "String"
        ) == 10
        return
    for part in ("parsing", "check", "waiver", "guide"):
        assert _without_quotes(found[part]) == _without_quotes(wanted[part])


def _without_quotes(value: object) -> str:
    """Field prefixes and language differ between spellings only in free text."""
    text = repr(value).replace("parsed_fields.", "").replace("true", "True").replace("__", "")
    return re.sub(r"\s+", " ", text)


def test_prose_forms() -> None:
    section = parse_section2(
        "### 2.1 Thing\n\nSome words before.\n\n- Required fields: netlist.tool_name and"
        " netlist.tool_version, both\n- Validation type: Existence check (Boolean)\n- Mode:"
        " required\n- Quantifier: for each file, i.e. per file\n- Condition: netlist.loaded is"
        " True\n\n### 2.2 Other\n\n- Completeness: `parsed_fields.spef.date` is there\n"
    )
    first, second = (item.rule for item in section.items)
    assert first.required == ("netlist.tool_name", "netlist.tool_version")
    assert (first.check, first.mode, first.quantifier) == ("existence", "require", "per_file")
    assert first.condition is not None
    assert second.required == ("spef.date",)


def test_decisions_as_a_list_and_fields_as_a_table() -> None:
    waiver = parse_section3(
        "### Waiver Decisions\n\n- Item 2.1 (load): not waivable, broken run\n- 2.2: yes, see 3.1\n"
    )
    assert [(d.item, d.waivable, d.why) for d in waiver.decisions] == [
        ("2.1", False, "broken run"),
        ("2.2", True, "see 3.1"),
    ]
    parsing = parse_section1(
        "### 1.1 Clock\n- Category key: clock\n- Key Fields:\n\n"
        "  | Field | Type | Meaning |\n  |---|---|---|\n  | `name` | str | its name |\n"
        "  | `edges` | list | all of them |\n"
    )
    assert [(f.name, f.type, f.meaning) for f in parsing.categories[0].fields] == [
        ("name", "String", "its name"),
        ("edges", "List", "all of them"),
    ]
    assert parsing.categories[0].key == "clock"


def test_a_section_alone_reads_like_the_section_in_the_document(doc: SpecDocument) -> None:
    cut = four_sections()
    known = doc.check.item_ids()
    for headed in (True, False):
        text = {n: s if headed else s.partition("\n")[2] for n, s in cut.items()}
        assert bare(parse_section1(text["1"])) == bare(doc.parsing)
        assert bare(parse_section2(text["2"])) == bare(doc.check)
        assert bare(parse_section3(text["3"], known)) == bare(doc.waiver)
        assert bare(parse_section4(text["4"], known)) == bare(doc.guide)


def test_section_texts_are_the_document_cut_up() -> None:
    cut = section_texts(EXAMPLE)
    assert tuple(cut) == SECTION_NAMES
    assert all(text in EXAMPLE for text in cut.values())
    assert [text.split("\n")[0] for text in cut.values()] == [
        *TITLES[:3],
        "### 4.1 Item-Specific Implementation Points",
        "### 4.2 Special Scenario Handling",
        "### 4.3 Test Data Generation Guidance",
    ]
    assert "4.2" not in cut["4.1"]
    assert cut["4.3"].rstrip() == EXAMPLE[EXAMPLE.index("### 4.3") :].rstrip()
    assert section_texts(EXAMPLE.replace("\n", "\r\n")) == cut


@pytest.mark.slow
@pytest.mark.parametrize("name", SECTION_NAMES)
def test_a_missing_or_empty_section_is_named(name: str) -> None:
    cut = section_texts(EXAMPLE)
    heading = cut[name].split("\n")[0]
    empty = EXAMPLE.replace(cut[name].rstrip(), heading)
    fenced = EXAMPLE.replace(cut[name].rstrip(), f"```\n{heading}\n```")
    for text in (empty, fenced):
        with pytest.raises(InputError, match=re.escape(name)) as error:
            section_texts(text, artifact="x.md")
        assert error.value.place == "x.md"


@pytest.mark.parametrize("number", ["1", "2", "3", "4"])
def test_parsing_half_a_document_names_what_is_missing(number: str) -> None:
    with pytest.raises(InputError, match=f"section {number} "):
        parse_spec(EXAMPLE.replace(f"## {number}. ", "## "))


def test_half_a_document() -> None:
    with pytest.raises(
        InputError, match=r"sections 3 \(Waiver Logic\), 4 \(Implementation Guide\)"
    ):
        parse_spec(EXAMPLE[: EXAMPLE.index("## 3.")])


def test_headings_in_fences_are_not_sections() -> None:
    trap = EXAMPLE.replace(
        "### Data Structure", "```\n## 2. Check Logic\n### 2.1 Trap\n```\n\n### Data Structure"
    )
    assert parse_spec(trap).check.items[0].name == "Netlist File Loading Status"
    assert "Trap" in section_texts(trap)["1"]


def test_assemble_gives_the_document_back(doc: SpecDocument) -> None:
    assert assemble(doc.item_id, doc.description, four_sections()) == EXAMPLE


def test_assemble_adds_headings_and_drops_what_precedes_them() -> None:
    cut = four_sections()
    cut["1"] = cut["1"].partition("\n")[2]
    cut["2"] = "Here it is:\n\n" + cut["2"].replace("\n", "\r\n")
    assert (
        assemble("IMP-10-0-0-00", "Confirm the netlist/spef\nversion is correct.", cut) == EXAMPLE
    )


def test_needs_review_lists_findings_with_their_lines_in_the_result() -> None:
    broken = EXAMPLE.replace("- **Mode**: require", "- **Mode**: {TODO: mode}", 1)
    findings = check_spec(parse_spec(broken), artifact="x.md")
    assert len(findings) == 2
    text = needs_review(broken, findings)
    line = text[: text.index("{TODO: mode}\n- **Quantifier")].count("\n") + 1
    assert f"spec.placeholders (line {line})" in text
    assert is_marked(text)
    assert not is_marked(broken)
    assert clean(text) == broken
    assert clean(broken) == broken
    again = check_spec(parse_spec(text), artifact="x.md")
    assert [(f.gate, f.message) for f in again] == [(f.gate, f.message) for f in findings]


def test_a_finding_cannot_end_the_comment() -> None:
    text = needs_review(EXAMPLE, [Finding("spec.paths", "x", None, "odd --> text\nand more")])
    assert text.count("-->") == 1
    assert clean(text) == EXAMPLE


@pytest.mark.parametrize(
    ("text", "field", "op", "value"),
    [
        ("`a.b == True`", "a.b", "equals", True),
        ("parsed_fields.a.b == 'x'", "a.b", "equals", "x"),
        ("a.b = 3", "a.b", "equals", 3),
        ("a.b is false", "a.b", "equals", False),
        ("a.b is not None", "a.b", "not_equals", None),
        ("a.b != 0", "a.b", "not_equals", 0),
        ("a.slack >= -0.05", "a.slack", "ge", -0.05),
        ("a.n < 1e3", "a.n", "lt", 1000.0),
        ('a.f in ["x", "y"]', "a.f", "in", ["x", "y"]),
        (r'a.v matches "\d{4}"', "a.v", "matches", r"\d{4}"),
        ("a.b exists", "a.b", "exists", None),
    ],
)
def test_conditions(text: str, field: str, op: str, value: object) -> None:
    found = words.condition(text)
    assert found is not None
    assert (found.field, found.op.value, found.value) == (field, op, value)


@pytest.mark.parametrize(
    "text",
    [
        "a.b == True and a.c == 1",
        "a.b",
        "a.b == x",
        "a.b in 3",
        "a.b matches 3",
        "a.b exists always",
        "",
    ],
)
def test_what_is_not_one_comparison(text: str) -> None:
    assert words.condition(text) is None


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("2.1, 2.3", ("2.1", "2.3")),
        ("items 2.2-2.4", ("2.2", "2.3", "2.4")),
        ("items 2.1 to 2.3 and 2.6", ("2.1", "2.2", "2.3", "2.6")),
        ("version 12.3, 2.1.4, v2.10.1", ()),
        ("all items", ("2.1", "2.2")),
        ("2.10", ("2.10",)),
        ("none", ()),
    ],
)
def test_item_ids(text: str, ids: tuple[str, ...]) -> None:
    assert words.item_ids(text, ("2.1", "2.2")) == ids


NO_LITERALS = [
    "{...}",
    "{1: 2}",
    "{'a'}",
    "x = 1\ny = 2",
    "{'a': open('x')}",
    "",
    "{TODO}",
    "{{'a': 1}}",
    "[" * 100_000,
]


@pytest.mark.parametrize("text", NO_LITERALS, ids=lambda text: text[:20])
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(ValueError, match=r"literal|JSON data|text"):
        words.literal(text)


PIECES = ["### 1.1 X", "### 2.1 Y", "## 3. W", "- **Key Fields**:", "  - `a` (String): b", "- Category key: `k`", "```",
          "| Item | Waivable |", "|---|---|", "| 2.1 | no |", "#### Scenario 1: s", "- Primary source: `k` in `*.x`",
          "### 4.1 P", "### 4.3 M", "#### Extraction: `k`", "- Patterns: `(`", "{}", "", "text: more",
          "### Step 1: a"]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=25))
def test_no_text_breaks_the_readers(lines: list[str]) -> None:
    text = "\n".join(lines)
    for read in (parse_section1, parse_section2, parse_section3, parse_section4, parse_analysis):
        read(text)


def test_a_description_comes_back_as_it_was_written() -> None:
    told = "Check *all* `clk_*` nets: no **X** in <top>/a_b_c (waive for `ECO`)"
    assert parse_spec(assemble("A-1", told, four_sections())).description == told


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes, always", True),
        ("Waivable", True),
        ("**No**, broken", False),
        ("not waivable", False),
        ("rarely", None),
    ],
)
def test_yes_and_no(text: str, value: bool | None) -> None:
    assert words.yes_no(text) is value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("4 (Boolean)", 4),
        ("Type 3", 3),
        ("`2`", 2),
        ("14", None),
        ("1.5", None),
        ("", None),
        ("5", None),
    ],
)
def test_capability_types(text: str, kind: int | None) -> None:
    assert words.capability(text) == kind


def test_words_for_modes_and_quantifiers() -> None:
    assert words.choice("forbidden (no latch)", words.MODES) == "forbid"
    assert words.choice("each", words.QUANTIFIERS) == "each"
    assert words.choice("exists", words.QUANTIFIERS) == "exists"
    assert words.choice("per_file", words.QUANTIFIERS) == "per_file"
    assert words.choice("either exists or each", words.QUANTIFIERS) is None
    assert words.choice("Pattern match", words.VALIDATIONS) == "pattern"
