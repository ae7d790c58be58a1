"""Run `make demo` and `make test` on a bare Debian 12, as a new user of the repository would.

    python -m scripts.fresh                        the four combinations; prints a table
    python -m scripts.fresh --only root-closed     one of them; may be given several times
    python -m scripts.fresh --tests "tests/cli"    the words that `make test` gets as TESTS
    python -m scripts.fresh --keep                 keep the root folders

The combinations: as root or as an ordinary user; with namespaces, or with namespaces forbidden, as
in a usual container (`closed`). Each one begins with a fresh clone of the last commit in a copy of
a root folder that debootstrap makes, with `git` and `make` and no Python. If a command says what
root must type, root types it, and the command is run again.

It needs root. The mirror comes from apt's sources on this machine. This machine's settings of apt
and pip are copied in, with the certificates that they name. Logs are in build/fresh/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "fresh"
RELEASE = "bookworm"
PACKAGES = "make,git"
USER = "ada"
CLONE = "transom"

_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
_PASSED_ON = re.compile(
    r"PIP_\w+|(https?|ftp|no|all)_proxy|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE",
    re.IGNORECASE,
)
_APT_SETTINGS = re.compile(r"Acquire::(https?|ftp|Check-|Retries|ForceIPv)")
_ADVICE = re.compile(r"^setup: .*run as root: (apt-get install -y [\w.+ -]+)$", re.MULTILINE)
_HEADING = re.compile(r"^== (\w+): ", re.MULTILINE)
_NOT_SHOWN = re.compile(r"^transom: (\w+) is not shown", re.MULTILINE)
_LEVEL = re.compile(r"at sandbox level (L\d)")
_TESTS = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")
_HEAD = ("combination", "typed", "exit", "seconds", "products shown", "passed", "skipped")


class Unable(Exception):
    """This machine cannot build or enter a root folder."""


@dataclass(frozen=True)
class Combination:
    """A user, and whether namespaces are forbidden."""

    user: str
    closed: bool

    @property
    def name(self) -> str:
        return ("root" if self.user == "root" else "user") + ("-closed" if self.closed else "")

    @property
    def home(self) -> str:
        return "root" if self.user == "root" else f"home/{self.user}"


COMBINATIONS = {
    combination.name: combination
    for combination in (
        Combination("root", closed=False),
        Combination(USER, closed=False),
        Combination("root", closed=True),
        Combination(USER, closed=True),
    )
}


@dataclass(frozen=True)
class Row:
    """A line of the table: one command and its result."""

    combination: str
    command: str
    code: int
    seconds: float
    shown: str = ""
    passed: str = ""
    skipped: str = ""

    def cells(self) -> tuple[str, ...]:
        code, seconds = str(self.code), f"{self.seconds:.0f}"
        return (
            self.combination,
            self.command,
            code,
            seconds,
            self.shown,
            self.passed,
            self.skipped,
        )


@dataclass
class Settings:
    """This machine's settings of apt and pip, as far as they matter in a root folder.

    Attributes:
        sources: lines of apt's sources for the release.
        apt: lines of apt's configuration that say how to reach the sources.
        variables: environment variables.
        files: files and folders to copy, with the same path.
        shared: folders of packages, which are shown read-only.
    """

    sources: list[str] = field(default_factory=list)
    apt: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    shared: list[Path] = field(default_factory=list)

    @property
    def mirror(self) -> str:
        return self.sources[0].split()[1]


def say(line: str) -> None:
    """Write a line to the standard output at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def output_of(*words: str) -> str:
    """Return the output of a program, which must succeed."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def read_sources() -> list[str]:
    """Return the source lines of the release, from the index files that apt knows."""
    form = "$(SITE)|$(RELEASE)|$(CODENAME)|$(ORIGIN)|$(COMPONENT)"
    lines: dict[str, None] = {}
    for target in output_of(
        "apt-get", "indextargets", "--format", form, "Created-By: Packages"
    ).splitlines():
        site, suite, codename, origin, component = target.split("|")
        # A mirror of the release itself comes first: debootstrap cannot use its updates alone.
        if origin == "Debian" and component == "main" and codename.startswith(RELEASE):
            lines[f"deb {site} {suite} {component}"] = None
    return sorted(lines, key=lambda line: line.split()[2] != RELEASE)


def read_settings() -> Settings:
    """Return this machine's settings of apt and pip.

    Raises:
        Unable: apt's sources name no mirror of the release.
    """
    settings = Settings(sources=read_sources())
    if not settings.sources:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        settings.sources = read_sources()
    if not settings.sources or settings.sources[0].split()[2] != RELEASE:
        raise Unable(f"apt's sources name no mirror of Debian 12 ({RELEASE})")
    for line in output_of("apt-config", "dump").splitlines():
        if _APT_SETTINGS.match(line):
            settings.apt.append(line)
    settings.variables = {
        name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)
    }
    settings.files = [Path("/etc/resolv.conf"), Path("/etc/pip.conf"), Path("/etc/xdg/pip")]
    for path, is_index in pip_paths(settings.variables.values()):
        if path.is_file():
            settings.files.append(path)
        elif path.is_dir():
            # the pages of an index link to files beside it
            settings.shared.append(path.parent if is_index else path)
    settings.shared = list(dict.fromkeys(settings.shared))
    return settings


def pip_paths(values: Iterable[str]) -> Iterator[tuple[Path, bool]]:
    """Yield the absolute paths in pip's settings and the given values; True for an index."""
    pairs = [("", value) for value in values]
    for line in output_of(sys.executable, "-m", "pip", "config", "list").splitlines():
        key, _, value = line.partition("=")
        pairs.append((key, value.strip("'\"")))
    for key, value in pairs:
        for word in value.split():
            path = Path(word.removeprefix("file://"))
            if path.is_absolute():
                yield path, key.endswith("index-url")


