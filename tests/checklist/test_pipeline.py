"""The pipeline through its own functions: generated code that misbehaves, with a scripted model
and short limits.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import (
    ATOM_A,
    CHECKER,
    EXAMPLES,
    POINTS,
    REPORT,
    SECTION1,
)
from tests.checklist.test_visibility import EXAMPLE, replies
from transom.checklist.building.flow import BuiltChecker
from transom.checklist.building.settings import BuildSettings
from transom.checklist.item import Item, load_item
from transom.checklist.item_files import own_files
from transom.checklist.judging import Occasion, Roots, Verdict, load_checker
from transom.checklist.manner import Manner, Places
from transom.checklist.pipeline import check_all, checker_of, spec_of
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.verdicts import verdict_of
from transom.checklist.writing.document import section_texts
from transom.errors import NeedsModel, NotUnderstood, ReplyError
from transom.llm import Chain, Reply, Request, ScriptedProvider
from transom.runs import Run, Workspace
from transom.sandbox import Sandbox, WorkerLimits
from transom.store import SqliteStore

ITEM = "description: Confirm that each block's power is reported.\ninput_files: [power.rpt]\n"
CHECK_LOGIC = (
    "## 2. Check Logic\n\n### 2.1 Block power is reported\n\n- **Required fields**:"
    " `block.power`\n\n"
)
_WHOLE = EXAMPLE.read_text("utf-8")
_CUT = section_texts(_WHOLE)
SPEC = (
    _WHOLE.replace(_CUT["1"], SECTION1)
    .replace(_CUT["2"], CHECK_LOGIC)
    .replace(_CUT["4.1"], POINTS + EXAMPLES)
)
SHORT = WorkerLimits(wall_seconds=3.0)


@pytest.fixture
def item(tmp_path: Path) -> Item:
    (tmp_path / "power.rpt").write_text(REPORT)
    (tmp_path / "BLOCK-1.yaml").write_text(ITEM)
    return load_item(tmp_path / "BLOCK-1.yaml")


@asynccontextmanager
async def opened(root: Path, provider: ScriptedProvider) -> AsyncIterator[Run]:
    workspace = Workspace.at(root / ".transom")
    async with SqliteStore.open(workspace.database) as store:
        chain = Chain((provider,))
        async with await Run.open(
            "check", {"i": 1}, name="i", workspace=workspace, store=store, chain=chain
        ) as run:
            yield run


def scripted(atom: str, checker: str = CHECKER) -> ScriptedProvider:
    script = replies()
    script["checklist.parser"] = [f"<atom_a>\n```python\n{atom}```\n</atom_a>"]
    script["checklist.logic"] = [f"<checker>\n```yaml\n{checker}```\n</checker>"]
    return ScriptedProvider(script)


def manner(limits: WorkerLimits = SHORT) -> Manner:
    """A build that may not repair itself; repairs have their own tests."""
    return Manner(Occasion("2026-11-21"), Sandbox(limits), build=BuildSettings(max_iterations=0))


async def built(root: Path, item: Item, atom: str) -> BuiltChecker:
    async with opened(root, scripted(atom)) as run:
        made = await checker_of(run, SPEC, item, Places(), manner(), folder=root / "checker")
    assert isinstance(made, BuiltChecker)
    return made


async def judged(root: Path, item: Item | None) -> Verdict:
    async with opened(root, scripted(ATOM_A)) as run:
        return await verdict_of(
            run, load_checker(root / "checker"), item, Places(out=root / "out"), manner()
        )


async def test_a_good_atom_is_built_and_judges(tmp_path: Path, item: Item) -> None:
    made = await built(tmp_path, item, ATOM_A)
    assert made.done, made.result
    verdict = await judged(tmp_path, item)
    assert (verdict.status, [one.value for one in verdict.found_items]) == (
        "PASS",
        ["alu 1.25", "rom 0.40"],
    )
    assert (tmp_path / "out" / f"{item.item_id}_verdict.json").is_file()


MISBEHAVED = {
    "crashes": ("    results = []\n", "    results = []\n    raise RuntimeError('boom')\n", "boom"),
    "never ends": (
        "    results = []\n",
        "    results = []\n    while True:\n        pass\n",
        "timeout",
    ),
    "eats memory": ("    results = []\n", "    results = ['x' * (1 << 32)]\n", "memory"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", MISBEHAVED)
async def test_an_atom_that_misbehaves_fails_its_gates(
    how: str, tmp_path: Path, item: Item
) -> None:
    old, new, said = MISBEHAVED[how]
    made = await built(tmp_path, item, ATOM_A.replace(old, new))
    assert (made.result.status, made.result.exit_code) == ("human_required", 3)
    failed = {gate.gate: gate.findings for gate in made.result.gates if not gate.passed}
    assert "schema" in failed
    assert said in str(failed["schema"]).lower(), failed
    verdict = await judged(tmp_path, item)
    assert (verdict.status, verdict.exit_code) == ("ERROR", 2), "the stub in its place never passes"
    assert "this checker was not finished" in verdict.errors[0].message


@pytest.mark.slow
@pytest.mark.parametrize("how", MISBEHAVED)
async def test_an_atom_that_misbehaves_in_a_check_is_an_error(
    how: str, tmp_path: Path, item: Item
) -> None:
    old, new, said = MISBEHAVED[how]
    await built(tmp_path, item, ATOM_A)
    atoms = tmp_path / "checker" / "atoms.py"
    atoms.write_text(atoms.read_text().replace(old, new))
    verdict = await judged(tmp_path, item)
    assert (verdict.status, verdict.exit_code, verdict.found_items) == ("ERROR", 2, ())
    (trouble,) = verdict.errors
    assert trouble.source_file == "power.rpt"
    assert said in trouble.message.lower()


async def test_a_reply_that_cannot_be_read_is_asked_for_once_more(
    tmp_path: Path, item: Item
) -> None:
    script = replies()
    script["checklist.parser"] = ["no tag at all", "none either"]
    async with opened(tmp_path, ScriptedProvider(script)) as run:
        made = await checker_of(run, SPEC, item, Places(), manner(), folder=tmp_path / "checker")
    assert made.status == "human_required" if isinstance(made, BuildResult) else not made.done
    report = json.loads((tmp_path / "checker" / "human_intervention_report.json").read_text())
    (error,) = report["last_validation_errors"]
    assert (error["gate"], error["artifact"]) == ("reply", "atom_a")
    assert "atom_a" in error["message"]
    assert (await judged(tmp_path, item)).status == "ERROR"


@pytest.mark.parametrize(
    "role", ["checklist.analysis", "checklist.section3", "checklist.parser", "checklist.logic"]
)
async def test_whoever_abstains_names_the_words(role: str, tmp_path: Path, item: Item) -> None:
    script = scripted(ATOM_A)

    async def answer(request: Request) -> Reply:
        if request.role == role:
            raise NeedsModel([NotUnderstood("flux", "section 2")])
        return await script.complete(request)

    async with opened(tmp_path, ScriptedProvider(answer)) as run:
        result = await check_all(run, item, Places(), manner())
    assert isinstance(result, SpecResult | BuildResult)
    assert (result.status, result.exit_code) == ("NEEDS_MODEL", 3)
    assert [(words.text, words.where) for words in result.needs_model] == [("flux", "section 2")]
    assert isinstance(result, SpecResult) == (role in ("checklist.analysis", "checklist.section3"))


async def test_variables_and_folders(tmp_path: Path, item: Item) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    more = tmp_path / "more"
    more.mkdir()
    places = Places({"A": logs}, other_roots=(tmp_path / "nosuch", more), base=tmp_path)
    assert places.roots(None, Path("x")).readable() == [more, logs, tmp_path]
    assert (
        Places(search_root=tmp_path).roots(item, Path("x")).expand("${LOG_ROOT}/x", "")
        == logs / "x"
    )
    (tmp_path / "power.rpt").rename(tmp_path / "power.rpt.gz")
    assert own_files(item, Roots(base=tmp_path)) == [tmp_path / "power.rpt.gz"]
    long = tmp_path / "long.yaml"
    long.write_text(f"description: x\ninput_files: [{'y' * 5000}, power.rpt]\n")
    assert own_files(load_item(long), Roots(base=tmp_path)) == [tmp_path / "power.rpt.gz"]
    async with opened(tmp_path, scripted(ATOM_A)) as run:
        written = await spec_of(run, load_item(long), places, manner())
    assert not isinstance(written, SpecResult), "a spec can be written before there is any log"


async def test_two_unreadable_replies_are_quoted_and_never_taken_again(
    tmp_path: Path, item: Item
) -> None:
    """The error names stage and reply; the next attempt asks anew, and its answer is kept as any
    other.
    """
    refusal = "I'm sorry, but I can't help with that."
    script = replies()
    script["checklist.analysis"] = [refusal, refusal, *script["checklist.analysis"]]
    provider = ScriptedProvider(script)
    async with opened(tmp_path, provider) as run:
        with pytest.raises(ReplyError) as failed:
            await spec_of(run, item, Places(), manner())
        kept = run.folder / "spec" / "round1_analysis" / "unreadable.md"
    assert failed.value.place == "spec/round1_analysis"
    assert f'it says: "{refusal}" (whole in {kept})' in str(failed.value)
    assert failed.value.hint == "ask again, or ask another model with --model"
    assert kept.read_text("utf-8") == refusal
    for asked in (7, 7):  # two refusals and five rounds; then nothing
        async with opened(tmp_path, provider) as run:
            await spec_of(run, item, Places(), manner())
            assert sum(one.kind == "model_reply" for one in run.records()) == asked
