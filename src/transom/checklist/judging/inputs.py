"""From `input_files` to evidence: variables, compressed files, atom A, and the files that logs
name in turn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from transom.checklist.atoms import Entry, Reference, Source
from transom.checklist.item import InputName, Item
from transom.checklist.judging.files import Evidence, File, classify, rank_of_kind, reference_of
from transom.checklist.judging.roots import Names, Roots, real_path
from transom.checklist.judging.runner import AtomWorker, Scope, extract
from transom.checklist.judging.verdict import InputRead, Note, Outcome
from transom.errors import AtomFailed, InputError
from transom.formats.text_files import TextFile
from transom.runs.recognising import lies_in_workspace

_REFUSED = re.compile(r"(?s)ValueError: (?:line (?P<line>[1-9]\d*): )?(?P<why>.+)")
MAX_DEPTH = 4
MAX_FILES = 1_000


@dataclass(frozen=True)
class Inputs:
    """Files that a run shall read."""

    names: tuple[InputName, ...]
    roots: Roots
    where: str = "input_files"

    @classmethod
    def of(cls, item: Item | None, roots: Roots) -> Inputs:
        return cls(item.input_files, roots, str(item.path)) if item else cls((), roots)

    @property
    def paths(self) -> list[tuple[str, Path]]:
        """Each file with its name as written; a glob or a folder is as many as it has."""
        return [
            one
            for name in self.names
            for one in self.roots.spread(name.written, f"{self.where}:{name.line}")
        ]


async def gather(
    inputs: Inputs, worker: AtomWorker, scope: Scope, sources: Sequence[Source]
) -> tuple[Evidence, Outcome]:
    """Read every input, run atom A on it, and do the same with each file that an entry refers to.

    Returns:
        The evidence, and what was read and went wrong; with errors the evidence is not complete.

    Raises:
        InputError: an undefined variable. Whatever is wrong with a file is recorded, not raised.
    """
    done = _Gatherer(inputs, worker, scope, sources)
    await done.run()
    outcome = Outcome(
        errors=tuple(done.errors), warnings=tuple(done.warnings), inputs=tuple(done.read)
    )
    return Evidence(tuple(done.files.values()), tuple(done.entries), done.targets), outcome


class _Gatherer:
    def __init__(
        self, inputs: Inputs, worker: AtomWorker, scope: Scope, sources: Sequence[Source]
    ) -> None:
        self.inputs, self.worker, self.scope, self.sources = inputs, worker, scope, sources
        self.roots = inputs.roots
        self.files: dict[str, File] = {}
        self.texts: dict[str, TextFile] = {}
        self.entries: list[Entry] = []
        self.targets: dict[tuple[str, str, str], str] = {}
        self.read: list[InputRead] = []
        self.errors: list[Note] = []
        self.warnings: list[Note] = []
        self.names = Names(inputs.roots)
        self.queue: list[tuple[Path, str, int]] = []
        self.folders: list[Path] = []  # what references may point into

    async def run(self) -> None:
        if not self.inputs.names:
            self.trouble(None, "input_files is empty: there is nothing to read")
        found = self.inputs.paths
        around = [
            folder
            for _, path in found
            for folder in (real_path(path).parent, real_path(path.parent))
        ]
        self.folders = [*self.roots.readable(), *around]
        for written, path in found:
            shown = self.names.of(path, written)
            if shown in self.files:
                continue
            blank = self.open(path, shown)
            if blank:
                self.trouble(shown, "is empty")
            elif blank is not None:
                kind, rank = classify(path.name, self.sources)
                self.files[shown] = File(shown, kind, rank, self.texts[shown].pieces)
                self.queue.append((path, shown, 0))
        while self.queue and not self.errors:
            await self.extract(*self.queue.pop(0))

    async def extract(self, path: Path, shown: str, depth: int) -> None:
        """Run atom A on one file, and follow its references."""
        text = self.texts[shown]
        try:
            entries = await extract(self.worker, self.scope, text, shown)
        except InputError as error:
            self.trouble(shown, f"{error.what}; {error.hint}" if error.hint else error.what)
            return
        except AtomFailed as error:
            line, message = _refusal(error)
            self.trouble(shown, message, line)
            return
        self.record(text, shown)
        self.entries += entries
        for entry in entries:
            reference = reference_of(entry)
            if (
                reference
                and (entry.source_file, reference.kind, reference.path) not in self.targets
            ):
                self.follow(entry, reference, path, depth)

    def follow(self, entry: Entry, reference: Reference, log: Path, depth: int) -> None:
        key = (entry.source_file, reference.kind, reference.path)
        path, why = self.resolve(reference, log)
        if path is None:
            self.targets[key] = self.unavailable(entry, reference, why)
            return
        shown = self.targets[key] = self.names.of(path, reference.path)
        if shown in self.files:
            return
        if depth >= MAX_DEPTH or len(self.files) >= MAX_FILES:
            self.trouble(
                shown, f"more than {MAX_DEPTH} references deep, or more than {MAX_FILES} files"
            )
            return
        blank = self.open(path, shown)
        if blank is None:
            return
        absent = f"{shown} is empty" if blank else None
        self.files[shown] = replace(
            self.referenced(entry, reference, shown, absent), pieces=self.texts[shown].pieces
        )
        self.queue += [] if blank else [(path, shown, depth + 1)]

    def resolve(self, reference: Reference, log: Path) -> tuple[Path | None, str]:
        """Return the file that a reference means, or None and the reason why there is none.

        It is looked for beside the log and under the roots, then compressed. It must lie in the
        folder of an input or of the item, or under a root.
        """
        try:
            written = self.roots.expand(reference.path, "")
        except InputError as error:
            return None, error.what
        relative = Path(reference.path.strip())
        fixed = relative.is_absolute() or "${" in reference.path
        places = (
            [written]
            if fixed
            else [folder / relative for folder in (log.parent, *self.roots.folders())]
        )
        ways = [Path(f"{place}{ending}") for ending in ("", ".gz") for place in places]
        there = [path for path in ways if os.path.isfile(path)]  # noqa: PTH113  unlike Path.is_file it never raises
        above = {
            path: [folder for folder in self.folders if real_path(path).is_relative_to(folder)]
            for path in there
        }
        for path, folders in above.items():
            if not all(lies_in_workspace(real_path(path), folder) for folder in folders):
                return path, ""
        if any(above.values()):
            return None, "it lies in a workspace of Transom, so it is not read"
        if there:
            return (
                None,
                (
                    "it lies outside of the input's folder and of the roots, so it is not read (add"
                    " --root)"
                ),
            )
        return None, "it cannot be found beside the file that names it, nor under the roots"

    def unavailable(self, entry: Entry, reference: Reference, why: str) -> str:
        shown = reference.path.strip()
        if shown in self.files and self.files[shown].absent is None:
            # a file of that name is there, but it is not this one
            shown = f"{shown} (of {entry.source_file})"
        if shown not in self.files:
            absent = f"{shown} is named in {entry.source_file}:{entry.line_number}, but {why}"
            self.files[shown] = self.referenced(entry, reference, shown, absent)
            self.warn(f"{shown} is named here, but {why}", entry.source_file, entry.line_number)
        return shown

    def referenced(
        self, entry: Entry, reference: Reference, shown: str, absent: str | None
    ) -> File:
        rank = rank_of_kind(reference.kind, self.sources)
        return File(shown, reference.kind, rank, given=False, absent=absent, named_at=entry)

    def open(self, path: Path, shown: str) -> bool | None:
        """Open a file; whether it is blank, or None, with the reason recorded, where it cannot
        be had.
        """
        text = self.texts[shown] = self.scope.open(path)
        try:
            blank = text.is_blank()
        except InputError as error:
            self.trouble(shown, f"{error.what}; {error.hint}" if error.hint else error.what)
            return None
        if blank:
            self.record(text, shown)
        return blank

    def record(self, text: TextFile, shown: str) -> None:
        """Facts and notes of the pass that came to the end of a file."""
        facts = text.facts
        if facts is not None:
            self.read.append(
                InputRead(path=shown, sha256=facts.sha256, bytes=facts.size, lines=facts.lines)
            )
            if facts.note:
                self.warn(facts.note, shown)

    def trouble(self, source: str | None, message: str, line: int | None = None) -> None:
        self.errors.append(Note(source_file=source, line_number=line, message=message))

    def warn(self, message: str, source: str | None = None, line: int | None = None) -> None:
        self.warnings.append(Note(source_file=source, line_number=line, message=message))


def _refusal(error: AtomFailed) -> tuple[int | None, str]:
    """The line and the words of an atom that will not judge a file: it says so with a
    ValueError. Else it failed.
    """
    said = _REFUSED.fullmatch(error.what) if error.kind == "crash" else None
    if said is None:
        return None, f"atom A failed ({error.kind}): {error}"
    return int(said["line"]) if said["line"] else None, f"cannot be judged: {said['why']}"
