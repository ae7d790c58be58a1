"""Reader of logs and reports, compressed or not, in any encoding, with any line ends.

The text has `\\n` as its only line end, however it is split, so that a line number means the same
line to an atom, an editor and this program. It is read in pieces of whole lines; no file is held in
memory.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from transom.errors import InputError

MAX_TEXT_BYTES = 256 << 20
_CHUNK = 1 << 20
_BUFFER = 1 << 17
_GZIP = b"\x1f\x8b"
# str.splitlines() splits at these, editors and grep do not: form feeds are common in reports.
_NO_LINE_ENDS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_SPACES = str.maketrans(dict.fromkeys(_NO_LINE_ENDS, " "))
_NEXT = {"utf-16": "utf-8-sig", "utf-8-sig": "latin-1"}


@dataclass(frozen=True)
class Facts:
    """The results of a whole pass over a file.

    Attributes:
        sha256, size: digest and size of the bytes on disk, compressed or not, as `sha256sum` and
            `ls` show them.
        lines: number of lines; a last line without a line end counts.
        note: the encoding if it is unusual, or None.
    """

    sha256: str
    size: int
    lines: int
    note: str | None = None


class ReadAgain(Exception):
    """Raised when the encoding proves wrong: the pieces so far are void, the next pass reads the
    file correctly.
    """


class FileChanged(InputError):
    """Raised when a file changed since the first pass."""


class TooLarge(InputError):
    """Raised when a file holds more text than it may."""


class TextFile:
    """A text file, read in passes.

    Args:
        limit: bytes of decompressed text, at most.
        longest_line: characters of a line, at most.

    Attributes:
        facts: results of the first complete pass; None before.
    """

    def __init__(
        self, path: Path, *, limit: int = MAX_TEXT_BYTES, longest_line: int = MAX_TEXT_BYTES
    ) -> None:
        self.path = path
        self.facts: Facts | None = None
        self._limit, self._longest_line = limit, longest_line
        self._encoding: str | None = None
        self._note: str | None = None
        self._seen: tuple[int, ...] | None = None

    def pieces(self) -> Iterator[str]:
        """Yield the text in pieces of whole lines with their line ends; the last line may have
        none.

        Raises:
            InputError: missing, a folder, unreadable, cut short, too large, or changed.
            ReadAgain: only before `facts` are known.
        """
        try:
            if self.path.is_dir():
                raise InputError("is a folder, not a file")
            if not self.path.exists():
                raise InputError("no such file")
            if not self.path.is_file():
                raise InputError("is not a regular file")
            with self.path.open("rb", buffering=0) as file:
                self._recognise(os.fstat(file.fileno()))
                yield from self._read(_Hashed(file))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                "the compressed file is cut short or damaged", hint="copy it again"
            ) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}") from error

    def whole(self) -> str:
        """Return all of the text.

        Raises:
            InputError: as `pieces`.
        """
        while True:
            try:
                return "".join(self.pieces())
            except ReadAgain:
                continue

    def is_blank(self) -> bool:
        """Whether the file has only white space; reads no further than the first piece with other
        text.

        Raises:
            InputError: as `pieces`.
        """
        while True:
            try:
                return not any(piece.strip() for piece in self.pieces())
            except ReadAgain:
                continue

    def _recognise(self, status: os.stat_result) -> None:
        seen = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if self._seen not in (None, seen):
            raise FileChanged(
                "changed while it was being checked", hint="run the check again when it is complete"
            )
        self._seen = seen

    def _read(self, hashed: _Hashed) -> Iterator[str]:
        lines, last = 0, ""
        for piece in self._whole_lines(_unpacked(hashed)):
            last = clean(piece)
            lines += last.count("\n")
            yield last
        lines += 1 if last and not last.endswith("\n") else 0
        self.facts = Facts(hashed.sha256.hexdigest(), hashed.size, lines, self._note)

    def _whole_lines(self, stream: io.BufferedReader[_Hashed] | gzip.GzipFile) -> Iterator[str]:
        held: list[str] = []  # of a line whose end has not come yet
        length = 0
        for text in self._decoded(stream):
            cut = text.rfind("\n") + 1
            if cut:
                yield "".join([*held, text[:cut]])
                held, length = [], 0
            held.append(text[cut:])
            length += len(text) - cut
            if length > self._longest_line:
                raise InputError(
                    f"holds a line of more than {self._longest_line >> 20} Mi characters",
                    hint="split it",
                )
        if length:
            yield "".join(held)

    def _decoded(self, stream: io.BufferedReader[_Hashed] | gzip.GzipFile) -> Iterator[str]:
        total = newlines = 0
        decoder = self._decoder(stream.peek(2))
        while True:
            data = stream.read(_CHUNK)
            total += len(data)
            if total > self._limit:
                raise TooLarge(f"holds more than {self._limit >> 20} MiB of text", hint="split it")
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                self._other_encoding(error, newlines)
                raise ReadAgain from error
            newlines += data.count(b"\n")
            yield text
            if not data:
                return

    def _decoder(self, head: bytes) -> codecs.IncrementalDecoder:
        if self._encoding is None:
            marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            self._encoding = "utf-16" if marked else "utf-8-sig"
            self._note = "read as UTF-16" if marked else None
        return codecs.getincrementaldecoder(self._encoding)()

    def _other_encoding(self, error: UnicodeDecodeError, newlines: int) -> None:
        self._encoding = _NEXT[str(self._encoding)]
        self._note = None
        if self._encoding == "latin-1":
            line = newlines + error.object.count(b"\n", 0, error.start) + 1
            self._note = (
                f"is not UTF-8 (byte 0x{error.object[error.start]:02x} in line {line}); read as"
                " Latin-1"
            )


class _Hashed(io.RawIOBase):
    """Passes a file's bytes through, and counts and hashes them."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # io: any writable buffer
        count = self._file.readinto(buffer)
        self.sha256.update(buffer[:count])
        self.size += count
        return count


def _unpacked(hashed: _Hashed) -> io.BufferedReader[_Hashed] | gzip.GzipFile:
    """Decompress gzip, recognised by the first bytes, piece by piece, so that a bomb does not
    fill the memory.
    """
    stream = io.BufferedReader(hashed, _BUFFER)
    return gzip.GzipFile(fileobj=stream) if stream.peek(2).startswith(_GZIP) else stream


def clean(text: str) -> str:
    """Return the text with `\\n` as its only line end; a piece must not end between `\\r` and
    `\\n`.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    # Searching for nine characters is much faster than translating.
    return (
        text.translate(_SPACES) if any(character in text for character in _NO_LINE_ENDS) else text
    )
