"""Room on a disk, for messages about a write that failed."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of a used up quota."""
_PIECE = bytes(64 << 10)
# The write-ahead log of a store is as long.
_SMALL_ROOM = 1 << 20


def has_no_room(place: Path, needed: int = _SMALL_ROOM) -> bool:
    """Return whether a disk cannot take `needed` bytes in a new file.

    What a disk has free is not what this user may write: quotas and reserved blocks are only met
    by a write, so a file is written, and removed, where the numbers say that there is room.

    Args:
        place: a file or folder, which may be missing: the nearest folder above it counts.
        needed: bytes.
    """
    folder = place if place.is_dir() else place.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        disk = os.statvfs(folder)
        if disk.f_flag & os.ST_RDONLY:
            return False  # such a disk may have nothing free, and needs nothing
        # Some file systems on a network report no blocks, and those that make inodes as they need
        # them report no inodes.
        is_full = bool(disk.f_blocks) and disk.f_bavail * disk.f_frsize < needed
        if is_full or (disk.f_files and not disk.f_favail):
            return True
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            for _ in range(0, needed, len(_PIECE)):
                probe.write(_PIECE)
            os.fsync(probe.fileno())
    except OSError as error:
        # A folder that cannot be written, or a broken disk, says nothing about room.
        return error.errno in NO_ROOM
    return False
