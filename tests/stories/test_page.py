"""The blocks of the page on stories: the shell's are run, and the settings are read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.projects import EXAMPLE
from transom.config.load import load_settings
from transom.sandbox import Level, needs

PAGE = (Path(__file__).parents[2] / "docs" / "stories.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(bool(needs(Level.L3)), reason="bubblewrap is missing")
def test_a_newcomer_gets_to_the_first_done_story(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(EXAMPLE, clone / "examples" / "stories")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "transom").write_text(f'#!/bin/sh\nexec {sys.executable} -m transom "$@"\n')
    (tmp_path / "bin" / "transom").chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", "-e", "-c", "\n".join(blocks("bash"))],
        cwd=clone,
        env={**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dry run" in done.stdout
    assert re.search(r"^done\s+story-1", done.stdout, re.MULTILINE)
    assert "Merge story-1" in done.stdout


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    written = blocks("yaml")
    assert len(written) >= 2
    for text in written:
        (tmp_path / "transom.yaml").write_text(text)
        load_settings(tmp_path)
