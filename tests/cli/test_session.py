"""What every command works with."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.cli.helpers import clean_environment
from tests.llm.recording import write_recording
from transom.cli.check.options import parse_variables
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.errors import InputError
from transom.llm import Chain, Request, ScriptedProvider, Window
from transom.llm.reply import Reply
from transom.llm.turns import Text


def session(folder: Path, options: CommonOptions = CommonOptions(), **environ: str) -> Session:  # noqa: B008 - frozen
    return Session.start(options, cwd=folder, environ=environ)


def test_the_command_line_wins(tmp_path: Path) -> None:
    (tmp_path / "transom.yaml").write_text("model: from-file\nworkspace: kept\n")
    assert session(tmp_path).settings.model == "from-file"
    assert session(tmp_path).workspace_root == tmp_path / "kept"
    chosen = session(tmp_path, CommonOptions(model="rules", workspace=Path("other")))
    assert (chosen.settings.model, chosen.workspace_root) == ("rules", tmp_path / "other")


def test_where_the_workspace_lies(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert session(deep).workspace_root == deep / ".transom"
    (tmp_path / ".transom").mkdir()
    assert session(deep).workspace_root == tmp_path / ".transom"
    assert session(deep, TRANSOM_PATHS__CACHE_DIR="kept").workspace_root == deep / "kept"
    both = session(
        deep, TRANSOM_PATHS__CACHE_DIR="kept", TRANSOM_WORKSPACE="ws", TRANSOM_STATE_DIR="state"
    )
    assert both.workspace_root == deep / "ws"
    assert both.workspace.database == deep / "state" / "state.db"


def test_progress_goes_to_stderr_unless_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session(tmp_path).progress("working")
    session(tmp_path, CommonOptions(quiet=True)).progress("unheard")
    assert capsys.readouterr() == ("", "working\n")


@pytest.mark.parametrize(
    ("options", "environ", "shown"),
    [
        (CommonOptions(), {}, {"WARNING", "ERROR"}),
        (CommonOptions(), {"TRANSOM_LOGGING__LEVEL": "error"}, {"ERROR"}),
        (CommonOptions(verbose=1), {}, {"INFO", "WARNING", "ERROR"}),
        (CommonOptions(verbose=2), {}, {"DEBUG", "INFO", "WARNING", "ERROR"}),
        (
            CommonOptions(verbose=1),
            {"TRANSOM_LOGGING__LEVEL": "debug"},
            {"INFO", "WARNING", "ERROR"},  # the details are in the log file
        ),
        (CommonOptions(quiet=True), {"TRANSOM_LOGGING__LEVEL": "debug"}, {"ERROR"}),
    ],
)
def test_how_much_is_logged(
    options: CommonOptions,
    environ: dict[str, str],
    shown: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    session(tmp_path, options, **environ, TRANSOM_LOGGING__LOG_FILE="logs/all.log")
    for level in ("DEBUG", "INFO", "WARNING", "ERROR"):
        logging.getLogger("transom.test").log(
            logging.getLevelNamesMapping()[level], "said %s", level
        )
    assert {line.split()[-1] for line in capsys.readouterr().err.splitlines()} == shown
    assert "said ERROR" in (tmp_path / "logs" / "all.log").read_text()


def test_a_run_has_the_stage_limit_and_is_open_until_it_ends_or_fails(tmp_path: Path) -> None:
    here = session(tmp_path, TRANSOM_EXECUTION__TIMEOUT_PER_STAGE="2.5")

    async def end(error: BaseException | None) -> None:
        async with here.open_store() as store:
            chain = Chain((ScriptedProvider({}),))
            async with here.open_run("test", {}, name="x", store=store, chain=chain) as run:
                assert (run.stage_seconds, here.open_runs) == (2.5, [run.id])
                if error:
                    raise error

    asyncio.run(end(None))
    assert here.open_runs == []
    with pytest.raises(InputError):
        asyncio.run(end(InputError("wrong")))
    assert here.open_runs == []
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(end(asyncio.CancelledError()))
    assert len(here.open_runs) == 1


APPEND_FIVE = """
    import asyncio
    from transom.cli.common_options import CommonOptions
    from transom.cli.command_session import Session

    async def main():
        async with Session.start(CommonOptions()).open_store() as store:
            for number in range(1, 6):
                await store.append("s", "k", number)
                print(number, flush=True)

    asyncio.run(main())
"""


ALL_FIVE = "1\n2\n3\n4\n5\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "returned"),
    [("append:3", "1\n2\n"), ("append:6", ALL_FIVE)],
)
def test_the_failpoint_kills_after_the_append(point: str, returned: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(APPEND_FIVE)],
        cwd=tmp_path,
        env=clean_environment(TRANSOM_FAILPOINT=point),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == returned
    assert done.returncode == (0 if returned == ALL_FIVE else -signal.SIGKILL)

    async def kept() -> list[object]:
        async with session(tmp_path).open_store() as store:
            return [record.data for record in store.read("s")]

    appended = returned.count("\n") + (1 if done.returncode else 0)
    assert asyncio.run(kept()) == list(range(1, appended + 1))


def test_rules_are_the_default_and_a_recording_is_a_provider(tmp_path: Path) -> None:
    chain = session(tmp_path).chain()
    assert (chain.name, [provider.local for provider in chain.providers]) == ("rules", [True])
    request = Request("test.role", Window(()))
    write_recording(tmp_path / "calls.json", [(request, Reply((Text("recorded"),), by="x"))])
    here = session(tmp_path, CommonOptions(model="replay:calls.json"))
    assert asyncio.run(here.chain().answer(request)).text == "recorded"
    assert here.chain() is here.chain() is not here.chain(spec="rules"), (
        "equal ones share connections"
    )


PROVIDERS = {
    "anthropic:some-model": (
        "anthropic:some-model: there is no key: ANTHROPIC_API_KEY is not set; set it"
    ),
    "openai": "openai: this provider needs the name of a model; write openai:NAME, e.g. openai:gpt",
    "ruls": (
        "--model: unknown provider 'ruls'; use rules, replay:PATH, anthropic:NAME, "
        "openai:NAME, ollama:NAME or package.module:Class"
    ),
    "antropic:claude": "--model: unknown provider 'antropic:claude'; use rules, ",
    "claude-sonnet-4-5": "--model: unknown provider 'claude-sonnet-4-5'; use rules, ",
    "": "--model: unknown provider ''; use rules",
    "replay": "--model: unknown provider 'replay'; use rules, replay:PATH",
    "replay:no.json": "no.json: cannot read the recording",
}


def test_an_unknown_provider_names_the_known_ones(tmp_path: Path) -> None:
    for model, said in PROVIDERS.items():
        with pytest.raises(InputError) as caught:
            session(tmp_path, CommonOptions(model=model)).chain()
        assert said in str(caught.value)


def test_variables(tmp_path: Path) -> None:
    assert parse_variables(["A=b=c", "L=/l"], tmp_path) == {"A": tmp_path / "b=c", "L": Path("/l")}
    for given in (["A"], ["A="], ["=x"], ["1A=x"], ["A B=x"], ["A=x", "A=x"]):
        with pytest.raises(InputError, match="--var: "):
            parse_variables(given, tmp_path)
