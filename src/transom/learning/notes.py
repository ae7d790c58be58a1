"""Import of session notes, as coding agents and older systems leave them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from transom.errors import InputError
from transom.formats.text_files import TextFile
from transom.learning.exchange import MOST_BYTES, ImportedInsights, import_json
from transom.learning.insight import Insight, InsightCategory, InsightSource
from transom.learning.playbook import Playbook

_CATEGORIES: Mapping[str, InsightCategory] = {
    "failure": InsightCategory.MISTAKE,
    "success_pattern": InsightCategory.STRATEGY,
    "workaround": InsightCategory.WORKFLOW,
    "user_preference": InsightCategory.WORKFLOW,
    "protocol_clarification": InsightCategory.DOMAIN,
}
_EXPECTED = {
    "category": "text",
    "insight": "text",
    "tags": "a list of texts, or one text",
    "study": "text or a number",
}
_BETWEEN = re.compile(r"[\s,]*")


class SessionNote(BaseModel):
    """A note of a session: what kind of insight it is, its text, and its tags."""

    model_config = ConfigDict(extra="ignore", strict=True, defer_build=True)

    category: str
    insight: str
    tags: list[str | int | float] | str | None = None
    study: str | int | None = None

    def draft(self) -> Insight:
        """Return the insight that the note states; an unknown category is domain knowledge."""
        tags = self.tags.split(",") if isinstance(self.tags, str) else self.tags or []
        names = [str(tag).strip() for tag in tags]
        study = "" if self.study is None else str(self.study)
        return Insight(
            "",
            _CATEGORIES.get(self.category, InsightCategory.DOMAIN),
            self.insight,
            tags=tuple(name for name in names if name),
            sources=(InsightSource(study=study, by="notes"),),
        )


def import_file(playbook: Playbook, path: Path) -> ImportedInsights:
    """Import a playbook, or notes: a `.jsonl` file, or a file that is a JSON list.

    Raises:
        InputError: the file cannot be read, or is neither.
    """
    if path.suffix == ".jsonl" or _begins_as_list(path):
        return import_notes(playbook, [path])
    return import_json(playbook, path)


def import_notes(playbook: Playbook, paths: Sequence[Path]) -> ImportedInsights:
    """Add insights from session notes: one JSON object a line, or a JSON list of objects.

    Their scope is the narrowest of the playbook's view. A second import changes nothing. Notes that
    cannot be read are listed with their lines.

    Raises:
        InputError: a file cannot be read.
    """
    imported = ImportedInsights()
    scope, owner = playbook.view.scopes[0], playbook.view.user
    for path in paths:
        for line, value in _values(path):
            try:
                draft = _note(value).draft()
                insight, is_new = playbook.add(replace(draft, scope=scope, owner=owner))
            # One bad line must not keep the others out.
            except InputError as error:
                imported.unreadable.append(f"{path}:{line}: {error}")
                continue
            (imported.added if is_new else imported.known).append(insight.id)
    return imported


class _Broken:
    """A line that is not JSON, with the column where it breaks."""

    def __init__(self, column: int) -> None:
        self.column = column


def _values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the JSON values of a file with their lines; `_Broken` for text that is not JSON."""
    if _begins_as_list(path):
        text = TextFile(path, limit=MOST_BYTES).whole()
        try:
            yield from _elements(text)
            return
        except (json.JSONDecodeError, RecursionError) as error:
            # The first line of a .jsonl file may be a list that does not belong there.
            if path.suffix != ".jsonl":
                place = error.lineno if isinstance(error, json.JSONDecodeError) else 1
                hint = "give a JSON list, or one object a line"
                raise InputError(
                    "the list is not valid JSON", place=f"{path}:{place}", hint=hint
                ) from error
    for number, line in enumerate(TextFile(path, limit=MOST_BYTES).lines(), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            yield number, _Broken(error.colno)
        # Too many brackets within brackets.
        except RecursionError:
            yield number, _Broken(1)


def _begins_as_list(path: Path) -> bool:
    for piece in TextFile(path, limit=MOST_BYTES).pieces():
        if piece.strip():
            return piece.lstrip().startswith("[")
    return False


def _elements(text: str) -> list[tuple[int, Any]]:
    """Return the elements of a JSON list with their lines."""
    # The whole text is checked first, since `_BETWEEN` is not strict about commas.
    json.loads(text)
    decoder = json.JSONDecoder()
    elements = list[tuple[int, Any]]()
    line, counted_to = 1, 0
    end = text.index("[") + 1
    while True:
        match = _BETWEEN.match(text, end)
        start = match.end() if match else end
        if text[start] == "]":
            return elements
        # Counted from the last element on: a large file would take long otherwise.
        line += text.count("\n", counted_to, start)
        counted_to = start
        value, end = decoder.raw_decode(text, start)
        elements.append((line, value))


def _note(value: Any) -> SessionNote:
    """Return a JSON value as a note.

    Raises:
        InputError: it is not a note. The message names the field for a person.
    """
    if isinstance(value, _Broken):
        raise InputError(f"this is not valid JSON (column {value.column})")
    if not isinstance(value, dict):
        raise InputError(f"a note is an object with `category` and `insight`, not {_kind(value)}")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError("the text has an unpaired surrogate, which is no character") from error
    try:
        return SessionNote.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = str(fault["loc"][0])
        if fault["type"] == "missing":
            raise InputError(f"`{key}` is missing") from error
        message = f"`{key}` must be {_EXPECTED[key]}, not {_kind(value[key])}"
        raise InputError(message) from error


def _kind(value: Any) -> str:
    """Return the name of a JSON value's type, for a message."""
    if value is None:
        return "null"
    # A bool is an int, too.
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list) else "an object"
