"""Hosts in network namespaces, each with a cable to a bridge that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import Self


def why_no_network() -> str:
    """Return why no namespaces can be made here; "" if they can."""
    if os.getuid() != 0:
        return "only root can make network namespaces"
    if shutil.which("ip") is None:
        return "ip is not installed; run as root: apt-get install -y iproute2"
    name = f"tr{os.getpid()}t"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"no namespace can be made: {done.stderr.strip()}"
    ip("netns", "del", name)
    return ""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass
class Host:
    """A namespace, and the cable that leads to it.

    Attributes:
        name: the namespace.
        cable: the end of the cable at the bridge.
        is_cut: whether the cable is cut.
    """

    name: str
    cable: str
    is_cut: bool = False

    @property
    def prefix(self) -> list[str]:
        """What stands before a command that runs on this host."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        ip("link", "set", self.cable, "down")
        self.is_cut = True

    def mend(self) -> None:
        ip("link", "set", self.cable, "up")
        self.is_cut = False


@dataclass
class Network:
    """A bridge with an address, and hosts that reach it.

    Attributes:
        hosts: the hosts.
        address: the address of this machine for the hosts.
    """

    hosts: list[Host] = field(default_factory=list)
    address: str = ""
    bridge: str = ""

    @classmethod
    def of(cls, count: int) -> Self:
        """Make a number of hosts; `close` removes them."""
        number = os.getpid() % 65_000
        subnet = f"10.{200 + number // 256 % 50}.{number % 256}"
        network = cls(address=f"{subnet}.1", bridge=f"tr{number}b")
        try:
            ip("link", "add", network.bridge, "type", "bridge")
            ip("addr", "add", f"{network.address}/24", "dev", network.bridge)
            ip("link", "set", network.bridge, "up")
            for index in range(count):
                host = Host(f"tr{number}n{index}", f"tr{number}v{index}")
                ip("netns", "add", host.name)
                network.hosts.append(host)
                inner = f"tr{number}w{index}"
                ip("link", "add", host.cable, "type", "veth", "peer", "name", inner)
                ip("link", "set", inner, "netns", host.name)
                ip("link", "set", host.cable, "master", network.bridge, "up")
                ip("-n", host.name, "addr", "add", f"{subnet}.{index + 2}/24", "dev", inner)
                ip("-n", host.name, "link", "set", inner, "up")
                ip("-n", host.name, "link", "set", "lo", "up")
        except BaseException:
            network.close()
            raise
        return network

    def close(self) -> None:
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False)
