"""Faults during a scenario: broken files in a copy of its data, a failing provider, an
unavailable memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from transom.errors import (
    InputError,
    MemoryUnavailable,
    NetworkFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from transom.evals.shapes import Fault, Scenario
from transom.llm import Chain, OnDelta, Provider, Reply, Request, render

T = TypeVar("T")

_LONG_BYTES = 8 << 20
_FAILURES: dict[str, Callable[[str], ProviderError]] = {
    "network": lambda by: NetworkFailed("the connection broke (injected fault)", where=by),
    "timeout": lambda by: NetworkFailed(
        "no answer within the time limit (injected fault)", where=by
    ),
    "rate_limit": lambda by: RateLimited(
        "too many requests (injected fault)", where=by, retryable=True
    ),
    "refused": lambda by: RequestRefused("the request is not accepted (injected fault)", where=by),
    "server": lambda by: ProviderError(
        "the server failed (injected fault)", where=by, retryable=True
    ),
}


@dataclass(frozen=True)
class Case:
    """One epoch of a scenario, the input of a runner.

    Attributes:
        scenario: input and ground truth.
        epoch: the epoch's number, from 1.
        folder: the epoch's own folder, for the product's workspace; it is kept for a resumed run.
        data: the data folder, with the scenario's broken files; None if the scenario has no data.
    """

    scenario: Scenario
    epoch: int
    folder: Path
    data: Path | None = None

    def chain(self, chain: Chain) -> Chain:
        """Return the chain with this scenario's provider faults."""
        faults = [fault for fault in self.scenario.faults if fault.provider]
        if not faults:
            return chain
        counted = _Calls(faults)
        seats = {
            role: replace(one, providers=counted.around(one.providers))
            for role, one in chain.seats.items()
        }
        return replace(chain, providers=counted.around(chain.providers), seats=seats)

    def below(self, key: str) -> Path:
        """Return the path of the file in the data that `input.KEY` names."""
        name = self.scenario.input.get(key)
        if self.data is None or not isinstance(name, str):
            hint = f"write `{key}` below `input`, and `data` in the scenario or in suite.yaml"
            raise InputError(f"the scenario has no input {key}", where=self.scenario.id, hint=hint)
        return self.inside(name)

    def inside(self, name: str) -> Path:
        """Return a path in the data. InputError: it leads out of the data."""
        root = (self.data or self.folder).resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            hint = "name a path below the data"
            raise InputError(f"{name} is outside the data", where=self.scenario.id, hint=hint)
        return path

    def memory(self, memory: T) -> T:
        """Return the memory, or, under a memory fault, one whose calls all raise
        `MemoryUnavailable`.
        """
        down = any(fault.memory for fault in self.scenario.faults)
        return cast("T", _Down()) if down else memory


class _Calls:
    """Counts the calls of a scenario over all its providers, and lets the chosen ones fail."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._seen = [(fault, [0]) for fault in faults]

    def around(self, providers: Sequence[Provider]) -> tuple[Provider, ...]:
        return tuple(cast("Provider", _Failing(one, self)) for one in providers)

    def fail(self, request: Request, by: str) -> None:
        text = render(request).as_text()
        for fault, count in self._seen:
            if fault.provider and fnmatchcase(request.role, fault.roles) and fault.sees in text:
                count[0] += 1
                if not fault.calls or count[0] in fault.calls:
                    raise _FAILURES[fault.provider](by)


class _Failing:
    """A provider wrapper whose chosen calls fail, as if all attempts of each had."""

    is_retried = False

    def __init__(self, provider: Provider, calls: _Calls) -> None:
        self._provider = provider
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    async def complete(self, request: Request, *, on_delta: OnDelta | None = None) -> Reply:
        self._calls.fail(request, self._provider.name)
        return await self._provider.complete(request, on_delta=on_delta)


class _Down:
    def __getattr__(self, name: str) -> NoReturn:
        raise MemoryUnavailable("the memory does not answer (injected fault)", where=name)


@contextmanager
def prepared(scenario: Scenario, epoch: int, folder: Path) -> Iterator[Case]:
    """Prepare the case of one epoch; if files differ, the data is copied into `folder`, and removed
    afterwards.

    Raises:
        InputError: a fault's pattern matches no file, or the folder `files` does not exist.
    """
    faults = [fault.file for fault in scenario.faults if fault.file]
    if not faults and scenario.files is None:
        yield Case(scenario, epoch, folder, scenario.data_folder)
        return
    if scenario.data_folder is None:
        raise InputError(
            "`files` and file faults need `data`", where=scenario.id, hint="name the data's folder"
        )
    copy = folder / "data"
    _copy(scenario.data_folder, copy)
    try:
        if scenario.files is not None:
            _put_over(scenario.folder / scenario.files, copy)
        for kind, pattern in faults:
            _break(copy, kind, pattern, scenario.id)
        yield Case(scenario, epoch, folder, copy)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _copy(data: Path, copy: Path) -> None:
    def around_copy(folder: str, names: list[str]) -> list[str]:
        return [
            name for name in names if copy.resolve().is_relative_to(Path(folder).resolve() / name)
        ]

    shutil.rmtree(copy, ignore_errors=True)
    try:
        # the workspace may lie in the data
        shutil.copytree(data, copy, symlinks=True, ignore=around_copy)
    except OSError as error:
        raise InputError(
            "the data cannot be copied", where=str(data), hint="make room, check permissions"
        ) from error


def _put_over(files: Path, copy: Path) -> None:
    if not files.is_dir():
        raise InputError("is not a folder", where=str(files), hint="correct the key files")
    shutil.copytree(files, copy, dirs_exist_ok=True)


def _break(data: Path, kind: str, pattern: str, scenario: str) -> None:
    root = data.resolve()
    fits = [path for path in sorted(data.glob(pattern)) if path.is_file() and not path.is_symlink()]
    # a linked folder is not part of the copy
    files = [path for path in fits if path.resolve().is_relative_to(root)]
    if not files:
        raise InputError(
            f"no file of the data matches {pattern!r}",
            where=f"{scenario}: faults",
            hint="correct it",
        )
    for path in files:
        whole = path.read_bytes()
        if kind == "missing_file":
            path.unlink()
        elif kind == "empty_file":
            path.write_bytes(b"")
        elif kind == "long_file":
            path.write_bytes(whole * (1 + _LONG_BYTES // max(1, len(whole))))
        else:
            path.write_bytes(whole[: max(1, len(whole) * 2 // 3)].rstrip(b" \n\r\t}]"))
