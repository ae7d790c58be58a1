"""`transom mcp`, asked by the client of the protocol's own SDK, over stdio and HTTP."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import COMMAND, clean_environment
from tests.repository.tracked import ROOT

mcp = pytest.importorskip("mcp")

TOOLS = {
    *("check", "investigate", "playbook_search", "memory_search", "memory_add"),
    *("runs", "run_status"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an item and its data."""
    shutil.copytree(ROOT / "examples" / "checks" / "data", tmp_path / "data")
    shutil.copy(ROOT / "examples" / "checks" / "VER-02.yaml", tmp_path)
    return tmp_path


@asynccontextmanager
async def over_stdio(folder: Path) -> AsyncIterator[Any]:
    command, *arguments = COMMAND
    server = mcp.StdioServerParameters(
        command=command, args=[*arguments, "mcp"], env=clean_environment(), cwd=folder
    )
    async with mcp.Client(server) as client:
        yield client


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Any]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*COMMAND, "mcp", "--http", str(port)]
    with subprocess.Popen(command, cwd=folder, env=clean_environment()) as process:
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            async with mcp.Client(f"http://127.0.0.1:{port}/mcp") as client:
                yield client
        finally:
            process.terminate()


async def called(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content
    return answer


@pytest.mark.slow
@pytest.mark.parametrize("transport", [over_stdio, over_http])
async def test_a_client_checks_remembers_and_sees_runs(transport: Any, folder: Path) -> None:
    async with transport(folder) as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        readers = {tool.name for tool in tools if tool.annotations.read_only_hint}
        assert readers == TOOLS - {"check", "investigate", "memory_add"}
        answer = await called(
            client, "check", item="VER-02.yaml", variables={"CHECKLIST_ROOT": "data"}
        )
        assert (answer["exit_code"], answer["meaning"]) == (1, "the answer is no")
        assert answer["document"]["status"] == "FAIL"
        runs = await called(client, "runs")
        (run,) = runs["document"]["runs"]
        status = await called(client, "run_status", run=run["run_id"])
        assert status["document"]["run_id"] == run["run_id"]
        assert (await called(client, "memory_add", text="bolts are short"))["exit_code"] == 0
        found = await called(client, "memory_search", query="bolts")
        assert "bolts are short" in str(found["document"])
        assert (await called(client, "playbook_search", query="slack"))["exit_code"] == 0


@pytest.mark.slow
async def test_a_client_reaches_nothing_outside_and_gives_no_options(folder: Path) -> None:
    outside = folder.parent / "secret.yaml"
    outside.write_text("description: DRC is clean.\n")
    (folder / "link.yaml").symlink_to(outside)
    async with over_stdio(folder) as client:
        for item in ("../secret.yaml", str(outside), "link.yaml"):
            result = await client.call_tool("check", {"item": item})
            assert result.is_error and "outside of the server's folder" in str(result.content)
        answer = await called(client, "memory_add", text="--workspace=/tmp/elsewhere")
        assert answer["exit_code"] == 0, "it is a text, not an option"
        result = await client.call_tool(
            "check", {"item": "VER-02.yaml", "variables": {"CHECKLIST_ROOT": "/"}}
        )
        assert result.is_error
        answer = await called(client, "run_status", run="--help")
        assert answer["exit_code"] == 2 and "no run" in answer["errors"]


def test_without_the_extra_one_line_says_what_to_install(folder: Path) -> None:
    program = "import sys; sys.modules['mcp.server'] = None; from transom.cli import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{program}sys.exit(main(['mcp']))"],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "the extra `mcp` is not installed" in done.stderr and "Traceback" not in done.stderr
