"""The developer flow: who repairs which artifact, what they see, what keeps its bytes, when a
person is asked.

Every reply is a script; the sandbox, the gates, the journal and the files are real.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER, REPORT
from tests.checklist.test_pipeline import ITEM, SPEC
from transom.checklist.building.flow import BuiltChecker, build_checker, build_table, start_of
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.routes import emitted_fields
from transom.checklist.building.settings import BuildSettings
from transom.checklist.building.state import BuildState
from transom.checklist.standard_atoms import check_existence, validate_logic
from transom.checklist.vectors import STANDARD_SOURCE
from transom.errors import InputError, NeedsModel, NotUnderstood, RunError
from transom.llm import Chain, Request, ScriptedProvider, render
from transom.runs import A_PERSON, FlowTable, Run, Workspace, as_langgraph, checkpoints
from transom.runs.walk import give_help, rewind, take_edit
from transom.sandbox import Sandbox, WorkerLimits
from transom.store import SqliteStore

_Node = Callable[[BuildState], Awaitable[BuildState]]
SANDBOX = Sandbox(WorkerLimits(wall_seconds=10.0))

OWN = CHECKER.replace("atoms: standard", "atoms: own")


def parser(code: str = ATOM_A) -> str:
    return f"I looked at the excerpts first.\n\n<atom_a>\n```python\n{code}```\n</atom_a>"


def logic(yaml: str = CHECKER, atoms: str = "") -> str:
    own = f"<atoms>\n```python\n{atoms}```\n</atoms>" if atoms else ""
    return f"<checker>\n```yaml\n{yaml}```\n</checker>\n{own}"


@dataclass(frozen=True)
class Scenario:
    """Replies of each role in turn, and the way that they lead.

    Attributes:
        path: the nodes after `preprocess`.
        said: what each repair is told, in turn.
        kept: files of the first checker folder whose bytes are those of the last one.
    """

    script: Mapping[str, Sequence[str]]
    path: str
    said: Sequence[str] = ()
    kept: Sequence[str] = ()
    status: str = "done"


BROKEN_SYNTAX = ATOM_A.replace("    results = []\n", "    results = [\n")
NUMBER_VALUE = ATOM_A.replace('str(item.get("value", ""))', "float(match[2]) if match else 1.0")
UNKNOWN_FIELD = CHECKER.replace("required: [block.power]", "required: [block.watts]")
MORE_FIELDS = ATOM_A.replace('"power": match[2]', '"power": match[2], "unit": "mW"')
FILTERED = ATOM_A.replace("        if match:", "        if match and float(match[2]) > 1:")
KNOWING_B = STANDARD_SOURCE.replace("    subject = ", '    known = "alu 1.25"\n    subject = ', 1)
BAD_B = STANDARD_SOURCE.replace('startswith("regex:")', 'startswith("rx:")')

SCENARIOS = {
    "nothing to mend": Scenario(
        {"parser": [parser()], "logic": [logic()]},
        "parser logic validate done",
    ),
    "a syntax error in A only": Scenario(
        {"parser": [parser(BROKEN_SYNTAX)], "logic": [logic()], "repair_a": [parser()]},
        "parser logic validate repair_a validate done",
        ["[syntax] atom_a:"],
        ["checker.yaml"],
    ),
    "a value that is no text": Scenario(
        {"parser": [parser(NUMBER_VALUE)], "logic": [logic()], "repair_a": [parser()]},
        "parser logic validate repair_a validate done",
        ["value: Input should be a valid string"],
        ["checker.yaml"],
    ),
    "a field that nobody emits": Scenario(
        {"parser": [parser()], "logic": [logic(UNKNOWN_FIELD)], "repair_b": [logic()]},
        "parser logic validate repair_b validate done",
        ["checker.yaml:"],
        ["atoms.py"],
    ),
    "both broken: A first, and alone": Scenario(
        {
            "parser": [parser(NUMBER_VALUE)],
            "logic": [logic(UNKNOWN_FIELD)],
            "repair_a": [parser()],
            "repair_b": [logic()],
        },
        "parser logic validate repair_a validate repair_b validate done",
        ["value: Input should be a valid string", "block.watts"],
    ),
    "a repair of A that emits other fields asks the logic again": Scenario(
        {
            "parser": [parser(NUMBER_VALUE)],
            "logic": [logic(), logic()],
            "repair_a": [parser(MORE_FIELDS)],
        },
        "parser logic validate repair_a logic validate done",
        ["value: Input should be a valid string"],
    ),
    "the parser's tag is missing, twice": Scenario(
        {"parser": ["no tag", "none either"], "logic": [logic()], "repair_a": [parser()]},
        "parser repair_a logic validate done",
        ["[reply] atom_a:"],
    ),
    "the logic's tag is missing, twice": Scenario(
        {"parser": [parser()], "logic": ["no tag", "none either"], "repair_b": [logic()]},
        "parser logic repair_b validate done",
        ["[reply] checker.yaml:"],
    ),
    "the logic's tag is missing, and the parser is broken: A first, and no repair of what it makes void": Scenario(
        {
            "parser": [parser(NUMBER_VALUE)],
            "logic": ["no tag", "none either", logic()],
            "repair_a": [parser()],
        },
        "parser logic repair_a logic validate done",
        ["value: Input should be a valid string"],
    ),
    "an own B that is wrong": Scenario(
        {
            "parser": [parser()],
            "logic": [logic(OWN, BAD_B)],
            "repair_b": [logic(OWN, STANDARD_SOURCE)],
        },
        "parser logic validate repair_b validate done",
        ["[vectors.bad_regex] atom_b"],
        ["checker.yaml"],
    ),
    "entries that are left out": Scenario(
        {"parser": [parser(FILTERED)], "logic": [logic()], "repair_a": [parser()]},
        "parser logic validate repair_a validate done",
        ["the example of item 2.1 'block cpu power 0.30' yields nothing alone"],
        ["checker.yaml"],
    ),
    "a value of the evidence in an own B": Scenario(
        {
            "parser": [parser()],
            "logic": [logic(OWN, KNOWING_B)],
            "repair_b": [logic(OWN, STANDARD_SOURCE)],
        },
        "parser logic validate repair_b validate done",
        ["[hard_coding] atom_b"],
        ["checker.yaml"],
    ),
    "a repair that helps nothing, until nobody may repair": Scenario(
        {
            "parser": [parser(NUMBER_VALUE)],
            "logic": [logic()],
            "repair_a": [parser(NUMBER_VALUE)] * 3,
        },
        "parser logic validate repair_a validate repair_a validate repair_a validate"
        " human_required",
        ["value: Input should be a valid string"] * 3,
        status="human_required",
    ),
}


@dataclass
class Desk:
    """One item, its log, and a run that can be opened again and again."""

    root: Path
    requests: list[Request] = field(default_factory=list)
    path: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> BuildInputs:
        data = self.root / "data"
        return BuildInputs(
            "BLOCK-1", "Confirm the power.", ITEM, SPEC, (data / "power.rpt",), (data,)
        )

    @property
    def checker(self) -> Path:
        return self.root / "checker"

    @asynccontextmanager
    async def run(
        self, script: Mapping[str, Sequence[str]] | Callable[[Request], str]
    ) -> AsyncIterator[Run]:
        named = (
            script
            if callable(script)
            else {f"checklist.{role}": list(said) for role, said in script.items()}
        )
        provider = ScriptedProvider(named)
        workspace = Workspace.at(self.root / ".transom")
        async with SqliteStore.open(workspace.database) as store:
            chain = Chain((provider,))
            async with await Run.open(
                "b", {"i": 1}, name="b", workspace=workspace, store=store, chain=chain
            ) as run:
                yield run
        self.requests = provider.requests

    async def build(
        self, script: Mapping[str, Sequence[str]], *, max_iterations: int = 3
    ) -> BuiltChecker:
        settings = BuildSettings(max_iterations=max_iterations)
        async with self.run(script) as run:
            return await build_checker(run, self.inputs, SANDBOX, settings, self.checker)

    def watched(self, table: FlowTable[BuildState]) -> FlowTable[BuildState]:
        """The table with every node that is entered written down."""

        def noted(
            name: str, node: Callable[[BuildState], Awaitable[BuildState]]
        ) -> Callable[[BuildState], Awaitable[BuildState]]:
            async def enter(state: BuildState) -> BuildState:
                self.path.append(name)
                return await node(state)

            return enter

        return replace(table, nodes={name: noted(name, node) for name, node in table.nodes.items()})

    def asked(self, role: str) -> list[Request]:
        return [request for request in self.requests if request.role == f"checklist.{role}"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "power.rpt").write_text(REPORT)
    return Desk(tmp_path)


async def walked(desk: Desk, scenario: Scenario, *, by_langgraph: bool = False) -> BuildState:
    from transom.runs import walk

    settings = BuildSettings()
    async with desk.run(scenario.script) as run:
        start = start_of(run, desk.inputs, settings.max_iterations)
        table = desk.watched(build_table(run, SANDBOX, settings, desk.checker, start.repairs))
        if not by_langgraph:
            return await walk(run, table, start)
        keys = {name: getattr(start, name) for name in ("inputs", "repairs")}
        graph = as_langgraph(table, BuildState)
        return BuildState(**await graph.ainvoke(keys, {"recursion_limit": table.most_steps}))


@pytest.mark.parametrize("name", SCENARIOS)
async def test_findings_lead_to_the_right_role(name: str, desk: Desk) -> None:
    scenario = SCENARIOS[name]
    state = await walked(desk, scenario)
    assert desk.path == ["load_spec", "preprocess", *scenario.path.split()]
    assert state.result
    assert (state.result.status, state.result.iterations) == (
        scenario.status,
        scenario.path.count("repair"),
    )
    repairs = [request for request in desk.requests if "repair" in request.role]
    assert len(repairs) == len(scenario.said)
    for request, said in zip(repairs, scenario.said, strict=True):
        assert said in request.window.text("findings")
    first, last = desk.root / "first", state.record.path.parent if state.record else desk.root
    first = next(desk.root.glob(".transom/runs/*/*/build/checker"), first)
    for file in scenario.kept:
        assert (first / file).read_bytes() == (last / file).read_bytes(), file
        assert first != last


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
async def test_langgraph_walks_the_same_table_the_same_way(name: str, tmp_path: Path) -> None:
    ways: list[tuple[list[str], dict[str, bytes]]] = []
    for by_langgraph in (False, True):
        root = tmp_path / str(by_langgraph)
        (root / "data").mkdir(parents=True)
        (root / "data" / "power.rpt").write_text(REPORT)
        desk = Desk(root)
        state = await walked(desk, SCENARIOS[name], by_langgraph=by_langgraph)
        assert state.result
        files = {
            path.name: path.read_bytes()
            for path in desk.checker.iterdir()
            if "report" not in path.name
        }
        ways.append((desk.path, files))
    assert ways[0] == ways[1]


PICKY = ATOM_A.replace(r"power (\S+)", r"power ([0-9]\S*)")


@pytest.mark.parametrize(
    ("said", "path", "answers"),
    [
        ("1. The line gives no number: the block is\n   not measured yet.", "questions done", 1),
        ("1. MEND: such a block is an entry, too.", "questions repair_a validate done", 0),
    ],
)
async def test_questions_of_the_gates_go_to_the_writer_once_and_the_answer_stands_in_the_record(
    said: str, path: str, answers: int, desk: Desk
) -> None:
    (desk.root / "data" / "power.rpt").write_text(f"{REPORT}block pll power NA\n")
    reply = f"<answers>\n{said}\n</answers>"
    script = {
        "parser": [parser(PICKY)],
        "logic": [logic()],
        "answers": [reply],
        "repair_a": [parser()],
    }
    state = await walked(desk, Scenario(script, ""))
    assert desk.path[2:] == f"parser logic validate {path}".split()
    (request,) = desk.asked("answers")
    assert '"block pll power NA"; why is it left out?' in request.window.text("questions")
    foreign = {block.name for block in request.window.blocks if block.trust == "untrusted"}
    assert foreign == {"previous_code", "questions"}
    record = json.loads((desk.checker / "build.json").read_text())
    assert [row["answer"] for row in record["answers"]] == [
        "The line gives no number: the block is not measured yet."
    ] * answers
    assert state.record and (state.record.value.status, state.record.value.questions) == (
        "done",
        (),
    )


async def test_where_nobody_answers_the_question_stays_for_who_approves(desk: Desk) -> None:
    (desk.root / "data" / "power.rpt").write_text(f"{REPORT}block pll power NA\n")
    state = await walked(
        desk, Scenario({"parser": [parser(PICKY)], "logic": [logic()], "answers": ["no", "no"]}, "")
    )
    assert state.record and len(state.record.value.questions) == 1
    assert state.result and state.result.status == "done"


async def test_a_repair_sees_code_findings_what_was_tried_and_nothing_foreign(desk: Desk) -> None:
    spec = SPEC
    for number, word in (
        ("## 1.", "one"),
        ("### 2.1", "two"),
        ("## 3.", "three"),
        ("### 4.1", "fourone"),
    ):
        head, found, rest = spec.partition(number)
        title, _, body = rest.partition("\n")
        assert found, number
        spec = f"{head}{found}{title}\n\nThe word is canary{word}.\n{body}"
    (desk.root / "data" / "power.rpt").write_text(f"{REPORT}the word is canarylog\n")
    item = f"{ITEM}waivers: {{value: 1, waive_items: [canarypattern], waive_reasons: [none]}}\n"
    wrong_a = NUMBER_VALUE.replace("results = []", "results = []  # canaryatom")
    script = {
        "parser": [parser(wrong_a)],
        "logic": [logic(UNKNOWN_FIELD.replace("Block power is", "Block power is"))],
        "repair_a": [parser(wrong_a.replace("canaryatom", "canarytried")), parser()],
        "repair_b": [logic()],
    }
    async with desk.run(script) as run:
        inputs = replace(desk.inputs, spec=spec, item_text=item)
        made = await build_checker(run, inputs, SANDBOX, BuildSettings(), desk.checker)
    assert made.done, made.result
    first, second = desk.asked("repair_a")
    (third,) = desk.asked("repair_b")
    words = ("one", "two", "three", "fourone", "log", "pattern", "atom", "tried")
    for request, expected in (
        (first, {"one", "fourone", "log", "atom"}),
        (second, {"one", "fourone", "log", "tried"}),
        (third, {"two", "three"}),
    ):
        sent = render(request).as_text()
        assert {word for word in words if f"canary{word}" in sent} == expected, request.role
        assert str(desk.root) not in sent
    assert first.window.text("tried") == ""
    assert "1. repair_a, because of:" in second.window.text("tried")
    assert "2. repair_a" in third.window.text("tried")
    assert ATOM_A.strip() in third.window.text("atom_a_code"), "the parser as it stands now"
    assert "block.watts" in third.window.text("previous_checker")


async def test_only_what_the_findings_name_changes(desk: Desk) -> None:
    """A repair of B that rewrites the YAML as well: that keeps its bytes."""
    meddling = OWN.replace("Block power is reported", "Something else entirely")
    script = {
        "parser": [parser()],
        "logic": [logic(OWN, BAD_B)],
        "repair_b": [logic(meddling, STANDARD_SOURCE)],
    }
    made = await desk.build(script)
    assert made.done, made.result
    assert "Something else" not in (desk.checker / "checker.yaml").read_text()
    assert 'startswith("regex:")' in (desk.checker / "atoms.py").read_text()


GIVE_UP = SCENARIOS["a repair that helps nothing, until nobody may repair"].script


async def test_a_build_that_gives_up_leaves_a_report_and_a_stub(desk: Desk) -> None:
    made = await desk.build(GIVE_UP)
    assert (made.result.status, made.result.exit_code, made.result.iterations) == (
        "human_required",
        3,
        3,
    )
    report = json.loads((desk.checker / "human_intervention_report.json").read_text())
    assert (report["status"], report["item_id"], report["total_iterations"]) == (
        "HUMAN_INTERVENTION_REQUIRED",
        "BLOCK-1",
        3,
    )
    assert [row["source"] for row in report["error_history"]] == ["repair_a"] * 3
    (logs,) = desk.root.glob(".transom/runs/*/*/error_logs")
    left = [json.loads((logs / f"iteration_{number}.json").read_text()) for number in (1, 2, 3)]
    assert left == report["error_history"]
    assert report["failure_summary"].startswith("3 repairs did not help; [")
    assert "value: Input should be a valid string" in str(report["last_validation_errors"])
    assert report["last_generated_code"]["atom_a"] == NUMBER_VALUE
    assert report["last_validation_errors"][0]["artifact"] == "atom_a"
    assert report["suggested_actions"]
    assert Path(report["cache_location"]).is_dir()
    assert report["resume_command"].startswith("transom resume ")
    assert report["generated_code_signatures"]["extract_context"] == "text: str, source_file: str"
    assert json.loads((desk.checker / "build.json").read_text())["status"] == "human_required"


async def test_guidance_reaches_the_next_repair_and_no_earlier_one(desk: Desk) -> None:
    await desk.build(GIVE_UP)
    async with desk.run({}) as run:
        await give_help(run, "The value must be text.")
    made = await desk.build({"repair_a": [parser()]})
    assert made.done, made.result
    (request,) = desk.requests
    assert request.window.text("guidance") == "The value must be text."
    assert made.result.iterations == 4
    assert (
        not (desk.checker / "atoms.py").read_text().startswith('"""This checker was not finished')
    )


