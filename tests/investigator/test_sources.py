"""The data folder and its four tools, as a model meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.investigator.helpers import EXAMPLES, NOT_READY, READY, change, copy_of, judged, status
from transom.errors import InputError, NetworkFailed, ToolRefused
from transom.formats.jira_rest import fetch_issues
from transom.investigator.reading.recognition import ANALYSIS_TYPES
from transom.investigator.sources import DataFolder
from transom.investigator.tools import jira_tool, reading_tools
from transom.tools import Arguments


async def ask(data: DataFolder, name: str, only: str | None = None, **arguments: str) -> Any:
    tools = [jira_tool(data), *reading_tools(data, data.feature(only) if only else None)]
    tool = next(one for one in tools if one.name == name)
    given: Arguments = dict(arguments)
    return (await tool.run(given)).content


async def test_jira_data_has_six_fields_of_all_features() -> None:
    rows = await ask(DataFolder(EXAMPLES), "get_jira_data")
    assert len(rows) == 6
    assert set(rows[0]) == {"folder", "jira_key", "feature_id", "summary", "status", "data_quality"}
    assert (rows[2]["folder"], rows[2]["feature_id"], rows[2]["status"]) == (
        "feature3",
        "group-reservations",
        "UAT",
    )


async def test_an_index_maps_folders_and_does_not_outdo_the_issue(tmp_path: Path) -> None:
    copy_of(READY, tmp_path)
    copy_of(NOT_READY, tmp_path)
    row = {"folder": "feature2", "jira_key": "LEND-142", "feature_id": "FEAT-2", "summary": "Kiosk"}
    row |= {"status": "Released", "data_quality": "patchy"}
    (tmp_path / "jira_metadata.json").write_text(json.dumps({"features": [row]}))
    rows = {one["folder"]: one for one in await ask(DataFolder(tmp_path), "get_jira_data")}
    assert rows["feature2"] == {**row, "status": "UAT"}
    assert rows["feature1"]["feature_id"] == "maintenance-reminders"
    (first, *_) = await ask(DataFolder(tmp_path), "list_docs", feature_id="FEAT-2")
    assert first["path"].startswith("feature2/planning/")


@pytest.mark.parametrize("name", ANALYSIS_TYPES)
async def test_each_analysis_type_of_each_feature_is_found(name: str) -> None:
    for feature in DataFolder(EXAMPLES).features:
        found = await ask(
            DataFolder(EXAMPLES), "get_analysis", feature_id=feature.feature_id, analysis_type=name
        )
        assert found


async def test_docs_are_listed_and_read_by_the_same_path() -> None:
    data = DataFolder(EXAMPLES)
    docs = await ask(data, "list_docs", feature_id="qr-kiosk")
    assert set(docs[0]) == {"path", "name", "size"}
    text = await ask(data, "read_doc", path=docs[0]["path"])
    assert len(text.encode()) == docs[0]["size"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (
            "get_analysis",
            {"feature_id": "qr-kiosk", "analysis_type": "metrics/latency"},
            "metrics/performance_benchmarks",
        ),
        ("get_analysis", {"feature_id": "qr-kiosq", "analysis_type": "reviews/uat"}, "qr-kiosk"),
        (
            "get_analysis",
            {"feature_id": "volunteer-credits", "analysis_type": "reviews/uat"},
            "may not be read here",
        ),
        ("list_docs", {"feature_id": "../feature1"}, "unknown feature"),
        ("read_doc", {"path": "feature1/planning/DESIGN_DOC.md"}, "belongs to another feature"),
        (
            "read_doc",
            {"path": "feature2/planning/../../feature1/planning/DESIGN_DOC.md"},
            "unknown document",
        ),
        ("read_doc", {"path": "/etc/passwd"}, "unknown document"),
        ("read_doc", {"path": "feature2/jira/feature_issue.json"}, "unknown document"),
        ("read_doc", {"path": "feature2/planning/NOTHING.md"}, "list_docs"),
    ],
)
async def test_what_may_not_be_read_is_refused_with_what_may(
    tool: str, arguments: dict[str, str], said: str
) -> None:
    with pytest.raises(ToolRefused) as refused:
        await ask(DataFolder(EXAMPLES), tool, only="qr-kiosk", **arguments)
    assert said in str(refused.value)


async def test_a_link_that_leads_out_is_neither_listed_nor_read(tmp_path: Path) -> None:
    folder = copy_of(READY, tmp_path / "data")
    secret = tmp_path / "secret.md"
    secret.write_text("keep out")
    (folder / "planning" / "LINK.md").symlink_to(secret)
    (tmp_path / "data" / "linked").symlink_to(tmp_path)
    data = DataFolder(tmp_path / "data")
    assert [one.folder for one in data.features] == ["feature1"]
    assert not [
        one
        for one in await ask(data, "list_docs", feature_id="maintenance-reminders")
        if "LINK" in one["name"]
    ]
    with pytest.raises(ToolRefused):
        await ask(data, "read_doc", path="feature1/planning/LINK.md")
    decision, _ = judged(tmp_path / "data", READY)
    assert [one.source for one in decision.unread] == ["feature1/planning/LINK.md"]


async def test_no_data_is_a_status_of_its_own(tmp_path: Path) -> None:
    (copy_of(READY, tmp_path) / "reviews" / "uat.json").unlink()
    found = await ask(
        DataFolder(tmp_path), "get_analysis", feature_id="LEND-118", analysis_type="reviews/uat"
    )
    assert found["status"] == "NO_DATA"


def test_features_without_jira_are_there_by_their_folder(tmp_path: Path) -> None:
    folder = copy_of(READY, tmp_path)
    for path in (folder / "jira").iterdir():
        path.unlink()
    (feature,) = DataFolder(tmp_path).features
    assert (feature.feature_id, feature.status) == ("feature1", "")
    decision, _ = judged(tmp_path, READY)
    assert (decision.verdict, status(decision, "jira.issue")) == ("INSUFFICIENT_DATA", "absent")


def test_two_features_with_one_id_are_named(tmp_path: Path) -> None:
    for folder in (READY, NOT_READY):
        change(
            copy_of(folder, tmp_path) / "jira" / "feature_issue.json",
            lambda data: data["fields"].update(feature_id="x"),
        )
    with pytest.raises(InputError, match="two features have the id 'x'"):
        _ = DataFolder(tmp_path).features


# Jira's REST API


def jira_server(server: HTTPServer, *, cloud: bool) -> list[Request]:
    """Four issues in pages of two, one of them with more changes than come with it."""
    seen: list[Request] = []
    issues: list[dict[str, Any]] = []
    for number, folder in enumerate((READY, NOT_READY, "feature3", "feature4")):
        data = json.loads((EXAMPLES / folder / "jira" / "feature_issue.json").read_text())
        data.setdefault("key", data.get("jira_key"))
        issues.append({**data, "changelog": {"histories": [], "total": 3 if number == 0 else 0}})

    def search(request: Request) -> Response:
        seen.append(request)
        token = request.args.get("nextPageToken" if cloud else "startAt") or "0"
        start = int(token)
        page: dict[str, Any] = {"issues": issues[start : start + 2]}
        page |= (
            {"nextPageToken": str(start + 2)}
            if cloud and start == 0
            else {}
            if cloud
            else {"total": 4}
        )
        return Response(json.dumps(page), mimetype="application/json")

    def changelog(request: Request) -> Response:
        start = int(request.args["startAt"])
        item = {"field": "status", "fromString": "UAT", "toString": f"Step {start}"}
        page = {"values": [{"created": f"2026-01-0{start + 1}", "items": [item]}], "total": 3}
        return Response(json.dumps(page), mimetype="application/json")

    if not cloud:
        server.expect_request("/rest/api/3/search/jql").respond_with_data("not here", status=404)
    path = "/rest/api/3/search/jql" if cloud else "/rest/api/2/search"
    server.expect_request(path).respond_with_handler(search)
    server.expect_request("/rest/api/2/issue/LEND-118/changelog").respond_with_handler(changelog)
    return seen


@pytest.mark.parametrize("cloud", [True, False])
def test_issues_come_page_by_page(httpserver: HTTPServer, cloud: bool) -> None:
    seen = jira_server(httpserver, cloud=cloud)
    environ = {"JIRA_TOKEN": "s3cret"} | ({"JIRA_EMAIL": "me@example.org"} if cloud else {})
    found = fetch_issues(httpserver.url_for("/"), ["LEND-118", "LEND-142"], environ)
    assert sorted(found) == ["LEND-118", "LEND-131", "LEND-137", "LEND-142"]
    assert len(found["LEND-118"]["changelog"]["histories"]) == 3  # type: ignore[index, arg-type, call-overload]
    assert seen[0].headers["Authorization"].startswith("Basic " if cloud else "Bearer s3cret")
    assert seen[0].args["jql"] == "key in (LEND-118, LEND-142)"
    data = DataFolder(EXAMPLES, found)
    assert data.feature("qr-kiosk").status == "UAT"
    assert json.loads(data.read("jira:LEND-142/issue"))["key"] == "LEND-142"


def test_what_is_wrong_with_the_server_is_one_clear_error(httpserver: HTTPServer) -> None:
    address = httpserver.url_for("/")
    with pytest.raises(InputError, match="JIRA_TOKEN"):
        fetch_issues(address, ["A-1"], {})
    with pytest.raises(InputError, match="is not a URL"):
        fetch_issues("jira.example.org", ["A-1"], {"JIRA_TOKEN": "x"})
    with pytest.raises(InputError, match="jql"):
        fetch_issues(address, [], {"JIRA_TOKEN": "x"})
    httpserver.expect_request("/rest/api/3/search/jql").respond_with_data("no", status=401)
    with pytest.raises(InputError, match="refuses the token"):
        fetch_issues(address, ["A-1"], {"JIRA_TOKEN": "x"})
    httpserver.clear()
    httpserver.expect_request("/rest/api/3/search/jql").respond_with_data(
        "<html>", content_type="text/html"
    )
    with pytest.raises(NetworkFailed, match="Jira did not answer"):
        fetch_issues(address, ["A-1"], {"JIRA_TOKEN": "x"})
