"""Document 001: the Developer Agent and the checker framework, row by row."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documents.door import FAN, MODEL, REPLIES, Door, FanModel, fan_door, inside
from tests.documents.rows import row, shared
from tests.llm.conformance.server import LocalServer, Seen, Wire
from transom.checklist.calls import CheckOptions
from transom.checklist.standard_atoms import check_existence, validate_logic
from transom.checklist.vectors import STANDARD_SOURCE
from transom.llm import ToolCallPart, render
from transom.tools import Toolbox
from transom.tools.catalogue import ReadablePlaces
from transom.tools.constrained import FileLimits, FileSession

PIPELINE = "transom.checklist.pipeline"
VERDICTS = "transom.checklist.verdicts"
CHECKER = f"{PIPELINE}:checker_of"
SENT: dict[str, str] = {}

SETTINGS = """\
paths:
  search_root: "."
  item_specs_dir: "./item_specs"
  output_dir: "./output"
llm:
  agent_a: {provider: "%(model)s", temperature: 0.2, max_tokens: 4096}
  agent_b: {provider: "%(model)s", temperature: 0.1, max_tokens: 4000}
  reflect: {provider: "%(model)s", temperature: 0.1, max_tokens: 2048}
cache:
  retention_policy: "hourly"
  max_checkpoints_per_hour: 10
  cleanup_on_success: false
execution:
  max_iterations: 3
  timeout_per_stage: 300
  enable_streaming: true
logging:
  level: "INFO"
  log_file: "./logs/agent.log"
  log_llm_calls: true
tool_constraints:
  max_read_lines_per_call: 200
  max_total_read_bytes: 102400
  require_discovery_before_read: true
  header_lines_default: 100
"""


@pytest.fixture(scope=shared)
def built(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """FAN-1, specified and built with the settings file of the document, by the spec's name."""
    FanModel.forget()
    door = fan_door(tmp_path_factory.mktemp("built"))
    door.write("config/agent_config.yaml", SETTINGS % {"model": MODEL})
    assert door("check", "spec", "FAN-1.yaml", "--model", MODEL, "-q").code == 0
    answer = door("check", "build", "FAN-1", "--item", "FAN-1.yaml", "--model", MODEL)
    assert answer.code == 0, answer
    SENT.clear()
    SENT.update({each.role: render(each).as_text() for each in FanModel.requests_of})
    SETTINGS_OF.clear()
    SETTINGS_OF.update({each.role: each.settings for each in FanModel.requests_of})
    return door


SETTINGS_OF: dict[str, Any] = {}


def build_run(door: Door) -> Path:
    (folder,) = (
        path for path in (door.here / ".transom/runs/FAN-1").iterdir() if (path / "build").is_dir()
    )
    return folder


@row(
    "the document's settings file; ItemSpecs are found by name in item_specs_dir",
    "transom.cli.check.steps:_found_spec",
)
def test_settings_file(built: Door) -> None:
    assert (built.here / "item_specs/FAN-1_ItemSpec.md").is_file()
    assert (built.here / "output/FAN-1_checker/atoms.py").is_file()


@row("each role has its own model settings", "transom.cli.check.options:_build_settings")
def test_role_settings(built: Door) -> None:
    parser, logic = SETTINGS_OF["checklist.parser"], SETTINGS_OF["checklist.logic"]
    assert (parser.temperature, parser.max_tokens) == (0.2, 4096)
    assert (logic.temperature, logic.max_tokens) == (0.1, 4000)


SERVICES = {
    "azure:gpt-x": "--model: azure has no address",
    "openrouter:some/model": "OPENROUTER_API_KEY is not set",
}


@pytest.mark.parametrize("name", SERVICES)
@row(
    "azure and openrouter are words for a provider",
    "transom.llm.hosted.connecting:service_settings",
)
def test_services(fan: Door, name: str) -> None:
    answer = fan("check", "spec", "FAN-1.yaml", "--model", name, "-q")
    assert answer.code == 2
    assert SERVICES[name] in answer.err


