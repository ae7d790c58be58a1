"""Text files line by line, for callers that show parts of them; `text_files` reads them whole."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, AnyStr

from transom.errors import InputError
from transom.formats.text_files import clean

_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class TextLines:
    """The lines of a text file, one at a time without line ends, numbered as in `TextFile`.

    Args:
        path: path of the file, compressed or not.
        longest: a line is cut after this many characters, so that a file without line ends cannot
            fill the memory.

    Attributes:
        encoding: the encoding so far: `utf-8`, `utf-16`, or `latin-1` after a line that is not
            UTF-8.
    """

    def __init__(self, path: Path, longest: int | None = None) -> None:
        self.encoding = "utf-8"
        self._path = path
        self._longest = longest

    def __iter__(self) -> Iterator[str]:
        """Read from the beginning.

        Raises:
            InputError: the file cannot be read, or its compressed stream is cut short or damaged.
        """
        try:
            if self._path.exists() and not self._path.is_file():
                raise InputError("is not a regular file", where=str(self._path))
            with _opened(self._path) as stream:
                mark = stream.peek(len(_UTF_8_MARK))
                yield from (
                    self._wide(stream) if mark.startswith(_UTF_16_MARKS) else self._narrow(stream)
                )
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
                text = (
                    line.decode() if most is None or len(line) <= most else _beginning(line[:most])
                )
            except UnicodeDecodeError:
                self.encoding, text = "latin-1", line.decode("latin-1")
            yield clean(text[: self._longest])

    def _wide(self, stream: io.BufferedReader) -> Iterator[str]:
        self.encoding = "utf-16"
        with io.TextIOWrapper(stream, encoding="utf-16", errors="replace", newline="\n") as wide:
            while piece := wide.readline(_CHUNK):
                line = piece if piece.endswith("\n") else _rest(wide, piece, "\n", self._longest)
                yield clean(line.removesuffix("\r\n").removesuffix("\n")[: self._longest])


def _opened(path: Path) -> io.BufferedReader:
    stream = path.open("rb")
    if stream.peek(len(_GZIP)).startswith(_GZIP):
        return io.BufferedReader(_Inflated(stream))
    return stream


class _Inflated(gzip.GzipFile):
    """A decompressed stream that also closes the file beneath it."""

    def __init__(self, beneath: io.BufferedReader) -> None:
        super().__init__(fileobj=beneath)
        self._beneath = beneath

    def close(self) -> None:
        super().close()
        self._beneath.close()


def _rest(stream: IO[AnyStr], piece: AnyStr, newline: AnyStr, most: int | None) -> AnyStr:
    """Return a line from its first piece to its end; text beyond `most` is read and dropped."""
    pieces, kept = [piece], len(piece)
    while piece := stream.readline(_CHUNK):
        if most is None or kept <= most:
            pieces.append(piece)
            kept += len(piece)
        if piece[-1:] == newline:
            break
    return newline[:0].join(pieces)


def _beginning(data: bytes) -> str:
    """Decode bytes that may end within a character."""
    return codecs.getincrementaldecoder("utf-8")().decode(data)
