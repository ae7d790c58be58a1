"""Examples of an ItemSpec: lines or blocks that hold and that fail, with the fields that they
must yield.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from transom.canonical import Json
from transom.checklist.writing import words
from transom.checklist.writing.shapes import SpecExample
from transom.errors import InputError
from transom.formats.markdown import Part, fences, iter_lines
from transom.formats.yaml_files import parse_yaml


class _Written(BaseModel):
    """One example as it stands in the YAML; `fields` is a mapping, or one for each entry."""

    model_config = ConfigDict(extra="forbid")

    item: Annotated[str, BeforeValidator(str)]
    outcome: Literal["holds", "fails", "none"]
    text: str
    fields: dict[str, Any] | list[dict[str, Any]] | None = None
    file: str | None = None


_WRITTEN = TypeAdapter(list[_Written])


def read_examples(parts: Sequence[Part]) -> tuple[tuple[SpecExample, ...], str]:
    """The examples under the heading `Examples`, and why they cannot be read, "" where they can
    or are not there.
    """
    part = _part(parts)
    fence = next(iter(fences(part.blocks)), None) if part else None
    if fence is None:
        return (), "Examples holds no fenced YAML list" if part and not left_out(parts) else ""
    try:
        written = _WRITTEN.validate_python(parse_yaml(fence.text, Path("examples")).data)
    except InputError as error:
        return (), f"Examples cannot be read as YAML: {error.what}"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return (), f"Examples {'.'.join(map(str, first['loc']))}: {first['msg']}"
    return tuple(_example(one, fence.line) for one in written), ""


def left_out(parts: Sequence[Part]) -> tuple[str, ...]:
    """The items of which the text says that there is no example: `No example for item 2.1: ...`."""
    part = _part(parts)
    lines = [line.text for line in iter_lines(part.blocks)] if part else []
    return words.item_ids(
        " ".join(line for line in lines if line.strip().lower().startswith("no example"))
    )


def _part(parts: Sequence[Part]) -> Part | None:
    return next((one for one in parts if one.title.strip(" :").casefold() == "examples"), None)


def _example(written: _Written, line: int) -> SpecExample:
    told = written.fields or {}
    fields = tuple(
        dict(_dotted(one)) for one in (told if isinstance(told, list) else [told]) if one
    )
    return SpecExample(
        written.item, written.outcome, written.text.strip("\n"), fields, written.file, line
    )


def _dotted(fields: dict[str, Any], above: str = "") -> Iterator[tuple[str, Json]]:
    """`{lvs: {unique: true}}` says the same as `{lvs.unique: true}`."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
