"""A small MCP server for tests: `stdio`, or `http PORT`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server: Any = MCPServer("shelf")


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
def look(at: str, lines: int = 3) -> str:
    """Looks something up."""
    return f"saw {at} in {lines} lines"


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
def fail(at: str) -> str:
    """Always fails."""
    raise ValueError(f"no {at} here")


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
async def hang(at: str | None = None) -> str:
    """Says its process, and never answers."""
    Path(os.environ["MCP_TEST_PID"]).write_text(str(os.getpid()))
    await asyncio.sleep(60)
    return str(at)


def shown(ctx: Context) -> str:
    """Says what it was shown."""
    return f"as {ctx.headers}"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.tool()(shown)
        server.run("streamable-http", port=int(sys.argv[2]))
