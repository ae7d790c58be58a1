"""Looking at files within limits: real files, links, archives, floods."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from transom.runs import Workspace
from transom.tools.excerpts import search
from transom.tools.files import Viewer, ViewLimits, discover, file_type, fits, named_files


def tree(root: Path) -> Path:
    (root / "logs").mkdir(parents=True)
    (root / "logs" / "run.log").write_text(
        "read_verilog top.v\n" + "x\n" * 40 + "slack bad\n" + "y\n" * 40
    )
    (root / "logs" / "top.v").write_text("// made by hand\nmodule top;\n")
    with gzip.open(root / "a.log.gz", "wt") as out:
        out.write("packed\n")
    (root / "z.txt").write_text("no\n")
    return root


def test_given_files_come_first_then_matches_in_order(tmp_path: Path) -> None:
    root = tree(tmp_path / "r")
    listing = discover([root / "z.txt", root / "absent"], [root], ["*.log"])
    assert [f.name for f in listing.files] == ["z.txt", "a.log.gz", "logs/run.log"]
    assert [f.type for f in listing.files] == ["unknown", "log", "log"]
    assert listing.total_found == 3


def test_workspaces_hold_nothing_to_look_at(tmp_path: Path) -> None:
    """Neither in a listing nor by a line that names one of their files."""
    Workspace.at(tmp_path / "project" / "ws").database.touch()
    names = ("project/sta.log", "project/ws/runs/A/draft.log", "project/ws/other.log")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text\n")
    for root in (tmp_path, tmp_path / "project"):
        assert [one.path.name for one in discover([], [root], ["*.log"]).files] == ["sta.log"]
    lines = ["read sta.log", "read ws/runs/A/draft.log"]
    found = named_files(lines, tmp_path / "project" / "x.log", [tmp_path / "project"])
    assert list(found) == ["sta.log"]
    ws = tmp_path / "project" / "ws"
    own = discover([ws / "runs/A/draft.log"], [tmp_path / "project"], [])
    assert [one.path for one in own.files] == [ws / "runs/A/draft.log"], "a person named it"
    at_the_top = discover([], [ws], ["*.log"])
    assert [one.path.name for one in at_the_top.files] == ["other.log"]


def test_truncation_is_true_to_the_facts(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"{number:02}.log").write_text("x")
    listing = discover([], [tmp_path], ["*.log"])
    assert (len(listing.files), listing.total_found) == (20, 25)
    assert listing.files[0].name == "00.log"


def test_links_out_of_the_roots_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "secret.log"
    outside.write_text("secret\n")
    root = tmp_path / "r"
    root.mkdir()
    (root / "link.log").symlink_to(outside)
    assert discover([], [root], ["*.log"]).files == ()
    viewer = Viewer([root])
    assert viewer.show([root / "link.log"], []) == ""
    assert viewer.skipped == ["link.log: outside the roots"]


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        # The rows of a netlist, of a parasitics file and of a timing report repeat one shape.
        ([f"  AND2X1 u{n} ( .A(n{n}), .B(n{n + 1}), .Z(z{n}) );" for n in range(90)], 13),
        ([f"*{n} core/net_{n}" for n in range(90)], 13),
        ([f"{n / 7:.3f}   0.1{n}   path/r{n}/D" for n in range(90)], 13),
        # Sections of different lines are a header to the end of its limit.
        (["#" * (n + 1) + " title" for n in range(90)], 90),
    ],
    ids=["netlist", "parasitics", "table", "sections"],
)
def test_a_header_ends_when_it_only_repeats_the_shapes_of_earlier_lines(
    rows: list[str], shown: int, tmp_path: Path
) -> None:
    (tmp_path / "top.v").write_text("\n".join(["// made by a tool", *rows]), "utf-8")
    view = Viewer([tmp_path], ViewLimits()).show([tmp_path / "top.v"], [])
    assert sum(row in view for row in rows) == shown


def test_a_view_shows_header_matches_and_named_files_with_true_line_numbers(tmp_path: Path) -> None:
    root = tree(tmp_path / "r")
    shown = Viewer([root], ViewLimits(header_lines=3, context=1)).show(
        [root / "logs" / "run.log"], ["slack"]
    )
    first, second = shown.split("\n\n")
    assert first.splitlines() == [
        "### FILE logs/run.log (189 bytes, 82 lines)",
        "     1| read_verilog top.v",
        "     2| x",
        "     3| x",
        "...",
        "    41| x",
        "    42| slack bad",
        "    43| y",
        "...",
    ]
    assert second.startswith("### FILE logs/top.v (28 bytes, 2 lines)\n     1| // made by hand")


def test_the_budget_of_bytes_holds_over_all_files(tmp_path: Path) -> None:
    # Ten signs a line and no two lines alike, so that a header is not cut as a repetition.
    lines = [f"{n:010b}".replace("0", "#").replace("1", ";") for n in range(50)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.log").write_text("\n".join(lines) + "\n")
    viewer = Viewer([tmp_path], ViewLimits(total_bytes=620))
    shown = viewer.show([tmp_path / "a.log", tmp_path / "b.log"], [])
    assert len(re.findall("[#;]{10}", shown)) == 62
    assert viewer.skipped == ["b.log: shown up to line 12, the budget of bytes is spent"]


def test_matches_a_keyword_are_limited(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("bad\n\n\n" * 10)
    shown = Viewer([tmp_path], ViewLimits(header_lines=0, context=1)).show(
        [tmp_path / "a.log"], ["BAD"]
    )
    assert shown.count("bad") == 3


def test_long_lines_are_cut_and_broken_archives_named(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("z" * 5000)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(b"x" * 100)[:-10])
    viewer = Viewer([tmp_path])
    shown = viewer.show([tmp_path / "a.log", tmp_path / "b.log.gz"], [])
    assert shown.count("z") == 2000
    assert viewer.skipped[0].startswith("b.log.gz: ")


def test_types_look_through_gz() -> None:
    assert [file_type(Path(n)) for n in ("a.v.gz", "a.rpt", "a.SPEF", "a.gz")] == [
        "netlist",
        "report",
        "spef",
        "unknown",
    ]


def test_files_that_lines_name_are_found_as_a_check_finds_them(tmp_path: Path) -> None:
    root = tree(tmp_path / "r")
    with gzip.open(root / "logs" / "net.v.gz", "wt") as out:
        out.write("module net;\n")
    (tmp_path / "out.v").write_text("")
    log = root / "logs" / "run.log"
    line = f"read {root}/z.txt top.v: "
    line += (
        f"${{L}}/net.v, 'net.v' ../../out.v 0.123 {'x' * 300}.v ${{NO}}/top.v run.log none.v a\0.v"
    )
    assert named_files([line], log, [root], {"L": root / "logs"}) == {
        f"{root}/z.txt": root / "z.txt",
        "top.v": root / "logs" / "top.v",
        "${L}/net.v": root / "logs" / "net.v.gz",
        "net.v": root / "logs" / "net.v.gz",
        "run.log": log,
    }


def test_globs_of_names_and_of_paths() -> None:
    name = "logs/a.v.gz"
    assert [fits(name, glob) for glob in ("*.v", "*.gz", "logs/*.v", "**/*.v", "logs/**/a.v")] == [
        True
    ] * 5
    assert [fits(name, glob) for glob in ("a", "x/*.v", "*.V")] == [False] * 3


@pytest.mark.parametrize("characters", [1, 2, 3, 7, 20, 21])
def test_what_stands_around_a_match_has_no_more_characters_than_it_may(
    tmp_path: Path, characters: int
) -> None:
    (tmp_path / "log").write_text("\n".join([*"abcdefghijklmnop", "X", *"qrstuvw"]))
    (match,), counts = search(
        tmp_path / "log", ["x"], context=30, max_matches=1, characters=characters
    )
    assert (match.line_number, counts["x"].lines) == (17, 1)
    assert characters - 2 <= len(match.content) <= characters
    assert "X" in match.content
