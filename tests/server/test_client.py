"""The client of the REST API, against a server that listens."""

from __future__ import annotations

import json

import pytest

from tests.llm.conformance.server import LocalServer, Seen, Wire, closed_port
from tests.server.conftest import TOKEN
from tests.server.leaving import ask, finish
from transom.errors import InputError, NotFoundError, RunError
from transom.learning import InsightCategory, Playbook
from transom.runs.history import RunHistory
from transom.server import ApiClient


def test_it_reads_runs_questions_and_insights(
    url: str, book: Playbook, history: RunHistory
) -> None:
    done = finish(history, "one", "done")
    waits = ask(history, "two", "Which?", "a", "b")
    client = ApiClient(url, TOKEN)
    assert {run["run_id"] for run in client.runs()} == {done, waits}
    assert [run["run_id"] for run in client.runs(status="paused")] == [waits]
    assert client.run(waits)["questions"]
    assert len(client.waiting()["questions"]) == 1
    assert client.get("costs", days=7)["days"] == 7

    insight = book.add_insight(next(iter(InsightCategory)), "look twice")
    assert [item["id"] for item in client.insights("look")["items"]] == [insight.id]
    assert client.feedback(insight.id, helpful=True)["helpful_count"] == 1


def test_all_pages_of_a_list_are_followed() -> None:
    rows = [{"run_id": str(number)} for number in range(230)]

    def answer(wire: Wire, seen: Seen) -> None:
        query = dict(part.split("=") for part in seen.path.partition("?")[2].split("&"))
        first, limit = int(query["offset"]), int(query["limit"])
        wire.answer(200, json.dumps({"runs": rows[first : first + limit]}).encode())

    with LocalServer(answer) as server:
        assert list(ApiClient(server.url, TOKEN).runs(kind="check")) == rows
        assert len(server.seen) == 3
        assert {seen.headers["authorization"] for seen in server.seen} == {f"Bearer {TOKEN}"}


def test_problems_become_errors(url: str) -> None:
    client = ApiClient(url, TOKEN)
    for path in ("../x", "a/b", "nobody"):
        with pytest.raises(NotFoundError):
            client.run(path)
    with pytest.raises(InputError, match="token"):
        ApiClient(url, "wrong").waiting()
    with pytest.raises(InputError):
        client.get("runs", offset="many")
    with pytest.raises(RunError, match="does not answer"):
        ApiClient(closed_port(), TOKEN).waiting()
    with pytest.raises(InputError, match="no address of a server"):
        ApiClient("ftp://x", TOKEN)


def test_the_token_follows_no_redirect_and_stands_in_no_error() -> None:
    with LocalServer(lambda wire, seen: wire.answer(200, b"{}")) as other:

        def answer(wire: Wire, seen: Seen) -> None:
            wire.answer(302, b"", {"location": f"{other.url}/api/waiting"})

        refused = pytest.raises(InputError, match="status 302")
        with LocalServer(answer) as server, refused as caught:
            ApiClient(server.url, TOKEN).waiting()
        assert other.seen == [] and TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [(200, b"<html>", "does not answer"), (500, b"broken", "the server failed: status 500")],
)
def test_what_is_no_document_is_an_error(status: int, body: bytes, reason: str) -> None:
    refused = pytest.raises(RunError, match=reason)
    with LocalServer(lambda wire, seen: wire.answer(status, body)) as server, refused:
        ApiClient(server.url, TOKEN).waiting()
