"""An MCP server over stdio that starts again only when it is let: `python mcp_slow_server.py
FOLDER`.

Each start adds a line with its process to FOLDER/starts; all but the first wait for FOLDER/gate.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

folder = Path(sys.argv[1])
with (folder / "starts").open("a") as starts:
    starts.write(f"{os.getpid()}\n")
while len((folder / "starts").read_text().splitlines()) > 1 and not (folder / "gate").exists():
    time.sleep(0.02)

from mcp.server import MCPServer  # noqa: E402  it takes its time

server: Any = MCPServer("slow")


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
def die() -> str:
    """Ends the server."""
    os._exit(1)


@server.tool()  # type: ignore[untyped-decorator]  # as mcp has it
def hello() -> str:
    """Says hello."""
    return "hello"


server.run("stdio")
