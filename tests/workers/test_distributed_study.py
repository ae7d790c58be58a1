"""A study on a worker, with its trials in Optuna's tables of the same PostgreSQL."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import psycopg
import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import WAIT_SECONDS, Farm
from tests.workers.test_distributed_batch import ended

pytestmark = [pytest.mark.fence, pytest.mark.slow]

TRIALS = 12


def test_a_study_whose_worker_was_killed_goes_on_with_its_trials(
    postgres: Server, tmp_path: Path, root: Path
) -> None:
    pytest.importorskip("optuna")
    farm = Farm(tmp_path, postgres.fresh_address())
    for name in ("beam.py", "beam.yaml", "beam-failures.yaml"):
        shutil.copy(root / "examples" / "studies" / name, tmp_path / name)
    study = tmp_path / "beam.yaml"
    # SQLAlchemy has another name for the driver.
    storage = farm.address.url.replace("postgresql://", "postgresql+psycopg://")
    text = study.read_text().replace("budget: {trials: 40}", f"budget: {{trials: {TRIALS}}}")
    study.write_text(f"{text}storage: {json.dumps(storage)}\n")

    def solved() -> int:
        with psycopg.connect(farm.address.url) as connection:
            query = "SELECT count(*) FROM trials WHERE state = 'COMPLETE'"
            try:
                rows = connection.execute(query).fetchall()
            except psycopg.errors.UndefinedTable:
                return 0
            return int(rows[0][0])

    try:
        victim = farm.worker(1)
        command = farm.start("study", "run", "beam.yaml", "--distributed", "--format", "json", "-q")
        farm.wait_for(lambda: solved() >= 3, 4 * WAIT_SECONDS)
        farm.worker(1)
        victim.kill()
        code, output = ended(command)
        assert code == 0, output
        # Optuna may warn first, on the other stream.
        document = json.loads(output[output.index("{") :])
        assert document["schema"].startswith("transom.study")
        with psycopg.connect(farm.address.url) as connection:
            states = connection.execute("SELECT state, number FROM trials").fetchall()
        numbers = [number for _, number in states]
        assert len(numbers) == len({*numbers})
        finished = [number for state, number in states if state != "WAITING"]
        assert len(finished) >= TRIALS
    finally:
        farm.close()
