"""What is wrong with where spans are sent is found when settings are read, and told without a
key.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from http.client import BadStatusLine, InvalidURL
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import SEAT
from tests.llm.conformance.server import LocalServer
from tests.telemetry.test_otlp import finish, sent, taken, to
from transom.agent import Agent, Home
from transom.errors import SettingsError
from transom.llm import ScriptedProvider
from transom.telemetry import Telemetry
from transom.telemetry.destination import destination
from transom.telemetry.otlp import Exporter, exporter

HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
KEY = "hunter2"


@pytest.fixture
def collector() -> Iterator[LocalServer]:
    with LocalServer(taken) as server:
        yield server


def with_headers(text: str) -> tuple[tuple[str, str], ...]:
    where = destination("http://a", {HEADERS: text})
    assert where
    return where.headers


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("authorization=Bearer%20abc%0A", (("authorization", "Bearer abc"),)),
        (" a = %09b%20c%0D%0A ,d=", (("a", "b c"), ("d", ""))),
        ("x-team=Z\u00fcrich,n=%C3%BC", (("x-team", "Z\u00fcrich"), ("n", "\u00fc"))),
        ("a=b=c%2Cd", (("a", "b=c,d"),)),
        (",bad,a=b,", (("a", "b"),)),
    ],
)
def test_headers_are_read_without_the_space_around_them(
    text: str, headers: tuple[tuple[str, str], ...]
) -> None:
    assert with_headers(text) == headers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"authorization={KEY}%0A{KEY}", 1),
        (f"authorization={KEY}%0D%0Ax: {KEY}", 1),
        (f"a=b,authorization={KEY}%0A%20{KEY}", 2),
        (f"authorization={KEY}\u2603", 1),
        (f"authorization={KEY}%00", 1),
        (f"authorization={KEY}%7F{KEY}", 1),
        (f"authorization={KEY}\udc80", 1),
        (f"a=b,authorization: {KEY}=", 2),
        (f"={KEY}", 1),
        (f"{KEY}\u00fc=1", 1),
    ],
)
def test_a_header_that_no_request_can_have_is_refused_without_a_word_of_it(
    text: str, number: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError) as refused:
        destination("http://a", {HEADERS: text})
    said = f"{refused.value.place}: {refused.value.problem}; {refused.value.hint}"
    what = f"{HEADERS}: header {number} cannot be sent"
    assert said.startswith(what) and said.endswith("; set it to NAME=VALUE,NAME=VALUE")
    assert KEY not in said and "\n" not in said
    assert destination(None, {HEADERS: text}) is None, "nothing is sent: it is somebody else's"

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a")
    monkeypatch.setenv(HEADERS, text)
    with caplog.at_level(logging.WARNING):
        assert exporter() is None, "the run goes on"
    (record,) = caplog.records
    assert (
        f"nothing is sent to a collector: {what}" in record.getMessage() and KEY not in caplog.text
    )
    with pytest.raises(SettingsError, match=HEADERS):
        exporter("http://a")


async def test_a_run_with_a_line_end_behind_its_key_is_sent(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f" {collector.url}\n")
    monkeypatch.setenv(HEADERS, f"authorization=Bearer%20{KEY}%0A")
    async with Agent(
        SEAT, provider=ScriptedProvider({SEAT.name: ["hello"]}), at=Home(tmp_path / ".transom", "x")
    ) as agent:
        assert (await agent.send("hi")).text == "hello"
    exporting = exporter()
    assert exporting
    await asyncio.to_thread(finish, exporting)
    assert {seen.headers["authorization"] for seen in collector.seen} == {f"Bearer {KEY}"}
    assert sent(collector)


@pytest.mark.parametrize(
    "address",
    [
        "http://a/b c",
        "http://a/caf\u00e9",
        "http://a?x=\u2603",
        "http://" + "a..b",
        "http://" + "a" * 64,
        "http://a b",
    ],
)
def test_an_address_that_no_request_can_have(address: str) -> None:
    with pytest.raises(SettingsError, match="is not an address of a collector"):
        destination(address, {})
    with pytest.raises(SettingsError, match=r"^OTEL_EXPORTER_OTLP_ENDPOINT: "):
        destination(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": address})


@pytest.mark.parametrize(
    "address",
    ["http://xn--mnchen-3ya.example:4318", "http://[::1]:4318", " http://a:4318/x?y=%20\n"],
)
def test_an_address_that_one_can_have(address: str) -> None:
    where = destination(address, {})
    assert where and where.traces == f"{address.strip()}/v1/traces"


def test_the_setting_goes_before_the_variable() -> None:
    where = destination("http://a:4318", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:1/x"})
    assert where and (where.traces, where.metrics) == (
        "http://a:4318/v1/traces",
        "http://a:4318/v1/metrics",
    )


def test_no_user_and_no_password_of_an_address_is_told() -> None:
    address = f"ftp://me:{KEY}@host/in?key={KEY}"
    with pytest.raises(SettingsError, match=r"'ftp://host/in' is not an address") as refused:
        destination(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": address})
    assert KEY not in f"{refused.value}{refused.value.hint}"


def until(done: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(600):
        if done():
            return
        pause.wait(0.1)
    pytest.fail("it did not come to that")


@pytest.mark.slow
@pytest.mark.parametrize(
    "error",
    [ValueError(KEY), OverflowError(KEY), UnicodeError(KEY), BadStatusLine(KEY), InvalidURL(KEY)],
)
def test_whatever_a_request_raises_the_next_one_is_sent_and_no_word_of_it_told(
    error: Exception,
    tmp_path: Path,
    collector: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    posted, failed = Exporter._post, threading.Event()

    def fails_once(self: Exporter, address: str, request: dict[str, Any]) -> int:
        if failed.is_set():
            return posted(self, address, request)
        failed.set()
        raise error

    monkeypatch.setattr(Exporter, "_post", fails_once)
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        with telemetry.span("first"):
            pass
        until(failed.is_set)
        with telemetry.span("second"):
            pass
        until(lambda: any(span["name"] == "second" for span in sent(collector)))
    finish(exporting)
    (record,) = caplog.records
    assert (
        f"does not accept traces ({type(error).__name__}); they are kept in the trace files"
        in record.getMessage()
    )
    assert KEY not in caplog.text
