"""File system of a path: SQLite's WAL needs shared memory, which network file systems do not
support.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
# 36 35 98:0 /root /mount/point rw,noatime [optional fields] - ext3 /dev/root rw
_MOUNT = re.compile(r"^(?:[^ \n]+ ){4}([^ \n]+) .*? - ([^ \n]+)", re.MULTILINE)
_ESCAPED = re.compile(r"\\([0-7]{3})")
_IN_KERNEL = """
9p acfs afs beegfs ceph cifs coda davfs fhgfs gfs gfs2 glusterfs gpfs lustre mfs ncpfs nfs nfs4
ocfs2 orangefs panfs prl_fs pvfs2 smb2 smb3 smbfs vboxsf vmhgfs wekafs
"""
_THROUGH_FUSE = """
beegfs ceph ceph-fuse curlftpfs davfs2 gcsfuse glusterfs juicefs mfs moosefs rclone s3fs
seaweedfs smbnetfs sshfs vmhgfs-fuse
"""
_is_network_device: dict[int, bool] = {}
"""Whether a file system, by its device number, is on a network."""
_NETWORK = frozenset(_IN_KERNEL.split()) | {f"fuse.{name}" for name in _THROUGH_FUSE.split()}


def filesystem_of(path: Path, mountinfo: str | None = None) -> str:
    """Return the type of the file system of `path`, e.g. `ext4` or `nfs4`.

    Args:
        path: a path, which need not exist; links are followed.
        mountinfo: text in the format of /proc/self/mountinfo (man 5 proc); read from there by
            default.

    Returns:
        The kernel's name of the type; "" if unknown (no /proc, no mount found).
    """
    if mountinfo is None:
        try:
            # surrogateescape: the name of a mount point may have any bytes, like a path.
            mountinfo = _MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    mounts = _types_of_mounts(mountinfo)
    # The deepest folder above a path that is a mount point is the mount of the path.
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents):
        if kind := mounts.get(str(folder)):
            return kind
    return ""


@lru_cache(maxsize=4)  # each conversation of a process asks, and mounts hardly ever change
def _types_of_mounts(mountinfo: str) -> dict[str, str]:
    """Return the type of the file system on each mount point."""
    mounts: dict[str, str] = {}
    for folder, kind in _MOUNT.findall(mountinfo):
        # A later mount on the same folder hides the earlier.
        mounts[_ESCAPED.sub(lambda code: chr(int(code[1], 8)), folder)] = kind
    return mounts


def is_network(path: Path, mountinfo: str | None = None) -> bool:
    """Whether `path` is on a network or cluster file system."""
    if mountinfo is not None:
        return filesystem_of(path, mountinfo) in _NETWORK
    # The kernel writes its list of mounts anew for each reader, which costs as much as opening a
    # database. A file system has one type, so it is looked up once for each.
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents):
        try:
            device = folder.stat().st_dev
        except OSError:  # it does not exist yet
            continue
        if device not in _is_network_device:
            _is_network_device[device] = filesystem_of(folder) in _NETWORK
        return _is_network_device[device]
    return False
