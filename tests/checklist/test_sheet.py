"""Items from a spreadsheet, and waivers as a reviewer reads them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from transom.checklist.item import load_item, parse_item
from transom.checklist.judging import Inputs, Roots
from transom.checklist.sheet import read_sheet
from transom.checklist.waiver_lint import waiver_findings
from transom.errors import InputError


def sheet(folder: Path, text: str) -> Path:
    path = folder / "signoff.csv"
    path.write_text(text, encoding="utf-8-sig", newline="")
    return path


def test_each_line_of_a_sheet_becomes_an_item(tmp_path: Path) -> None:
    text = (
        "Item ID;Description;Input files;Pattern items;Waive items;Waive reasons;Owner;Expires\r\n"
        'STA-1;"Verify ""hold""\r\ntiming: clean";a.rpt\r\n'
        ";;;;;;;\r\n"
        ';No errors;"a.log\nb/*.log";x*;"u1/*\nu2";next ECO;Ann;2027-01-31\r\n'
    )
    first, second = read_sheet(sheet(tmp_path, text), tmp_path)
    assert (first.name, first.line, second.name, second.line) == (
        "STA-1.yaml",
        2,
        "signoff-005.yaml",
        5,
    )
    for one in (first, second):
        (tmp_path / one.name).write_text(one.text)
    item = load_item(tmp_path / "STA-1.yaml", strict=True)
    assert item.description.split() == ["Verify", '"hold"', "timing:", "clean"]
    item = load_item(tmp_path / "signoff-005.yaml", strict=True)
    assert [one.written for one in item.input_files] == ["a.log", "b/*.log"]
    assert item.requirements and item.requirements.pattern_items == ("x*",)
    assert item.waivers and [
        (one.pattern, one.reason, one.owner) for one in item.waivers.waive_items
    ] == [
        ("u1/*", "next ECO", "Ann"),
        ("u2", "next ECO", "Ann"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item_id,descripton\nA,x\n", ":1: unknown column 'descripton'; did you mean description?"),
        ("item_id\nA\n", ":1: no column is called description"),
        ("item_id,description\nA,x\nA,y\n", ":3: A stands in line 2 already"),
        ("item_id,description\nA,\n", ":2: the description is empty"),
        ("item_id,description\na b,x\n", ":2: item_id 'a b' is not a name"),
        (
            "item_id,description,owner\nA,x,Ann\n",
            ":2: a reason, an owner or an expiry stands without waive_items",
        ),
        (
            "item_id,description,waive_items,expires\nA,x,w,tomorrow\n",
            ":2: 'tomorrow' is not a date",
        ),
    ],
)
def test_what_makes_no_item_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sheet(sheet(tmp_path, text), tmp_path)
    assert f"signoff.csv{said}" in str(caught.value)


@pytest.mark.parametrize("out", ["items", "deep/er/items", "../elsewhere", "linked"])
def test_the_item_file_names_the_same_file_as_the_sheet(tmp_path: Path, out: str) -> None:
    """Each path must open the file that a reader of the sheet means, from any item folder."""
    folder = tmp_path / "signoff"
    (folder / "logs").mkdir(parents=True)
    (tmp_path / "far/away").mkdir(parents=True)
    (folder / "linked").symlink_to(tmp_path / "far/away")
    for name in ("a.rpt", "logs/b.log", "logs/c.log"):
        (folder / name).write_text("x")
    (tmp_path / "up.log").write_text("x")
    text = 'item_id,description,input_files\nA,x,"a.rpt;./logs/b.log;logs/*.log;../up.log"\n'
    (made,) = read_sheet(sheet(folder, text), folder / out)
    item_path = folder / out / made.name
    item_path.parent.mkdir(parents=True, exist_ok=True)
    item_path.write_text(made.text)
    inputs = Inputs.of(load_item(item_path), Roots(base=item_path.parent))
    opened = [path.resolve().relative_to(tmp_path).as_posix() for _, path in inputs.paths]
    assert opened == [
        "signoff/a.rpt",
        "signoff/logs/b.log",
        "signoff/logs/b.log",
        "signoff/logs/c.log",
        "up.log",
    ]


def test_paths_that_start_elsewhere_stay_as_they_are_in_the_sheet(tmp_path: Path) -> None:
    text = 'description,input_files\nx,"${LOG_ROOT}/a.log;/data/b.log;~/c.log"\n'
    (made,) = read_sheet(sheet(tmp_path, text), tmp_path / "items")
    item = parse_item(made.text, tmp_path / "items" / made.name)
    written = [name.written for name in item.input_files]
    assert written == ["${LOG_ROOT}/a.log", "/data/b.log", "~/c.log"]


@pytest.mark.parametrize(
    ("until", "found"),
    [("2026-11-23", ["accept.ended"]), ("2026-12-01", ["accept.soon"]), ("2027-12-01", [])],
)
def test_an_acceptance_that_ends_is_named_to_a_reviewer(
    tmp_path: Path, until: str, found: list[str]
) -> None:
    path = tmp_path / "A.yaml"
    path.write_text(f"description: x\naccept: {{by: Ann, reason: r, until: {until}}}\n")
    findings = waiver_findings(path, date(2026, 11, 24))
    assert [(one.gate, one.line) for one in findings] == [(gate, 2) for gate in found]


def test_waivers_are_held_to_what_a_reviewer_asks(tmp_path: Path) -> None:
    path = tmp_path / "A.yaml"
    path.write_text(
        'description: x\nwaivers:\n  value: 4\n  waive_items:\n  - {pattern: "u1/*", reason: r,'
        " owner: Ann, expires: 2026-12-01}\n  - {pattern: old, reason: r, owner: Ann, expires:"
        ' 2026-01-31}\n  - "*"\n  - {pattern: "u1/*", reason: r, owner: Ann, expires: 2028-01-01}\n'
    )
    found = [
        (one.gate.partition(".")[2], one.line) for one in waiver_findings(path, date(2026, 11, 24))
    ]
    assert found == [
        ("soon", 5),
        ("expired", 6),
        ("reason", 7),
        ("owner", 7),
        ("expires", 7),
        ("all", 7),
        ("twice", 8),
    ]
    path.write_text("description: x\nwaivers: {value: 0, waive_items: []}\n")
    assert [one.gate for one in waiver_findings(path, date(2026, 11, 24))] == [
        "waiver.all",
        "waiver.reason",
    ]
