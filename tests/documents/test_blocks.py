"""Every block of the documents that a user would type runs, with the import line changed."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.documents.blocks import FOLDER, blocks
from tests.documents.door import FAN, MODEL, FanModel, fan_door, inside
from transom.compat import ace, context_agent
from transom.stories import AgentValidator, StoryHandoff

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="TRANSOM_DATA names no documents")


class OptimizationRunner:
    """A user's runner: a quadratic, which fails where it is too thin."""

    def __init__(self, config_path: Any = None) -> None:
        self.config_path = config_path

    def objective(self, trial: dict[str, float]) -> float:
        if trial["thickness"] < 0.2:
            raise RuntimeError("did not converge")
        return (trial["thickness"] - 1) ** 2

    def run(self, n_trials: int) -> float:
        best = float("inf")
        for number in range(n_trials):
            try:
                best = min(best, self.objective({"thickness": number / n_trials}))
            except RuntimeError:
                continue
        return best


def names(folder: Path) -> dict[str, Any]:
    """What the blocks of document 003 expect around them."""
    given: dict[str, Any] = {name: getattr(ace, name) for name in ace.__all__}
    given["AtomizerPlaybook"] = ace.AtomizerPlaybook
    playbook = ace.AtomizerPlaybook()
    playbook.save(folder / "playbook.json")
    lac = folder / "knowledge_base/lac/session_insights"
    lac.mkdir(parents=True)
    row = {"category": "failure", "insight": "Glue the ends", "tags": ["glue"]}
    (lac / "one.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    return given | {
        "playbook": playbook,
        "path": folder / "playbook.json",
        "playbook_path": folder / "playbook.json",
        "protocol_content": "Protocol one.",
        "user_message": "Go on.",
        "best_result": 3.5,
        "OptimizationRunner": OptimizationRunner,
        "Path": Path,
        "json": json,
    }


def without_engine(text: str) -> str:
    """The block without the import of the user's own runner, which the test brings."""
    return re.sub(r"^from optimization_engine\.core.*\n", "", text, flags=re.MULTILINE)


def test_the_blocks_of_document_003_run(tmp_path: Path) -> None:
    texts = blocks("003")
    assert len(texts) == 18
    given, ran = names(tmp_path), 0
    with inside(tmp_path):
        for number, text in enumerate(texts):
            if text.startswith(("class ", "DEFAULT_BUDGET")):
                continue
            given["result"] = SimpleNamespace(success=True, objective=3.5, params={"x": 1.0})
            exec(compile(without_engine(text), f"block {number}", "exec"), given)
            ran += 1
    assert ran == 14
    assert "Glue the ends" in Path(tmp_path, "knowledge_base/playbook.json").read_text("utf-8")
    ace._playbook.cache_clear()
    ace.get_session.cache_clear()


def test_the_signatures_of_document_003_hold() -> None:
    checked = 0
    for text in blocks("003"):
        if not text.startswith("class "):
            continue
        own = getattr(ace, re.findall(r"class (\w+)", text)[0])
        plain = re.sub(r"\s+", " ", text)
        for name, parameters in re.findall(r"def (\w+)\(([^)]*)\)", plain):
            signature = inspect.signature(getattr(own, name))
            for parameter in re.findall(r"(\w+):", parameters):
                assert parameter in signature.parameters, (name, parameter)
            checked += 1
    assert checked == 12


def test_the_budget_of_document_003_holds() -> None:
    (text,) = [text for text in blocks("003") if text.startswith("DEFAULT_BUDGET")]
    given: dict[str, Any] = {}
    exec(text, given)
    assert given["DEFAULT_BUDGET"] == ace.DEFAULT_BUDGET


def _runs(text: str, given: dict[str, Any]) -> Any:
    """Run a block in which `await` stands at the top."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    outcome = eval(compile(text, "block", "exec", flags=flags), given)
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)


def test_the_blocks_of_document_000_that_use_the_agent_run(tmp_path: Path) -> None:
    door = fan_door(tmp_path)
    door.item("context/IMP-10-0-0-00.yaml", FAN, item_id="IMP-10-0-0-00")
    door.write("transom.yaml", f"model: {MODEL}\npaths: {{search_root: .}}\n")
    texts = [text for text in blocks("000") if "ContextAgent(" in text]
    assert len(texts) == 4
    given: dict[str, Any] = {name: getattr(context_agent, name) for name in context_agent.__all__}
    with inside(tmp_path):
        for text in texts:
            # The model of the block needs a key; ours has the same place.
            _runs(text.replace("claude-sonnet-4-5", MODEL), given)
        result = given["result"]
        assert (result.status, result.errors) == ("success", ())
        FanModel.forget()
        given["handle_failure"] = list
        orchestrate = given["orchestrate_checker_generation"]
        validated = asyncio.run(orchestrate("context/IMP-10-0-0-00.yaml"))
    assert validated.status == "success", validated


def test_the_methods_of_document_004_are_there() -> None:
    text = "\n".join(blocks("004")[:2])
    for limit, value in re.findall(r"(MAX_\w+) = (\d+)", text):
        assert getattr(StoryHandoff, limit) == int(value)
    for owner in (StoryHandoff, AgentValidator):
        body = text.partition(f"class {owner.__name__}")[2].partition("class ")[0]
        listed = re.findall(r"^\s*(?:def )?(\w+)\(", body, flags=re.MULTILINE)
        assert listed
        for name in listed:
            assert callable(getattr(owner, name)), name
