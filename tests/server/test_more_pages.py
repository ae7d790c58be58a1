"""Costs, evaluations, memory and settings as pages and as JSON."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from starlette.testclient import TestClient

from tests.agent.helpers import SEAT
from tests.evals.test_compare import evaluation, scenario
from tests.server.conftest import HTML, TOKEN, URL
from tests.server.leaving import NASTY, csrf_of, markup_in
from transom.agent import Agent, Home
from transom.config import load_settings
from transom.evals.stored_evaluations import remember
from transom.learning import Playbook
from transom.llm import Reply, Request, ScriptedProvider, Text, Usage
from transom.memory import SqliteMemory
from transom.runs.history import RunHistory
from transom.server import build_app


async def ask_model(folder: Path, name: str, usage: Usage) -> None:
    """Leave a conversation in a workspace in which a model answered once."""

    def answer(request: Request) -> Reply:
        return Reply((Text("done"),), usage=usage)

    provider = ScriptedProvider(answer)
    async with Agent(SEAT, provider=provider, at=Home(folder, name)) as agent:
        await agent.send("go")


def test_costs_count_each_call_in_each_grouping(browser: TestClient, tmp_path: Path) -> None:
    assert "None of the 0 runs of this period asked a model" in browser.get("/costs").text
    asyncio.run(ask_model(tmp_path, "first", Usage(1_000, 10, cached_tokens=400, cost=0.25)))
    asyncio.run(ask_model(tmp_path, "second", Usage(500, 5, cost=0.5)))
    costs = browser.get("/api/costs?days=1").json()
    row = {
        "runs": 2,
        "input_tokens": 1_500,
        "output_tokens": 15,
        "cached_tokens": 400,
        "cost_usd": 0.75,
        "unpriced": [],
    }
    assert costs["runs"] == 2 and costs["total"] == {"name": "total", **row}
    assert costs["models"] == [{"name": "scripted", **row}]
    for grouping in ("products", "dates"):
        (only,) = costs[grouping]
        assert {**only, "name": ""} == {"name": "", **row}
    text = browser.get("/costs").text
    assert "$0.75 for 2 of 2 runs" in text and "1,500" in text


def test_calls_without_a_price_are_named(browser: TestClient, tmp_path: Path) -> None:
    asyncio.run(ask_model(tmp_path, "first", Usage(1_000, 10)))
    assert browser.get("/api/costs").json()["total"]["unpriced"] == ["scripted"]
    assert "no price known" in browser.get("/costs").text
    assert browser.get("/costs?days=0").status_code == 422


def test_settings_show_their_sources_and_no_secret(
    history: RunHistory, book: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGES_API_KEY", "hunter2-hunter2")
    file = tmp_path / "transom.yaml"
    file.write_text(
        "store: postgresql://ann:opensesame@db/runs\nlogging:\n  level: DEBUG\n"
        "model: openai:hunter2-hunter2\n",
        encoding="utf-8",
    )
    app = build_app(book, history, TOKEN, known_settings=load_settings(file=file, environ={}))
    with TestClient(app, base_url=URL, headers=HTML) as browser:
        browser.get(f"/?token={TOKEN}")
        text = browser.get("/settings").text
        rows = {row["key"]: row for row in browser.get("/api/settings").json()["settings"]}
    assert (rows["logging.level"]["value"], rows["logging.level"]["source"]) == (
        "DEBUG",
        f"{file}:3",
    )
    assert rows["store"]["value"] == "postgresql://db/runs"
    assert rows["workspace"]["source"] is None
    for secret in ("opensesame", "hunter2"):
        assert secret not in text and secret not in json.dumps(rows)


def test_the_doctor_is_started_from_the_settings(browser: TestClient) -> None:
    form = {"csrf": csrf_of(browser.get("/settings").text)}
    answer = browser.post("/start/doctor", data=form, follow_redirects=False)
    assert answer.status_code == 303
    assert "transom doctor --workspace=" in browser.get(answer.headers["Location"]).text


def test_old_output_of_started_commands_is_removed(browser: TestClient, tmp_path: Path) -> None:
    folder = tmp_path / "started"
    folder.mkdir()
    for name, age in (("0" * 16, 31), ("1" * 16, 1)):
        log = folder / f"{name}.log"
        log.write_text("done\n", encoding="utf-8")
        moment = time.time() - age * 24 * 3600
        os.utime(log, (moment, moment))
    form = {"csrf": csrf_of(browser.get("/settings").text)}
    assert browser.post("/start/doctor", data=form).status_code == 200
    assert not (folder / f"{'0' * 16}.log").exists()
    assert browser.get(f"/started/{'1' * 16}").status_code == 200
    assert browser.get(f"/started/{'0' * 16}").status_code == 404


def test_memory_is_searched(browser: TestClient, tmp_path: Path) -> None:
    assert "The memory is empty" in browser.get("/memory").text

    async def fill() -> None:
        async with SqliteMemory.open(tmp_path / "state.db") as memory:
            await memory.store("The checkout waits for the gateway", key="checkout")
            await memory.store("Payments have a gateway", key="gateway", egress="local")
            await memory.store(NASTY, key="nasty")
            await memory.relate("checkout", "gateway", "depends_on")

    asyncio.run(fill())
    text = browser.get("/memory").text
    assert markup_in(text) == []
    assert text.count("depends on") == 2 and text.count("stays on this machine") == 1
    entries = browser.get("/api/memory?query=checkout").json()["entries"]
    assert [entry["id"] for entry in entries] == ["checkout"]
    assert "No entry has one of these words" in browser.get("/memory?query=zebra").text
    # Without a vector there is no nearness by meaning.
    assert "No entry is near to it" in browser.get("/memory?near=checkout").text
    assert browser.get("/memory?near=zebra").status_code == 404


class Directions:
    """Texts as directions in a plane, by their first letter; no model is needed."""

    model = "directions"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.array([ord(text[0]) - ord("a") for text in texts]) / 16
        vectors: NDArray[np.float32] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return vectors.astype(np.float32)


def test_memory_shows_what_is_near_by_meaning(browser: TestClient, tmp_path: Path) -> None:
    async def fill() -> None:
        async with SqliteMemory.open(tmp_path / "state.db", Directions()) as memory:
            for text in ("apple", "berry", "cherry", "zebra"):
                await memory.store(text, key=text)

    asyncio.run(fill())
    assert browser.get("/memory").text.count("near it</a>") == 4
    entries = browser.get("/api/memory?near=cherry").json()["entries"]
    # The page compares stored vectors, so it needs no model. What is too far away is left out.
    assert [entry["id"] for entry in entries] == ["berry", "apple"]
    text = browser.get("/memory?near=apple").text
    assert "Near to <code>apple</code>" in text and "1.00" in text and "zebra" not in text


def test_evaluations_are_listed_by_suite(browser: TestClient, history: RunHistory) -> None:
    assert "No suite was run here yet" in browser.get("/evals").text
    earlier = evaluation(scenario("a", "+"), scenario("b", "+"), run="run-1")
    later = evaluation(scenario("a", "+"), scenario("b", "-"), run="run-2")
    asyncio.run(remember(history.store, earlier, "main"))
    asyncio.run(remember(history.store, later))
    text = browser.get("/evals").text
    assert text.index("run-2") < text.index("run-1") and "baseline main" in text
    (suite,) = browser.get("/api/evals").json()["suites"]
    passed = [row["summary"]["passed"] for row in suite["evaluations"]]
    assert (suite["suite"], passed) == (earlier.suite, [1, 2])
    text = browser.get("/evals/run-2").text
    assert text.index("✕ fail") < text.index("✓ pass")
    assert browser.get("/api/evals/run-2").json()["run_id"] == "run-2"


def test_an_evaluation_is_never_read_from_a_file(
    browser: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.json").write_text(
        evaluation(scenario("a", "+")).model_dump_json(by_alias=True)
    )
    for address in ("/evals/own.json", "/api/evals/own.json"):
        assert browser.get(address).status_code == 404


def test_every_further_page_is_listed_and_marked_in_the_header(browser: TestClient) -> None:
    text = browser.get("/more").text
    for address in ("/costs", "/evals", "/memory", "/settings"):
        assert f'href="{address}"' in text
        answer = browser.get(address)
        assert answer.status_code == 200
        assert 'href="/more" aria-current="page"' in answer.text


def test_every_answer_of_the_api_has_an_example_of_its_shape(browser: TestClient) -> None:
    document = browser.get("/openapi.json").json()
    compared = 0
    for path, operations in document["paths"].items():
        if "get" not in operations:
            continue
        example = operations["get"]["responses"]["200"]["content"]["application/json"]["example"]
        if "{" in path:
            continue
        answer = browser.get(path).json()
        assert type(answer) is type(example), path
        if isinstance(answer, dict):
            assert answer.keys() == example.keys(), path
            compared += 1
    assert compared > 15
