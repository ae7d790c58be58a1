"""Images and PDF files that a block carries beside its text."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from transom.canonical import Json, digest
from transom.errors import InputError

PDF = "application/pdf"
MOST_BYTES = 20_000_000
"""The largest image or file; a base64 text of it is what servers take in one request."""

# A file is recognized by its first bytes: its name may have any ending, and vendors refuse a
# request whose media type does not fit the bytes.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)
# Vendors scale an image down until it takes about so many tokens.
_IMAGE_TOKENS = 1_600
# A vendor reads a page as its text and as an image.
_PAGE_TOKENS = 3_000
_PAGE_BYTES = 50_000


@dataclass(frozen=True)
class Media:
    """An image or a PDF file, known by its digest.

    Attributes:
        media_type: `image/png`, `image/jpeg`, `image/gif`, `image/webp` or `application/pdf`.
        sha256: the digest of its bytes, in hex. A journal keeps the bytes under it, once.
        size: the number of its bytes.
        source: the bytes, or a function that reads them; None if they are elsewhere.
    """

    media_type: str
    sha256: str
    size: int
    source: bytes | Callable[[], bytes] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Return the media of some bytes.

        Raises:
            InputError: the bytes are no image or PDF file that models take, or too many.
        """
        if len(data) > MOST_BYTES:
            raise InputError(
                f"it has {len(data):,} bytes, and a model takes at most {MOST_BYTES:,}",
                hint="make the image smaller, or give the pages that count",
            )
        return cls(_media_type(data), digest(data), len(data), data)

    @classmethod
    def from_json(
        cls, data: Mapping[str, Any], read: Callable[[str], bytes] | None = None
    ) -> Media:
        """Return the media that `to_json` wrote.

        Args:
            data: its JSON.
            read: returns the bytes of a digest; None if the bytes are not needed.
        """
        sha256 = str(data["sha256"])
        source = None if read is None else lambda: read(sha256)
        return Media(str(data["media_type"]), sha256, int(data["size"]), source)

    @property
    def is_image(self) -> bool:
        """Whether it is an image; else it is a file."""
        return self.media_type != PDF

    @property
    def data(self) -> bytes:
        """Its bytes.

        Raises:
            InputError: it was read from a journal or a recording, without its bytes.
        """
        if self.source is None:
            raise InputError(f"the bytes of {self.text} are not here", hint="read the file again")
        return self.source if isinstance(self.source, bytes) else self.source()

    @property
    def base64(self) -> str:
        """Its bytes as base64 text."""
        return base64.b64encode(self.data).decode("ascii")

    @property
    def text(self) -> str:
        """One line for people and for models: its kind, size and digest."""
        return f"[{self.media_type}, {self.size:,} bytes, sha256 {self.sha256[:16]}]"

    @property
    def tokens(self) -> int:
        """An upper-side estimate of the tokens that a model reads it as."""
        if self.is_image:
            return _IMAGE_TOKENS
        return _PAGE_TOKENS * -(-self.size // _PAGE_BYTES)

    def to_json(self) -> dict[str, Json]:
        """Return its reference as JSON, without the bytes."""
        return {"media_type": self.media_type, "sha256": self.sha256, "size": self.size}


def read_file(path: Path) -> tuple[str, Media | None]:
    """Return the text of a text file; of an image or a PDF file its line, and the media.

    Raises:
        InputError: the file cannot be read, or is neither text, an image, nor a PDF file.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
        raise InputError(problem, place=str(path), hint="give the path of a file") from error
    # A text is tried first only if nothing says otherwise: a PDF file may be all ASCII.
    if not _signature(data):
        try:
            return data.decode("utf-8"), None
        except UnicodeDecodeError:
            pass
    try:
        media = Media.of(data)
    except InputError as error:
        error.place = str(path)
        raise
    return media.text, media


def _media_type(data: bytes) -> str:
    media_type = _signature(data)
    if not media_type:
        raise InputError(
            "it is no PNG, JPEG, GIF, WebP or PDF file",
            hint="convert it; put text into the text of a Block",
        )
    return media_type


def _signature(data: bytes) -> str:
    """Return the media type that the first bytes say, or ""."""
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    # A RIFF file says what it holds after its length.
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return ""
