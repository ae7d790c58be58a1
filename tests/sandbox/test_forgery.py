"""Code that has the worker in its hands: it can lie about its own text, and that is all that it
can do.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from transom.errors import AtomFailed
from transom.sandbox import Level, Sandbox, WorkerLimits

from .running import HONEST, NAME

_LIMITS = WorkerLimits(wall_seconds=2, text_bytes=1 << 20, stderr_bytes=1 << 14)
# Finds the parts of the child by walking up the frames, as any code could.
_REACH = """
import re
os = re.enum.sys.modules["os"]
json = re.enum.sys.modules["json"]
def host():
    frame = re.enum.sys._getframe()
    while frame is not None:
        found = frame.f_locals.get("self")
        if hasattr(found, "channel"):
            return found
        frame = frame.f_back
def frame_of(call_id, value):
    data = json.dumps({"id": call_id, "ok": True, "value": value}).encode()
    return len(data).to_bytes(4, "big") + data
"""
_NEXT = (
    _REACH
    + """
def extract_context(text, source_file):
    mine = host().channel.id
    for guess in (mine, None, "", 0, "0" * 16, "*"):
        os.write(4, frame_of(guess, ["forged"]))
    return ["true"]
"""
)
_TWICE = (
    _REACH
    + """
def extract_context(text, source_file):
    os.write(4, frame_of(host().channel.id, ["forged"]))
    return ["true"]
"""
)


def test_an_answer_written_beforehand_answers_no_later_call(level: Level) -> None:
    async def go() -> None:
        async with Sandbox(_LIMITS, level).worker(_NEXT) as worker:
            # its own answer is its own
            assert await worker.call(NAME, {"text": "", "source_file": ""}) == ["forged"]
            with pytest.raises(AtomFailed, match="does not answer the call") as failed:
                await worker.call(NAME, {"text": "", "source_file": ""})
            assert failed.value.kind == "schema"

    asyncio.run(go())


def test_a_second_answer_is_noticed_even_behind_the_last_call(level: Level) -> None:
    async def go() -> None:
        async with Sandbox(_LIMITS, level).worker(_TWICE) as worker:
            assert await worker.call(NAME, {"text": "", "source_file": ""}) == ["forged"]

    with pytest.raises(AtomFailed, match="does not answer the call"):
        asyncio.run(go())


@pytest.mark.parametrize(
    "length",
    [b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\x04\x00\x00\x00"],
    ids=["most", "none", "64 MiB"],
)
def test_a_forged_length_is_no_reason_to_wait_or_to_fill_the_memory(
    length: bytes, level: Level
) -> None:
    code = f"{_REACH}\ndef {NAME}(text, source_file):\n    os.write(4, {length!r})\n    return []"

    async def go() -> None:
        async with Sandbox(WorkerLimits(wall_seconds=0.5), level).worker(code) as worker:
            await worker.call(NAME, {"text": "", "source_file": ""})

    with pytest.raises(AtomFailed) as failed:
        asyncio.run(go())
    assert failed.value.kind in ("output", "schema", "timeout")


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [
        "[[]] * 5_000_000",
        "[1.5] * 5_000_000",
        "[' '] * 5_000_000",
        "deep(900)",
        "deep(40)",
        "['\\ud800']",
        "[{'\\udc80': 1}]",
    ],
)
def test_a_value_that_would_make_the_parent_swell_or_stumble_is_refused(
    value: str, level: Level
) -> None:
    """Checked before it is looked at: validating millions of wrong values took gigabytes."""
    code = (
        f"def deep(n):\n    d = []\n    for _ in range(n): d = [d]\n    return d\n"
        f"def {NAME}(text, source_file):\n    return {value}"
    )

    async def go() -> None:
        async with Sandbox(WorkerLimits(wall_seconds=20), level).worker(code) as worker:
            await worker.call(NAME, {"text": "", "source_file": ""})

    with pytest.raises(AtomFailed, match="cannot be read") as failed:
        asyncio.run(go())
    assert failed.value.kind == "schema"


@pytest.mark.slow
def test_a_poisoned_worker_poisons_no_other(level: Level) -> None:
    poison = """
import re
bltns, json = re.enum.bltns, re.enum.sys.modules["json"]
def extract_context(text, source_file):
    json.dumps = lambda *a, **k: '{"ok": true}'
    re.search = None
    bltns.len = lambda x: 666
    return [len(text)]
"""

    async def go() -> None:
        async with Sandbox(_LIMITS, level).worker(poison) as worker:
            with pytest.raises(AtomFailed):
                await worker.call(NAME, {"text": "four", "source_file": ""})
        async with Sandbox(_LIMITS, level).worker(HONEST) as worker:
            assert await worker.call(NAME, {"text": "four", "source_file": ""}) == [4]

    asyncio.run(go())


def test_nothing_of_the_parent_is_told(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its environment nor its command line nor its folder; an open descriptor is not
    handed down.
    """
    monkeypatch.setenv("TRANSOM_SECRET", "here")
    held, other = os.pipe()
    os.set_inheritable(held, True)
    code = (
        _REACH
        + f"""
def {NAME}(text, source_file):
    sys = re.enum.sys
    try:
        os.read({held}, 1)
    except OSError as error:
        return [dict(os.environ), sys.argv, sys.orig_argv, sys.executable, sys.path, error.errno]
"""
    )

    async def go() -> object:
        async with Sandbox(_LIMITS, level).worker(code) as worker:
            return await worker.call(NAME, {"text": "", "source_file": ""})

    assert asyncio.run(go()) == [{}, [], [], "", [], 1]
    os.close(held)
    os.close(other)
