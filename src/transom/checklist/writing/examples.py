"""Examples of an ItemSpec: lines or blocks that hold and that fail, with the fields that they
must yield.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from transom.checklist.writing import words
from transom.checklist.writing.shapes import SpecExample
from transom.errors import InputError
from transom.formats.markdown import Part, fences, iter_lines
from transom.formats.yaml_files import parse_yaml

_EXAMPLES = TypeAdapter(list[SpecExample])


def read_examples(parts: Sequence[Part]) -> tuple[tuple[SpecExample, ...], int | None, str]:
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
        return (), fence.line, f"Examples cannot be read as YAML: {error.what}"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return (), fence.line, f"Examples {place}: {first['msg']}"


def left_out(parts: Sequence[Part]) -> tuple[str, ...]:
    """The items of which the text says that there is no example: `No example for item 2.1: ...`."""
    part = _part(parts)
    lines = [line.text for line in iter_lines(part.blocks)] if part else []
    return words.item_ids(
        " ".join(line for line in lines if line.strip().lower().startswith("no example"))
    )


def _part(parts: Sequence[Part]) -> Part | None:
    return next((one for one in parts if one.title.strip(" :").casefold() == "examples"), None)
