"""Gather the evidence of a run: read each input, run atom A on it, and follow the references to
other files that its entries carry.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from transom.checklist.atoms import REFERENCE_FIELD, Entry, Rank, Reference, Source
from transom.checklist.file_kinds import kind_by_name
from transom.checklist.judging.inputs import Inputs, Names, real_path
from transom.checklist.judging.runner import AtomWorker, Scope, extract
from transom.checklist.judging.verdict import Outcome
from transom.checklist.judging.verdict_rows import InputRead, Note
from transom.errors import AtomFailed, InputError
from transom.formats.reports import FileReading
from transom.formats.text_files import TextFile
from transom.runs.recognising import lies_in_workspace

RANKS: tuple[Rank, ...] = ("primary", "secondary", "fallback")
MAX_DEPTH = 4
MAX_FILES = 1_000
_NOT_FOUND = "it cannot be found beside the file that names it, nor under the roots"
# How an atom says that it will not judge a file, as a ValueError.
_REFUSAL = re.compile(r"(?s)ValueError: (?:line (?P<line>[1-9]\d*): )?(?P<reason>.+)")


@dataclass(frozen=True)
class File:
    """One file that was given, or that another file names.

    Attributes:
        shown_name: its name in entries and reports, unique in a run.
        kind: its kind by `SOURCES`, or None if no glob fits.
        rank: its rank by `SOURCES`; a file that no glob fits is a fallback.
        pieces: returns its text as the atom got it, in pieces of whole lines, read anew at each
            call; nothing if the file is not available.
        is_input: whether it stands in `input_files`; otherwise a reference led to it.
        absent: why its contents are not available, or None if they are.
        named_at: the entry that names it, for a file that is only referenced.
    """

    shown_name: str
    kind: str | None = None
    rank: Rank = "fallback"
    pieces: Callable[[], Iterable[str]] = tuple
    is_input: bool = True
    absent: str | None = None
    named_at: Entry | None = None

    def lines(self) -> Iterator[str]:
        """Yield its lines without their line ends."""
        for piece in self.pieces():
            yield from piece.removesuffix("\n").split("\n")


@dataclass(frozen=True)
class GatheredEvidence:
    """Everything that the evaluation may look at.

    Attributes:
        files: the files, given ones first.
        entries: the entries, in the order of atom A.
        targets: for each reference, as `(source_file, kind, path as written)`, the `shown_name`
            of the file that it means.
        readings: what the report formats read of the files, for atoms of the scope `report`.
    """

    files: tuple[File, ...]
    entries: tuple[Entry, ...]
    targets: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    readings: Mapping[str, FileReading] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> dict[str, File]:
        """Return the files by their names."""
        return {file.shown_name: file for file in self.files}

    def subject(self, entry: Entry) -> str:
        """Return the name of the file that an entry reports on: its reference, or its own."""
        reference = reference_of(entry)
        if reference is None:
            return entry.source_file
        return self.targets.get(_key(entry, reference), entry.source_file)

    def rank(self, entry: Entry) -> Rank:
        """Return the rank of the file that an entry stands in."""
        file = self.by_name.get(entry.source_file)
        if file:
            return file.rank
        return "fallback"


def reference_of(entry: Entry) -> Reference | None:
    """Return the reference that an entry carries, or None if it has none of the right shape."""
    value = entry.parsed_fields.get(REFERENCE_FIELD)
    # Atoms are untrusted: a reference of another shape is none.
    if not isinstance(value, dict):
        return None
    try:
        reference = Reference.model_validate(value)
    except ValidationError:
        return None
    if reference.path.strip():
        return reference
    return None


def _key(entry: Entry, reference: Reference) -> tuple[str, str, str]:
    return (entry.source_file, reference.kind, reference.path)


def classify(name: str, sources: Sequence[Source]) -> tuple[str | None, Rank]:
    """Return kind and rank of a file by its base name; the best rank whose glob fits counts."""
    by_rank = sorted(sources, key=lambda source: RANKS.index(source.rank))
    kind = kind_by_name(name, [source.model_dump(mode="json") for source in by_rank])
    if kind is None:
        return None, "fallback"
    return kind, rank_of_kind(kind, by_rank)


def rank_of_kind(kind: str, sources: Sequence[Source]) -> Rank:
    """Return the rank of the files of a kind; an undeclared kind is a fallback."""
    for source in sources:
        if source.kind == kind:
            return source.rank
    return "fallback"


async def gather(
    inputs: Inputs, worker: AtomWorker, scope: Scope, sources: Sequence[Source]
) -> tuple[GatheredEvidence, Outcome]:
    """Read every input, run atom A on it, and do the same with each file that an entry refers to.

    Returns:
        The evidence, and what was read and went wrong; with errors the evidence is not complete.

    Raises:
        InputError: a variable is not defined. Problems of a file are recorded, not raised.
    """
    gatherer = _Gatherer(inputs, worker, scope, sources)
    await gatherer.run()
    evidence = GatheredEvidence(
        tuple(gatherer.files.values()),
        tuple(gatherer.entries),
        gatherer.targets,
        gatherer.readings,
    )
    outcome = Outcome(
        errors=tuple(gatherer.errors),
        warnings=tuple(gatherer.warnings),
        inputs=tuple(gatherer.inputs_read),
    )
    return evidence, outcome


class _Gatherer:
    """The state of gathering: files still to read, and what was seen in the others."""

    def __init__(
        self, inputs: Inputs, worker: AtomWorker, scope: Scope, sources: Sequence[Source]
    ) -> None:
        self.inputs = inputs
        self.worker = worker
        self.scope = scope
        self.sources = sources
        self.roots = inputs.roots
        self.names = Names(inputs.roots)
        self.files: dict[str, File] = {}
        self.texts: dict[str, TextFile] = {}
        self.entries: list[Entry] = []
        self.readings: dict[str, FileReading] = {}
        self.targets: dict[tuple[str, str, str], str] = {}
        self.inputs_read: list[InputRead] = []
        self.errors: list[Note] = []
        self.warnings: list[Note] = []
        # Files to extract: path, shown name, and how many references led to it.
        self.queue: list[tuple[Path, str, int]] = []
        # The folders that references may point into.
        self.folders: list[Path] = []

    async def run(self) -> None:
        """Read the inputs, then the files that they refer to, breadth first."""
        if not self.inputs.names:
            self.add_error(None, "input_files is empty: there is nothing to read")
        paths = self.inputs.paths
        self.folders = self.roots.readable()
        # A file beside an input may be read as well, both where the link stands and where it leads
        # to.
        for _, path in paths:
            self.folders += [real_path(path).parent, real_path(path.parent)]
        for written, path in paths:
            shown_name = self.names.of(path, written)
            if shown_name in self.files:
                continue
            is_blank = self.open(path, shown_name)
            if is_blank:
                self.add_error(shown_name, "is empty")
            elif is_blank is not None:
                kind, rank = classify(path.name, self.sources)
                self.files[shown_name] = File(shown_name, kind, rank, self.texts[shown_name].pieces)
                self.queue.append((path, shown_name, 0))
        # The first error ends the run: what a broken file refers to is not known.
        while self.queue and not self.errors:
            await self.extract(*self.queue.pop(0))

    async def extract(self, path: Path, shown_name: str, depth: int) -> None:
        """Run atom A on one file, and follow its references."""
        text = self.texts[shown_name]
        try:
            entries = await extract(self.worker, self.scope, text, shown_name, self.readings)
        except InputError as error:
            self.add_input_error(shown_name, error)
            return
        except AtomFailed as error:
            line, message = _failure(error)
            self.add_error(shown_name, message, line)
            return
        # Digest and lines are known only after the file was read to its end.
        self.record(text, shown_name)
        self.entries += entries
        for entry in entries:
            reference = reference_of(entry)
            if reference and _key(entry, reference) not in self.targets:
                self.follow(entry, reference, path, depth)

    def follow(self, entry: Entry, reference: Reference, log: Path, depth: int) -> None:
        """Find the file that an entry refers to, and queue it unless it is known."""
        key = _key(entry, reference)
        path, reason = self.resolve(reference, log)
        command_key = (*key[:2], reference.command_path)
        if path is None and reason == _NOT_FOUND and command_key in self.targets:
            self.targets[key] = self.targets[command_key]
            return
        if path is None:
            self.targets[key] = self.add_unavailable(entry, reference, reason)
            return
        shown_name = self.targets[key] = self.names.of(path, reference.path)
        if shown_name in self.files:
            return
        # A log that names itself by another path, or a generated chain, must come to an end.
        if depth >= MAX_DEPTH or len(self.files) >= MAX_FILES:
            message = f"more than {MAX_DEPTH} references deep, or more than {MAX_FILES} files"
            self.add_error(shown_name, message)
            return
        is_blank = self.open(path, shown_name)
        if is_blank is None:
            return
        absent = f"{shown_name} is empty" if is_blank else None
        file = self.referenced_file(entry, reference, shown_name, absent)
        self.files[shown_name] = replace(file, pieces=self.texts[shown_name].pieces)
        # An empty file was produced, but there is nothing to ask atom A about.
        if not is_blank:
            self.queue.append((path, shown_name, depth + 1))

    def resolve(self, reference: Reference, log: Path) -> tuple[Path | None, str]:
        """Return the file that a reference means, or None and the reason why it is not read.

        The file is looked for in the log's folder and under the roots, then compressed in the same
        places. It must lie in the folder of an input or of the item, or under a root.
        """
        try:
            expanded = self.roots.expand(reference.path, "")
        except InputError as error:
            return None, error.problem
        # A path that a tool wrote relative to its working directory is looked for beside the log.
        relative = Path(reference.path.strip())
        if relative.is_absolute() or "${" in reference.path:
            places = [expanded]
        else:
            places = [folder / relative for folder in (log.parent, *self.roots.folders())]
        existing = []
        # Plain files of all places come first; a compressed twin may be older.
        for ending in ("", ".gz"):
            for place in places:
                path = Path(f"{place}{ending}")
                if os.path.isfile(path):  # noqa: PTH113  unlike Path.is_file it never raises
                    existing.append(path)
        lies_in_some_workspace = False
        for path in existing:
            real = real_path(path)
            folders = []
            for folder in self.folders:
                if real.is_relative_to(folder):
                    folders.append(folder)
            if not all(lies_in_workspace(real, folder) for folder in folders):
                return path, ""
            lies_in_some_workspace = lies_in_some_workspace or bool(folders)
        # A workspace holds copies and verdicts of earlier runs, which prove nothing.
        if lies_in_some_workspace:
            return None, "it lies in a workspace of Transom, so it is not read"
        if existing:
            reason = "it lies outside of the input's folder and of the roots, so it is not read"
            return None, f"{reason} (add --root)"
        return None, _NOT_FOUND

    def add_unavailable(self, entry: Entry, reference: Reference, reason: str) -> str:
        """Record a referenced file that is not available, and return the name it is shown by."""
        shown_name = reference.path.strip()
        if shown_name in self.files and self.files[shown_name].absent is None:
            # A file of this name exists, but it is not the file that is meant.
            shown_name = f"{shown_name} (of {entry.source_file})"
        if shown_name not in self.files:
            absent = (
                f"{shown_name} is named in {entry.source_file}:{entry.line_number}, but {reason}"
            )
            self.files[shown_name] = self.referenced_file(entry, reference, shown_name, absent)
            message = f"{shown_name} is named here, but {reason}"
            self.add_warning(message, entry.source_file, entry.line_number)
        return shown_name

    def referenced_file(
        self, entry: Entry, reference: Reference, shown_name: str, absent: str | None
    ) -> File:
        """Return a file that an entry refers to; its kind is the reference's."""
        rank = rank_of_kind(reference.kind, self.sources)
        return File(shown_name, reference.kind, rank, is_input=False, absent=absent, named_at=entry)

    def open(self, path: Path, shown_name: str) -> bool | None:
        """Open a file, and return whether it is blank.

        If it cannot be read, the reason is recorded and the result is None.
        """
        text = self.texts[shown_name] = self.scope.open(path)
        try:
            is_blank = text.is_blank()
        except InputError as error:
            self.add_input_error(shown_name, error)
            return None
        if is_blank:
            self.record(text, shown_name)
        return is_blank

    def record(self, text: TextFile, shown_name: str) -> None:
        """Record the facts and notes of a file that was read to its end."""
        facts = text.facts
        if facts is None:
            return
        read = InputRead(path=shown_name, sha256=facts.sha256, bytes=facts.size, lines=facts.lines)
        self.inputs_read.append(read)
        if facts.note:
            self.add_warning(facts.note, shown_name)

    def add_input_error(self, shown_name: str, error: InputError) -> None:
        """Record an error on a file, with its hint."""
        self.add_error(
            shown_name, f"{error.problem}; {error.hint}" if error.hint else error.problem
        )

    def add_error(self, source: str | None, message: str, line: int | None = None) -> None:
        """Record an error; with any the check has no answer."""
        self.errors.append(Note(source_file=source, line_number=line, message=message))

    def add_warning(self, message: str, source: str | None = None, line: int | None = None) -> None:
        """Record a warning."""
        self.warnings.append(Note(source_file=source, line_number=line, message=message))


def _failure(error: AtomFailed) -> tuple[int | None, str]:
    """Return line and message for an atom that failed, or that refused to judge a file."""
    refusal = _REFUSAL.fullmatch(error.problem) if error.kind == "crash" else None
    if refusal is None:
        return None, f"atom A failed ({error.kind}): {error}"
    line = int(refusal["line"]) if refusal["line"] else None
    return line, f"cannot be judged: {refusal['reason']}"
