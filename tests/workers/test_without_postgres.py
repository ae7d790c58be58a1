"""What is said where workers cannot share their jobs: one line, with what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.checks import Answer
from transom.cli import main
from transom.errors import InputError
from transom.store import PostgresAddress, open_jobs


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "A.yaml").write_text("description: Confirm that the moon is frobnicated.\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("worker",),
        ("workers",),
        ("check", "batch", "A.yaml", "--distributed", "-q"),
        ("investigate", "Is it ready?", "--distributed", "-q"),
    ],
)
def test_a_database_in_a_file_has_no_workers(
    words: tuple[str, ...], here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = main([*words])
    line = Answer(code, *capfd.readouterr()).line()
    assert "this workspace has its database in a file" in line
    assert "transom migrate postgresql://" in line


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "procrastinate", None)
    with pytest.raises(InputError, match="workers need the extra `workers`") as caught:
        async with open_jobs(PostgresAddress("postgresql:///nowhere")):
            pass
    assert "pip install" in str(caught.value.hint)


def test_a_queue_that_does_not_exist_names_the_nearest(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = Answer(main(["worker", "--queues", "chek"]), *capfd.readouterr()).line()
    assert "there is no queue 'chek'; did you mean check?" in line
