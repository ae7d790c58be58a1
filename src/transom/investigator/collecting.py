"""A data folder that is collected from where evidence lives: a CI's folders, and servers."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from transom.canonical import Json, canonical_json, pretty_json
from transom.errors import InputError
from transom.investigator.sources import DataFolder

_ISSUE: Final = "jira/feature_issue.json"
_CHANGELOG: Final = "jira/issue_changelog.json"


def collected_name(choices: Mapping[str, Json]) -> str:
    """Return the name of the folder for a choice of sources: the same choice has the same one."""
    return hashlib.sha256(canonical_json(dict(choices)).encode()).hexdigest()[:16]


def collect(
    target: Path,
    *,
    data: Path | None,
    artifacts: Sequence[Path],
    issues: Mapping[str, Mapping[str, Json]],
    documents: Mapping[str, Json],
) -> Path:
    """Make a data folder of all sources, in place of an earlier one, and return it.

    A file of a CI's folder whose path names a feature belongs to that feature; any other file and
    what a server says of a commit are evidence for every feature.

    Args:
        target: the folder to make.
        data: a folder of feature folders, whose files are taken over.
        artifacts: folders of a CI.
        issues: Jira key -> issue and changelog; each is a feature if there is no `data`.
        documents: file name -> document of a server.

    Raises:
        InputError: a folder of a CI does not exist or is empty, or nothing names a feature.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # A reader of the earlier folder is not left with half of a new one.
    draft = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        features = _features(draft, data, issues)
        if not features:
            raise InputError(
                "nothing names a feature",
                place="--artifacts",
                hint="give --data, or --jira URL?jql=... for the features' issues",
            )
        # After the features are known, since a path may name one of them.
        for folder in artifacts:
            _take_artifacts(draft, folder, features)
        for name, document in documents.items():
            for feature in features:
                _write(draft / feature / name, document)
        # The new folder takes the old one's place in one step.
        if target.exists():
            shutil.rmtree(target)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return target


def _features(
    draft: Path, data: Path | None, issues: Mapping[str, Mapping[str, Json]]
) -> list[str]:
    """Lay the features' own files into the draft, and return the names of their folders."""
    if data is None:
        for key, answer in issues.items():
            _write(draft / key / _ISSUE, answer.get("issue"))
            _write(draft / key / _CHANGELOG, answer.get("changelog"))
        return list(issues)
    for path in _files(data):
        _link(path, draft / path.relative_to(data))
    return [feature.folder for feature in DataFolder(draft).features]


def _take_artifacts(draft: Path, folder: Path, features: Sequence[str]) -> None:
    if not folder.is_dir():
        raise InputError(
            "is not a folder", place=f"--artifacts {folder}", hint="name a CI's folder"
        )
    paths = list(_files(folder))
    if not paths:
        # Silence is no evidence: an upload that failed leaves an empty folder.
        raise InputError(
            "holds no file", place=f"--artifacts {folder}", hint="check the upload of the CI"
        )
    for path in paths:
        inner = path.relative_to(folder)
        matching_features = []
        for feature in features:
            if _names(inner, feature):
                matching_features.append(feature)
        for feature in matching_features or features:
            _link(path, draft / feature / "artifacts" / folder.name / inner)


def _names(path: Path, feature: str) -> bool:
    """Return whether a part of a path is or begins with a feature's name."""
    name = feature.casefold()
    for part in path.parts:
        suffix = part.casefold().removeprefix(name)
        # LEND-1 is not LEND-12.
        if len(suffix) < len(part) and not suffix[:1].isalnum():
            return True
    return False


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; links that lead out of it are left."""
    inside = os.path.realpath(folder) + os.sep
    for path in sorted(folder.rglob("*")):
        if path.is_file() and os.path.realpath(path).startswith(inside):
            yield path


def _link(path: Path, copy: Path) -> None:
    """Copy a file, without its bytes if the file system allows it."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Artifacts of a CI may be gigabytes.
        os.link(os.path.realpath(path), copy)
    except OSError:
        shutil.copy2(path, copy)


def _write(path: Path, document: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else pretty_json(document)
    path.write_text(text, encoding="utf-8")
