"""A file's whole text, for tests."""

from __future__ import annotations

from pathlib import Path

from transom.formats.text_files import MAX_TEXT_BYTES, Facts, TextFile


def whole_text(path: Path, *, limit: int = MAX_TEXT_BYTES) -> tuple[str, Facts]:
    file = TextFile(path, limit=limit)
    text = file.whole()
    assert file.facts is not None
    return text, file.facts
