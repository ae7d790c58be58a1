"""Past assessments: recalled, compared, kept with what features depend on; and a memory that is
off or broken.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.investigator.helpers import EXAMPLES, change, copy_of
from tests.investigator.running import Place, model
from transom.errors import MemoryUnavailable
from transom.investigator.dependants import dependants
from transom.investigator.inquiry import Inquiry
from transom.investigator.phases import investigate
from transom.investigator.reading.documents import read_document
from transom.investigator.report import FORMATS
from transom.investigator.sources import DataFolder
from transom.llm import Request
from transom.memory import SqliteMemory
from transom.runs import Run

ALL = DataFolder(EXAMPLES)
QUESTION = "Are group reservations ready?"


class Broken(SqliteMemory):
    """One whose medium is gone."""

    async def get(self, key: str) -> Any:
        raise MemoryUnavailable("the disk is gone")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for folder in ("feature2", "feature3"):
        copy_of(folder, tmp_path / "data")
    return Place(tmp_path, tmp_path / "data")


async def asked(
    place: Place, memory: SqliteMemory | None, question: str = QUESTION, **more: Any
) -> Any:
    async def work(run: Run, inquiry: Inquiry) -> Any:
        return await investigate(run, Inquiry(**{**vars(inquiry), "memory": memory}))

    return await place.ask(question, work=work, **more)


async def test_the_answer_says_what_changed_since_the_last_time(
    place: Place, tmp_path: Path
) -> None:
    async with SqliteMemory.open(tmp_path / "m.db") as memory:
        first = await asked(place, memory)
        assert (first.memory_status, first.changed_since) == ("ok", None)
        assert await asked(place, memory) == first
        coverage = place.data / "feature3/metrics/test_coverage_report.json"
        change(coverage, lambda data: data["summary"].update(line_coverage_pct=12))
        second = await asked(place, memory)
    expected = "on 2026-09-20: the verdict was NEEDS_JUDGEMENT; tests.coverage was pass and is fail"
    assert second.changed_since == expected


async def test_what_is_remembered_is_no_evidence(place: Place, tmp_path: Path) -> None:
    async with SqliteMemory.open(tmp_path / "m.db") as memory:
        plain = await asked(place, None)
        note = "Group Reservations was judged READY, all tests passed, coverage is 99 %"
        await memory.store(note, {"kind": "assessment"})
        log: list[Request] = []
        again = await asked(place, memory, provider=model({}, log))
    assert [one.status for one in again.criteria] == [one.status for one in plain.criteria]
    assert not any("99" in row.value for row in again.evidence)


async def test_what_depends_on_something_has_an_answer_with_its_places(
    place: Place, tmp_path: Path
) -> None:
    async with SqliteMemory.open(tmp_path / "m.db") as memory:
        await asked(place, memory)
        await asked(place, memory, "Is the kiosk ready?")
        (sentence,) = await dependants(memory, "What depends on the catalogue service?")
        assert (
            "Group Reservations (group-reservations)" in sentence
            and "QR Check-Out Kiosk (qr-kiosk)" in sentence
        )
        assert "feature3/planning/ARCHITECTURE.md#line:" in sentence
        (using,) = await dependants(memory, "What does the kiosk depend on?")
        assert "label printer driver" in using
        assert await dependants(memory, "What depends on the moon?") == []
        # The documents of all features are read; those that do not name it are named.
        *_, rest = await dependants(memory, "What depends on the catalogue service?", ALL)
        assert rest.startswith("No document names catalogue service")
        assert "Kiosk" not in rest


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("**Depends on:** payment-gateway, mailer", ["payment-gateway", "mailer"]),
        ("Dependencies: ledger and the mailer", ["ledger", "mailer"]),
        (
            "## Dependencies\n\nThe import depends on ledger and on the mailer.",
            ["ledger", "mailer"],
        ),
        ("## Dependencies\n\nIt relies on the mailer; the rest is local.", ["mailer"]),
        ("## Dependencies\n\n- ledger: for sums\n- mailer", ["ledger", "mailer"]),
        ("## Dependencies\n\nIt does not depend on the ledger.", []),
        ("The sum depends on the amount of each row.", []),
    ],
)
def test_dependencies_are_read_from_a_label_a_list_or_a_sentence(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    path = tmp_path / "ARCHITECTURE.md"
    path.write_text(f"# Architecture\n\n{text}\n")
    reading = read_document(path, "f/ARCHITECTURE.md", "ARCHITECTURE.md")
    depends = [one.value for one in reading.observations if one.measure == "document.depends"]
    assert depends == names


@pytest.mark.parametrize(("kind", "status"), [(None, "off"), (Broken, "broken")])
async def test_without_a_memory_it_goes_on_and_says_so(
    place: Place, tmp_path: Path, kind: Any, status: str
) -> None:
    memory = kind.open(tmp_path / "m.db") if kind else None
    result = await asked(place, memory)
    assert (result.verdict, result.memory_status, result.changed_since) == (
        "NEEDS_JUDGEMENT",
        status,
        None,
    )
    if memory is not None:
        await memory.close()


@pytest.mark.parametrize("format_name", ["text", "markdown", "html"])
async def test_every_report_and_the_log_name_a_broken_memory(
    place: Place, tmp_path: Path, caplog: pytest.LogCaptureFixture, format_name: str
) -> None:
    async with SqliteMemory.open(tmp_path / "m.db") as memory:
        good = await asked(place, memory)
    broken = Broken.open(tmp_path / "m.db")
    result = await asked(place, broken)
    await broken.close()
    sentence = "The memory of the workspace is broken"
    assert sentence in " ".join(FORMATS[format_name](result).split())
    assert sentence not in " ".join(FORMATS[format_name](good).split())
    assert "the disk is gone" in caplog.text
