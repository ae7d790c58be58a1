"""How a command line may end: with an answer, one line, or an interrupt; never with a traceback."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import COMMAND, clean_environment, transom, walked
from transom import __version__
from transom.cli import main
from transom.cli import runs as runs_module
from transom.cli.app import build_app

SLOW = {"langgraph", "sqlalchemy", "numpy", "pydantic_settings", "opentelemetry", "anthropic", "openai", "ollama"}
UNNEEDED = {"rich", "sqlite3", "yaml", "rapidfuzz", "stamina", "asyncio.base_events", "pydantic"}


def one_line(text: str) -> str:
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    return text.strip()


@pytest.mark.slow
def test_help_is_cheap(tmp_path: Path) -> None:
    code = "import sys; from transom.cli import main; main(['--help']); print('\\n'.join(sys.modules), file=sys.stderr)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        before = after
    loaded = set(done.stderr.split())
    assert "transom.cli.app" in loaded
    assert not loaded & SLOW
    assert not loaded & UNNEEDED
    assert sorted(times)[1] <= 0.3, "seconds of CPU, the middle of three"
    assert "Usage: transom" in done.stdout


def commands(node: Any, path: str = "transom") -> dict[str, Any]:
    if not hasattr(node, "commands"):
        return {path: node}
    return {name: one for key, sub in node.commands.items() for name, one in commands(sub, f"{path} {key}").items()}


COMMON = {"--format", "--workspace", "--quiet", "-q", "--verbose", "-v"}
OF_THE_MODEL = {"--model", "--base-url", "--max-cost"}


def test_every_command_has_help_an_example_and_the_common_options() -> None:
    found = commands(build_app())
    assert {"transom runs list", "transom resume", "transom window show", "transom doctor"} <= set(found)
    for path, one in found.items():
        assert one.help, path
        assert one.epilog.startswith(f"Example: {path}"), path
        options = {option for parameter in one.params for option in parameter.opts}
        assert options >= COMMON, path
        assert not options & OF_THE_MODEL or options >= OF_THE_MODEL, path
    assert "--model" not in {option for one in found["transom runs list"].params for option in one.opts}
    assert "--model" in {option for one in found["transom check all"].params for option in one.opts}


def test_summaries_fit_the_lists_of_a_terminal_of_eighty_columns() -> None:
    def groups(node: Any) -> Iterator[Any]:
        yield node
        for one in node.commands.values():
            yield from groups(one) if hasattr(one, "commands") else ()

    for group in groups(build_app()):
        room = 80 - 2 - 6 - max(map(len, group.commands))
        cut = {name: one.get_short_help_str(room) for name, one in group.commands.items()}
        assert [text for text in cut.values() if text.endswith("...")] == [], group.name


def test_version_and_help_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"transom {__version__}\n"
    assert main(["window", "show", "-h"]) == 0
    assert "Example: transom window show" in capsys.readouterr().out


@pytest.mark.parametrize("args", [[], ["runs"]])
def test_a_group_alone_shows_what_it_has(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Commands:" in shown.err


USAGE = {
    "runz list": "transom: transom has no command 'runz'; did you mean runs? see: transom --help",
    "rm": "transom: transom has no command 'rm'; did you mean runs clean? see: transom --help",
    "runs lst": "transom: transom runs has no command 'lst'; did you mean list? see: transom runs --help",
    "runs list --fromat json": "transom: no option --fromat; did you mean --format? see: transom runs list --help",
    "runs list --xyzzy": "transom: no option --xyzzy; did you mean --",
    "runs list -z": "transom: no option -z; did you mean --",
    "--versoin": "transom: no option --versoin; did you mean --version? see: transom --help",
    "runs list --format jsn": "transom: Invalid value for '--format': 'jsn' is not one of 'text', 'json'; see: ",
    "runs list --format": "transom: Option '--format' requires an argument; see: transom --help",
    "window show": "transom: Missing argument 'RUN'; see: transom window show --help",
    "window show R --call x": "transom: Invalid value for '--call': ",
    "answer R a b": "transom: Got unexpected extra argument(s) (b); see: transom answer --help",
    "runs list extra": "transom: Got unexpected extra argument(s) (extra); see: transom runs list --help",
}


@pytest.mark.parametrize("line", USAGE)
def test_a_wrong_command_line_is_one_line_and_names_the_nearest(
    line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert one_line(shown.err).startswith(USAGE[line])
    assert list(here.iterdir()) == [], "a wrong command line leaves nothing behind"


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = "import os, sys; from transom.cli import main; os.rmdir(os.getcwd()); sys.exit(main(['runs', 'list']))"
    gone.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=gone, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert one_line(done.stderr) == "transom: the current folder is not there any more; change to another one"


def test_settings_that_cannot_be_used_are_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "transom.yaml").write_text("execution:\n  max_iteration: 3\n")
    assert main(["runs", "list"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line.startswith(f"transom: {here}/transom.yaml:2: unknown setting execution.max_iteration")


def test_something_unforeseen_is_one_line_and_a_log(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walked(here)

    def broken(store: object) -> None:
        raise ZeroDivisionError("two\nlines, key sk-abcdefghijklmnopqrstuvwxyz")

    monkeypatch.setattr(runs_module, "all_runs", broken)
    assert main(["runs", "list"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line.startswith("transom: ZeroDivisionError: two lines")
    assert "this is a defect of transom" in line
    log = Path(line.rpartition(" are in ")[2])
    assert log.parent == here / ".transom" / "logs"
    text = log.read_text()
    assert "Traceback" in text
    assert "ZeroDivisionError" in text
    assert "abcdefghijklmnopqrstuvwxyz" not in text + line


def test_something_unforeseen_where_no_log_can_be_kept(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / ".transom").write_text("a file in the way")
    monkeypatch.setattr(runs_module, "table", lambda rows: 1 / 0)
    monkeypatch.setattr(runs_module, "history", lambda session: 1 / 0)
    assert main(["runs", "list"]) == 2
    assert "its details could not be kept" in one_line(capsys.readouterr().err)


def test_a_full_disk_under_stdout_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "--version"],
            cwd=tmp_path,
            env=clean_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "No space left on device" in one_line(done.stderr)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_reader_that_went_away_is_no_mistake(form: str, tmp_path: Path) -> None:
    _, run = walked(tmp_path)
    with subprocess.Popen(
        [*COMMAND, "window", "show", run, "--call", "1", "--format", form],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


SLEEPY = """
    import asyncio, sys
    import transom.cli.app as app
    from transom.cli.command import command, group
    from transom.cli.session import Session
    from transom.llm import Chain, ScriptedProvider

    sleepy = group("sleepy", "A product for this test.")

    @command(sleepy, "run", example="transom sleepy run")
    async def run(session: Session) -> int:
        '''Sleep.'''
        async with session.open_store() as store:
            chain = Chain((ScriptedProvider({}),))
            async with session.open_run("sleepy", {}, name="x", store=store, chain=chain) as run:
                print(run.id, flush=True)
                await asyncio.sleep(60)
        return 0

    @command(sleepy, "alone", example="transom sleepy alone")
    async def alone(session: Session) -> int:
        '''Sleep without a run.'''
        print("ready", flush=True)
        await asyncio.sleep(60)
        return 0

    app._products = lambda: [sleepy]
    sys.exit(app.main())
