"""The one place where text of unknown origin is opened: logs, reports and documents, compressed or
not, in any encoding, with any line ends.

The text has `\\n` as its only line end, however it is split, so that a line number means the same
line to an atom, an editor and this program. A file is decoded in one pass, in pieces of whole
lines, and is never held in memory as a whole:

- gzip is recognised by its first bytes.
- UTF-16 is recognised by its mark, or by the zero bytes that it has between ASCII characters.
- Everything else is UTF-8. A line that is not valid UTF-8 is Latin-1, in which every byte is a
  character: nothing is dropped, and the other lines keep their meaning.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from transom.errors import InputError
from transom.formats.text_decoding import (
    HEAD_BYTES,
    MOST_BYTES_OF_A_CHARACTER,
    Decoder,
    decode_text,
)

MAX_TEXT_BYTES: Final = 256 << 20
STREAMED_BYTES: Final = 64 << 30
"""Limit of a text that is never held as a whole; it stops a small file that inflates forever."""
_CHUNK = 1 << 20
_BUFFER: Final = 1 << 17
_GZIP: Final = b"\x1f\x8b"


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


class FileChanged(InputError):
    """Raised when a file changed since the first pass."""


class TooLarge(InputError):
    """Raised when a file holds more text than it may."""


class TextFile:
    """A text file, read as a stream.

    Args:
        path: path of the file, compressed or not.
        limit: bytes of decompressed text, at most.
        longest_line: bytes of a line, at most.

    Attributes:
        facts: results of the first complete pass; None before.
    """

    def __init__(
        self, path: Path, *, limit: int = MAX_TEXT_BYTES, longest_line: int = MAX_TEXT_BYTES
    ) -> None:
        self.path = path
        self.facts: Facts | None = None
        self._limit, self._longest_line = limit, longest_line
        self._decoder = Decoder()
        self._seen: tuple[int, ...] | None = None

    @property
    def encoding(self) -> str:
        """The encoding so far: `utf-8`, `utf-16`, or `latin-1` after a line that is not UTF-8."""
        return self._decoder.encoding

    def pieces(self) -> Iterator[str]:
        """Yield the text in pieces of whole lines with their line ends; the last line may have
        none.

        Raises:
            InputError: missing, a folder, unreadable, cut short, too large, or changed.
        """
        return self._read(None)

    def lines(self, longest: int | None = None) -> Iterator[str]:
        """Yield the lines without their line ends.

        Args:
            longest: a line is cut after this many characters; what follows is not held in memory.

        Raises:
            InputError: as `pieces`.
        """
        for piece in self._read(longest):
            for line in piece.removesuffix("\n").split("\n"):
                yield line[:longest]

    def whole(self) -> str:
        """Return all of the text.

        Raises:
            InputError: as `pieces`.
        """
        return "".join(self.pieces())

    def is_blank(self) -> bool:
        """Whether the file has only white space; reads no further than the first piece with other
        text.

        Raises:
            InputError: as `pieces`.
        """
        return not any(piece.strip() for piece in self.pieces())

    def ends(self, length: int) -> str:
        """Return at most `length` bytes of the text, half from its beginning and half from its end,
        with a line end between them; what lies between is not read unless it is compressed.

        Raises:
            InputError: as `pieces`.
        """
        half = length // 4 * 2  # an even number, for UTF-16
        with self._opened() as file:
            stream = io.BufferedReader(file)
            if not stream.peek(2).startswith(_GZIP):
                size = stream.seek(0, os.SEEK_END)
                stream.seek(0)
                if size <= length:
                    return decode_text(stream.read())
                head = stream.read(half)
                stream.seek(size - half - size % 2)
                return f"{decode_text(head)}\n{decode_text(stream.read())}"
            inflated = gzip.GzipFile(fileobj=stream)
            head, tail, is_cut = inflated.read(half), b"", False
            while chunk := inflated.read(_CHUNK):
                is_cut = is_cut or len(tail) + len(chunk) > half
                tail = (tail + chunk)[-half:]
            if is_cut:
                return f"{decode_text(head)}\n{decode_text(tail)}"
            return decode_text(head + tail)

    def _read(self, longest: int | None) -> Iterator[str]:
        with self._opened() as file:
            self._recognise(os.fstat(file.fileno()))
            yield from self._decoded(_Hashed(file), longest)

    @contextmanager
    def _opened(self) -> Iterator[io.FileIO]:
        try:
            if self.path.is_dir():
                raise self._error("is a folder, not a file")
            if not self.path.exists():
                raise self._error("no such file")
            if not self.path.is_file():
                raise self._error("is not a regular file")
            with self.path.open("rb", buffering=0) as file:
                yield file
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._error(
                "cannot be read: the compressed file is cut short or damaged", hint="copy it again"
            ) from error
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror or error}") from error

    def _recognise(self, status: os.stat_result) -> None:
        seen = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if self._seen not in (None, seen):
            raise FileChanged(
                "changed while it was being checked",
                place=str(self.path),
                hint="run the check again when it is complete",
            )
        self._seen = seen

    def _decoded(self, hashed: _Hashed, longest: int | None) -> Iterator[str]:
        self._decoder = decoder = Decoder()
        ends_in_line = False
        stream = self._limited(_unpacked(hashed))
        for block in self._whole_lines(decoder.as_utf_8(stream), longest):
            if text := decoder.text(block):  # a mark alone is no line
                ends_in_line = not text.endswith("\n")
                yield text
        lines = decoder.newlines + (1 if ends_in_line else 0)
        self.facts = Facts(hashed.sha256.hexdigest(), hashed.size, lines, decoder.note)

    def _limited(self, stream: io.BufferedReader[_Hashed] | gzip.GzipFile) -> Iterator[bytes]:
        """Yield a head, by which the encoding is recognised, and then chunks."""
        total, wanted = 0, HEAD_BYTES
        while chunk := stream.read(wanted):
            total += len(chunk)
            if total > self._limit:
                raise TooLarge(
                    f"holds more than {self._limit >> 20} MiB of text",
                    place=str(self.path),
                    hint="split it",
                )
            yield chunk
            wanted = _CHUNK

    def _whole_lines(self, chunks: Iterable[bytes], longest: int | None) -> Iterator[bytes]:
        """Yield blocks of whole lines; if `longest` is given, no more of a long line than its
        beginning.
        """
        most = None if longest is None else longest * MOST_BYTES_OF_A_CHARACTER
        # Parts of a line whose end has not come yet, and the length of the whole line so far.
        held: list[bytes] = []
        length = 0
        for chunk in chunks:
            rest = chunk
            if most is not None and length > most and b"\n" in chunk:
                _, _, rest = chunk.partition(b"\n")
                yield _beginning(b"".join(held), most) + b"\n"
                held, length = [], 0
            end = rest.rfind(b"\n") + 1
            if end:
                yield b"".join([*held, rest[:end]])
                held, length = [], 0
            if most is None or length <= most:
                held.append(rest[end:])
            length += len(rest) - end
            if most is None and length > self._longest_line:
                raise self._error(
                    f"holds a line of more than {self._longest_line >> 20} MiB", hint="split it"
                )
        if length:
            whole = b"".join(held)
            yield whole if most is None or length <= most else _beginning(whole, most)

    def _error(self, problem: str, hint: str | None = None) -> InputError:
        return InputError(problem, place=str(self.path), hint=hint)


def unpacked_bytes(data: bytes, limit: int, where: str) -> bytes:
    """Return what a gzip file packs, recognised by its first bytes; other bytes as they are.

    Raises:
        InputError: it is cut short or damaged, or packs more than `limit` bytes.
    """
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(limit + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            "is a compressed file that is cut short or damaged", place=where, hint="copy it again"
        ) from error
    if len(unpacked) > limit:
        raise TooLarge(f"holds more than {limit >> 20} MiB of text", place=where, hint="split it")
    return unpacked


class _Hashed(io.RawIOBase):
    """Passes a file's bytes through, and counts and hashes them."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.size = 0

    def readable(self) -> bool:
        return True

    # The base class takes any writable buffer.
    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
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


def _beginning(line: bytes, length: int) -> bytes:
    """Return at most `length` bytes of a longer line, and no part of a UTF-8 character."""
    for end in range(length, max(0, length - MOST_BYTES_OF_A_CHARACTER), -1):
        if line[end : end + 1] and line[end] & 0xC0 != 0x80:  # a character begins here
            return line[:end]
    return line[:length]
