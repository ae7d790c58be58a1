"""Atoms that read line by line or record by record: the verdict is that of the whole text,
wherever a piece ends.
"""

from __future__ import annotations

import asyncio
import gzip
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checklist.judging.support import LocalRunner, LocalWorker, run
from tests.fuzzing import examples
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.judging import LoadedChecker, artifact_bytes, load_checker
from transom.checklist.judging.pieces import with_pieces
from transom.checklist.judging.runner import Scope, Seen, declared, hand_over
from transom.errors import AtomFailed
from transom.sandbox import Sandbox

# Two lines of evidence that belong together, and lines around them.
ATOM = (
    """
SOURCES = [{"kind": "path", "rank": "primary", "files": ["*.log"]}]
RECORD_START = r"^Startpoint:"

def extract_context(text, source_file):
    results = []
    start = None
    for number, line in enumerate(text.split("\\n"), 1):
        begins = re.match(r"Startpoint: (\\S+)", line)
        start = begins[1] if begins else start
        ends = re.match(r"slack \\((\\w+)\\)", line)
        if ends:
            fields = {"path": {"start": start, "state": ends[1]}}
            results.append({
                "value": f"{start} {ends[1]}", "line_number": number, "matched_content": line, "parsed_fields": fields,
            })
            start = None
"""
    + LOCKED_LAYER
)
LINE_ATOM = (
    """
SOURCES = [{"kind": "path", "rank": "primary", "files": ["*.log"]}]

def extract_context(text, source_file):
    results = []
    for number, line in enumerate(text.split("\\n"), 1):
        if found := re.match(r"slack \\((\\w+)\\)", line):
            results.append({
                "value": found[1], "line_number": number, "matched_content": line,
                "parsed_fields": {"path": {"state": found[1]}},
            })
"""
    + LOCKED_LAYER
)
# The same as the first, with what it knows of a path kept from piece to piece.
BEGUN_ATOM = (
    """
SOURCES = [{"kind": "path", "rank": "primary", "files": ["*.log"]}]

class Paths:
    def __init__(self):
        self.number, self.start = 0, None

    def feed(self, text):
        results = []
        for line in text.removesuffix("\\n").split("\\n"):
            self.number += 1
            begins = re.match(r"Startpoint: (\\S+)", line)
            self.start = begins[1] if begins else self.start
            if ends := re.match(r"slack \\((\\w+)\\)", line):
                results.append({
                    "value": f"{self.start} {ends[1]}", "line_number": self.number, "matched_content": line,
                    "parsed_fields": {"path": {"start": self.start, "state": ends[1]}},
                })
                self.start = None
        return results

    def finish(self):
        left = {"value": f"{self.start} MET", "parsed_fields": {"path": {"start": self.start, "state": "MET"}}}
        return [left] if self.start else []

def begin_context(source_file):
    return Paths()

def extract_context(text, source_file):
    paths = begin_context(source_file)
    results = paths.feed(text) + paths.finish()
"""
    + LOCKED_LAYER
)
CONFIG = """\
schema: transom.checker/1
item_id: PATHS
description: Every path meets timing.
capability_type: 1
items:
- id: '2.1'
  name: paths
  select: path.state
  condition: {field: path.state, op: equals, value: MET}
  quantifier: each
  hints: ['slack (']
"""
_WORDS = [
    "Startpoint: a",
    "Startpoint: b",
    "slack (MET)",
    "slack (VIOLATED)",
    "",
    "  noise",
    "é",
    "x" * 40,
]
_LOGS = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=30)


def _pieces(lines: Sequence[str], cuts: Sequence[int], *, ended: bool) -> list[str]:
    """The lines in pieces, cut after the given numbers of lines."""
    text = [f"{line}\n" for line in lines]
    text[-1] = text[-1] if ended else text[-1].removesuffix("\n")
    places = sorted({cut % len(lines) for cut in cuts} | {0, len(lines)})
    parts = ["".join(text[a:b]) for a, b in itertools.pairwise(places)]
    return [part for part in parts if part]


