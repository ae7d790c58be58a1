"""The input files of an item: which exist, how large they are, and what is wrong with others."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from transom.checklist.item import Item
from transom.checklist.judging import (
    Inputs,
    Roots,
    Verdict,
)
from transom.checklist.results import BuildResult, SpecResult
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.text_files import TextFile

_SHELL = re.compile(r"\$(?!\{)")  # what a shell would put something else for


def own_files(item: Item | None, roots: Roots) -> Sequence[Path]:
    """Return the item's input files that exist, compressed ones included.

    Raises:
        InputError: a variable is not defined.
    """
    paths = (path for _, path in Inputs.of(item, roots).paths)
    # Path.is_file raises for a name that is too long.
    return [Path(os.path.realpath(path)) for path in paths if os.path.isfile(path)]  # noqa: PTH113


def unusable_files(item: Item, roots: Roots) -> tuple[Finding, ...]:
    """Return why input files cannot be read, by their names in reports."""
    findings: list[Finding] = []
    for name, path in Inputs.of(item, roots).paths:
        if not os.path.isfile(path):  # noqa: PTH113  as above
            try:
                TextFile(path).is_blank()
            except InputError as error:
                findings.append(
                    Finding("inputs", roots.shown_name(path, name), None, error.problem)
                )
    return tuple(findings)


def input_problems(
    item: Item | None, roots: Roots, result: SpecResult | BuildResult | Verdict
) -> list[str]:
    """Return the errors of input files.

    Each names the item's line, and where the file was looked for.
    """
    if item is None or isinstance(result, SpecResult):
        return []
    wrong: dict[str | None, str] = {}
    if isinstance(result, Verdict):
        for error in result.errors:
            if error.line_number is None:
                wrong[error.source_file] = error.message
    else:
        for row in result.findings:
            if row.gate == "inputs":
                wrong[row.artifact] = row.message
    problems: list[str] = []
    for name in item.input_files:
        for written, path in roots.spread(name.written, item.place_of(name.line)):
            spellings = (written, roots.shown_name(path, written), path.name)
            message = next(filter(None, map(wrong.get, spellings)), None)
            if message is None:
                continue
            hint = ""
            if _SHELL.search(name.written):
                hint = "; write ${NAME} and pass --var NAME=PATH"
            # People see the path that was tried, since a variable may stand for another folder.
            problem = f"{item.place_of(name.line)}: {name.written}: {message}"
            problems.append(f"{problem}; looked for at {path.absolute()}{hint}")
    return problems


def sizes_of_files(item: Item, roots: Roots) -> dict[str, int]:
    """Return the bytes of the input files that can be found.

    An ItemSpec can be written before there is any.
    """
    sizes: dict[str, int] = {}
    for name in item.input_files:
        try:
            _, path = roots.spread(name.written, item.place_of(name.line))[0]
            sizes[name.written] = path.stat().st_size
        except (InputError, OSError):
            continue
    return sizes
