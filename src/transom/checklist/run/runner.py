"""Running atom A: what is asked of a sandbox, and what is believed of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from transom.checklist.atoms import Entry, Source
from transom.errors import AtomFailed
from transom.sandbox import Level

_ENTRIES = TypeAdapter(list[Entry])
_SOURCES = TypeAdapter(tuple[Source, ...])


class AtomWorker(Protocol):
    """A process that has loaded the atoms."""

    async def call(self, name: str, args: Mapping[str, object]) -> object: ...

    async def constants(self, names: Iterable[str]) -> dict[str, object]: ...


class AtomRunner(Protocol):
    """Makes workers; `transom.sandbox.Sandbox` is one."""

    @property
    def level(self) -> Level: ...

    def worker(self, code: str) -> AbstractAsyncContextManager[AtomWorker]: ...


async def sources_of(worker: AtomWorker) -> tuple[Source, ...]:
    """The kinds of file that the atoms declare.

    Raises:
        AtomFailed: `SOURCES` has not its shape, or `SCOPE` is one that this version cannot serve.
    """
    constants = await worker.constants(["SCOPE", "SOURCES"])
    scope = constants.get("SCOPE", "file")
    if scope != "file":
        raise AtomFailed(f"SCOPE is {scope!r}; this version runs atoms with SCOPE = 'file'", kind="schema")
    try:
        return _SOURCES.validate_python(constants.get("SOURCES", ()))
    except ValidationError as error:
        raise AtomFailed(f"SOURCES has not its shape: {_first(error)}", kind="schema", where="atoms.py") from error


async def extract(worker: AtomWorker, text: str, source_file: str) -> list[Entry]:
    """What atom A sees in a file.

    Raises:
        AtomFailed: it crashed, took too long, or its entries have not their shape or point outside of the file.
    """
    raw = await worker.call("extract_context", {"text": text, "source_file": source_file})
    try:
        entries = _ENTRIES.validate_python(raw)
    except ValidationError as error:
        raise AtomFailed(f"an entry has not its shape: {_first(error)}", kind="schema", where="atoms.py") from error
    last = text.count("\n") + 1
    for entry in entries:
        if entry.source_file != source_file:
            raise AtomFailed(f"an entry names another source_file ({entry.source_file!r})", kind="schema")
        if entry.line_number is not None and entry.line_number > last:
            raise AtomFailed(f"an entry points to line {entry.line_number} of {last}", kind="schema")
    return entries


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
