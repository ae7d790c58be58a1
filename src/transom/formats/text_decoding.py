"""The encoding of a text: how it is recognised, and the text that its bytes mean."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Final

HEAD_BYTES: Final = 512  # bytes by which the encoding is recognised
_SHORTEST_UNMARKED: Final = 8  # bytes
_MARK: Final = "\ufeff"
_REPLACED: Final = "\ufffd"
MOST_BYTES_OF_A_CHARACTER: Final = 4
# str.splitlines() splits at these, editors and grep do not: form feeds are common in reports.
_NO_LINE_ENDS: Final = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_SPACES: Final = str.maketrans(dict.fromkeys(_NO_LINE_ENDS, " "))


def decode_text(data: bytes) -> str:
    """Return the text of a file's bytes, decoded as `TextFile` decodes them; not decompressed."""
    decoder = Decoder()
    return decoder.text(b"".join(decoder.as_utf_8([data])))


class Decoder:
    """The encoding of one text, as far as it was read.

    Attributes:
        encoding: `utf-8`, `utf-16`, or `latin-1` after a line that is not UTF-8.
        newlines: number of line ends so far.
    """

    def __init__(self) -> None:
        self.encoding = "utf-8"
        self.newlines = 0
        self._odd_lines = 0
        self._first_odd = ""

    @property
    def note(self) -> str | None:
        """The encoding in words, if it is unusual."""
        if self.encoding == "utf-16":
            damaged = f", with damaged characters ({self._first_odd})" if self._odd_lines else ""
            return f"read as UTF-16{damaged}"
        if not self._odd_lines:
            return None
        if self._odd_lines == 1:
            return f"is not UTF-8 ({self._first_odd}); read as Latin-1"
        lines = f"{self._odd_lines} lines (first: {self._first_odd})"
        return f"is not UTF-8 in {lines}; read as Latin-1"

    def as_utf_8(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks in an encoding that keeps ASCII, so that a line ends at each `\\n`."""
        convert: codecs.IncrementalDecoder | None = None
        for number, chunk in enumerate(chunks):
            wide = _wide_encoding(chunk[:HEAD_BYTES]) if number == 0 else None
            if wide is not None:
                self.encoding = "utf-16"
                convert = codecs.getincrementaldecoder(wide)("replace")
            yield chunk if convert is None else convert.decode(chunk).encode()
        if convert is not None:
            yield convert.decode(b"", final=True).encode()

    def text(self, block: bytes) -> str:
        """Return the text of a block of whole lines."""
        try:
            text = block.decode()
        except UnicodeDecodeError:
            lines = enumerate(block.split(b"\n"), self.newlines + 1)
            text = "\n".join(self._line(line, number) for number, line in lines)
        if self.encoding == "utf-16" and _REPLACED in text:
            self._count_damaged(text)
        self.newlines += block.count(b"\n")
        # Files that were joined have their marks at the beginnings of lines.
        if _MARK in text:
            text = text.removeprefix(_MARK).replace(f"\n{_MARK}", "\n")
        return clean(text)

    def _line(self, line: bytes, number: int) -> str:
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            self.encoding = "latin-1"
            self._count(f"byte 0x{line[error.start]:02x} in line {number}")
            return line.decode("latin-1")

    def _count_damaged(self, text: str) -> None:
        for number, line in enumerate(text.split("\n"), self.newlines + 1):
            if _REPLACED in line:
                self._count(f"line {number}")

    def _count(self, place: str) -> None:
        self._odd_lines += 1
        self._first_odd = self._first_odd or place


def _wide_encoding(head: bytes) -> str | None:
    """Return the encoding of a text that has two bytes for each ASCII character, or None."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(head) < _SHORTEST_UNMARKED:
        return None
    # In ASCII text the high byte of each pair is zero, and the low one never is.
    most = 3 * len(head) // 8
    first, second = head[0::2].count(0), head[1::2].count(0)
    if second >= most and first == 0:
        return "utf-16-le"
    if first >= most and second == 0:
        return "utf-16-be"
    return None


def clean(text: str) -> str:
    """Return the text with `\n` as its only line end; a piece must not end between `\r` and
    `\n`.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    # Searching for nine characters is much faster than translating.
    if any(character in text for character in _NO_LINE_ENDS):
        return text.translate(_SPACES)
    return text
