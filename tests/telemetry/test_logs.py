from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transom.canonical import Json
from transom.errors import InputError, SettingsError
from transom.telemetry import Redactor, Telemetry, configure

LOG = logging.getLogger("transom.some.room")


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_plain_lines_for_people_and_json_lines_for_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "logs" / "transom.jsonl"
    configure("info", path)
    LOG.debug("not shown")
    LOG.info("read %d files", 3)
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("stage") as span:
        LOG.warning("slow")
    captured = capsys.readouterr()
    assert captured.err == "info: read 3 files\nwarning: slow\n"
    assert captured.out == ""
    info, warning = lines(path)
    assert (info["level"], info["logger"], info["message"]) == (
        "info",
        "transom.some.room",
        "read 3 files",
    )
    assert "trace_id" not in info
    assert (warning["trace_id"], warning["span_id"]) == (telemetry.trace_id, span.span_id)
    assert info["at"] < warning["at"]
    assert info["at"].endswith("Z")


def test_a_traceback_is_for_the_file_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(logging.INFO, tmp_path / "log")
    try:
        raise ValueError("boom")
    except ValueError:
        LOG.exception("it failed")
    assert capsys.readouterr().err == "error: it failed (ValueError: boom)\n"
    (line,) = lines(tmp_path / "log")
    assert line["error"].startswith("Traceback")
    assert line["error"].endswith("ValueError: boom")


def test_secrets_stay_out_of_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_PASSWORD", 'p"ss\\wörd')
    configure("info", tmp_path / "log")
    LOG.info("as %s with %s", 'p"ss\\wörd', "sk-proj-0123456789abcdef")
    try:
        raise ValueError('p"ss\\wörd')
    except ValueError:
        LOG.exception("failed")
    assert "as [redacted] with [redacted]\n" in capsys.readouterr().err
    first, second = lines(tmp_path / "log")
    assert first["message"] == "as [redacted] with [redacted]"
    assert second["error"].endswith("ValueError: [redacted]")


def test_configured_again_it_starts_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("debug", tmp_path / "one")
    configure("warning")
    LOG.info("dropped")
    LOG.warning("once")
    assert capsys.readouterr().err == "warning: once\n"
    assert (tmp_path / "one").read_text() == ""
    assert logging.getLogger().handlers == [] or all(
        type(handler).__module__ != "transom.telemetry.logs"
        for handler in logging.getLogger().handlers
    )


def test_odd_text_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest-xdist cannot send such a report
    monkeypatch.setattr(logging.getLogger("transom"), "propagate", False)
    configure("info", tmp_path / "log")
    LOG.info("line\nbreak \0 \udc80 漢")
    assert [line["message"] for line in lines(tmp_path / "log")] == ["line\nbreak \0 \udc80 漢"]


def test_a_full_disk_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.symlink_to("/dev/full")
    configure("info", path)
    LOG.info("one")
    LOG.info("two")
    assert (
        capsys.readouterr().err
        == f"info: one\n{path}: the log has gaps from here on ([Errno 28] No space left on"
        " device)\ninfo: two\n"
    )
    handler = logging.getLogger("transom").handlers[1]
    assert isinstance(handler, logging.FileHandler)
    assert handler.stream
    # what is buffered must go somewhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), handler.stream.fileno())


def test_bad_settings_are_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="unknown log level 'loud'"):
        configure("loud")
    with pytest.raises(InputError, match=r"the log cannot be written \(Is a directory\)") as caught:
        configure("info", tmp_path)
    assert caught.value.place == str(tmp_path)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key=abcdefgh!", "key=[redacted]!"),
        ("abcdefgh-and-more", "[redacted]"),
        ("token TTTTTTTT, secret.*SECRET", "token [redacted], [redacted]"),
        ("bare PPPPPPPP", "bare [redacted]"),
        ("sk-ant-api03-0123456789abcdef_x", "[redacted]"),
        ("risk-0123456789abcdef01", "risk-0123456789abcdef01"),
        ("sk-short", "sk-short"),
        ("short value 1, harmless PATHPATH", "short value 1, harmless PATHPATH"),
    ],
)
def test_what_is_a_secret(text: str, clean: str) -> None:
    redact = Redactor(
        {
            "A_KEY": "abcdefgh",
            "B_KEY": "abcdefgh-and-more",
            "C_TOKEN": "TTTTTTTT",
            "d_secret": "secret.*SECRET",
            "PASSWORD": "PPPPPPPP",
            "E_KEY": "1",
            "MONKEY": "harmless",
            "KEY_PATH": "PATHPATH",
        }
    )
    assert redact(text) == clean


def test_secrets_that_no_name_tells_and_values_within_values() -> None:
    redact = Redactor({"CRED": "hidden-in-plain"}, ["hidden-in-plain", "short"])
    assert redact("it is hidden-in-plain, short") == "it is [redacted], short"
    value: Json = {"hidden-in-plain": ["x hidden-in-plain", 1, None, {"k": "sk-0123456789abcdef"}]}
    assert redact.inside(value) == {"[redacted]": ["x [redacted]", 1, None, {"k": "[redacted]"}]}
    assert [redact.finds(text) for text in ("hidden-in-plain", "nothing", "sk-")] == [
        True,
        False,
        True,
    ]


PROGRAM = """
import asyncio, logging, sys
from transom import Agent, Block, Role, Tier, TransomError
from transom.testing import ScriptedProvider

async def main():
    role = Role("p.seat", (Block("role", "You.", Tier.STABLE),), frozenset({"role"}), output={"type": "integer"})
    async with Agent(role, provider=ScriptedProvider({"p.seat": ["one", "two"]})) as agent:
        try:
            await agent.send("go")
        except TransomError as error:
            print(type(error).__name__)

if sys.argv[1] == "loud":
    logging.basicConfig(format="%(levelname)s %(name)s")
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "said"), [("quiet", ""), ("loud", "ERROR transom.runs.observe\n")])
def test_a_library_shows_its_logs_where_its_program_says_so_only(how: str, said: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ReplyError\n", said)
