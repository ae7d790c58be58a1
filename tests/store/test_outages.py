"""A database that is away is told in one line, and so is its return."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

pytest.importorskip("psycopg")

from transom.store.postgres.outages import end_outage, watch_outages

LOG = "transom.store.postgres.outages"


def test_many_attempts_to_connect_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    watch_outages()
    end_outage()
    caplog.clear()
    pool = logging.getLogger("psycopg.pool")
    for number in range(9):
        pool.warning("discarding closed connection: %s", "<psycopg.Connection [BAD]>")
        reason = "connection refused\n\tIs the server running?"
        pool.warning("error connecting in %r: %s", f"pool-{number}", reason)
    end_outage()
    end_outage()
    pool.warning("error connecting in %r: %s", "pool-1", "no route to host")
    end_outage()
    assert [message for name, _, message in caplog.record_tuples if name == LOG] == [
        "the database is away, and is tried again: connection refused",
        "the database is back",
        "the database is away, and is tried again: no route to host",
        "the database is back",
    ]


def test_the_drivers_own_lines_are_not_printed() -> None:
    program = """
import logging
from transom.store.postgres.outages import watch_outages
watch_outages()
watch_outages()
logging.getLogger("psycopg").warning("error ignored terminating %r: %s", "pipeline", "it is lost")
logging.getLogger("psycopg.pool").warning("error connecting in %r: %s", "pool-1", "refused")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
