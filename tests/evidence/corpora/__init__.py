"""Corpora of lines that nobody wrote for one reader, for the proof by addition."""

from __future__ import annotations

from pathlib import Path

import yaml

FOLDER = Path(__file__).parent


def corpus_lines(name: str, *fields: str) -> list[str]:
    """Return the lines of a corpus for all fields of texts and for these."""
    document = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    lines = []
    for field in ("all", *fields):
        for kind in document.get(field, {}).values():
            lines += kind
    assert len(set(lines)) == len(lines)
    return lines