def make_base(settings: Settings) -> Path:
    """Return the bare root folder; it is made once.

    Raises:
        Unable: debootstrap cannot be installed, or failed.
    """
    base, stamp = BUILD / "base", BUILD / "base.complete"
    if stamp.exists():
        return base
    if shutil.which("debootstrap") is None:
        subprocess.run(["bash", ROOT / "scripts" / "apt-install.sh", "debootstrap"], check=False)
    if shutil.which("debootstrap") is None:
        raise Unable("debootstrap is not installed; type: apt-get install -y debootstrap")
    shutil.rmtree(base, ignore_errors=True)
    say(f"making a bare Debian 12 in {base}")
    words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE]
    with (BUILD / "base.log").open("wb") as log:
        done = subprocess.run([*words, base, settings.mirror], stdout=log, stderr=log, check=False)
    if done.returncode:
        raise Unable(f"debootstrap failed; see {BUILD / 'base.log'}")
    stamp.touch()
    return base


def make_root(base: Path, combination: Combination, settings: Settings) -> Path:
    """Return a copy of the bare root folder with a user, the settings and a fresh clone."""
    root = BUILD / combination.name
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "--archive", "--reflink=auto", base, root], check=True)
    if combination.user != "root":
        shell = ["useradd", "--root", str(root), "--create-home", "--shell", "/bin/bash"]
        subprocess.run([*shell, combination.user], check=True)
    home = root / combination.home
    for path in settings.files:
        copy(path, root / path.relative_to("/"))
    for name in (".config/pip", ".pip"):
        copy(Path.home() / name, home / name)
    # Debian's package of certificates writes its bundle again, from its own and from these.
    copy(_BUNDLE, root / "usr/local/share/ca-certificates/machine.crt")
    # Only Debian's installer writes this file, and every machine has it.
    (root / "etc" / "hosts").write_text("127.0.0.1 localhost\n::1 localhost\n", "utf-8")
    apt = root / "etc" / "apt"
    (apt / "sources.list").write_text("\n".join(settings.sources) + "\n", "utf-8")
    (apt / "apt.conf.d" / "90machine").write_text("\n".join(settings.apt) + "\n", "utf-8")
    clone = ["git", "clone", "--quiet", "--no-hardlinks"]
    subprocess.run([*clone, str(ROOT), str(home / CLONE)], check=True)
    owner = output_of("stat", "--format", "%u:%g", str(home)).strip()
    subprocess.run(["chown", "--recursive", owner, str(home)], check=True)
    return root


