"""The substance gate: the worked example is clean, and every single loss is found, by name and
line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from transom.checklist.writing.document import parse_section1, parse_section2, parse_spec
from transom.checklist.writing.gate import (
    check_analysis,
    check_section1,
    check_section2,
    check_section3,
    check_section4,
    check_spec,
)
from transom.checklist.writing.gate.problems import Problems
from transom.checklist.writing.gate.text import check_text
from transom.checklist.writing.views import load_prompt
from transom.evidence.findings import Finding

DATA = Path(__file__).parent / "data"
EXAMPLE = (DATA / "IMP-10-0-0-00_ItemSpec.md").read_text(encoding="utf-8")
ANALYSIS = (DATA / "IMP-10-0-0-00_analysis.md").read_text(encoding="utf-8")

CASES = yaml.safe_load((DATA / "gate_cases.yaml").read_text("utf-8"))


def line_of(text: str, mark: str) -> int:
    return text[: text.index(mark)].count("\n") + 1


def changed(old: str, new: str) -> str:
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new, 1)


def gates(findings: Sequence[Finding]) -> set[str]:
    return {finding.gate for finding in findings}


def cut(text: str) -> dict[str, str]:
    marks = [text.index(f"## {n}. ") for n in range(1, 5)] + [len(text)]
    return {str(n): text[marks[n - 1] : marks[n]] for n in range(1, 5)}


def test_the_worked_example_is_clean() -> None:
    assert check_spec(parse_spec(EXAMPLE)) == []
    assert check_analysis(ANALYSIS) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES["losses"], ids=lambda case: case["loses"])
def test_each_loss_is_found_by_name_and_line(case: dict[str, Any]) -> None:
    text = changed(case["old"], case["new"])
    findings = check_spec(parse_spec(text), artifact="x.md")
    assert gates(findings) == set(case["findings"]), findings
    assert line_of(text, case["at"]) in {finding.line for finding in findings}
    assert all(finding.artifact == "x.md" and finding.message for finding in findings)


@pytest.mark.parametrize("case", CASES["innocent"], ids=lambda case: case["keeps"])
def test_what_is_right_is_not_found(case: dict[str, str]) -> None:
    assert check_spec(parse_spec(changed(case["old"], case["new"]))) == []


def test_a_placeholder_is_counted_once() -> None:
    findings = check_spec(
        parse_spec(changed("2.1 and 2.2 are found; items", "{TODO: x} items 2.1, 2.2;"))
    )
    assert [f.gate for f in findings] == ["spec.placeholders"]


def check_alone(number: int, text: str) -> list[Finding]:
    """Section `number` as its own round checks it, after the worked example's earlier sections."""
    parts = cut(EXAMPLE)
    parsing, check = parse_section1(parts["1"]), parse_section2(parts["2"])
    match number:
        case 1:
            return check_section1(text)
        case 2:
            return check_section2(text, parsing)
        case 3:
            return check_section3(text, check)
    return check_section4(text, parsing, check)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_an_unfilled_template_shows_every_placeholder_once(number: int) -> None:
    template = load_prompt(f"template_section{number}")
    wanted = {
        (line, part.split("}")[0][:40])
        for line, row in enumerate(template.split("\n"), 1)
        for part in row.split("{TODO")[1:]
    }
    found = [
        finding for finding in check_alone(number, template) if finding.gate == "spec.placeholders"
    ]
    assert len(found) == len(wanted) > 5
    assert {finding.line for finding in found} == {line for line, _ in wanted}


def test_sections_alone_are_checked_with_their_own_lines() -> None:
    parts = cut(EXAMPLE)
    parsing, check = parse_section1(parts["1"]), parse_section2(parts["2"])
    assert check_section1(parts["1"]) == []
    assert check_section2(parts["2"], parsing) == []
    assert check_section3(parts["3"], check) == []
    assert check_section4(parts["4"], parsing, check) == []
    text = parts["3"].replace("| 2.1 | no |", "| 2.1 | perhaps |")
    (finding,) = check_section3(text, check)
    assert (finding.gate, finding.artifact, finding.line) == (
        "spec.waiver.decisions",
        "section3",
        line_of(text, "| 2.1 |"),
    )


