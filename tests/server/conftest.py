from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from transom.learning import Playbook
from transom.server import build_app, listen, serve

TOKEN = "correct-horse-battery-staple"
URL = "http://127.0.0.1:8420"
"""Where a client without a network believes the server to be."""


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Playbook]:
    with Playbook(tmp_path / "state.db") as playbook:
        yield playbook


@pytest.fixture
def client(book: Playbook, tmp_path: Path) -> Iterator[TestClient]:
    """A client with the token; the workspace is `tmp_path`."""
    with TestClient(build_app(book, tmp_path, TOKEN), base_url=URL, headers=bearer()) as one:
        yield one


@pytest.fixture
def url(book: Playbook, tmp_path: Path) -> str:
    """Where a real server listens; it ends with the tests."""
    listener, url = listen("127.0.0.1", 0)
    threading.Thread(
        target=serve, args=(build_app(book, tmp_path, TOKEN), listener), daemon=True
    ).start()
    return url


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
