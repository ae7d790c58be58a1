"""The data folder: its features, and the one mapping from a feature's id to its files.

    incoming_data/FEATURE/{jira,metrics,planning,reviews}/...

Paths from a model are resolved inside the feature's own folder; links that lead out of it are
refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

from transom.canonical import Json, pretty_json
from transom.errors import InputError
from transom.formats.jira import Issue, read_issue
from transom.formats.json_tree import parse_json
from transom.formats.text_decoding import decode_text
from transom.formats.yaml_models import nearest_key
from transom.investigator.features import ISSUE_FILES, Feature, SourceFile, is_inside, may_be_issue
from transom.investigator.reading.analysis import load_bytes
from transom.investigator.reading.recognition import (
    ANALYSIS_TYPES,
    DOCUMENT_SUFFIXES,
    OTHER_REVIEW,
    name_of,
    recognise,
)

_DOC_FOLDERS: Final = ("planning", "docs", "documentation")
_PARTS: Final = ("jira", "metrics", "reviews", *_DOC_FOLDERS)
_INDEX: Final = "jira_metadata.json"


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
        self._listed: dict[str, tuple[SourceFile, ...]] = {}
        if not self.root.is_dir():
            raise InputError(
                "is not a folder",
                place=str(root),
                hint="name the folder that has the features' folders",
            )
        if not self.features:
            hint = (
                "it should hold a folder for each feature, with jira/, metrics/, planning/ and"
                " reviews/"
            )
            if any((self.root / part).is_dir() for part in _PARTS):
                hint = f"this is one feature's folder; name the folder above it: {self.root.parent}"
            raise InputError("holds no feature", place=str(root), hint=hint)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """All features, as `get_jira_data` lists them, by folder.

        Raises:
            InputError: the index cannot be read, or two features have one id.
        """
        # The index comes first: it may name features whose issue nobody saved.
        rows = {feature.folder: feature for feature in self._from_index()}
        for folder in self._folders():
            if folder not in rows:
                rows[folder] = self._from_folder(folder)
        features = tuple(rows[folder] for folder in sorted(rows))
        ids = [feature.feature_id for feature in features]
        double = next((identifier for identifier in ids if ids.count(identifier) > 1), None)
        if double is not None:
            place = ", ".join(
                feature.folder for feature in features if feature.feature_id == double
            )
            raise InputError(
                f"two features have the id {double!r}",
                place=place,
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
        # A typing error is common, so the nearest id is named.
        ids = [feature.feature_id for feature in self.features]
        near = nearest_key(feature_id, ids)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(ids)}"
        raise InputError(f"unknown feature {feature_id!r}", place="feature_id", hint=hint)

    def folder(self, feature: Feature) -> Path:
        """Return the feature's folder, which may be missing."""
        return self.root / feature.folder

    def files(self, feature: Feature) -> tuple[SourceFile, ...]:
        """Return every file of a feature, in any of its folders, with what it is taken for."""
        if feature.folder not in self._listed:
            self._listed[feature.folder] = tuple(self._recognised(feature.folder))
        return self._listed[feature.folder]

    def issue_file(self, feature: Feature) -> SourceFile | None:
        """Return the saved issue, or None."""
        return self._issue_file(feature.folder)

    def changelog_file(self, feature: Feature) -> SourceFile | None:
        """Return the saved changelog, or None."""
        for file in self.files(feature):
            if file.recognition.kind == "jira" and file.recognition.name == "changelog":
                return file
        return None

    def analysis_files(self, feature: Feature, analysis_type: str) -> list[SourceFile]:
        """Return the files of an analysis type, whatever their names and folders.

        Raises:
            InputError: the type is unknown; names the valid ones.
        """
        if analysis_type not in (*ANALYSIS_TYPES, OTHER_REVIEW):
            hint = f"valid types: {', '.join(ANALYSIS_TYPES)}"
            raise InputError(
                f"unknown analysis type {analysis_type!r}", place="analysis_type", hint=hint
            )
        analysis_files = list[SourceFile]()
        for file in self.files(feature):
            if file.recognition.kind == "analysis" and file.recognition.name == analysis_type:
                analysis_files.append(file)
        return analysis_files

    def docs(self, feature: Feature) -> list[SourceFile]:
        """Return the documents of a feature, by path."""
        return [file for file in self.files(feature) if file.recognition.kind == "document"]

    def unused(self, feature: Feature) -> list[SourceFile]:
        """Return the files of a feature that nobody reads."""
        issue, changelog = self.issue_file(feature), self.changelog_file(feature)
        unused = list[SourceFile]()
        for file in self.files(feature):
            is_second = file.recognition.kind == "jira" and file not in (issue, changelog)
            if file.recognition.kind is None or is_second:
                unused.append(file)
        return unused

    def doc(self, path: str, only: Feature | None = None) -> SourceFile:
        """Return a document by its path from `list_docs`.

        Args:
            path: relative to the data folder.
            only: the one feature whose documents may be read.

        Raises:
            InputError: the path is not a document, or belongs to another feature.
        """
        relative_path = path.strip().replace("\\", "/")
        allowed = [only] if only is not None else list(self.features)
        for feature in allowed:
            for file in self.docs(feature):
                if relative_path in (file.source, f"./{file.source}"):
                    return file
        if only is not None and any(
            relative_path == file.source for entry in self.features for file in self.docs(entry)
        ):
            problem, hint = (
                f"{path!r} belongs to another feature",
                f"only documents of {only.feature_id} may be read here",
            )
        else:
            problem, hint = f"unknown document {path!r}", "use a path exactly as list_docs gives it"
        raise InputError(problem, place="path", hint=hint)

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
        # A model chooses this path, and links may lead anywhere.
        path = Path(os.path.realpath(self.root / source))
        if not path.is_relative_to(self.root) or not path.is_file():
            raise InputError("unknown source", place=source, hint="name a file of the data folder")
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
                f"cannot be read: {error.strerror}", place=str(self.root), hint="check its rights"
            ) from error
        folders = []
        for path in inside:
            if path.is_dir() and not path.name.startswith(".") and self._within(path):
                folders.append(path.name)
        # A folder with these parts is one feature, and its parts are no features.
        if any((self.root / part).is_dir() for part in _PARTS):
            feature_folders = list[str]()
            for name in folders:
                if self._has_part(name):
                    feature_folders.append(name)
            return feature_folders
        feature_folders = list[str]()
        for name in folders:
            if self._has_part(name) or self._issue_of(name):
                feature_folders.append(name)
        return feature_folders

    def _has_part(self, folder: str) -> bool:
        return any((self.root / folder / part).is_dir() for part in _PARTS)

    def _within(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self.root)

    def _paths(self, folder: str) -> Iterator[Path]:
        """Yield the files of a feature; links that lead out of its folder are skipped."""
        base = self.root / folder
        if not self._within(base) or not base.is_dir():
            return
        inside = os.path.realpath(base)
        for path in sorted(base.rglob("*")):
            hidden = any(part.startswith(".") for part in path.relative_to(base).parts)
            if not hidden and path.is_file() and is_inside(path, inside):
                yield path

    def _recognised(self, folder: str) -> Iterator[SourceFile]:
        """Yield the files of a feature with what they are taken for."""
        for path in self._paths(folder):
            inner = PurePosixPath(path.relative_to(self.root / folder).as_posix())
            recognition = recognise(inner, partial(load_bytes, path))
            yield SourceFile(path, path.relative_to(self.root).as_posix(), recognition)

    def left_out(self, feature: Feature) -> list[str]:
        """Return the links of a feature that lead out of its folder, which are not read."""
        inside = Path(os.path.realpath(self.folder(feature)))
        links = []
        for path in sorted(self.folder(feature).rglob("*")):
            if path.is_symlink():
                links.append(path)
        outside = []
        for path in links:
            if not Path(os.path.realpath(path)).is_relative_to(inside):
                outside.append(path)
        return [path.relative_to(self.root).as_posix() for path in outside]

    def _issue_file(self, folder: str) -> SourceFile | None:
        """Return the file of the feature's own issue: by its usual name, else the first one."""
        issue_files = list[SourceFile]()
        for path in self._paths(folder):
            # Features are listed without opening all of their files.
            is_usual = path.name.casefold() in ISSUE_FILES and path.parent.name == "jira"
            if is_usual or may_be_issue(path):
                inner = PurePosixPath(path.relative_to(self.root / folder).as_posix())
                recognition = recognise(inner, partial(load_bytes, path))
                if recognition.kind == "jira" and recognition.name == "jira":
                    source = path.relative_to(self.root).as_posix()
                    issue_files.append(SourceFile(path, source, recognition))
                    if is_usual:
                        return issue_files[-1]
        if issue_files:
            return issue_files[0]
        return None

    def _from_index(self) -> Iterator[Feature]:
        path = self.root / _INDEX
        if not path.is_file():
            return
        data = parse_json(decode_text(load_bytes(path)), _INDEX)
        listed = data
        if isinstance(data, dict):
            listed = data.get("features", data.get("issues"))
        if not isinstance(listed, list):
            raise InputError(
                "is not a list of features",
                place=_INDEX,
                hint="remove it to use the issues instead",
            )
        for row in listed:
            if not isinstance(row, dict) or not row.get("folder"):
                continue
            folder = str(row["folder"]).strip("/").rpartition("/")[2]
            if folder in ("", ".", "..") or not self._within(self.root / folder):
                continue
            own = self._from_folder(folder)
            row_fields: dict[str, Any] = {}
            for name in own.to_json():
                if name != "folder" and row.get(name):
                    row_fields[name] = str(row[name])
            if row_fields.get("status", own.status) != own.status and own.status:
                # the issue is more reliable than its copy in the index
                row_fields["status"] = own.status
            yield Feature(
                **{
                    **own.to_json(),
                    "category": own.category,
                    "fix_versions": own.fix_versions,
                    "components": own.components,
                    **row_fields,
                }
            )

    def _from_folder(self, folder: str) -> Feature:
        issue = self._issue_of(folder)
        key = ""
        if issue:
            key = issue.key
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
            data_quality=(issue.data_quality if issue else "") or self._quality(folder, issue),
            category=issue.category if issue else "",
            fix_versions=issue.fix_versions if issue else (),
            components=issue.components if issue else (),
        )

    def _issue_of(self, folder: str) -> Issue | None:
        file = self._issue_file(folder)
        saved = None
        if file is not None:
            try:
                saved = read_issue(parse_json(decode_text(load_bytes(file.path)), file.source))
            except InputError:
                saved = None  # reported when the source is read
        for key, entry in self.fetched.items():
            if key.lower() == folder.lower() or (saved is not None and saved.key == key):
                issue = read_issue(entry.get("issue"))
                return issue or saved
        return saved

    def _quality(self, folder: str, issue: Issue | None) -> str:
        """Describe the data: number of analyses and documents, and whether Jira's issue can be
        read.
        """
        names = set[str]()
        documents = 0
        for path in self._paths(folder):
            inner = PurePosixPath(path.relative_to(self.root / folder).as_posix())
            if path.suffix.casefold() in DOCUMENT_SUFFIXES:
                documents += 1
            elif (name := name_of(inner)) in ANALYSIS_TYPES:
                names.add(str(name))
        missing = ", no Jira issue"
        if issue:
            missing = ""
        return f"{len(names)} of {len(ANALYSIS_TYPES)} analyses, {documents} documents{missing}"