@pytest.mark.parametrize("count", [0, 1, 6, 7])
def test_one_to_six_items(count: int) -> None:
    item = EXAMPLE[EXAMPLE.index("### 2.1 ") : EXAMPLE.index("### 2.2 ")]
    ids = [f"2.{n}" for n in range(1, count + 1)]
    listing = ", ".join(ids) or "none"
    section = (
        "## 2. Check Logic\n\n**Capability type**: 4\n\n"
        + "".join(item.replace("### 2.1", f"### {each}") for each in ids)
        + EXAMPLE[EXAMPLE.index("### Pattern Matching") : EXAMPLE.index("## 3.")].replace(
            "2.1, 2.2, 2.3, 2.4\n", f"{listing}\n"
        )
    )
    findings = check_section2(section, parse_section1(cut(EXAMPLE)["1"]))
    assert gates(findings) == (set() if 1 <= count <= 6 else {"spec.items.count"})


@pytest.mark.parametrize(("count", "ok"), [(0, False), (1, True), (2, True), (4, True), (5, True)])
def test_an_item_with_waivers_has_any_number_of_scenarios_but_none(count: int, ok: bool) -> None:
    parts = cut(EXAMPLE)
    one = EXAMPLE[EXAMPLE.index("### 3.4 ") : EXAMPLE.index("### Global")].replace(
        "Items 2.2 and 2.4", "Items 2.2 to 2.4"
    )
    start, end = parts["3"].index("### 3.1"), parts["3"].index("### Global")
    scenarios = "".join(one.replace("### 3.4", f"### 3.{n}") for n in range(1, count + 1))
    text = (parts["3"][:start] + scenarios + parts["3"][end:]).replace("scenario", "case")
    findings = check_section3(
        text.replace("Waiver case", "Waiver scenario"), parse_section2(parts["2"])
    )
    assert ("spec.waiver.count" not in gates(findings)) is ok


def typed(kind: int) -> str:
    """The example as a check of another type."""
    text = EXAMPLE.replace(
        "**Capability type**: 4 (Boolean check with waivers)", f"**Capability type**: {kind}"
    )
    if kind in (2, 3):
        start = text.index("### 2.4")
        text = text[:start] + text[start:].replace("existence check\n", "pattern match\n", 1)
        text = text.replace("pattern matching**: none", "pattern matching**: 2.4").replace(
            "2.3, 2.4\n", "2.3\n"
        )
        text = text.replace(
            "not applicable, since no item compares a value that the user gives",
            "`pattern_items[0]` is 2.4",
        )
    rows = {1: "1", 2: "4", 3: "456", 4: "123"}[kind]
    for row, cells in enumerate(
        ("N/A | N/A", "N/A | 0", "N/A | >0", ">0 | N/A", ">0 | 0", ">0 | >0"), 1
    ):
        for word in ("yes", "no"):
            wanted = "yes" if str(row) in rows else "no"
            text = text.replace(f"| {row} | {cells} | {word} |", f"| {row} | {cells} | {wanted} |")
    if kind in (1, 2):
        text = text.replace(
            "**Waiver support**: yes (type 4: violations of a Boolean check may be waived)",
            "**Waiver support**: no (the type)",
        )
        start, end = text.index("### 3.1"), text.index("### Implementation Guidance")
        decisions = "\n".join(f"- 2.{n}: no, the type has no waivers" for n in range(1, 5))
        modes = "\n\nNot applicable.\n\n".join(
            ["### Global Waiver Mode", "### Selective Waiver Mode", ""]
        )
        text = text[:start] + modes + "### Waiver Decisions\n\n" + decisions + "\n\n" + text[end:]
    return text  # fmt: skip


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_a_spec_of_each_type_can_be_clean(kind: int) -> None:
    assert check_spec(parse_spec(typed(kind))) == []


@pytest.mark.parametrize("kind", [1, 2])
def test_types_without_waivers_have_none(kind: int) -> None:
    text = typed(kind).replace("- 2.1: no, the", "- 2.1: yes, the")
    assert gates(check_spec(parse_spec(text))) == {"spec.waiver.coverage"}


