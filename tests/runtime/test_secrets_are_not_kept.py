"""No secret that a text brings along reaches the database, through whatever door the text comes."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from tests.on_postgres import sitecustomize
from tests.runs.helpers import desk
from transom.checklist.item import load_item
from transom.cli import main
from transom.learning import Playbook
from transom.learning.curator import Curator
from transom.learning.exchange import import_json
from transom.learning.insight import InsightCategory
from transom.memory import SqliteMemory
from transom.runs import Workspace
from transom.store import SqliteStore

VALUE = "planted/Value 77+x"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
MIS = InsightCategory.MISTAKE


def key(prefix: str, size: int, letters: str = LETTERS) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=size, max_size=size).map(lambda text: prefix + text)


secrets = st.one_of(
    st.just(VALUE),
    key("sk-", 24),
    key("sk-ant-api03-", 24),
    key("AKIA", 16, LETTERS[:26] + "0123456789"),
    key("AIza", 35),
    key("ghp_", 36),
    key("github_pat_", 40),
    key("glpat-", 20),
    key("xoxb-", 24),
)


@pytest.fixture(autouse=True)
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", VALUE)


def content_of(database: Path) -> str:
    """Return all bytes of a database and its log, and its blobs as they were before they were
    compressed.
    """
    if sitecustomize.ADDRESS in os.environ:
        return sitecustomize.text_of(database)
    raw = [path.read_bytes() for path in database.parent.glob(f"{database.name}*")]
    with sqlite3.connect(database) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if ("blobs",) in tables.fetchall():
            for row in connection.execute("SELECT * FROM blobs"):
                raw += [zlib.decompress(value) for value in row if isinstance(value, bytes)]
    return b"\0".join(raw).decode("latin-1")


def add_insight(database: Path, text: str) -> None:
    with Playbook(database) as book:
        first = book.add_insight(MIS, text, tags=[text])
        assert book.add_insight(MIS, text).id == first.id, "the same text is the same insight"


def edit_insight(database: Path, text: str) -> None:
    with Playbook(database) as book:
        insight = book.add_insight(MIS, "a first text")
        curator = Curator(book)
        curator.edit(insight.id, content=text, tags=[text], by=text)
        curator.retire(insight.id, text)


def import_insight(database: Path, text: str) -> None:
    row = {"id": "mis-00001", "category": "mis", "content": text, "tags": [text]}
    file = database.parent / "theirs.json"
    file.write_text(json.dumps({"version": 1, "items": {"mis-00001": row}}))
    with Playbook(database) as book:
        import_json(book, file)
        import_json(book, file)
        assert len(book.items) == 1


def take_notes(database: Path, text: str) -> None:
    file = database.parent / "notes.jsonl"
    file.write_text(json.dumps({"category": "mistake", "insight": text}))
    assert main(["playbook", "import", str(file), "-q", "--workspace", str(database.parent)]) == 0


def remember(database: Path, text: str) -> None:
    async def store() -> None:
        async with SqliteMemory.open(database) as memory:
            first = await memory.store(text, {"note": text})
            assert await memory.store(text, {"note": text}) == first
            other = await memory.store("another entry", key="other")
            await memory.relate(first, other, text)
            entry = await memory.get(first)
            assert entry is not None
            assert "[redacted]" in entry.content

    asyncio.run(store())


def judge_item(database: Path, text: str) -> None:
    folder = database.parent
    (folder / "sta.log").write_text("all is well\n")
    item = {
        "description": f"Confirm that the bananas are ripe: {text}",
        "input_files": ["sta.log"],
        "waivers": {"value": 1, "waive_items": [{"pattern": "x", "reason": text}]},
        "accept": {"by": "Ada", "reason": text, "until": "2000-01-01"},
    }
    (folder / "ITEM.yaml").write_text(json.dumps(item))
    assert main(["check", "all", str(folder / "ITEM.yaml"), "-q", "--workspace", str(folder)]) == 3


def answer(database: Path, text: str) -> None:
    workspace = Workspace.at(database.parent)

    async def ask() -> None:
        at, _ = desk(database.parent)
        async with (
            SqliteStore.open(database) as store,
            await at.open_run(workspace, store) as run,
        ):
            question = run.ask("feature", "Which feature is meant?")
            with pytest.raises(Exception, match="Which feature"):
                await question
            await run.decide(text, "feature", text, by="Ada")
            assert text not in (await run.ask("feature", "Which feature is meant?")).text

    asyncio.run(ask())


DOORS: tuple[Callable[[Path, str], None], ...] = (
    add_insight,
    edit_insight,
    import_insight,
    take_notes,
    remember,
    answer,
)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@given(secrets, st.sampled_from(["Use {}.", "{}", 'say "{}"\nand go on']))
@settings(max_examples=examples(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_secret_of_a_text_reaches_the_database(
    tmp_path_factory: pytest.TempPathFactory,
    door: Callable[[Path, str], None],
    secret: str,
    sentence: str,
) -> None:
    database = tmp_path_factory.mktemp("workspace") / "state.db"
    door(database, sentence.format(secret))
    kept = content_of(database)
    assert secret not in kept
    assert secret.lower() not in kept, "no word of an index has it"
    assert "[redacted]" in kept or "redacted" in kept


@pytest.mark.slow
@pytest.mark.fence
def test_no_secret_of_an_item_reaches_the_database(tmp_path: Path) -> None:
    """Neither from the stages, nor from what a model would have seen."""
    secrets = (VALUE, "sk-" + "a1B2" * 6, "ghp_" + "x9Y8" * 9, "AKIA" + "Q7" * 8)
    judge_item(tmp_path / "state.db", " and ".join(secrets))
    kept = content_of(tmp_path / "state.db")
    assert "bananas" in kept
    for secret in secrets:
        assert secret not in kept


def test_ordinary_texts_are_kept_as_they_are() -> None:
    """A test id, a task, a version and a hash are no keys."""
    text = "task-force sk-1 AKIABLE xoxo ghp_short glpat 9f86d081884c7d659a2feaa0c55ad015 --key=7"
    with Playbook() as book:
        assert book.add_insight(MIS, text).content == text


def test_one_line_says_that_a_secret_was_removed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.WARNING), Playbook(tmp_path / "state.db") as book:
        book.add_insight(MIS, f"Never paste {VALUE}", tags=["ops"])
        book.add_insight(MIS, "Keep logs")
    assert [record.getMessage() for record in caplog.records] == [
        "a secret was found in the text; it is kept as [redacted]"
    ]
    item = tmp_path / "ITEM.yaml"
    item.write_text(f"description: Confirm that bananas are ripe {VALUE}\ninput_files: [a.log]\n")
    (tmp_path / "a.log").write_text("all is well\n")
    assert main(["check", "all", str(item), "--workspace", str(tmp_path / "ws")]) == 3
    errors = capsys.readouterr().err
    line = f"{item}:1: description holds a secret, which is read as [redacted]; remove it"
    assert errors.count(line) == 1


def test_a_pattern_and_a_path_of_an_item_stay(tmp_path: Path) -> None:
    """They are compared with files: another text would give another verdict."""
    item = tmp_path / "ITEM.yaml"
    item.write_text(
        "description: Confirm the version.\n"
        f"requirements: {{value: 1, pattern_items: ['{VALUE}']}}\n"
        f"input_files: ['{VALUE}/a.log']\n"
    )
    loaded = load_item(item)
    assert loaded.requirements is not None
    assert loaded.requirements.pattern_items == (VALUE,)
    assert [name.written for name in loaded.input_files] == [f"{VALUE}/a.log"]
