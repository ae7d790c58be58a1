"""`transom playbook` and `transom memory`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from transom.cli import main


class Terminal:
    """Runs commands in a folder; keeps what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *args: str, code: int = 0) -> str:
        assert main([*args]) == code
        out, err = self._capsys.readouterr()
        return out + err

    def json(self, *args: str) -> Any:
        return json.loads(self.run(*args, "--format", "json"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(capsys)


def test_looking_makes_no_workspace(here: Path, terminal: Terminal) -> None:
    assert terminal.run("playbook", "list") == "no insights\n"
    assert terminal.run("playbook", "context", "anything") == "nothing yet\n"
    assert terminal.run("playbook", "review") == "nothing to ask\n"
    assert terminal.json("playbook", "stats")["total_items"] == 0
    assert terminal.json("playbook", "export")["items"] == {}
    said = terminal.run("playbook", "show", "str-00001", code=2)
    assert "unknown insight 'str-00001'; see: transom playbook list" in said
    assert list(here.iterdir()) == []


def test_an_insight_from_its_birth_to_its_end(here: Path, terminal: Terminal) -> None:
    stale = "Never sign off on a stale netlist"
    said = terminal.run("playbook", "add", "mistake", stale, "--tag", "netlist", "--by", "ada")
    assert said == "mis-00001: added; net score +0, score 0.12\n"
    assert "it is there already" in terminal.run("playbook", "add", "mis", f"{stale.upper()}!")
    terminal.run("playbook", "add", "str", "Use shells below 2 mm")
    assert "net score -1" in terminal.run("playbook", "feedback", "mis-00001", "--harmful")
    assert "net score +1" in terminal.run(
        "playbook", "feedback", "str-00002", "--helpful", "--by", "ada"
    )
    listed = terminal.run("playbook", "list").splitlines()
    assert [line.split()[0] for line in listed] == ["ID", "str-00002", "mis-00001"]
    assert [
        one["id"] for one in terminal.json("playbook", "list", "--category", "mis")["items"]
    ] == ["mis-00001"]
    assert [one["id"] for one in terminal.json("playbook", "search", "netlists")["items"]] == [
        "mis-00001"
    ]
    shown = terminal.run("playbook", "context", "a netlist", "--task", "debug_error")
    assert shown.splitlines()[1] == "[str-00002] helpful=1 harmful=0 :: Use shells below 2 mm"
    history = terminal.run("playbook", "show", "str-00002")
    assert "feedback  helpful yes, supports yes, source by ada" in history
    document = terminal.json("playbook", "show", "mis-00001")
    assert [event["kind"] for event in document["history"]] == ["added", "seen", "feedback"]
    assert (document["net_score"], document["confidence"], document["tags"]) == (
        -1,
        0.0,
        ["netlist"],
    )
    assert "average confidence  0.5" in terminal.run("playbook", "stats")
    assert "changed" in terminal.run(
        "playbook", "edit", "str-00002", "--content", "Use shells below 3 mm"
    )
    assert "nothing is to be changed" in terminal.run("playbook", "edit", "str-00002", code=2)
    assert "confirmed; net score +2" in terminal.run(
        "playbook", "review", "--confirm", "str-00002", "--by", "ada"
    )
    assert "merged; net score +1" in terminal.run("playbook", "merge", "str-00002", "mis-00001")
    told = terminal.run("playbook", "feedback", "mis-00001", "--harmful")
    assert "str-00002: counted; mis-00001 is part of it; net score +0" in told
    assert "no reason is given" in terminal.run("playbook", "retire", "str-00002", code=2)
    assert "retired" in terminal.run(
        "playbook", "retire", "str-00002", "--why", "wrong since release 9"
    )
    again = terminal.run("playbook", "add", "str", "use shells BELOW 3 mm")
    assert "is retired (wrong since release 9); transom playbook retire str-00002 --undo" in again
    assert "restored" in terminal.run("playbook", "retire", "str-00002", "--undo")
    assert terminal.run("playbook", "prune") == "0 insights retired\n"
    assert terminal.json("playbook", "prune", "--threshold", "1") == {"items_pruned": 0}
    assert (here / ".transom" / "state.db").is_file()


def test_a_near_insight_is_proposed_in_the_review_and_both_texts_stay(terminal: Terminal) -> None:
    setup, hold = (f"Use the slow corner for {check} checks" for check in ("setup", "hold"))
    terminal.run("playbook", "add", "str", setup)
    said = terminal.run("playbook", "add", "str", hold)
    assert said.startswith(
        "str-00002: added; near to str-00001, see transom playbook review; net score +0"
    )
    assert len(terminal.json("playbook", "list")["items"]) == 2
    assert terminal.run("playbook", "review").splitlines() == [
        f"str-00002: {hold}",
        f'  str-00001 is near to it: "{setup}". Do both say the same?',
        "  yes:  transom playbook merge str-00001 str-00002",
        "  no:   transom playbook review --keep-both str-00002",
    ]
    (question,) = terminal.json("playbook", "review")["questions"]
    assert (question["kind"], question["other"], question["other_content"]) == (
        "near",
        "str-00001",
        setup,
    )
    assert "kept" in terminal.run("playbook", "review", "--keep-both", "str-00002", "--by", "ada")
    assert terminal.run("playbook", "review") == "nothing to ask\n"
    terminal.run("playbook", "merge", "str-00001", "str-00002")
    shown = terminal.run("playbook", "show", "str-00001")
    assert f"str-00002 was merged into it: {hold}" in shown
    terminal.run("playbook", "add", "str", f"{setup.upper()}!", "--tag", "timing")
    assert f"seen  tags timing, content {setup.upper()}!" not in shown
    assert f"{setup.upper()}!" in terminal.run("playbook", "show", "str-00001")
    both = ("playbook", "review", "--confirm", "str-00001", "--keep-both", "str-00001")
    assert "one answer at a time" in terminal.run(*both, code=2)


def test_the_review_shows_ten_questions_and_counts_the_others(terminal: Terminal) -> None:
    for letter in "abcdefghijklm":
        text = f"Choose material {letter * 3} for the outer housing of a pump in salt water"
        terminal.run("playbook", "add", "str", text)
    shown = terminal.run("playbook", "review").splitlines()
    assert len([line for line in shown if line.startswith("str-")]) == 10
    assert shown[-1] == "2 more questions: answer these first"
    assert len(terminal.json("playbook", "review")["questions"]) == 10


def test_notes_come_into_the_domain_and_an_export_says_what_it_leaves_out(
    here: Path, terminal: Terminal
) -> None:
    (here / "notes.jsonl").write_text(
        '{"category": "failure", "insight": "Never delete the lock file"}\n'
    )
    terminal.run("playbook", "import", "notes.jsonl", "--domain", "checklist")
    items = terminal.json("playbook", "list", "--domain", "checklist")["items"]
    assert [one["scope"] for one in items] == ["domain/checklist"]
    assert "1 more insight in domain/checklist: add --domain checklist" in terminal.run(
        "playbook", "export", "b.json"
    )


def test_scopes_are_named_and_files_come_and_go(here: Path, terminal: Terminal) -> None:
    terminal.run("playbook", "add", "str", "Everywhere true")
    terminal.run("playbook", "add", "str", "True of all meshes", "--domain", "fea")
    terminal.run(
        "playbook", "add", "str", "True of this bracket", "--domain", "fea", "--study", "bracket"
    )
    terminal.run("playbook", "add", "str", "Only mine", "--user", "ada")
    assert terminal.json("playbook", "stats")["total_items"] == 1
    assert (
        terminal.json(
            "playbook", "stats", "--domain", "fea", "--study", "bracket", "--user", "ada"
        )["total_items"]
        == 4
    )
    assert terminal.run("learning", "report").splitlines()[1:] == [
        "1 more insight in domain/fea: add --domain fea",
        "1 more insight in study/bracket: add --study bracket",
    ]
    assert "study/bracket" in terminal.run("playbook", "export", "all.json", "--domain", "fea"), (
        "it is left out"
    )
    assert len(json.loads((here / "all.json").read_text())["items"]) == 2
    assert terminal.run("playbook", "import", "all.json") == "0 insights added, 2 known\n"
    (here / "notes.jsonl").write_text(
        '{"category": "failure", "insight": "Too fine a mesh"}\nbroken\n'
    )
    told = terminal.run("playbook", "import", "notes.jsonl", "all.json", code=1)
    assert "notes.jsonl:2: " in told
    assert "1 insight added, 2 known" in told
    assert "no such file" in terminal.run("playbook", "import", "missing.json", code=2)


def test_memory_remembers_relates_and_finds(terminal: Terminal) -> None:
    terminal.run("memory", "add", "checkout waits for the gateway", "--id", "checkout")
    terminal.run("memory", "add", "the gateway of payments", "--id", "gateway")
    terminal.run("memory", "add", "the shop shows a basket", "--id", "shop")
    terminal.run("memory", "relate", "checkout", "depends_on", "gateway")
    terminal.run("memory", "relate", "shop", "depends_on", "checkout")
    terminal.run("memory", "relate", "gateway", "depends_on", "shop")
    asked = (
        "memory",
        "neighbours",
        "gateway",
        "--name",
        "depends_on",
        "--direction",
        "in",
        "--hops",
        "0",
    )
    assert [one["id"] for one in terminal.json(*asked)["entries"]] == ["checkout", "shop"]
    assert terminal.run("memory", "neighbours", "shop", "--direction", "out").startswith(
        "1  shop depends_on checkout"
    )
    found = [one["id"] for one in terminal.json("memory", "search", "gateways")["entries"]]
    assert sorted(found) == ["checkout", "gateway"]
    assert terminal.run("memory", "search", "zebra") == "nothing found\n"
    odd = terminal.run("memory", "neighbours", "shop", "--direction", "up", code=2)
    assert "'up' is not one of 'out', 'in', 'both'" in odd
    assert "unknown entry 'nobody'" in terminal.run(
        "memory", "relate", "shop", "x", "nobody", code=2
    )
