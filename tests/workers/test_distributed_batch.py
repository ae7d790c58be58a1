"""A batch whose items workers on any machine share: nothing is lost and nothing is paid twice,
whoever is killed or paused.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.postgres_server import Server
from tests.workers.farm import REPLIES, WAIT_SECONDS, Farm

pytestmark = [pytest.mark.fence, pytest.mark.slow]

TAKE_OVER_SECONDS = 30.0


@pytest.fixture(scope="module")
def farm(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    """A farm with a worker that lives through all tests, and an item that takes its time."""
    made = Farm(tmp_path_factory.mktemp("farm"), postgres.fresh_address())
    made.worker(3)
    made.items("deadly", 1)
    made.deadly = made.batch("deadly", "--format", "json", "-q", model="slow:Deadly")
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


def test_what_killed_and_paused_workers_had_begun_goes_on_elsewhere_and_is_paid_once(
    farm: Farm,
) -> None:
    ids = farm.items("kills", 12)
    victim, sleeper = farm.worker(2), farm.worker(2)
    batch = farm.batch("kills")
    farm.wait_for(lambda: len(hands_of(victim.pid)) > 0 and len(hands_of(sleeper.pid)) > 0)
    farm.wait_for(lambda: sum(farm.replies(ids)) >= 2 * REPLIES)
    sleeping = [sleeper.pid, *hands_of(sleeper.pid)]
    for process in sleeping:
        os.kill(process, signal.SIGSTOP)
    victim.kill()
    killed_at = time.time()
    code, output = ended(batch)
    assert code == 3, output
    assert answered_items(output) == ids
    # From the journals: how long the items take after that depends on the machine.
    taken_over = [
        later - killed_at
        for first, *others in farm.times("opened").values()
        for later in others
        if first < killed_at < later
    ]
    assert 0 < max(taken_over) < TAKE_OVER_SECONDS
    assert farm.replies(ids) == [REPLIES] * len(ids)
    asked = len((farm.folder / "asked").read_text())
    assert asked <= REPLIES * len(ids) + 4, "only what was in flight is asked again"
    assert not farm.answered("kills"), "what only the command needs is removed in the end"
    # The paused worker wakes up when others have done its items.
    for process in sleeping:
        os.kill(process, signal.SIGCONT)
    sleeper.send_signal(signal.SIGTERM)
    code, output = ended(sleeper)
    assert code == 0, output
    assert farm.replies(ids) == [REPLIES] * len(ids), "its late replies are refused"


def test_a_command_that_was_killed_and_a_worker_that_stops_lose_nothing(farm: Farm) -> None:
    ids = farm.items("stops", 8)
    first = farm.worker(2)
    batch = farm.batch("stops")
    farm.wait_for(lambda: farm.answered("stops") > 0)
    batch.kill()
    # As Slurm and systemd do, to all of its processes.
    for process in (first.pid, *hands_of(first.pid)):
        os.kill(process, signal.SIGTERM)
    code, output = ended(first)
    assert (code, "takes no further job" in output) == (0, True), output
    code, output = ended(farm.batch("stops"))
    assert (code, answered_items(output)) == (3, ids), output
    assert farm.replies(ids) == [REPLIES] * len(ids)
    enqueued = farm.records("enqueued")
    assert len(enqueued) == len({*enqueued}), (
        "the second command goes on with the jobs of the first"
    )
    assert len(farm.workers()["workers"]) == 1, "the one that ended has left the list"


def test_an_item_that_kills_its_process_again_and_again_is_given_up(farm: Farm) -> None:
    assert farm.deadly
    code, output = ended(farm.deadly)
    assert code == 2
    (check,) = json.loads(output)["checks"]
    assert check["status"] == "ERROR"
    assert "its process ended 3 times" in check["errors"][0]["message"]
    assert (farm.folder / "deaths").read_text() == "xxx"


@pytest.mark.parametrize(
    ("words", "schema"),
    [
        (
            "investigate 'Is Group Reservations ready for production?' --data DATA"
            " --as-of 2026-09-20",
            "transom.investigation/1",
        ),
        ("release --data DATA --as-of 2026-09-20", "transom.release/1"),
        ("check all ITEM --var CHECKLIST_ROOT=CHECKS/data", "transom.check/1"),
    ],
)
def test_a_whole_command_is_done_by_a_worker_and_prints_what_it_prints_here(
    farm: Farm, root: Path, words: str, schema: str
) -> None:
    data = str(root / "examples" / "incoming_data")
    checks = root / "examples" / "checks"
    line = words.replace("DATA", shlex.quote(data)).replace("ITEM", f"{checks}/VER-01.yaml")
    line = line.replace("CHECKS", str(checks))
    command = shlex.split(line)
    # Whoever comes first does the work, and the others reuse it and say so.
    ended(farm.start(*command, "-q"))
    code, there = ended(farm.start(*command, "--distributed", "--format", "json", "-q"))
    assert f'"{schema}"' in there
    # The lines of both streams; a worker tells those of stderr first.
    code_here, here = ended(farm.start(*command, "--format", "json", "-q"))
    lines_there, lines_here = (
        sorted(line for line in text.splitlines() if '"seconds"' not in line)
        for text in (there, here)
    )
    assert (code, lines_there) == (code_here, lines_here)
    # A job leaves the queue shortly after its answer is there.
    farm.wait_for(
        lambda: not any(row["queue"].startswith(command[0]) for row in farm.workers()["jobs"])
    )


def test_a_job_of_another_version_of_the_code_is_told_and_done_by_the_next_command(
    farm: Farm,
) -> None:
    ids = farm.items("versions", 2)
    batch = farm.batch("versions", module="tests.workers.other_version")
    assert batch.stdout is not None
    for line in batch.stdout:
        if "no worker has version 0.0.9" in line:
            break
    # Another test's job may still wait for its next attempt.
    (row,) = [row for row in farm.workers()["jobs"] if row["unserved"]]
    assert (row["waiting"], "0.0.9" in row["unserved"]) == (2, True)
    batch.kill()
    code, output = ended(farm.batch("versions"))
    assert (code, answered_items(output)) == (3, ids), output
