"""Several processes on one playbook, and processes that are killed while they write."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from transom.learning import InsightCategory, InsightSource, Playbook
from transom.store.tables import Tables

WRITERS, EVENTS, KILLS = 4, 250, 20


def start(work: Callable[[], object]) -> int:
    """Fork; the child works and leaves with 0, or with 1 and a line on stderr."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:  # noqa: BLE001  the child must end here, whatever happens
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os._exit(0)


def prepare(path: Path, insights: int) -> list[str]:
    with Playbook(path) as book:
        added = [
            book.add_insight(InsightCategory.STRATEGY, f"rule {n} on subject {n}")
            for n in range(insights)
        ]
        return [one.id for one in added]


@pytest.mark.slow
@pytest.mark.fence
def test_four_writers_lose_nothing_while_two_others_read(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    ids = prepare(path, 20)

    def write(number: int) -> None:
        pick = random.Random(number)
        with Playbook(path) as book:
            for n in range(EVENTS):
                good, source = pick.random() < 0.7, InsightSource(f"run-{number}", str(n))
                assert book.record([pick.choice(ids)], good, source)
                if n % 50 == 0:
                    book.add_insight(
                        InsightCategory.TOOL, f"tool {number} helps with case {n} of those"
                    )

    def read() -> None:
        with Playbook(path) as book:
            seen = 0
            for n in range(120):
                assert book.get_context_for_task("", query=f"rule on subject {n % 20}")
                total = sum(one.helpful_count + one.harmful_count for one in book.items.values())
                assert total >= seen
                seen = total

    children = [start(lambda number=number: write(number)) for number in range(WRITERS)]  # type: ignore[misc]  # bound now
    children += [start(read) for _ in range(2)]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 6
    with Playbook(path) as book:
        before = book.ledger.insights()
        assert sum(one.helpful_count + one.harmful_count for one in before) == WRITERS * EVENTS
        assert len({one.id for one in before}) == len(before) == 20 + WRITERS * EVENTS // 50
        book.ledger.rebuild()
        assert book.ledger.insights() == before


@pytest.mark.slow
@pytest.mark.fence
def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    (key,) = prepare(path, 1)
    pick, acknowledged, begun = random.Random(0), 0, 0
    for attempt in range(KILLS):
        ours, theirs = os.pipe()

        def write(attempt: int = attempt, out: int = theirs) -> None:
            with Playbook(path) as book:
                for n in range(sys.maxsize):
                    assert book.record([key], True, InsightSource(f"life-{attempt}", str(n)))
                    os.write(out, b".")

        child = start(write)
        os.close(theirs)
        assert os.read(ours, 1) == b"."
        time.sleep(pick.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        told = 1
        while more := os.read(ours, 65536):
            told += len(more)
        os.close(ours)
        acknowledged += told
        begun += told + 1
        with Playbook(path) as book:
            assert acknowledged <= book.require(key).helpful_count <= begun
            if isinstance(book.ledger.tables, Tables):
                assert book.ledger.tables.query("PRAGMA integrity_check") == [("ok",)]
    with Playbook(path) as book:
        before = book.ledger.insights()
        book.ledger.rebuild()
        assert book.ledger.insights() == before


def test_an_outcome_counts_once_whichever_process_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    (key,) = prepare(path, 1)

    def tell() -> None:
        with Playbook(path) as book:
            for n in range(30):
                book.record([key], True, InsightSource("run", str(n)))

    children = [start(tell) for _ in range(3)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    with Playbook(path) as book:
        assert book.require(key).helpful_count == 30
