"""The sandbox of an external agent: what it sees, what it may change, and what outlives it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.stories.projects import git, write
from tests.stories.test_agents import world
from tests.stories.worlds import World
from transom.config.story_sections import AgentSandbox
from transom.sandbox import Level, needs

pytestmark = pytest.mark.skipif(bool(needs(Level.L3)), reason="this machine has no namespaces")


def shut_in(folder: Path, script: str, **sandbox: object) -> World:
    at = world(folder, f"test $TRANSOM_ROLE != dev || {{ {script}; }}")
    # The program and the replies lie in a home that the sandbox hides.
    paths = (folder / "agent.sh", Path(__file__).resolve().parents[2] / "examples")
    at.sandbox = AgentSandbox.model_validate(
        {"readable": paths, "writable": (folder / "calls.txt",), **sandbox}
    )
    write(folder, "calls.txt", "")
    return at


@pytest.mark.fence
@pytest.mark.slow
async def test_an_agent_in_the_sandbox_does_its_work_and_sees_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    write(home, "secret", "key")
    write(home, "login", "name\n")
    monkeypatch.setenv("HOME", str(home))
    seen = tmp_path / "seen"
    write(tmp_path, "seen", "")
    probes = (
        f"{{ cat {home}/secret || echo hidden; cat {home}/login; echo x > {home}/login || echo kept;"
        f" echo x > {tmp_path}/project/till/prices.py || echo safe;"
        f" git update-ref refs/heads/mine HEAD || echo unmoved; }} > {seen} 2>/dev/null"
    )
    readable = (
        tmp_path / "agent.sh",
        home / "login",
        tmp_path / "project",
        Path(__file__).resolve().parents[2] / "examples",
    )
    at = shut_in(tmp_path, probes, readable=readable, writable=(tmp_path / "calls.txt", seen))
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story.reason
    assert seen.read_text().split() == ["hidden", "name", "kept", "safe", "unmoved"]
    assert (home / "login").read_text() == "name\n"
    assert "mine" not in git(at.project, "branch")


@pytest.mark.fence
@pytest.mark.slow
async def test_a_child_in_a_session_of_its_own_ends_with_the_sandbox(tmp_path: Path) -> None:
    mark = f"TRANSOM_TEST_MARK={tmp_path.name}{os.getpid()}"
    # The mark that processes are found by is not in its environment.
    child = f"setsid env -i {mark} sh -c 'trap \"\" TERM HUP; sleep 97' &"
    at = shut_in(tmp_path, f"{child} sleep 1")
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story.reason
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            assert mark.encode() not in (entry / "environ").read_bytes()
        except OSError:
            continue


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("network", [True, False])
async def test_the_network_is_there_or_not(tmp_path: Path, network: bool) -> None:
    write(tmp_path, "links", "")
    at = shut_in(
        tmp_path,
        f"cat /proc/net/dev > {tmp_path}/links",
        network=network,
        writable=(tmp_path / "calls.txt", tmp_path / "links"),
    )
    (story,) = (await at.go("story-1")).stories
    assert story.status == "done", story.reason
    shown = interfaces((tmp_path / "links").read_text())
    assert shown == (interfaces(Path("/proc/net/dev").read_text()) if network else {"lo"})


def interfaces(text: str) -> set[str]:
    return {line.partition(":")[0].strip() for line in text.splitlines() if ":" in line}
