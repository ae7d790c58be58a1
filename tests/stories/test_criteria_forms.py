"""Acceptance criteria in the forms in which people write them."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from transom.formats.yaml_files import parse_yaml
from transom.stories.markdown_story import read_story_file
from transom.stories.stories_yaml import read_stories_yaml

LINE = "The export has one line an order"
AMOUNTS = "Amounts have two decimals"
EMPTY = "No orders give an empty file"
FOLDER = "A missing folder is refused with its name"
DISK = "A full disk leaves no half file"

PAGE = """# Story 1.1: Export

## Status

Approved

## Story

As a clerk, I want the export of orders, so that I can send them.

## Acceptance Criteria

{}

## Tasks

- [ ] Write it (AC: 1)
"""
PAGES = {
    "table": (
        f"| # | Criterion |\n|---|---|\n| 1 | {LINE} |\n| 2 | {EMPTY} |",
        [LINE, EMPTY],
    ),
    "table-of-steps": (
        "| ID | Given | When | Then |\n|---|---|---|---|\n"
        "| AC1 | three orders | they are exported | the file has three lines |",
        ["given three orders, when they are exported, then the file has three lines"],
    ),
    "table-without-marks": (
        f"| Criterion | Verification |\n|:--|:--|\n| {LINE} | Unit test |\n| {AMOUNTS} | Review |",
        [LINE, AMOUNTS],
    ),
    "table-with-priority-first": (
        f"| AC | Priority | Text |\n|---|---|---|\n| AC-1 | Must | {LINE} |\n| AC-2 | May | {EMPTY} |",
        [LINE, EMPTY],
    ),
    "table-with-long-results": (
        f"| **No.** | **Criterion** | Result |\n|---|---|---|\n| **1** | {LINE} | {LINE * 3} |",
        [LINE],
    ),
    "table-inside-a-criterion": (
        f"1. {LINE}\n2. The error is one of these:\n\n| Code | Message |\n|---|---|\n"
        f"| 404 | no such order |\n| 409 | already exported |\n\n3. {AMOUNTS}",
        [LINE, "The error is one of these:", AMOUNTS],
    ),
    "group-behind-numbers": (
        f"1. {LINE}\n2. {AMOUNTS}\n\nError handling:\n\n- {FOLDER}\n- {DISK}",
        [LINE, AMOUNTS, FOLDER, DISK],
    ),
    "notes-behind-numbers": (
        f"1. {LINE}\n2. {AMOUNTS}\n\nNotes:\n\n- {FOLDER}\n- {DISK}",
        [LINE, AMOUNTS],
    ),
    "group-as-an-item": (
        f"- {LINE}\n- Error handling:\n  - {FOLDER}\n  - {DISK}",
        [LINE, FOLDER, DISK],
    ),
    "values-below-an-item": (
        f"- {LINE}\n- The columns:\n  - name\n  - amount",
        [LINE, "The columns: name amount"],
    ),
    "numbered-item-with-parts": (
        f"1. {LINE}\n2. Errors:\n   - {FOLDER}\n   - {DISK}",
        [LINE, f"Errors: {FOLDER} {DISK}"],
    ),
    "numbers-with-a-sign": (f"- #1 {LINE}\n- #2 {EMPTY}", [LINE, EMPTY]),
}
FIELDS = {
    "marks": (f"AC1: {LINE}\nAC2: {AMOUNTS}", [LINE, AMOUNTS]),
    "numbers": (f"1: {LINE}\n2: {AMOUNTS}\n3: {EMPTY}", [LINE, AMOUNTS, EMPTY]),
    "groups": (
        f"happy path:\n- {LINE}\nerror handling:\n- {FOLDER}\n- {DISK}",
        [LINE, FOLDER, DISK],
    ),
    "steps-under-marks": (
        "AC1:\n  given: three orders\n  when: they are exported\n  then: it has three lines",
        ["given three orders; when they are exported; then it has three lines"],
    ),
    "texts-under-marks": (
        f"AC1:\n  description: {LINE}\n  priority: must\nAC2:\n  description: {EMPTY}",
        [LINE, EMPTY],
    ),
    "list-of-parts": (f"- id: AC1\n  criterion: {LINE}\n  verified_by: test", [LINE]),
    "list-of-marks": (f"- AC1: {LINE}\n- AC2: {AMOUNTS}", [LINE, AMOUNTS]),
    "list-with-a-colon": (
        "- Error handling: it names the folder",
        ["Error handling: it names the folder"],
    ),
    "list-with-a-group": (
        f"- {LINE}\n- Error handling:\n  - {FOLDER}\n  - {DISK}",
        [LINE, FOLDER, DISK],
    ),
    "text": (f"|\n  1. {LINE}\n  2. {AMOUNTS}", [LINE, AMOUNTS]),
    "text-with-a-table": (
        f"|\n  | # | Criterion |\n  |---|---|\n  | 1 | {LINE} |\n  | 2 | {EMPTY} |",
        [LINE, EMPTY],
    ),
}


@pytest.mark.parametrize("form", [*PAGES])
def test_criteria_of_a_page(form: str) -> None:
    section, criteria = PAGES[form]
    assert [*read_story_file(PAGE.format(section), "1.1.story.md").criteria] == criteria


@pytest.mark.parametrize("form", [*FIELDS])
def test_criteria_of_a_field(form: str) -> None:
    field, criteria = FIELDS[form]
    # A text begins in the line of its key.
    begin = "" if field.startswith("|") else "\n"
    written = indent(field, "    ").removeprefix("    ") if not begin else indent(field, "    ")
    text = (
        "stories:\n- id: story-1\n  title: Export\n  description: As a clerk, I export orders.\n"
        f"  acceptance_criteria: {begin}{written}\n"
    )
    (story,) = read_stories_yaml(parse_yaml(text, Path("stories.yaml")), "stories.yaml")
    assert [*story.criteria] == criteria
