"""Notices of commands whose work is done by workers: each command tells its end once."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import Farm

pytestmark = pytest.mark.slow

KEEP = """\
import sys
with open("notices", "a") as file:
    file.write(sys.stdin.read().strip().replace("\\n", " ") + "\\n")
"""


@pytest.fixture
def farm(postgres: Server, tmp_path: Path) -> Iterator[Farm]:
    farm = Farm(tmp_path, postgres.fresh_address())
    (tmp_path / "keep.py").write_text(KEEP)
    settings = {"command": [sys.executable, "keep.py"], "events": ["waiting", "finished", "failed"]}
    (tmp_path / "transom.yaml").write_text(json.dumps({"notify": settings}))
    try:
        farm.worker()
        yield farm
    finally:
        farm.close()


def notices_of(farm: Farm) -> list[tuple[str, str]]:
    """Return the kind of command and the event of each notice, and forget them."""
    path = farm.folder / "notices"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [(notice["kind"], notice["event"]) for notice in map(json.loads, lines)]


def ended(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=240)[0]


def test_each_command_tells_its_end_once(farm: Farm, root: Path) -> None:
    data = shlex.quote(str(root / "examples" / "incoming_data"))
    checks = root / "examples" / "checks"
    variable = f"--var CHECKLIST_ROOT={checks}/data"
    one = f"check all {checks}/VER-01.yaml {variable} --distributed"
    output = ended(farm.start(*shlex.split(one)))
    assert [kind for kind, _ in notices_of(farm)] == ["check"], output
    release = f"release --data {data} --as-of 2026-09-20 --distributed"
    output = ended(farm.start(*shlex.split(release)))
    assert [kind for kind, _ in notices_of(farm)] == ["release"], output
    (farm.folder / "items").mkdir()
    for name in ("VER-02", "VER-03"):
        (farm.folder / "items" / f"{name}.yaml").write_bytes((checks / f"{name}.yaml").read_bytes())
    output = ended(farm.start(*shlex.split(f"check batch items {variable} --distributed")))
    assert [kind for kind, _ in notices_of(farm)] == ["check-batch"], output
