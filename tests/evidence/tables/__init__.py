"""Tables of cases by kind and form, and the rules that every table keeps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
FEWEST_FORMS = 6


def load_document(name: str) -> dict[str, Any]:
    """Return a whole table."""
    # Every process of the tests reads all tables before its first test, so the quick loader counts.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document = yaml.load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), loader)
    assert isinstance(document, dict)
    return document


def load_rows(name: str, section: str) -> list[dict[str, Any]]:
    """Return the rows of a section, each with its kind and an id."""
    document = load_document(name)
    rows = []
    for kind, forms in document[section].items():
        for row in forms:
            rows.append({**row, "kind": kind, "id": f"{kind}: {row['form']}"})
    return rows


def assert_forms(rows: list[dict[str, Any]]) -> None:
    """Assert that each kind has enough forms, no two of them equal."""
    counts = Counter(row["kind"] for row in rows)
    few = {kind: count for kind, count in counts.items() if count < FEWEST_FORMS}
    assert not few, f"kinds with fewer than {FEWEST_FORMS} forms: {few}"
    identifiers = Counter(row["id"] for row in rows)
    assert max(identifiers.values()) == 1, identifiers.most_common(3)
