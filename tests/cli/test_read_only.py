"""A workspace that may only be read: an archive, a build's artifact, a colleague's folder."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.helpers import clean_environment, walked
from tests.read_only import contents, read_only
from transom.learning import InsightCategory, Playbook
from transom.memory import SqliteMemory, find_embedder
from transom.telemetry import keys, read_trace

pytestmark = pytest.mark.sqlite  # what protects a folder leaves a server's database writable

WAYS = ("mount", "permissions")

READING = (
    "runs list",
    "runs show RUN",
    "window show RUN",
    "window show RUN --call 1",
    "trace list",
    "trace show RUN",
    "trace stats",
    "waiting",
    "doctor",
    "playbook list",
    "playbook show str-00001",
    "playbook search meshes",
    "playbook context meshes",
    "playbook stats",
    "playbook export",
    "playbook review",
    "memory search gateway",
    "memory neighbours checkout",
    "learning report",
    "session show",
    "session context",
    "cache stats",
    "runs clean --dry-run",
    "eval history nothing",
)
WRITING = (
    "playbook add str one-more",
    "playbook feedback str-00001 --helpful",
    "playbook retire str-00001",
    "memory add text",
    "answer RUN keep",
    "runs clean --older-than 1m",
    "session open debug_error",
    "session note --action tried",
    "eval run SUITE",
)


GIVE = """
import io, json, sys
from transom.cli import main

answers, streams = [], (sys.stdout, sys.stderr)
for line in json.load(sys.stdin):
    sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    code = main(line)
    sys.stdout.flush()
    answers.append([code, sys.stdout.buffer.getvalue().decode(), sys.stderr.getvalue()])
streams[0].write(json.dumps(answers))
"""


async def filled(folder: Path) -> str:
    """Fill the workspace in `folder` with one run, one insight and one memory; the run's id."""
    _, run = await asyncio.to_thread(walked, folder)
    database = folder / ".transom" / "state.db"
    # Where embeddings are installed, a search gives a vector to each text that has none yet.
    embedder = find_embedder()
    with Playbook(database, embedder=embedder) as playbook:
        playbook.add_insight(InsightCategory.STRATEGY, "Refine meshes at the fillet")
    async with SqliteMemory.open(database, embedder=embedder) as memory:
        await memory.store("checkout waits for the gateway", key="checkout")
    return run


@pytest.fixture(params=WAYS)
def protected(
    here: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Path, str, Sequence[str]]]:
    """A workspace that may only be read, its run, and the beginning of command lines."""
    run = asyncio.run(filled(here))
    with read_only(here, request.param) as beginning:
        yield here, run, beginning


def all_said(
    beginning: Sequence[str], folder: Path, lines: Sequence[Sequence[str]]
) -> list[tuple[int, str, str]]:
    """Give command lines, all in one process to save its start; exit code, stdout and stderr."""
    done = subprocess.run(
        [*beginning, sys.executable, "-c", GIVE],
        cwd=folder,
        env=clean_environment(),
        input=json.dumps(lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


@pytest.mark.slow
@pytest.mark.fence
def test_every_command_that_only_looks_works(
    protected: tuple[Path, str, Sequence[str]],
) -> None:
    folder, run, beginning = protected
    before = contents(folder)
    outputs = {}
    given = [line.replace("RUN", run).split() for line in READING]
    for line, (code, out, err) in zip(READING, all_said(beginning, folder, given), strict=True):
        assert (code, err) == (0, ""), line
        outputs[line] = out
    assert contents(folder) == before
    assert run in outputs["runs list"] and run in outputs["trace list"]
    assert "status      done" in outputs["runs show RUN"]
    assert "call 2" in outputs["window show RUN"]
    for line in ("list", "show str-00001", "search meshes", "context meshes", "export"):
        assert "Refine meshes at the fillet" in outputs[f"playbook {line}"], line
    assert "checkout waits for the gateway" in outputs["memory search gateway"]
    assert outputs["waiting"] == "nothing waits for a person\n"
    assert "it is younger" in outputs["runs clean --dry-run"]


@pytest.mark.slow
@pytest.mark.fence
def test_a_command_that_would_write_says_so_in_one_line(
    protected: tuple[Path, str, Sequence[str]], root: Path
) -> None:
    folder, run, beginning = protected
    before = contents(folder)
    suite = str(root / "examples" / "evals" / "checklist")
    given = [line.replace("RUN", run).replace("SUITE", suite).split() for line in WRITING]
    for line, (code, out, err) in zip(WRITING, all_said(beginning, folder, given), strict=True):
        assert (code, out, err.count("\n")) == (2, "", 1), line
        assert err.startswith("transom: ") and "the workspace is read-only; " in err, (line, err)
    assert contents(folder) == before


def test_a_file_is_written_elsewhere_from_a_read_only_workspace(
    protected: tuple[Path, str, Sequence[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, run, beginning = protected
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    words = (("runs", "record", run, "calls.json"), ("playbook", "export", "p.json"))
    given = [(*line, "--workspace", str(folder / ".transom")) for line in words]
    for line, (code, _, err) in zip(words, all_said(beginning, elsewhere, given), strict=True):
        assert (code, err) == (0, ""), line
    assert sorted(path.name for path in elsewhere.iterdir()) == ["calls.json", "p.json"]


@pytest.mark.slow
@pytest.mark.fence
def test_looking_at_a_workspace_that_could_be_written_leaves_only_traces_of_looking_into_memory(
    here: Path,
) -> None:
    run = asyncio.run(filled(here))
    before = contents(here)
    given = [line.replace("RUN", run).split() for line in READING]
    assert [code for code, _, _ in all_said([], here, given)] == [0] * len(READING)
    after = contents(here)
    # SQLite leaves the files of its empty log: a reader may not remove them.
    log = {".transom/state.db-shm", ".transom/state.db-wal"}
    traces = {name for name in after if name.startswith(".transom/traces/")} - {*before}
    assert {name: after[name] for name in after.keys() - log - traces} == before
    # Each operation on a memory is traced, since `transom trace stats` counts them.
    spans = [span for name in traces for span in read_trace(here / name)]
    operations = [span.attributes.get(keys.MEMORY_OPERATION) for span in spans]
    assert sorted(filter(None, operations)) == ["neighbours", "retrieve"]
    assert len(traces) == 2
    assert after.get(".transom/state.db-wal", b"") == b""
