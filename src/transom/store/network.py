"""Which file system a path lies on: SQLite's WAL needs shared memory that network file systems do not give."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
_IN_KERNEL = """
9p acfs afs beegfs ceph cifs coda davfs fhgfs gfs gfs2 glusterfs gpfs lustre mfs ncpfs nfs nfs4 ocfs2 orangefs panfs
prl_fs pvfs2 smb2 smb3 smbfs vboxsf vmhgfs wekafs
"""
_THROUGH_FUSE = """
beegfs ceph ceph-fuse curlftpfs davfs2 gcsfuse glusterfs juicefs mfs moosefs rclone s3fs seaweedfs smbnetfs sshfs
vmhgfs-fuse
"""
_NETWORK = frozenset(_IN_KERNEL.split()) | {f"fuse.{name}" for name in _THROUGH_FUSE.split()}


def filesystem_of(path: Path, mountinfo: str | None = None) -> str:
    """Type of the file system that holds `path`, e.g. `ext4` or `nfs4`.

    Args:
        path: need not exist; links are followed as far as it does.
        mountinfo: text in the format of /proc/self/mountinfo (man 5 proc); read from there by default.

    Returns:
        The kernel's name of the type; "" where it cannot be told (no /proc, no mount found).
    """
    mountinfo = _mounts() if mountinfo is None else mountinfo
    target = f"{path.resolve()}/"
    best, longest = "", 0
    for line in mountinfo.splitlines():
        folder, kind = _parse(line)
        # Of the folders above one path the deepest has the longest name. "Or equal": of two mounts on one folder the
        # later one covers the earlier.
        if kind and target.startswith(folder) and len(folder) >= longest:
            best, longest = kind, len(folder)
    return best


def is_network(path: Path, mountinfo: str | None = None) -> bool:
    """Whether `path` lies on a file system that other machines may write to, or that is served over a network."""
    mountinfo = _mounts() if mountinfo is None else mountinfo
    kinds = {line.partition(" - ")[2].partition(" ")[0] for line in mountinfo.splitlines()}
    return not kinds.isdisjoint(_NETWORK) and filesystem_of(path, mountinfo) in _NETWORK  # mostly there is none at all


def _mounts() -> str:
    """How things are mounted; "" where that cannot be told."""
    try:
        # surrogateescape: a mount point's name may be any bytes, as a path's may.
        return _MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _parse(line: str) -> tuple[str, str]:
    """The folder that something is mounted on, with a slash at its end, and its type; "" where the line is none."""
    # 36 35 98:0 /root /mount/point rw,noatime [optional fields] - ext3 /dev/root rw
    left, _, right = line.partition(" - ")
    fields, kind = left.split(" "), right.split(" ")[0]
    if len(fields) < 6:
        return "", ""
    folder = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4]) if "\\" in fields[4] else fields[4]
    return f"{folder.rstrip('/')}/", kind
