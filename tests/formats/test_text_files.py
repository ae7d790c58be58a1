"""Files in pieces of whole lines: the pieces together are the text, whatever their size and
wherever a chunk ends.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.formats.reading import whole_text
from tests.fuzzing import examples
from transom.errors import InputError
from transom.formats.text_decoding import decode_text
from transom.formats.text_files import FileChanged, TextFile

_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_TEXTS = st.lists(
    st.one_of(_WORDS, st.sampled_from(["\n", "\r\n", "\r", "\x0c\n"])), max_size=20
).map("".join)


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    text=_TEXTS,
    encoding=st.sampled_from(["utf-8", "utf-16", "latin-1"]),
    packed=st.booleans(),
    chunk=st.integers(1, 9),
)
def test_any_chunk_size_gives_the_same_text(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    encoding: str,
    *,
    packed: bool,
    chunk: int,
) -> None:
    raw = text.encode(encoding, "replace")
    path = tmp_path / "a.log"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    with monkeypatch.context() as patch:
        patch.setattr("transom.formats.text_files._CHUNK", 1 << 20)
        whole, facts = whole_text(path)
        patch.setattr("transom.formats.text_files._CHUNK", chunk)
        file = TextFile(path)
        pieces = list(file.pieces())
    assert "".join(pieces) == whole
    assert file.facts == facts
    assert all(piece.endswith("\n") for piece in pieces[:-1])
    assert facts.lines == len(whole.split("\n")) - (not whole or whole.endswith("\n"))
    assert (facts.sha256, facts.size) == (
        hashlib.sha256(path.read_bytes()).hexdigest(),
        path.stat().st_size,
    )


def test_a_byte_that_is_not_utf_8_changes_its_own_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("é\n".encode() * 700_000 + b"25 \xb0C\n" + "ß\n".encode())
    text, facts = whole_text(path)
    assert text == "é\n" * 700_000 + "25 °C\nß\n"
    assert facts.note == "is not UTF-8 (byte 0xb0 in line 700001); read as Latin-1"


def test_a_whole_latin_1_file_counts_its_lines_and_names_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("eins\nzwei: ä\ndrei: ü\r\nvier".encode("latin-1"))
    text, facts = whole_text(path)
    assert text == "eins\nzwei: ä\ndrei: ü\nvier"
    note = "is not UTF-8 in 2 lines (first: byte 0xe4 in line 2); read as Latin-1"
    assert (facts.lines, facts.note) == (4, note)


@settings(
    max_examples=examples(200),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.binary(max_size=200), packed=st.booleans())
def test_no_bytes_hang_or_lose_a_line(tmp_path: Path, data: bytes, *, packed: bool) -> None:
    data = b"first line\n" + data
    path = tmp_path / "a.log"
    path.write_bytes(gzip.compress(data) if packed else data)
    text, facts = whole_text(path)
    assert text.count("\n") == data.count(b"\n")
    assert facts.lines == len(text.removesuffix("\n").split("\n"))
    assert decode_text(data) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_recognised_with_and_without_its_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("slack -0.12 ns\r\nVIOLATED ü\r\n".encode(encoding))
    text, facts = whole_text(path)
    assert text == "slack -0.12 ns\nVIOLATED ü\n"
    assert (facts.lines, facts.note) == (2, "read as UTF-16")


def test_zero_bytes_alone_are_not_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"good\n" + bytes(1000) + b"\nend\n")
    assert whole_text(path)[0] == "good\n" + "\0" * 1000 + "\nend\n"
    path.write_bytes(bytes(1000))
    assert whole_text(path)[0] == "\0" * 1000


def test_damaged_utf_16_keeps_its_lines_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("one\ntwo ".encode("utf-16") + b"\x00\xdc" + "\nthree\n".encode("utf-16-le"))
    text, facts = whole_text(path)
    assert text == "one\ntwo \ufffd\nthree\n"
    assert facts.note == "read as UTF-16, with damaged characters (line 2)"


def test_files_that_were_joined_have_no_marks_in_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes("one\n".encode("utf-8-sig") + "two\n".encode("utf-8-sig"))
    assert whole_text(path)[0] == "one\ntwo\n"


def test_several_members_of_gzip_are_one_text_and_rubbish_behind_them_is_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert whole_text(path)[0] == "a\nb\n"
    path.write_bytes(gzip.compress(b"a\n") + b"rubbish")
    with pytest.raises(InputError, match="cut short or damaged"):
        whole_text(path)


def test_a_file_that_changes_between_two_passes_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("one\n")
    file = TextFile(path)
    assert not file.is_blank()
    path.write_text("two\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileChanged, match="changed while"):
        list(file.pieces())


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(30 << 20), 1))
    file = TextFile(path, longest_line=4 << 20)
    with pytest.raises(InputError, match="holds a line of more than 4 MiB"):
        list(file.pieces())


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\n" * 3_000_000])
def test_white_space_alone_is_blank(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.log"
    path.write_text(text)
    assert TextFile(path).is_blank()
    path.write_text(text + "x")
    assert not TextFile(path).is_blank()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_ends_of_a_long_file_are_read_and_a_short_one_is_read_whole(
    tmp_path: Path, encoding: str, *, packed: bool
) -> None:
    path = tmp_path / "a.log"
    text = "begins ü\n" + "middle\n" * 10_000 + "ends ü\n"
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if packed else data)
    ends = TextFile(path).ends(400)
    assert ends.startswith("begins ü\nmiddle\n")
    assert ends.endswith("middle\nends ü\n")
    assert len(ends) <= 401
    assert TextFile(path).ends(1_000_000) == text
