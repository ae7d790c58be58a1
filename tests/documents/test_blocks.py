"""Every block of the documents that a user would type runs, with the import line changed."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from tests.documents.blocks import FOLDER, blocks
from tests.documents.door import FAN, MODEL, FanModel, fan_door, inside
from transom import checklist
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.writing.gate import check_section1
from transom.compat import ace, context_agent
from transom.config import Settings
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


async def _awaited(text: str, given: dict[str, Any]) -> None:
    """Run a block in which `await` stands at the top, in a loop that runs already."""
    outcome = eval(compile(text, "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), given)
    if inspect.iscoroutine(outcome):
        await outcome


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


async def test_the_blocks_of_document_000_that_use_a_result_run(tmp_path: Path) -> None:
    texts = blocks("000")
    door = fan_door(tmp_path)
    given: dict[str, Any] = {}
    exec(texts[38], given)
    minimal = {**given["minimal_config"], "description": FAN["description"]}
    door.write("minimal.yaml", yaml.safe_dump(minimal))
    given |= {"notify_human_reviewer": list, "schedule_retry": list}
    with inside(tmp_path):
        agent = context_agent.ContextAgent(
            llm_config={"model": MODEL}, activity_handler=lambda line: None
        )
        lists: dict[str, list[Any]] = {"structure": [], "semantics": [], "failures": []}
        given |= {
            "context_agent": agent,
            "inputs": {"config_path": "minimal.yaml"},
            "validate_itemspec_structure": lambda path: lists["structure"].append(
                checklist.validate_spec(path)
            ),
            "validate_itemspec_semantics": lists["semantics"].append,
            "handle_failure": lists["failures"].append,
        }
        await _awaited(texts[49], given)
        assert lists["structure"] == [[]]
        assert not lists["failures"]
        # What the document asks of a finished ItemSpec holds for it.
        given |= {"content": given["result"].artifacts["itemspec_content"], "issues": []}
        for number in (5, 6, 45):
            exec(texts[number], given)
        assert given["issues"] == []
        assert all(head in given["content"] for head in given["required_sections"])
        exec(texts[3], given)
        assert list(given["cached"]) == list(given["result"].artifacts["rounds"])
        # A failure of ours takes the branch for errors that nobody foresaw.
        failed = await agent.process({"config_path": "none.yaml"})
        given |= {"context_result": failed, "log_error_and_escalate": lists["failures"].append}
        exec(texts[44], given)
    assert given["action"] == "escalate"
    assert lists["failures"] == [failed.errors]


def test_the_result_of_document_000_is_ours() -> None:
    text = blocks("000")[21]
    body = "".join(f"    {line}\n" for line in text.splitlines())
    names = ["itemspec_path", "itemspec_content", "item_id", "analysis"]
    names += [f"section{number}" for number in range(1, 5)]
    given: dict[str, Any] = {name: name for name in names}
    given["AgentResult"] = context_agent.AgentResult
    exec(f"def made():\n{body}", given)
    assert given["made"]().artifacts["rounds"]["section3"] == "section3"


def test_the_examples_of_document_000_pass_the_gate_of_section_1() -> None:
    texts = blocks("000")
    heads = {"netlist": "format", "spef": "standard_version"}
    lines = []
    for number, (key, last) in enumerate(heads.items(), 1):
        lines += [f"### 1.{number} {key} File", "- **Purpose**: tells its version"]
        lines += [f"- **Category key**: `{key}`", "- **Key Fields**:"]
        lines.append("  - `loaded` (Boolean): it was read")
        for name in ("tool_name", "tool_version", "timestamp", last):
            lines.append(f"  - `{name}` (String): as its head says")
    examples = f"**parsed_fields Example**:\n\n```python\n{texts[41]}```\n\n"
    # The gate wants paths that hold on every machine.
    output = texts[42].replace("/project/design/", "")
    examples += f"**Output Example**:\n\n```python\n{output}```\n"
    findings = check_section1("## 1. Parsing Logic\n\n" + "\n".join(lines) + "\n\n" + examples)
    assert [finding.message for finding in findings] == []


def test_the_limits_and_the_locked_layer_of_document_001_are_ours() -> None:
    texts = blocks("001")
    given: dict[str, Any] = {}
    exec(texts[4], given)
    limits = given["TOOL_CONSTRAINTS"]
    own = Settings().tool_constraints.model_dump()
    shared = {name: own[name] for name in limits if name in own}
    assert shared == {name: limits[name] for name in shared}
    assert len(shared) >= 2
    results = [{"value": 3, "line_number": 7, "matched_content": "a", "parsed_fields": {"b": 1}}]
    outputs = []
    for layer in (texts[12], textwrap.dedent(LOCKED_LAYER)):
        scope: dict[str, Any] = {"results": results, "source_file": "boot.log"}
        exec("def standardized():\n" + textwrap.indent(layer, "    "), scope)
        outputs.append(scope["standardized"]())
    assert outputs[0] == outputs[1]


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
