"""Markdown cut at its headings, as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.formats.markdown import parse, region
from transom.formats.markdown_cut import source, source_lines, without

TEXT = """\
before

## Kept

one

```
### Goes
inside a fence
```

### Goes

two

#### below it

three

### Stays *too*

- four
"""
PIECES = [
    "# a",
    "## b",
    "### c",
    "",
    "text",
    "- item",
    "```",
    "~~~",
    "**2.1 bold**",
    "setext",
    "---",
    "    code",
    "> # q",
]
documents = st.lists(st.sampled_from(PIECES), max_size=20).map("\n".join)


def test_a_region_goes_and_the_rest_stays_as_written() -> None:
    cut = without(TEXT, lambda part: part.title == "Goes")
    assert cut == TEXT[: TEXT.rindex("### Goes")] + TEXT[TEXT.index("### Stays") :]


def test_a_heading_that_ends_a_region_stays() -> None:
    cut = without(TEXT, lambda part: part.title == "Goes", lambda part: part.title == "below it")
    assert "two" not in cut
    assert "#### below it\n\nthree\n\n### Stays" in cut


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_do_not_matter(ends: str) -> None:
    written = TEXT.replace("\n", ends)
    assert without(written, lambda part: False) == TEXT
    assert len(source_lines(written)) == len(TEXT.split("\n"))


def test_what_precedes_the_first_heading_is_no_part_of_it() -> None:
    parts = parse("# a\n\nb\n")
    assert source("# a\n\nb\n", parts, parts[:1]).strip() == ""
    assert source("# a\n\nb\n", parts, parts[1:]) == "# a\n\nb\n"


@given(documents)
def test_the_parts_of_a_text_make_the_text(text: str) -> None:
    parts = parse(text)
    pieces = [source(text, parts, [part]) for part in parts]
    assert "".join(pieces).split() == text.split()
    assert source(text, parts, parts).split() == text.split()


@given(documents, st.sampled_from("abc"))
def test_what_is_cut_is_the_regions_and_nothing_else(text: str, title: str) -> None:
    parts = parse(text)
    gone: set[int] = set()
    for index, part in enumerate(parts):
        if part.title == title and index not in gone:
            gone |= set(range(index, index + len(region(parts, index))))
    kept = [source(text, parts, [part]) for index, part in enumerate(parts) if index not in gone]
    assert without(text, lambda part: part.title == title).split() == "\n".join(kept).split()
