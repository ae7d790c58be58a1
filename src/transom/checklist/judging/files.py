"""The files of one run and what the atoms saw in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import ValidationError

from transom.checklist.atoms import REFERENCE_FIELD, Entry, Rank, Reference, Source
from transom.checklist.file_kinds import kind_by_name

RANKS: tuple[Rank, ...] = ("primary", "secondary", "fallback")


@dataclass(frozen=True)
class File:
    """One file that was given, or that another file names.

    Attributes:
        shown: its name in entries and reports, unique in a run.
        kind, rank: by `SOURCES`; a file that no glob fits has no kind and is a fallback.
        pieces: its text as the atom got it, in pieces of whole lines, read anew at each call; none
            where the file is not available.
        given: it stands in `input_files`; otherwise a reference led to it.
        absent: why its contents cannot be had, None if they can.
        named_at: entry that names it, for a file that is only referenced.
    """

    shown: str
    kind: str | None = None
    rank: Rank = "fallback"
    pieces: Callable[[], Iterable[str]] = tuple
    given: bool = True
    absent: str | None = None
    named_at: Entry | None = None

    def lines(self) -> Iterator[str]:
        """Without their line ends."""
        for piece in self.pieces():
            yield from piece.removesuffix("\n").split("\n")


@dataclass(frozen=True)
class Evidence:
    """Everything that the evaluation may look at: files, given ones first; entries in the order of
    atom A.

    `targets` maps `(source_file, kind, path as written)` of a reference to the `File.shown` of what
    it means.
    """

    files: tuple[File, ...]
    entries: tuple[Entry, ...]
    targets: Mapping[tuple[str, str, str], str] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> dict[str, File]:
        return {file.shown: file for file in self.files}

    def subject(self, entry: Entry) -> str:
        """File that an entry speaks of: the one that it refers to, else its own."""
        reference = reference_of(entry)
        if reference is None:
            return entry.source_file
        return self.targets.get(
            (entry.source_file, reference.kind, reference.path), entry.source_file
        )

    def rank(self, entry: Entry) -> Rank:
        file = self.by_name.get(entry.source_file)
        return file.rank if file else "fallback"


def reference_of(entry: Entry) -> Reference | None:
    """The reference that an entry carries; anything that has not its shape is none."""
    value = entry.parsed_fields.get(REFERENCE_FIELD)
    if not isinstance(value, dict):
        return None
    try:
        reference = Reference.model_validate(value)
    except ValidationError:
        return None
    return reference if reference.path.strip() else None


def classify(name: str, sources: Sequence[Source]) -> tuple[str | None, Rank]:
    """Kind and rank of a file by its base name; the best rank whose glob fits."""
    ordered = sorted(sources, key=lambda source: RANKS.index(source.rank))
    kind = kind_by_name(name, [source.model_dump(mode="json") for source in ordered])
    return (None, "fallback") if kind is None else (kind, rank_of_kind(kind, ordered))


def rank_of_kind(kind: str, sources: Sequence[Source]) -> Rank:
    """Rank of the files of a kind; a kind that the atoms do not declare is a fallback."""
    return next((source.rank for source in sources if source.kind == kind), "fallback")
