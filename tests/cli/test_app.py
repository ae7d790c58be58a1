"""How a command line may end: with an answer, one line, or an interrupt; never with a traceback."""

from __future__ import annotations

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

from tests.cli.helpers import clean_environment, transom, walked
from transom import __version__
from transom.cli import main
from transom.cli import runs as runs_module
from transom.cli.app import TREE, build_app, load

SLOW = {
    "langgraph",
    "sqlalchemy",
    "numpy",
    "pydantic_settings",
    "opentelemetry",
    "anthropic",
    "openai",
    "ollama",
}
UNNEEDED = {"rich", "sqlite3", "yaml", "rapidfuzz", "stamina", "asyncio.base_events", "pydantic"}


def one_line(text: str) -> str:
    assert text.endswith("\n")
    assert text.count("\n") == 1, text
    return text.strip()


@pytest.mark.slow
def test_help_is_cheap(tmp_path: Path) -> None:
    code = (
        "import sys; from transom.cli import main; main(['--help']); print('\\n'.join(sys.modules),"
        " file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    times = []
    for _ in range(3):
        done = python(code, tmp_path)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        before = after
    loaded = set(done.stderr.split())
    assert "transom.cli.app" in loaded
    assert not loaded & SLOW
    assert not loaded & UNNEEDED
    assert sorted(times)[1] <= 0.3, "seconds of CPU, the middle of three"
    assert "Usage: transom" in done.stdout


def commands(node: Any, path: str) -> dict[str, Any]:
    if not hasattr(node, "commands"):
        return {path: node}
    return {
        name: one
        for key, sub in node.commands.items()
        for name, one in commands(sub, f"{path} {key}").items()
    }


def all_commands() -> dict[str, Any]:
    return {
        path: one for name in TREE for path, one in commands(load(name), f"transom {name}").items()
    }


COMMON = {"--format", "--workspace", "--quiet", "-q", "--verbose", "-v"}
OF_THE_MODEL = {"--model", "--base-url", "--max-cost"}


def test_every_command_has_help_an_example_and_the_common_options() -> None:
    found = all_commands()
    assert {"transom runs list", "transom resume", "transom window show", "transom doctor"} <= set(
        found
    )
    for path, one in found.items():
        assert one.help, path
        assert one.epilog.startswith(f"Example: {path}"), path
        options = {option for parameter in one.params for option in parameter.opts}
        assert options >= COMMON, path
        assert not options & OF_THE_MODEL or options >= OF_THE_MODEL or path == "transom doctor", (
            path
        )
    assert "--model" not in {
        option for one in found["transom runs list"].params for option in one.opts
    }
    assert "--model" in {option for one in found["transom check all"].params for option in one.opts}


def test_summaries_fit_the_lists_of_a_terminal_of_eighty_columns() -> None:
    def groups(node: Any) -> Iterator[Any]:
        yield node
        for name, stub in node.commands.items():
            one = load(name) if node.name is None else stub
            yield from groups(one) if hasattr(one, "commands") else ()

    for group in groups(build_app()):
        listed = {name: one for name, one in group.commands.items() if not one.hidden}
        room = 80 - 2 - 6 - max(map(len, listed))
        cut = {name: one.get_short_help_str(room) for name, one in listed.items()}
        assert [text for text in cut.values() if text.endswith("...")] == [], group.name


def test_version_and_help_end_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"transom {__version__}\n"
    assert main(["window", "show", "-h"]) == 0
    assert "Example: transom window show" in capsys.readouterr().out


@pytest.mark.parametrize("args", [[], ["runs"]])
def test_a_group_alone_shows_what_it_has(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Commands:" in shown.err


USAGE = {
    "runz list": "transom: transom has no command 'runz'; did you mean runs? see: transom --help",
    "rm": "transom: transom has no command 'rm'; did you mean runs clean? see: transom --help",
    "runs rm": (
        "transom: transom runs has no command 'rm'; did you mean clean? see: transom runs --help"
    ),
    "runs lst": (
        "transom: transom runs has no command 'lst'; did you mean list? see: transom runs --help"
    ),
    "runs list --fromat json": (
        "transom: no option --fromat; did you mean --format? see: transom runs list --help"
    ),
    "runs frob": "transom: transom runs has no command 'frob'; see: transom runs --help",
    "--model rules runs list": "transom: --model stands behind the command; see: transom --help",
    "runs list --xyzzy": "transom: no option --xyzzy; did you mean --",
    "runs list -z": "transom: no option -z; did you mean --",
    "--versoin": "transom: no option --versoin; did you mean --version? see: transom --help",
    "runs list --format jsn": (
        "transom: Invalid value for '--format': 'jsn' is not one of 'text', 'json'; see: "
    ),
    "runs list --format": "transom: Option '--format' requires an argument; see: transom --help",
    "window show": "transom: Missing argument 'RUN'; example: transom window show ",
    "check explain A100": (
        "transom: Missing argument 'ITEM-ID'; example: transom check explain batch VER-02; see: "
    ),
    "window show R --call x": "transom: Invalid value for '--call': ",
    "answer R a b": "transom: Got unexpected extra argument(s) (b); see: transom answer --help",
    "runs list extra": (
        "transom: Got unexpected extra argument(s) (extra); see: transom runs list --help"
    ),
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


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=folder, env=clean_environment(), capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_a_folder_that_is_gone(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = here / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["runs", "list"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line == "transom: the current folder is not there any more; change to another one"


def test_ctrl_c_while_python_imports(tmp_path: Path) -> None:
    code = """
        import os, signal, sys

        class Pressed:
            def find_spec(self, name, path=None, target=None):
                if name == "typer":
                    os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.meta_path.insert(0, Pressed())
        from transom.cli import main
        sys.exit(main(["--version"]))
    """
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_settings_that_cannot_be_used_are_one_line(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "transom.yaml").write_text("execution:\n  max_iteration: 3\n")
    assert main(["runs", "list"]) == 2
    line = one_line(capsys.readouterr().err)
    assert line.startswith(
        f"transom: {here}/transom.yaml:2: unknown setting execution.max_iteration"
    )


def test_something_unforeseen_is_one_line_and_a_log(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walked(here)

    def broken(store: object) -> None:
        raise ZeroDivisionError("two\nlines, key sk-abcdefghijklmnopqrstuvwxyz")

    monkeypatch.setattr(runs_module, "run_history", broken)
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
    log.unlink()
    log.parent.rmdir()
    log.parent.write_text("a file in the way")
    assert main(["runs", "list"]) == 2
    assert "its details could not be kept" in one_line(capsys.readouterr().err)


def test_a_full_disk_under_stdout_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "transom", "--version"], cwd=tmp_path, env=clean_environment(), stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left on device" in one_line(done.stderr)


ITEM = "description: Confirm that yosys check finds no problems.\ninput_files: [check.log]\n"
REPORT = (
    "19. Executing CHECK pass (checking for obvious problems).\nChecking module top...\n"
    "Found and reported {count} problems.\n"
)


@pytest.mark.slow
def test_the_verdict_is_the_exit_code_whatever_becomes_of_the_streams(tmp_path: Path) -> None:
    (tmp_path / "check.log").write_text(REPORT.format(count=0))
    (tmp_path / "item.yaml").write_text(ITEM)
    command = f"{sys.executable} -m transom check all item.yaml --workspace w -q"

    def ends(line: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    assert ends(f"{command} >&-") == (0, "")
    for form in ("text", "json"):
        assert ends(f"{command} --format {form} | true; exit ${{PIPESTATUS[0]}}") == (0, "")
    assert ends(f"{command} <&- >&- 2>&-") == (0, "")
    assert transom("runs", "list", "--workspace", "w", cwd=tmp_path).returncode == 0, (
        "no file took their place"
    )
    (tmp_path / "check.log").write_text(REPORT.format(count=1))
    assert ends(f"{command} --format json >&- 2>&-")[0] == 1
    assert not (tmp_path / "w" / "logs").exists()


SLEEPY = """
    import asyncio, sys
    from transom.cli import app
    from transom.cli.command import command
    from transom.cli.command_session import Session
    from transom.cli.app import group
    from transom.llm import Chain, ScriptedProvider

    app.TREE["sleepy"] = ("sleepy", "A product for this test.")
    sys.modules["transom.cli.sleepy"] = sys.modules["__main__"]
    sleepy = group("sleepy")

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

    sys.exit(app.main())
"""


@pytest.mark.parametrize("what", ["alone", pytest.param("run", marks=pytest.mark.slow)])
def test_ctrl_c_says_how_to_go_on(what: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SLEEPY), "sleepy", what], cwd=tmp_path, env=clean_environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout and process.stderr
        run = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    if what == "alone":
        assert said == "\ntransom: interrupted\n"
    else:
        assert said == f"\ntransom: interrupted; to continue, run: transom resume {run}\n"
        assert "interrupted" in transom("runs", "list", cwd=tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    bin_ = tmp_path / "transom"
    bin_.write_text(f'#!/bin/sh\nexec {sys.executable} -m transom "$@"\n')
    bin_.chmod(0o755)
    ask = {
        "bash": (
            'eval "$(_TRANSOM_COMPLETE=source_bash transom)"; COMP_WORDS=(transom check ba);'
            ' COMP_CWORD=2; _transom_completion transom; echo "${COMPREPLY[@]}"'
        ),
        "zsh": (
            'compdef() { :; }; _arguments() { echo "$@"; }; eval "$(_TRANSOM_COMPLETE=source_zsh'
            ' transom)"; words=(transom check ba); CURRENT=3; _transom_completion'
        ),
    }
    environment = clean_environment(PATH=f"{tmp_path}:{os.environ['PATH']}")
    done = subprocess.run(
        [shell, "-c", ask[shell]], env=environment, capture_output=True, text=True, check=False
    )
    assert "batch" in done.stdout and "lint" not in done.stdout, done


def test_help_names_an_argument_without_a_python_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--help"]) == 0
    told = capsys.readouterr().out
    assert "  PRODUCT  Products to show" in told
    assert "list[" not in told
