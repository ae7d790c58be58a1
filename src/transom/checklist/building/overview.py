"""View that the Parser role gets of real files: which there are, and bounded views of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from transom.checklist.atoms import Shape
from transom.checklist.writing.document import parse_section4
from transom.tools.files import Viewer, ViewLimits, discover, shown_name


class SeenFile(Shape):
    """A discovered file: the name it is shown by, bytes, what its ending suggests, and whether
    it is the item's.
    """

    name: str
    size: int
    type: str
    own: bool = False


class FileOverview(Shape):
    """What discovery found and showed.

    Attributes:
        files: discovered files; the item's own first.
        total_found: how many there were, shown or not.
        snippets: numbered lines of headers and of keyword matches, file by file.
        shown: names of the files that were shown: the discovered ones and those that their lines
            name.
        skipped: files of which nothing or not all could be shown, and why.
        broken: input files of the item that cannot be read or hold nothing, and why.
    """

    files: tuple[SeenFile, ...]
    total_found: int
    snippets: str
    shown: tuple[str, ...]
    skipped: tuple[str, ...]
    broken: dict[str, str] = Field(default_factory=dict)

    def listed(self) -> tuple[str, ...]:
        """Return the names of all listed files, whether their text was shown or not."""
        return tuple(dict.fromkeys((*(file.name for file in self.files), *self.shown)))

    def listing(self) -> str:
        """Return the files as text."""
        own: list[str] = []
        other_names: list[str] = []
        for file in self.files:
            names = own if file.own else other_names
            names.append(f"{file.name} ({file.size} bytes, {file.type})")
        # The heading is only needed to tell two groups apart.
        if own:
            rows = ["The item's input files:", *own, *(["Other files:"] if other_names else [])]
        else:
            rows = []
        rows += other_names
        if self.total_found > len(self.files):
            rows.append(f"... and {self.total_found - len(self.files)} more")
        return "\n".join([*rows, *(f"not shown: {reason}" for reason in self.skipped)])


def present_files(names: Sequence[str], roots: Sequence[Path]) -> list[Path]:
    """Return the existing files of those names below the roots."""
    return [path for name in names for root in roots if (path := root / name).is_file()]


def survey_files(
    section_4_1: str, own: Sequence[Path], roots: Sequence[Path], limits: ViewLimits
) -> FileOverview:
    """Discover files and view them.

    If the item has files of its `own`, only these and what they name are viewed.
    """
    guide = parse_section4(section_4_1)
    patterns: list[str] = []
    for described in guide.sources:
        patterns += described.source.files
    keywords = list(dict.fromkeys(word for part in guide.extractions for word in part.keywords))
    listing = discover(own, roots, patterns)
    # Beside the roots, where a person's own files lie may be looked at: she named them.
    viewer = Viewer((*roots, *dict.fromkeys(path.parent for path in own)), limits)
    snippets = viewer.show(list(own) or [file.path for file in listing.files], keywords)
    return FileOverview(
        files=tuple(
            SeenFile(name=file.name, size=file.size, type=file.type, own=file.path in own)
            for file in listing.files
        ),
        total_found=listing.total_found,
        snippets=snippets,
        shown=tuple(viewer.names()),
        skipped=tuple(viewer.skipped),
        broken={
            shown_name(path, viewer.roots): why
            for path, why in viewer.broken.items()
            if path in own
        },
    )
