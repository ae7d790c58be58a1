"""A program that the sandbox does not show is reported as such, and never as absent."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from transom.errors import ProgramHidden
from transom.sandbox import Done, Level, run_command

EACH_LEVEL = pytest.mark.parametrize(
    "shut_in",
    [
        pytest.param(Level.L3, marks=pytest.mark.needs("L3"), id="L3"),
        pytest.param(Level.L2, marks=pytest.mark.needs("L2"), id="L2"),
    ],
)
# The sandbox has a /tmp of its own, so that a project below the machine's is a case of its own.
PLACES = pytest.mark.parametrize("parent", ["/tmp", "/var/tmp"])


@pytest.fixture
def folder(parent: str) -> Iterator[Path]:
    """An empty folder below `parent`, with links resolved."""
    with tempfile.TemporaryDirectory(prefix="transom-test-", dir=parent) as name:
        yield Path(name).resolve()


def script(path: Path, first_line: str = "#!/bin/sh", body: str = "echo started") -> Path:
    """Write an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first_line}\n{body}\n", "utf-8")
    path.chmod(0o755)
    return path


def run(level: Level, project: Path, *argv: str, readable: list[Path] | None = None) -> Done:
    project.mkdir(parents=True, exist_ok=True)
    shown = [Path(sys.base_prefix), *(readable or [])]
    return asyncio.run(
        run_command(argv, project, readable=shown, level=level, setting="my.setting")
    )


@EACH_LEVEL
@PLACES
def test_a_program_in_a_readable_folder_starts(shut_in: Level, folder: Path) -> None:
    environment = folder / "p" / ".venv"
    program = script(environment / "bin" / "tool")
    done = run(shut_in, folder / "work", str(program), readable=[environment])
    assert done == Done(0, "started\n", "")


@EACH_LEVEL
@PLACES
def test_a_program_of_the_project_itself_starts(shut_in: Level, folder: Path) -> None:
    script(folder / "work" / "tool")
    assert run(shut_in, folder / "work", "./tool").stdout == "started\n"
    assert run(shut_in, folder / "work", str(folder / "work" / "tool")).stdout == "started\n"


@EACH_LEVEL
@PLACES
def test_a_readable_folder_that_is_a_link_is_shown_under_its_own_name(
    shut_in: Level, folder: Path
) -> None:
    script(folder / "real" / "bin" / "tool")
    link = folder / "p" / ".venv"
    link.parent.mkdir()
    link.symlink_to(folder / "real")
    done = run(shut_in, folder / "work", str(link / "bin" / "tool"), readable=[link])
    assert done == Done(0, "started\n", "")


def hidden_file(folder: Path) -> tuple[Path, Path]:
    program = script(folder / "env" / "bin" / "tool")
    return program, folder / "env"


def hidden_interpreter(folder: Path) -> tuple[Path, Path]:
    shell = folder / "env" / "bin" / "shell"
    shell.parent.mkdir(parents=True)
    shell.write_bytes(Path("/bin/sh").read_bytes())
    shell.chmod(0o755)
    return script(folder / "work" / "tool", f"#!{shell}"), folder / "env"


def hidden_end_of_a_link(folder: Path) -> tuple[Path, Path]:
    program = script(folder / "env" / "bin" / "tool")
    link = folder / "work" / "tool"
    link.parent.mkdir()
    link.symlink_to(program)
    return link, folder / "env"


def hidden_file_without_a_folder_of_programs(folder: Path) -> tuple[Path, Path]:
    program = script(folder / "tools" / "tool")
    return program, program


@EACH_LEVEL
@PLACES
@pytest.mark.parametrize(
    "make",
    [
        hidden_file,
        hidden_interpreter,
        hidden_end_of_a_link,
        hidden_file_without_a_folder_of_programs,
    ],
)
def test_a_hidden_program_names_what_to_add_and_adding_it_is_enough(
    shut_in: Level, folder: Path, make: Callable[[Path], tuple[Path, Path]]
) -> None:
    program, missing = make(folder)
    with pytest.raises(ProgramHidden) as failed:
        run(shut_in, folder / "work", str(program))
    message = str(failed.value)
    assert message.startswith(f"{program}: ")
    assert "is not visible in the sandbox" in message
    assert message.endswith(f"; add {missing} to my.setting")
    done = run(shut_in, folder / "work", str(program), readable=[missing])
    assert done == Done(0, "started\n", "")


@pytest.mark.needs("L3")
@pytest.mark.parametrize("parent", ["/tmp"])
def test_a_hidden_link_on_the_way_is_named(folder: Path) -> None:
    program = script(folder / "real" / "bin" / "tool")
    link = folder / "alias"
    link.symlink_to(folder / "real")
    with pytest.raises(ProgramHidden, match=f"needs {link}, which is not visible"):
        run(
            Level.L3,
            folder / "work",
            str(link / "bin" / "tool"),
            readable=[program.parent.parent],
        )


@pytest.mark.needs("L3")
@pytest.mark.parametrize("parent", ["/tmp"])
def test_a_grant_of_everything_keeps_the_scratch_folder_of_the_command(folder: Path) -> None:
    program = script(folder / "env" / "bin" / "tool")
    for everything in (Path("/"), Path("/tmp")):
        with pytest.raises(ProgramHidden):
            run(Level.L3, folder / "work", str(program), readable=[everything])
        done = run(Level.L3, folder / "work", "touch", "/tmp/mark", readable=[everything])
        assert done.code == 0 and not Path("/tmp/mark").exists()


@EACH_LEVEL
@pytest.mark.parametrize("parent", ["/tmp"])
def test_a_program_that_exists_nowhere_is_called_absent(shut_in: Level, folder: Path) -> None:
    for name in ("no-such-program", "./no-such-program", "/no/such/program"):
        done = run(shut_in, folder / "work", name)
        assert done.code != 0 and "No such file or directory" in done.stderr


@EACH_LEVEL
@pytest.mark.parametrize("parent", ["/tmp"])
def test_a_visible_program_further_down_the_search_path_is_taken(
    shut_in: Level, folder: Path
) -> None:
    script(folder / "hidden" / "sort")
    (folder / "work").mkdir()
    done = asyncio.run(
        run_command(
            ["sort", "--version"],
            folder / "work",
            environment={"PATH": f"{folder}/hidden:/usr/bin"},
            level=shut_in,
        )
    )
    assert done.code == 0 and "sort" in done.stdout


@EACH_LEVEL
@PLACES
def test_a_program_of_the_own_search_path_is_named_or_called_by_its_name(
    shut_in: Level, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = folder / "toolchain"
    script(environment / "bin" / "own-tool")
    monkeypatch.setenv("PATH", f"{environment}/bin", prepend=os.pathsep)
    with pytest.raises(ProgramHidden, match=f"add {environment} to my.setting"):
        run(shut_in, folder / "work", "own-tool")
    done = run(shut_in, folder / "work", "own-tool", readable=[environment])
    assert done == Done(0, "started\n", "")
