"""What is installed, what works here, what has no effect."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from transom import __version__
from transom.cli import doctor as doctor_module
from transom.cli import main
from transom.sandbox import Level, Probe, probe


def doctor(capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    main(["doctor", "--format", "json", *args])
    return json.loads(capsys.readouterr().out)


def test_what_it_finds(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = doctor(capsys)
    assert document["schema"] == "transom.doctor/1"
    assert document["versions"]["transom"] == __version__
    assert document["sandbox"]["level"] == probe().level.value
    assert document["workspace"]["path"] == str(here / ".transom")
    assert document["workspace"]["exists"] is False
    assert {one["name"]: one["answers"] for one in document["providers"]} == {
        "rules": True,
        "replay": True,
        "anthropic": False,
        "openai": False,
        "ollama": None,
    }
    assert {one["name"] for one in document["tools"]} >= {"yosys", "sta"}
    main(["doctor"])
    text = capsys.readouterr().out
    for heading in ("versions", "sandbox", "workspace", "providers", "tools", "settings"):
        assert f"\n{heading}" in f"\n{text}"
    assert "\n  exists      no\n" in text
    assert list(here.iterdir()) == []


def test_a_network_file_system_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_module, "is_network", lambda path: True)
    monkeypatch.setattr(doctor_module, "filesystem_of", lambda path: "nfs4")
    (here / ".transom").mkdir()
    found = doctor(capsys)["workspace"]
    assert (found["network"], found["filesystem"], "state_dir" in found["note"]) == (
        True,
        "nfs4",
        True,
    )


def test_no_sandbox_is_the_answer_no(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        doctor_module, "probe", lambda: Probe(Level.NONE, ((Level.L1, "no seccomp here"),))
    )
    assert main(["doctor"]) == 1
    assert "L1 no seccomp here" in capsys.readouterr().out
    monkeypatch.setattr(
        doctor_module, "probe", lambda: Probe(Level.L2, ((Level.L3, "no bubblewrap"),))
    )
    assert main(["doctor"]) == 0
    monkeypatch.setenv("TRANSOM_SANDBOX__LEVEL", "L3")
    assert main(["doctor"]) == 1
    assert re.search("wanted +L3", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["rules", "replay:calls.json", "ollama", "nobody:NAME"])
def test_only_a_server_can_be_asked(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--provider", name]) == 2
    said = (
        f"transom: --provider: {name!r} has no server that could be asked; name one as"
        " anthropic:NAME, openai:NAME"
    )
    assert capsys.readouterr().err.startswith(said)
