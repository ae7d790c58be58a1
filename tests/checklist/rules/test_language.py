"""The extraction language, part by part: what a site's own domain may say of how lines become
entries.
"""

from __future__ import annotations

from typing import Any

import pytest

from transom.checklist.atoms import Source
from transom.checklist.rules.extract import Wanted, reader_of
from transom.checklist.rules.shapes import Domain


def read(text: str, rule: dict[str, Any], **source: Any) -> list[tuple[int, dict[str, Any]]] | str:
    """(line, fields) of each entry that one rule makes, or the error."""
    names = ("name", "count", "key", "value")
    fields = [
        {"name": name, "type": "String", "about": "a field", "example": "x"} for name in names
    ]
    domain = Domain.model_validate(
        {
            "schema": "transom.knowledge/1",
            "domain": "language",
            "title": "Language",
            "extracts": "the lines",
            "question": "what stands there",
            "claims": [{"means": "all", "subject": ["lines"], "is": ["good"]}],
            "categories": [{"key": "told", "name": "Told", "fields": fields}],
            "items": [{"key": "one", "name": "One", "required": ["told.name"]}],
            "sources": [{"kind": "log", "files": ["*.log"], **source}],
            "read": [{"file": "log", "category": "told", **rule}],
        }
    )
    file = reader_of(
        domain,
        Wanted({"told": names}, [Source(kind="log", rank="primary", files=("*.log",))]),
        "run.log",
    )
    try:
        made = [*file.feed(text), *file.finish()]
    except ValueError as error:
        return str(error)
    told = [(one["line_number"], one["parsed_fields"]["told"]) for one in made]
    return [
        (line, {key: said for key, said in fields.items() if said is not None})
        for line, fields in told
    ]


TABLE = (
    "| Name | Type | Count |\n|------|------|-------|\n| a    | x    | 3     |\n| b    | y    | -  "
    "   |\n\n| c | z | 4"
)
COLUMNS = {"table": {"head": r"^\| Name", "columns": {"name": "Name", "count": "Count"}}}
CELLS = {
    "table": {"head": r"^\| Name", "row": "^. a", "cells": {"name": "column", "value": "cell"}}
}


def test_a_table_by_its_head() -> None:
    assert read(TABLE, COLUMNS) == [
        (3, {"name": "a", "count": "3"}),
        (4, {"name": "b", "count": "-"}),
    ]
    assert read(TABLE, CELLS) == [
        (3, {"name": "Type", "value": "x"}),
        (3, {"name": "Count", "value": "3"}),
    ]
    assert read(TABLE.replace("Count", "Kount"), COLUMNS) == "line 3: the table has no column Count"
    assert (
        read(TABLE.replace("| x    ", ""), COLUMNS)
        == "line 3: 2 cells under 3 columns: | a    | 3     |"
    )


JSON = (
    '{"a": {"drc": 2, "of": [1, {"drc": 9}]},\n "b__drc":\n 0, "text": "drc: {7}, \\"drc\\": 8"}\n'
)


def test_keys_of_json_and_of_plain_lines() -> None:
    rule = {"keys": [r"(?:.*[._])?drc"], "numbers": ["value"]}
    assert read(JSON, rule) == [
        (1, {"key": "a.drc", "value": 2}),
        (2, {"key": "b__drc", "value": 0}),
    ]
    assert read("drc: 3\nother: 4\nlast drc = 5\n", rule) == [(1, {"key": "drc", "value": 3})]
    assert read('{"drc": null}', rule) == 'line 1: drc has no value: {"drc": null}'
    assert str(read('{"drc": 1', rule)).startswith("line 1: no JSON document: ")


ROWS = {"rows": [r"^(?P<name>\w+) (?P<count>\S+)$"], "numbers": ["count"]}
COUNTED = "a 0\nb 5\na 3\nb 4\na 1\n"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"count": "count"}, [(1, "a", 3), (2, "b", 2)]),
        ({"sum": "count"}, [(3, "a", 4), (2, "b", 9)]),
        ({"min": "count"}, [(1, "a", 0), (4, "b", 4)]),
        ({"max": "count"}, [(3, "a", 3), (2, "b", 5)]),
        ({"first": True}, [(1, "a", 0), (2, "b", 5)]),
        ({"last": True}, [(5, "a", 1), (4, "b", 4)]),
        ({"same": "count"}, "line 3: line 1 says otherwise: a 3"),
    ],
)
def test_a_group_is_one_entry(
    how: dict[str, Any], expected: list[tuple[int, str, int]] | str
) -> None:
    found = read(COUNTED, {**ROWS, "reduce": {"by": ["name"], **how}})
    told = (
        found
        if isinstance(found, str)
        else [(line, one["name"], one["count"]) for line, one in found]
    )
    assert told == expected


def test_where_lines_count_and_what_they_are_told_by_those_above() -> None:
    rule = {
        "rows": [r"^ (?P<count>\d+)$"],
        "inside": {"from": "^begin", "to": "^end"},
        "above": [r"^of (?P<name>\w+)"],
        "until": "^---",
    }
    text = " 0\nbegin\nof a\n 1\n 2\n---\n 3\nend\n 4\n"
    assert read(text, rule) == [
        (4, {"name": "a", "count": "1"}),
        (5, {"name": "a", "count": "2"}),
        (7, {"count": "3"}),
    ]


def test_lines_that_go_on() -> None:
    rows = [r"^add (?P<name>\w+)\W+(?P<value>\w)(?:\W+(?P<count>\w))?"]
    expected = [(1, {"name": "a", "value": "x", "count": "y"}), (3, {"name": "b", "value": "w"})]
    assert read("add a x \\\n  y\nadd b w\n", {"rows": rows, "join": r"\\\s*$"}) == expected
    assert read("add a x\n  + y\nadd b w\n", {"rows": rows, "goes_on": r"^\s*\+"}) == expected


def test_a_block_is_one_entry_and_needs_its_end() -> None:
    rows = [r"^name (?P<name>\w+)", r"^count (?P<count>\d+)"]
    closed = {"rows": rows, "block": {"from": "^begin", "to": "^end", "says": {"value": "x"}}}
    text = "begin\nname a\ncount 1\ncount 2\nend\nname b\n"
    assert read(text, closed) == [(5, {"name": "a", "count": "1", "value": "x"})]
    assert read(text.replace("end", "more"), closed) == "line 1: what begins here has no end: begin"
    open_ = {"rows": rows, "block": {"from": "^begin", "before": "^other"}}
    assert read("begin\nname a\nother\nname b\nbegin\nname c\n", open_) == [
        (1, {"name": "a"}),
        (5, {"name": "c"}),
    ]


def test_a_line_that_speaks_of_the_matter_is_read_or_harmless_or_an_error() -> None:
    guards = {
        "must_be_read": ["count"],
        "may_be_skipped": ["^#"],
        "error_if_nothing_read": "nothing is counted",
    }
    rule = {"rows": [r"^count (?P<count>\d+)$"]}
    assert read("count 1\n# count\n", rule, **guards) == [(1, {"count": "1"})]
    assert read("count 1\nno count\n", rule, **guards) == "line 2: not understood: no count"
    assert read("nothing\n", rule, **guards) == "nothing is counted"
    assert read("\n", rule, **guards) == []
