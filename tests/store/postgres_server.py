"""A PostgreSQL server for tests: a cluster of its own in a temporary folder."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import psycopg

from transom.store import PostgresAddress, Store
from transom.store.postgres.store import PostgresStore

_ACCOUNT = "postgres"  # what runs as root must start the server as another user
_PORT = 55_432
_DEBIAN = Path("/usr/lib/postgresql")


def why_no_server() -> str:
    """Return why no server can be started here; "" if one can."""
    if _programs() is None:
        return "PostgreSQL is not installed; run as root: apt-get install -y postgresql"
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            return "setpriv is not installed; run as root: apt-get install -y util-linux"
        try:
            pwd.getpwnam(_ACCOUNT)
        except KeyError:
            return f"there is no user {_ACCOUNT}, and PostgreSQL does not run as root"
    return ""


def _programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`: Debian's is not on the PATH."""
    found = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return Path(program).resolve().parent if program else None


class Server:
    """A running server; its address is a folder with a socket, or a host."""

    def __init__(
        self, folder: Path, programs: Path, host: str = "", most_connections: int = 100
    ) -> None:
        self.folder = folder
        self.host = host
        self.most_connections = most_connections
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Create the cluster."""
        if os.getuid() == 0:
            shutil.chown(self.folder, _ACCOUNT, _ACCOUNT)
        options = ["-A", "trust", "-U", _ACCOUNT, "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [*self._as_user(), self._programs / "initdb", "-D", self.folder / "data", *options],
            check=True,
            capture_output=True,
            cwd="/",
        )
        if self.host:
            with (self.folder / "data" / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 10.0.0.0/8 trust\n")

    def start(self) -> None:
        """Start the server; it ends with this process, whatever happens to that."""
        settings = {
            "listen_addresses": self.host,
            "port": str(_PORT),
            "unix_socket_directories": str(self.folder),
            "fsync": "off",  # no test cuts the power
            "max_connections": str(self.most_connections),
            "shared_buffers": "16MB",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *self._as_user(),
                    self._programs / "postgres",
                    "-D",
                    self.folder / "data",
                    *options,
                ],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    text = (self.folder / "log").read_text(errors="replace")
                    raise AssertionError(f"PostgreSQL did not start:\n{text[-2000:]}") from None
                time.sleep(0.05)

    @property
    def pid(self) -> int:
        """Number of the server's process."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """End the server at once, as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the server, and all its connections."""
        assert self._process is not None
        self._process.send_signal(3)  # SIGQUIT: an immediate shutdown
        self._process.wait(timeout=60)

    def url(self, database: str = "postgres", schema: str = "") -> str:
        options = f"&options=-csearch_path%3D{schema}" if schema else ""
        host = self.host or self.folder
        return f"postgresql:///{database}?host={host}&port={_PORT}&user={_ACCOUNT}{options}"

    def fresh_address(self) -> PostgresAddress:
        """Return the address of a new, empty schema."""
        schema = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")  # type: ignore[arg-type,unused-ignore]
        return PostgresAddress(self.url(schema=schema))

    def _as_user(self) -> list[str]:
        words = ["setpriv", "--pdeathsig", "QUIT"] if shutil.which("setpriv") else []
        if os.getuid() == 0:
            words += [f"--reuid={_ACCOUNT}", f"--regid={_ACCOUNT}", "--clear-groups"]
        return words


@contextmanager
def running_server(host: str = "", most_connections: int = 100) -> Iterator[Server]:
    """Start a server in a temporary folder, which the server's user can enter.

    Args:
        host: an address of this machine to listen on, for hosts in 10.0.0.0/8.
        most_connections: the number of clients that the server takes at once.
    """
    programs = _programs()
    assert programs is not None
    folder = Path(mkdtemp(prefix="transom-pg-"))
    server = Server(folder, programs, host, most_connections)
    try:
        server.prepare()
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def open_at(path: Path) -> Store:
    """Open the store whose address a file has."""
    return PostgresStore.open(PostgresAddress(path.read_text(encoding="utf-8")))
