"""Checkers, items and files for the tests of `check run`, made anew in each test's folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from transom.checklist.item import parse_item
from transom.checklist.judging import (
    Inputs,
    LoadedChecker,
    Note,
    Roots,
    Verdict,
    check_files,
    load_checker,
)
from transom.sandbox import Level

DATA = Path(__file__).parent / "data"
AS_OF = "2026-06-30"

NETLIST = "// made by Weaver 4.2 on 2026-01-15\nmodule top;\nendmodule\n"
SPEF = (
    '*SPEF "ieee 1481-1999"\n*DESIGN "top"\n*DATE "2026-01-16"\n*PROGRAM "Extractor"\n*VERSION'
    ' "1.0"\n'
)
LOG = "Timer 1.0\nread_verilog top.v\nread_spef top.spef\nreport\n"
SYNTHESIS_LOG = "Timer 1.0\nthis is a synthesis run\nread_verilog top.v\nreport\n"
DESIGN = {"sta.log": LOG, "top.v": NETLIST, "top.spef": SPEF}


def own_warnings(verdict: Verdict) -> list[Note]:
    """Return the warnings without the one that the log's format is known from documentation."""
    return [note for note in verdict.warnings if "known from documentation" not in note.message]


class LocalWorker:
    """Runs a test's own, trusted atoms in this process: hundreds of cases would else start
    hundreds of sandboxes.
    """

    def __init__(self, code: str) -> None:
        self.space: dict[str, Any] = {}
        exec(compile(code, "atoms.py", "exec"), self.space)

    async def call(self, name: str, args: Mapping[str, object]) -> object:
        return self.space[name](**args)

    async def constants(self, names: Iterable[str]) -> dict[str, object]:
        return {name: self.space[name] for name in names if name in self.space}


class LocalRunner:
    level = Level.L1  # of no meaning here; a verdict of Level.NONE would carry a warning

    @asynccontextmanager
    async def worker(self, code: str) -> AsyncIterator[LocalWorker]:
        yield LocalWorker(code)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def checker(
    folder: Path, name: str, *, changes: Mapping[str, str] | None = None, atoms: str = ""
) -> LoadedChecker:
    """A checker folder from `data/`, with texts of its `checker.yaml` replaced."""
    target = folder / "checker"
    target.mkdir(exist_ok=True)
    config = (DATA / f"{name}.yaml").read_text()
    for old, new in (changes or {}).items():
        assert old in config, old
        config = config.replace(old, new)
    (target / "checker.yaml").write_text(config)
    (target / "atoms.py").write_text(atoms or (DATA / f"{name}.atoms").read_text())
    return load_checker(target)


def run(
    loaded: LoadedChecker,
    folder: Path,
    files: Mapping[str, str | bytes],
    *,
    item: str = "",
    inputs: Iterable[str] = ("sta.log",),
    runner: Any = None,
    roots: Mapping[str, Path] | None = None,
    others: tuple[Path, ...] = (),
    as_of: str = AS_OF,
    fail_on_unused: bool = False,
) -> Verdict:
    """Write files and check them."""
    write_files(folder, files)
    names = "\n".join(f"- '{name}'" for name in inputs)
    text = f"description: Confirm it.\ninput_files:\n{names}\n{item}"
    parsed = parse_item(text, folder / "ITEM-1.yaml")
    where = Roots(values=roots or {}, base=folder, other_roots=others)
    return asyncio.run(
        check_files(
            loaded,
            parsed,
            Inputs.of(parsed, where),
            runner or LocalRunner(),
            as_of,
            fail_on_unused=fail_on_unused,
        )
    )


def ids(entries: Iterable[Any]) -> list[str]:
    return [entry.id for entry in entries]
