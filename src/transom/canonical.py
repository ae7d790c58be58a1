"""Canonical JSON: equal values give equal text and digests on every machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import orjson
from pydantic import BaseModel, JsonValue

Json: TypeAlias = JsonValue


def canonical_json(value: object) -> str:
    """Encode as JSON with sorted keys and without spaces; pydantic models by their aliases.

    Raises:
        TypeError, ValueError, RecursionError: for values that JSON cannot express (sets, NaN,
            cycles, ...).
    """
    encoded = _encode_fast(value, _SORTED, _model)
    if encoded is None:
        return _SORTING.encode(value)
    return encoded.decode()


def compact_json(value: object) -> str:
    """Encode plain values as JSON without spaces, keys in the order given; unpaired surrogates are
    escaped.

    Raises:
        TypeError, ValueError, RecursionError: as `canonical_json`, and for models.
    """
    encoded = _encode_fast(value, _UNSORTED, None)
    if encoded is None:
        encoded = _encode_in_order(value)
    return encoded.decode()


def compact_bytes(value: object) -> bytes:
    """Encode plain values as `compact_json` does, in UTF-8, for texts that are only decoded again.

    A fraction below 0.0001 may have another form, `0.00002` or `2e-05`. Nobody compares these
    texts, and to look for such fractions costs more than to encode the value.
    """
    try:
        encoded = orjson.dumps(value, None, _UNSORTED)
    except TypeError:
        return _encode_in_order(value)
    # A null may stand for NaN.
    return _encode_in_order(value) if b"null" in encoded else encoded


def _encode_in_order(value: object) -> bytes:
    return _IN_ORDER.encode(value).encode("utf-8", "backslashreplace")


def _encode_fast(
    value: object, options: int, default: Callable[[object], object] | None
) -> bytes | None:
    """Encode with orjson, which is faster than the standard library; None if the standard library
    must do it.

    Both write the same, except that orjson has no integers beyond 64 bits, only text keys and no
    unpaired surrogates, writes `null` for NaN, which JSON does not have, and formats fractions of
    1e-5 to 1e-9 differently.
    """
    try:
        encoded = orjson.dumps(value, default, options)
    except TypeError:
        return None
    # A null may stand for NaN, and small fractions may be formatted differently. Looking for their
    # traces in the bytes costs less than walking through the value.
    if b"null" in encoded or b"0.0000" in encoded:
        return None
    # Few texts have a minus sign, and one byte is found far more quickly than two.
    if b"-" in encoded and b"e-" in encoded and _SMALL.search(encoded):
        return None
    return encoded


def _model(value: object) -> object:
    """Convert a value that JSON cannot express, for an encoder."""
    return plain(value) if isinstance(value, BaseModel) else _word(value)


def _word(value: object) -> object:
    """Convert a type that orjson supports by itself, for the standard library's encoder."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_SMALL = re.compile(rb"\de-\d\b")
_UNSORTED = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
_SORTED = _UNSORTED | orjson.OPT_SORT_KEYS
_SORTING = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_model
)
_IN_ORDER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_word
)

quoted: Callable[[str], str] = json.encoder.encode_basestring
"""Encode a text as canonical JSON."""


def pretty_json(value: object) -> str:
    """Encode as JSON for people and files: two spaces, keys in the order given, a final newline."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def plain(value: object) -> object:
    """Convert pydantic models, also nested ones, to plain JSON values."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def whole_text(text: str) -> str:
    """Join pairs of surrogates, and replace single ones by U+FFFD, since files and servers
    reject them.
    """
    # Most texts are, and the conversion costs more than the question.
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_texts(value: Json) -> Json:
    """Do the same for every text in a value."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(name): whole_texts(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [whole_texts(inner) for inner in value]
    return value


def digest(value: object) -> str:
    """Return the SHA-256 in hex: of bytes as they are, of text as UTF-8, of anything else as
    canonical JSON.
    """
    match value:
        case str():
            data = value.encode("utf-8", "surrogatepass")
        case bytes():
            data = value
        case _:
            encoded = _encode_fast(value, _SORTED, _model)
            if encoded is None:
                encoded = _SORTING.encode(value).encode("utf-8", "surrogatepass")
            data = encoded
    return hashlib.sha256(data).hexdigest()


def write_atomic(path: Path, data: bytes) -> None:
    """Write a temporary file, sync, rename, sync the folder: readers see the old or the new file,
    never a part.

    Raises:
        OSError: no space, no permission; the old file is unchanged and the temporary file is
            removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, since a rename across file systems is a copy.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner can read.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
        sync_folder(path.parent)
    # Also on Ctrl-C: no temporary file is left behind.
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename survives a power loss and synced records never refer to a
    missing file.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
