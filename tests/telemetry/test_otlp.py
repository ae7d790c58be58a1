"""What a collector is sent, where one is configured; and that it can do a run no harm."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto_json.collector.metrics.v1.metrics_service import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto_json.collector.trace.v1.trace_service import ExportTraceServiceRequest

from tests.llm.conformance.server import LocalServer, Seen, Wire, closed_port
from tests.telemetry.test_spans import spans as ended_spans
from tests.telemetry.walked import walk
from transom.cli import main
from transom.cli.command_session import Session
from transom.cli.common_options import CommonOptions
from transom.errors import SettingsError
from transom.telemetry import Telemetry, read_trace
from transom.telemetry.destination import Destination, destination
from transom.telemetry.metrics import KINDS
from transom.telemetry.otlp import Exporter, exporter
from transom.telemetry.stats import statistics

GENEROUS = 60  # seconds; nobody waits so long unless something is broken


def taken(wire: Wire, _: Seen) -> None:
    wire.answer(200, b"{}")


@pytest.fixture
def collector() -> Iterator[LocalServer]:
    with LocalServer(taken) as server:
        yield server


def to(url: str) -> Exporter:
    where = destination(url, {})
    assert where
    return Exporter(where)


def finish(exporting: Exporter) -> None:
    """Close it, and wait for what it sends longer than a process would: machines that run tests
    are busy.
    """
    exporting.close()
    exporting._thread.join(GENEROUS)


def sent(server: LocalServer) -> list[dict[str, Any]]:
    """The spans that it took, each request of which must be one of OTLP."""
    found = []
    for seen in server.seen:
        if seen.path == "/v1/traces":
            ExportTraceServiceRequest.from_dict(seen.body)
            found += [
                span
                for each in seen.body["resourceSpans"]
                for scope in each["scopeSpans"]
                for span in scope["spans"]
            ]
    return found


def series(server: LocalServer) -> dict[str, list[dict[str, Any]]]:
    """The last points of each metric, each request of which must be one of OTLP."""
    bodies = [seen.body for seen in server.seen if seen.path == "/v1/metrics"]
    for body in bodies:
        ExportMetricsServiceRequest.from_dict(body)
    (scope,) = bodies[-1]["resourceMetrics"][0]["scopeMetrics"]
    return {
        one["name"]: [plain(point) for point in (one.get("sum") or one["histogram"])["dataPoints"]]
        for one in scope["metrics"]
    }


def plain(point: dict[str, Any]) -> dict[str, Any]:
    """A point with its attributes as a dictionary."""
    told = {pair["key"]: next(iter(pair["value"].values())) for pair in point.pop("attributes")}
    return point | {"by": told}


def test_a_collector_gets_the_very_spans_of_the_file_and_what_they_add_up_to(
    tmp_path: Path, collector: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-team=checks")
    exporting = exporter()
    assert exporting
    exporting.metrics.price = lambda who, tokens: (
        tokens["output"] / 100 if who == "scripted:model-1" else None
    )
    run, _ = asyncio.run(walk(tmp_path))
    finish(exporting)
    path = tmp_path / ".transom" / "traces" / f"{run.telemetry.trace_id}.jsonl"
    # The names are those of the conventions; all else is as in the file.
    received = sent(collector)
    nameless = [{**span, "name": ""} for span in received]
    in_file = [{**span, "name": ""} for span in ended_spans(path)]
    assert sorted(nameless, key=str) == sorted(in_file, key=str)
    names = {span["name"] for span in received}
    assert {"chat model-1", "execute_tool look", "invoke_agent t.seat"} <= names, names
    assert not [name for name in names if name.startswith(("sub_conversation", "attempt chat"))]
    assert {(seen.headers["authorization"], seen.headers["x-team"]) for seen in collector.seen} == {
        ("Bearer abc", "checks")
    }

    metrics, counted = (
        series(collector),
        statistics([read_trace(path)], by="provider", price=exporting.metrics.price),
    )
    assert set(metrics) == set(KINDS), "each metric is provoked"
    (row,) = counted.rows
    (duration,) = metrics["gen_ai.client.operation.duration"]
    assert duration["by"]["gen_ai.request.model"] == "model-1"
    assert int(duration["count"]) == row.calls == sum(map(int, duration["bucketCounts"]))
    assert duration["sum"] == pytest.approx(row.seconds.mean * row.calls)
    tokens = {
        one["by"]["gen_ai.token.type"]: one["sum"] for one in metrics["gen_ai.client.token.usage"]
    }
    assert tokens == {"input": row.input_tokens, "output": row.output_tokens}
    requests = {
        one["by"].get("error.type"): one["asDouble"] for one in metrics["transom.provider.requests"]
    }
    assert requests.pop(None) == row.calls and requests == row.errors
    assert [one["asDouble"] for one in metrics["transom.provider.retries"]] == [row.retries]
    assert [one["asDouble"] for one in metrics["transom.sub_conversations"]] == [
        counted.sub_conversations
    ]
    assert [one["asDouble"] for one in metrics["transom.cost.usd"]] == [pytest.approx(row.cost_usd)]
    (folded,) = metrics["transom.compression.ratio"]
    assert int(folded["count"]) == counted.compression.count
    tools = {one["by"].get("error.type"): one for one in metrics["transom.tool.duration"]}
    told = {
        kind: (one["by"]["gen_ai.tool.name"], one["by"]["transom.tool.success"])
        for kind, one in tools.items()
    }
    assert told.pop(None) == ("look", True)
    assert told == {"ToolExecutionError": ("look", False), "ToolNotFoundError": ("unknown", False)}


def test_the_page_names_every_metric() -> None:
    page = (Path(__file__).parents[2] / "docs" / "signals.md").read_text(encoding="utf-8")
    assert [
        name
        for name, kind in KINDS.items()
        if f"| `{name}` | {kind.unit.strip('{}')} |" not in page
    ] == []


def test_what_came_from_the_journal_is_counted_as_no_call(
    tmp_path: Path, collector: LocalServer
) -> None:
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "p",
            "gen_ai.request.model": "m",
        }
        for replayed in (True, False):
            with telemetry.span("chat", **told, **{"transom.reply.replayed": replayed}):
                pass
    finish(exporting)
    assert len(sent(collector)) == 2
    (requests,) = series(collector)["transom.provider.requests"]
    assert requests["asDouble"] == 1


@pytest.mark.slow
def test_a_collector_that_does_not_answer_holds_nobody_up(
    tmp_path: Path, collector: LocalServer
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def hesitates(wire: Wire, seen: Seen) -> None:
        asked.set()
        assert answer.wait(GENEROUS)
        taken(wire, seen)

    collector.answer = hesitates
    exporting = to(collector.url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        with telemetry.span("first"):
            pass
        assert asked.wait(GENEROUS)
        for _ in range(1000):
            with telemetry.span("later"):
                pass
        assert not answer.is_set()
    assert len(read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")) == 1001
    answer.set()
    finish(exporting)
    names = [span["name"] for span in sent(collector)]
    assert (names.count("first"), names.count("later")) == (1, 1000)


def test_a_collector_that_is_down_is_said_once_and_the_file_is_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = closed_port()
    exporting = to(url)
    with Telemetry.open(tmp_path, exporter=exporting) as telemetry:
        for _ in range(600):
            with telemetry.span("x"):
                pass
    finish(exporting)
    assert len(read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")) == 600
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"{url}/v1/traces does not accept traces (ConnectionRefusedError: ")
    assert said.endswith("they are kept in the trace files")


@pytest.mark.parametrize(
    ("endpoint", "environ", "found"),
    [
        (None, {}, None),
        (None, {"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_EXPORTER": "otlp"}, None),
        ("http://a:4318", {}, ("http://a:4318/v1/traces", "http://a:4318/v1/metrics")),
        (
            "http://a/x/",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b"},
            ("http://a/x/v1/traces", "http://a/x/v1/metrics"),
        ),
        (
            None,
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://b"},
            ("https://b/v1/traces", "https://b/v1/metrics"),
        ),
        ("http://a:4318", {"OTEL_SDK_DISABLED": "true"}, None),
    ],
)
def test_where_it_is_sent(
    endpoint: str | None, environ: dict[str, str], found: tuple[str, str] | None
) -> None:
    where = destination(endpoint, environ)
    assert (where and (where.traces, where.metrics)) == found


def test_how_it_is_sent() -> None:
    environ = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=s%3D1 , bad"}
    assert destination("http://a", environ) == Destination(
        "http://a/v1/traces", "http://a/v1/metrics", (("api-key", "s=1"),)
    )
    assert "s=1" not in repr(destination("http://a", environ))


@pytest.mark.parametrize(
    "address", ["localhost:4317", "a:b", "http://", "http://a:many", "ftp://a", "http://a:0"]
)
def test_an_address_that_is_none(
    address: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SettingsError, match=r"^telemetry\.otlp_endpoint: .* is not an address of a collector"
    ):
        exporter(address)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
    with caplog.at_level(logging.WARNING):
        assert exporter() is None, "it may be meant for another library of the same process"
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in caplog.text


def test_the_setting_reaches_the_runs_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Session.start(CommonOptions()).workspace.exporter is None
    monkeypatch.setenv("TRANSOM_TELEMETRY__OTLP_ENDPOINT", "http://127.0.0.1:9")
    exporting = Session.start(CommonOptions()).workspace.exporter
    assert exporting and exporting.metrics.price, "what calls cost is known"
    assert exporting._collector.traces == "http://127.0.0.1:9/v1/traces"
    monkeypatch.setenv("TRANSOM_TELEMETRY__OTLP_ENDPOINT", "nowhere")
    (tmp_path / "item.yaml").write_text("description: x\n")
    assert main(["check", "all", "item.yaml"]) == 2
    said = capsys.readouterr().err
    assert "telemetry.otlp_endpoint: 'nowhere' is not an address of a collector" in said
    assert "Traceback" not in said


def test_no_key_is_told_of_an_address(
    caplog: pytest.LogCaptureFixture, collector: LocalServer
) -> None:
    collector.answer = lambda wire, seen: wire.answer(
        401, json.dumps({"you": "said hunter2"}).encode()
    )
    where = Destination(f"{collector.url}/in?key=hunter2", "", (("authorization", "hunter2"),))
    exporting = Exporter(where)
    times = {"startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    exporting.put({"traceId": "a" * 32, "spanId": "b" * 16, "name": "x", **times})
    finish(exporting)
    assert collector.seen[0].path == "/in?key=hunter2"
    assert "status 401" in caplog.text and "hunter2" not in caplog.text
