"""Logs and reports as tools leave them: compressed or not, in whatever encoding, with whatever line ends.

The text that comes out has `\\n` as its only line end, whichever way it is split, so that a line number means the same
line to an atom, to a person's editor and to this program.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

from transom.errors import InputError

MAX_TEXT_BYTES = 256 << 20
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
# str.splitlines() breaks lines at these, editors and grep do not: form feeds are common in reports.
_NO_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))


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
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
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
