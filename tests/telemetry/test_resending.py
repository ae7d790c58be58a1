"""What a collector does not take is sent again, and everything once."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.telemetry.test_destination import until
from tests.telemetry.test_otlp import finish, sent, series, taken, to
from transom.telemetry import Telemetry, otlp


@pytest.fixture
def collector() -> Iterator[LocalServer]:
    with LocalServer(taken) as server:
        yield server


def with_status(statuses: list[int]) -> Callable[[Wire, Seen], None]:
    """Answers to traces, one after another, and 200 from then on."""

    def answer(wire: Wire, seen: Seen) -> None:
        wire.answer(statuses.pop(0) if statuses and seen.path == "/v1/traces" else 200, b"{}")

    return answer


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_who_has_no_time_now_is_asked_again(
    status: int, tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "PERIOD", 0.01)
    collector.answer = with_status([status, status])
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry, telemetry.span("one"):
        pass
    until(lambda: len(sent(collector)) >= 3)
    until(lambda: not exporting._waiting)
    finish(exporting)
    assert [span["name"] for span in sent(collector)] == ["one"] * 3


@pytest.mark.parametrize("status", [302, 400, 401, 404, 413])
def test_who_refuses_is_not_asked_again(
    status: int, tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "PERIOD", 0.01)
    collector.answer = with_status([status])
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        with telemetry.span("one"):
            pass
        until(lambda: len(sent(collector)) == 1 and not exporting._waiting)
        with telemetry.span("two"):
            pass
        until(lambda: len(sent(collector)) >= 2)
    finish(exporting)
    assert [span["name"] for span in sent(collector)] == ["one", "two"]


def test_what_waits_is_its_own_processes_to_send(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "PERIOD", 0.01)
    busy = threading.Event()
    collector.answer = lambda wire, seen: wire.answer(200 if busy.is_set() else 503, b"{}")
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        with telemetry.span("before"):
            pass
        until(lambda: bool(exporting._waiting) and bool(sent(collector)))
        monkeypatch.setattr(otlp, "PERIOD", 600)  # nobody sends until somebody leaves
        said = -1
        while said != len(collector.seen):
            said = len(collector.seen)
            threading.Event().wait(0.2)
        collector.seen.clear()
        busy.set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of newer Pythons, of threads in a process that forks
            child = os.fork()
        if not child:
            with telemetry.span("child"):
                pass
            finish(exporting)
            os._exit(0)
        os.waitpid(child, 0)
        assert [span["name"] for span in sent(collector)] == ["child"]
    finish(exporting)
    assert [span["name"] for span in sent(collector)] == ["child", "before"]


def test_what_a_forked_process_counts_is_what_it_did(tmp_path: Path, collector: LocalServer) -> None:
    exporting = to(collector.url)
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        for _ in range(3):
            with telemetry.span("look", **told):
                pass
        until(lambda: bool([seen for seen in collector.seen if seen.path == "/v1/metrics"]))
        collector.seen.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            child = os.fork()
        if not child:
            with telemetry.span("look", **told):
                pass
            finish(exporting)
            os._exit(0)
        os.waitpid(child, 0)
    (point,) = series(collector)["transom.tool.duration"]
    assert point["count"] == "1"
    finish(exporting)
