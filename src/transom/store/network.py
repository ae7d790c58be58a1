"""Which file system a path lies on: SQLite's WAL needs shared memory that network file systems do not give."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTINFO = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")
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
    if mountinfo is None:
        try:
            # surrogateescape: a mount point's name may be any bytes, as a path's may.
            mountinfo = _MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    target, best, longest = f"{path.resolve()}/", "", 0
    for line in mountinfo.splitlines():
        # 36 35 98:0 /root /mount/point rw,noatime [optional fields] - ext3 /dev/root rw
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 6:
            continue
        folder = f"{_ESCAPED.sub(lambda code: chr(int(code[1], 8)), fields[4]).rstrip('/')}/"
        # Of the folders above one path the deepest has the longest name. "Or equal": of two mounts on one folder the
        # later one covers the earlier.
        if target.startswith(folder) and len(folder) >= longest:
            best, longest = right.partition(" ")[0], len(folder)
    return best


def is_network(path: Path, mountinfo: str | None = None) -> bool:
    """Whether `path` lies on a file system that other machines may write to, or that is served over a network."""
    return filesystem_of(path, mountinfo) in _NETWORK
