from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import bearer
from transom.learning import InsightCategory, Playbook

ENDPOINTS = {
    ("/playbook", "get"), ("/playbook/items", "get"), ("/playbook/items/{item_id}", "get"),
    ("/playbook/items/{item_id}", "delete"), ("/playbook/feedback", "post"), ("/playbook/insights", "post"),
    ("/playbook/prune", "post"), ("/playbook/context", "get"), ("/session", "get"), ("/session/context", "get"),
    ("/cache/stats", "get"), ("/learning/report", "get"),
}  # fmt: skip


PAGES = {
    ("/api/now", "get"), ("/api/waiting", "get"), ("/api/runs", "get"), ("/api/runs/{run_id}", "get"),
    ("/api/runs/{run_id}/calls", "get"), ("/api/runs/{run_id}/trace", "get"), ("/api/runs/{run_id}/result", "get"),
    ("/api/releases", "get"), ("/api/stories", "get"), ("/api/studies", "get"), ("/api/studies/{name}", "get"),
    ("/api/playbook", "get"), ("/api/playbook/{item_id}", "get"),
    ("/api/costs", "get"), ("/api/evals", "get"), ("/api/evals/{run_id}", "get"),
    ("/api/memory", "get"), ("/api/settings", "get"), ("/api/checks", "get"), ("/api/start", "get"),
    ("/api/runs/{run_id}/stages", "get"), ("/api/runs/{run_id}/calls/{number}", "get"),
    ("/api/runs/{run_id}/verdict", "post"),
}  # fmt: skip


def test_the_document_has_the_endpoints_their_token_and_their_problems(
    client: TestClient,
) -> None:
    document = client.get("/openapi.json").json()
    paths = document["paths"]
    assert {(path, method) for path, known in paths.items() for method in known} == {
        *((f"/api/context{path}", method) for path, method in ENDPOINTS),
        *PAGES,
    }
    for known in paths.values():
        for operation in known.values():
            assert operation["security"] == [{"HTTPBearer": []}]
            assert [*operation["responses"]["422"]["content"]] == ["application/problem+json"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_whatever_is_sent_is_answered_as_the_document_says(
    url: str, book: Playbook, mode: str
) -> None:
    import schemathesis
    from hypothesis import given, settings
    from schemathesis.core.parameters import ParameterLocation
    from schemathesis.specs.openapi.checks import negative_data_rejection

    def beside(case: Any) -> list[Any]:
        """What is wrong with a query or a header may be gone once it is sent: an empty list, the
        token added here.
        """
        body = case.meta.components.get(ParameterLocation.BODY)
        return [] if body and body.mode.is_negative else [negative_data_rejection]

    for category in InsightCategory:
        book.add_insight(category, f"a fact about {category.name}")
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", headers=bearer())
    asked = []
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # of an error, which would fail here

        @settings(max_examples=25, database=None)
        @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
        def answers(case: Any) -> None:
            case.call_and_validate(headers=bearer(), excluded_checks=beside(case))

        answers()
        asked.append((operation.path.removeprefix("/api/context"), operation.method))
    assert {*asked} == ENDPOINTS | PAGES
