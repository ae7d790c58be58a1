"""Clients that open connections and send nothing, or little, keep nobody else out."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.helpers import clean_environment
from tests.server.conftest import TOKEN, bearer
from transom.learning import Playbook
from transom.server import connections

PATH = "/api/context/playbook"


def opened(url: str, sent: str = "") -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)), timeout=20)
    client.sendall(sent.encode())
    return client


def head(url: str, line: str, *more: str) -> str:
    lines = [line, f"Host: {url.removeprefix('http://')}", f"Authorization: Bearer {TOKEN}", *more]
    return "\r\n".join([*lines, "", ""])


def answered(url: str) -> int:
    with httpx.Client(base_url=url, headers=bearer(), trust_env=False) as client:
        return client.get(PATH).status_code


def rest_of(client: socket.socket) -> bytes:
    with client, client.makefile("rb") as file:
        return file.read()


PART = "GET /api/context/playbook HTTP/1.1\r\nHost: 127.0.0.1"


@pytest.mark.parametrize("sent", ["", PART])
def test_a_request_whose_head_does_not_end_is_closed_in_time(
    sent: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    assert rest_of(opened(url, sent)).startswith(b"HTTP/1.1 408 ")
    assert answered(url) == 200


def test_each_byte_more_moves_no_deadline(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    end = time.monotonic() + 20
    with opened(url, PART) as client, contextlib.suppress(OSError):
        while time.monotonic() < end:
            client.sendall(b"x")  # an error once the server has closed the connection
            time.sleep(0.02)
    assert time.monotonic() < end


def test_a_body_that_does_not_end_is_closed_in_time_and_has_no_effect(
    url: str, book: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.3)
    body = json.dumps({"category": "str", "content": "Half a request"})
    asked = head(url, f"POST {PATH}/insights HTTP/1.1", "Content-Length: 1000")
    assert rest_of(opened(url, asked + body)).startswith(b"HTTP/1.1 408 ")
    assert book.items == {}


def test_a_second_request_on_a_connection_has_the_same_deadline(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    client = opened(url, head(url, f"GET {PATH} HTTP/1.1"))
    assert client.recv(12) == b"HTTP/1.1 200"
    client.sendall(PART.encode())
    assert b"HTTP/1.1 408 " in rest_of(client)


def test_a_request_in_time_is_answered_whatever_its_pieces(url: str) -> None:
    asked = head(url, f"GET {PATH} HTTP/1.1", "Connection: close")
    with opened(url) as client:
        for letter in asked[:40]:
            client.sendall(letter.encode())
        client.sendall(asked[40:].encode())
        assert rest_of(client).startswith(b"HTTP/1.1 200 ")


def test_the_oldest_idle_connection_gives_up_its_place(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    with contextlib.ExitStack() as stack, caplog.at_level(logging.WARNING):
        idle = [stack.enter_context(opened(url, PART)) for _ in range(40)]
        for _ in range(5):
            assert answered(url) == 200
        assert idle[0].recv(12) == b"HTTP/1.1 503"
    told = [record.getMessage() for record in caplog.records]
    assert told == ["a connection was closed: there are too many, and it sent no request"]


def test_the_limit_leaves_room_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (64, 64))
    assert connections.most_connections() == 32


def test_a_line_says_how_often_it_was_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    once, told = connections.OncePerMinute(), []
    for second in range(130):
        now[0] = float(second)
        record = logging.LogRecord("x", logging.WARNING, "", 0, "closed: %d", (second,), None)
        other = logging.LogRecord("x", logging.WARNING, "", 0, "refused", (), None)
        told += [one.getMessage() for one in (record, other) if once.filter(one)]
    times = " (and 59 times since this was last said)"
    assert told == [
        "closed: 0",
        "refused",
        f"closed: 60{times}",
        f"refused{times}",
        f"closed: 120{times}",
        f"refused{times}",
    ]


@contextlib.contextmanager
def serving(folder: Path, files: int) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Run `transom serve` in a process that may open a number of files."""
    script = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}));"
        " from transom.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, "serve", "--port", "0", "--format", "json"],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        document = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        yield process, document
        process.kill()


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize(("files", "clients"), [(64, 200), (1024, 1000)])
def test_more_idle_clients_than_open_files_stop_nobody(
    files: int, clients: int, tmp_path: Path
) -> None:
    connections.raise_file_limit()
    with contextlib.ExitStack() as stack:
        process, document = stack.enter_context(serving(tmp_path, files))
        url, token = document["url"], document["token"]
        page = url.removeprefix("http://")
        viewer = stack.enter_context(opened(url))
        viewer.sendall(
            f"GET /now/events HTTP/1.1\r\nHost: {page}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        events = stack.enter_context(viewer.makefile("rb"))
        assert events.readline().startswith(b"HTTP/1.1 200")
        for number in range(clients):
            # Half of them send nothing at all.
            stack.enter_context(opened(url, PART if number % 2 else ""))
        with httpx.Client(base_url=url, trust_env=False) as client:
            for _ in range(20):
                began = time.monotonic()
                for path in (PATH, "/", "/waiting", "/runs"):
                    headers = {**bearer(token), "Accept": "text/html"}
                    assert client.get(path, headers=headers).status_code == 200
                assert time.monotonic() - began < 10
        # The stream was open before them, and still is.
        assert any(line.startswith(b"data: ") for line in events)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        messages = process.stderr.read()
    assert process.wait(20) == 0
    lines = messages.splitlines()
    assert lines[-1] == "stopped"
    assert lines[:-1] == [
        "warning: a connection was closed: there are too many, and it sent no request"
    ]
