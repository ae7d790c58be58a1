"""Tools of real MCP servers, over stdio and over HTTP; one that dies in the middle of a call is
a failed call.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.helpers import SEAT, asks, resumed, scripted
from tests.llm.conformance.server import LocalServer
from transom.agent import Agent
from transom.errors import Paused, ToolError
from transom.llm import ToolCallPart, ToolResults, render
from transom.tools import ToolLimits
from transom.tools.mcp import McpServer, ToolTerms

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


def serve(port: int, tmp_path: Path) -> subprocess.Popen[bytes]:
    """A server over HTTP, in a process of its own, that listens."""
    environ = {**os.environ, "MCP_TEST_PID": str(tmp_path / "pid")}
    process = subprocess.Popen([*SERVER, "http", str(port)], env=environ, stderr=subprocess.DEVNULL)
    for _ in range(1_200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    return process


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def http(port: int, tmp_path: Path) -> Iterator[str]:
    """The address of a server over HTTP, in a process of its own."""
    process = serve(port, tmp_path)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


def stdio(tmp_path: Path, limits: ToolLimits | None = None) -> McpServer:
    environ = {
        "MCP_TEST_PID": str(tmp_path / "pid"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    return McpServer(
        [*SERVER, "stdio"], terms=ToolTerms(limits=limits or ToolLimits()), environ=environ
    )


def test_tools_are_not_read_before_it_is_connected() -> None:
    with pytest.raises(
        ToolError, match="the MCP server is not connected; write async with McpServer"
    ):
        _ = McpServer([*SERVER, "stdio"]).tools


async def told(server: McpServer, *calls: ToolCallPart) -> list[str]:
    """What a model is told of some calls."""
    provider = scripted(asks(*calls), "ok")
    async with Agent(SEAT, provider=provider, tools=server.tools) as agent:
        assert (await agent.send("go")).text == "ok"
    turn = provider.requests[1].window.turns[-1]
    assert isinstance(turn, ToolResults)
    assert {result.trust for result in turn.results if not result.is_error} <= {"untrusted"}
    return [result.content for result in turn.results]


CALLS = (
    ToolCallPart("1", "look", {"at": "a"}),
    ToolCallPart("2", "look", {"lines": "many"}),
    ToolCallPart("3", "fail", {"at": "b"}),
)


def check(results: list[str]) -> None:
    seen, wrong, failed = results
    assert seen == "saw a in 3 lines"
    assert "Field required" in wrong and "should be a valid integer" in wrong, (
        "in the server's own words"
    )
    assert "no b here" in failed or "Error executing tool" in failed


@pytest.mark.slow
async def test_over_stdio(tmp_path: Path) -> None:
    async with stdio(tmp_path) as server:
        assert [(tool.name, tool.effect) for tool in server.tools] == [
            ("look", "unknown"),
            ("fail", "unknown"),
            ("hang", "unknown"),
        ]
        at: Any = server.tools[2].parameters["properties"]
        assert at["at"]["anyOf"] == [{"type": "string"}, {"type": "null"}], (
            "a schema is as the server has it"
        )
        check(await told(server, *CALLS))


@pytest.mark.slow
async def test_over_http(http: str) -> None:
    async with McpServer(http, terms=ToolTerms(only={"look", "fail"})) as server:
        assert [tool.name for tool in server.tools] == ["look", "fail"]
        check(await told(server, *CALLS))


KEY = "tok-91af0c77"


@pytest.mark.slow
async def test_headers_are_shown_to_the_server_and_to_nobody_else(http: str) -> None:
    shown = ToolCallPart("1", "shown", {})
    async with McpServer(
        http, headers={"Authorization": f"Bearer {KEY}", "X-Tenant": "acme-chips"}
    ) as server:
        (seen,) = await told(server, shown)
    assert "authorization" in seen and "x-tenant" in seen
    assert KEY not in seen and "acme-chips" not in seen
    async with McpServer(http) as server:
        assert "authorization" not in (await told(server, shown))[0]


class Doorman(BaseHTTPRequestHandler):
    """Lets nobody in, and says in full who wanted to."""

    def do_POST(self) -> None:
        said = f"{self.path} {self.headers['authorization']}".encode()
        self.server.seen.append(said.decode())  # type: ignore[attr-defined]  # of this test
        self.send_response(401, said.decode())
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """One that lets nobody through, in every variable."""
    with LocalServer(lambda wire, _: wire.answer(502, b"{}")) as running:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, running.url)
            monkeypatch.setenv(name.lower(), running.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield running


@pytest.mark.slow
async def test_a_server_on_this_machine_is_asked_through_no_proxy(
    http: str, proxy: LocalServer
) -> None:
    for url in (http, http.replace("127.0.0.1", "localhost")):
        async with McpServer(url, headers={"Authorization": f"Bearer {KEY}"}) as server:
            assert "authorization" in (await told(server, ToolCallPart("1", "shown", {})))[0]
    assert proxy.seen == []


async def test_of_what_is_asked_of_another_machine_a_proxy_sees_the_host(
    proxy: LocalServer,
) -> None:
    at = "https://tools.made-up.invalid/mcp?key=query-5c1f"
    with pytest.raises(ToolError, match="the MCP server cannot be used"):
        async with McpServer(at, headers={"Authorization": f"Bearer {KEY}"}):
            pass
    assert {(seen.method, seen.path, seen.body) for seen in proxy.seen} == {
        ("CONNECT", "tools.made-up.invalid:443", None)
    }
    assert KEY not in str(proxy.seen) and "query-5c1f" not in str(proxy.seen)


async def test_no_redirect_leads_to_another_server_and_no_password_file_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text(
        "machine 127.0.0.1\nlogin somebody\npassword planted-in-a-file\n"
    )
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with LocalServer(lambda wire, _: wire.answer(200, b"{}")) as stranger, LocalServer() as door:
        for status in (302, 307, 308):
            door.answer = lambda wire, _, status=status: wire.answer(
                status, b"", {"location": f"{stranger.url}/mcp"}
            )
            with pytest.raises(ToolError, match="the MCP server cannot be used"):
                async with McpServer(f"{door.url}/mcp"):
                    pass
        assert stranger.seen == []
    assert len(door.seen) >= 3
    assert "Basic" not in str(door.seen)


@pytest.mark.parametrize(
    "where", ["http://%[::1/mcp", "http://%h:99999/mcp", "http://%/mcp", "htp://%host/mcp"]
)
def test_a_url_that_is_none_is_refused_without_its_password(where: str) -> None:
    at = where.replace("%", "u:planted@")
    with pytest.raises(ToolError, match=r"is no URL of an MCP server.*; write http") as caught:
        McpServer(at)
    assert "planted" not in str(caught.value)


async def test_no_error_tells_what_a_server_was_shown() -> None:
    door: Any = HTTPServer(("127.0.0.1", 0), Doorman)
    door.seen = []
    threading.Thread(target=door.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{door.server_port}/mcp?key=query-5c1f&lang=en"
    try:
        with pytest.raises(ToolError, match="the MCP server cannot be used") as caught:
            async with McpServer(at, headers={"Authorization": f"Bearer {KEY}"}):
                pass
    finally:
        door.shutdown()
        door.server_close()
    assert f"Bearer {KEY}" in door.seen[0]
    assert KEY not in str(caught.value) and "query-5c1f" not in str(caught.value)
    for odd in (f"Bearer {KEY}\n", f"Bearer {KEY}\u201d"):
        with pytest.raises(ToolError, match="the MCP server cannot be used: ") as wrong:
            async with McpServer(at, headers={"Authorization": odd}):
                pass
        assert KEY not in str(wrong.value), "no header takes it"


@pytest.mark.slow
async def test_what_a_tool_of_a_server_does_is_said_here(tmp_path: Path) -> None:
    environ = {"MCP_TEST_PID": str(tmp_path / "pid")}

    async def of(**terms: Any) -> dict[str, tuple[str, bool, bool]]:
        async with McpServer(
            [*SERVER, "stdio"], environ=environ, terms=ToolTerms(**terms)
        ) as server:
            assert {(tool.trust, tool.egress) for tool in server.tools} == {("untrusted", "any")}
            return {
                tool.name: (tool.effect, tool.needs_approval, tool.fresh) for tool in server.tools
            }

    plain, pure = ("unknown", False, True), ("pure", True, True)
    assert await of() == {"look": plain, "fail": plain, "hang": plain}
    assert await of(effect={"look": "pure"}, needs_approval={"look"}) == {
        "look": pure,
        "fail": plain,
        "hang": plain,
    }
    assert await of(effect="pure", needs_approval=True, only={"look", "fail"}) == {
        "look": pure,
        "fail": pure,
    }
    for what, given in (
        ("needs_approval", ["loook"]),
        ("effect", {"loook": "pure"}),
        ("only", ["loook"]),
    ):
        with pytest.raises(
            ToolError, match=f"it has no tool 'loook', which {what} names; it has look, fail, hang"
        ):
            await of(**{what: given})


def test_one_name_of_a_tool_is_a_name() -> None:
    terms = ToolTerms(only="read_file", needs_approval="delete")
    assert (terms.only, terms.needs_approval) == (("read_file",), ("delete",))


@pytest.mark.slow
async def test_what_a_tool_of_a_server_yields_is_trusted_and_kept_here_as_is_said() -> None:
    limits = ToolLimits(seconds=7, calls=3)
    async with McpServer(
        [*ODD, "long"], terms=ToolTerms(limits=limits, trust="ours", egress="local")
    ) as server:
        assert {(tool.limits, tool.trust, tool.egress) for tool in server.tools} == {
            (limits, "ours", "local")
        }


@pytest.mark.slow
async def test_a_call_of_a_servers_tool_waits_for_a_person(tmp_path: Path) -> None:
    environ = {"MCP_TEST_PID": str(tmp_path / "pid")}
    async with McpServer(
        [*SERVER, "stdio"], environ=environ, terms=ToolTerms(needs_approval=["look"])
    ) as server:
        provider = scripted(asks(ToolCallPart("1", "look", {"at": "a"})), "ok")
        async with Agent(SEAT, provider=provider, tools=server.tools) as agent:
            with pytest.raises(Paused):
                await agent.send("go")
            await agent.decide("approve", by="ann")
            assert (await resumed(agent)).text == "ok"
    assert "saw a in 3 lines" in render(provider.requests[1]).as_text()


@pytest.mark.slow
async def test_long_names_are_cut_the_same_way_every_time() -> None:
    names = []
    for _ in range(2):
        async with McpServer([*ODD, "long"], prefix="its_") as server:
            Agent(SEAT, provider=scripted(), tools=server.tools)
            names.append([tool.name for tool in server.tools])
    assert names[0] == names[1]
    assert len(set(names[0])) == 2
    assert [(len(name), name[:55]) for name in names[0]] == [(64, "its_" + "a" * 51)] * 2


async def kill_when_it_hangs(pid: Path) -> None:
    while not pid.is_file() or not pid.read_text():
        await asyncio.sleep(0.02)
    os.kill(int(pid.read_text()), signal.SIGKILL)


async def dead_in_a_call(server: McpServer, pid: Path) -> str:
    """What a model is told of a call in which the server is killed."""
    killer = asyncio.create_task(kill_when_it_hangs(pid))
    (died,) = await told(server, ToolCallPart("1", "hang", {}))
    await killer
    pid.unlink()
    return died


@pytest.mark.slow
async def test_a_server_that_dies_in_a_call_is_a_failed_call_and_the_next_call_starts_it_again(
    tmp_path: Path,
) -> None:
    async with stdio(tmp_path) as server:
        for _ in range(2):
            died = await dead_in_a_call(server, tmp_path / "pid")
            assert (
                "the MCP server failed" in died
                and "the call may have been carried out or not" in died
            )
            assert await told(server, ToolCallPart("1", "look", {"at": "a"})) == [
                "saw a in 3 lines"
            ]


async def test_a_server_that_dies_in_a_call_is_a_failed_call_over_http(
    http: str, tmp_path: Path
) -> None:
    async with McpServer(http, terms=ToolTerms(limits=ToolLimits(seconds=10))) as server:
        killer = asyncio.create_task(kill_when_it_hangs(tmp_path / "pid"))
        (died,) = await told(server, ToolCallPart("1", "hang", {}))
        await killer
        assert "the MCP server failed" in died or "took longer" in died


@pytest.mark.slow
async def test_a_server_over_http_that_is_there_again_is_connected_to_again(
    port: int, tmp_path: Path
) -> None:
    first = serve(port, tmp_path)
    async with McpServer(f"http://127.0.0.1:{port}/mcp") as server:
        assert await told(server, ToolCallPart("1", "look", {"at": "a"})) == ["saw a in 3 lines"]
        first.kill()
        first.wait()
        (gone,) = await told(server, ToolCallPart("1", "look", {"at": "a"}))
        assert "the MCP server failed" in gone
        second = serve(port, tmp_path)
        try:
            assert await told(server, ToolCallPart("1", "look", {"at": "a"})) == [
                "saw a in 3 lines"
            ]
        finally:
            second.kill()
            second.wait()


ODD = [sys.executable, str(Path(__file__).with_name("mcp_odd_server.py"))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("silent", "it did not answer within 1 s"),
        # to answer at all, where the machine is that busy, and else to name its tools
        ("late", "within 3 s"),
        ("endless", "within 3 s"),
    ],
)
async def test_an_odd_server_is_refused_in_time(way: str, said: str) -> None:
    seconds = {"silent": 1}.get(way, 3)
    with pytest.raises(ToolError, match=re.escape(said)):
        async with McpServer([*ODD, way], seconds=seconds):
            pass


@pytest.mark.slow
async def test_what_is_odd_can_be_left_out() -> None:
    for way, name in (("remote", "good"), ("clash", "read.file")):
        async with McpServer([*ODD, way], terms=ToolTerms(only={name}), prefix="odd.") as server:
            (tool,) = server.tools
            assert tool.name == f"odd_{name.replace('.', '_')}"
            assert "anyOf" not in tool.parameters and "Its parameters in full" in tool.description


@pytest.mark.slow
async def test_what_a_tool_is_said_to_be_holds_no_key_that_its_server_was_given() -> None:
    """Descriptions, enumerations and defaults of parameters go to the model and into the journal
    with each request.
    """
    async with McpServer([*ODD, "tells"], environ={"ODD_TOKEN": f'{KEY}"\\s'}) as server:
        (tool,) = server.tools
    shown = json.dumps(tool.spec.to_json())
    assert KEY not in shown
    assert tool.parameters["properties"] == {
        "as": {
            "enum": ["[redacted]", "me"],
            "default": "[redacted]",
            "description": "[redacted] is mine",
        }
    }
    assert (
        tool.description.startswith("Shows [redacted].")
        and '"const": "[redacted]"' in tool.description
    )


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ([], "is no command"),
        ("", "is no URL"),
        (["http://127.0.0.1/mcp"], "or a URL by itself"),
        ("python server.py", "or give a command as a list"),
        ([1], "is no command"),
        (None, "is no command"),
    ],
)
def test_what_is_no_server_is_said(server: Any, said: str) -> None:
    with pytest.raises(ToolError, match=re.escape(said)):
        McpServer(server)


@pytest.mark.slow
async def test_a_call_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with stdio(tmp_path, ToolLimits(seconds=3)) as server:
        (late,) = await told(server, ToolCallPart("1", "hang", {}))
        assert "took longer than the 3 s" in late
        assert await told(server, ToolCallPart("2", "look", {"at": "a"})) == ["saw a in 3 lines"]


@pytest.mark.slow
async def test_a_server_may_be_entered_again(tmp_path: Path) -> None:
    server = stdio(tmp_path)
    for _ in range(2):
        async with server:
            assert await told(server, ToolCallPart("1", "look", {"at": "a"})) == [
                "saw a in 3 lines"
            ]


async def test_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be used"):
        async with McpServer([sys.executable, "-c", "pass"]):
            pass


def test_a_tool_of_a_server_cannot_take_the_name_of_the_runtimes_own() -> None:
    listed = SimpleNamespace(
        name="delegate", description="Mine.", input_schema={"type": "object"}, annotations=None
    )
    with pytest.raises(
        ToolError, match=r"delegate: the runtime has a tool of that name.*McpServer\(\.\.\., prefix"
    ):
        Agent(SEAT, provider=scripted(), tools=[McpServer(SERVER)._tool(listed)])
    Agent(SEAT, provider=scripted(), tools=[McpServer(SERVER, prefix="its_")._tool(listed)])


@pytest.mark.slow
async def test_a_resource_in_a_result_is_read_and_what_is_no_text_says_where_it_is() -> None:
    async with McpServer([*ODD, "parts"]) as server:
        (text,) = await told(server, ToolCallPart("1", "good", {}))
    assert text.splitlines() == [
        "two files",
        "[repo://main/a.py]",
        "print('inside')",
        "[resource that is no text: repo://main/a.png, image/png]",
        "[resource_link: b, repo://main/b.py, The rest.]",
        "[image that is no text: image/png]",
    ]