def _seen(atom: str, scope: Scope, pieces: Sequence[str]) -> list[Any]:
    found: list[Any] = []

    def take(seen: Seen) -> None:
        found.extend(seen.entries)

    worker = LocalWorker(with_pieces("import re\nfrom typing import *\n" + atom))
    asyncio.run(hand_over(worker, scope, iter(pieces), "a.log", take))
    return found


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(lines=_LOGS, cuts=st.lists(st.integers(0, 40)), ended=st.booleans())
def test_wherever_a_piece_ends_the_entries_are_those_of_the_whole_text(
    lines: list[str], cuts: list[int], ended: bool
) -> None:
    pieces = _pieces(lines, cuts, ended=ended)
    assert "".join(pieces) == "\n".join(lines) + ("\n" if ended else "")
    for atom, scope in (
        (ATOM, Scope("record", "^Startpoint:")),
        (LINE_ATOM, Scope("line")),
        (BEGUN_ATOM, Scope("line")),
    ):
        whole = _seen(atom, Scope("file"), ["".join(pieces)])
        assert _seen(atom, scope, pieces) == whole


@pytest.mark.slow
@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lines=_LOGS, chunk=st.integers(1, 60), packed=st.booleans())
def test_streamed_and_whole_give_the_same_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], chunk: int, packed: bool
) -> None:
    text = "\n".join(["Timer 1.0", *lines]).encode()
    files = {"a.log": gzip.compress(text) if packed else text}
    verdicts: dict[str, set[bytes]] = {ATOM: set(), BEGUN_ATOM: set()}
    for scope, atom in (
        ("file", ATOM),
        ("record", ATOM),
        ("file", BEGUN_ATOM),
        ("line", BEGUN_ATOM),
    ):
        folder = tmp_path / scope
        folder.mkdir(exist_ok=True)
        loaded = _checker(folder, f'SCOPE = "{scope}"\n{atom}')
        with monkeypatch.context() as patch:
            patch.setattr("transom.formats.text_files._CHUNK", chunk)
            verdict = run(loaded, folder, files, inputs=["a.log"])
        made_by = verdict.made_by.model_copy(update={"checker_sha256": None})
        verdicts[atom].add(artifact_bytes(verdict.model_copy(update={"made_by": made_by})))
        assert verdict.inputs[0].lines == len(lines) + (lines[-1] != "")
    assert [len(some) for some in verdicts.values()] == [1, 1]


def test_the_sandbox_streams_as_a_plain_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.formats.text_files._CHUNK", 50)
    log = "".join(
        f"Startpoint: r{n}\nslack ({'MET' if n % 9 else 'VIOLATED'})\n" for n in range(200)
    )
    for scope, atom in (("record", ATOM), ("line", LINE_ATOM), ("line", BEGUN_ATOM)):
        loaded = _checker(tmp_path, f'SCOPE = "{scope}"\n{atom}')
        verdicts = [
            run(loaded, tmp_path, {"a.log": log}, inputs=["a.log"], runner=runner)
            for runner in (Sandbox(), LocalRunner())
        ]
        assert (len(verdicts[0].found_items), len(verdicts[0].missing_items)) == (177, 23)
        assert verdicts[0].missing_items[-1].line_number == 398
        one, other = (
            artifact_bytes(verdict.model_copy(update={"sandbox_level": "x"}))
            for verdict in verdicts
        )
        assert one == other


def test_a_byte_that_is_no_utf_8_late_in_the_log_leaves_no_entry_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.formats.text_files._CHUNK", 40)
    log = "Startpoint: é\nslack (MET)\n".encode() * 5 + b"\xb0 Startpoint: b\nslack (MET)\n"
    for scope, atom in (("record", ATOM), ("line", BEGUN_ATOM)):
        loaded = _checker(tmp_path, f'SCOPE = "{scope}"\n{atom}')
        verdict = run(loaded, tmp_path, {"a.log": log}, inputs=["a.log"])
        assert [one.line_number for one in verdict.found_items] == [2, 4, 6, 8, 10, 12]
        assert verdict.found_items[0].value == "é MET"
        assert "read as Latin-1" in verdict.warnings[0].message


