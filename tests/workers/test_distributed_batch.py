"""A batch whose items workers on any machine share: nothing is lost and nothing is paid twice,
whoever is killed or paused.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import WAIT_SECONDS, Farm

pytestmark = [pytest.mark.fence, pytest.mark.slow]

TAKE_OVER_SECONDS = 30.0
REPLIES = 2
"""Of an item: the model is asked once more, since its first reply cannot be read."""


@pytest.fixture
def farm(postgres: Server, tmp_path: Path) -> Iterator[Farm]:
    made = Farm(tmp_path, postgres.fresh_address())
    yield made
    made.close()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit code and the output of a process."""
    output, _ = process.communicate(timeout=2 * WAIT_SECONDS)
    return process.returncode, output


def answered_items(output: str) -> list[str]:
    """Return the items of the progress lines, sorted."""
    return sorted(re.findall(r"^\[ *\d+/\d+\] \S+ +(\S+)", output, re.M))


def hands_of(worker: int) -> list[int]:
    """Return the processes below a worker."""
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    return [int(child) for child in children]


def test_a_killed_workers_items_go_on_with_another_and_no_reply_is_bought_twice(
    farm: Farm,
) -> None:
    names = farm.items(16)
    victim = farm.worker(4, SLOW_SECONDS="1.0")
    other = farm.worker(2, SLOW_SECONDS="1.0")
    batch = farm.batch()
    farm.wait_for(lambda: len(farm.records("answered")) >= 3)
    victim.kill()
    killed_at = time.monotonic()
    code, output = ended(batch)
    assert code == 2, output
    assert answered_items(output) == names
    assert time.monotonic() - killed_at < TAKE_OVER_SECONDS, "the other one takes over"
    assert set(Counter(farm.records("model_reply")).values()) == {REPLIES}
    asked = len((farm.folder / "asked").read_text())
    assert asked <= REPLIES * len(names) + 4, "only what was in flight is asked again"
    overview = farm.workers()
    assert [worker["queues"] for worker in overview["workers"]] == [["check"]]
    assert overview["workers"][0]["name"].endswith(f":{other.pid}")
    assert overview["jobs"] == []
    assert not farm.records("answered"), "what only the command needs is removed in the end"


def test_a_batch_that_was_killed_is_given_again_and_does_nothing_again(farm: Farm) -> None:
    names = farm.items(8)
    batch = farm.batch()
    farm.wait_for(lambda: bool(farm.records("enqueued")))
    time.sleep(1.0)
    batch.kill()
    (row,) = farm.workers()["jobs"]
    assert row["waiting"] == 8
    assert "no worker serves the queue check" in row["unserved"]
    worker = farm.worker(4)
    farm.wait_for(lambda: len(farm.records("answered")) >= 4)
    code, output = ended(farm.batch("--format", "json"))
    assert (code, answered_items(output)) == (2, names), output
    assert len(farm.records("enqueued")) == 1
    assert set(Counter(farm.records("model_reply")).values()) == {REPLIES}
    worker.send_signal(signal.SIGTERM)
    assert ended(worker)[0] == 0


def test_a_worker_that_is_told_to_stop_ends_its_items_and_leaves_the_others(farm: Farm) -> None:
    names = farm.items(8)
    first = farm.worker(2, SLOW_SECONDS="2")
    batch = farm.batch()
    farm.wait_for(lambda: bool(farm.records("answered")))
    first.send_signal(signal.SIGTERM)
    code, output = ended(first)
    assert code == 0
    assert "takes no further job" in output
    assert 1 <= len(farm.records("answered")) < len(names)
    assert farm.workers()["workers"] == []
    farm.worker(4)
    code, output = ended(batch)
    assert (code, answered_items(output)) == (2, names), output
    assert set(Counter(farm.records("opened")).values()) == {1}, "nothing was begun twice"


def test_a_paused_worker_that_wakes_up_writes_nothing_into_runs_that_others_took_over(
    farm: Farm,
) -> None:
    names = farm.items(6)
    sleeper = farm.worker(2, SLOW_SECONDS="3")
    batch = farm.batch()
    farm.wait_for(lambda: len(farm.records("user_message")) >= 2)
    sleeping = [sleeper.pid, *hands_of(sleeper.pid)]
    for process in sleeping:
        os.kill(process, signal.SIGSTOP)
    farm.worker(4)
    code, output = ended(batch)
    assert (code, answered_items(output)) == (2, names), output
    before = farm.records("model_reply")
    assert set(Counter(before).values()) == {REPLIES}
    for process in sleeping:
        os.kill(process, signal.SIGCONT)
    time.sleep(5.0)
    assert farm.records("model_reply") == before, "its late replies are refused"
    sleeper.send_signal(signal.SIGTERM)
    assert ended(sleeper)[0] == 0


def test_an_item_that_kills_its_process_again_and_again_is_given_up(farm: Farm) -> None:
    farm.items(1)
    farm.worker(2)
    code, output = ended(farm.batch("--format", "json", "-q", model="slow:Deadly"))
    assert code == 2
    (check,) = json.loads(output)["checks"]
    assert check["status"] == "ERROR"
    assert "its process ended 3 times" in check["errors"][0]["message"]
    assert (farm.folder / "deaths").read_text() == "xxx"
