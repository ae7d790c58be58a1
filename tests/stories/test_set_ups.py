"""Projects whose tests need more than their own files: submodules, packages that are installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stories.projects import git, make_project, write
from tests.stories.test_courses import OPENLY
from tests.stories.worlds import REPLAY, World
from transom.sandbox import Level, needs
from transom.stories.dependencies import Dependencies
from transom.stories.git import Git
from transom.stories.shared import StorySettings
from transom.stories.submodules import fill_submodules
from transom.stories.testrun import TestCommand, run_tests
from transom.stories.worktrees import Worktrees


def make_library(folder: Path) -> Path:
    library = folder / "library"
    write(library, "rates.py", "RATE = 7\n")
    git(library, "init", "--quiet", "--initial-branch=main")
    git(library, "add", "--all")
    git(library, "commit", "--quiet", "--message", "Rates")
    return library


def add_submodule(project: Path, library: Path, path: str) -> None:
    allow = ("-c", "protocol.file.allow=always")
    git(project, *allow, "submodule", "--quiet", "add", str(library), path)
    git(project, "commit", "--quiet", "--message", f"Add {path}")


@pytest.mark.slow
@pytest.mark.fence
async def test_a_story_is_done_in_a_project_whose_tests_need_a_submodule(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    add_submodule(project, make_library(tmp_path), "vendor/rates")
    code = "\nimport sys\nsys.path.insert(0, 'vendor/rates')\nimport rates\n"
    (test,) = (path for path in [*project.glob("tests/test_*.py")][:1])
    test.write_text(test.read_text() + code)
    git(project, "commit", "--quiet", "--all", "--message", "Need the rates")
    at = World(project, tmp_path / "w", settings=StorySettings(REPLAY, OPENLY))
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story.reason
    assert git(project, "status", "--porcelain") == ""
    assert git(project, "ls-tree", "HEAD", "vendor/rates").startswith("160000 commit")


async def test_what_is_changed_in_a_submodule_is_undone_and_never_committed(tmp_path: Path) -> None:
    project, library = make_project(tmp_path), make_library(tmp_path)
    add_submodule(library, make_library(tmp_path / "inner"), "deep")
    add_submodule(project, library, "vendor/rates")
    git(project, "-c", "protocol.file.allow=always", "submodule", "update", "--init", "--recursive")
    places = Worktrees(tmp_path / "w", project)
    here = await places.ensure("transom/a", git(project, "rev-parse", "HEAD"))
    await fill_submodules(here, project)
    rates = here.folder / "vendor/rates"
    assert (rates / "deep/rates.py").read_text() == "RATE = 7\n"
    write(rates, "rates.py", "RATE = 9\n")
    write(rates, "more.py", "")
    assert await here("status", "--porcelain") == ""
    await fill_submodules(here, project)
    assert (rates / "rates.py").read_text() == "RATE = 7\n"
    assert not (rates / "more.py").exists()
    # A link to another folder is replaced, and that folder stays.
    other = tmp_path / "other"
    write(other, "kept.txt", "")
    rates.rename(tmp_path / "moved")
    rates.symlink_to(other)
    await fill_submodules(here, project)
    assert not rates.is_symlink() and (other / "kept.txt").exists()


INSTALL = """
mkdir -p packages
cp deps.lock packages/names.txt
echo installed >> "$1"
test "$(cat deps.lock)" != broken || { echo "no such package"; exit 4; }
"""
CHECK = ("/bin/sh", "-c", 'test "$(cat packages/names.txt)" = "$(cat deps.lock)"')


def installed(tmp_path: Path) -> tuple[Git, TestCommand, Path]:
    project, count = tmp_path / "project", tmp_path / "count"
    write(project, "deps.lock", "one")
    write(project, "install.sh", INSTALL)
    write(project, ".gitignore", "packages/\n")
    git(project, "init", "--quiet", "--initial-branch=main")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "A till")
    setup = Dependencies(("/bin/sh", "install.sh", str(count)), ("*.lock",), tmp_path / "cache", 60)
    return Git(project), TestCommand(CHECK, level=Level.NONE, dependencies=setup), count


async def test_packages_are_installed_once_for_each_state_of_the_lock_file(tmp_path: Path) -> None:
    here, command, count = installed(tmp_path)
    for text in ("one", "one", "two", "two", "one"):
        write(here.folder, "deps.lock", text)
        run = await run_tests(command, here.folder, here.folder)
        assert (run.problem, run.code) == ("", 0)
        # Nothing is left in the worktree that a commit could take up.
        assert not (here.folder / "packages").exists()
        git(here.folder, "commit", "--quiet", "--all", "--allow-empty", "--message", text)
    assert count.read_text() == "installed\n" * 2


async def test_a_failed_installation_is_a_problem_of_the_run_and_is_tried_again(
    tmp_path: Path,
) -> None:
    here, command, _ = installed(tmp_path)
    write(here.folder, "deps.lock", "broken")
    run = await run_tests(command, here.folder, here.folder)
    assert "exit code 4: " in run.problem and "no such package" in run.problem
    write(here.folder, "deps.lock", "one")
    assert (await run_tests(command, here.folder, here.folder)).code == 0


async def test_packages_never_take_the_place_of_files_of_the_project(tmp_path: Path) -> None:
    here, command, _ = installed(tmp_path)
    write(
        here.folder,
        "install.sh",
        "mkdir -p packages extra/deep; echo own > run.txt; touch extra/deep/x",
    )
    git(here.folder, "commit", "--quiet", "--all", "--message", "Other packages")
    write(here.folder, "extra/mine.txt", "mine")
    check = ("/bin/sh", "-c", 'test -e extra/deep/x && test "$(cat extra/mine.txt)" = mine')
    run = await run_tests(replace(command, argv=check), here.folder, here.folder)
    assert (run.problem, run.code) == ("", 0)


@pytest.mark.skipif(bool(needs(Level.L3)), reason="bubblewrap is missing")
async def test_in_the_sandbox_the_command_sees_no_variables_and_the_tests_see_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "secret")
    here, command, _ = installed(tmp_path)
    text = "mkdir -p packages; env > packages/seen.txt; cp deps.lock packages/names.txt"
    write(here.folder, "install.sh", text)
    git(here.folder, "commit", "--quiet", "--all", "--message", "Look")
    run = await run_tests(replace(command, level=Level.L3), here.folder, here.folder)
    assert (run.problem, run.code) == ("", 0)
    (seen,) = (tmp_path / "cache").glob("*/packages/seen.txt")
    assert "secret" not in seen.read_text()
