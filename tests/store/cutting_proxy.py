"""A proxy before a PostgreSQL server that cuts connections at a chosen moment."""

from __future__ import annotations

import shutil
import socket
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread
from typing import Self

_SOCKET = ".s.PGSQL.55432"
_COMMIT = b"COMMIT"
# The server's answer to a commit: the message CommandComplete.
_COMMITTED = b"COMMIT\0"


class CuttingProxy:
    """A socket in a folder of its own, which leads to the server's.

    Attributes:
        folder: the folder, for the address of the database.
        cuts: number of connections cut at a commit so far.
    """

    def __init__(self, server: Path, *, forward_first: bool = False) -> None:
        """Listen.

        Args:
            server: the folder of the server's socket.
            forward_first: whether the server gets the commit and does it, and only its answer is
                lost.
        """
        self.folder = Path(mkdtemp(prefix="transom-cut-"))
        self.cuts = 0
        self._server = server
        self._forward_first = forward_first
        self._armed = Event()
        self._refusing = Event()
        self._connections: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.folder / _SOCKET))
        self._listener.listen()
        Thread(target=self._accept, daemon=True).start()

    def cut_next_commit(self) -> None:
        """Cut the next connection that commits."""
        self._armed.set()

    def refuse(self) -> None:
        """Cut all connections, and every new one."""
        self._refusing.set()
        for connection in self._connections:
            _cut(connection)

    def accept(self) -> None:
        """Let connections through again."""
        self._refusing.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._refusing.set()
        self._listener.close()
        for connection in self._connections:
            _cut(connection)
            connection.close()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                self._connections += [client, server]
                if self._refusing.is_set():
                    _cut(client)
                    continue
                server.connect(str(self._server / _SOCKET))
                Thread(target=self._to_server, args=(client, server), daemon=True).start()
                Thread(target=self._to_client, args=(server, client), daemon=True).start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self._armed.is_set() and _COMMIT in data and not self._forward_first:
                    self._cut_both(client, server)
                    return
                server.sendall(data)
        _cut(server)

    def _to_client(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if self._armed.is_set() and _COMMITTED in data and self._forward_first:
                    self._cut_both(client, server)
                    return
                client.sendall(data)
        _cut(client)

    def _cut_both(self, client: socket.socket, server: socket.socket) -> None:
        self._armed.clear()
        self.cuts += 1
        _cut(client)
        _cut(server)


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
