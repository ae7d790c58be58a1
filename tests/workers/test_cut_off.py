"""Three hosts in network namespaces, one of which is cut off for a minute and comes back."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.store.postgres_server import running_server, why_no_server
from tests.workers.farm import REPLIES, WAIT_SECONDS, Farm
from tests.workers.network import Network, why_no_network
from tests.workers.test_distributed_batch import ended

pytestmark = pytest.mark.slow

CUT_SECONDS = 60.0
ONCE_RUNS = 250


@pytest.mark.skipif(
    bool(why_no_network() or why_no_server()), reason=why_no_network() or why_no_server()
)
def test_a_host_that_was_cut_off_for_a_minute_does_nothing_twice(tmp_path: Path) -> None:
    network = Network.of(3)
    try:
        with running_server(network.address) as server:
            farm = Farm(tmp_path, server.fresh_address())
            try:
                _cut_one_off(farm, network)
            finally:
                farm.close()
    finally:
        network.close()


def _cut_one_off(farm: Farm, network: Network) -> None:
    ids = farm.items("cut", 12)
    with (farm.folder / "log").open("w") as log:
        for host in network.hosts:
            farm.start("worker", "-j", "2", host=host, output=log, environ={"SLOW_SECONDS": "1"})
            module = "tests.workers.once_program"
            farm.start(str(ONCE_RUNS), module=module, host=host, output=log)
    batch = farm.batch("cut", SLOW_SECONDS="1")
    effects = farm.folder / "effects"
    farm.wait_for(lambda: sum(farm.replies(ids)) >= 8, 4 * WAIT_SECONDS)
    farm.wait_for(effects.exists, 4 * WAIT_SECONDS)
    lost = network.hosts[1]
    lost.cut()
    cut_at = time.monotonic()
    code, output = ended(batch)
    assert code == 3, output
    assert farm.replies(ids) == [REPLIES] * len(ids)
    farm.wait_for(lambda: time.monotonic() - cut_at >= CUT_SECONDS, 2 * CUT_SECONDS)
    lost.mend()
    # The host comes back, and its processes go on with what is left.
    back_at = len(effects.read_text().splitlines())
    farm.wait_for(
        lambda: len(effects.read_text().splitlines()) >= min(back_at + 20, ONCE_RUNS - 5),
        4 * WAIT_SECONDS,
    )
    farm.wait_for(lambda: len(farm.workers()["workers"]) == len(network.hosts), 3 * WAIT_SECONDS)
    assert farm.replies(ids) == [REPLIES] * len(ids), "no late reply came to a journal"
    counts = Counter(effects.read_text().split())
    assert max(counts.values()) == 1, "no effect of a tool came twice"
