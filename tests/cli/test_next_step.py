"""An error that leaves a run open ends with the command that goes on, whatever went wrong."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.checklist.shipped_model import MODEL, copy_items
from tests.cli.checks import Desk
from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.cli import app
from transom.cli.command import command
from transom.cli.command_session import Session
from transom.errors import (
    CapReached,
    InputError,
    ProviderError,
    ReplyError,
    StoreError,
    ToolExecutionError,
    TransomError,
)
from transom.llm import Chain, ScriptedProvider, Text
from transom.runs import Run, text_file
from transom.runs import silence as silence_module

ITEM = "VER-01.yaml"
QUICK = {"max_attempts": 3, "initial_delay": 0.001, "jitter": 0}


@pytest.fixture
def desk(here: Path, capfd: pytest.CaptureFixture[str]) -> Desk:
    """A desk whose items have no claim, so that a model is asked."""
    desk = Desk.at(here, capfd)
    copy_items(here)
    return desk


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as running:
        yield running


@pytest.fixture
def check(
    desk: Desk, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Give `transom check all` to the server; its exit code and stderr."""
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key")

    def ask(*arguments: str, retry: object = QUICK, seconds: float = 5) -> tuple[int, str]:
        own = {"base_url": f"{server.url}/v1", "retry": retry, "timeout_seconds": seconds}
        settings = {"llm": {"openai": own}, "execution": {"enable_streaming": False}}
        (desk.here / "transom.yaml").write_text(json.dumps(settings), "utf-8")
        answer = desk.check("all", ITEM, "--model", "openai:m", *arguments)
        return answer.code, answer.err

    return ask


def status(code: int) -> Callable[[Wire, Seen], None]:
    body = json.dumps(OpenAI().error("server_error", "quoted by the server")).encode()
    return lambda wire, _: wire.answer(code, body)


def reply(text: str) -> Callable[[Wire, Seen], None]:
    return lambda wire, _: wire.answer(200, json.dumps(OpenAI().whole([Text(text)])).encode())


def silent(seconds: float) -> Callable[[Wire, Seen], None]:
    def answer(wire: Wire, seen: Seen) -> None:
        wire.wait(seconds)
        reply("nothing that can be read")(wire, seen)

    return answer


def run_in(desk: Desk) -> str:
    (row,) = desk("runs", "list", "--format", "json").document["runs"]
    return str(row["run_id"])


FAILURES = {
    "an outage": (status(503), "status 503: quoted by the server"),
    "a refused key": (status(401), "status 401: quoted by the server"),
    "a silent server": (silent(60), "no whole reply within 0.3 s"),
    "unreadable replies": (reply("I would rather not."), "I would rather not."),
}


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("failure", FAILURES)
def test_a_model_that_fails_leaves_the_command_that_goes_on(
    failure: str, check: Callable[..., tuple[int, str]], server: LocalServer, desk: Desk
) -> None:
    server.answer, said = FAILURES[failure]
    code, err = check(seconds=0.3)
    run = run_in(desk)
    last = err.strip().splitlines()[-1]
    assert (code, said in last) == (2, True), err
    assert last.endswith(f"; to continue, run: transom resume {run}")
    assert last.count("transom resume") == 1
    resumed = desk("resume", run, "--model", MODEL, "-q")
    assert (resumed.code, resumed.err) == (0, "")


@pytest.mark.slow
@pytest.mark.fence
def test_the_command_names_the_workspace_if_it_would_not_find_it(
    check: Callable[..., tuple[int, str]], server: LocalServer, desk: Desk
) -> None:
    server.answer = status(503)
    _, err = check("--workspace", "my runs")
    found = re.search(r"to continue, run: transom (resume \S+) --workspace 'my runs'\n$", err)
    assert found, err
    words = [*found[1].split(), "--workspace", "my runs", "--model", MODEL, "-q"]
    assert desk(*words).code == 0


