from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.helpers import COMMAND, clean_environment
from tests.server.conftest import TOKEN, bearer
from transom.errors import InputError
from transom.learning import InsightCategory, Playbook
from transom.server import listen

PATH = "/api/context/playbook"


def chunks() -> Iterator[bytes]:
    for _ in range(10):
        yield b"x" * 1_000_000


def test_ten_megabytes_are_answered_and_the_server_goes_on(url: str) -> None:
    with httpx.Client(base_url=url, headers=bearer(), trust_env=False) as client:
        assert client.post(f"{PATH}/insights", content=b"x" * 10_000_000).status_code == 413
        assert client.post(f"{PATH}/insights", content=chunks()).status_code == 413
        assert client.get(PATH).status_code == 200


def test_paths_and_heads_as_no_client_sends_them(url: str, book: Playbook) -> None:
    book.add_insight(InsightCategory.STRATEGY, "something")
    host, port = url.removeprefix("http://").split(":")
    good = f"Host: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
    heads = {
        f"GET /api/context/../../../etc/passwd HTTP/1.1\r\n{good}": b"404",
        f"GET {PATH}/items/..\\..\\session HTTP/1.1\r\n{good}": b"404",
        f"GET http://evil.example{PATH} HTTP/1.1\r\n{good}Host: evil.example\r\n": b"40",
        f"GET {PATH} HTTP/1.1\r\n{good}Authorization: Bearer wrong\r\n": b"401",
        f"GET {PATH} HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n": b"403",
        f"GET {PATH} HTTP/1.1\r\n{good}Content-Length: -5\r\n": b"400",
    }
    for head, status in heads.items():
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(f"{head}Connection: close\r\n\r\n".encode())
            answer = client.makefile("rb").read()
        assert answer.split(b" ", 2)[1].startswith(status), (head, answer)
        assert b"root:" not in answer


def test_a_port_that_is_taken_is_named() -> None:
    taken, url = listen("127.0.0.1", 0)
    with taken, pytest.raises(InputError, match=r"cannot listen .*--port"):
        listen("127.0.0.1", int(url.rpartition(":")[2]))


@pytest.mark.slow
def test_the_command_prints_url_and_token_serves_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    line = [*COMMAND, "serve", "--port", "0", "--format", "json", "--user", "ada"]
    with subprocess.Popen(
        line,
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stderr
        told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        with httpx.Client(base_url=told["url"], trust_env=False) as client:
            assert client.get(PATH).status_code == 401
            given = {"category": "str", "content": "Use shells"}
            answer = client.post(f"{PATH}/insights", json=given, headers=bearer(told["token"]))
            assert (answer.status_code, answer.json()["id"]) == (201, "str-00001")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == "stopped\n"
    with Playbook(tmp_path / ".transom" / "state.db") as kept:
        assert [*kept.items] == ["str-00001"]
