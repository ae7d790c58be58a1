"""Good and bad lines that a person gives for a checker whose ItemSpec has no examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from transom.checklist.building.checker import SPEC_FILE
from transom.checklist.building.mutation.gate import lacking_examples
from transom.checklist.building.mutation.suggestion import SuggestedLine
from transom.checklist.judging import LoadedChecker
from transom.checklist.judging.runner import Scope
from transom.checklist.writing.document import parse_spec
from transom.checklist.writing.examples import add_examples
from transom.cli.output import say, typed
from transom.errors import InputError
from transom.formats.yaml_files import read_text
from transom.runs import write_file

_ITEM = re.compile(r"(?P<item>2\.\d+)=(?P<line>.*)", re.DOTALL)
_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>[1-9]\d*)")


def add_lines(
    checker: LoadedChecker, files: Sequence[Path], good: Sequence[str], bad: Sequence[str]
) -> None:
    """Add lines to the examples of a checker's ItemSpec.

    Args:
        checker: the checker.
        files: its current files.
        good: lines with which the item holds: texts, or places such as `drc.log:12`. `2.2=LINE`
            says which item is meant.
        bad: lines with which it fails.

    Raises:
        InputError: a line is of no item or stands nowhere.
    """
    path = checker.folder / SPEC_FILE
    text = read_text(path)
    lacking = lacking_examples(checker.config, parse_spec(text, artifact=str(path)))
    lacking_ids = [item.id for item, _ in lacking]
    rows = list[dict[str, str]]()
    for outcome, option, lines in (("holds", "--good", good), ("fails", "--bad", bad)):
        for line in lines:
            match = _ITEM.fullmatch(line)
            # A line without an item is meant for the item that lacks examples.
            ids = [match["item"]] if match else lacking_ids or [checker.config.items[0].id]
            if len(ids) > 1 or ids[0] not in {item.id for item in checker.config.items}:
                hint = f"write {option} 'ITEM=LINE', with one of these items: {', '.join(ids)}"
                raise InputError("it is not clear which item the line is of", hint=hint)
            row = {"item": ids[0], "outcome": outcome}
            rows.append({**row, "text": _line(match["line"] if match else line, files)})
    write_file(path, add_examples(text, rows).encode())


def ask_for_lines(checker: LoadedChecker, lines: Sequence[SuggestedLine]) -> bool:
    """Ask a person on the terminal to confirm lines, and add them to the ItemSpec.

    Returns:
        Whether lines were added.
    """
    rows = list[dict[str, str]]()
    for line in lines:
        verb = "hold" if line.outcome == "holds" else "fail"
        say(f"Item {line.item} must {verb} with this line: {line}")
        answer = typed("Is that right? [y], n, or another line: ")
        # The suggestion is dropped, and the gate still asks for an example.
        if answer.lower() in ("n", "no"):
            continue
        text = line.text if answer.lower() in ("", "y", "yes") else answer
        rows.append({"item": line.item, "outcome": line.outcome, "text": text})
    if rows:
        path = checker.folder / SPEC_FILE
        write_file(path, add_examples(read_text(path), rows).encode())
    return bool(rows)


def _line(text: str, files: Sequence[Path]) -> str:
    """Return a line as it is written, or the line of a current file that a place means."""
    place = _PLACE.fullmatch(text.strip())
    if place is None:
        return text
    # A person names a file as the report does, without its folder.
    for file in files:
        if file.name != place["file"]:
            continue
        number = 0
        for piece in Scope("line").open(file).pieces():
            for line in piece.splitlines():
                number += 1
                if number == int(place["line"]):
                    return line
        raise InputError(f"{file.name} has {number} lines", place=text)
    names = ", ".join(file.name for file in files)
    raise InputError("is no line of the current files", place=text, hint=f"there is {names}")