def test_a_record_without_end_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.formats.text_files._CHUNK", 1_000)
    monkeypatch.setattr("transom.checklist.judging.runner.MAX_RECORD_CHARS", 20_000)
    log = "noise\nStartpoint: a\n" + "x\n" * 50_000
    verdict = run(
        _checker(tmp_path, f'SCOPE = "record"\n{ATOM}'), tmp_path, {"a.log": log}, inputs=["a.log"]
    )
    assert verdict.status == "ERROR"
    assert (
        "the record that begins in line 2 has more than 20000 characters"
        in verdict.errors[0].message
    )


def test_a_huge_line_is_told_where_lines_are_asked_for(tmp_path: Path) -> None:
    loaded = _checker(tmp_path, f'SCOPE = "line"\n{LINE_ATOM}')
    verdict = run(
        loaded, tmp_path, {"a.log.gz": gzip.compress(b"a" * (18 << 20), 1)}, inputs=["a.log"]
    )
    assert verdict.status == "ERROR"
    assert "holds a line of more than 16 MiB" in verdict.errors[0].message


def test_a_text_that_is_too_long_for_its_scope_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.checklist.judging.runner.MAX_TEXT_BYTES", 1_000)
    log = "Startpoint: a\nslack (MET)\n" * 100
    long = (("line", LINE_ATOM), ("record", ATOM), ("line", BEGUN_ATOM))
    for scope, atom in (("file", ATOM), ("file", BEGUN_ATOM), *long):
        verdict = run(
            _checker(tmp_path, f'SCOPE = "{scope}"\n{atom}'),
            tmp_path,
            {"a.log": log},
            inputs=["a.log"],
        )
        # No report format reads such paths, so that nothing vouches for the end of the log.
        assert (verdict.would_be or verdict.status) == ("ERROR" if scope == "file" else "PASS")


def test_the_nearest_line_of_a_streamed_log_is_found_in_a_second_pass(tmp_path: Path) -> None:
    log = "nothing\n" * 5_000 + "SLACK (unknown\n"
    verdict = run(
        _checker(tmp_path, f'SCOPE = "line"\n{LINE_ATOM}'),
        tmp_path,
        {"a.log": log},
        inputs=["a.log"],
    )
    near = verdict.missing_items[0].nearest
    assert near is not None
    assert (near.line_number, near.content) == (5_001, "SLACK (unknown")


def test_a_hint_that_finds_no_end_is_an_error_however_far_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transom.formats.text_files._CHUNK", 1_000)
    monkeypatch.setattr("transom.checklist.judging.rehearse.SECONDS", 0.5)
    log = "nothing\n" * 1_000 + "a" * 60 + "!\n"
    loaded = _checker(
        tmp_path, f'SCOPE = "line"\n{LINE_ATOM}', CONFIG.replace("'slack ('", "'regex:(a+)+$'")
    )
    verdict = run(loaded, tmp_path, {"a.log": log}, inputs=["a.log"], runner=Sandbox())
    assert verdict.status == "ERROR"
    assert "'regex:(a+)+$' finds no end within 0.5 s" in verdict.errors[0].message


@pytest.mark.parametrize(
    "told", ["SCOPE = 3", "SCOPE = ['line']", "SCOPE = 'record'\nRECORD_START = ''"]
)
def test_a_scope_that_is_none_is_refused(told: str) -> None:
    with pytest.raises(AtomFailed, match="SCOPE"):
        asyncio.run(declared(LocalWorker(told)))


def _checker(folder: Path, atoms: str, config: str = CONFIG) -> LoadedChecker:
    target = folder / "checker"
    target.mkdir(exist_ok=True)
    (target / "checker.yaml").write_text(config)
    (target / "atoms.py").write_text("import re\nfrom typing import Dict, List\n" + atoms)
    return load_checker(target)
