from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import TOKEN, URL, bearer
from transom.learning import Curator, InsightCategory, Playbook
from transom.runs.history import RunHistory
from transom.server import build_app

BASE = "/api/context/playbook"
STR, MIS, TOOL, *_ = InsightCategory


@pytest.fixture
def learned(book: Playbook) -> Iterator[Playbook]:
    """Three insights: 8 of 9 outcomes, 1 of 1, and 0 of 4."""
    for category, text, good, bad in (
        (STR, "Use shells", 8, 1),
        (MIS, "Never refine twice", 1, 0),
        (TOOL, "Try TPE", 0, 4),
    ):
        one = book.add_insight(category, text, tags=["mesh"])
        for number in range(good + bad):
            book.record_outcome(one.id, number < good, followed=True)
    yield book


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()]


def test_an_item_has_the_known_fields_and_the_lower_bound(
    client: TestClient, learned: Playbook
) -> None:
    (item,) = client.get(f"{BASE}/items", params={"category": "str"}).json()
    kept = learned.require("str-00001")
    assert item == client.get(f"{BASE}/items/str-00001").json()
    assert item == {
        "id": "str-00001", "category": "str", "scope": "global", "content": "Use shells", "helpful_count": 8, "harmful_count": 1,
        "net_score": 7, "confidence": 8 / 9, "lower_bound": kept.lower_bound, "tags": ["mesh"],
        "created_at": kept.created_at, "last_used": kept.last_used,
    }  # fmt: skip


def test_the_list_is_sorted_filtered_and_paged(client: TestClient, learned: Playbook) -> None:
    def listed(**query: Any) -> list[str]:
        return ids(client.get(f"{BASE}/items", params=query))

    assert listed() == ["str-00001", "mis-00002", "tool-00003"]  # 8 of 9 stands before 1 of 1
    assert listed(sort="confidence") == ["mis-00002", "str-00001", "tool-00003"]
    assert listed(min_score=1, min_confidence=0.9) == ["mis-00002"]
    assert listed(category="tool", min_score=0) == []
    answer = client.get(f"{BASE}/items", params={"limit": 1, "offset": 1})
    assert ids(answer) == ["mis-00002"]
    assert answer.headers["X-Total-Count"] == "3"
    assert listed(offset=3) == []


def test_feedback_moves_score_and_confidence_also_of_a_mistake(
    client: TestClient, learned: Playbook
) -> None:
    def told(key: str, helpful: bool) -> Any:
        return client.post(f"{BASE}/feedback", json={"item_id": key, "helpful": helpful}).json()

    assert told("str-00001", True) == {
        "item_id": "str-00001", "new_score": 8, "new_confidence": 0.9, "helpful_count": 9, "harmful_count": 1,
    }  # fmt: skip
    assert told("mis-00002", False)["new_score"] == 0
    assert learned.events("mis-00002")[-1].data["source"] == {"by": "rest"}


def test_an_insight_is_added_once_and_a_retired_one_is_not_learned_again(
    client: TestClient, book: Playbook
) -> None:
    given = {
        "category": "str",
        "content": "Use shell elements",
        "tags": ["mesh"],
        "source_trial": 42,
    }
    first = client.post(f"{BASE}/insights", json=given)
    again = client.post(
        f"{BASE}/insights", json=given | {"content": "use SHELL elements!", "tags": ["thin"]}
    )
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json() | {"tags": ["mesh", "thin"]}
    assert book.require("str-00001").source_trials == (42,)

    assert client.delete(f"{BASE}/items/str-00001").json() == {"deleted": "str-00001"}
    assert client.get(f"{BASE}/items/str-00001").status_code == 404
    assert client.delete(f"{BASE}/items/str-00001").status_code == 404
    refused = client.post(f"{BASE}/insights", json=given)
    assert refused.status_code == 409
    assert "playbook retire str-00001 --undo" in refused.json()["detail"]
    Curator(book).restore("str-00001")
    assert ids(client.get(f"{BASE}/items")) == ["str-00001"]


def test_prune_retires_what_evidence_condemns_and_the_summary_counts(
    client: TestClient, learned: Playbook
) -> None:
    assert client.post(f"{BASE}/prune", params={"threshold": -5}).json() == {
        "items_pruned": 0,
        "threshold": -5,
    }
    assert client.post(f"{BASE}/prune").json() == {"items_pruned": 1, "threshold": -3}
    assert client.get(BASE).json() == learned.get_stats()
    assert client.get(BASE).json()["retired"] == 1