def copy(source: Path, target: Path) -> None:
    """Copy a file or folder that may be absent; links are followed."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)


class Machine:
    """A root folder of a combination, in which commands are run."""

    def __init__(self, root: Path, combination: Combination, settings: Settings) -> None:
        self._root = root
        self._combination = combination
        self._settings = settings
        self._logs = 0

    def run(self, words: list[str], *, as_administrator: bool = False) -> tuple[int, float, str]:
        """Run a command; returns its exit code, its seconds and its output.

        An administrator is root, and has namespaces.
        """
        user, state = self._combination.user, "closed" if self._combination.closed else "open"
        if as_administrator:
            user, state = "root", "open"
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        enter += ["--propagation", "private", "bash", str(ROOT / "scripts" / "fresh-enter.sh")]
        enter += [str(self._root), user, state, *map(str, self._settings.shared), "--"]
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            **self._settings.variables,
        }
        self._logs += 1
        log = BUILD / f"{self._combination.name}-{self._logs}.log"
        started = time.monotonic()
        with log.open("wb") as file:
            done = subprocess.run(
                [*enter, *words], env=environment, stdout=file, stderr=file, check=False
            )
        seconds = time.monotonic() - started
        return done.returncode, seconds, log.read_text("utf-8", "replace")


def use(machine: Machine, name: str, tests: str) -> Iterator[Row]:
    """Yield the rows of a combination: `make demo` until nothing is missing, then `make test`."""
    advised: set[str] = set()
    while True:
        code, seconds, output = machine.run(["make", "-C", CLONE, "demo"])
        yield Row(name, "make demo", code, seconds, products_shown(output))
        line = advice_in(output)
        if line is None or line in advised:
            break
        advised.add(line)
        code, seconds, _ = machine.run(line.split(), as_administrator=True)
        yield Row(name, f"(root) {line}", code, seconds)
    words = ["make", "-C", CLONE, "test", *([f"TESTS={tests}"] if tests else [])]
    code, seconds, output = machine.run(words)
    counts = counted_tests(output)
    passed = counts.get("passed", "0")
    for kind in ("failed", "error", "errors"):
        if kind in counts:
            passed += f", {counts[kind]} {kind}"
    yield Row(name, "make test", code, seconds, "", passed, counts.get("skipped", "0"))


def advice_in(output: str) -> str | None:
    """Return the last command that the output tells root to type, or None."""
    lines = _ADVICE.findall(output)
    return lines[-1] if lines else None


def products_shown(output: str) -> str:
    """Return how many of the demo's products were shown, and the story's level if it is low."""
    headings = _HEADING.findall(output)
    hidden = _NOT_SHOWN.findall(output)
    shown = f"{len(headings) - len(hidden)} of {len(headings)}"
    level = _LEVEL.search(output)
    return f"{shown}, story at {level[1]}" if level else shown


def counted_tests(output: str) -> dict[str, str]:
    """Return pytest's counts by name, from the last line that has any."""
    for line in reversed(output.splitlines()):
        if counts := _TESTS.findall(line):
            return {kind: number for number, kind in counts}
    return {}


def table(rows: list[Row]) -> list[str]:
    """Return the rows as a Markdown table."""
    cells = [_HEAD, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(f"| {' | '.join(padded)} |")
    lines.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    return lines


def is_good(rows: list[Row]) -> bool:
    """Return whether the last `make demo` and `make test` of each combination succeeded."""
    last = {(row.combination, row.command): row for row in rows if row.command.startswith("make")}
    return all(row.code == 0 for row in last.values())


def main(argv: list[str] | None = None) -> int:
    """Run the combinations and print the table; exit 1 if one fails, 2 if none can be run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", choices=COMBINATIONS, help="a combination")
    parser.add_argument("--tests", default="", help="files for make test, in place of all")
    parser.add_argument("--keep", action="store_true", help="keep the root folders")
    given = parser.parse_args(argv)
    if os.geteuid() != 0:
        say("fresh: debootstrap and mounts need root; run it as root")
        return 2
    BUILD.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    try:
        settings = read_settings()
        base = make_base(settings)
        for name in given.only or COMBINATIONS:
            combination = COMBINATIONS[name]
            root = make_root(base, combination, settings)
            machine = Machine(root, combination, settings)
            for row in use(machine, name, given.tests):
                rows.append(row)
                say("  ".join(row.cells()).rstrip())
            if not given.keep:
                shutil.rmtree(root)
    except Unable as error:
        say(f"fresh: {error}")
        return 2
    say("")
    for line in table(rows):
        say(line)
    return 0 if is_good(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
