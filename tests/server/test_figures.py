from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from transom.learning import InsightCategory, Playbook, SessionState, TaskType
from transom.learning.session import SESSION
from transom.telemetry import keys

BASE = "/api/context"
STR = InsightCategory.STRATEGY


def test_the_session_is_empty_until_one_is_saved_and_shows_no_isolated_data(
    client: TestClient, tmp_path: Path
) -> None:
    assert client.get(f"{BASE}/session").json()["recent_actions"] == []
    assert client.get(f"{BASE}/session/context").json() == {"session_id": "session", "context": ""}

    state = SessionState("bracket")
    state.exposed.task_type = TaskType.DEBUG_ERROR
    state.add_error("did not converge", "solver")
    state.add_trial({"trial": 1, "secret": "kept apart"})
    state.isolated.last_f06_content = "kept apart"
    state.save(tmp_path / SESSION)
    told = client.get(f"{BASE}/session")
    assert told.json() == {"session_id": "bracket", **state.exposed.model_dump(mode="json")}
    assert "kept apart" not in told.text
    assert client.get(f"{BASE}/session/context").json() == {
        "session_id": "bracket",
        "context": state.get_llm_context(),
    }


def test_a_broken_session_is_named(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / SESSION).write_text("{")
    answer = client.get(f"{BASE}/session")
    assert (answer.status_code, "this is not a session" in answer.json()["detail"]) == (422, True)


def test_cache_stats_add_up_what_was_reported(client: TestClient, tmp_path: Path) -> None:
    assert client.get(f"{BASE}/cache/stats").json()["total_requests"] == 0
    spans = [
        _call(1, 1_000, written=1_000),
        *(_call(number, 1_000, cached=900) for number in (2, 3)),
        _call(4, 1_000),
    ]
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / f"{'a' * 32}.jsonl").write_text(
        "\n".join([*map(json.dumps, spans), "no span", ""])
    )
    (tmp_path / "traces" / f"{'b' * 32}.jsonl").write_text("no span at all\n")
    assert client.get(f"{BASE}/cache/stats").json() == {
        "total_requests": 4, "cache_hits": 2, "cache_misses": 2, "hit_rate": 0.5, "input_tokens": 4_000,
        "cached_tokens": 1_800, "estimated_savings_percent": pytest.approx(100 * (1_800 * 0.9 - 1_000 * 0.25) / 4_000),
    }  # fmt: skip


def test_the_report_names_the_best_the_worst_and_what_to_ask(
    client: TestClient, book: Playbook
) -> None:
    for text, good, bad in (("holds", 5, 0), ("fails", 0, 3), ("depends", 2, 2), ("untried", 0, 0)):
        one = book.add_insight(STR, f"it {text} altogether")
        for number in range(good + bad):
            book.record_outcome(one.id, number < good)
    report = client.get(f"{BASE}/learning/report").json()
    assert [one["id"] for one in report["top_performers"]] == ["str-00001"]
    assert [one["id"] for one in report["worst_performers"]] == ["str-00002"]
    assert [(one["kind"], one["insight"]) for one in report["questions"]] == [
        ("uncertain", "str-00003")
    ]
    assert report["playbook_stats"] == book.get_stats()


def _call(number: int, tokens: int, *, cached: int = 0, written: int = 0) -> dict[str, Any]:
    attributes = {
        keys.INPUT_TOKENS: tokens, keys.CACHE_READ_TOKENS: cached, keys.CACHE_CREATION_TOKENS: written,
    }  # fmt: skip
    known = [{"key": keys.OPERATION, "value": {"stringValue": keys.CHAT}}]
    known += [{"key": key, "value": {"intValue": str(value)}} for key, value in attributes.items()]
    span = {
        "traceId": "a" * 32, "spanId": f"{number:016x}", "name": "chat x", "attributes": known, "status": {},
        "startTimeUnixNano": str(number * 10**9), "endTimeUnixNano": str(number * 10**9 + 5),
    }  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
