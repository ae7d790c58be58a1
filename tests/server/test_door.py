from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import TOKEN, URL, bearer
from transom.learning import InsightCategory, Playbook
from transom.runs.history import RunHistory
from transom.server import MOST_BYTES, build_app

PATH = "/api/context/playbook"


@pytest.mark.parametrize("path", [PATH, "/openapi.json", "/nowhere"])
def test_without_the_token_nothing_is_told(client: TestClient, path: str) -> None:
    del client.headers["Authorization"]
    wrong = [
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        TOKEN,
        f"Basic {TOKEN}",
    ]
    for headers in ({}, *({"Authorization": one} for one in wrong)):
        answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), headers
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert TOKEN not in answer.text


def test_nothing_is_changed_by_what_is_refused(client: TestClient, book: Playbook) -> None:
    given = {"category": "str", "content": "from a foreign page"}
    for headers in (bearer("wrong"), {"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        assert client.post(f"{PATH}/insights", json=given, headers=headers).status_code in (
            401,
            403,
        )
    assert not book.items


def test_pages_of_other_sites_are_refused_with_the_token_too(client: TestClient) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:8421", "http://127.0.0.1", ""):
        answer = client.options(
            PATH, headers={"Origin": origin, "Access-Control-Request-Method": "POST"}
        )
        assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (
            403,
            False,
        ), origin
        assert client.get(PATH, headers={"Origin": origin}).status_code == 403
    assert client.get(PATH, headers={"Origin": URL}).status_code == 200


# what a request names -> status where only this machine is served, and where others are too
HOSTS = {
    "127.0.0.1:8420": (200, 200),
    "LOCALHOST": (200, 200),
    "[::1]:8420": (200, 200),
    "192.168.1.5:8420": (403, 200),
    "evil.example": (403, 403),
    "127.0.0.1.evil.example:8420": (403, 403),
    "evil.example@127.0.0.1": (403, 403),
    "127.0.0.1:8420, evil.example": (403, 403),
    "": (403, 403),
}


def test_a_name_that_was_made_to_lead_here_is_refused(
    client: TestClient, book: Playbook, history: RunHistory
) -> None:
    shared = TestClient(build_app(book, history, TOKEN, "0.0.0.0"), base_url=URL, headers=bearer())
    found = {
        host: tuple(one.get(PATH, headers={"Host": host}).status_code for one in (client, shared))
        for host in HOSTS
    }
    assert found == HOSTS


def test_a_path_that_is_none_leads_nowhere(client: TestClient, book: Playbook) -> None:
    book.add_insight(InsightCategory.STRATEGY, "something")
    tricks = [
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/session",
        "str-00001%00",
        "' OR 1=1 --",
        "x" * 10_000,
    ]
    for path in (
        *(f"{PATH}/items/{one}" for one in tricks),
        f"{PATH}/",
        "/etc/passwd",
        "/api/nothing",
        "/docs",
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["title"]) == (404, "Not Found"), path


def test_a_method_that_a_path_does_not_have_is_a_problem(client: TestClient) -> None:
    answer = client.put(PATH)
    assert (answer.status_code, answer.json()["status"], answer.headers["Allow"]) == (
        405,
        405,
        "GET",
    )


def test_a_body_up_to_the_limit_is_read_and_a_longer_one_is_not(client: TestClient) -> None:
    assert client.post(f"{PATH}/insights", content=b" " * MOST_BYTES).status_code == 422
    assert client.post(f"{PATH}/insights", content=b" " * (MOST_BYTES + 1)).status_code == 413
