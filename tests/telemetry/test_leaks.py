"""Nothing that is secret stands anywhere, nothing that is local leaves, and nobody else is
contacted.

A real conversation in a process of its own, with the SDK of a vendor against servers on this
machine: tools, an MCP server, a sub-conversation, a repeated request; once to its end and once to a
kill in the middle of a tool call. Then every byte of every file is looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from opentelemetry.proto_json.collector.trace.v1.trace_service import ExportTraceServiceRequest

from tests.llm.conformance.dialects import OpenAI
from tests.llm.conformance.server import LocalServer, Seen, Wire
from tests.telemetry.leaky import LEAKING, Plan
from tests.telemetry.test_one_file import unbroken
from transom.llm import Text, ToolCallPart
from transom.telemetry import read_trace

KEYS = ["planted-remote-4f1c", "planted-team-9b2e", "planted-shelf-77d0"]
"""How the keys begin; then comes what JSON and `repr` write otherwise than it is."""
WHOLE = [KEYS[0] + "'\"\\", KEYS[1] + '"\\n"', KEYS[2] + "\"\\é'\n\tin-its-second-line-3a"]
LOCAL = [
    "block-of-the-netlist",
    "result-of-the-netlist",
    "failure-in-the-netlist",
    "quoted-of-the-netlist",
]
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Told:
    """What a finished program left, and what its servers saw of it."""

    work: Path
    output: str
    status: int
    remote: LocalServer
    own: LocalServer
    collector: LocalServer
    proxy: LocalServer

    @property
    def files(self) -> dict[str, bytes]:
        """Every file, by its path below the folder."""
        found = (path for path in self.work.rglob("*") if path.is_file())
        return {str(path.relative_to(self.work)): path.read_bytes() for path in found}


class Remote:
    """The model's side: a server that fails and is then asked again, calls tools, and quotes
    keys in its errors.
    """

    def __init__(self) -> None:
        self.failed = False

    def __call__(self, wire: Wire, seen: Seen) -> None:
        if not self.failed:
            self.failed = True
            return self._error(wire, seen, 500)
        messages = seen.body["messages"]
        asked = [str(one["content"]) for one in messages if one["role"] == "user"]
        offered = {one["function"]["name"] for one in seen.body.get("tools", [])}
        if "refuse me" in asked[-1]:
            return self._error(wire, seen, 400)
        fresh = messages[-1]["role"] == "user" and "sum up" not in asked[-1]
        wanted = [name for name in (*LEAKING, "secret", "fatal") if name in offered and fresh]
        if wanted:
            return self._answer(
                wire, *(ToolCallPart(f"c{n}", name, {"at": "a"}) for n, name in enumerate(wanted))
            )
        return self._answer(wire, Text("That is all."))

    def _answer(self, wire: Wire, *parts: Text | ToolCallPart) -> None:
        wire.begin(OpenAI.stream_type)
        for piece in OpenAI().pieces(parts):
            wire.chunk(piece)
        wire.end()

    def _error(self, wire: Wire, seen: Seen, status: int) -> None:
        said = (
            f"{seen.headers['authorization']} ({WHOLE[0]}) is no good for"
            f" {seen.body['messages'][-1]['content']}"
        )
        wire.answer(status, json.dumps(OpenAI().error("server_error", said)).encode())


def own(wire: Wire, seen: Seen) -> None:
    said = f"nobody may ask this: {seen.body['messages']}"
    wire.answer(400, json.dumps(OpenAI().error("bad", said)).encode())


@pytest.fixture(scope="module", params=["to its end", "to a kill"])
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Told]:
    work = tmp_path_factory.mktemp("leaky")
    with ExitStack() as stack:
        remote, team, collector, stranger, proxy = (
            stack.enter_context(LocalServer(answer))
            for answer in (Remote(), own, _takes_all, None, _takes_all)
        )
        # The proxy may be asked, so that it could tell what it would have read.
        allowed = [_address(server) for server in (remote, team, collector, proxy)]
        kill = request.param == "to a kill"
        plan = Plan(
            str(work), remote.url, team.url, allowed, _address(stranger), WHOLE, LOCAL, kill
        )
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
            "OPENAI_API_KEY": WHOLE[0],
            "TEAM_CRED": WHOLE[1],
            "TRANSOM_LLM__OPENAI__KEY_VARIABLE": "TEAM_CRED",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            **dict.fromkeys(
                ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"), proxy.url
            ),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
        }
        command = [sys.executable, "-m", "tests.telemetry.leaky", json.dumps(asdict(plan))]
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=300
        )
        yield Told(work, done.stdout + done.stderr, done.returncode, remote, team, collector, proxy)


def _takes_all(wire: Wire, _: Seen) -> None:
    wire.answer(200, b"{}")


def _address(server: LocalServer) -> list[Any]:
    parts = urlsplit(server.url)
    return [parts.hostname, parts.port]


def traces(told: Told) -> list[Path]:
    return sorted((told.work / ".transom" / "traces").iterdir())


@pytest.mark.slow
def test_it_went_as_it_should(told: Told) -> None:
    """What is looked for below was there to be told."""
    killed = (told.work / ".transom" / "state.db-wal").exists()
    assert told.status == (-9 if killed else 0), told.output
    assert told.output.count("That is all.") >= 3
    assert len(
        [seen for seen in told.remote.seen if KEYS[0] in seen.headers["authorization"]]
    ) == len(told.remote.seen)
    asked = [str(seen.body["messages"]) for seen in told.remote.seen]
    assert any("SHELF_SECRET=[redacted]" in text and "no luck with" in text for text in asked)
    kinds = {
        str(row.attributes.get("gen_ai.operation.name"))
        for path in traces(told)
        for row in read_trace(path)
    }
    assert kinds >= {"chat", "attempt", "execute_tool", "invoke_agent"}
    assert "RequestRefused" in told.output and told.output.count("EgressError") >= 3


# names of tests are in the environment
@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("key", [*KEYS, "in-its-second-line-3a"], ids=range(4))
def test_a_key_stands_nowhere(told: Told, key: str) -> None:
    assert [path for path, data in told.files.items() if key.encode() in data] == []
    assert key not in told.output
    others = [
        *told.collector.seen,
        *([] if key == KEYS[0] else told.remote.seen),
        *([] if key == KEYS[1] else told.own.seen),
    ]
    assert [seen.path for seen in others if key in str(seen)] == []
    bodies = [seen.body for seen in (*told.remote.seen, *told.own.seen)]
    assert key not in str(bodies), "no model is told it either"


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("key", WHOLE[:2], ids=range(2))
def test_a_key_stands_nowhere_encoded(told: Told, key: str) -> None:
    """As authorization headers and URLs write it; the letters at both ends hold bits of what is
    beside it.
    """
    forms = [
        b64encode(f"{user}:{key}".encode()).decode().rstrip("=")[4:-1] for user in ("", "a", "ab")
    ]
    assert len({form[:8] for form in forms}) == 3
    for form in (*forms, quote(key, safe="")):
        assert [path for path, data in told.files.items() if form.encode() in data] == []
        assert form not in told.output
        assert form not in str(
            [seen.body for seen in (*told.remote.seen, *told.own.seen, *told.collector.seen)]
        )


@pytest.mark.slow
@pytest.mark.fence
def test_what_is_local_stays_where_a_person_looks_it_up(told: Told) -> None:
    """In the database, from which windows are shown; not in traces, logs and errors, and with no
    remote server.
    """
    block, result, failure, quoted = LOCAL
    for text in LOCAL:
        assert [
            path
            for path, data in told.files.items()
            if text.encode() in data and "state.db" not in path
        ] == []
        assert text not in told.output
        assert text not in str([*told.remote.seen, *told.collector.seen])
    for text in (result, failure):
        assert any(text.encode() in data for data in told.files.values()), (
            "a result is journaled before it is used"
        )
    assert quoted in str(told.own.seen), "a server that is said to be one's own may have it"
    assert "[local]" in told.output, "... and what it quotes of it is left out"
    assert block not in str(told.own.seen)


def test_nobody_is_contacted_but_who_is_configured(told: Told) -> None:
    denied = (told.work / "denied").read_text().splitlines()
    control = ["socket.connect ('127.0.0.1', ", "socket.getaddrinfo example.com"]
    assert len(denied) == len(control), denied
    assert all(line.startswith(start) for line, start in zip(denied, control, strict=True)), (
        "the fence is there"
    )


def test_no_proxy_of_the_environment_reads_what_is_sent(told: Told) -> None:
    assert told.proxy.seen == []
    assert told.remote.seen and told.own.seen


def test_every_line_is_a_request_of_otlp_and_no_parent_is_missing(told: Told) -> None:
    for path in traces(told):
        unbroken(path)
        for line in path.read_text().splitlines():
            ExportTraceServiceRequest.from_dict(json.loads(line))
    open_yet = [[row for row in read_trace(path) if row.status == "open"] for path in traces(told)]
    if told.status == 0:
        assert not any(open_yet)
    else:
        (rows,) = [rows for rows in open_yet if rows]
        assert [row.name.split()[0] for row in rows] == ["invoke_agent", "execute_tool"]
        assert rows[1].parent_id == rows[0].span_id


def test_what_ended_reached_the_collector(told: Told) -> None:
    """A kill costs it at most what was not sent yet; the files have everything."""
    bodies = [seen.body for seen in told.collector.seen if seen.path == "/v1/traces"]
    got = {
        span["spanId"]
        for body in bodies
        for each in body["resourceSpans"]
        for scope in each["scopeSpans"]
        for span in scope["spans"]
    }
    ended = {
        row.span_id for path in traces(told) for row in read_trace(path) if row.status != "open"
    }
    assert got <= ended
    if told.status == 0:
        assert got == ended