@pytest.mark.slow
@pytest.mark.fence
async def test_help_grants_one_repair_and_a_reset_as_many_as_at_first(desk: Desk) -> None:
    await desk.build(GIVE_UP)
    async with desk.run({}) as run:
        await give_help(run, "Try.")
    assert (
        await desk.build({"repair_a": [parser(NUMBER_VALUE)]})
    ).result.status == "human_required"
    assert len(desk.requests) == 1
    async with desk.run({}) as run:
        await give_help(run, reset=True)
    made = await desk.build({"repair_a": [parser(NUMBER_VALUE)] * 3})
    assert (len(desk.requests), made.result.iterations) == (3, 7)


@pytest.mark.parametrize("where", ["the stub", "the run's own file", "transom answer --edit"])
async def test_an_edited_artifact_finishes_the_build_and_its_role_is_not_asked_again(
    where: str, desk: Desk
) -> None:
    await desk.build(GIVE_UP)
    mine = f"{ATOM_A}\n\n# Mended by hand.\n{STANDARD_SOURCE}"
    if where == "the stub":
        (desk.checker / "atoms.py").write_text(mine)
    elif where == "the run's own file":
        next(desk.root.glob(".transom/runs/*/*/build/checker#3/atoms.py")).write_text(mine)
    else:
        (desk.root / "mine.py").write_text(mine)
        async with desk.run({}) as run:
            take_edit(run, desk.root / "mine.py")
    made = await desk.build({})
    assert made.done, made.result
    assert desk.requests == []
    assert (desk.checker / "atoms.py").read_text() == mine
    assert json.loads((desk.checker / "build.json").read_text())["provider"].endswith(
        f"edited by {A_PERSON}"
    )


