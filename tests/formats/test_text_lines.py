"""Lines one at a time are the lines of the whole text, whatever the file is like."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import InputError
from transom.formats.text_files import TextFile

ENDS = ["\n", "\r\n", "\r", "\x0c", "\u2028", "a", "ä", "€", " "]
texts = st.lists(st.sampled_from(ENDS), max_size=30).map("".join)


def lines_of(path: Path) -> list[str]:
    lines = TextFile(path).whole().split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@given(texts, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]), st.booleans())
def test_lines_are_numbered_as_in_the_whole_text(
    tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str, packed: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.log"
    data = text.encode(encoding, "replace")
    path.write_bytes(gzip.compress(data) if packed else data)
    whole = lines_of(path)
    assert list(TextFile(path).lines()) == whole
    assert list(TextFile(path).lines(3)) == [line[:3] for line in whole]


def test_a_line_that_is_not_utf_8_is_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n10 \xb5\xe4\nthree\n")
    file = TextFile(path)
    assert (list(file.lines()), file.encoding) == (["one", "10 µä", "three"], "latin-1")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_is_cut_and_the_next_one_is_whole(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(("ä" * 3_000_000 + "\nnext\n").encode(encoding))
    file = TextFile(path)
    assert (list(file.lines(5)), file.encoding) == (["äääää", "next"], encoding)
    assert [len(line) for line in TextFile(path).lines()] == [3_000_000, 4]


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    half = tmp_path / "half.gz"
    half.write_bytes(gzip.compress(os.urandom(5000))[:-100])
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("half.gz", "cut short"),
        ("none", "no such file"),
        (".", "is a folder"),
        ("pipe", "not a regular"),
    ):
        with pytest.raises(InputError, match=why):
            list(TextFile(tmp_path / name).lines())
