"""Logs and reports as tools leave them: compressed or not, in whatever encoding, with whatever line ends.

The text that comes out has `\\n` as its only line end, whichever way it is split, so that a line number means the same
line to an atom, to a person's editor and to this program.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, AnyStr

from transom.errors import InputError

MAX_TEXT_BYTES = 256 << 20
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# str.splitlines() breaks lines at these, editors and grep do not: form feeds are common in reports.
_OTHER_ENDS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_NO_LINE_ENDS = str.maketrans(dict.fromkeys(_OTHER_ENDS, " "))
_LINE_ENDS = re.compile(f"[{_OTHER_ENDS}]")


@dataclass(frozen=True)
class TextFile:
    """A file's text and what identifies it.

    Attributes:
        sha256, size: of the bytes on disk, compressed or not, as `sha256sum` and `ls` show them.
        lines: of the text; a last line without a line end counts.
        note: how it was read where that is not obvious, or None.
    """

    path: Path
    text: str
    sha256: str
    size: int
    lines: int
    note: str | None = None


def read_text_file(path: Path, limit: int = MAX_TEXT_BYTES) -> TextFile:
    """Read a whole file, decompressing it if its first bytes say gzip.

    Raises:
        InputError: missing, a folder, unreadable, cut short, or larger than `limit` bytes of text.
    """
    try:
        if path.is_dir():
            raise InputError("is a folder, not a file")
        if not path.exists():
            raise InputError("no such file")
        if not path.is_file():
            raise InputError("is not a regular file")
        size = path.stat().st_size
        raw = _limited(path, limit)
        sha256 = _sha256(path)
        data = _inflated(path, limit) if raw.startswith(_GZIP) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError("the compressed file is cut short or damaged", hint="copy it again") from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error
    text, note = _decoded(data)
    text = text.replace("\r\n", "\n").translate(_NO_LINE_ENDS)
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    return TextFile(path, text, sha256, size, lines, note)


def _limited(path: Path, limit: int) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise _too_large(limit)
    return data


def _inflated(path: Path, limit: int) -> bytes:
    """Decompress in pieces, so that a small file that swells without end is noticed in time."""
    pieces: list[bytes] = []
    total = 0
    with gzip.open(path, "rb") as stream:
        while piece := stream.read(_CHUNK):
            total += len(piece)
            if total > limit:
                raise _too_large(limit)
            pieces.append(piece)
    return b"".join(pieces)


def _too_large(limit: int) -> InputError:
    return InputError(f"holds more than {limit >> 20} MiB of text", hint="split it")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _decoded(data: bytes) -> tuple[str, str | None]:
    if data.startswith(_UTF_16_MARKS):
        try:
            return data.decode("utf-16"), "read as UTF-16"
        except UnicodeDecodeError:
            pass
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        note = f"is not UTF-8 (byte 0x{data[error.start]:02x} in line {line}); read as Latin-1"
        return data.decode("latin-1"), note


class TextLines:
    """The lines of a text file, one at a time and without their ends, numbered as `read_text_file` numbers them.

    Args:
        path: of the file, compressed or not.
        longest: a line is cut after so many characters, so that a file without line ends cannot fill the memory.

    Attributes:
        encoding: of what was read so far: `utf-8`, `utf-16`, or `latin-1` after a line that is not UTF-8.
    """

    def __init__(self, path: Path, longest: int | None = None) -> None:
        self.encoding = "utf-8"
        self._path = path
        self._longest = longest

    def __iter__(self) -> Iterator[str]:
        """Read from the beginning.

        Raises:
            InputError: it cannot be read, or its compressed stream is cut short or damaged.
        """
        try:
            if self._path.exists() and not self._path.is_file():
                raise InputError("is not a regular file", where=str(self._path))
            with _opened(self._path) as stream:
                mark = stream.peek(len(_UTF_8_MARK))
                yield from self._wide(stream) if mark.startswith(_UTF_16_MARKS) else self._narrow(stream)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            what = "cannot be read: the compressed file is cut short or damaged"
            raise InputError(what, where=str(self._path), hint="copy it again") from error
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
            raise InputError(what, where=str(self._path), hint="make it readable") from error

    def _narrow(self, stream: io.BufferedReader) -> Iterator[str]:
        if stream.peek(len(_UTF_8_MARK)).startswith(_UTF_8_MARK):
            stream.read(len(_UTF_8_MARK))
        most = None if self._longest is None else 4 * self._longest
        while piece := stream.readline(_CHUNK):
            line = piece if piece.endswith(b"\n") else _rest(stream, piece, b"\n", most)
            line = line.removesuffix(b"\r\n").removesuffix(b"\n")
            try:
                text = line.decode() if most is None or len(line) <= most else _beginning(line[:most])
            except UnicodeDecodeError:
                self.encoding, text = "latin-1", line.decode("latin-1")
            yield _one_line(text[: self._longest])

    def _wide(self, stream: io.BufferedReader) -> Iterator[str]:
        self.encoding = "utf-16"
        with io.TextIOWrapper(stream, encoding="utf-16", errors="replace", newline="\n") as wide:
            while piece := wide.readline(_CHUNK):
                line = piece if piece.endswith("\n") else _rest(wide, piece, "\n", self._longest)
                yield _one_line(line.removesuffix("\r\n").removesuffix("\n")[: self._longest])


def _one_line(text: str) -> str:
    """A line that stays one however it is split; most lines are so already, and `translate` is slow."""
    return text.translate(_NO_LINE_ENDS) if _LINE_ENDS.search(text) else text


def _opened(path: Path) -> io.BufferedReader:
    stream = path.open("rb")
    if stream.peek(len(_GZIP)).startswith(_GZIP):
        return io.BufferedReader(_Inflated(stream))
    return stream


class _Inflated(gzip.GzipFile):
    """A decompressed stream that closes the file beneath it too."""

    def __init__(self, beneath: io.BufferedReader) -> None:
        super().__init__(fileobj=beneath)
        self._beneath = beneath

    def close(self) -> None:
        super().close()
        self._beneath.close()


def _rest(stream: IO[AnyStr], piece: AnyStr, newline: AnyStr, most: int | None) -> AnyStr:
    """A line whose first piece has no end yet; of what is beyond `most`, only the end is looked for."""
    pieces, kept = [piece], len(piece)
    while piece := stream.readline(_CHUNK):
        if most is None or kept <= most:
            pieces.append(piece)
            kept += len(piece)
        if piece[-1:] == newline:
            break
    return newline[:0].join(pieces)


def _beginning(data: bytes) -> str:
    """The text of bytes that may end within a character."""
    return codecs.getincrementaldecoder("utf-8")().decode(data)
