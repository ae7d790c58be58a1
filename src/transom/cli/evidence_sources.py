"""The options that say where the evidence for a feature lives, and the data folder they give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final, Protocol

import typer

from transom.canonical import Json
from transom.cli.command_session import Session
from transom.errors import InputError
from transom.formats.code_hosts import fetch_github, fetch_gitlab
from transom.formats.jira_rest import fetch_issues
from transom.investigator.collecting import collect, collected_name
from transom.investigator.sources import DataFolder

COLLECTED: Final = "collected"
"""The folder of a workspace that holds what was collected."""

DataOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder that holds a folder for each feature.")
]
ArtifactsOption = Annotated[
    tuple[Path, ...],
    typer.Option("--artifacts", metavar="DIR", help="Folder of a CI's reports; may be repeated."),
]
JiraOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Jira server, or URL?jql=...; uses JIRA_TOKEN."),
]
GithubOption = Annotated[
    str | None,
    typer.Option(
        metavar="OWNER/NAME[@REF]",
        help="Take runs, checks, alerts and reviews from GitHub; uses GITHUB_TOKEN.",
    ),
]
GitlabOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL[@REF]",
        help="Take the pipeline, alerts and approvals from GitLab; uses GITLAB_TOKEN.",
    ),
]


class EvidenceSources(Protocol):
    """The options of a command that judges features."""

    @property
    def data(self) -> Path | None: ...

    @property
    def artifacts(self) -> tuple[Path, ...]: ...

    @property
    def jira(self) -> str | None: ...

    @property
    def github(self) -> str | None: ...

    @property
    def gitlab(self) -> str | None: ...


def data_folder(
    session: Session, sources: EvidenceSources, *, jql: str = "", again: bool = False
) -> DataFolder:
    """Return the data folder that the options describe.

    Args:
        session: the command's session; its workspace keeps what is collected.
        sources: the options.
        jql: the query for Jira, if there is no data folder and the address has none.
        again: a run that has asked the servers already, so they are not asked a second time.

    Raises:
        InputError: the options name no source of features, or a source cannot be read.
        NetworkFailed: a server does not answer.
    """
    folder = session.cwd / sources.data if sources.data is not None else None
    is_collected = bool(sources.artifacts or sources.github or sources.gitlab)
    if folder is not None and not is_collected:
        data = DataFolder(folder)
        if sources.jira is None or again:
            return data
        # The folder says which features there are; Jira has their issues.
        return DataFolder(folder, fetch_issues(sources.jira, _jira_keys(folder), os.environ))
    if folder is None and sources.jira is None:
        raise InputError(
            "no data were given",
            place="--data",
            hint="name the folder of the features' folders, or --jira URL?jql=...",
        )
    choices: dict[str, Json] = {
        "data": str(folder or ""),
        "artifacts": [str(session.cwd / path) for path in sources.artifacts],
        "jira": sources.jira,
        "github": sources.github,
        "gitlab": sources.gitlab,
        "jql": jql,
    }
    # The same options give the same folder, so that a follow-up question finds it.
    target = session.workspace.root / COLLECTED / collected_name(choices)
    # A follow-up question is answered from what its run has seen.
    if again and target.is_dir():
        return DataFolder(target)
    # With a data folder, its features select the issues; without one, the query does.
    issues: dict[str, dict[str, Json]] = {}
    if sources.jira is not None:
        issues = fetch_issues(sources.jira, _jira_keys(folder), os.environ, jql=jql)
    collect(
        target,
        data=folder,
        artifacts=[session.cwd / path for path in sources.artifacts],
        issues=issues,
        documents=_documents_of_hosts(sources),
    )
    # Without a data folder, the issues lie in the collection as files.
    return DataFolder(target, issues if folder is not None else None)


def _jira_keys(folder: Path | None) -> list[str]:
    """Return the Jira keys of the features in a data folder; none without a folder."""
    if folder is None:
        return []
    return [feature.jira_key for feature in DataFolder(folder).features if feature.jira_key]


def _documents_of_hosts(sources: EvidenceSources) -> dict[str, Json]:
    """Return what code hosts say of a commit, which is evidence for every feature."""
    documents: dict[str, Json] = {}
    if sources.github is not None:
        documents |= fetch_github(sources.github)
    if sources.gitlab is not None:
        documents |= fetch_gitlab(sources.gitlab)
    return documents
