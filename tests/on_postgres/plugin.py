"""Starts the server of `STORE=postgresql`, and skips the tests that are about SQLite's files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.on_postgres import sitecustomize
from tests.store.postgres_server import running_server, why_no_server

SQLITE = "about the file of a SQLite database"
OWN_STORES = "tries both stores, or starts its own server"
_HERE = Path(__file__).parent
_TESTS = _HERE.parent
_ROOMS_WITH_OWN_STORES = ("store", "workers")


@pytest.fixture(scope="session", autouse=True)
def _on_postgres() -> Iterator[None]:
    if reason := why_no_server():
        pytest.exit(reason, returncode=1)
    with running_server(most_connections=1000) as server:
        os.environ[sitecustomize.ADDRESS] = server.url()
        before = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = f"{_HERE}{os.pathsep}{before}".rstrip(os.pathsep)
        sitecustomize.install()
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is about SQLite, or has a server of its own."""
    for item in items:
        room = item.path.relative_to(_TESTS).parts[0]
        if item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip(reason=SQLITE))
        elif room in _ROOMS_WITH_OWN_STORES:
            item.add_marker(pytest.mark.skip(reason=OWN_STORES))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line each how many tests were left out, and why."""
    reports = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    for reason in (SQLITE, OWN_STORES):
        count = sum(reason in report for report in reports)
        terminalreporter.write_line(f"on PostgreSQL {count} tests were skipped: {reason}")
