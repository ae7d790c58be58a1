"""What there is to read of a feature, and one source's reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from transom.errors import InputError
from transom.formats.release.analysis import read_analysis_file
from transom.formats.release.documents import read_document
from transom.formats.release.issues import read_changelog_file, read_issue_file
from transom.formats.release.shapes import Kind, Reading, Shape
from transom.investigator.sources import ANALYSIS_TYPES, DataFolder, Feature


class SourceRef(Shape):
    """A source to read.

    Attributes:
        name: the analysis type, `jira`, `changelog`, or the document's file name.
        source: its name in evidence.
        sha256: of its bytes, so that a source that changed is read again.
    """

    kind: Kind
    name: str
    source: str
    sha256: str = ""

    @property
    def key(self) -> str:
        """Unique in a feature, and fit to name a stage."""
        return self.source.replace("/", "_").replace(" ", "_")


def sources_of(data: DataFolder, feature: Feature) -> list[SourceRef]:
    """All sources of a feature, in a fixed order: Jira, analyses, documents."""
    found: list[SourceRef] = []

    def add(kind: Kind, name: str, source: str) -> None:
        found.append(SourceRef(kind=kind, name=name, source=source, sha256=data.digest(source)))

    for name, inner, file in (
        ("jira", "issue", data.issue_file(feature)),
        ("changelog", "changelog", data.changelog_file(feature)),
    ):
        if feature.jira_key in data.fetched:
            add("jira", name, f"jira:{feature.jira_key}/{inner}")
        elif file is not None:
            add("jira", name, file.source)
    for name in ANALYSIS_TYPES:
        for one in data.analysis_files(feature, name):
            add("analysis", name, one.source)
    for one in data.docs(feature):
        add("document", PurePosixPath(one.source).name, one.source)
    return found


def read_source(data: DataFolder, ref: SourceRef) -> Reading:
    """Read one source; what is wrong with it is said in the reading."""
    if ref.kind == "document":
        return read_document(data.root / ref.source, ref.source, ref.name)
    if ref.kind == "analysis":
        return read_analysis_file(data.root / ref.source, ref.source, ref.name)
    reader: Callable[[bytes, str], Reading] = read_issue_file if ref.name == "jira" else read_changelog_file
    try:
        return reader(data.read(ref.source), ref.source)
    except InputError as error:
        return Reading(source=ref.source, kind="jira", name=ref.name, state="unreadable", why=error.what)
