"""Machines that share the database and no folder of runs: `paths.artifacts: database`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import REPLIES, WAIT_SECONDS, Farm
from tests.workers.test_distributed_batch import ended

pytestmark = [pytest.mark.fence, pytest.mark.slow]

OWN_FOLDER = [
    *("unshare", "-m", "sh", "-c"),
    'mount -t tmpfs tmpfs .transom && exec "$0" "$@"',
]
"""What stands before a command that has an empty workspace of its own."""
IN_DATABASE = {"TRANSOM_PATHS__ARTIFACTS": "database"}


@pytest.mark.skipif(
    os.getuid() != 0 or shutil.which("unshare") is None, reason="only root can mount folders"
)
def test_what_a_killed_worker_left_is_fetched_by_the_next(postgres: Server, tmp_path: Path) -> None:
    farm = Farm(tmp_path, postgres.fresh_address())
    try:
        ids = farm.items("own", 6)
        (tmp_path / ".transom").mkdir()
        victim = farm.worker(3, OWN_FOLDER, **IN_DATABASE)
        batch = farm.batch("own", **IN_DATABASE)
        farm.wait_for(lambda: sum(farm.replies(ids)) >= 2 * REPLIES, 3 * WAIT_SECONDS)
        farm.worker(3, OWN_FOLDER, **IN_DATABASE)
        victim.kill()
        code, output = ended(batch)
        assert code == 3, output
        assert farm.replies(ids) == [REPLIES] * len(ids), "what was paid is fetched, not asked"
        runs = tmp_path / ".transom" / "runs"
        assert [*runs.rglob("*_ItemSpec.md")] == []
        for item_id in ids:
            code, output = ended(farm.start("runs", "fetch", item_id, environ=IN_DATABASE))
            assert code == 0, output
        texts = {file.read_text() for file in runs.rglob("*_ItemSpec.md")}
        assert len(texts) >= len(ids)
    finally:
        farm.close()
