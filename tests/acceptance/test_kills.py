"""`check all`, killed for real after every one of its journal appends: nothing paid for is lost,
nothing differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.common import EXAMPLES, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.fence]


@pytest.mark.parametrize("provider", ["rules", "counted"])
def test_every_failpoint_of_check_all(provider: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.acceptance.kill_driver", str(EXAMPLES / "VER-04.yaml")]
    done = subprocess.run(
        [*command, str(EXAMPLES / "data"), str(tmp_path), provider],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
        # What is walked here again and again was measured elsewhere.
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},
    )
    assert done.returncode == 0, done.stderr
    whole, *killed = [json.loads(line) for line in done.stdout.splitlines()]
    assert whole["status"] == 0, done.stderr
    assert len(killed) >= 30, "fewer journal appends than stages: the enumeration is broken"
    names = "\n".join(whole["files"])
    for expected in (
        "VER-04_verdict.json",
        "VER-04_ItemSpec.md",
        "atoms.py",
        "checker.yaml",
        "build.json",
    ):
        assert f"out/{expected}" in names or f"out/VER-04_checker/{expected}" in names, names
    for row in killed:
        assert row["status"] == 0, (row["failpoint"], done.stderr)
        assert row["files"] == whole["files"], row["failpoint"]
        assert not set(row["journaled"]) & set(row["asked"]), row["failpoint"]
    if provider == "counted":
        assert len(whole["asked"]) == 7
        assert all(len(row["journaled"]) + len(row["asked"]) == 7 for row in killed)
