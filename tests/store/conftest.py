from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from .postgres_server import Server, running_server, why_no_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests of this process."""
    if reason := why_no_server():
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with running_server() as server:
        yield server
