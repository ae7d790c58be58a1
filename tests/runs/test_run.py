"""The promises of a run: reuse, edits, deletions, changed inputs, limits, one process at a time."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.helpers import FIRST, Desk, desk, echo, first
from transom.errors import (
    InputError,
    NeedsModel,
    NotUnderstood,
    Paused,
    ProviderError,
    RunBusy,
    RunError,
)
from transom.llm import (
    AnsweredFrom,
    Block,
    Chain,
    Reply,
    Request,
    Role,
    RulesProvider,
    ScriptedProvider,
    Text,
)
from transom.runs import Run, Stage, Workspace, text_file
from transom.store import SqliteStore


async def test_fresh_run_asks_each_role_once(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    one, two, both = await at.walk()
    assert (one.value, two.value, both.value) == ("<s>", "<<s>>", "<s>+<<s>>")
    assert [r.role for r in provider.requests] == ["test.first", "test.second"]
    assert at.file("both.md").read_text() == "<s>+<<s>>"


async def test_same_inputs_and_files_are_reused(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    before = await at.walk()
    after = await at.walk()
    assert [a.value for a in before] == [a.value for a in after]
    assert len(provider.requests) == 2


async def test_equal_runs_of_several_workspaces_are_told_apart_and_each_is_found_again(
    tmp_path: Path,
) -> None:
    async def opened(folder: str) -> tuple[str, str]:
        at, _ = desk(tmp_path / folder)
        workspace = Workspace.at(at.root / ".transom")
        async with (
            SqliteStore.open(workspace.database) as store,
            await at.open_run(workspace, store) as run,
        ):
            return run.id, run.telemetry.trace_id

    found = [await opened(folder) for folder in "abc"]
    parts = [one.split("-") for one, _ in found]
    assert len({trace for _, trace in found}) == 3, "a collector has them all"
    assert len({part[2] for part in parts}) == 3, "whatever second each began in"
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{10}", one) for one, _ in found)
    stamps = [part[:2] for part in parts]
    assert sorted(stamps) == stamps
    assert [await opened(folder) for folder in "abc"] == found


async def test_a_file_is_announced_in_the_journal_before_it_is_written(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    there: list[bool] = []
    at.after_append = lambda number: there.append(any((tmp_path / ".transom").rglob("one.md")))
    await at.walk()
    async with SqliteStore.open(Workspace.at(tmp_path / ".transom").database) as store:
        kinds = [record.kind for stream in store.streams("run/") for record in store.read(stream)]
    assert len(kinds) == len(there)
    announced = kinds.index("writing")
    assert there[: announced + 1] == [False] * (announced + 1), (
        "else a kill makes it look like a person's"
    )
    assert there[-1]


async def test_edited_file_is_honoured_and_what_follows_redone(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    at.file("one.md").write_text("mine")
    one, two, both = await at.walk()
    assert (one.value, two.value, both.value) == ("mine", "<mine>", "mine+<mine>")
    assert at.file("one.md").read_text() == "mine"
    assert [r.role for r in provider.requests] == ["test.first", "test.second", "test.second"]
    assert (await at.walk())[0].value == "mine"
    assert len(provider.requests) == 3


async def test_taking_an_edit_back_asks_nobody(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    at.file("one.md").write_text("mine")
    await at.walk()
    at.file("one.md").write_text("<s>")
    assert (await at.walk())[2].value == "<s>+<<s>>"
    assert len(provider.requests) == 3


async def test_deleted_file_is_asked_again_and_so_is_everything_downstream(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    at.file("one.md").unlink()
    assert (await at.walk())[2].value == "<s>+<<s>>"
    assert [r.role for r in provider.requests] == ["test.first", "test.second"] * 2
    await at.walk()
    assert len(provider.requests) == 4


async def test_deleting_the_last_file_asks_only_for_it(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    at.file("two.md").unlink()
    await at.walk()
    assert [r.role for r in provider.requests] == ["test.first", "test.second", "test.second"]


async def test_changed_input_redoes_what_depends_on_it(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk("s")
    assert (await at.walk("t"))[2].value == "<t>+<<t>>"
    assert len(provider.requests) == 4
    assert (await at.walk("s"))[2].value == "<s>+<<s>>", "back again: replies are in the journal"
    assert len(provider.requests) == 4


async def test_changed_input_with_equal_result_stops_there(tmp_path: Path) -> None:
    provider = ScriptedProvider(lambda request: "same")
    at = Desk(tmp_path, provider)
    await at.walk("s")
    await at.walk("t")
    assert [r.role for r in provider.requests] == ["test.first", "test.second", "test.first"]


@pytest.mark.parametrize(("answer", "expected", "asked"), [("keep", "mine", 3), ("redo", "<t>", 4)])
async def test_inputs_and_file_changed_waits_for_a_person(
    tmp_path: Path, answer: str, expected: str, asked: int
) -> None:
    at, provider = desk(tmp_path)
    await at.walk("s")
    at.file("one.md").write_text("mine")
    for _ in range(2):
        with pytest.raises(Paused, match="have changed") as caught:
            await at.walk("t")
        assert f"transom answer {caught.value.run_id} --question one keep (or: redo)" in str(
            caught.value
        )
    workspace = Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        with pytest.raises(InputError, match="no answer"):
            await run.decide("perhaps")
        assert (await run.decide(answer))["stage"] == "one"
        with pytest.raises(InputError, match="waits for no answer"):
            await run.decide(answer)
    one, _, _ = await at.walk("t")
    assert one.value == expected
    assert len(provider.requests) == asked
    assert (await at.walk("t"))[0].value == expected, "the answer holds"
    assert len(provider.requests) == asked


async def test_redo_moves_the_persons_version_aside(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    await at.walk("s")
    at.file("one.md").write_text("mine")
    with pytest.raises(Paused):
        await at.walk("t")
    workspace = Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        await run.decide("redo")
    await at.walk("t")
    assert at.file("one.md").with_name("one.md.kept-1").read_text() == "mine"


async def test_changed_prompt_redoes_its_stage(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    other = Role(FIRST.name, (Block("role", "You are new."),), FIRST.sees)

    async def stages(run: Run, source: str) -> None:
        await run.stage("one", first, source, out=text_file("one.md"), uses=[other])

    workspace = Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        await stages(run, "s")
    assert at.lines.count("one: working, tried again") == 1
    assert len(provider.requests) == 2, (
        "the request itself did not change, so its reply is replayed"
    )


async def test_bumped_version_redoes_the_stage(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")
    made: list[int] = []

    async def make(stage: Stage) -> str:
        made.append(stage.attempt)
        return "x"

    for version in (1, 1, 2):
        async with (
            SqliteStore.open(workspace.database) as store,
            await at.open_run(workspace, store) as run,
        ):
            await run.stage("made", make, out=text_file("made.md"), version=version)
    assert made == [1, 2]
    assert provider.requests == []


class Knowing:
    """Rules whose knowledge file can be corrected between walks."""

    def __init__(self) -> None:
        self.digest = "v1"
        self.asked: list[str] = []

    def provider(self) -> RulesProvider:
        def rule(request: Request) -> Reply:
            self.asked.append(request.role)
            source = (AnsweredFrom("k.yaml", self.digest),) if request.role == "test.first" else ()
            return Reply((Text(echo(request)),), answered_from=source)

        return RulesProvider(
            {"test.first": rule, "test.second": rule}, {}, {"k.yaml": self.digest, "other": "x"}
        )


async def test_corrected_knowledge_redoes_what_it_answered_and_nothing_else(tmp_path: Path) -> None:
    knowing = Knowing()
    at = Desk(tmp_path, knowing.provider())
    await at.walk()
    knowing.digest = "v2"
    at.provider = knowing.provider()
    await at.walk()
    assert knowing.asked == ["test.first", "test.second", "test.first"]
    await at.walk()
    assert len(knowing.asked) == 3


async def test_failures_are_not_memoised(tmp_path: Path) -> None:
    words = NeedsModel([NotUnderstood("frobnicate", "description")])
    provider = ScriptedProvider(
        {"test.first": [words, ProviderError("down"), "fine"], "test.second": ["ok"]}
    )
    at = Desk(tmp_path, provider)
    with pytest.raises(NeedsModel, match="frobnicate"):
        await at.walk()
    with pytest.raises(ProviderError, match="down"):
        await at.walk()
    assert (await at.walk())[2].value == "fine+ok"


@pytest.mark.slow
async def test_time_limit_pauses_and_keeps_paid_replies(tmp_path: Path) -> None:
    slow = True

    async def answer(request: Request) -> str:
        if slow and request.role == "test.second":
            await asyncio.sleep(30)
        return echo(request)

    provider = ScriptedProvider(answer)
    at = Desk(tmp_path, provider)
    with pytest.raises(Paused, match=r"stage two reached its limit of 1 s.*transom resume"):
        await at.walk(seconds=1)
    slow = False
    assert (await at.walk())[2].value == "<s>+<<s>>"
    assert [r.role for r in provider.requests] == ["test.first", "test.second", "test.second"]


async def test_a_timeout_of_the_functions_own_is_not_the_stages_limit(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")

    async def own(stage: Stage) -> str:
        raise TimeoutError("mine")

    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        with pytest.raises(TimeoutError, match="mine"):
            await run.stage("own", own, out=text_file("own.md"))


async def test_second_process_is_told_who_holds_the_run(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        with pytest.raises(
            RunBusy, match=r"this process has run \S+ of x open; go on with what has it open"
        ):
            await at.open_run(workspace, store)
        (lock,) = workspace.state_dir.glob("locks/*.lock")
        lock.write_text("1\n")
        with pytest.raises(
            RunBusy,
            match=rf"process 1 has run {run.id} of x open; wait for it to end, then try again",
        ):
            await at.open_run(workspace, store)
    await at.walk()


async def test_two_inputs_never_share_a_run(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")
    async with SqliteStore.open(workspace.database) as store:
        chain = Chain((at.provider,))
        runs = [
            await Run.open(
                "test", {"file": file}, name="x", workspace=workspace, store=store, chain=chain
            )
            for file in ("x", "y")
        ]
        assert runs[0].id != runs[1].id
        assert runs[0].folder.parent == runs[1].folder.parent
        for run in runs:
            run.close()
            run.close()


async def test_a_stage_name_appears_once(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")
    async with (
        SqliteStore.open(workspace.database) as store,
        await at.open_run(workspace, store) as run,
    ):
        await run.stage("one", first, "s", out=text_file("one.md"), uses=[FIRST])
        with pytest.raises(RunError, match="stages one and one of one walk have one name"):
            await run.stage("one", first, "s", out=text_file("one.md"), uses=[FIRST])


async def test_provisional_results_are_made_again(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")
    made: list[int] = []

    async def make(stage: Stage) -> str:
        made.append(1)
        stage.memoise = False
        return "x"

    for _ in range(2):
        async with (
            SqliteStore.open(workspace.database) as store,
            await at.open_run(workspace, store) as run,
        ):
            assert (await run.stage("made", make, out=text_file("made.md"))).value == "x"
    assert len(made) == 2


async def test_an_edit_that_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    await at.walk()
    at.file("one.md").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"one\.md: the kept file cannot be read back"):
        await at.walk()


async def test_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    folder = at.file("two.md").parent
    at.file("two.md").unlink()
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(InputError, match="cannot write"):
        await at.walk()
    folder.unlink()
    assert (await at.walk())[2].value == "<s>+<<s>>"
    assert len(provider.requests) == 3


async def test_notes_are_written_and_never_read(tmp_path: Path) -> None:
    at, _ = desk(tmp_path)
    workspace = Workspace.at(tmp_path / ".transom")

    async def make(stage: Stage) -> str:
        stage.note("beside.md", "for people")
        return "x"

    for _ in range(2):
        async with (
            SqliteStore.open(workspace.database) as store,
            await at.open_run(workspace, store) as run,
        ):
            await run.stage("made", make, out=text_file("made.md"))
            (run.folder / "made" / "beside.md").unlink(missing_ok=True)
    assert not at.file("made.md").with_name("beside.md").exists(), (
        "reused, so nothing was written again"
    )


def test_a_repository_sees_nothing_of_the_runs_beneath_it(tmp_path: Path) -> None:
    for folder in (".transom", "mine"):
        Workspace.at(tmp_path / folder)
    assert (tmp_path / ".transom" / ".gitignore").read_text() == "*\n"
    assert not list((tmp_path / "mine").iterdir()), "a folder of another name is a person's own"


async def test_a_result_in_the_shape_of_another_version_is_made_again_from_its_replies(
    tmp_path: Path,
) -> None:
    at, provider = desk(tmp_path)
    await at.walk()
    # This version's reader refuses what the earlier version wrote into the stage's file.
    old_bytes = at.file("one.md").read_bytes()

    def decode(data: bytes) -> str:
        if data == old_bytes:
            raise ValueError("a field is missing")
        return data.decode()

    newer = replace(text_file("one.md"), encode=lambda text: f"2 {text}".encode(), decode=decode)
    workspace = Workspace.at(tmp_path / ".transom")
    for _ in range(2):
        async with (
            SqliteStore.open(workspace.database) as store,
            await at.open_run(workspace, store) as run,
        ):
            one = await run.stage("one", first, "s", out=newer, uses=[FIRST])
        assert one.path.read_bytes() == b"2 <s>"
    assert len(provider.requests) == 2, "the replies of the first walk are replayed"
    assert at.lines.count("one: made by another version, so it is made again") == 1
    assert at.lines[-1] == "one: unchanged, reused"
