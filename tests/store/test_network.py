from __future__ import annotations

from pathlib import Path

import pytest

from transom.store import filesystem_of, is_network, network

MOUNTS = r"""
21 27 0:19 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
31 27 0:27 / /homes rw,relatime shared:20 master:3 - autofs /etc/auto.home rw,fd=7,pgrp=1,timeout=300,indirect
40 31 0:52 / /homes/ada rw,relatime shared:21 - nfs4 filer:/vol/homes/ada rw,vers=4.1,rsize=1048576,hard,proto=tcp
41 27 0:53 / /proj/chip\040one rw,relatime - nfs filer:/vol/chip\040one rw,vers=3
42 27 0:54 / /mnt/win rw,relatime shared:30 - cifs //server/share rw,vers=3.1.1
43 27 0:55 / /mnt/ssh rw,nosuid,nodev,relatime shared:31 - fuse.sshfs ada@host:/ rw,user_id=1000
44 27 0:56 / /scratch rw,relatime - lustre 10.0.0.1@o2ib:/scratch rw,flock
45 44 8:17 / /scratch/local rw,relatime - xfs /dev/sdb1 rw
46 27 0:57 / /mnt/c rw,noatime - 9p C:\134 rw,dirsync,aname=drvfs
47 27 0:58 / /data rw - nfs4 filer:/data rw
48 27 8:33 / /data rw,relatime - btrfs /dev/sdc1 rw
49 27 0:60 / /mnt/zip rw - fuse.archivemount archive rw
half a line
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/", "ext4", False),
        ("/srv/.transom", "ext4", False),
        ("/homes/ada/work", "nfs4", True),
        ("/homes/bob", "autofs", False),
        ("/homes/adam", "autofs", False),
        ("/proj/chip one/.transom", "nfs", True),
        ("/proj/chip", "ext4", False),
        ("/mnt/win/x", "cifs", True),
        ("/mnt/ssh", "fuse.sshfs", True),
        ("/scratch/x", "lustre", True),
        ("/scratch/local/x", "xfs", False),
        ("/mnt/c/Users", "9p", True),
        ("/data/x", "btrfs", False),
        ("/mnt/zip/x", "fuse.archivemount", False),
    ],
)
def test_the_mount_that_holds_a_path(path: str, kind: str, network: bool) -> None:
    assert filesystem_of(Path(path), MOUNTS) == kind
    assert is_network(Path(path), MOUNTS) is network


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/scratch")
    assert filesystem_of(tmp_path / "link" / "not there yet", MOUNTS) == "lustre"


def test_this_machine_has_an_answer(tmp_path: Path) -> None:
    assert filesystem_of(Path("/proc/self")) == "proc"
    mounts = [
        line.split(" ")[4]
        for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    ]
    if "/" in mounts:  # a folder that is the root of a chroot is none
        assert filesystem_of(tmp_path) not in ("", "proc")
    assert not is_network(Path("/proc"))


def test_no_mounts_no_answer() -> None:
    assert filesystem_of(Path("/x"), "") == ""
    assert not is_network(Path("/x"), "")


def test_a_file_system_is_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that leads into another one by a link says nothing of the folder of the link."""
    looked_up: list[Path] = []

    def record(path: Path) -> str:
        looked_up.append(path)
        return "nfs4" if path.is_relative_to("/proc") else "ext4"

    monkeypatch.setattr(network, "filesystem_of", record)
    monkeypatch.setattr(network, "_is_network_device", {})
    (tmp_path / "link").symlink_to("/proc/self")
    assert is_network(tmp_path / "link" / "not there yet")
    assert not is_network(tmp_path / "not there yet" / "either")
    assert not is_network(tmp_path)
    assert is_network(Path("/proc"))
    assert len(looked_up) == 2
