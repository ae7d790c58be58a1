from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from transom.learning import Playbook
from transom.runs import Workspace
from transom.runs.history import RunHistory
from transom.server import build_app, listen, serve

TOKEN = "correct-horse-battery-staple"
HTML = {"Accept": "text/html"}
URL = "http://127.0.0.1:8420"
"""Where a client without a network believes the server to be."""


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Playbook]:
    with Playbook(tmp_path / "state.db") as playbook:
        yield playbook


@pytest.fixture
def history(tmp_path: Path) -> Iterator[RunHistory]:
    """The runs of the workspace `tmp_path`."""
    workspace = Workspace.known(tmp_path)
    store = workspace.open_store()
    yield RunHistory(workspace, store)
    asyncio.run(store.close())


@pytest.fixture
def client(book: Playbook, history: RunHistory) -> Iterator[TestClient]:
    """A client with the token; the workspace is `tmp_path`."""
    with TestClient(build_app(book, history, TOKEN), base_url=URL, headers=bearer()) as one:
        yield one


@pytest.fixture
def browser(book: Playbook, history: RunHistory) -> Iterator[TestClient]:
    """A browser that opened the printed address."""
    app = build_app(book, history, TOKEN)
    with TestClient(app, base_url=URL, headers=HTML) as client:
        answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        yield client


@pytest.fixture
def url(book: Playbook, history: RunHistory) -> str:
    """Where a real server listens; it ends with the tests."""
    listener, url = listen("127.0.0.1", 0)
    threading.Thread(
        target=serve, args=(build_app(book, history, TOKEN), listener), daemon=True
    ).start()
    return url


def bearer(token: str = TOKEN) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