@pytest.mark.slow
@pytest.mark.fence
async def test_what_a_person_edited_is_never_repaired_by_a_role(desk: Desk) -> None:
    await desk.build(GIVE_UP)
    next(desk.root.glob(".transom/runs/*/*/build/checker#3/atoms.py")).write_text(
        "def extract_context(:\n"
    )
    async with desk.run({}) as run:
        await give_help(run, reset=True)
    made = await desk.build({"repair_a": [parser()]})
    assert made.result.status == "human_required"
    assert desk.requests == []


async def test_where_nobody_can_repair_a_person_is_asked_at_once(desk: Desk) -> None:
    def answer(request: Request) -> str:
        if "repair" in request.role:
            raise NeedsModel([NotUnderstood("findings", request.role)])
        return parser(NUMBER_VALUE) if request.role == "checklist.parser" else logic()

    async with desk.run(answer) as run:
        made = await build_checker(run, desk.inputs, SANDBOX, BuildSettings(), desk.checker)
    assert (made.result.status, made.result.iterations) == ("human_required", 0)
    assert made.result.waits_for
    assert made.result.waits_for.startswith("scripted does not repair; [")
    report = json.loads((desk.checker / "human_intervention_report.json").read_text())
    assert any("--model PROVIDER:NAME" in action for action in report["suggested_actions"])
    made = await desk.build({"repair_a": [parser()]})
    assert (made.done, len(desk.requests)) == (True, 1)


