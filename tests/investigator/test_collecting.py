"""Evidence where it lives: a CI's folders, Jira alone, GitHub and GitLab, each on a local server."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.investigator.folders import issue
from tests.investigator.reports import junit
from transom.errors import InputError, NetworkFailed
from transom.formats.code_hosts import fetch_github, fetch_gitlab
from transom.formats.jira_rest import fetch_issues
from transom.formats.rest_client import RestClient
from transom.investigator.collecting import collect
from transom.investigator.sources import DataFolder

TOKEN = {"JIRA_TOKEN": "s3cret", "GITHUB_TOKEN": "gh", "GITLAB_TOKEN": "gl"}
SHA = "4f2a9c1d"


def issue_of(key: str) -> dict[str, Any]:
    return {**issue(), "key": key, "changelog": {"histories": [], "total": 0}}


def files_of(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


# A CI's folders


def collected(root: Path, **more: Any) -> Path:
    given: dict[str, Any] = {"data": None, "artifacts": [], "issues": {}, "documents": {}}
    return collect(root / "collected", **{**given, **more})


def test_a_file_of_a_ci_belongs_to_the_feature_that_its_path_names_or_to_all(
    tmp_path: Path,
) -> None:
    ci = tmp_path / "ci"
    for name in ("junit.xml", "LEND-1/unit.xml", "lend-12_e2e.xml"):
        (ci / name).parent.mkdir(parents=True, exist_ok=True)
        (ci / name).write_text(junit(9, 0, 0))
    issues = {key: {"issue": issue_of(key)} for key in ("LEND-1", "LEND-12")}
    folder = collected(tmp_path, artifacts=[ci], issues=issues)
    assert files_of(folder / "LEND-1" / "artifacts") == ["ci/LEND-1/unit.xml", "ci/junit.xml"]
    assert files_of(folder / "LEND-12" / "artifacts") == ["ci/junit.xml", "ci/lend-12_e2e.xml"]
    data = DataFolder(folder)
    tests = data.analysis_files(data.feature("LEND-1"), "metrics/unit_test_results")
    assert len(tests) == 2


def test_a_new_collection_has_nothing_of_the_one_before(tmp_path: Path) -> None:
    issues = {"A-1": {"issue": issue_of("A-1")}}
    collected(tmp_path, issues=issues, documents={"metrics/run.json": {"status": "success"}})
    folder = collected(tmp_path, issues=issues)
    assert not (folder / "A-1" / "metrics").exists()


def test_an_empty_folder_of_a_ci_is_an_error_and_leaves_the_earlier_collection(
    tmp_path: Path,
) -> None:
    issues = {"A-1": {"issue": issue_of("A-1")}}
    folder = collected(tmp_path, issues=issues)
    before = files_of(folder)
    (tmp_path / "empty").mkdir()
    for wrong, problem in ((tmp_path / "empty", "no file"), (tmp_path / "none", "not a folder")):
        with pytest.raises(InputError, match=problem):
            collected(tmp_path, issues=issues, artifacts=[wrong])
    assert files_of(folder) == before
    assert [path.name for path in tmp_path.iterdir()].count("collected") == 1
    with pytest.raises(InputError, match="nothing names a feature"):
        collected(tmp_path)


# Jira alone


def test_jira_alone_gives_the_features_of_a_query(httpserver: HTTPServer, tmp_path: Path) -> None:
    asked: list[str] = []

    def search(request: Request) -> Response:
        asked.append(request.args["jql"])
        return Response(json.dumps({"issues": [issue_of("LEND-7")]}), mimetype="application/json")

    httpserver.expect_request("/rest/api/3/search/jql").respond_with_handler(search)
    query = 'fixVersion = "2026.9"'
    issues = fetch_issues(httpserver.url_for("/"), environ=TOKEN, jql=query)
    assert asked == [query]
    assert [
        feature.jira_key for feature in DataFolder(collected(tmp_path, issues=issues)).features
    ] == ["LEND-7"]


def test_an_empty_answer_is_an_error(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/rest/api/3/search/jql").respond_with_json({"issues": []})
    with pytest.raises(InputError, match="has no issue for"):
        fetch_issues(httpserver.url_for("/"), environ=TOKEN, jql="project = NONE")


# Every server


def client(server: HTTPServer) -> RestClient:
    return RestClient(
        server.url_for("/"), server="The server", place="--x", token_name="X_TOKEN", headers={}
    )


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    busy = Response("busy", status=status, headers={"Retry-After": "2"})
    httpserver.expect_ordered_request("/a").respond_with_response(busy)
    httpserver.expect_ordered_request("/a").respond_with_data("busy", status=status)
    httpserver.expect_ordered_request("/a").respond_with_json({"ok": True})
    assert client(httpserver).get("/a") == {"ok": True}
    assert pauses == [2.0, 3.0]


def test_a_server_that_stays_busy_is_an_error_with_its_reason(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    httpserver.expect_request("/a").respond_with_json({"message": "come back later"}, status=503)
    with pytest.raises(NetworkFailed, match="503: come back later"):
        client(httpserver).get("/a")


def test_the_reason_of_a_refused_query_is_shown(httpserver: HTTPServer) -> None:
    answer = {"errorMessages": ["The value 'X' does not exist for the field 'project'."]}
    httpserver.expect_request("/a").respond_with_json(answer, status=400)
    with pytest.raises(InputError, match="does not exist for the field 'project'"):
        client(httpserver).get("/a")


def test_a_next_page_on_another_host_gets_no_token(httpserver: HTTPServer) -> None:
    link = '<https://elsewhere.example/b>; rel="next"'
    httpserver.expect_request("/a").respond_with_json([1], headers={"Link": link})
    with pytest.raises(NetworkFailed, match="another host"):
        list(client(httpserver).pages("/a"))


# GitHub


def github(server: HTTPServer, **more: Any) -> dict[str, str]:
    """A repository with two workflows, one of which failed first and passed when repeated."""
    server.no_handler_status_code = 404
    run = {"name": "ci", "workflow_id": 1, "head_sha": SHA, "status": "completed"}
    runs = [
        {**run, "run_number": 8, "conclusion": "success", "created_at": "2026-09-18T08:00:00Z"},
        {**run, "run_number": 7, "conclusion": "failure", "created_at": "2026-09-17T08:00:00Z"},
    ]
    base = "/repos/acme/loans"
    answers: dict[str, Any] = {
        f"{base}/actions/runs": {"workflow_runs": runs},
        f"{base}/commits/{SHA}/check-runs": {
            "check_runs": [{"name": "lint", "status": "completed", "conclusion": "success"}]
        },
        f"{base}/commits/{SHA}/pulls": [{"number": 4}],
        f"{base}/pulls/4/reviews": [{"user": {"login": "ines"}, "state": "APPROVED"}],
        f"{base}/releases": [{"name": "2026.9", "body": "Loans renew.", "draft": False}],
    }
    for path, answer in {**answers, **more}.items():
        server.expect_request(path).respond_with_json(answer)
    return {**TOKEN, "GITHUB_API_URL": server.url_for("").rstrip("/")}


def test_github_gives_runs_checks_reviews_and_the_release(httpserver: HTTPServer) -> None:
    documents: dict[str, Any] = fetch_github(f"acme/loans@{SHA}", github(httpserver))
    runs = documents["metrics/github_runs.json"]["workflow_runs"]
    assert [run["conclusion"] for run in runs] == ["success"]
    assert documents["metrics/github_checks.json"]["check_runs"][0]["name"] == "lint"
    assert documents["reviews/github_reviews.json"]["reviews"][0]["state"] == "APPROVED"
    assert "Loans renew." in documents["planning/github_releases.md"]
    # The repository has no scanner: that is no clean scan.
    assert not [name for name in documents if "alerts" in name]
    request = httpserver.log[0][0]
    assert request.headers["Authorization"] == "Bearer gh"
    assert request.args["head_sha"] == SHA


def test_alerts_of_github_are_read_page_by_page(httpserver: HTTPServer) -> None:
    path = "/repos/acme/loans/code-scanning/alerts"
    alert = {"number": 1, "state": "open", "rule": {"id": "x", "security_severity_level": "high"}}

    def page(request: Request) -> Response:
        headers = {}
        if "page" not in request.args:
            headers = {"Link": f'<{httpserver.url_for(path)}?page=2>; rel="next"'}
        return Response(json.dumps([alert]), mimetype="application/json", headers=headers)

    httpserver.expect_request(path).respond_with_handler(page)
    documents: dict[str, Any] = fetch_github(f"acme/loans@{SHA}", github(httpserver))
    assert len(documents["metrics/github_code-scanning_alerts.json"]) == 2


def test_a_repository_without_runs_and_checks_is_an_error(httpserver: HTTPServer) -> None:
    base = "/repos/acme/loans"
    empty: dict[str, Any] = {
        f"{base}/actions/runs": {"workflow_runs": []},
        f"{base}/commits/{SHA}/check-runs": {"check_runs": []},
    }
    with pytest.raises(InputError, match="no run and no check"):
        fetch_github(f"acme/loans@{SHA}", github(httpserver, **empty))
    with pytest.raises(InputError, match="names no repository"):
        fetch_github("loans", TOKEN)


def test_a_refused_token_is_named(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/repos/acme/loans").respond_with_json({}, status=401)
    environ = {**TOKEN, "GITHUB_API_URL": httpserver.url_for("").rstrip("/")}
    with pytest.raises(InputError, match="refuses the token") as refused:
        fetch_github("acme/loans", environ)
    assert "GITHUB_TOKEN" in str(refused.value)


# GitLab


def gitlab(server: HTTPServer, status: str = "success") -> str:
    base = "/api/v4/projects/acme/loans"  # the server of the test decodes the slash
    pipeline = {"id": 31, "sha": SHA, "ref": "main", "status": status}
    answers: dict[str, Any] = {
        base: {"default_branch": "main"},
        f"{base}/pipelines": [pipeline],
        f"{base}/pipelines/31": pipeline,
        f"{base}/pipelines/31/jobs": [{"name": "unit", "stage": "test", "status": status}],
        f"{base}/pipelines/31/test_report": {"total_count": 9, "success_count": 9},
        f"{base}/vulnerabilities": [{"title": "x", "severity": "high", "state": "detected"}],
        f"{base}/repository/commits/{SHA}/merge_requests": [{"iid": 5}],
        f"{base}/merge_requests/5/approvals": {"approved": True, "approved_by": []},
        f"{base}/releases": [{"name": "2026.9", "description": "Loans renew."}],
    }
    for path, answer in answers.items():
        server.expect_request(path).respond_with_json(answer)
    return server.url_for("/acme/loans")


def test_gitlab_gives_the_pipeline_with_its_jobs_tests_alerts_and_approvals(
    httpserver: HTTPServer,
) -> None:
    documents: dict[str, Any] = fetch_gitlab(gitlab(httpserver), TOKEN)
    pipeline = documents["metrics/gitlab_pipeline.json"]
    assert (pipeline["status"], pipeline["jobs"][0]["name"]) == ("success", "unit")
    assert documents["metrics/gitlab_test_report.json"]["total_count"] == 9
    assert documents["metrics/gitlab_vulnerabilities.json"]["vulnerabilities"]
    assert documents["reviews/gitlab_approvals.json"]["reviews"][0]["approved"] is True
    assert httpserver.log[0][0].headers["PRIVATE-TOKEN"] == "gl"


def test_a_project_without_a_pipeline_is_an_error(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v4/projects/acme/loans/pipelines").respond_with_json([])
    with pytest.raises(InputError, match="no pipeline"):
        fetch_gitlab(httpserver.url_for("/acme/loans") + "@main", TOKEN)
    with pytest.raises(InputError, match="names no project"):
        fetch_gitlab("acme/loans", TOKEN)


# What the readers take the servers' documents for


def test_documents_of_servers_are_recognised_and_read(
    httpserver: HTTPServer, tmp_path: Path
) -> None:
    alert = {
        "number": 1,
        "created_at": "2026-09-10T08:00:00Z",
        "html_url": "https://github.example/acme/loans/security/code-scanning/1",
        "state": "open",
        "rule": {"id": "x", "severity": "error", "security_severity_level": "high"},
        "tool": {"name": "CodeQL", "version": "2.19.0"},
        "most_recent_instance": {"ref": "refs/heads/main", "state": "open", "commit_sha": SHA},
    }
    environ = github(httpserver, **{"/repos/acme/loans/code-scanning/alerts": [alert]})
    documents = fetch_github(f"acme/loans@{SHA}", environ) | fetch_gitlab(gitlab(httpserver), TOKEN)
    issues = {"A-1": {"issue": issue_of("A-1")}}
    data = DataFolder(collected(tmp_path, issues=issues, documents=documents))
    taken = {
        file.source.partition("/")[2]: file.recognition.name
        for file in data.files(data.feature("A-1"))
    }
    for name in documents:
        assert taken[name], name
    assert taken["metrics/github_runs.json"] == "metrics/pipeline_results"
    assert taken["metrics/gitlab_pipeline.json"] == "metrics/pipeline_results"
    assert taken["metrics/github_code-scanning_alerts.json"] == "metrics/security_scan_results"
    assert taken["reviews/github_reviews.json"].startswith("reviews/")