def refused(wire: Wire, _: Seen) -> None:
    wire.answer(401, b'{"error": {"message": "who are you"}}')


@pytest.mark.parametrize("service", ["azure", "openrouter"])
@row(
    "a service's key is not sent to another address, and that is said",
    "transom.llm.hosted.connecting:_unsent_key",
)
def test_unsent_key(fan: Door, service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    variable = {"azure": "AZURE_OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY"}[service]
    monkeypatch.setenv(variable, "a-key-of-the-service")
    model = f"{service}:own"
    with LocalServer() as server:
        server.answer = refused
        address = ("--base-url", server.url)
        tried = fan("doctor", "--provider", model, *address)
        asked = fan("check", "spec", "FAN-1.yaml", "--model", model, *address, "-q")
        assert not [seen for seen in server.seen if "a-key-of-the-service" in str(seen.headers)]
        assert fan("doctor", *address).out.count(f"{variable} is set, and is not sent") == 1
    assert f"{variable} is set, and is not sent" in tried.out
    assert f"set llm.openai.key_variable: {variable}" in asked.err


@row("a chain falls back to the next provider, and says so", "transom.llm.provider:Chain.answer")
def test_fall_back(fan: Door) -> None:
    answer = fan(
        "check", "spec", "FAN-1.yaml", "--model", f"tests.documents.door:BrokenModel,{MODEL}", "-v"
    )
    assert answer.code == 0, answer
    assert "author" in answer.err


@row("the parser sees sections 1 and 4.1 alone", CHECKER)
def test_parser_isolation(built: Door) -> None:
    text = SENT["checklist.parser"]
    assert "the day of its build" in text
    assert "the banners behind the date" in text
    for hidden in ("Validation Sequence", "Bench build, sensor comes later", "Rebooted board"):
        assert hidden not in text


@row("the logic sees sections 2, 3, 4.2 and the parser's code", CHECKER)
def test_logic_isolation(built: Door) -> None:
    text = SENT["checklist.logic"]
    assert "Rebooted board" in text
    assert "def extract_context" in text
    for hidden in (
        "tells which firmware drives the fan",
        "the banners behind the date",
        "boot 2031",
    ):
        assert hidden not in text


@pytest.mark.slow
@row("neither role sees values of requirements and waivers", CHECKER)
def test_no_values(fan: Door) -> None:
    waivers = {"value": 1, "waive_items": ["unicorn"], "waive_reasons": ["a secret reason"]}
    fan.item("FAN-1.yaml", FAN, waivers=waivers)
    fan("check", "all", "FAN-1.yaml", "--model", MODEL)
    for role in ("parser", "logic"):
        text = render(FanModel.request(role)).as_text()
        assert "unicorn" not in text
        assert "a secret reason" not in text
    assert "<TO_BE_INFERRED>" in render(FanModel.request("logic")).as_text()


@pytest.mark.slow
@row("the workflow as a graph of LangGraph, which builds", "transom.checklist.calls:build_table")
def test_graph(fan: Door) -> None:
    pytest.importorskip("langgraph")
    from transom.checklist import CheckOptions, build_flow, run
    from transom.runs import as_langgraph

    async def stream() -> tuple[list[str], Any]:
        options = CheckOptions(model=MODEL, out="out")
        async with build_flow("out/FAN-1_ItemSpec.md", "FAN-1.yaml", options) as flow:
            graph = as_langgraph(flow.table, type(flow.start))
            nodes, last = list[str](), None
            async for update in graph.astream(vars(flow.start)):
                ((node, last),) = update.items()
                nodes.append(node)
            return nodes, last

    assert fan("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out", "-q").code == 0
    with inside(fan.here):
        nodes, last = asyncio.run(stream())
        verdict = asyncio.run(run("out/FAN-1_checker", "FAN-1.yaml"))
    assert nodes == ["load_spec", "preprocess", "parser", "logic", "validate", "done"]
    assert last["result"].status == "done"
    assert verdict.status == "PASS"


@row(
    "checkpoints by the hour, the latest, and the outputs of stages",
    "transom.runs.checkpoints:CheckpointFiles._write",
)
def test_cache_layout(built: Door) -> None:
    folder = build_run(built)
    assert json.loads((folder / "checkpoint_latest.json").read_text("utf-8"))
    assert list(folder.glob("hourly/??????????/checkpoint_??????_*.json"))
    assert (folder / "stage_outputs/build_parser.json").is_file()


@pytest.mark.slow
@row("a build resumes from a checkpoint", "transom.cli.check.steps:rewind")
def test_checkpoint(built: Door) -> None:
    runs = built.json("runs", "list")["runs"]
    (run_id,) = (run["run_id"] for run in runs if run["kind"] == "check-build")
    shown = built.json("runs", "show", run_id)
    checkpoint = next(each for each in shown["checkpoints"] if each["stage"] == "build/parser")
    FanModel.forget()
    answer = built(
        *("check", "build", "FAN-1", "--item", "FAN-1.yaml", "--model", MODEL),
        *("--checkpoint", checkpoint["checkpoint_id"]),
    )
    assert answer.code == 0, answer
    assert "checklist.parser" not in {each.role for each in FanModel.requests_of}


@pytest.mark.slow
@row(
    "variables in paths: --var, and an error that names one that is not defined",
    "transom.checklist.judging.inputs:Roots.with_defaults",
)
def test_variables(fan: Door) -> None:
    fan.item("FAN-1.yaml", FAN, input_files=["${BOOTS}/boot.log"])
    wrong = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-q")
    assert (wrong.code, "BOOTS" in wrong.err) == (2, True)
    assert (
        fan("check", "all", "FAN-1.yaml", "--model", MODEL, "--var", "BOOTS=logs", "-q").code == 0
    )


def session(fan: Door, **limits: Any) -> Toolbox:
    places = ReadablePlaces((fan.here / "logs",))
    return Toolbox(FileSession(places, FileLimits(**limits)).tools())


async def told(box: Toolbox, name: str, **arguments: Any) -> Any:
    outcome = await box.run(ToolCallPart("1", name, arguments))
    return json.loads(outcome.result.content)


FILES = "transom.tools.constrained:FileSession._in_turn"


@row("listing comes first, and tells paths and sizes", FILES)
async def test_listing(fan: Door) -> None:
    box = session(fan)
    refused = await told(box, "read_file_header", file_path="boot.log")
    assert "not been discovered" in refused["error"]
    listed = await told(box, "list_available_files", patterns=["*.log"])
    assert (listed["files"][0]["path"], listed["files"][0]["size"]) == ("boot.log", 97)
    assert "controller" not in json.dumps(listed)


@row("head, search and range of a file, within limits", FILES)
async def test_reading(fan: Door) -> None:
    fan.write("logs/long.log", "".join(f"row {number} slack\n" for number in range(1, 500)))
    box = session(fan)
    await told(box, "list_available_files", patterns=["*.log"])
    part = await told(box, "read_file_range", file_path="long.log", start_line=1, end_line=400)
    assert "row 200 " in part["content"]
    assert "row 201 " not in part["content"]
    assert part["truncated"]
    found = await told(box, "search_in_file", file_path="long.log", keywords=["slack"])
    assert len(found["matches"]) == 3
    head = await told(box, "read_file_header", file_path="boot.log")
    assert head["content"].startswith("boot 2031")


@row("a session may read so many bytes, and no more", FILES)
async def test_quota(fan: Door) -> None:
    fan.write("logs/long.log", ("x" * 70 + "\n") * 5)
    box = session(fan, total_bytes=90)
    await told(box, "list_available_files", patterns=["long.log"])
    for _ in range(6):
        last = await told(box, "read_file_header", file_path="long.log")
    assert "error" in last


MATCHES = {
    ("alternatives", True): ("abc", "|zzz|b|"),
    ("regex", True): ("row 2031", r"regex:\d{4}"),
    ("wildcard", True): ("bus[15]x", "bus[15]*"),
    ("contains", True): ("Genus 21", "Genus"),
    ("regex", False): ("abc", "regex:["),
    ("wildcard", False): ("xabc", "a*c"),
}


@pytest.mark.parametrize("kind", MATCHES)
@row(
    "atom B: alternatives, regex, wildcard, contains, in this order",
    "transom.checklist.standard_atoms:validate_logic",
)
def test_atom_b(kind: tuple[str, bool]) -> None:
    text, pattern = MATCHES[kind]
    answer = validate_logic(text, pattern, None)
    assert (answer["kind"], answer["is_match"]) == kind
    if pattern == "regex:[":
        assert str(answer["reason"]).startswith("Invalid Regex:")


@row(
    "atom C: an empty list is false, evidence comes back",
    "transom.checklist.standard_atoms:check_existence",
)
def test_atom_c() -> None:
    rows: list[Any] = [{"value": "x"}]
    assert check_existence([])["is_match"] is False
    assert check_existence(rows)["evidence"] is rows


@row("a checker: atoms with the locked layer, and its YAML", CHECKER)
def test_checker(built: Door) -> None:
    folder = built.here / "output/FAN-1_checker"
    code = (folder / "atoms.py").read_text("utf-8")
    assert code.count("def extract_context(text: str, source_file: str)") == 1
    assert "# [Locked] Standardization Layer" in code
    config = yaml.safe_load((folder / "checker.yaml").read_text("utf-8"))
    assert [item["id"] for item in config["items"]] == ["2.1", "2.2"]
    assert "<TO_BE_INFERRED>" not in (folder / "checker.yaml").read_text("utf-8")


BAD_CODE = {
    "forbidden_io": ("    results = []", "    open('x'); results = []"),
    "signatures": ("def extract_context(text: str, source_file: str)", "def extract(text)"),
    "locked_layer": ('"source_file": source_file', '"source_file": "mine"'),
    "syntax": ("def extract_context(", "def extract_context(("),
}


def atoms() -> str:
    text = (REPLIES / "parser.txt").read_text("utf-8")
    return text.partition("```python\n")[2].partition("```")[0] + "\n\n" + STANDARD_SOURCE


@pytest.mark.parametrize("gate", BAD_CODE)
@row("validation of a code string as a call", "transom.checklist.calls:run_code_gates")
async def test_validate_code(gate: str) -> None:
    from transom.checklist import validate_code

    old, new = BAD_CODE[gate]
    report = await validate_code(atoms().replace(old, new, 1))
    assert not report.valid
    assert not report.gate_results[gate]
    assert report.errors


ENDLESS = {
    "while it is loaded": "for _ in iter(int, 1):\n    pass\n",
    "on a text": "def extract_context(text, source_file):\n    while text is not None:\n        continue\n",
}


@pytest.mark.parametrize("place", ENDLESS)
@row("code that never ends is not valid", "transom.checklist.calls:run_code_gates")
async def test_validate_endless_code(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transom.checklist import validate_code
    from transom.sandbox import Sandbox, WorkerLimits

    monkeypatch.chdir(tmp_path)
    Path("transom.yaml").write_text("execution: {timeout_per_stage: 1.5}\n", "utf-8")
    began = time.monotonic()
    report = await validate_code(ENDLESS[place], "atoms: standard\n")
    assert not report.valid
    assert not report.gate_results["time"]
    assert "did not end within 1.5 s" in " ".join(report.errors)
    # The argument counts more than the settings, and the sandbox's limit ends the first call.
    short = Sandbox(WorkerLimits(wall_seconds=1))
    report = await validate_code(ENDLESS[place], "atoms: standard\n", sandbox=short, seconds=50)
    assert not report.valid
    assert " ".join(report.errors).count("did not end within 1 s") == 1
    assert time.monotonic() - began < 20


WRONG_CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "a waiver that does not compile": (
        {"waivers": {"value": 1, "waive_items": ["regex:["], "waive_reasons": ["ok"]}},
        "regex:[",
    ),
    "a placeholder": (
        {"waivers": {"value": 1, "waive_items": ["2.1"], "waive_reasons": ["<TO_BE_INFERRED>"]}},
        "<TO_BE_INFERRED> is left",
    ),
    "reasons that are no list": (
        {"waivers": {"value": 1, "waive_items": ["2.1"], "waive_reasons": "ok"}},
        "waive_reasons must be a list",
    ),
    "a field that no code emits": ({"select": "controller.colour"}, "controller.colour"),
}


@pytest.mark.parametrize("kind", WRONG_CONFIGS)
@row(
    "validation of a checker's YAML as a call",
    "transom.checklist.building.gates:check_yaml",
)
async def test_validate_config(built: Door, kind: str) -> None:
    from transom.checklist import validate_code

    changes, message = WRONG_CONFIGS[kind]
    config = yaml.safe_load((built.here / "output/FAN-1_checker/checker.yaml").read_text("utf-8"))
    good = await validate_code(atoms(), yaml.safe_dump(config))
    assert good.valid, good.errors
    if "select" in changes:
        config["items"][0] |= changes
    else:
        config |= changes
    report = await validate_code(atoms(), yaml.safe_dump(config))
    assert report.gate_results["yaml"] is False
    assert any(message in error for error in report.errors), report.errors


CLAIMS: dict[str, dict[str, Any]] = {
    "headers": {"claim": "headers_complete"},
    "loaded": {"claim": "files_loaded"},
    "absent": {"claim": "text_absent", "parameters": {"text": "latch inferred"}},
    "limit": {
        "claim": "number_limit",
        "parameters": {"measure": "worst_slack", "check": "hold", "limit": "at least 0.02 ns"},
    },
}


def claimed(door: Door, name: str, **changes: Any) -> Path:
    """Build the checker of an item with a claim; returns its folder."""
    item = {
        "item_id": "PUMP-3",
        "description": "Confirm the pump's file.",
        "requirements": {"value": "N/A", "pattern_items": []},
        "waivers": {"value": "N/A", "waive_items": []},
        "input_files": ["pump.log"],
        "reads_as": CLAIMS[name],
    }
    door.item("PUMP-3.yaml", item, **changes)
    door.write("pump.log", "nothing yet\n")
    door("check", "all", "PUMP-3.yaml", "-o", "out", "-q")
    return door.here / "out/PUMP-3_checker"


@pytest.mark.parametrize("name", CLAIMS)
@row("a checker as it was delivered is valid", "transom.compat.context_agent:validate_code")
async def test_validate_delivered(door: Door, name: str) -> None:
    from transom.checklist import validate_code
    from transom.compat.context_agent import ValidationAgent

    waivers = {"value": 1, "waive_items": ["2.1"], "waive_reasons": ["bench only"]}
    folder = await asyncio.to_thread(claimed, door, name, waivers=waivers)
    reply = await ValidationAgent().process({"checker_code_path": str(folder)})
    assert reply.status == "success", reply.errors
    code, config = ((folder / file).read_text("utf-8") for file in ("atoms.py", "checker.yaml"))
    assert (await validate_code(code, config)).valid
    # What a person changed is no claim any more.
    report = await validate_code(code + "\n# shorter\n", config)
    assert not report.valid
    assert any("atoms.py" in error for error in report.errors)
    report = await validate_code(code, config.replace("mode: require", "mode: allow"))
    assert report.valid is ("mode: require" not in config)


@row("own code with `atoms: standard` is valid", "transom.checklist.calls:complete_atoms")
async def test_validate_standard_atoms(built: Door) -> None:
    from transom.checklist import validate_code

    config = (built.here / "output/FAN-1_checker/checker.yaml").read_text("utf-8")
    parser = atoms().replace(STANDARD_SOURCE, "")
    assert "validate_logic" not in parser
    assert (await validate_code(parser, config)).valid
    own = await validate_code(parser, config.replace("atoms: standard", "atoms: own"))
    assert not own.valid
    assert not (await validate_code(parser)).valid


@row("a build without the item's file says what it lacks", "transom.compat.context_agent:_reasons")
async def test_code_agent_without_item(door: Door) -> None:
    from transom.compat.context_agent import CodeGenAgent

    folder = await asyncio.to_thread(claimed, door, "headers")
    # A workspace that did not write the ItemSpec does not know its item.
    inputs = {"itemspec_path": str(folder / "ItemSpec.md"), "output_dir": str(door.here / "more")}
    options = CheckOptions(workspace=door.here / "another")
    reply = await CodeGenAgent(options).process(inputs)
    assert reply.status == "failed"
    assert any("item_path is missing" in error for error in reply.errors)
    inputs["item_path"] = str(door.here / "PUMP-3.yaml")
    assert (await CodeGenAgent(options).process(inputs)).status == "success"


@row("good code passes every gate of the call", "transom.checklist.calls:run_code_gates")
async def test_validate_good_code() -> None:
    from transom.checklist import validate_code

    report = await validate_code(atoms())
    assert report.valid, report.errors
    assert "vectors.bad_regex" in report.gate_results


@row(
    "only the broken part is repaired, with the findings and the code before it",
    "transom.checklist.building.routes:_repair",
)
def test_repair(fan: Door) -> None:
    good = (REPLIES / "parser.txt").read_text("utf-8")
    FanModel.instead["parser"] = [
        good.replace("    results = []", "    results = []\n    print(1)")
    ]
    FanModel.instead["repair_a"] = [good]
    answer = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-o", "out")
    assert answer.code == 0, answer
    text = render(FanModel.request("repair_a")).as_text()
    assert "print(1)" in text
    assert "forbidden" in text
    assert [each.role for each in FanModel.requests_of].count("checklist.logic") == 1


@pytest.mark.slow
@row(
    "after three repairs a person is asked, with a report",
    "transom.checklist.building.flow:report_of",
)
def test_human(fan: Door) -> None:
    bad = (
        (REPLIES / "parser.txt")
        .read_text("utf-8")
        .replace("    results = []", "    results = []\n    print(1)")
    )
    FanModel.instead["parser"] = [bad]
    FanModel.instead["repair_a"] = [bad] * 3
    answer = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-o", "out")
    assert answer.code == 3
    report = json.loads((fan.here / "out/FAN-1_checker/human_intervention_report.json").read_text())
    assert report["total_iterations"] == 3
    assert report["suggested_actions"]
    assert [each.role for each in FanModel.requests_of].count("checklist.repair_a") == 3


@row("what the files show outweighs the ItemSpec", CHECKER)
def test_observed_data(built: Door) -> None:
    assert "controller: Aero ver 4.2 built 2031-03-30" in SENT["checklist.parser"]


@row("patterns and waivers come from the item at run time", f"{VERDICTS}:verdict_of")
def test_run_time_values(built: Door) -> None:
    target = built.here / "output/FAN-1_checker/item.yaml"
    before = target.read_bytes()
    target.write_text(
        yaml.safe_dump(FAN | {"waivers": {"value": 0, "waive_items": ["all"]}}), "utf-8"
    )
    verdict = built.json("check", "run", "output/FAN-1_checker", "--root", ".")
    target.write_bytes(before)
    assert verdict["checker_type"] == 4


@row(
    "zero hard-coding: a value of the item in atom B is refused",
    "transom.checklist.building.gates:check_hard_coding",
)
async def test_hard_coding(built: Door) -> None:
    from transom.checklist import calls

    own = STANDARD_SOURCE.replace(
        "def check_existence", "_MINE = 'Sensor Firmware'\n\n\ndef check_existence"
    )
    code = atoms().replace(STANDARD_SOURCE, own)
    config = (built.here / "output/FAN-1_checker/checker.yaml").read_text("utf-8")
    report = await calls.validate_code(code, config)
    assert report.gate_results["hard_coding"] is False, report


UNREADABLE = {
    "logic": ("logic", "repair_b"),
    "everything": ("parser", "repair_a", "logic", "repair_b"),
}


@pytest.mark.parametrize("kind", UNREADABLE)
@row(
    "a file is taken when no reply of the model could be read",
    "transom.runs.walk:take_edit",
)
def test_edit_without_replies(fan: Door, built: Door, kind: str) -> None:
    for role in UNREADABLE[kind]:
        FanModel.instead[role] = ["I have nothing to give you."] * 9
    answer = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-q")
    assert answer.code == 3, answer
    run_id = fan.json("runs", "list")["runs"][0]["run_id"]
    assert "--edit (atoms.py, checker.yaml)" in fan("waiting").out
    for file in ("checker.yaml", "atoms.py"):
        good = (built.here / "output/FAN-1_checker" / file).read_bytes()
        fan.write(f"mine/{file}", good)
        # The draft of a parser that could be read needs no other file.
        if file == "checker.yaml" or kind == "everything":
            taken = fan("answer", run_id, "--edit", f"mine/{file}", "--by", "Ola")
            assert taken.code == 0, taken
    calls = len(FanModel.requests_of)
    done = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-q", "--format", "json")
    assert done.document["status"] == "PASS", done
    assert len(FanModel.requests_of) == calls, "no role writes what a person wrote"


@row(
    "a person's wrong file is held to the gates, and waits for another one",
    "transom.runs.walk:take_edit",
)
def test_wrong_edit_without_replies(fan: Door, built: Door) -> None:
    for role in UNREADABLE["everything"]:
        FanModel.instead[role] = ["I have nothing to give you."] * 9
    fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-q")
    run_id = fan.json("runs", "list")["runs"][0]["run_id"]
    folder = built.here / "output/FAN-1_checker"
    config, code = ((folder / name).read_text("utf-8") for name in ("checker.yaml", "atoms.py"))
    fan.write("checker.yaml", config)
    fan.write("atoms.py", f"import os\n{code}")
    for file in ("checker.yaml", "atoms.py"):
        assert fan("answer", run_id, "--edit", file, "--by", "Ola").code == 0
    wrong = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-q")
    assert wrong.code == 3
    assert "forbidden_io" in wrong.out
    fan.write("atoms.py", code)
    assert fan("answer", run_id, "--edit", "atoms.py", "--by", "Ola").code == 0
    done = fan("check", "all", "FAN-1.yaml", "--model", MODEL, "-q")
    assert done.code == 0, done


BANNERS = {
    "PrimeTime, one line": ("PrimeTime (R)  Version S-2021.06-SP1\n", "S-2021.06*"),
    "PrimeTime, two lines": (
        "                        PrimeTime (R)\n\n"
        "             Version S-2021.06-SP1 for linux64 - Jul 02, 2021\n",
        "S-2021.06*",
    ),
    "Tempus": (
        "Cadence Tempus(TM) Timing Signoff Solution.\n"
        "Version:\tv20.20-s119_1, built Thu Apr 1 2021\n",
        "20.20-*",
    ),
}


@pytest.mark.parametrize("tool", BANNERS)
@row(
    "each tool version is approved: of logs as they are, and packed",
    "transom.formats.reports.section:SectionPass._add_version",
)
def test_tool_version(door: Door, tool: str) -> None:
    banner, approved = BANNERS[tool]
    log = (
        f"{banner}pt_shell> read_verilog hull.v\nLoading verilog file '/mill/hull.v'\n"
        "pt_shell> read_parasitics hull.spef\nReading SPEF file '/mill/hull.spef'\npt_shell> exit\n"
    )
    door.write("sta.log", log)
    door.write("packed.log.gz", gzip.compress(log.encode()))
    for name in ("sta.log", "packed.log.gz"):
        for wanted, status in ((approved, "PASS"), ("Z-2040*", "FAIL")):
            item = {
                "description": "Each tool version is approved.",
                "requirements": {"value": 1, "pattern_items": [wanted]},
                "input_files": [name],
            }
            door.item("VERSION-1.yaml", item)
            verdict = door.json("check", "all", "VERSION-1.yaml")
            assert verdict["status"] == status, (name, verdict)


@row(
    "each tool version is approved: also that of the tool that wrote a netlist",
    "transom.formats.reports.reader:read_report_pieces",
)
def test_netlist_version(door: Door) -> None:
    head = "// Generated by Genus(TM) Synthesis Solution 21.15-s080_1\nmodule hull(a, y);\n"
    door.write("hull.v", f"{head}  input a;\n  output y;\n  BUF u1(.A(a), .Y(y));\nendmodule\n")
    for wanted, status in (("*21.15-*", "PASS"), ("*22.1*", "FAIL")):
        item = {
            "description": "Each tool version is approved.",
            "requirements": {"value": 1, "pattern_items": [wanted]},
            "input_files": ["hull.v"],
        }
        door.item("VERSION-2.yaml", item)
        verdict = door.json("check", "all", "VERSION-2.yaml")
        assert verdict["status"] == status, verdict


@row("a stage limit pauses the run, and it resumes", "transom.runs.run:Run._timed")
def test_stage_limit(fan: Door) -> None:
    fan.write("transom.yaml", "execution: {timeout_per_stage: 0.2}\n")
    slow = fan("check", "spec", "FAN-1.yaml", "--model", "tests.documents.door:SlowModel", "-q")
    assert slow.code == 3, slow
    (fan.here / "transom.yaml").unlink()
    assert fan("check", "spec", "FAN-1.yaml", "--model", MODEL, "-q").code == 0


@row(
    "the texts of calls are in the log file, and not on stderr",
    "transom.telemetry.logs:configure",
)
def test_debug_log(fan: Door) -> None:
    fan.write("transom.yaml", "logging: {level: DEBUG, log_file: calls.jsonl}\n")
    answer = fan("check", "spec", "FAN-1.yaml", "--model", MODEL)
    assert answer.code == 0
    kept = (fan.here / "calls.jsonl").read_text("utf-8")
    assert "--- sent" in kept
    assert "--- sent" not in answer.err
    # A quiet command keeps the same file.
    fan.item("FAN-2.yaml", FAN, item_id="FAN-2")
    fan("check", "spec", "FAN-2.yaml", "--model", MODEL, "-q")
    assert len((fan.here / "calls.jsonl").read_text("utf-8")) > len(kept)
    shown = fan("check", "spec", "FAN-2.yaml", "--model", MODEL, "-vv", "--workspace", "other")
    assert "--- sent" in shown.err
    # Without a file they are where -vv or the level asks for them.
    fan.write("transom.yaml", "logging: {level: DEBUG}\n")
    shown = fan("check", "spec", "FAN-2.yaml", "--model", MODEL, "--workspace", "third")
    assert "--- sent" in shown.err


@row("calls are logged, in a file of JSON lines", "transom.telemetry.logs:configure")
def test_logging(built: Door) -> None:
    lines = (built.here / "config/logs/agent.log", built.here / "logs/agent.log")
    text = "".join(path.read_text("utf-8") for path in lines if path.exists())
    rows = [json.loads(line) for line in text.splitlines()]
    assert any("author" in json.dumps(each) for each in rows)
