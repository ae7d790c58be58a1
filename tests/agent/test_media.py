"""Images and PDF files in blocks: read, sent in each vendor's form, kept once, shown by kind and
size.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.agent.helpers import asks, look, resumed, tool
from tests.llm.conformance.dialects import DIALECTS, Dialect
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom import Agent, Home, Role
from transom.cli import main
from transom.config import HostedSettings, OpenAISettings
from transom.errors import EgressError, InputError, ProviderError, RequestRefused
from transom.llm import Block, Capabilities, Chain, Media, Request, ScriptedProvider, Text, Tier
from transom.llm.hosted.connecting import connect
from transom.llm.hosted.models import known_model
from transom.llm.shapes import Window
from transom.runs.windows import blobs_of
from transom.store import Store, open_store


def png(width: int = 3, height: int = 2) -> bytes:
    """A real image, of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    rows = b"".join(b"\0" + b"\x80\x20\x10" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
SEEING = Role("t.eye", "You look at images.", sees=["role", "scan", "sheet"])


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    path = tmp_path / "scan.png"
    path.write_bytes(png())
    return path


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sheet.pdf"
    path.write_bytes(PDF)
    return path


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(), "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF89a\x01\x00", "image/gif"),
        (b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
        (PDF, "application/pdf"),
    ],
)
def test_a_file_is_known_by_its_bytes_and_not_by_its_name(
    tmp_path: Path, data: bytes, media_type: str
) -> None:
    path = tmp_path / "report.txt"
    path.write_bytes(data)
    block = Block.file("scan", path)
    assert block.media is not None
    assert block.media == Media.of(data)
    assert (block.media.media_type, block.media.size, block.media.data) == (
        media_type,
        len(data),
        data,
    )
    assert block.text == f"[{media_type}, {len(data):,} bytes, sha256 {block.media.sha256[:16]}]"
    assert block.trust == "untrusted"


def test_a_text_file_becomes_text_whatever_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    path.write_text("größer\n", encoding="utf-8")
    block = Block.file("notes", path, tier=Tier.STABLE)
    assert (block.text, block.media) == ("größer\n", None)
    assert "media" not in block.to_json()


@pytest.mark.parametrize(
    "data", [b"\x00\x01\xff\xfe", b"RIFF\x00\x00\x00\x00WAVE\xff", b"\xff\xd8"]
)
def test_another_kind_of_file_is_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "sound.png"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"sound\.png: it is no PNG, JPEG, GIF, WebP or PDF file"):
        Block.file("scan", path)


def test_a_missing_file_and_a_huge_one_are_one_error_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.png: it cannot be read: No such file"):
        Block.file("scan", tmp_path / "gone.png")
    with pytest.raises(InputError, match="it has 20,000,001 bytes, and a model takes at most 20,0"):
        Media.of(png() + b"\0" * (20_000_001 - len(png())))


def test_a_stable_block_holds_no_image(scan: Path) -> None:
    with pytest.raises(InputError, match="Block 'scan': media cannot stand in a stable block"):
        Block.file("scan", scan, tier=Tier.STABLE)


def _connected(dialect: Dialect, url: str) -> Any:
    sees: dict[str, Any] = {"images": True, "files": dialect.name != "ollama"}
    settings: HostedSettings
    if dialect.name == "openai":
        settings = OpenAISettings(base_url=f"{url}/v1", **sees)
    elif dialect.name == "ollama":
        settings = HostedSettings(base_url=url, **sees)
    else:
        settings = HostedSettings(base_url=url, **sees)
    environ = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    return connect(f"{dialect.name}:m", settings, stream=False, environ=environ)


def _images_on_the_wire(name: str, body: Any) -> list[bytes]:
    """The images and files of a request as the vendor would decode them."""
    encoded: list[str] = []
    for message in body["messages"]:
        encoded += message.get("images", [])
        if isinstance(message["content"], str):
            continue
        for part in message["content"]:
            match part:
                case {"type": "image" | "document", "source": {"type": "base64", "data": data}}:
                    assert part["source"]["media_type"] in ("image/png", "application/pdf")
                    encoded.append(data)
                case {"type": "image_url", "image_url": {"url": url}}:
                    encoded.append(url.removeprefix("data:image/png;base64,"))
                case {"type": "file", "file": {"filename": "sheet.pdf", "file_data": url}}:
                    encoded.append(url.removeprefix("data:application/pdf;base64,"))
    assert name in ("anthropic", "openai", "ollama")
    return [base64.b64decode(text, validate=True) for text in encoded]


@pytest.mark.parametrize("tier", [Tier.SESSION, Tier.TURN])
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_each_vendor_receives_the_bytes_through_its_own_sdk(
    dialect: Dialect, tier: Tier, scan: Path, sheet: Path
) -> None:
    def answer(wire: Wire, _: Seen) -> None:
        wire.answer(200, json.dumps(dialect.whole((Text("a red square"),))).encode())

    blocks = [Block.file("scan", scan, tier=tier)]
    if dialect.name != "ollama":
        blocks.append(Block.file("sheet", sheet, tier=tier))
    with LocalServer(answer) as server:
        provider = _connected(dialect, server.url)
        async with Agent(SEEING, provider=provider, tools=[tool()]) as agent:
            assert (await agent.send("What is on it?", *blocks)).text == "a red square"
        (seen,) = server.seen
    expected = [png(), PDF][: len(blocks)]
    assert _images_on_the_wire(dialect.name, seen.body) == expected
    # The words that name the image stand in the request, too, fenced as data from outside.
    assert "[image/png, " in json.dumps(seen.body)


