"""Reports that answer no question of a release: lists of components, and style checkers without
an entry.

Read by content: CycloneDX and SPDX in JSON, Checkstyle, PMD and ESLint. A list of components that
also names vulnerabilities is a scan, and a style checker that found something may matter; neither
is a side report.
"""

from __future__ import annotations

import json
from typing import Final
from xml.etree.ElementTree import Element

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.xml_paths import read_xml, tag_of

_STYLE_ROOTS: Final = {"checkstyle": "Checkstyle", "pmd": "PMD", "pmd-cpd": "CPD"}
_MARKS: Final = ("CycloneDX", "spdxVersion", "<checkstyle", "<pmd", "errorCount")


def side_report(text: str, place: str) -> str:
    """Return what a side report is, for a person; "" for any other text."""
    # Most files are none, and need not be parsed twice.
    if not any(mark in text for mark in _MARKS):
        return ""
    try:
        if text.startswith("<"):
            return _of_xml(read_xml(text, place))
        return _of_json(json.loads(text))
    except (InputError, ValueError, RecursionError):
        return ""


def _of_xml(root: Element) -> str:
    tool = _STYLE_ROOTS.get(tag_of(root))
    # A file without a line of its own has no entry; all other elements are entries or errors.
    if tool is None or any(tag_of(node) != "file" or len(node) for node in root):
        return ""
    return f"a report of {tool} without an entry"


def _of_json(data: Json) -> str:
    if isinstance(data, dict):
        is_cyclonedx = data.get("bomFormat") == "CycloneDX" and bool(data.get("components"))
        if is_cyclonedx and not data.get("vulnerabilities"):
            return "a list of components (CycloneDX)"
        if "spdxVersion" in data and bool(data.get("packages")):
            return "a list of components (SPDX)"
        return ""
    if isinstance(data, list) and data and all(_is_clean_file(entry) for entry in data):
        return "a report of ESLint without an entry"
    return ""


def _is_clean_file(entry: Json) -> bool:
    """Return whether an entry is a file that ESLint looked at, without a message."""
    if not isinstance(entry, dict) or "filePath" not in entry:
        return False
    counts = ("errorCount", "fatalErrorCount", "warningCount")
    return entry.get("messages") == [] and not any(entry.get(name) for name in counts)