@pytest.mark.parametrize(
    ("line", "is_finding"),
    [
        ("- odd characters: TODO: name them", True),
        ("TODO: say how", True),
        ("- **Purpose**: TODO: proves what", True),
        ("- **Keywords**: `TODO:`", False),
        ('- **Keywords**: "TODO: waive me"', False),
        ("- a TODO list of the flow is no netlist", False),
        ("```text\n// TODO: rename\n```", False),
    ],
)
def test_a_mark_without_braces_is_a_placeholder_outside_code_and_quotations(
    line: str, is_finding: bool
) -> None:
    problems = Problems("spec")
    check_text(problems, f"## 1. Parsing Logic\n\n{line}\n")
    assert ("spec.placeholders" in gates(problems.findings)) is is_finding


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("### Step 4: Data structure", "### Data structure", {"spec.analysis.steps"}),
        ("### Step 4", "### Step 5", {"spec.analysis.steps"}),
        ("Whether each file was loaded, and the version information of each file: tool, version, date, format.", "",
         {"spec.analysis.steps"}),
        ("- **Capability type**: 4", "- **Capability type**: Boolean", {"spec.analysis.type"}),
        ("- **Capability type**: 4", "- **Capability type**: 5", {"spec.analysis.type"}),
        ("- **Reason**: step", "- step", {"spec.analysis.reason"}),
        ("- **Notation**: ", "- ", {"spec.analysis.notation"}),
        ("- **Notation**: ", "- **Notation**: {TODO: reading} ", {"spec.placeholders"}),
    ],
)  # fmt: skip
def test_the_analysis_is_held(old: str, new: str, expected: set[str]) -> None:
    assert old in ANALYSIS
    assert gates(check_analysis(ANALYSIS.replace(old, new, 1))) == expected


def test_empty_texts_are_findings_not_errors() -> None:
    parsing, check = parse_section1(""), parse_section2("")
    assert {"spec.categories", "spec.fields.example", "spec.output.example"} <= gates(
        check_section1("")
    )
    assert {"spec.items.count", "spec.type", "spec.overall"} <= gates(check_section2("", parsing))
    assert {"spec.waiver.count", "spec.waiver.modes"} <= gates(check_section3("", check))
    assert {"spec.sections", "spec.sources", "spec.matrix"} <= gates(
        check_section4("", parsing, check)
    )
    assert {"spec.analysis.steps", "spec.analysis.type"} <= gates(check_analysis(""))


SECTION1 = """\
### 1.1 Thing

- Purpose: what it is about
- Category key: `thing`
- Key Fields:
  - `a` (String): some text
  - `b` (Boolean): yes or no
  - `c` (Integer): how many
  - `d` (Number): how much
  - `e` (List): which ones
  - `f` (Object): the parts

**parsed_fields Example**:

```json
{"thing": %s}
```

**Output Example**:

```json
%s
```
"""
FIELDS = '{"a": "x", "b": true, "c": 1, "d": 0.5, "e": [], "f": {}}'
ENTRY = (
    '[{"value": "x", "source_file": "a.log", "line_number": 1, "matched_content": "x",'
    ' "parsed_fields": {}}]'
)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        (FIELDS, []),
        ('{"a": null, "b": null, "c": null, "d": 2, "e": null, "f": null}', []),
        ('{"a": 1, "b": true, "c": 1, "d": 1, "e": [], "f": {}}', ["thing.a"]),
        ('{"a": "x", "b": 1, "c": true, "d": false, "e": {}, "f": []}',
         ["thing.b", "thing.c", "thing.d", "thing.e", "thing.f"]),
        ('"text"', ["thing: Input should be a valid dictionary"]),
    ],
)  # fmt: skip
def test_values_of_the_example_are_of_their_types(fields: str, wrong: list[str]) -> None:
    findings = check_section1(SECTION1 % (fields, ENTRY))
    assert gates(findings) == ({"spec.fields.example"} if wrong else set())
    assert all(any(word in finding.message for finding in findings) for word in wrong)
    assert len(findings) == len(wrong)


@pytest.mark.parametrize(
    "output",
    ["{}", "[]", "[1]", '"x"', ENTRY.replace("{}", "[]"), ENTRY.replace('"x", "source', '1, "source'),
     ENTRY.replace("1,", '"1",'), ENTRY.replace("{}", '{"thing": 1}'), ENTRY.replace("{}", '{"reference": "x"}')],
)  # fmt: skip
def test_an_output_example_that_is_no_list_of_entries(output: str) -> None:
    assert gates(check_section1(SECTION1 % (FIELDS, output))) == {"spec.output.example"}


def test_the_example_must_be_a_dict() -> None:
    text = (SECTION1 % (FIELDS, ENTRY)).replace(f'{{"thing": {FIELDS}}}', "[1]")
    assert [finding.gate for finding in check_section1(text)] == ["spec.fields.example"]


def test_a_category_key_is_used_once() -> None:
    section = SECTION1 % (FIELDS, ENTRY)
    block = section[: section.index("**parsed")]
    findings = check_section1(block + section.replace("### 1.1", "### 1.2"))
    assert [(finding.gate, finding.message) for finding in findings] == [
        ("spec.categories", "category key thing is used 2 times")
    ]
