"""The data folder: its features, and the one mapping from a feature's id to its files.

    incoming_data/FEATURE/{jira,metrics,planning,reviews}/...

Paths from a model are resolved inside the feature's own folder; links that lead out of it are
refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from transom.canonical import Json, pretty_json
from transom.errors import InputError
from transom.formats.jira import Issue, read_issue
from transom.formats.json_tree import parse_json
from transom.formats.text_files import decode_text
from transom.formats.yaml_models import nearest_key
from transom.investigator.reading.analysis import load_bytes

ANALYSIS_TYPES: Final = (
    "metrics/performance_benchmarks",
    "metrics/pipeline_results",
    "metrics/security_scan_results",
    "metrics/test_coverage_report",
    "metrics/unit_test_results",
    "reviews/security",
    "reviews/stakeholders",
    "reviews/uat",
)
_ALSO_CALLED: Final[Mapping[str, tuple[str, ...]]] = {
    "metrics/performance_benchmarks": (
        "performance",
        "load_test",
        "load_tests",
        "k6",
        "benchmarks",
    ),
    "metrics/pipeline_results": ("pipeline", "ci_results", "build_results", "ci"),
    "metrics/security_scan_results": (
        "security_scan",
        "security",
        "sarif",
        "trivy",
        "vulnerabilities",
        "scan_results",
    ),
    "metrics/test_coverage_report": ("coverage", "test_coverage", "cobertura", "code_coverage"),
    "metrics/unit_test_results": (
        "unit_test_coverage",
        "unit_tests",
        "test_results",
        "junit",
        "tests",
    ),
    "reviews/security": ("security_review",),
    "reviews/stakeholders": (
        "stakeholder",
        "stakeholder_review",
        "stakeholder_reviews",
        "signoffs",
        "sign_offs",
    ),
    "reviews/uat": ("uat_results", "uat_review", "user_acceptance", "acceptance"),
}
_DATA_FILES: Final = (".json", ".xml", ".sarif", ".jsonl")
_DOC_FILES: Final = (".md", ".markdown", ".txt", ".rst", ".adoc")
_DOC_FOLDERS: Final = ("planning", "docs", "documentation")
_PARTS: Final = ("jira", "metrics", "reviews", *_DOC_FOLDERS)
_ISSUE_FILES: Final = ("feature_issue.json", "issue.json", "jira_issue.json")
_INDEX: Final = "jira_metadata.json"


@dataclass(frozen=True)
class Feature:
    """A feature's row in `get_jira_data`.

    Attributes:
        folder: its folder's name in the data folder.
        category: Jira's key of the status category, "" if unknown.
    """

    folder: str
    jira_key: str
    feature_id: str
    summary: str
    status: str
    data_quality: str
    category: str = field(default="", compare=False)

    def to_json(self) -> dict[str, Json]:
        """Return the six fields that the tool shows."""
        return {name: value for name, value in asdict(self).items() if name != "category"}


@dataclass(frozen=True)
class SourceFile:
    """A file of a feature: its path, and its name in evidence."""

    path: Path
    source: str


class DataFolder:
    """The data of all features.

    Args:
        root: the data folder.
        fetched: Jira key -> issue and changelog from a server; they replace the files.

    Raises:
        InputError: the folder does not exist or has no feature, or its index cannot be read.
    """

    def __init__(self, root: Path, fetched: Mapping[str, Mapping[str, Json]] | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self.fetched = dict(fetched or {})
        self._listed: dict[tuple[str, str], list[SourceFile]] = {}
        if not self.root.is_dir():
            raise InputError(
                "is not a folder",
                where=str(root),
                hint="name the folder that has the features' folders",
            )
        if not self.features:
            hint = (
                "it should hold a folder for each feature, with jira/, metrics/, planning/ and"
                " reviews/"
            )
            if any((self.root / part).is_dir() for part in _PARTS):
                hint = f"this is one feature's folder; name the folder above it: {self.root.parent}"
            raise InputError("holds no feature", where=str(root), hint=hint)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All features, as `get_jira_data` lists them, by folder.

        Raises:
            InputError: the index cannot be read, or two features have one id.
        """
        rows = {feature.folder: feature for feature in self._from_index()}
        for folder in self._folders():
            if folder not in rows:
                rows[folder] = self._from_folder(folder)
        features = tuple(rows[folder] for folder in sorted(rows))
        ids = [feature.feature_id for feature in features]
        double = next((one for one in ids if ids.count(one) > 1), None)
        if double is not None:
            where = ", ".join(
                feature.folder for feature in features if feature.feature_id == double
            )
            raise InputError(
                f"two features have the id {double!r}",
                where=where,
                hint="give each an id of its own",
            )
        return features

    def feature(self, feature_id: str) -> Feature:
        """Return the feature of an id; the one mapping from ids to folders that all tools share.

        Raises:
            InputError: the feature is unknown; names the nearest one.
        """
        for feature in self.features:
            if feature_id in (feature.feature_id, feature.jira_key, feature.folder):
                return feature
        ids = [feature.feature_id for feature in self.features]
        near = nearest_key(feature_id, ids)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(ids)}"
        raise InputError(f"unknown feature {feature_id!r}", where="feature_id", hint=hint)

    def folder(self, feature: Feature) -> Path:
        """Return the feature's folder, which may be missing."""
        return self.root / feature.folder

    def issue_file(self, feature: Feature) -> SourceFile | None:
        """Return the saved issue, or None."""
        return self._first(feature.folder, "jira", _ISSUE_FILES)

    def changelog_file(self, feature: Feature) -> SourceFile | None:
        """Return the saved changelog, or None."""
        return self._first(
            feature.folder,
            "jira",
            ("issue_changelog.json", "changelog.json", "jira_changelog.json"),
        )

    def analysis_files(self, feature: Feature, analysis_type: str) -> list[SourceFile]:
        """Return the files of an analysis type, by any of its names and formats.

        Raises:
            InputError: the type is unknown; names the valid ones.
        """
        if analysis_type not in ANALYSIS_TYPES:
            hint = f"valid types: {', '.join(ANALYSIS_TYPES)}"
            raise InputError(
                f"unknown analysis type {analysis_type!r}", where="analysis_type", hint=hint
            )
        part, _, name = analysis_type.partition("/")
        taken = (
            {} if part != "metrics" else {one.partition("/")[2] for one in ANALYSIS_TYPES} - {name}
        )
        found = []
        for file in self._files(feature.folder, part, _DATA_FILES):
            stem = file.path.name.lower().replace("-", "_").partition(".")[0]
            if stem in (name, *_ALSO_CALLED[analysis_type]) or (
                stem.startswith(f"{name}_") and stem not in taken
            ):
                found.append(file)
        return found

    def docs(self, feature: Feature) -> list[SourceFile]:
        """Return the planning documents of a feature, by path."""
        return [
            file for part in _DOC_FOLDERS for file in self._files(feature.folder, part, _DOC_FILES)
        ]

    def doc(self, path: str, only: Feature | None = None) -> SourceFile:
        """Return a document by its path from `list_docs`.

        Args:
            path: relative to the data folder.
            only: the one feature whose documents may be read.

        Raises:
            InputError: the path is not a document, or belongs to another feature.
        """
        given = path.strip().replace("\\", "/")
        allowed = [only] if only is not None else list(self.features)
        for feature in allowed:
            for file in self.docs(feature):
                if given in (file.source, f"./{file.source}"):
                    return file
        if only is not None and any(
            given == file.source for one in self.features for file in self.docs(one)
        ):
            what, hint = (
                f"{path!r} belongs to another feature",
                f"only documents of {only.feature_id} may be read here",
            )
        else:
            what, hint = f"unknown document {path!r}", "use a path exactly as list_docs gives it"
        raise InputError(what, where="path", hint=hint)

    def read(self, source: str) -> bytes:
        """Return the bytes of a source by its name in evidence.

        Raises:
            InputError: the source is unknown.
        """
        key = source.removeprefix("jira:").partition("/")[0]
        if source.startswith("jira:") and key in self.fetched:
            return pretty_json(
                self.fetched[key]["issue" if source.endswith("issue") else "changelog"]
            ).encode()
        path = Path(os.path.realpath(self.root / source))
        if not path.is_relative_to(self.root) or not path.is_file():
            raise InputError("unknown source", where=source, hint="name a file of the data folder")
        return load_bytes(path)

    def digest(self, source: str) -> str:
        """Return the SHA-256 of a source's bytes, of any size; "" if it cannot be read."""
        if source.startswith("jira:"):
            return hashlib.sha256(self.read(source)).hexdigest()
        try:
            with (self.root / source).open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""

    def _folders(self) -> list[str]:
        try:
            inside = sorted(self.root.iterdir())
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror}", where=str(self.root), hint="check its rights"
            ) from error
        return [
            one.name
            for one in inside
            if self._within(one) and one.is_dir() and any((one / part).is_dir() for part in _PARTS)
        ]

    def _within(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self.root)

    def _files(self, folder: str, part: str, suffixes: tuple[str, ...]) -> list[SourceFile]:
        if (folder, part) not in self._listed:
            self._listed[folder, part] = list(self._inside(folder, part))
        return [file for file in self._listed[folder, part] if file.path.suffix.lower() in suffixes]

    def _inside(self, folder: str, part: str) -> Iterator[SourceFile]:
        """Yield the files below a part of a feature's folder; links that lead out of it are
        skipped.
        """
        base = self.root / folder / part
        if not self._within(base) or not base.is_dir():
            return
        inside = os.path.realpath(self.root / folder)
        for path in sorted(base.rglob("*")):
            if path.is_file() and os.path.realpath(path).startswith(inside + os.sep):
                yield SourceFile(path, path.relative_to(self.root).as_posix())

    def left_out(self, feature: Feature) -> list[str]:
        """Return the links of a feature that lead out of its folder, which are not read."""
        inside = Path(os.path.realpath(self.folder(feature)))
        links = [path for path in sorted(self.folder(feature).rglob("*")) if path.is_symlink()]
        outside = [
            path for path in links if not Path(os.path.realpath(path)).is_relative_to(inside)
        ]
        return [path.relative_to(self.root).as_posix() for path in outside]

    def _first(self, folder: str, part: str, names: tuple[str, ...]) -> SourceFile | None:
        for file in self._files(folder, part, (".json",)):
            if file.path.name.lower() in names:
                return file
        return None

    def _from_index(self) -> Iterator[Feature]:
        path = self.root / _INDEX
        if not path.is_file():
            return
        data = parse_json(decode_text(load_bytes(path)), _INDEX)
        listed = data.get("features", data.get("issues")) if isinstance(data, dict) else data
        if not isinstance(listed, list):
            raise InputError(
                "is not a list of features",
                where=_INDEX,
                hint="remove it to use the issues instead",
            )
        for row in listed:
            if not isinstance(row, dict) or not row.get("folder"):
                continue
            folder = str(row["folder"]).strip("/").rpartition("/")[2]
            if folder in ("", ".", "..") or not self._within(self.root / folder):
                continue
            own = self._from_folder(folder)
            row_fields: dict[str, Any] = {
                name: str(row[name]) for name in own.to_json() if name != "folder" and row.get(name)
            }
            if row_fields.get("status", own.status) != own.status and own.status:
                # the issue is more reliable than its copy in the index
                row_fields["status"] = own.status
            yield Feature(**{**own.to_json(), "category": own.category, **row_fields})

    def _from_folder(self, folder: str) -> Feature:
        issue = self._issue_of(folder)
        key = issue.key if issue else ""
        return Feature(
            folder=folder,
            jira_key=key,
            feature_id=(issue.feature_id if issue else "") or key or folder,
            summary=(
                issue.summary
                if issue and issue.summary
                else folder.replace("_", " ").replace("-", " ")
            ),
            status=issue.status if issue else "",
            data_quality=self._quality(folder, issue),
            category=issue.category if issue else "",
        )

    def _issue_of(self, folder: str) -> Issue | None:
        file = self._first(folder, "jira", _ISSUE_FILES)
        saved = None
        if file is not None:
            try:
                saved = read_issue(parse_json(decode_text(load_bytes(file.path)), file.source))
            except InputError:
                saved = None  # reported when the source is read
        for key, one in self.fetched.items():
            if key.lower() == folder.lower() or (saved is not None and saved.key == key):
                issue = read_issue(one.get("issue"))
                return issue or saved
        return saved

    def _quality(self, folder: str, issue: Issue | None) -> str:
        """Describe the data: number of analyses and documents, and whether Jira's issue can be
        read.
        """
        probe = Feature(folder, "", "", "", "", "")
        available = sum(1 for one in ANALYSIS_TYPES if self.analysis_files(probe, one))
        missing = "" if issue else ", no Jira issue"
        return (
            f"{available} of {len(ANALYSIS_TYPES)} analyses, {len(self.docs(probe))}"
            f" documents{missing}"
        )
