"""A program asks a person, and maps over many items: what waits or fails holds up nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.runs.helpers import desk
from transom.cli import main
from transom.errors import InputError, Paused, RunError
from transom.formats.yaml_files import dump_yaml, load_yaml
from transom.runs import MapResult, PersonAnswer, Run, Stage, Workspace, text_file
from transom.store import SqliteStore

OPTIONS = ["Checkout", "Search"]


async def which(run: Run) -> PersonAnswer:
    return await run.ask("feature", "Which feature is meant?", options=OPTIONS)


async def life(root: Path, program: object, answer: str | None = None) -> object:
    """One run of the process: answers first where it is given an answer."""
    at, _ = desk(root)
    workspace = Workspace.at(root / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        if answer is not None:
            await run.decide(answer, "feature", "it says so", by="Ada")
        return await program(run)  # type: ignore[operator]


async def test_a_question_waits_until_a_person_answers_and_is_asked_once(tmp_path: Path) -> None:
    with pytest.raises(
        Paused,
        match=r"Which feature is meant\?.*transom answer \S+ --question \w+ Checkout \(or: Search\)",
    ):
        await life(tmp_path, which)
    with pytest.raises(
        InputError,
        match=r"'Payments' is no answer to Which.*; answer with one of 1: Checkout; 2: Search",
    ):
        await life(tmp_path, which, "Payments")
    assert await life(tmp_path, which, "2") == PersonAnswer("Search", "Ada", "it says so")
    assert await life(tmp_path, which) == PersonAnswer("Search", "Ada", "it says so")


async def test_another_wording_asks_anew_and_only_the_new_one_waits(tmp_path: Path) -> None:
    async def reworded(run: Run) -> PersonAnswer:
        return await run.ask("feature", "Which one?")

    for program in (which, reworded):
        with pytest.raises(Paused):
            await life(tmp_path, program)
    assert await life(tmp_path, reworded, "the blue one") == PersonAnswer(
        "the blue one", "Ada", "it says so"
    )
    with pytest.raises(Paused):
        await life(tmp_path, which)


async def test_an_option_that_is_a_number_means_itself(tmp_path: Path) -> None:
    async def corners(run: Run) -> PersonAnswer:
        return await run.ask("feature", "How many corners?", options=["3", "2", "1"])

    with pytest.raises(Paused):
        await life(tmp_path, corners)
    assert await life(tmp_path, corners, "3") == PersonAnswer("3", "Ada", "it says so")


async def lengths(stage: Stage, item: str, done: list[str]) -> str:
    done.append(item)
    if item == "fails":
        raise InputError("is empty", place=item)
    return str(len(item))


async def test_a_map_keeps_order_names_and_results_apart_and_is_memoised(tmp_path: Path) -> None:
    items, done = ["a", "bb", "fails", "../ccc", "x" * 300], list[str]()

    async def program(run: Run) -> list[MapResult[str]]:
        async def one(stage: Stage, item: str) -> str:
            if item == "bb":
                return (await run.ask("bb", "May bb be read?", options=["yes"])).text
            return await lengths(stage, item, done)

        return await run.map("gather", one, items, key=str, out=text_file("n.txt"), limit=2)

    first = await life(tmp_path, program)
    assert isinstance(first, list)
    assert [one.key for one in first] == items
    assert [one.artifact and one.artifact.value for one in first] == ["1", None, None, "6", "300"]
    assert first[1].question.reason == "May bb be read?" and str(first[2].error).startswith(
        "fails: is empty"
    )
    done.clear()
    again = await life(tmp_path, program)
    assert isinstance(again, list) and done == ["fails"], (
        "what is done is reused; a failure is tried again"
    )
    assert again[0].artifact == first[0].artifact
    gather = next((tmp_path / ".transom/runs/x").glob("*/gather"))
    assert len(list(gather.iterdir())) == 3, "each in a folder of its own, below the map's"


async def test_equal_keys_and_a_stopped_program_are_told(tmp_path: Path) -> None:
    async def twice(run: Run) -> None:
        await run.map("gather", lengths, ["a", "a"], [], key=str, out=text_file("n.txt"))

    async def broken(run: Run) -> None:
        async def one(stage: Stage, item: str) -> str:
            raise ZeroDivisionError(item)

        await run.map("gather", one, ["a"], key=str, out=text_file("n.txt"))

    with pytest.raises(
        RunError,
        match=r"two items of gather have the key 'a'; give key= that tells the items apart",
    ):
        await life(tmp_path, twice)
    with pytest.raises(ZeroDivisionError):
        await life(tmp_path, broken)


def shown(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    return capsys.readouterr().out


def test_what_waits_is_listed_answered_by_sheet_and_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(capsys, "waiting") == "nothing waits for a person\n"
    with pytest.raises(Paused):
        asyncio.run(life(tmp_path, which))
    listed = json.loads(shown(capsys, "waiting", "-o", "answers.yaml", "--format", "json"))[
        "questions"
    ]
    assert [(one["asks"], one["options"]) for one in listed] == [
        ("Which feature is meant?", OPTIONS)
    ]
    assert main(["answer"]) == 2 and "this is no terminal" in capsys.readouterr().err
    assert (
        main(["answer", "--file", "answers.yaml"]) == 2
        and "no entry has an answer" in capsys.readouterr().err
    )
    sheet = Path("answers.yaml")
    rows = load_yaml(sheet).data
    assert isinstance(rows, list) and isinstance(rows[0], dict)
    sheet.write_text(dump_yaml([{**rows[0], "answer": 2, "by": "Ada"}]))
    assert shown(capsys, "answer", "--file", "answers.yaml").startswith(
        "Which feature is meant? Search; "
    )
    assert shown(capsys, "waiting") == "nothing waits for a person\n"
    assert asyncio.run(life(tmp_path, which)) == PersonAnswer("Search", "Ada")


def test_the_command_that_is_shown_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Paused) as caught:
        asyncio.run(life(tmp_path, which))
    run = caught.value.run_id
    assert "waits for: Which feature is meant?" in shown(capsys, "runs", "show", run)
    assert "Checkout (or: Search)" in shown(capsys, "waiting")
    assert main(["answer", run, "--choose", "3"]) == 2
    assert "there is no option 3: Which feature is meant?" in capsys.readouterr().err
    assert shown(capsys, "answer", run, "--choose", "1").startswith(
        "Which feature is meant? Checkout; "
    )
    assert asyncio.run(life(tmp_path, which)) == PersonAnswer("Checkout")
