"""A small readiness suite on disk, a runner whose answers a test writes, and a run to keep them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from transom.evals import (
    Evaluation,
    EvaluationCitation,
    Fingerprint,
    ScenarioCase,
    ScenarioOutcome,
    Suite,
    ToolUse,
    Used,
    load_suite,
    run_suite,
)
from transom.formats.yaml_files import dump_yaml
from transom.llm import Chain, Provider, ScriptedProvider
from transom.runs import Run, Workspace
from transom.store import SqliteStore

RULES = Fingerprint(transom="0.1.0", model="rules", prompts="p")
SAMPLED = Fingerprint(transom="0.1.0", model="vendor:model", prompts="p")

TESTS = '{"summary": {"passed": 41, "failed": 14}}\n'
DATA = {
    "f2/metrics/tests.json": TESTS,
    "f2/planning/DESIGN.md": "# Design\n\nTwo services.\n",
    "f2/uat.json": "{}\n",
}

SCENARIO: dict[str, Any] = {
    "title": "failing tests",
    "input": {"question": "Is QR check-in ready for UAT?"},
    "expected": {
        "verdict": "NOT_READY",
        "subject": "F2",
        "asks": False,
        "criteria": {"tests.unit": "fail"},
        "values": {"stage_fit": "premature"},
        "mentions": 14,
        "evidence": ["metrics/tests.json#/summary/failed"],
        "tools": [
            {"name": "get_jira_data"},
            {"name": "get_analysis", "arguments": {"type": "tests"}},
        ],
        "in_order": True,
        "forbidden_tools": ["delete_feature"],
        "sub_conversations": 2,
        "stores": ["F2"],
        "recalls": ["assessed before"],
        "reports": ["uat.json"],
    },
    "limits": {
        "tokens": 9000,
        "main_tokens": 8000,
        "seconds": 60,
        "cost_usd": 0.5,
        "tool_calls": 6,
    },
    "tags": ["readiness"],
}

GOOD = ScenarioOutcome(
    verdict="NOT_READY",
    text="14 of 55 tests failed.",
    subject="f2",
    criteria={"tests.unit": "fail"},
    values={"stage_fit": "premature"},
    evidence=(
        EvaluationCitation(source="f2/metrics/tests.json", locator="/summary/failed", value="14"),
        EvaluationCitation(
            source="f2/metrics/tests.json", locator="/summary", value="55", formula="41 + 14"
        ),
    ),
    tools=(
        ToolUse(name="get_jira_data"),
        ToolUse(name="get_analysis", arguments={"type": "tests", "id": "F2"}),
    ),
    reported=("uat.json: nothing in it",),
    sub_conversations=2,
    stored=("F2 is not ready",),
    recalled=("F2 was assessed before",),
    main_tokens=700,
    used=Used(input_tokens=1000, output_tokens=100, cost_usd=0.1, seconds=2.0),
)


def write_suite(
    folder: Path,
    scenarios: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    data: bool = True,
    **more: Any,
) -> Path:
    """A suite's folder with these scenarios; by default one, `failing`."""
    for name, text in DATA.items() if data else ():
        path = folder / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    suite = {"product": "readiness", **({"data": "data"} if data else {}), **more}
    (folder / "suite.yaml").write_text(dump_yaml(suite), encoding="utf-8")
    for name, scenario in (scenarios or {"failing": SCENARIO}).items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "scenario.yaml").write_text(dump_yaml(dict(scenario)), encoding="utf-8")
    return folder


@asynccontextmanager
async def opened(folder: Path, provider: Provider | None = None) -> AsyncIterator[Run]:
    """The one run of that folder, fresh or resumed."""
    workspace = Workspace.at(folder / ".transom")
    chain = Chain((provider or ScriptedProvider({}),))
    async with SqliteStore.open(workspace.database) as store:
        run = await Run.open("eval", {}, name="s", workspace=workspace, store=store, chain=chain)
        async with run:
            yield run


async def evaluate(
    folder: Path,
    runner: Callable[[ScenarioCase], Awaitable[ScenarioOutcome]] | ScenarioOutcome,
    suite: Suite | None = None,
    *,
    provider: Provider | None = None,
    fingerprint: Fingerprint = RULES,
    **how: Any,
) -> Evaluation:
    """Run the suite in `folder` (see `write_suite`) and score it."""

    async def same(case: ScenarioCase) -> ScenarioOutcome:
        assert isinstance(runner, ScenarioOutcome)
        return runner

    async with opened(folder, provider) as run:
        called = same if isinstance(runner, ScenarioOutcome) else runner
        return await run_suite(run, suite or load_suite(folder), called, fingerprint, **how)
