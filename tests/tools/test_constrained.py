"""The four tools that look at files: what each returns, what each refuses, and what a session
may spend.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from transom.canonical import Json
from transom.llm import ToolCallPart
from transom.tools import Toolbox, ToolOutcome
from transom.tools.catalogue import ReadablePlaces
from transom.tools.constrained import FileLimits, FileSession
from transom.tools.file_specs import FILE_TOOLS


def tree(base: Path) -> Path:
    """A design folder with logs, a netlist, and things around it that are nobody's business."""
    root = base / "design"
    (root / "logs").mkdir(parents=True)
    (root / "nets").mkdir()
    lines = [f"line {number}" for number in range(1, 401)]
    lines[9] = lines[99] = lines[199] = lines[299] = "Slack VIOLATED -0.3"
    lines[4] = (
        "read_verilog ../nets/top.v  # see ${NETS}/extra.v and /etc/hosts and ../../secret.log"
    )
    (root / "logs" / "sta.log").write_text("\n".join(lines) + "\n")
    with gzip.open(root / "nets" / "top.v.gz", "wt") as out:
        out.write("// by hand\nmodule top;\nendmodule\n")
    (root / "nets" / "extra.v").write_text("module extra;\n")
    (root / "nets" / "hidden.v").write_text("module hidden;\n")
    (base / "secret.log").write_text("the secret\n")
    (root / "logs" / "link.log").symlink_to(base / "secret.log")
    (root / "logs" / "latin.rpt").write_bytes(b"one\nWiderstand 10 \xb5\xe4\nthree\n")
    os.mkfifo(root / "logs" / "pipe.log")
    return root