def test_the_context_is_that_of_the_task(client: TestClient, learned: Playbook) -> None:
    query: dict[str, Any] = {
        "task_type": "debug_error",
        "max_items": 5,
        "min_confidence": 0.6,
        "tags": ["mesh", "solver"],
    }
    found = client.get(f"{BASE}/context", params=query).json()
    assert found["context"] == learned.get_context_for_task(
        "debug_error", 5, 0.6, ["mesh", "solver"]
    )
    assert found["items_included"] == 2
    assert client.get(f"{BASE}/context", params={"max_items": 1}).json()["items_included"] == 1


def test_insights_of_all_scopes_are_listed_filtered_and_changed(
    client: TestClient, book: Playbook, tmp_path: Path
) -> None:
    book.add_insight(STR, "Close the valve before the pump stops.")
    with Playbook(tmp_path / "state.db", domain="water", study="locks") as other:
        wide = other.add_insight(MIS, "The gauge lags behind by a minute.", level="domain")
        narrow = other.add_insight(TOOL, "Start with the lower gate.", level="study")
    assert set(ids(client.get(f"{BASE}/items"))) == {"str-00001", wide.id, narrow.id}
    assert client.get(BASE).json()["by_scope"] == {
        "global": 1, "domain/water": 1, "study/locks": 1,
    }  # fmt: skip
    (item,) = client.get(f"{BASE}/items", params={"scope": "domain/water"}).json()
    assert (item["id"], item["scope"]) == (wide.id, "domain/water")
    assert client.get(BASE, params={"scope": "study/locks"}).json()["total_items"] == 1
    assert ids(client.get(f"{BASE}/items", params={"scope": "domain/air"})) == []
    feedback = {"item_id": narrow.id, "helpful": True}
    assert client.post(f"{BASE}/feedback", json=feedback).json()["helpful_count"] == 1
    assert client.delete(f"{BASE}/items/{wide.id}").json() == {"deleted": wide.id}
    assert client.get(BASE, params={"scope": "domain/water"}).json()["retired"] == 1


def test_what_another_person_owns_is_neither_shown_nor_changed(
    client: TestClient, book: Playbook, tmp_path: Path
) -> None:
    book.add_insight(STR, "shared by all")
    with Playbook(tmp_path / "state.db", user="ada") as hers:
        own = hers.add_insight(STR, "ada's own rule of thumb", personal=True)
    assert ids(client.get(f"{BASE}/items")) == ["str-00001"]
    assert client.get(f"{BASE}/items/{own.id}").status_code == 404
    assert client.delete(f"{BASE}/items/{own.id}").status_code == 404
    assert (
        client.post(f"{BASE}/feedback", json={"item_id": own.id, "helpful": False}).status_code
        == 404
    )


@pytest.mark.parametrize(
    ("method", "path", "body", "where"),
    [
        ("GET", "/items?catgory=str", None, "query.catgory"),
        ("GET", "/items?limit=0", None, "query.limit"),
        ("POST", "/prune?threshold=0", None, "query.threshold"),
        ("POST", "/feedback", {"item_id": "str-00001", "helpful": "yes"}, "body.helpful"),
        ("POST", "/insights", {"category": "rule", "content": "x"}, "body.category"),
        ("POST", "/insights", {"category": "str", "content": " \n"}, "body.content"),
    ],
)
def test_what_cannot_be_used_is_named(
    client: TestClient, method: str, path: str, body: Any, where: str
) -> None:
    answer = client.request(method, BASE + path, json=body)
    problem = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert (answer.status_code, problem["status"], problem["type"]) == (422, 422, "about:blank")
    assert [one["where"] for one in problem["errors"]] == [where]


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", rb'{"category": "str", "content": "\ud800"}', b"null"]
)
def test_a_body_that_is_no_such_document_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post(
        f"{BASE}/insights", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_closed_database_is_a_problem_and_no_defect(book: Playbook, client: TestClient) -> None:
    book.close()
    answer = client.get(BASE)
    assert (answer.status_code, answer.json()["title"]) == (503, "Service Unavailable")


def test_a_defect_is_logged_and_its_text_is_not_sent(
    history: RunHistory, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def everywhere(self, scope: str) -> Any:
            raise ZeroDivisionError("the secret of the database")

    with TestClient(build_app(Broken(), history, TOKEN), base_url=URL, headers=bearer()) as client:  # type: ignore[arg-type]  # on purpose
        answer = client.get(BASE)
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "application/problem+json")
    assert "secret" not in answer.text
    assert "ZeroDivisionError" in caplog.text
