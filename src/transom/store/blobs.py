"""Blobs as both databases keep them: compressed, under the digest of their bytes."""

from __future__ import annotations

import asyncio
import hashlib
import zlib

_INLINE_BYTES = 64 * 1024  # compressing more than this would block the event loop


def sha_of(data: bytes) -> str:
    """Return the key of a blob."""
    return hashlib.sha256(data).hexdigest()


async def packed(data: bytes) -> bytes:
    """Return a blob as its row has it."""
    if len(data) <= _INLINE_BYTES:
        return zlib.compress(data)
    return await asyncio.to_thread(zlib.compress, data)
