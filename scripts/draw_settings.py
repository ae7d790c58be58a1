"""Draws `docs/settings.md`: every key with its type, default and meaning, from
`transom/config/model.py`.

python -m scripts.draw_settings            writes
python -m scripts.draw_settings --check    exit 1 where the page is out of date
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from pydantic import BaseModel

from transom.config import Settings, variable_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD = """\
# Settings

Written by `python -m scripts.draw_settings`; a test fails where it is out of date.

Transom reads each setting from the command line, then from an environment variable, then from
`transom.yaml` in the current folder or a folder above it, and otherwise uses the default. To get
the variable of a key, write it in capitals after `TRANSOM_`, with `__` for each full stop:
`{example}` for `execution.max_iterations`. An unknown key is reported with the closest match.
Relative paths start at the folder of the file.
`transom doctor` shows each setting and where it comes from.

"""


def rows(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """Key, type, default and meaning of each setting, in the order of the model."""
    told = meanings(model)
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from rows(kind, f"{prefix}{name}.")
            continue
        default = field.get_default(call_default_factory=True)
        shown = (
            ""
            if default is None or default == ()
            else str(list(default) if isinstance(default, tuple) else default)
        )
        yield prefix + name, type_of(kind), shown, told.get(name, "")


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """What the docstring's `Attributes` say of each name, in one line."""
    found: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        text = inspect.cleandoc(vars(kind).get("__doc__") or "").partition("Attributes:\n")[2]
        for part in re.split(r"\n(?= {4}\w)", text):
            names, _, says = part.strip().partition(":")
            found |= dict.fromkeys(names.split(", "), " ".join(says.split()))
    return found


def type_of(kind: object) -> str:
    """In plain words."""
    origin, parts = (
        get_origin(kind),
        [one for one in get_args(kind) if one not in (type(None), Ellipsis)],
    )
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in parts)
    if origin is Annotated:
        return type_of(parts[0])
    if origin is tuple:
        return f"list of {type_of(parts[0])}s"
    if parts:  # something or nothing
        return " or ".join(map(type_of, parts))
    known = {Path: "path", str: "text", int: "whole number", float: "number", bool: "true or false"}
    return next((word for one, word in known.items() if kind is one), "list of paths")


def page() -> str:
    """The whole page, a table for each section."""
    lines = [HEAD.format(example=variable_of("execution.max_iterations")).rstrip("\n")]
    last = None
    for key, kind, default, says in rows(Settings):
        section = key.rpartition(".")[0]
        if section != last:
            lines += ["", f"## `{section}`" if section else "## At the left edge", ""]
            lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
            last = section
        shown = f"`{default}`" if default else ""
        lines.append(f"| `{key}` | {kind} | {shown} | {says.replace('|', '&#124;')} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return int(not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
