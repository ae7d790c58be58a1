"""A real project in a real git repository: the shipped example."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from transom.stories.testrun import TestCommand

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "stories"
TESTS = TestCommand(
    ("{python}", "run_tests.py", "{junit}"), environment={"PYTHONDONTWRITEBYTECODE": "1"}
)
_WHO = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com"}


def git(folder: Path, *args: str) -> str:
    """A person's git, apart from ours."""
    who = {**_WHO, **{name.replace("AUTHOR", "COMMITTER"): value for name, value in _WHO.items()}}
    done = subprocess.run(
        ["git", *args],
        cwd=folder,
        env={**os.environ, **who},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")


def make_project(folder: Path) -> Path:
    """The example's project as a repository with one commit on `main`."""
    project = folder / "project"
    shutil.copytree(EXAMPLE / "project", project, ignore=shutil.ignore_patterns("__pycache__"))
    git(project, "init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", "Kit Moss"), ("user.email", "kit@example.org")):
        # for what an agent commits by itself, also where nobody set up git
        git(project, "config", key, value)
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "A till")
    return project
