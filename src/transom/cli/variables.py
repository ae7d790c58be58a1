"""`--var NAME=PATH`, and what the well-known names stand for when nobody says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from transom.errors import InputError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def parse_variables(given: Sequence[str], cwd: Path, search_root: Path | None) -> dict[str, Path]:
    """Absolute folders by name.

    `CHECKLIST_ROOT` and `DESIGN_ROOT` stand for the search root and `LOG_ROOT` for its `logs/`, unless given.

    Args:
        given: texts `NAME=PATH`; a relative path is meant from `cwd`.
        cwd: the folder of the command.
        search_root: the setting `paths.search_root`.

    Raises:
        InputError: a text that is no NAME=PATH, or a name given twice.
    """
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not path or not _NAME.match(name):
            raise InputError(f"{text!r} is no variable", where="--var", hint="write NAME=PATH")
        if name in found:
            raise InputError(f"{name} is given twice", where="--var", hint="give each name once")
        found[name] = Path(cwd, Path(path).expanduser())
    if search_root is None:
        return found
    return {"CHECKLIST_ROOT": search_root, "DESIGN_ROOT": search_root, "LOG_ROOT": search_root / "logs"} | found
