"""The page of a run: its stages in words and on a timeline, its attempts as diffs, and its ETA; and
the evidence of a question about a file, or of a build that gave up.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.leaving import finish
from transom.errors import Paused
from transom.llm import Chain, ScriptedProvider
from transom.runs import Run, Stage, text_file
from transom.runs.history import FollowedRun, RunHistory
from transom.runs.walk import hand_over
from transom.studies.progress import StudyProgress

PARSED = "def parse():\n    return 1\n"
MENDED = "def parse():\n    return 2\n"


async def say(stage: Stage, text: str) -> str:
    del stage
    return text


async def open_run(history: RunHistory, kind: str, name: str) -> Run:
    chain = Chain((ScriptedProvider({}),))
    where: Any = {"workspace": history.workspace, "store": history.store, "chain": chain}
    return await Run.open(kind, {"item": name}, name=name, **where)


async def build_twice(history: RunHistory) -> str:
    """Leave a check whose parser was written, and corrected."""
    async with await open_run(history, "check", "LOG-01") as run:
        await run.stage("build/parser", say, PARSED, out=text_file("a.py"))
        await run.stage("build/parser#1", say, MENDED, out=text_file("a.py"))
        await run.stage("own", say, "x", out=text_file("own.txt"))
        await run.finish("PASS")
        return run.id


def test_stages_are_words_and_bars_and_attempts_are_diffs(
    browser: TestClient, history: RunHistory
) -> None:
    run = asyncio.run(build_twice(history))
    text = browser.get(f"/runs/{run}/stages").text
    assert "the function that reads the files is written" in text
    assert "the function that reads the files is written (iteration 1)" in text
    # Nobody described this one.
    assert "<code>own</code>" in text and "own: working" not in text
    assert text.count("<rect") == 3
    assert '<span class="removed">-    return 1' in text
    assert '<span class="added">+    return 2' in text
    document = browser.get(f"/api/runs/{run}").json()
    (attempt,) = document["attempts"]
    assert attempt["stage"] == "build/parser#1" and "+    return 2" in attempt["diff"]
    assert document["stages"][0]["words"] == "the function that reads the files is written"


def test_an_attempt_whose_file_is_gone_says_so(browser: TestClient, history: RunHistory) -> None:
    run = asyncio.run(build_twice(history))
    folder = history.workspace.run_folder("LOG-01", run)
    for file in folder.rglob("a.py"):
        file.write_text("edited since")
    for file in folder.glob("hourly/*/*.json"):
        file.unlink()
    assert "the files are not kept" in browser.get(f"/runs/{run}/stages").text


def test_a_file_in_question_is_shown_with_its_diff(
    browser: TestClient, history: RunHistory
) -> None:
    async def leave() -> None:
        async with await open_run(history, "check", "LOG-01") as run:
            await run.stage("one", say, PARSED, out=text_file("one.py"))
        (file,) = run.folder.rglob("one.py")
        file.write_text(MENDED)
        with pytest.raises(Paused):
            async with await open_run(history, "check", "LOG-01") as run:
                await run.stage("one", say, "something else", out=text_file("one.py"))

    asyncio.run(leave())
    text = browser.get("/waiting").text
    assert "since its stage wrote it" in text
    assert '<span class="removed">-    return 1' in text
    assert '<span class="added">+    return 2' in text


def test_a_build_that_gave_up_says_what_is_wrong(browser: TestClient, history: RunHistory) -> None:
    async def leave() -> None:
        async with await open_run(history, "check", "LOG-01") as run:
            await hand_over(run, 3, [], ["atom_a:33: the <locked> layer was changed [locked]"])
            await run.finish("human_required", waits="3 repairs did not help")

    asyncio.run(leave())
    text = browser.get("/waiting").text
    assert "the &lt;locked&gt; layer was changed" in text and "needs your words" in text
    (question,) = browser.get("/api/waiting").json()["questions"]
    assert question["evidence"]["findings"] == [
        "atom_a:33: the <locked> layer was changed [locked]"
    ]


def test_a_reason_on_a_page_names_no_command(browser: TestClient, history: RunHistory) -> None:
    async def leave() -> str:
        with pytest.raises(Paused):
            async with await open_run(history, "story", "epic") as run:
                try:
                    await run.ask("review", "May it be merged?", options=("merge it", "give up"))
                # As an epic does, whose other stories go on.
                except Paused as pause:
                    raise await run.pause("", f"story-1: {pause}") from pause
        return run.id

    run = asyncio.run(leave())
    for address in ("/", "/stories", f"/runs/{run}", "/waiting"):
        text = browser.get(address).text
        assert "transom answer" not in text and "--choose" not in text, address
        # Each page says which run it is about.
        assert "is paused:" not in text, address
    assert "May it be merged?" in browser.get("/").text


def test_a_study_is_estimated_by_its_own_designs(browser: TestClient, history: RunHistory) -> None:
    finish(history, "short", "done", kind="study")

    async def look() -> tuple[str, Any]:
        async with await open_run(history, "study", "long") as run:
            folder = history.workspace.root / "studies" / "long"
            folder.mkdir(parents=True)
            await run.stage("set-up", say, "x", out=text_file("x.txt"))
            assert "nothing to estimate by yet" in (await asyncio.to_thread(browser.get, "/")).text
            StudyProgress.of(7, 10_000, 7_200.0).write(folder)
            page = (await asyncio.to_thread(browser.get, "/")).text
            document = (await asyncio.to_thread(browser.get, "/api/now")).json()
            live = (await asyncio.to_thread(browser.get, f"/runs/{run.id}")).text
            assert f'hx-sse:connect="/runs/{run.id}/events?stages=true"' in live
            assert "by its own designs" in live
            # An event replaces what follows the run, and would close what a person has opened.
            followed, _, _ = live.partition('id="live"')[2].partition("</div>\n<details>")
            assert "Design 8 of 10,000" in followed and "<details" not in followed
            await run.finish("done")
            return page, document

    page, document = asyncio.run(look())
    assert "Design 8 of 10,000" in page and "by its own designs" in page
    (row,) = document["running"]
    assert 7_100 < row["seconds_left"] <= 7_200


def test_a_damaged_progress_is_none(history: RunHistory) -> None:
    folder = history.workspace.root
    for text in ("", "[]", json.dumps({"ended": 1})):
        (folder / "progress.json").write_text(text)
        assert StudyProgress.read(folder) is None


def test_a_run_that_is_followed_is_read_on_from_where_it_was_read(
    history: RunHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    read = history.store.read

    def counted(stream: str, **more: Any) -> Any:
        records = read(stream, **more)
        counts.append(len(records))
        return records

    async def follow() -> None:
        async with await open_run(history, "check", "LOG-01") as run:
            for number in range(20):
                await run.stage(f"s-{number}", say, "x", out=text_file("x.txt"))
            monkeypatch.setattr(history.store, "read", counted)
            followed = FollowedRun(history, run.id)
            first = followed.view()
            length, counts[:] = len(first.records), []
            await run.stage("last", say, "x", out=text_file("x.txt"))
            second = followed.view()
            # What the first look returned is as it was.
            assert len(first.records) == length < len(second.records)
            # Before it, the summary of the run is brought up to date.
            assert counts[-1] == len(second.records) - length
            await run.finish("PASS")
            third = followed.view()
            assert third == history.run(run.id) and third.status == "PASS"

    asyncio.run(follow())
