"""A stand-in for the MCP server of Graphiti: its tools, without a graph and without a model.

It stores episodes in a file, and lists one a moment later, as the real one does, which puts them
into a queue. Each sentence of an episode is a fact, which is found by its words.

    python -m tests.memory.graphiti_server FILE PORT
"""

from __future__ import annotations

import json
import re
import sys
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

DELAY = 0.05  # seconds until an episode is listed


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def build(file: Path) -> MCPServer:
    """Return the server, whose episodes are in a file."""
    server = MCPServer("graphiti")

    def stored() -> list[dict[str, Any]]:
        return json.loads(file.read_text("utf-8")) if file.exists() else []

    def listed(groups: list[str] | None) -> list[dict[str, Any]]:
        return [
            item
            for item in stored()
            if item["listed_from"] <= time.time() and item["group_id"] in (groups or ["main"])
        ]

    @server.tool()
    def add_memory(
        name: str,
        episode_body: str,
        group_id: str | None = None,
        source: str = "text",
        source_description: str = "",
    ) -> dict[str, Any]:
        episode = {
            "uuid": str(uuid.uuid4()),
            "name": name,
            "content": episode_body,
            "group_id": group_id or "main",
            "source": source,
            "source_description": source_description,
            "created_at": datetime.now(UTC).isoformat(),
            "listed_from": time.time() + DELAY,
        }
        file.write_text(json.dumps([*stored(), episode]), "utf-8")
        return {"message": f"Episode '{name}' queued for processing"}

    @server.tool()
    def get_episodes(group_ids: list[str] | None = None, max_episodes: int = 10) -> dict[str, Any]:
        newest = sorted(listed(group_ids), key=lambda item: item["created_at"], reverse=True)
        hidden = {"listed_from"}
        episodes = [
            {key: value for key, value in item.items() if key not in hidden}
            for item in newest[:max_episodes]
        ]
        return {"message": "Episodes retrieved successfully", "episodes": episodes}

    @server.tool()
    def search_memory_facts(
        query: str,
        group_ids: list[str] | None = None,
        max_facts: int = 10,
        center_node_uuid: str | None = None,
    ) -> dict[str, Any]:
        if max_facts <= 0:
            return {"error": "max_facts must be a positive integer"}
        found = []
        for item in listed(group_ids):
            for number, sentence in enumerate(re.split(r"(?<=[.!?])\s+", item["content"])):
                shared = len(words(sentence) & words(query))
                if shared:
                    fact = {
                        "uuid": f"{item['uuid']}-{number}",
                        "fact": sentence,
                        "episodes": [item["uuid"]],
                        "created_at": item["created_at"],
                    }
                    found.append((-shared, item["created_at"], fact))
        found.sort(key=lambda row: row[:2])
        return {"message": "Facts retrieved", "facts": [row[2] for row in found[:max_facts]]}

    @server.tool()
    def delete_episode(uuid: str) -> dict[str, Any]:
        remaining = [item for item in stored() if item["uuid"] != uuid]
        if len(remaining) == len(stored()):
            return {"error": f"node {uuid} not found"}
        file.write_text(json.dumps(remaining), "utf-8")
        return {"message": f"Episode with UUID {uuid} deleted successfully"}

    return server


if __name__ == "__main__":
    build(Path(sys.argv[1])).run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