async def test_new_files_are_tried_where_the_old_ones_did_not_do(desk: Desk) -> None:
    report = desk.root / "data" / "power.rpt"
    report.write_text("nothing of the kind\n")
    assert (
        await desk.build({"parser": [parser()], "logic": [logic()]}, max_iterations=0)
    ).result.exit_code == 3
    assert (await desk.build({}, max_iterations=0)).result.exit_code == 3
    report.write_text(REPORT)
    made = await desk.build({}, max_iterations=0)
    assert made.done
    assert desk.requests == []


@pytest.mark.slow
@pytest.mark.fence
async def test_a_build_goes_back_to_a_checkpoint(desk: Desk) -> None:
    await desk.build(GIVE_UP)
    async with desk.run({}) as run:
        points = checkpoints(run.records())
        with pytest.raises(InputError, match="no checkpoint 1999; see: transom runs show"):
            rewind(run, "1999")
        (before,) = [one for one in points if one.stage == "build/gates"]
        assert rewind(run, before.id)[0] == "build/repair_a#1"
    made = await desk.build({"repair_a": [parser()]})
    assert (made.done, made.result.iterations, len(desk.requests)) == (True, 1, 1)


async def test_a_table_is_checked_and_its_walk_is_bounded(desk: Desk) -> None:
    from transom.runs import Route, walk

    async def same(state: int) -> int:
        return state + 1

    with pytest.raises(RunError, match="nodes that it does not have: b"):
        FlowTable("t", "a", {"a": same}, {"a": Route(("b",), lambda state: "b")}, 3)
    endless = FlowTable("t", "a", {"a": same}, {"a": Route(("a",), lambda state: "a")}, 3)
    lost = FlowTable("t", "a", {"a": same}, {"a": Route(("a",), lambda state: "z")}, 3)
    async with desk.run({}) as run:
        with pytest.raises(RunError, match="did not end within 3 steps"):
            await walk(run, endless, 0)
        with pytest.raises(RunError, match="leads to 'z'"):
            await walk(run, lost, 0)