class Desk:
    """A session, and short ways to call its tools."""

    def __init__(
        self, root: Path, limits: FileLimits | None = None, own: tuple[Path, ...] = ()
    ) -> None:
        self.places = ReadablePlaces(
            (root,), own, {"NETS": root / "nets", "OUT": root.parent, "ALL": root}
        )
        self.limits = limits or FileLimits()
        self.box = self.fresh()
        self.ran: list[ToolOutcome] = []

    def fresh(self) -> Toolbox:
        return Toolbox(FileSession(self.places, self.limits).tools())

    async def call(self, tool: str, **arguments: Json) -> dict[str, Any]:
        ran = await self.box.run(ToolCallPart("1", tool, arguments))
        self.ran.append(ran)
        content: dict[str, Any] = json.loads(ran.result.content)
        assert ran.result.is_error == ("error" in content)
        assert str(self.places.roots[0]) not in ran.result.content, "never a path of the machine"
        return content

    async def discover(self, *patterns: str) -> dict[str, Any]:
        return await self.call("list_available_files", patterns=list(patterns) or ["*"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(tmp_path)


@dataclass(frozen=True)
class Case:
    """A call, after a discovery or before, and what must be told."""

    tool: str
    arguments: dict[str, Json]
    told: Callable[[dict[str, Any]], bool]
    discovered: bool = True
    limits: FileLimits = FileLimits()  # noqa: RUF009  it is frozen


def refused(*words: str) -> Callable[[dict[str, Any]], bool]:
    return lambda content: (
        set(content) == {"error", "hint"} and all(word in content["error"] for word in words)
    )


STA = "logs/sta.log"
CASES = {
    "read before discovery": Case(
        "read_file_header", {"file_path": STA}, refused("not been discovered"), discovered=False
    ),
    "search before discovery": Case(
        "search_in_file",
        {"file_path": STA, "keywords": ["x"]},
        refused("not been discovered"),
        discovered=False,
    ),
    "discovery that is not asked for": Case(
        "read_file_header",
        {"file_path": STA, "max_lines": 1},
        lambda told: told["content"] == "line 1\n",
        discovered=False,
        limits=FileLimits(discovery_first=False),
    ),
    "upwards": Case("read_file_header", {"file_path": "../secret.log"}, refused("lead upwards")),
    "upwards from within": Case(
        "read_file_header", {"file_path": "logs/../../secret.log"}, refused("lead upwards")
    ),
    "symlink": Case("read_file_header", {"file_path": "logs/link.log"}, refused("leads out")),
    "absolute": Case("read_file_header", {"file_path": "/etc/hosts"}, refused("absolute")),
    "a variable that no result named": Case(
        "read_file_header", {"file_path": "${OUT}/secret.log"}, refused("no such file")
    ),
    "no such file": Case(
        "read_file_header", {"file_path": "logs/none.log"}, refused("no such file")
    ),
    "a name too long": Case("read_file_header", {"file_path": "x" * 4000}, refused("no such file")),
    "a null": Case("read_file_header", {"file_path": "logs/\0.log"}, refused("no such file")),
    "a pipe": Case("read_file_header", {"file_path": "logs/pipe.log"}, refused("no such file")),
    "a folder": Case("read_file_header", {"file_path": "logs"}, refused("no such file")),
    "a listing upwards": Case(
        "list_available_files", {"patterns": ["../*.log"]}, refused("lead upwards")
    ),
    "an absolute listing": Case(
        "list_available_files", {"patterns": ["/etc/*"]}, refused("absolute")
    ),
    "a listing of a folder that is not there": Case(
        "list_available_files",
        {"patterns": ["*"], "search_root": "none"},
        refused("no such folder"),
    ),
    "a header": Case(
        "read_file_header",
        {"file_path": STA, "max_lines": 2},
        lambda told: (
            told
            == {
                "file_path": STA,
                "content": "line 1\nline 2\n",
                "lines_read": 2,
                "file_size": told["file_size"],
                "encoding": "utf-8",
            }
        ),
    ),
    "a header as the settings say": Case(
        "read_file_header",
        {"file_path": STA},
        lambda told: told["lines_read"] == 7,
        limits=FileLimits(header_lines=7),
    ),
    "the 201st line of a header": Case(
        "read_file_header",
        {"file_path": STA, "max_lines": 201},
        lambda told: told["lines_read"] == 200,
    ),
    "a ceiling above the ceiling": Case(
        "read_file_header",
        {"file_path": STA, "max_lines": 900},
        lambda told: told["lines_read"] == 200,
        limits=FileLimits(lines_per_call=900),
    ),
    "Latin-1": Case(
        "read_file_header",
        {"file_path": "logs/latin.rpt"},
        lambda told: (
            (told["encoding"], told["content"].split("\n")[1], told["lines_read"])
            == ("latin-1", "Widerstand 10 µä", 3)
        ),
    ),
    "a range": Case(
        "read_file_range",
        {"file_path": STA, "start_line": 399, "end_line": 405},
        lambda told: (
            told
            == {
                "file_path": STA,
                "content": "line 399\nline 400\n",
                "start_line": 399,
                "end_line": 400,
                "truncated": False,
            }
        ),
    ),
    "the 201st line of a range": Case(
        "read_file_range",
        {"file_path": STA, "start_line": 101, "end_line": 301},
        lambda told: (
            (
                told["end_line"],
                told["truncated"],
                told["content"].count("\n"),
                told["content"].split("\n")[-2],
            )
            == (300, True, 200, "Slack VIOLATED -0.3")
        ),
    ),
    "a range that ends where the file does": Case(
        "read_file_range",
        {"file_path": STA, "start_line": 201, "end_line": 401},
        lambda told: (told["end_line"], told["truncated"]) == (400, False),
    ),
    "a range behind the end": Case(
        "read_file_range",
        {"file_path": STA, "start_line": 401, "end_line": 402},
        refused("has 400 lines"),
    ),
    "a range that runs backwards": Case(
        "read_file_range",
        {"file_path": STA, "start_line": 9, "end_line": 3},
        refused("before start_line"),
    ),
    "line 0": Case(
        "read_file_range",
        {"file_path": STA, "start_line": 0, "end_line": 3},
        refused("less than the minimum of 1"),
    ),
    "compressed": Case(
        "read_file_range",
        {"file_path": "nets/top.v.gz", "start_line": 2, "end_line": 2},
        lambda told: (told["file_path"], told["content"]) == ("nets/top.v.gz", "module top;\n"),
    ),
    "compressed, without its ending": Case(
        "read_file_header",
        {"file_path": "nets/top.v"},
        lambda told: told["file_path"] == "nets/top.v.gz",
    ),
    "the fourth match": Case(
        "search_in_file",
        {"file_path": STA, "keywords": ["violated"], "context_lines": 1},
        lambda told: (
            (
                [match["line_number"] for match in told["matches"]],
                told["total_matches"],
                told["truncated"],
            )
            == ([10, 100, 200], 4, True)
            and told["matches"][0]
            == {
                "keyword": "violated",
                "line_number": 10,
                "content": "line 9\nSlack VIOLATED -0.3\nline 11",
            }
            and told["left_out"] == [{"keyword": "violated", "matches": 1, "lines": [300]}]
        ),
    ),
    "keyword by keyword": Case(
        "search_in_file",
        {
            "file_path": STA,
            "keywords": ["line 7", "slack", "absent"],
            "max_matches_per_keyword": 1,
            "context_lines": 0,
        },
        lambda told: (
            [match["content"] for match in told["matches"]] == ["line 7", "Slack VIOLATED -0.3"]
            and told["total_matches"] == 11 + 4
        ),
    ),
    "a keyword that is nowhere": Case(
        "search_in_file",
        {"file_path": STA, "keywords": ["absent"]},
        lambda told: told == {"file_path": STA, "matches": [], "total_matches": 0},
    ),
    "a keyword of no length": Case(
        "search_in_file", {"file_path": STA, "keywords": [""]}, refused("should be non-empty")
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_what_a_call_is_told(name: str, root: Path) -> None:
    case = CASES[name]
    desk = Desk(root, case.limits)
    if case.discovered:
        await desk.discover()
    told = await desk.call(case.tool, **case.arguments)
    assert case.told(told), told
    assert "the secret" not in json.dumps(told)


async def test_discovery_lists_names_sizes_and_types(root: Path) -> None:
    told = await Desk(root).discover("*.log", "nets/*.v")
    assert told == {
        "files": [
            {
                "path": "logs/sta.log",
                "size": (root / "logs" / "sta.log").stat().st_size,
                "type": "log",
            },
            {"path": "nets/extra.v", "size": 14, "type": "netlist"},
            {"path": "nets/hidden.v", "size": 15, "type": "netlist"},
            {
                "path": "nets/top.v.gz",
                "size": (root / "nets" / "top.v.gz").stat().st_size,
                "type": "netlist",
            },
        ],
        "total_found": 4,
        "truncated": False,
    }


@pytest.mark.parametrize(
    ("patterns", "search_root", "names"),
    [
        (["*.rpt"], "", ["logs/latin.rpt"]),
        (["**/*.rpt"], "", ["logs/latin.rpt"]),
        (["extra.v", "top.v"], "", ["nets/extra.v", "nets/top.v.gz"]),
        (["*.gz"], "", ["nets/top.v.gz"]),
        (["*"], "logs", ["logs/latin.rpt", "logs/sta.log"]),
        (["nets/e*"], "", ["nets/extra.v"]),
        (["e*"], "nets", ["nets/extra.v"]),
        (["*.spef"], "", []),
    ],
)
async def test_where_and_what_is_listed(
    root: Path, patterns: list[Json], search_root: str, names: list[str]
) -> None:
    told = await Desk(root).call("list_available_files", patterns=patterns, search_root=search_root)
    assert [file["path"] for file in told["files"]] == names


async def test_the_21st_file_is_counted_and_not_listed_nor_discovered(root: Path) -> None:
    for number in range(21):
        (root / f"{number:02}.rpt").write_text("x\n")
    desk = Desk(root)
    told = await desk.call("list_available_files", patterns=["??.rpt"], max_files=500)
    assert ([file["path"] for file in told["files"]], told["total_found"], told["truncated"]) == (
        [f"{number:02}.rpt" for number in range(20)],
        21,
        True,
    )
    assert (
        "not been discovered" in (await desk.call("read_file_header", file_path="20.rpt"))["error"]
    )
    few = await desk.call("list_available_files", patterns=["??.rpt"], max_files=2)
    assert (len(few["files"]), few["total_found"], few["truncated"]) == (2, 21, True)


async def test_own_files_come_first_and_may_lie_elsewhere(root: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "run.log"
    mine.parent.mkdir()
    mine.write_text("read_verilog beside.v\n")
    (mine.parent / "beside.v").write_text("module beside;\n")
    desk = Desk(root, own=(mine, root / "logs" / "sta.log"))
    assert [file["path"] for file in (await desk.discover("*.log"))["files"]] == [
        "run.log",
        "logs/sta.log",
    ]
    assert (await desk.discover("beside.v"))["files"] == [], "beside an own file nothing is listed"
    told = await desk.call("read_file_header", file_path="run.log")
    assert [file["path"] for file in told["named_files"]] == ["beside.v"]
    assert (await desk.call("read_file_header", file_path="beside.v"))[
        "content"
    ] == "module beside;\n"


async def test_two_files_never_share_a_name(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "logs").mkdir(parents=True)
    (other / "logs" / "sta.log").write_text("the other\n")
    desk = Desk(root)
    desk.places = replace(desk.places, roots=(root, other))
    desk.box = desk.fresh()
    names = [file["path"] for file in (await desk.discover("sta.log"))["files"]]
    assert names == ["logs/sta.log", "other#1/logs/sta.log"]
    assert (await desk.call("read_file_header", file_path=names[1]))["content"] == "the other\n"


async def test_a_path_in_a_result_counts_as_discovered(root: Path) -> None:
    desk = Desk(root)
    await desk.discover("sta.log")
    assert (
        "no such file"
        in (await desk.call("read_file_header", file_path="../nets/top.v".removeprefix("../n")))[
            "error"
        ]
    )
    told = await desk.call("read_file_range", file_path=STA, start_line=5, end_line=5)
    assert [(file["written"], file["path"]) for file in told["named_files"]] == [
        ("../nets/top.v", "nets/top.v.gz"),
        ("${NETS}/extra.v", "nets/extra.v"),
    ], "beside the log, compressed, by a variable; nothing outside"
    for asked in (
        "../nets/top.v",
        "nets/top.v.gz",
        "nets/top.v",
        "${NETS}/extra.v",
        "nets/extra.v",
    ):
        assert "content" in await desk.call("read_file_header", file_path=asked)
    assert (
        "not been discovered"
        in (await desk.call("read_file_header", file_path="nets/hidden.v"))["error"]
    )
    again = await desk.call("read_file_range", file_path=STA, start_line=5, end_line=5)
    assert "named_files" not in again, "it is told once"


async def test_a_resolution_is_journaled_and_costs_bytes(root: Path) -> None:
    desk = Desk(root)
    await desk.discover("sta.log")
    told = await desk.call("read_file_range", file_path=STA, start_line=5, end_line=5)
    note: Any = desk.ran[-1].note
    assert note["written"] == {"../nets/top.v": "nets/top.v.gz", "${NETS}/extra.v": "nets/extra.v"}
    assert note["known"]["nets/extra.v"] == str(root / "nets" / "extra.v")
    cost = sum(len(json.dumps(row)) for row in told["named_files"])
    assert note["bytes"] == len(told["content"]) + cost


async def test_a_path_that_means_two_files_is_asked_about(root: Path) -> None:
    for folder in ("a", "b"):
        (root / folder).mkdir()
        (root / folder / "run.log").write_text("see part.v\n")
        (root / folder / "part.v").write_text(f"module {folder};\n")
    desk = Desk(root)
    await desk.discover("run.log")
    for folder in ("a", "b"):
        await desk.call("read_file_header", file_path=f"{folder}/run.log")
    told = await desk.call("read_file_header", file_path="part.v")
    assert told["error"] == "several files are written so: a/part.v, b/part.v"
    assert (await desk.call("read_file_header", file_path="b/part.v"))["content"] == "module b;\n"


async def test_the_quota_is_reached_by_search_alone(root: Path) -> None:
    desk = Desk(root, FileLimits(total_bytes=400))
    await desk.discover()
    search: dict[str, Json] = {"file_path": STA, "keywords": ["slack"], "context_lines": 4}
    first = await desk.call("search_in_file", **search)
    second = await desk.call("search_in_file", **search)
    assert (len(first["matches"]), len(second["matches"])) == (3, 1)
    assert (second["total_matches"], second["truncated"]) == (4, True)
    size = sum(len(match["content"]) for match in first["matches"] + second["matches"])
    third = await desk.call("search_in_file", **search)
    assert third["error"] == f"no more can be read: {size} of 400 bytes of content are spent"
    assert "answer with what you have" in third["hint"]
    assert "files" in await desk.discover(), "listing costs nothing"


async def test_a_read_goes_as_far_as_the_quota_and_says_so(root: Path) -> None:
    desk = Desk(root, FileLimits(total_bytes=20))
    await desk.discover()
    told = await desk.call("read_file_header", file_path=STA, max_lines=4)
    assert (told["content"], told["lines_read"], told["truncated"]) == ("line 1\nline 2\n", 2, True)
    assert (
        "14 of 20 bytes"
        in (await desk.call("read_file_range", file_path=STA, start_line=1, end_line=1))["error"]
    )


async def test_bytes_are_counted_as_they_are_sent(root: Path) -> None:
    (root / "wide.log").write_text("ä" * 10 + "\n")
    desk = Desk(root)
    await desk.discover()
    await desk.call("read_file_header", file_path="wide.log")
    note: Any = desk.ran[-1].note
    assert note["bytes"] == 21


async def test_long_lines_and_long_surroundings_are_cut_and_the_match_stays(root: Path) -> None:
    (root / "long.log").write_text(
        "a" * 1500 + "\n" + "b" * 3000 + "KEY" + "c" * 3000 + "\n" + "d\n" * 30
    )
    desk = Desk(root)
    await desk.discover()
    (match,) = (await desk.call("search_in_file", file_path="long.log", keywords=["key"]))[
        "matches"
    ]
    assert (len(match["content"]), "KEY" in match["content"]) == (2000, True)
    (near,) = (await desk.call("search_in_file", file_path="long.log", keywords=["aaa"]))["matches"]
    assert len(near["content"]) <= 2000
    told = await desk.call("read_file_range", file_path="long.log", start_line=2, end_line=3)
    assert (len(told["content"]), told["end_line"], told["truncated"]) == (2000 + 3, 3, True)


async def test_an_archive_that_is_cut_short_is_a_result(root: Path) -> None:
    (root / "half.log.gz").write_bytes(gzip.compress(os.urandom(5000))[:-100])
    desk = Desk(root)
    await desk.discover()
    assert (
        "cut short"
        in (await desk.call("search_in_file", file_path="half.log", keywords=["x"]))["error"]
    )


async def test_a_file_that_is_swapped_for_a_link_is_not_followed(
    root: Path, tmp_path: Path
) -> None:
    desk = Desk(root)
    await desk.discover()
    (root / "logs" / "sta.log").unlink()
    (root / "logs" / "sta.log").symlink_to(tmp_path / "secret.log")
    assert "leads out" in (await desk.call("read_file_header", file_path=STA))["error"]
    (root / "logs" / "sta.log").unlink()
    assert "not there any more" in (await desk.call("read_file_header", file_path=STA))["error"]


async def test_calls_of_one_reply_follow_each_other(root: Path) -> None:
    import asyncio

    box = Desk(root).box
    calls = [
        ToolCallPart("1", "list_available_files", {"patterns": ["*"]}),
        ToolCallPart("2", "read_file_header", {"file_path": STA, "max_lines": 1}),
    ]
    ran = await asyncio.gather(*(box.run(call) for call in calls))
    assert [one.result.is_error for one in ran] == [False, False]


async def test_a_session_that_is_told_its_results_is_where_it_was(root: Path) -> None:
    desk = Desk(root, FileLimits(total_bytes=600))
    await desk.discover("sta.log")
    await desk.call("read_file_range", file_path=STA, start_line=1, end_line=20)
    await desk.call("read_file_header", file_path="nowhere")
    before, desk.box = desk.box, desk.fresh()
    assert "not been discovered" in (await desk.call("read_file_header", file_path=STA))["error"]
    for ran in desk.ran[:3]:
        desk.box.recall(ran)
    asked: list[tuple[str, dict[str, Json]]] = [
        ("read_file_header", {"file_path": "../nets/top.v"}),
        ("read_file_range", {"file_path": STA, "start_line": 300, "end_line": 400}),
        ("read_file_header", {"file_path": STA}),
    ]
    again = [await desk.call(tool, **arguments) for tool, arguments in asked]
    desk.box = before
    assert [await desk.call(tool, **arguments) for tool, arguments in asked] == again


async def test_a_file_is_never_in_memory_as_a_whole(root: Path) -> None:
    import tracemalloc

    with (root / "big.log").open("w") as out:
        for _ in range(40):
            out.write("x" * 500_000)
        out.write("\n" + "y z\n" * 20_000 + "KEY\n")
    desk = Desk(root)
    await desk.discover()
    tracemalloc.start()
    found = await desk.call("search_in_file", file_path="big.log", keywords=["key"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["matches"][0]["line_number"] == 20_002
    assert peak < 8 << 20


def test_the_tools_are_as_they_are_declared(root: Path) -> None:
    assert Desk(root).box.specs == FILE_TOOLS
    parameters: dict[str, Any] = {spec.name: spec.parameters["properties"] for spec in FILE_TOOLS}
    assert {name: sorted(properties) for name, properties in parameters.items()} == {
        "list_available_files": ["max_files", "patterns", "search_root"],
        "read_file_header": ["file_path", "max_lines"],
        "search_in_file": ["context_lines", "file_path", "keywords", "max_matches_per_keyword"],
        "read_file_range": ["end_line", "file_path", "start_line"],
    }