async def test_a_provider_that_takes_no_images_refuses_in_one_line(scan: Path) -> None:
    blind = ScriptedProvider({"t.eye": ["no"]}, name="blind", caps=Capabilities())
    able = ScriptedProvider({"t.eye": ["a square"]}, name="able")
    request = Request("t.eye", Window((*SEEING.prompt, Block.file("scan", scan))))
    refused = (
        r"^blind: it takes no images, and block scan is \[image/png, \d+ bytes, sha256 [0-9a-f]+\];"
        r" choose another model, or state that yours takes images"
    )
    with pytest.raises(RequestRefused, match=refused):
        await Chain((blind,)).answer(request)
    assert blind.requests == []
    assert (await Chain((blind, able)).answer(request)).by == "able"


async def test_a_provider_of_images_alone_takes_no_files(sheet: Path) -> None:
    eye = ScriptedProvider({"t.eye": ["no"]}, name="eye", caps=Capabilities(images=True))
    request = Request("t.eye", Window((*SEEING.prompt, Block.file("sheet", sheet))))
    with pytest.raises(RequestRefused, match="eye: it takes no files, and block sheet is"):
        await Chain((eye,)).answer(request)


def test_settings_say_what_an_unknown_model_takes() -> None:
    plain = known_model("other", "m")
    assert (plain.images, plain.files) == (False, False)
    seeing = known_model("other", "m", images=True, files=False)
    assert (seeing.images, seeing.files) == (True, False)
    assert known_model("openai", "gpt-4.1").images
    assert not known_model("openai", "gpt-3.5-turbo").images
    assert not known_model("openai", "o3-mini").images
    assert known_model("openai", "o3").images


async def test_a_local_image_never_reaches_a_remote_provider(scan: Path) -> None:
    far = ScriptedProvider({"t.eye": ["no"]}, name="far", local=False)
    block = Block.file("scan", scan, egress="local")
    request = Request("t.eye", Window((*SEEING.prompt, block)))
    with pytest.raises(EgressError, match="block scan is marked local"):
        await Chain((far,)).answer(request)
    assert far.requests == []


def _blobs(store: Store, run_id: str) -> tuple[str, int]:
    """The records of a run as text, and how often its image is named in them."""
    records = json.dumps([record.data for record in store.read(f"run/{run_id}")])
    return records, records.count(Media.of(png()).sha256)


async def test_an_image_is_kept_once_and_by_reference_and_sent_again_after_a_kill(
    tmp_path: Path, scan: Path
) -> None:
    home = Home(tmp_path, "eye")
    first = ScriptedProvider({"t.eye": ["one", asks(look("a")), ProviderError("the power went")]})
    async with Agent(SEEING, provider=first, tools=[tool()], at=home) as agent:
        await agent.send("What is on it?", Block.file("scan", scan))
        with pytest.raises(ProviderError, match="the power went"):
            await agent.send("And its colour?", Block.file("scan", scan))
        run_id = agent.context().run_id
    # Whoever goes on later may not have the file any more.
    scan.unlink()
    received: list[bytes] = []

    def answer(request: Request) -> str:
        media = request.window.get("scan").media
        assert media is not None
        received.append(media.data)
        return "red"

    second = ScriptedProvider({"t.eye": [answer]})
    async with Agent(SEEING, provider=second, tools=[tool()], at=home) as agent:
        assert (await resumed(agent)).text == "red"
    assert received == [png()]
    assert second.requests[0].window == first.requests[-1].window
    async with open_store(tmp_path / "state.db") as store:
        assert run_id is not None
        records, count = _blobs(store, run_id)
        digest = Media.of(png()).sha256
        assert store.get_blob(digest) == png()
        # `runs clean` keeps what the records of a run name.
        for record in store.read(f"run/{run_id}"):
            if record.kind == "user_message":
                assert digest in blobs_of(record.kind, record.data)
    assert base64.b64encode(png()).decode() not in records
    assert count == 2  # each message names it


def test_windows_and_traces_show_its_kind_and_size(
    tmp_path: Path, scan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> str:
        provider = ScriptedProvider({"t.eye": ["red"]})
        async with Agent(SEEING, provider=provider, at=Home(tmp_path / ".transom", "eye")) as agent:
            await agent.send("Which colour?", Block.file("scan", scan))
            return str(agent.context().run_id)

    run_id = asyncio.run(asked())
    monkeypatch.chdir(tmp_path)
    shown = f"[image/png, {len(png())} bytes, sha256 {Media.of(png()).sha256[:16]}]"
    assert main(["window", "show", run_id]) == 0
    assert f"images and files: scan {shown}" in capsys.readouterr().out
    assert main(["window", "show", run_id, "--call", "1"]) == 0
    assert shown in capsys.readouterr().out
    assert main(["window", "show", run_id, "--format", "json"]) == 0
    (call,) = json.loads(capsys.readouterr().out)["calls"]
    (block,) = [block for block in call["blocks"] if block["name"] == "scan"]
    assert block["media"] == Media.of(png()).to_json()
    assert block["tokens"] >= 1_600
    assert main(["trace", "show", run_id, "--format", "json"]) == 0
    assert f'"image/png {len(png())}"' in capsys.readouterr().out
