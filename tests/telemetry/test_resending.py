"""What a collector does not take is sent again, and everything once; within bounds, and before
the end.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.telemetry.test_destination import until
from tests.telemetry.test_otlp import GENEROUS, finish, sent, series, taken, to
from transom.telemetry import Telemetry, otlp, read_trace


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


def test_what_is_too_much_stays_in_its_file_alone(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "_MOST_WAITING", 10)
    monkeypatch.setattr(otlp, "PERIOD", 600)
    collector.answer = lambda wire, seen: wire.answer(503, b"{}")
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        for _ in range(2):  # of what is given; and of what waits, once that is full
            for _ in range(25):
                with telemetry.span("x"):
                    pass
            assert len(exporting._ended) == 10
            exporting._take()
            assert (len(exporting._ended), len(exporting._waiting)) == (0, 10)
    finish(exporting)
    assert len(read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")) == 50


def test_no_request_is_larger_than_a_collector_takes(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "_BATCH", 3)
    monkeypatch.setattr(otlp, "PERIOD", 600)
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        for number in range(7):
            with telemetry.span(str(number)):
                pass
    finish(exporting)
    bodies = [seen.body for seen in collector.seen if seen.path == "/v1/traces"]
    assert [len(body["resourceSpans"][0]["scopeSpans"][0]["spans"]) for body in bodies] == [3, 3, 1]
    assert [span["name"] for span in sent(collector)] == [str(number) for number in range(7)]


def test_the_end_waits_for_no_collector_that_hangs(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hangs(wire: Wire, seen: Seen) -> None:
        asked.set()
        answer.wait(GENEROUS)
        taken(wire, seen)

    collector.answer = hangs
    monkeypatch.setattr(otlp, "_GOODBYE", 0.05)
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry, telemetry.span("x"):
        pass
    exporting.close()
    assert asked.wait(GENEROUS)
    assert exporting._thread.is_alive(), "it is left behind"
    answer.set()
    finish(exporting)


def test_totals_are_sent_when_there_is_something_new(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp, "PERIOD", 0.01)
    exporting = to(collector.url)

    def metrics() -> int:
        return len([seen for seen in collector.seen if seen.path == "/v1/metrics"])

    def sent_by_now(number: int) -> Callable[[], bool]:
        return lambda: metrics() >= number

    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        for number in (1, 2):
            with telemetry.span("look", **{"gen_ai.operation.name": "execute_tool"}):
                pass
            until(sent_by_now(number))
            threading.Event().wait(0.2)
            assert metrics() == number
    finish(exporting)
    assert [point["count"] for point in series(collector)["transom.tool.duration"]] == ["2"]


ENDS = """
import sys
from pathlib import Path
from transom.telemetry import Telemetry, otlp
from transom.telemetry.otlp import exporter
otlp.PERIOD = 600
with Telemetry.open(Path(sys.argv[1]), exporter=exporter(sys.argv[2])) as telemetry, telemetry.span("last"):
    pass
"""


def test_what_waits_at_the_end_of_a_process_is_sent(tmp_path: Path, collector: LocalServer) -> None:
    subprocess.run([sys.executable, "-c", ENDS, str(tmp_path), collector.url], check=True)
    assert [span["name"] for span in sent(collector)] == ["last"]
