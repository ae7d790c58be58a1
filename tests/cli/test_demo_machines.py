"""`transom demo` on poorer machines: what it shows, what it says is missing, and in which order."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.helpers import COMMAND, clean_environment


def demo(folder: Path, *products: str, **environ: str) -> tuple[int, list[str]]:
    """Run the demo with both streams in one file; returns the exit code and the file's lines."""
    environment = clean_environment(**environ)
    environment.pop("PYTHONUNBUFFERED", None)
    output = folder / "output.txt"
    with output.open("wb") as file:
        done = subprocess.run(
            [*COMMAND, "demo", *products, "--workspace", "w"],
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return done.returncode, output.read_text("utf-8").splitlines()


def broken_module(folder: Path, name: str) -> str:
    """Return a folder for `PYTHONPATH` in which a module cannot be imported."""
    modules = folder / "modules"
    modules.mkdir(exist_ok=True)
    (modules / f"{name}.py").write_text("raise ImportError('not on this machine')\n", "utf-8")
    return str(modules)


def programs(folder: Path, *names: str) -> str:
    """Return a folder for `PATH` with these programs and no others."""
    place = folder / "bin"
    place.mkdir()
    for name in names:
        (place / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    return str(place)


def places_of(lines: list[str], *beginnings: str) -> list[int]:
    """Return the number of the only line that begins so, for each beginning."""
    places = []
    for beginning in beginnings:
        (place,) = (number for number, line in enumerate(lines) if line.startswith(beginning))
        places.append(place)
    return places


@pytest.mark.slow
@pytest.mark.fence
def test_a_machine_without_any_sandbox_is_told_what_to_type_and_the_exit_code_is_2(
    tmp_path: Path,
) -> None:
    path = broken_module(tmp_path, "pyseccomp")
    code, lines = demo(tmp_path, "checklist", "stories", "learning", PYTHONPATH=path)
    assert code == 2
    for name in ("checklist", "stories", "learning"):
        (line,) = (line for line in lines if f"{name} is not shown" in line)
        assert "it needs sandbox level L" in line
        assert line.endswith("; run as root: apt-get install -y libseccomp2")


def test_headings_and_errors_come_in_the_order_in_which_they_happen(tmp_path: Path) -> None:
    """Both streams go into one file, so that Python buffers the standard output by itself."""
    path = broken_module(tmp_path, "pyseccomp")
    code, lines = demo(tmp_path, "checklist", "stories", PYTHONPATH=path)
    beginnings = (
        "The demo needs no model",
        "== Checklist",
        "transom: checklist is not shown",
        "checklist: ",
        "== Stories",
        "transom: stories is not shown",
        "stories: ",
    )
    assert code == 2
    assert places_of(lines, *beginnings) == sorted(places_of(lines, *beginnings))


def test_log_records_keep_the_order_too(tmp_path: Path) -> None:
    """The log writes to the standard error by itself, beside the command line's own lines."""
    code = (
        "import logging, sys\n"
        "from transom.cli.output import open_streams, print_text\n"
        "open_streams()\n"
        "logging.basicConfig(stream=sys.stderr, format='%(message)s')\n"
        "print_text('1'); logging.warning('2'); print('3'); logging.warning('4')\n"
    )
    environment = clean_environment()
    environment.pop("PYTHONUNBUFFERED", None)
    done = subprocess.run(
        [COMMAND[0], "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "2", "3", "4"]


@pytest.mark.slow
@pytest.mark.fence
def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    code, lines = demo(tmp_path, "studies", PYTHONPATH=broken_module(tmp_path, "optuna"))
    (line,) = (line for line in lines if "studies is not shown" in line)
    assert code == 2
    assert "pip install" in line and "studies.txt" in line


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.needs("L2")
def test_a_machine_without_git_is_told_to_install_it(tmp_path: Path) -> None:
    code, lines = demo(tmp_path, "stories", PATH=programs(tmp_path, "sh"))
    (line,) = (line for line in lines if "stories is not shown" in line)
    assert code == 2
    assert line.endswith("git is not installed; run as root: apt-get install -y git")


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.needs("L2")
def test_a_machine_without_namespaces_shows_the_story_at_level_2_and_says_so(
    tmp_path: Path,
) -> None:
    code, lines = demo(tmp_path, "stories", PATH=programs(tmp_path, "git", "sh"))
    assert code == 0, lines
    (said,) = (line for line in lines if "sandbox level L2" in line)
    assert "bubblewrap is not installed; run as root: apt-get install -y bubblewrap" in said
    for state in ("done     story-1", "blocked  story-2", "done     story-3"):
        assert any(line.startswith(state) for line in lines)
    (text, *_) = (tmp_path / "w").rglob("tests.json")
    assert '"passed"' in text.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.needs("L3")
def test_a_machine_with_namespaces_shows_the_story_at_level_3(tmp_path: Path) -> None:
    code, lines = demo(tmp_path, "stories", PATH=os.environ["PATH"])
    assert code == 0, lines
    assert not any("sandbox level" in line for line in lines)
