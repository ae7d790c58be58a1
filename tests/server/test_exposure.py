"""The server beyond this machine: only encrypted, and by a name that somebody vouches for."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from tests.cli.helpers import COMMAND, clean_environment
from tests.server.conftest import HTML, TOKEN, URL, bearer
from tests.server.leaving import ask, csrf_of
from transom.config import load_settings
from transom.learning import InsightCategory, Playbook
from transom.runs.history import RunHistory
from transom.server import Certificate, build_app, connections, listen, serve

PROXY = "reviews.example"
HEADER = "X-Signed-In"


def served(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    line = [*COMMAND, "serve", "--port", "0", *options]
    return subprocess.run(
        line, cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=60
    )


@pytest.mark.slow
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "build-host.example"])
def test_another_address_than_this_machine_has_to_be_encrypted(host: str, tmp_path: Path) -> None:
    done = served(tmp_path, "--host", host)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not encrypted" in done.stderr
    assert "--tls-cert" in done.stderr and "--behind-proxy" in done.stderr


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of this machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    line += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    line += ["-keyout", str(key), "-out", str(cert)]
    subprocess.run(line, check=True, capture_output=True)
    return cert, key


@pytest.mark.slow
def test_pages_are_served_encrypted(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = certificate
    line = [*COMMAND, "serve", "--port", "0", "--host", "0.0.0.0", "--format", "json"]
    line += ["--tls-cert", str(cert), "--tls-key", str(key)]
    with subprocess.Popen(
        line,
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stderr
        document = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        assert document["url"].startswith("https://")
        url = document["url"].replace("0.0.0.0", "127.0.0.1")
        context = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(base_url=url, verify=context, trust_env=False, headers=HTML) as client:
            answer = client.get(f"/?token={document['token']}")
            assert (answer.status_code, "Secure" in answer.headers["Set-Cookie"]) == (303, True)
            page = client.get("/playbook")
            assert page.status_code == 200
            # The page's own forms come from https.
            form = {"csrf": csrf_of(client.get("/start").text), "item": ""}
            assert (
                client.post("/start/check", data=form, headers={"Origin": url}).status_code == 422
            )
            other = {"Origin": url.replace("https", "http")}
            assert client.post("/start/check", data=form, headers=other).status_code == 403
            with client.stream("GET", "/now/events") as events:
                assert next(events.iter_lines()).startswith("data: ")
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https", "http"), trust_env=False)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == "stopped\n"


@pytest.mark.slow
def test_a_certificate_that_cannot_be_used_is_named(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = certificate
    no_key = tmp_path / "empty.pem"
    no_key.write_text("")
    for options, words in (
        (("--tls-cert", str(cert)), "need each other"),
        (("--tls-cert", str(cert), "--tls-key", str(tmp_path / "none.pem")), "none.pem"),
        (("--tls-cert", str(cert), "--tls-key", str(no_key)), "empty.pem"),
        (("--tls-cert", str(key), "--tls-key", str(cert)), "cannot be used"),
    ):
        done = served(tmp_path, *options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert words in done.stderr and "Traceback" not in done.stderr, done.stderr


def proxied(book: Playbook, history: RunHistory, tmp_path: Path, header: str = "") -> TestClient:
    """A browser that is signed in by way of a proxy, which passes the Host on or does not."""
    (tmp_path / "transom.yaml").write_text(f"serve:\n  user_header: {header}\n" if header else "")
    settings = load_settings(tmp_path, environ={})
    app = build_app(book, history, TOKEN, known_settings=settings, proxy_name=PROXY)
    client = TestClient(app, base_url=URL, headers=HTML | {"Host": PROXY})
    answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
    cookie = answer.headers["Set-Cookie"]
    assert "Secure" in cookie
    # The client is in front of the server, not of the proxy, and would keep the cookie back.
    client.headers["Cookie"] = cookie.partition(";")[0]
    return client


def test_a_proxy_is_reached_by_its_name(
    book: Playbook, history: RunHistory, tmp_path: Path
) -> None:
    client = proxied(book, history, tmp_path)
    form = {"csrf": csrf_of(client.get("/start").text), "item": " "}
    for host in (PROXY, PROXY.upper(), "127.0.0.1:8420"):
        for origin, status in {
            f"https://{PROXY}": 422,
            f"http://{PROXY}": 403,
            "https://evil.example": 403,
            f"https://{PROXY}.evil.example": 403,
            f"https://{PROXY}:8443": 403,
            "http://127.0.0.1:8420": 403,
            "null": 403,
        }.items():
            headers = {"Host": host, "Origin": origin}
            assert client.post("/start/check", data=form, headers=headers).status_code == status
    for host in ("evil.example", f"{PROXY}.evil.example", "192.0.2.7"):
        assert client.get("/", headers={"Host": host}).status_code == 403


def test_who_is_signed_in_at_the_proxy_signs_and_nobody_types_a_name(
    book: Playbook, history: RunHistory, tmp_path: Path
) -> None:
    client = proxied(book, history, tmp_path, HEADER)
    run = ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    page = client.get("/waiting", headers={HEADER: "Ann Lee"}).text
    assert 'value="Ann Lee" readonly' in page
    form = {"csrf": csrf_of(page), "answer": "READY", "by": "Somebody Else"}
    for people in ([], ["Ann Lee", "Somebody Else"], ["  "]):
        sent = [*client.headers.raw, *((HEADER.encode(), name.encode()) for name in people)]
        refused = client.post(f"/waiting/{run}", data=form, headers=sent)
        assert (refused.status_code, "no name" in refused.text) == (422, True)
    client.post(f"/waiting/{run}", data=form, headers={HEADER: "Ann Lee"}, follow_redirects=False)
    recorded = json.dumps([record.data for record in history.run(run).records])
    assert "Ann Lee" in recorded and "Somebody Else" not in recorded
    insight = book.add_insight(InsightCategory.STRATEGY, "Use shells")
    change = {"csrf": form["csrf"], "change": "harmful", "by": "Somebody Else"}
    client.post(f"/playbook/{insight.id}", data=change, headers={HEADER: "Ann Lee"})
    history_of = client.get(f"/api/playbook/{insight.id}").text
    assert "Ann Lee" in history_of and "Somebody Else" not in history_of


def test_without_a_proxy_the_header_is_the_text_of_a_browser(
    browser: TestClient, history: RunHistory
) -> None:
    ask(history, "a", "Is it ready?", "READY", "NOT_READY")
    page = browser.get("/waiting", headers={HEADER: "Ann Lee"}).text
    assert "Ann Lee" not in page and "readonly" not in page


@pytest.mark.slow
def test_clients_that_begin_no_handshake_keep_nobody_out(
    certificate: tuple[Path, Path],
    book: Playbook,
    history: RunHistory,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    cert, key = certificate
    context = ssl.create_default_context(cafile=str(cert))
    listener, url = listen("127.0.0.1", 0)
    threading.Thread(
        target=serve,
        args=(build_app(book, history, TOKEN), listener),
        kwargs={"certificate": Certificate(cert, key)},
        daemon=True,
    ).start()
    address = listener.getsockname()
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(address)) for _ in range(40)]
        for _ in range(5):
            with httpx.Client(verify=context, headers=bearer(), trust_env=False) as client:
                assert client.get(url.replace("http", "https")).status_code == 200
        idle[0].settimeout(20)
        assert idle[0].recv(1) == b"", "the oldest gave up its place"
        assert idle[-1].fileno() >= 0
        # One that sends no TLS is closed, and one that does nothing after its handshake, in time.
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
        with socket.create_connection(address) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            client.settimeout(20)
            assert b"HTTP" not in client.recv(1000)
        plain = socket.create_connection(address)
        with context.wrap_socket(plain, server_hostname="localhost") as encrypted:
            encrypted.settimeout(20)
            assert encrypted.recv(12) == b"HTTP/1.1 408"
            # It never answers that the connection ends, and that does not keep it open.
            with socket.socket(fileno=os.dup(encrypted.fileno())) as raw:
                raw.settimeout(10)
                with contextlib.suppress(ConnectionResetError):
                    while raw.recv(1000):
                        pass
    assert "Traceback" not in caplog.text
