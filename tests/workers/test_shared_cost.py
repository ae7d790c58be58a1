"""A limit on dollars that the items of a distributed batch share, whoever is killed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import REPLIES, Farm
from tests.workers.test_distributed_batch import ended

pytestmark = [pytest.mark.fence, pytest.mark.slow]

ITEMS = 10


def wait_for_calls(farm: Farm, number: int) -> None:
    """Wait until a model was asked so many times more."""
    before = farm.asked()
    farm.wait_for(lambda: farm.asked() >= before + number, 240)


@pytest.mark.parametrize(("workers", "cap", "kills"), [(2, 20.5, 0), (4, 20.5, 2), (2, 30.5, 1)])
def test_workers_exceed_a_cap_by_one_call_at_most(
    postgres: Server, tmp_path: Path, workers: int, cap: float, kills: int
) -> None:
    farm = Farm(tmp_path, postgres.fresh_address())
    try:
        farm.items("paid", ITEMS)
        started = [farm.worker(3) for _ in range(workers)]
        batch = farm.batch("paid", "--max-cost", str(cap), model="slow:Paid")
        for victim in started[:kills]:
            wait_for_calls(farm, 4)
            victim.kill()
        code, output = ended(batch)
        asked = farm.asked()
        assert code == 3, output
        assert asked <= cap + 1, "each call costs a dollar, whether its process died or not"
        reason = re.search(r"the cap of [0-9.]+ usd is reached \(([0-9.]+) used\)", output)
        assert reason, output
        assert float(reason[1]) >= cap
        # What is paid is kept: with enough money only the rest is asked.
        before = farm.asked()
        kept = sum(farm.replies([f"paid-{number:02}" for number in range(ITEMS)]))
        code, output = ended(farm.batch("paid", "--max-cost", "1000", model="slow:Paid"))
        assert "the cap" not in output
        assert farm.asked() - before == REPLIES * ITEMS - kept
    finally:
        farm.close()
