"""An MCP server over stdio that is odd in one way: `python mcp_odd_server.py WAY`."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from typing import Any

NAMES = {
    "clash": ["read.file", "read_file"],
    "long": ["a" * 64 + "b", "a" * 64 + "c"],
    "remote": ["good", "far"],
    "endless": ["good"],
    "late": ["good"],
    "tells": ["good"],
    "parts": ["good"],
}
KEY = os.environ.get("ODD_TOKEN", "")
TELLS: dict[str, Any] = {
    "type": "object",
    "properties": {"as": {"enum": [KEY, "me"], "default": KEY, "description": f"{KEY} is mine"}},
    "not": {"const": KEY},
}
ANY = {"type": "object", "anyOf": [{}]}
FAR = {"type": "object", "properties": {"at": {"$ref": "https://127.0.0.1:9/x.json"}}}


async def serve(way: str) -> None:
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    cursors = itertools.count(1)

    async def listed(ctx: Any, params: Any) -> Any:
        if way == "late":
            await asyncio.sleep(600)
        tools = [
            types.Tool(
                name=name,
                description=f"Shows {KEY}." if KEY else None,
                input_schema=FAR if name == "far" else TELLS if way == "tells" else ANY,
            )
            for name in NAMES[way]
        ]
        more = str(next(cursors)) if way == "endless" else None
        return types.ListToolsResult(tools=tools, next_cursor=more)

    async def called(ctx: Any, params: Any) -> Any:
        page = types.TextResourceContents(uri="repo://main/a.py", text="print('inside')")
        picture = types.BlobResourceContents(
            uri="repo://main/a.png", blob="aGk=", mime_type="image/png"
        )
        return types.CallToolResult(
            content=[
                types.TextContent(type="text", text="two files"),
                types.EmbeddedResource(type="resource", resource=page),
                types.EmbeddedResource(type="resource", resource=picture),
                types.ResourceLink(
                    type="resource_link", uri="repo://main/b.py", name="b", description="The rest."
                ),
                types.ImageContent(type="image", data="aGk=", mime_type="image/png"),
            ]
        )

    server: Any = Server("odd", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "silent":
        sys.stdout.write("hello\n")
        sys.stdout.flush()
        time.sleep(600)
    else:
        asyncio.run(serve(sys.argv[1]))
