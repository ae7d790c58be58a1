"""A checker folder that a person wrote: what the build would have added is added when it is read.

The folder holds `atoms.py` or `atom_a.py`, `checker.yaml` as the Logic role writes it,
`ItemSpec.md`, and either an
`item.yaml` or the reports themselves in `files/`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.item import Item, parse_item
from transom.checklist.vectors import STANDARD_SOURCE
from transom.formats.yaml_files import YamlFile, dump_yaml, parse_yaml

ATOM_A: Final = "atom_a.py"
FILES: Final = "files"
_FUNCTION = re.compile(r"^def (\w+)\(", re.MULTILINE)
_TITLE = re.compile(r"^#\s*ItemSpec:\s*(\S+)\s*$", re.MULTILINE)
_DESCRIPTION = re.compile(r"^\*\*Description\*\*:\s*(.+?)\s*$", re.MULTILINE)


def complete_atoms(code: str) -> str:
    """Atom A with its locked layer, and atoms B and C: the standard ones where the code has none
    of its own.
    """
    if LOCKED_LAYER in code and {*_FUNCTION.findall(code)} >= {
        "extract_context",
        "validate_logic",
        "check_existence",
    }:
        return code.rstrip("\n") + "\n"
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError):
        return code  # the syntax gate names the line
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    lines = code.rstrip("\n").split("\n")
    extract = functions.get("extract_context")
    if extract and not any(isinstance(node, ast.Return) for node in ast.walk(extract)):
        lines[extract.end_lineno : extract.end_lineno] = LOCKED_LAYER.rstrip("\n").split("\n")
    if extract and not {"validate_logic", "check_existence"} & functions.keys():
        lines += [
            "",
            "",
            "# Atoms B and C: the standard ones, as shipped.",
            *STANDARD_SOURCE.strip().split("\n"),
        ]
    return "\n".join(lines) + "\n" if extract else code


def complete_config(file: YamlFile, spec: str | None) -> YamlFile:
    """`checker.yaml` with the id and the description that the ItemSpec has, else the folder's
    name; lines stay.
    """
    if not isinstance(file.data, dict):
        return file
    title, told = _TITLE.search(spec or ""), _DESCRIPTION.search(spec or "")
    known = {
        "item_id": title[1] if title else file.path.absolute().parent.name,
        "description": told[1] if told else "A checker that was written by hand.",
    }
    missing = {key: value for key, value in known.items() if key not in file.data}
    return parse_yaml(f"{file.text.rstrip()}\n{dump_yaml(missing)}", file.path) if missing else file


def item_of_files(folder: Path, description: str) -> Item | None:
    """An item whose inputs are the reports in `files/`; None where there are none."""
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in (folder / FILES).rglob("*")
        if path.is_file()
    )
    if not names:
        return None
    return parse_item(
        dump_yaml({"description": description, "input_files": names}), folder / "item.yaml"
    )
