"""Runs, checks, alerts, reviews and releases of a commit or branch, from GitHub or GitLab.

Source: GitHub's REST API (version 2022-11-28) and GitLab's (version 4).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.rest_client import RestClient

GITHUB_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")
GITLAB_TOKEN: Final = "GITLAB_TOKEN"
_GITHUB: Final = "https://api.github.com"
_REPOSITORY: Final = re.compile(r"([\w.-]+/[\w.-]+)(?:@(\S+))?")
_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}")
_PAGE: Final = {"per_page": "100"}
# A commit may be part of many pull requests, each of which is a request of its own.
_MOST_PULLS: Final = 20


def fetch_github(text: str, environ: Mapping[str, str] = os.environ) -> dict[str, Json]:
    """Fetch what GitHub knows of a commit or branch: file name -> document.

    Args:
        text: `OWNER/NAME` or `OWNER/NAME@REF`; without a reference, the default branch.
        environ: has `GITHUB_TOKEN` or `GH_TOKEN`, and `GITHUB_API_URL` for a server of your own.

    Raises:
        InputError: no repository, no runs and no checks for the reference, or a refused token.
        NetworkFailed: the server's response is not GitHub's.
    """
    match = _REPOSITORY.fullmatch(text)
    if match is None:
        hint = "write OWNER/NAME or OWNER/NAME@REF"
        raise InputError(f"{text!r} names no repository", place="--github", hint=hint)
    repository, ref = match[1], match[2] or ""
    # Public repositories need no token.
    token = next((environ[name] for name in GITHUB_TOKENS if environ.get(name)), "")
    headers = {"X-GitHub-Api-Version": "2022-11-28"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    address = environ.get("GITHUB_API_URL") or _GITHUB
    client = RestClient(
        address,
        server="GitHub",
        place="--github",
        token_name=GITHUB_TOKENS[0],
        headers=headers,
    )
    with client:
        base = f"/repos/{repository}"
        if not ref:
            project = _object(client.get(base))
            ref = str(project.get("default_branch") or "main")
        selection = {"branch": ref}
        if _COMMIT.fullmatch(ref):
            selection = {"head_sha": ref}
        runs = _rows(client, f"{base}/actions/runs", {**_PAGE, **selection}, "workflow_runs")
        checks = _rows(client, f"{base}/commits/{_quoted(ref)}/check-runs", _PAGE, "check_runs")
        if not runs and not checks:
            # Silence of a server is no evidence.
            raise InputError(
                f"GitHub has no run and no check of {repository} for {ref}",
                place="--github",
                hint="check the branch or commit behind @",
            )
        documents: dict[str, Json] = {}
        if runs:
            documents["metrics/github_runs.json"] = {"workflow_runs": _latest_runs(runs)}
        if checks:
            documents["metrics/github_checks.json"] = {"check_runs": list[Json](checks)}
        return documents | _further_github_documents(client, base, ref)


def _further_github_documents(client: RestClient, base: str, ref: str) -> dict[str, Json]:
    """Return the alerts, reviews and releases of a repository, as far as it has them."""
    documents: dict[str, Json] = {}
    for kind in ("code-scanning", "dependabot", "secret-scanning"):
        # A repository without the scanner has no such path: it is absent, not clean.
        alerts = _rows(client, f"{base}/{kind}/alerts", _PAGE)
        if alerts:
            documents[f"metrics/github_{kind}_alerts.json"] = list[Json](alerts)
    reviews = _github_reviews(client, base, ref)
    if reviews:
        documents["reviews/github_reviews.json"] = {"reviews": reviews}
    releases = _rows(client, f"{base}/releases", _PAGE)
    if releases:
        documents["planning/github_releases.md"] = _release_notes(releases)
    return documents


def _github_reviews(client: RestClient, base: str, ref: str) -> list[Json]:
    """Return the reviews of the pull requests that a commit or branch came from."""
    reviews: list[Json] = []
    pulls = _rows(client, f"{base}/commits/{_quoted(ref)}/pulls", _PAGE)
    for pull in pulls[:_MOST_PULLS]:
        reviews += _rows(client, f"{base}/pulls/{pull.get('number')}/reviews", _PAGE)
    return reviews


def fetch_gitlab(text: str, environ: Mapping[str, str] = os.environ) -> dict[str, Json]:
    """Fetch what GitLab knows of a commit or branch: file name -> document.

    Args:
        text: the project's address, `https://HOST/GROUP/NAME` or `https://HOST/GROUP/NAME@REF`.
        environ: has `GITLAB_TOKEN`, a personal, group or project access token.

    Raises:
        InputError: not an address, no pipeline for the reference, or a refused token.
        NetworkFailed: the server's response is not GitLab's.
    """
    address, _, ref = text.partition("@")
    parts = urlsplit(address)
    project = parts.path.strip("/")
    if parts.scheme not in ("http", "https") or not parts.netloc or "/" not in project:
        hint = "write https://HOST/GROUP/NAME or https://HOST/GROUP/NAME@REF"
        raise InputError(f"{text!r} names no project", place="--gitlab", hint=hint)
    token = environ.get(GITLAB_TOKEN, "")
    headers: dict[str, str] = {}
    if token:
        headers["PRIVATE-TOKEN"] = token
    client = RestClient(
        urlunsplit((parts.scheme, parts.netloc, "", "", "")),
        server="GitLab",
        place="--gitlab",
        token_name=GITLAB_TOKEN,
        headers=headers,
    )
    with client:
        base = f"/api/v4/projects/{quote(project, safe='')}"
        if not ref:
            ref = str(_object(client.get(base)).get("default_branch") or "main")
        selection = {"ref": ref}
        if _COMMIT.fullmatch(ref):
            selection = {"sha": ref}
        # The newest pipeline alone counts: a job that was repeated in a later one is over.
        order = {"order_by": "id", "sort": "desc", "per_page": "1"}
        pipelines = client.get(f"{base}/pipelines", {**selection, **order})
        if not isinstance(pipelines, list) or not pipelines:
            raise InputError(
                f"GitLab has no pipeline of {project} for {ref}",
                place="--gitlab",
                hint="check the branch or commit behind @",
            )
        number = _object(pipelines[0]).get("id")
        pipeline = _object(client.get(f"{base}/pipelines/{number}"))
        jobs = _rows(client, f"{base}/pipelines/{number}/jobs", _PAGE)
        documents: dict[str, Json] = {
            "metrics/gitlab_pipeline.json": {**pipeline, "jobs": list(jobs)}
        }
        commit = str(pipeline.get("sha") or ref)
        return documents | _further_gitlab_documents(client, base, str(number), commit)


def _further_gitlab_documents(
    client: RestClient, base: str, pipeline: str, commit: str
) -> dict[str, Json]:
    """Return the tests, findings, approvals and releases of a project, as far as it has them."""
    # Not all editions of GitLab have these parts; a missing one is absent, not clean.
    documents: dict[str, Json] = {}
    tests = client.get(f"{base}/pipelines/{pipeline}/test_report", optional=True)
    if isinstance(tests, dict) and tests.get("total_count"):
        documents["metrics/gitlab_test_report.json"] = tests
    findings = _rows(client, f"{base}/vulnerabilities", _PAGE)
    if findings:
        listed = list[Json](findings)
        documents["metrics/gitlab_vulnerabilities.json"] = {"vulnerabilities": listed}
    approvals: list[Json] = []
    # Merge requests are found by commit; a branch may have moved on since the pipeline.
    for request in _rows(client, f"{base}/repository/commits/{commit}/merge_requests", _PAGE):
        path = f"{base}/merge_requests/{request.get('iid')}/approvals"
        approval = client.get(path, optional=True)
        if isinstance(approval, dict):
            approvals.append(approval)
    if approvals:
        documents["reviews/gitlab_approvals.json"] = {"reviews": approvals}
    releases = _rows(client, f"{base}/releases", _PAGE)
    if releases:
        documents["planning/gitlab_releases.md"] = _release_notes(releases)
    return documents


def _rows(
    client: RestClient, path: str, fields: Mapping[str, str], name: str = ""
) -> list[dict[str, Any]]:
    """Return all rows of a list; none if the server does not have it."""
    rows: list[dict[str, Any]] = []
    for page in client.pages(path, fields, optional=True):
        listed = page
        if name:
            listed = _object(page).get(name)
        if isinstance(listed, list):
            rows += [row for row in listed if isinstance(row, dict)]
    return rows


def _latest_runs(runs: list[dict[str, Any]]) -> list[Json]:
    """Return the latest run of each workflow: an older failure that was repeated is over."""
    latest: dict[str, dict[str, Any]] = {}
    for run in runs:
        workflow = str(run.get("workflow_id") or run.get("name"))
        order = (int(run.get("run_number") or 0), int(run.get("run_attempt") or 0))
        earlier_run = latest.get(workflow, {})
        if order >= (
            int(earlier_run.get("run_number") or 0),
            int(earlier_run.get("run_attempt") or 0),
        ):
            latest[workflow] = run
    return list(latest.values())


def _release_notes(releases: list[dict[str, Any]]) -> str:
    """Return the latest release as a document; drafts are not published."""
    public_releases = [release for release in releases if not release.get("draft")] or releases
    release = public_releases[0]
    title = release.get("name") or release.get("tag_name") or "Release"
    date = release.get("published_at") or release.get("released_at") or ""
    body = release.get("body") or release.get("description") or ""
    status = ""
    if release.get("draft"):
        status = "Status: draft\n\n"
    return f"# {title}\n\n{status}Published: {date}\n\n{body}\n"


def _object(value: Json) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {}


def _quoted(ref: str) -> str:
    # A branch may have slashes.
    return quote(ref, safe="")
