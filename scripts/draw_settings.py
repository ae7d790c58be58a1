"""Draw `docs/settings.md`: every key with its type, default and meaning, from the sections in
`transom/config`.

python -m scripts.draw_settings            write the page
python -m scripts.draw_settings --check    exit 1 if the page is out of date
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from pydantic import BaseModel

from transom.config import Settings, variable_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD = """\
# Settings

Transom reads each setting from the command line, then from an environment variable, then from
`transom.yaml` in the current folder or a folder above it, and otherwise uses the default. To get
the variable of a key, write it in capitals after `TRANSOM_`, with `__` for each full stop:
`{example}` for `execution.max_iterations`. An unknown key is reported with the closest match.
Relative paths start at the folder of the file.
`transom doctor` shows each setting and where it comes from.

Sections with the same keys share one table, which names the keys without their section. This page
is written by `python -m scripts.draw_settings`.
"""
TABLE_HEAD = ["| key | type | default | meaning |", "|---|---|---|---|"]
TYPE_NAMES: dict[object, str] = {
    Path: "path",
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
}


@dataclass(frozen=True)
class SettingRow:
    """A row of a table: a key without its section, and what the model says of it."""

    key: str
    type: str
    default: str
    meaning: str

    def line(self, section: str) -> str:
        """Return the row as Markdown, with the section's name before the key if there is one."""
        key = f"{section}.{self.key}" if section else self.key
        default = f"`{self.default}`" if self.default else ""
        meaning = self.meaning.replace("|", "&#124;")
        return f"| `{key}` | {self.type} | {default} | {meaning} |"


def sections(model: type[BaseModel], name: str = "") -> Iterator[tuple[str, list[SettingRow]]]:
    """Yield each section with its rows, in the order of the model; the top level has no name."""
    meanings = documented_meanings(model)
    rows = []
    nested = []
    for key, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            nested.append((key, annotation))
            continue
        default = field.get_default(call_default_factory=True)
        rows.append(
            SettingRow(key, type_name(annotation), default_text(default), meanings.get(key, ""))
        )
    if rows:
        yield name, rows
    for key, section in nested:
        yield from sections(section, f"{name}.{key}" if name else key)


def default_text(default: object) -> str:
    """Return a default as the page shows it; nothing for None and an empty list."""
    if default is None or default == ():
        return ""
    if isinstance(default, tuple):
        return str(list(default))
    return str(default)


def documented_meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return the meaning of each field, in one line, from the `Attributes` of the docstrings."""
    meanings: dict[str, str] = {}
    # A subclass documents only the fields that it adds.
    for kind in reversed(model.__mro__):
        docstring = inspect.cleandoc(vars(kind).get("__doc__") or "")
        attributes = docstring.partition("Attributes:\n")[2]
        for entry in re.split(r"\n(?= {4}\w)", attributes):
            names, _, meaning = entry.strip().partition(":")
            for name in names.split(", "):
                meanings[name] = " ".join(meaning.split())
    return meanings


def type_name(annotation: object) -> str:
    """Return the plain words for the type of a field."""
    origin = get_origin(annotation)
    parts = [part for part in get_args(annotation) if part not in (type(None), Ellipsis)]
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is Annotated:
        return type_name(parts[0])
    if origin is tuple:
        return f"list of {type_name(parts[0])}s"
    if parts:
        return " or ".join(type_name(part) for part in parts)
    # `stories.readable` has a type of its own, which also takes one path.
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return TYPE_NAMES.get(annotation, "list of paths")


def tables() -> list[tuple[list[str], list[SettingRow]]]:
    """Return the tables of the page: the names of the sections that share it, and its rows."""
    tables: list[tuple[list[str], list[SettingRow]]] = []
    for name, rows in sections(Settings):
        for names, shared_rows in tables:
            if rows == shared_rows:
                names.append(name)
                break
        else:
            tables.append(([name], rows))
    return tables


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD.format(example=variable_of("execution.max_iterations")).rstrip("\n")]
    for names, rows in tables():
        title = ", ".join(f"`{name}`" for name in names) if names[0] else "Top level"
        lines += ["", f"## {title}", "", *TABLE_HEAD]
        section = names[0] if len(names) == 1 else ""
        lines += [row.line(section) for row in rows]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return int(not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
