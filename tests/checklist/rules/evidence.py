"""Tables of small files and their truth: a checker is built once by the command line, then run
on each file.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tests.checklist.judging.support import LocalRunner, LocalWorker, write_files
from tests.checklist.judging.support import run as run_here
from transom.checklist.judging import LoadedChecker, Verdict, load_checker
from transom.cli import main
from transom.errors import AtomFailed

_ITEM = """\
item_id: ITEM-1
description: {description}
requirements: {requirements}
input_files: [{inputs}]
waivers: {waivers}
"""
NONE = "{value: N/A}"
OPEN = "OPEN"
"""The truth of a report that cannot decide: the verdict is held back, with whatever status."""
_HELD_BACK = ("ERROR", "NEEDS_MODEL", "NEEDS_REVIEW")


class _Refusing(LocalWorker):
    """Our own atoms, in this process; what they refuse ends as it would in the sandbox."""

    async def call(self, name: str, args: Mapping[str, object]) -> object:
        try:
            return await super().call(name, args)
        except ValueError as error:
            raise AtomFailed(f"ValueError: {error}", kind="crash", place="atoms.py:1") from error


class _Runner(LocalRunner):
    @asynccontextmanager
    async def worker(self, code: str) -> AsyncIterator[LocalWorker]:
        yield _Refusing(code)


run = partial(run_here, runner=_Runner())


def built(
    folder: Path,
    description: str,
    files: Mapping[str, str | bytes],
    inputs: Iterable[str],
    *,
    requirements: str = NONE,
    waivers: str = NONE,
) -> LoadedChecker:
    """`check all` on files that can be judged; the checker that it leaves."""
    write_files(folder, files)
    item = folder / "item.yaml"
    item.write_text(
        _ITEM.format(
            description=description,
            requirements=requirements,
            waivers=waivers,
            inputs=", ".join(map(repr, inputs)),
        )
    )
    code = main(
        [
            "check",
            "all",
            str(item),
            "--workspace",
            str(folder / "w"),
            "--out",
            str(folder / "out"),
            "--format",
            "json",
            "-q",
        ]
    )
    assert code in (0, 1), code
    (config,) = (folder / "out").rglob("checker.yaml")
    return load_checker(config.parent)


def agrees(verdict: Verdict, truth: str) -> bool:
    """Return whether a verdict is the one of a table; `A_OR_B` allows either."""
    allowed = truth.split("_OR_")
    return verdict.status in allowed or (OPEN in allowed and verdict.status in _HELD_BACK)


def told(verdict: Verdict) -> str:
    """What a verdict says, for a failed assertion."""
    shown = [*verdict.missing_items, *verdict.extra_items, *verdict.found_items]
    lines = [
        f"{one.source_file}:{one.line_number} {one.name} {one.value!r}: {one.reason}"
        for one in shown
    ]
    caps = [f"held back: {cap.text}" for cap in verdict.capped_by]
    errors = [trouble.message for trouble in verdict.errors]
    return "\n".join([verdict.status, *errors, *caps, *lines])


__all__ = ["OPEN", "agrees", "built", "run", "told"]
