"""Running a suite: epochs, errors, faults, and going on after a kill."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.evals.helpers import DATA, GOOD, RULES, TESTS, evaluate, opened, write_suite
from transom.errors import (
    InputError,
    MemoryUnavailable,
    NetworkFailed,
    ProviderError,
    RateLimited,
    RequestRefused,
    RunError,
)
from transom.evals import Evaluation, ScenarioCase, ScenarioOutcome, load_suite, run_suite
from transom.llm import Block, Request, ScriptedProvider, Tier, Window


async def test_epochs_are_averaged_and_a_share_of_them_may_be_enough(tmp_path: Path) -> None:
    async def flaky(case: ScenarioCase) -> ScenarioOutcome:
        return GOOD if case.epoch != 2 else GOOD.model_copy(update={"verdict": "READY"})

    expected = {"expected": {"verdict": "NOT_READY"}}
    folder = write_suite(tmp_path, {"strict": expected, "loose": {**expected, "pass_share": 0.7}})
    made = await evaluate(folder, flaky, epochs=4)
    loose, strict = made.scenarios
    assert (loose.status, strict.status, strict.epochs) == ("pass", "fail", 4)
    assert strict.passes == [True, False, True, True]
    assert made.summary.pass_rate == 0.75
    assert made.summary.pass_k == {"1": 0.75, "2": 0.5, "3": 0.25, "4": 0.0}
    assert strict.scores == {"decision_quality": pytest.approx((3 + 2 / 3) / 4)}
    assert made.usage.tokens == 8 * GOOD.used.tokens
    assert made.exit_code == 1
    assert Evaluation.model_validate_json(made.model_dump_json(by_alias=True)) == made


async def test_what_goes_wrong_in_one_scenario_costs_the_others_nothing(tmp_path: Path) -> None:
    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        match case.scenario.id:
            case "slow":
                await asyncio.sleep(60)
            case "refused":
                raise RunError("the run is held", hint="wait")
            case "defect":
                raise KeyError("verdict")
        return GOOD

    wanted = {"expected": {"verdict": "NOT_READY", "subject": "F2"}}
    names = ("defect", "fine", "refused", "slow")
    folder = write_suite(tmp_path, {name: {**wanted, "timeout": 0.05} for name in names})
    made = await evaluate(folder, runner, jobs=4)
    said = {row.id: (row.status, row.details.epochs[0].why) for row in made.scenarios}
    assert said == {
        "defect": ("error", ("KeyError: 'verdict'",)),
        "fine": ("pass", ()),
        "refused": ("error", ("the run is held; wait",)),
        "slow": ("error", ("it took longer than 0.05 s",)),
    }
    assert made.scenarios[0].scores == {"feature_identification": 0.0, "decision_quality": 0.0}
    assert (made.summary.errors, made.exit_code) == (3, 2)


async def test_a_resumed_evaluation_repeats_only_what_has_no_answer(tmp_path: Path) -> None:
    asked: list[str] = []

    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        asked.append(f"{case.scenario.id}/{case.epoch}")
        if len(asked) == 3:
            raise RunError("the line is down")
        return GOOD

    folder = write_suite(tmp_path, {"a": {}, "b": {}})
    first = await evaluate(folder, runner, epochs=2)
    second = await evaluate(folder, runner, epochs=2)
    assert asked == ["a/1", "a/2", "b/1", "b/2", "b/1"]
    assert [row.status for row in first.scenarios] == ["pass", "error"]
    assert [row.status for row in second.scenarios] == ["pass", "pass"]


@pytest.mark.parametrize("jobs", [1, 3])
async def test_no_more_epochs_run_at_once_than_asked_for(tmp_path: Path, jobs: int) -> None:
    now, most = 0, 0

    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.02)
        now -= 1
        return GOOD

    await evaluate(write_suite(tmp_path, {"a": {}}), runner, epochs=6, jobs=jobs)
    assert most == jobs


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"missing_file": "f2/metrics/*.json"}, None),
        ({"empty_file": "f2/metrics/tests.json"}, ""),
        ({"broken_json": "**/tests.json"}, "{"),
    ],
)
async def test_files_break_in_a_copy_and_never_in_the_data(
    tmp_path: Path, fault: Any, seen: str | None
) -> None:
    found: list[Path] = []

    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        assert case.data is not None
        path = case.data / "f2" / "metrics" / "tests.json"
        found.append(path)
        assert path.exists() == (seen is not None)
        if seen is not None:
            assert path.read_text("utf-8").startswith(seen)
            with pytest.raises(ValueError, match="line 1"):
                json.loads(path.read_text("utf-8"))
        assert (case.data / "f2" / "uat.json").read_text("utf-8") == "{}\n"
        return ScenarioOutcome(verdict="INSUFFICIENT_DATA", reported=("tests.json",))

    expected = {"verdict": "INSUFFICIENT_DATA", "reports": "tests.json"}
    folder = write_suite(tmp_path, {"broken": {"faults": [fault], "expected": expected}})
    made = await evaluate(folder, runner)
    assert made.scenarios[0].scores["error_handling"] == 1.0
    assert made.exit_code == 0
    assert (folder / "data" / "f2" / "metrics" / "tests.json").read_text("utf-8") == TESTS
    assert not found[0].parent.exists()


@pytest.mark.parametrize("pattern", ["f9/*.json", "../*.yaml", "linked/kept.json"])
async def test_a_fault_that_fits_no_file_of_the_data_is_said(tmp_path: Path, pattern: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.json").write_text("{}", encoding="utf-8")
    folder = write_suite(tmp_path / "suite", {"broken": {"faults": [{"missing_file": pattern}]}})
    (folder / "data" / "linked").symlink_to(outside)
    with pytest.raises(InputError, match=r"broken: faults: no file of the data matches"):
        await evaluate(folder, GOOD)
    assert (outside / "kept.json").exists()


FAILURES: dict[str, type[Exception]] = {
    "network": NetworkFailed,
    "rate_limit": RateLimited,
    "refused": RequestRefused,
    "server": ProviderError,
}


@pytest.mark.parametrize("kind", FAILURES)
async def test_calls_of_a_provider_fail_as_the_fault_says(tmp_path: Path, kind: str) -> None:
    provider = ScriptedProvider(lambda request: "fine")
    window = Window((Block("role", "You.", Tier.STABLE),))
    fault = {"provider": kind, "calls": [2], "roles": "p.*"}
    heard: list[str] = []

    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        chain = case.chain(run.chain)
        assert (chain.name, chain.everyone[0].local) == ("scripted", True)
        for role in ("q.other", "p.seat", "p.seat", "p.seat"):
            try:
                heard.append((await chain.answer(Request(role, window))).text)
            except ProviderError as error:
                assert type(error) is FAILURES[kind]
                heard.append(str(error))
        return ScenarioOutcome(verdict=None)

    folder = write_suite(tmp_path, {"down": {"faults": [fault]}})
    async with opened(folder, provider) as run:
        made = await run_suite(run, load_suite(folder), runner, RULES)
    assert [text for text in heard if text == "fine"] == ["fine"] * 3
    assert "(injected fault)" in heard[2]
    assert made.scenarios[0].details.epochs[0].why == (
        "answers: it gives no answer once something fails",
    )


async def test_a_memory_that_is_down_raises_whatever_is_asked_of_it(tmp_path: Path) -> None:
    class Memory:
        async def search(self, text: str) -> list[str]:
            return [text]

    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        memory = case.memory(Memory())
        if case.scenario.id == "up":
            return ScenarioOutcome(verdict="READY", recalled=tuple(await memory.search("x")))
        with pytest.raises(MemoryUnavailable, match="injected fault"):
            await memory.search("x")
        return ScenarioOutcome(verdict="READY", reported=("memory",))

    folder = write_suite(tmp_path, {"up": {}, "down": {"faults": [{"memory": "down"}]}})
    made = await evaluate(folder, runner)
    assert [row.status for row in made.scenarios] == ["pass", "pass"]


async def test_without_faults_the_data_is_read_where_it_lies(tmp_path: Path) -> None:
    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        assert case.data == tmp_path / "data"
        return ScenarioOutcome(verdict="READY", text=f"{len(DATA)} files")

    made = await evaluate(write_suite(tmp_path), runner)
    assert made.scenarios[0].details.epochs[0].scores["numbers"] == 0.0  # it stands nowhere


async def test_files_of_the_scenario_are_put_over_a_copy_and_may_be_made_long(
    tmp_path: Path,
) -> None:
    async def runner(case: ScenarioCase) -> ScenarioOutcome:
        assert case.data is not None
        assert (case.data / "f2" / "uat.json").read_text("utf-8") == '{"passed": 3}\n'
        assert (case.data / "f3" / "new.json").exists()
        assert (case.data / "f2" / "planning" / "DESIGN.md").stat().st_size > 8 << 20
        return ScenarioOutcome(verdict="READY")

    folder = write_suite(
        tmp_path, {"other": {"files": "over", "faults": [{"long_file": "f2/planning/*.md"}]}}
    )
    for name, text in (("f2/uat.json", '{"passed": 3}\n'), ("f3/new.json", "{}")):
        path = folder / "other" / "over" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    made = await evaluate(folder, runner)
    assert [row.status for row in made.scenarios] == ["pass"], (
        made.scenarios[0].details.epochs[0].why
    )
    assert (folder / "data" / "f2" / "uat.json").read_text("utf-8") == "{}\n"


async def test_an_abstention_passes_only_where_it_was_foreseen(tmp_path: Path) -> None:
    foreseen = {"rules": {"verdict": "NEEDS_JUDGEMENT", "why": "it stands in prose"}}
    wanted: dict[str, Any] = {
        "expected": {"verdict": "READY", "subject": "f2"},
        "abstains": foreseen,
    }
    other = {**wanted, "abstains": {"vendor:model": foreseen["rules"]}}
    folder = write_suite(tmp_path, {"foreseen": wanted, "other": other})
    made = await evaluate(folder, ScenarioOutcome(verdict="NEEDS_JUDGEMENT", subject="f2"))
    assert [row.status for row in made.scenarios] == ["pass", "fail"]
    assert (made.summary.abstained, made.scenarios[0].abstains) == (1, "it stands in prose")
    assert made.scenarios[0].scores["decision_quality"] == 0.0
    wrong = await evaluate(
        write_suite(tmp_path / "w", {"foreseen": wanted}),
        ScenarioOutcome(verdict="NOT_READY", subject="f2"),
    )
    assert wrong.scenarios[0].status == "fail"