"""


def interrupt(folder: Path, what: str) -> tuple[int, str, str]:
    """Start a sleeping command, press Ctrl-C, and return its exit code, what it said when ready, and its stderr."""
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SLEEPY), "sleepy", what],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        ready = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    return process.returncode, ready, said


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    code, run, said = interrupt(tmp_path, "run")
    assert code == 130
    assert said == f"\ntransom: interrupted; go on with: transom resume {run}\n"
    shown = json.loads(transom("runs", "show", run, "--format", "json", cwd=tmp_path).stdout)
    assert shown["status"] == "interrupted"


def test_ctrl_c_without_a_run(tmp_path: Path) -> None:
    code, ready, said = interrupt(tmp_path, "alone")
    assert (code, ready, said) == (130, "ready", "\ntransom: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    bin_ = tmp_path / "transom"
    bin_.write_text(f'#!/bin/sh\nexec {sys.executable} -m transom.cli "$@"\n')
    bin_.chmod(0o755)
    ask = {
        "bash": 'eval "$(_TRANSOM_COMPLETE=source_bash transom)"; COMP_WORDS=(transom check ba); COMP_CWORD=2; '
        '_transom_completion transom; echo "${COMPREPLY[@]}"',
        "zsh": 'compdef() { :; }; _arguments() { echo "$@"; }; eval "$(_TRANSOM_COMPLETE=source_zsh transom)"; '
        "words=(transom check ba); CURRENT=3; _transom_completion",
    }
    environment = clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = subprocess.run([shell, "-c", ask[shell]], env=environment, capture_output=True, text=True, check=False)
    assert "batch" in done.stdout and "lint" not in done.stdout, done
