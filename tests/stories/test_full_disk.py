"""A disk that is full somewhere in a story: an error that says so, nothing lost, and with room the
same command ends the story.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.stories.projects import git, make_project
from tests.stories.test_command import SETTINGS

# A small disk of its own, in namespaces of its own: first with little room, then with enough.
SCRIPT = """
set -eu
base=$1 free=$2 workspace=$3
mount -t tmpfs -o size=64m none "$base/disk"
cp -r "$base/project" "$base/disk/project"
used=$(df -k --output=used "$base/disk" | tail -1)
mount -o "remount,size=$((used + free))k" "$base/disk"
cd "$base"
for run in full room; do
    code=0
    "$4" -m transom story run --project disk/project --epic epic-1 --story story-1 \\
        --workspace "$workspace" --unsafe-no-sandbox --format json \\
        > "$run.json" 2> "$run.err" || code=$?
    echo "$code" > "$run.code"
    git -C disk/project log --first-parent --format=%s main > "$run.log"
    # git would write its index anew, for which a full disk has no room.
    git --no-optional-locks -C disk/project status --porcelain > "$run.status"
    mount -o remount,size=128m "$base/disk"
done
git -C disk/project worktree list > worktrees
git -C disk/project fsck --no-dangling > fsck 2>&1
"""
IN_NAMESPACES = ("unshare", "--map-root-user", "--mount", "sh", "-c")


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    words = [*IN_NAMESPACES, "mount -t tmpfs none /mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def run(base: Path, free: int, workspace: str) -> dict[str, Any]:
    (base / "disk").mkdir()
    (base / "transom.yaml").write_text(SETTINGS)
    project = make_project(base)
    assert git(project, "status", "--porcelain") == ""
    words = [*IN_NAMESPACES, SCRIPT, "sh", str(base), str(free), workspace, sys.executable]
    subprocess.run(words, check=True, capture_output=True)
    return {file.name: file.read_text() for file in base.iterdir() if file.is_file()}


@pytest.mark.slow
@pytest.mark.skipif(not can_mount(), reason="no disk can be mounted here")
@pytest.mark.parametrize(
    ("free", "workspace"),
    [
        (40, "disk/w"),
        (400, "disk/w"),
        (700, "disk/w"),
        (950, "disk/w"),
        (8, "w"),
        (40, "w"),
        (56, "w"),
        (80, "w"),
        (96, "w"),
    ],
)
def test_a_story_on_a_full_disk_goes_on_when_there_is_room(
    tmp_path: Path, free: int, workspace: str
) -> None:
    files = run(tmp_path, free, workspace)
    assert "Traceback" not in files["full.err"] + files["room.err"]
    if files["full.code"].strip() != "0":
        assert files["full.code"].strip() in ("2", "3"), files["full.err"]
        assert "make room" in files["full.err"] + files["full.json"], files["full.err"]
        # Merged as a whole, or not at all.
        assert files["full.log"] == "A till\n", files["full.log"]
        assert files["full.status"] == ""
    else:
        assert free > 60, "the disk was too large for this test"
    assert files["room.code"].strip() == "0", (files["full.err"], files["room.err"])
    (story,) = json.loads(files["room.json"])["stories"]
    assert story["status"] == "done"
    assert files["room.log"] == "Merge story-1: Discounts\nA till\n"
    assert files["room.status"] == ""
    assert files["worktrees"].count("\n") == 1
    assert not [line for line in files["fsck"].splitlines() if "error" in line]
