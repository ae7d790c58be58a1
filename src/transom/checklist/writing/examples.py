"""Examples of an ItemSpec: lines or blocks that hold and that fail, with the fields that they
must yield.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from transom.checklist.writing import words
from transom.checklist.writing.shapes import SpecExample
from transom.errors import InputError
from transom.formats.markdown import MarkdownPart, fences, iter_lines
from transom.formats.yaml_files import dump_yaml, parse_yaml

_EXAMPLES_HEADING = re.compile(r"(?<!#)#++ Examples\s*$")
_SECTION_4_1 = re.compile(r"### 4\.1\b")
_NEXT_SECTION = re.compile(r"##?#? ")
_FENCE = re.compile(r"```")
_EXAMPLES = TypeAdapter(list[SpecExample])


def read_examples(parts: Sequence[MarkdownPart]) -> tuple[tuple[SpecExample, ...], int | None, str]:
    """Read the examples under the heading `Examples`.

    Returns:
        The examples, the line of the fence that holds them, and why they cannot be read, "" if
        they can or there are none.
    """
    part = _part(parts)
    if part is None:
        return (), None, ""
    fence = next(iter(fences(part.blocks)), None)
    if fence is None:
        return (), None, "" if left_out(parts) else "Examples holds no fenced YAML list"
    try:
        data = parse_yaml(fence.text, Path("examples")).data
        return tuple(_EXAMPLES.validate_python(data)), fence.line, ""
    except InputError as error:
        return (), fence.line, f"Examples cannot be read as YAML: {error.problem}"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return (), fence.line, f"Examples {place}: {first['msg']}"


def add_examples(text: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Return an ItemSpec with more examples, in the list of Section 4.1.

    Args:
        text: the ItemSpec.
        rows: `item`, `outcome` and `text` of each example.

    Raises:
        InputError: the ItemSpec has no Section 4.1.
    """
    lines = text.rstrip("\n").split("\n")
    entries = dump_yaml([dict(row) for row in rows]).rstrip("\n").split("\n")
    heading = _line_like(lines, _EXAMPLES_HEADING, 0)
    # A list that is there is continued, or the ItemSpec would have two.
    if heading is not None:
        fence = _line_like(lines, _FENCE, heading)
        closing = _line_like(lines, _FENCE, fence + 1) if fence is not None else None
        if closing is not None:
            return "\n".join([*lines[:closing], *entries, *lines[closing:]]) + "\n"
    section = _line_like(lines, _SECTION_4_1, 0)
    if section is None:
        hint = "add the heading `### 4.1 Item-Specific Implementation Points`"
        raise InputError("the ItemSpec has no Section 4.1", place="ItemSpec.md", hint=hint)
    end = _line_like(lines, _NEXT_SECTION, section + 1)
    position = len(lines) if end is None else end
    block = ["", "#### Examples", "", "```yaml", *entries, "```", ""]
    return "\n".join([*lines[:position], *block, *lines[position:]]).rstrip("\n") + "\n"


def _line_like(lines: Sequence[str], pattern: re.Pattern[str], start: int) -> int | None:
    """Return the index of the first line from `start` on that a pattern matches."""
    for index in range(start, len(lines)):
        if pattern.match(lines[index]):
            return index
    return None


def left_out(parts: Sequence[MarkdownPart]) -> tuple[str, ...]:
    """Return the items for which the text says `No example for item 2.1: ...`."""
    part = _part(parts)
    lines = [line.text for line in iter_lines(part.blocks)] if part else []
    return words.item_ids(
        " ".join(line for line in lines if line.strip().lower().startswith("no example"))
    )


def _part(parts: Sequence[MarkdownPart]) -> MarkdownPart | None:
    return next((part for part in parts if part.title.strip(" :").casefold() == "examples"), None)
