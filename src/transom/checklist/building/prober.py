"""A checker's code asked in the sandbox: what it answers to calls, and what atom A says of many
texts.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from transom.canonical import Json, digest
from transom.checklist.atoms import Entry, Source
from transom.checklist.building.artifacts import ATOM_A, split
from transom.checklist.judging.pieces import with_pieces
from transom.checklist.judging.runner import AtomWorker, declared, extract
from transom.errors import AtomFailed
from transom.evidence.findings import Finding
from transom.formats.text_files import Facts, TextFile
from transom.sandbox import Sandbox, Worker

Check: TypeAlias = Callable[[AtomWorker], Awaitable[list[str]]]
"""Asks a worker and says what is wrong."""

_QUOTED: Final = 120

# Appended to the atoms: a refusal ends no process, and the gates provoke many.
_TRIED: Final = '''

def transom_tried(function, **told):
    """Return a function's answer, or the ValueError by which it refuses a text, with its line."""
    try:
        return {"answer": globals()[function](**told)}
    except ValueError as error:
        trace, lines = error.__traceback__, []
        while trace:
            lines += [trace.tb_lineno] if trace.tb_frame.f_code.co_filename == "atoms.py" else []
            trace = trace.tb_next
        return {"refused": f"{type(error).__name__}: {error}"[:500], "line": lines[-1]}
'''


@dataclass(frozen=True)
class RealFile:
    """The text of one of the item's files, under the name that atom A is given.

    Of a long file it is an excerpt, and `known_entries` are what atom A sees in the whole.
    """

    name: str
    text: str
    known_entries: tuple[Entry, ...] | None = None

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def with_line(self, number: int, line: str) -> str:
        """Return the text with one line replaced; a `line` that is one line keeps the numbers."""
        lines = self.lines
        return "\n".join([*lines[: number - 1], line, *lines[number:]])


def quoted(file: RealFile, number: int) -> str:
    """Return a line of a file as a finding shows it."""
    line = " ".join(file.lines[number - 1].split())
    return json.dumps(line if len(line) <= _QUOTED else f"{line[:_QUOTED]}...", ensure_ascii=False)


@dataclass(frozen=True)
class ParserAnswer:
    """Answer of atom A on a text. `refused` says why it gives no entries, None if it gave
    them.
    """

    entries: tuple[Entry, ...] = ()
    refused: str | None = None

    @property
    def fields(self) -> list[str]:
        """Return the fields of all entries, in a form that can be compared."""
        return [_text(entry) for entry in self.entries]

    @property
    def placed(self) -> list[tuple[Json, ...]]:
        """Return place, value and fields of all entries.

        The quoted line changes with the text alone.
        """
        return [(entry.line_number, entry.value, _text(entry)) for entry in self.entries]


def _text(entry: Entry) -> str:
    return json.dumps(entry.parsed_fields, sort_keys=True)


class _Refused(AtomFailed):
    """A refusal of atom A; its process can be asked on."""


class _Patient:
    """A worker that goes on when atom A refuses a text."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def call(self, name: str, args: Mapping[str, object]) -> object:
        # Atoms B and C never refuse: each of their errors is a fault.
        if name not in ("extract_context", "transom_piece"):
            return await self.worker.call(name, args)
        match await self.worker.call("transom_tried", {"function": name, **args}):
            case {"answer": answer}:
                return answer
            case {"refused": str() as what, "line": int() as line}:
                raise _Refused(what, kind="crash", place=f"atoms.py:{line}")
        raise AtomFailed("the answer has not its shape", kind="schema", place="atoms.py")

    async def constants(self, names: Iterable[str]) -> dict[str, object]:
        return await self.worker.constants(names)


class Prober:
    """Runs one code in a sandbox. A process serves until it fails, then a fresh one takes its
    place.

    Args:
        code: all of `atoms.py`, or its part for atom A or for B and C, with the lines of the whole.
        raises_timeouts: whether a call that does not end within the sandbox's limit raises a
            TimeoutError, and is no finding: each further call might wait as long.
    """

    def __init__(self, code: str, sandbox: Sandbox, *, raises_timeouts: bool = False) -> None:
        self.code, self.sandbox, self._atoms = code, sandbox, split(code)
        self._raises_timeouts = raises_timeouts
        self._worker: _Patient | None = None
        self._answers: dict[str, ParserAnswer] = {}

    async def answer(self, name: str, text: str) -> ParserAnswer:
        """Return what atom A answers on a text in a file of that name; each text is asked once."""
        key = digest([name, text])
        # Trials ask for the same text again and again, above all for the unaltered file.
        if key not in self._answers:
            self._answers[key] = await self.asked_again(name, text)
        return self._answers[key]

    async def asked_again(self, name: str, text: str) -> ParserAnswer:
        """Ask as `answer` does, although the text was asked before."""
        try:
            worker = await self._started()
            return ParserAnswer(
                tuple(await extract(worker, (await declared(worker))[0], _Shown(name, text), name))
            )
        except AtomFailed as error:
            await self._end_after(error)
            return ParserAnswer(refused=error.problem)

    async def sources(self) -> tuple[Source, ...]:
        """Return the kinds of files that the atoms declare."""
        return (await declared(await self._started()))[1]

    async def findings(self, check: Check, gate: str, artifact: str = ATOM_A) -> list[Finding]:
        """Return the findings of a check on an artifact.

        A crash of the code is a finding on the atom in which it happened.
        """
        # Code that does not load fails in its own line, not in the atom that was asked.
        loaded = False
        try:
            worker = await self._started()
            loaded = True
            first_line = self._atoms.line_of(artifact)
            return [Finding(gate, artifact, first_line, problem) for problem in await check(worker)]
        except AtomFailed as error:
            await self._end_after(error)
            line = _line_of(error.place)
            owner = self._atoms.artifact(line) if line or not loaded else artifact
            return [Finding(gate, owner, line, f"{error.kind}: {error.problem}")]

    def finding(self, gate: str, message: str) -> Finding:
        """Return a finding on atom A, at its function."""
        return Finding(gate, ATOM_A, self._atoms.line_of(ATOM_A), message)

    async def _started(self) -> AtomWorker:
        if self._worker is None:
            self._worker = _Patient(
                await self.sandbox.worker(with_pieces(self.code) + _TRIED).__aenter__()
            )
        return self._worker

    async def _end_after(self, error: AtomFailed) -> None:
        if not isinstance(error, _Refused):
            await self.close()
        if self._raises_timeouts and error.kind == "timeout":
            raise TimeoutError(error.problem) from error

    async def close(self) -> None:
        """End the process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.worker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _line_of(place: str | None) -> int | None:
    _, _, line = (place or "").rpartition(":")
    if line.isdigit():
        return int(line)
    return None


class _Shown(TextFile):
    """A text in memory, read as a file is."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(Path(name))
        self._text = text

    def pieces(self) -> Iterator[str]:
        yield self._text
        self.facts = Facts(digest(self._text), len(self._text), self._text.count("\n"))
