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
from transom.evals.scenario_models import Fault, Scenario
from transom.llm import Chain, OnDelta, Provider, Reply, Request, render

T = TypeVar("T")

_LONG_BYTES = 8 << 20
# Each call gets a new error: an error that is raised twice keeps the first traceback.
_FAILURES: dict[str, Callable[[], ProviderError]] = {
    "network": lambda: NetworkFailed("the connection broke (injected fault)"),
    "timeout": lambda: NetworkFailed("no answer within the time limit (injected fault)"),
    "rate_limit": lambda: RateLimited("too many requests (injected fault)", retryable=True),
    "refused": lambda: RequestRefused("the request is not accepted (injected fault)"),
    "server": lambda: ProviderError("the server failed (injected fault)", retryable=True),
}


@dataclass(frozen=True)
class ScenarioCase:
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
        # One counter for all roles: a fault names the numbers of calls of the whole scenario.
        calls = _Calls(faults)
        seats = {}
        for role, seat_chain in chain.seats.items():
            seats[role] = replace(seat_chain, providers=calls.around(seat_chain.providers))
        return replace(chain, providers=calls.around(chain.providers), seats=seats)

    def below(self, key: str) -> Path:
        """Return the path of the file in the data that `input.KEY` names."""
        name = self.scenario.input.get(key)
        if self.data is None or not isinstance(name, str):
            hint = f"write `{key}` below `input`, and `data` in the scenario or in suite.yaml"
            raise InputError(f"the scenario has no input {key}", place=self.scenario.id, hint=hint)
        return self.inside(name)

    def inside(self, name: str) -> Path:
        """Return a path in the data. InputError: it leads out of the data."""
        root = (self.data or self.folder).resolve()
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            hint = "name a path below the data"
            raise InputError(f"{name} is outside the data", place=self.scenario.id, hint=hint)
        return path

    def memory(self, memory: T) -> T:
        """Return the memory; under a memory fault, a memory whose calls all raise."""
        is_down = any(fault.memory for fault in self.scenario.faults)
        return cast("T", _Down()) if is_down else memory


class _Calls:
    """Counts the calls of a scenario over all its providers, and lets the chosen ones fail."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = faults
        # The number of matching calls of each fault, by its index.
        self._counts = [0] * len(faults)

    def around(self, providers: Sequence[Provider]) -> tuple[Provider, ...]:
        return tuple([cast("Provider", _Failing(provider, self)) for provider in providers])

    def fail(self, request: Request, provider: str) -> None:
        """Raise the error of the first fault that this call is chosen for, if there is one."""
        text = render(request).as_text()
        for index, fault in enumerate(self._faults):
            if not fault.provider or fault.sees not in text:
                continue
            if fnmatchcase(request.role, fault.roles):
                self._counts[index] += 1
                if not fault.calls or self._counts[index] in fault.calls:
                    error = _FAILURES[fault.provider]()
                    error.place = provider
                    raise error


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
        raise MemoryUnavailable("the memory does not answer (injected fault)", place=name)


@contextmanager
def prepared(scenario: Scenario, epoch: int, folder: Path) -> Iterator[ScenarioCase]:
    """Prepare the case of one epoch.

    If files differ from the data, it is copied into `folder`, and the copy is removed afterwards.

    Raises:
        InputError: a fault's pattern matches no file, or the folder `files` does not exist.
    """
    faults = [fault.file for fault in scenario.faults if fault.file]
    if not faults and scenario.files is None:
        yield ScenarioCase(scenario, epoch, folder, scenario.data_folder)
        return
    if scenario.data_folder is None:
        raise InputError(
            "`files` and file faults need `data`", place=scenario.id, hint="name the data's folder"
        )
    copy = folder / "data"
    _copy(scenario.data_folder, copy)
    try:
        if scenario.files is not None:
            _put_over(scenario.folder / scenario.files, copy)
        for kind, pattern in faults:
            _break(copy, kind, pattern, scenario.id)
        yield ScenarioCase(scenario, epoch, folder, copy)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _copy(data: Path, copy: Path) -> None:
    # The workspace may lie in the data: without this, the copy would be copied into itself.
    def around_copy(folder: str, names: list[str]) -> list[str]:
        parent, target = Path(folder).resolve(), copy.resolve()
        return [name for name in names if target.is_relative_to(parent / name)]

    # A killed run may have left a copy.
    shutil.rmtree(copy, ignore_errors=True)
    try:
        shutil.copytree(data, copy, symlinks=True, ignore=around_copy)
    except OSError as error:
        raise InputError(
            "the data cannot be copied", place=str(data), hint="make room, check permissions"
        ) from error


def _put_over(files: Path, copy: Path) -> None:
    if not files.is_dir():
        raise InputError("is not a folder", place=str(files), hint="correct the key files")
    shutil.copytree(files, copy, dirs_exist_ok=True)


def _break(data: Path, kind: str, pattern: str, scenario: str) -> None:
    root = data.resolve()
    files = []
    for path in sorted(data.glob(pattern)):
        # A link, and a file in a linked folder, is the original and no part of the copy.
        is_copied = not path.is_symlink() and path.resolve().is_relative_to(root)
        if path.is_file() and is_copied:
            files.append(path)
    if not files:
        raise InputError(
            f"no file of the data matches {pattern!r}",
            place=f"{scenario}: faults",
            hint="correct it",
        )
    for path in files:
        content = path.read_bytes()
        if kind == "missing_file":
            path.unlink()
        elif kind == "empty_file":
            path.write_bytes(b"")
        elif kind == "long_file":
            path.write_bytes(content * (1 + _LONG_BYTES // max(1, len(content))))
        else:
            # Without closing brackets at the end, which might make a cut file valid again.
            path.write_bytes(content[: max(1, len(content) * 2 // 3)].rstrip(b" \n\r\t}]"))