def test_attempts_name_the_status_and_nothing_that_the_server_said(
    check: Callable[..., tuple[int, str]], server: LocalServer
) -> None:
    server.answer = status(503)
    _, err = check()
    *attempts, last = err.strip().splitlines()
    told = [line for line in attempts if "attempt" in line]
    assert [line[: line.index(";")] for line in told] == [
        f"warning: openai:m: attempt {number} failed: status 503" for number in (1, 2)
    ]
    assert "quoted" not in "".join(attempts) and "quoted" in last


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("quiet", [False, True])
def test_a_silent_model_is_told_of_now_and_then(
    quiet: bool,
    check: Callable[..., tuple[int, str]],
    server: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(silence_module, "FIRST", 0.1)
    server.answer = silent(1.0)
    _, err = check(*["-q"] * quiet, retry={"max_attempts": 1}, seconds=3)
    told = [line for line in err.splitlines() if "has not answered" in line]
    if quiet:
        assert told == []
        return
    assert told[0] == ("spec/round1_analysis: openai:m has not answered for 0 s; still waiting"), (
        err
    )
    assert len(told) >= 2, "at 0.1, 0.2, 0.4 and 0.8 s of each of two replies"
    assert len(told) <= 10, "ever more seldom"


def test_a_model_that_answers_is_not_told_of(
    check: Callable[..., tuple[int, str]], server: LocalServer
) -> None:
    server.answer = reply("I would rather not.")
    assert "has not answered" not in check()[1]


# -- any failure, in a command of one's own --------------------------------------------------------


ERRORS: dict[str, tuple[Callable[[], Exception], str]] = {
    "a provider": (lambda: ProviderError("down"), "transom: down"),
    "a reply": (lambda: ReplyError("no tag", hint="ask again"), "transom: no tag; ask again"),
    "a tool": (lambda: ToolExecutionError("it broke"), "transom: it broke"),
    "an input": (lambda: InputError("no file", place="a.log"), "transom: a.log: no file"),
    "the database": (lambda: StoreError("no space left"), "transom: no space left"),
    "the disk": (
        lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x.txt"),
        "transom: x.txt: No space left on device; make room or choose another folder, then try",
    ),
    "a defect": (lambda: KeyError("oh"), "transom: KeyError: 'oh'; this is a defect of transom, "),
}


@pytest.fixture
def failing(here: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A command whose run fails with an error; its exit code, the run's id, and stderr."""

    def give(error: Callable[[], BaseException], *, closed: bool = False) -> tuple[int, str, str]:
        group = app.group("failing", "A command of a test.")
        ids: list[str] = []

        @command(group, "run", example="transom failing run")
        async def run(session: Session) -> int:
            """Fail."""
            async with session.open_store() as store:
                chain = Chain((ScriptedProvider({}),))
                async with session.open_run("t", {}, name="x", store=store, chain=chain) as opened:
                    ids.append(opened.id)
                    await in_a_stage(opened, error, closed=closed)
            return 0

        app.TREE["failing"] = ("failing", "A command of a test.")
        sys.modules["transom.cli.failing"] = sys.modules[__name__]
        try:
            code = app.main(["failing", "run"])
        finally:
            del app.TREE["failing"], sys.modules["transom.cli.failing"]
            app.root.registered_groups.pop()
            app.load.cache_clear()
        return code, ids[0], capfd.readouterr().err

    return give


async def in_a_stage(run: Run, error: Callable[[], BaseException], *, closed: bool) -> None:
    async def fail(_: object) -> str:
        raise error()

    if closed:
        await run.finish("done")
        raise error()
    await run.stage("one", fail, out=text_file("one.md"))


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_of_an_open_run_ends_with_its_command(
    name: str, failing: Callable[..., tuple[int, str, str]]
) -> None:
    error, begins = ERRORS[name]
    code, run, err = failing(error)
    assert code == 2
    last = err.strip().splitlines()[-1]
    assert last.startswith(begins)
    assert last.endswith(f"; to continue, run: transom resume {run}")


def test_a_budget_that_is_used_up_names_the_option_that_raises_it(
    failing: Callable[..., tuple[int, str, str]],
) -> None:
    code, run, err = failing(lambda: CapReached("usd", 5, 5.1))
    assert code == 3
    assert err.endswith(
        f"; to continue, run: transom resume {run} --max-cost USD, with more of them\n"
    )


def test_ctrl_c_names_the_same_command(failing: Callable[..., tuple[int, str, str]]) -> None:
    code, run, err = failing(KeyboardInterrupt)
    assert (code, err.splitlines()[-1]) == (
        130,
        f"transom: interrupted; to continue, run: transom resume {run}",
    )


def test_an_error_after_the_end_of_a_run_names_no_command(
    failing: Callable[..., tuple[int, str, str]],
) -> None:
    code, _, err = failing(lambda: InputError("the report cannot be written"), closed=True)
    assert (code, err) == (2, "transom: the report cannot be written\n")


async def test_in_a_program_there_is_no_command_to_name(tmp_path: Path) -> None:
    from tests.runs.helpers import desk

    table, _ = desk(tmp_path)
    table.provider = ScriptedProvider({"test.first": [ProviderError("down")]})
    with pytest.raises(TransomError) as failed:
        await table.walk("the source text")
    assert str(failed.value) == "down"


@pytest.mark.slow
@pytest.mark.fence
def test_an_item_of_a_batch_names_its_own_run(
    check: Callable[..., tuple[int, str]],
    server: LocalServer,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(silence_module, "FIRST", 0.1)
    server.answer = status(503)
    check()  # for the settings
    (desk.here / "items").mkdir()
    (desk.here / "items" / ITEM).write_text((desk.here / ITEM).read_text("utf-8"), "utf-8")
    settings = json.loads((desk.here / "transom.yaml").read_text("utf-8"))
    settings["execution"]["retry_after"] = 0
    (desk.here / "transom.yaml").write_text(json.dumps(settings), "utf-8")
    words = ("batch", "items", "--model", "openai:m", "--workspace", "apart", "--format", "json")
    answer = desk.check(*words)
    (row,) = answer.document["checks"]
    assert "no item was done for 0 s; still at work on 1 item" in answer.err, "its process starts"
    (error,) = row["errors"]
    assert re.search(
        r"status 503: .*; to continue, run: transom resume \S+ --workspace \S*apart$",
        error["message"],
    ), error
