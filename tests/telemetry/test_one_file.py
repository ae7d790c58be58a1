"""One trace, one file: after a kill, in many threads; and as another reader takes it."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from tests.agent.agent_driver import program
from tests.telemetry.test_spans import all_spans
from transom.telemetry import Telemetry, read_trace


def unbroken(path: Path) -> list[dict[str, object]]:
    """The spans of a file whose every line is an export request, and in which every parent is
    there, once.
    """
    spans = all_spans(path)
    ids = [span["spanId"] for span in spans]
    assert len(ids) == len(set(ids))
    assert {span["parentSpanId"] for span in spans if span.get("parentSpanId")} <= set(ids)
    assert {span["traceId"] for span in spans} == {path.stem}
    return spans


@pytest.mark.slow
def test_a_run_killed_at_any_record_leaves_its_whole_tree_and_is_gone_on_with(
    tmp_path: Path,
) -> None:
    (tmp_path / "0").mkdir()
    assert program(tmp_path / "0", 0) == 0
    for failpoint in (3, 7, 13):  # a reply, an intent, and a reply in a sub-conversation
        work = tmp_path / str(failpoint)
        work.mkdir()
        assert os.WIFSIGNALED(program(work, failpoint))
        (path,) = (work / "w" / "traces").iterdir()
        killed = unbroken(path)
        under_way = [row.name.split()[0] for row in read_trace(path) if row.status == "open"]
        assert under_way, "what was under way is there"
        program(work, 0)
        assert [path] == list((work / "w" / "traces").iterdir()), (
            "the resumed run is in the same file"
        )
        assert len(unbroken(path)) > len(killed)
        assert [
            row.name.split()[0] for row in read_trace(path) if row.status == "open"
        ] == under_way


@pytest.mark.slow
def test_many_threads_share_the_places_of_a_file(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as telemetry:

        def work(name: str) -> None:
            for _ in range(100):
                with telemetry.span(name), telemetry.span(f"{name}.inner"):
                    pass

        threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    path = tmp_path / f"{telemetry.trace_id}.jsonl"
    assert len(unbroken(path)) == 1200
    assert {row.status for row in read_trace(path)} == {"ok"}
    empty = [
        line for line in path.read_text().splitlines() if not json.loads(line)["resourceSpans"]
    ]
    assert len(empty) <= 12, "no more places than spans were open at once"


def test_the_file_is_what_jaegers_page_reads(tmp_path: Path) -> None:
    """Its upload page reads a file that is no one JSON document line by line, and joins their
    `resourceSpans`.
    """
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("outer"), telemetry.span("inner"):
        open_yet = (tmp_path / f"{telemetry.trace_id}.jsonl").read_text()
    for text in (open_yet, (tmp_path / f"{telemetry.trace_id}.jsonl").read_text()):
        documents = [json.loads(line) for line in text.split("\n") if line.strip()]
        joined = [each for document in documents for each in document["resourceSpans"]]
        spans = [span for each in joined for scope in each["scopeSpans"] for span in scope["spans"]]
        assert sorted(span["name"] for span in spans) == ["inner", "outer"]
        assert all(
            int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 0 for span in spans
        )
        assert {each["resource"]["attributes"][0]["value"]["stringValue"] for each in joined} == {
            "transom"
        }


def test_a_very_long_name_fits_its_place(tmp_path: Path) -> None:
    with Telemetry.open(tmp_path) as telemetry, telemetry.span("\x1f" * 500):
        (span,) = unbroken(tmp_path / f"{telemetry.trace_id}.jsonl")
        assert span["name"] == "\x1f" * 90
    (row,) = read_trace(tmp_path / f"{telemetry.trace_id}.jsonl")
    assert row.name == "\x1f" * 500
