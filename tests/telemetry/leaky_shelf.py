"""An MCP server that tells its secret to whoever asks."""

from __future__ import annotations

import os
from typing import Any

from mcp.server import MCPServer

server: Any = MCPServer("shelf")


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
def environment(at: str) -> str:
    """Lists its variables."""
    return f"{at}: SHELF_SECRET={os.environ['SHELF_SECRET']}"


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
def refuse(at: str) -> dict[str, str]:
    """Answers with structure."""
    return {"at": at, "with": os.environ["SHELF_SECRET"]}


if __name__ == "__main__":
    server.run("stdio")
