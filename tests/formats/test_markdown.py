"""Headings, labels and blocks with their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.formats.labels import find, labels, normal
from transom.formats.markdown import (
    Comment,
    Fence,
    MarkdownTable,
    fences,
    iter_lines,
    iter_nodes,
    parse,
    region,
)

TEXT = """\
intro

## 2. Check Logic

```python
## 9. not a heading
```

### 2.1 First `one`

- **Key Fields**:
  - `a` (String): x
- Mode: require

**2.2 Second**

1. **PASS**: all
2. **FAIL**: one

#### Details

| A | B |
|---|---|
| 1 | `x` |
"""


def test_parts_have_number_title_level_and_line() -> None:
    found = [(part.level, part.number, part.title, part.line) for part in parse(TEXT)]
    assert found == [
        (0, "", "", 1),
        (2, "2", "Check Logic", 3),
        (3, "2.1", "First `one`", 9),
        (3, "2.2", "Second", 15),
        (4, "", "Details", 20),
    ]


@pytest.mark.parametrize(
    ("heading", "number", "title"),
    [
        ("## 1. Parsing Logic", "1", "Parsing Logic"),
        ("## 1 Parsing Logic", "1", "Parsing Logic"),
        ("## Section 1: Parsing Logic", "1", "Parsing Logic"),
        ("## **1. Parsing Logic**", "1", "Parsing Logic"),
        ("## 1) Parsing Logic", "1", "Parsing Logic"),
        ("### 4.1. Points", "4.1", "Points"),
        ("### 2.10 – Tenth", "2.10", "Tenth"),
        ("## 3D structures", "", "3D structures"),
        ("##", "", ""),
    ],
)
def test_numbers_of_headings(heading: str, number: str, title: str) -> None:
    part = parse(heading)[-1]
    assert (part.number, part.title) == (number, title)


def test_a_bold_paragraph_is_a_heading_only_with_a_dotted_number() -> None:
    assert [
        part.number for part in parse("**2.1 One**\n\n**1. Step**\n\n**2.2 Two** and more")
    ] == ["", "2.1"]


def test_region_ends_at_its_own_level_or_where_told() -> None:
    parts = parse("## A\n### B\n#### C\n### D\n## E\n")
    assert [part.title for part in region(parts, 1)] == ["A", "B", "C", "D"]
    assert [part.title for part in region(parts, 1, lambda p: p.title == "C")] == ["A", "B"]
    assert [part.title for part in region(parts, 2)] == ["B", "C"]


def test_labels_in_lists_paragraphs_and_headings() -> None:
    found = labels(parse(TEXT))
    assert [(label.name, label.value.text, label.line) for label in found] == [
        ("Check Logic", "", 3),
        ("First `one`", "", 9),
        ("Key Fields", "", 11),
        ("Mode", "require", 13),
        ("Second", "", 15),
        ("PASS", "all", 17),
        ("FAIL", "one", 18),
        ("Details", "", 20),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "- **Purpose**: one\n- **Mode**: forbid\n",
        "* **Purpose:** one\n* **Mode:** forbid\n",
        "1. Purpose: one\n2. Mode: forbid\n",
        "**Purpose**: one\n**Mode**: forbid\n",
        "**Purpose**: one\n\nMode: forbid\n",
        "- group\n  - Purpose: one\n  - Mode: forbid\n",
        "#### Purpose\n\none\n\n#### Mode\n\nforbid\n",
        "- **Purpose**:\n  one\n- **Mode**:\n  - forbid\n",
        "> - *Purpose*: one\n> - Mode : forbid\n",
    ],
)
def test_labels_however_they_are_written(text: str) -> None:
    found = labels(parse(text))
    purpose, mode = find(found, "Purpose"), find(found, "mode")
    assert purpose is not None
    assert mode is not None
    assert (purpose.text(), mode.text()) == ("one", "forbid")


@pytest.mark.parametrize(
    "text", ["see `a: b` there", "**bold** start of prose", "a. Then: this", "http://x", "1: 2"]
)
def test_prose_is_no_label(text: str) -> None:
    assert labels(parse(text)) == []


def test_find_prefers_exact_names_and_ignores_parentheses() -> None:
    found = labels(parse("- Reason given: a\n- Reason (typical): b\n"))
    hit = find(found, "reason")
    assert hit is not None
    assert hit.text() == "b"
    assert find(found, "missing") is None
    assert normal("Global Waiver-Mode (waivers.value = 0):") == "global waiver mode"


def test_blocks() -> None:
    parts = parse(
        "- a\n  ```yml\n  x: 1\n  ```\n\n<!-- note -->\n\ntext <!-- inline --> end\n\n   "
        " indented\n"
    )
    blocks = parts[0].blocks
    assert fences(blocks) == [Fence("yml", "x: 1\n", 3), Fence("", "indented\n", 10)]
    assert [
        (node.text.strip(), node.line) for node in iter_nodes(blocks) if isinstance(node, Comment)
    ] == [
        ("<!-- note -->", 6),
        ("<!-- inline -->", 8),
    ]
    assert [(line.text, line.line) for line in iter_lines(blocks)] == [("a", 1), ("text  end", 8)]


def test_table_cells_know_their_line_and_code() -> None:
    (table,) = [
        node for node in iter_nodes(parse(TEXT)[-1].blocks) if isinstance(node, MarkdownTable)
    ]
    assert [cell.text for cell in table.header] == ["A", "B"]
    assert [(cell.text, cell.codes, cell.line) for cell in table.rows[0]] == [
        ("1", (), 24),
        ("`x`", ("x",), 24),
    ]


@given(st.text(alphabet="#*`-|:<>! \n1.2aTODO{}[]()", max_size=200))
def test_any_text_parses_and_lines_are_in_range(text: str) -> None:
    parts = parse(text)
    last = text.count("\n") + 1
    assert all(1 <= line.line <= last for part in parts for line in iter_lines(part.blocks))
    assert [part.line for part in parts[1:]] == sorted(part.line for part in parts[1:])
    assert all(1 <= label.line <= last for label in labels(parts))