def test_emitted_fields_are_read_from_code_that_does_not_parse_as_well() -> None:
    assert emitted_fields(ATOM_A) == emitted_fields(BROKEN_SYNTAX) >= {"block", "name", "power"}
    assert "unit" in emitted_fields(MORE_FIELDS)
    assert emitted_fields('fields["a"] = 1\nif x["b"] == 2: pass\ny = {"c" : 1}') == {"a", "c"}


def test_the_scripts_of_this_file_hold_what_they_say() -> None:
    assert BAD_B != STANDARD_SOURCE
    assert NUMBER_VALUE != ATOM_A != BROKEN_SYNTAX
    assert validate_logic("a", "regex:a")["kind"] == "regex"
    assert check_existence([])["is_match"] is False


@pytest.mark.fence
@pytest.mark.slow
def test_a_person_in_the_loop_survives_a_kill_after_every_append(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.checklist.building.flow_driver", str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    whole, *killed = [json.loads(line) for line in done.stdout.splitlines()]
    assert (whole["status"], len(whole["asked"])) == (0, 3), done.stderr
    assert len(killed) >= 20, "fewer appends than the story has steps"
    for row in killed:
        assert (row["status"], row["files"]) == (0, whole["files"]), (row["failpoint"], done.stderr)
        assert not set(row["journaled"]) & set(row["asked"]), row["failpoint"]
        assert len(row["journaled"]) + len(row["asked"]) == 3, row["failpoint"]
