"""Document 000: the Context Agent, row by row."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import yaml

from tests.documents.door import FAN, MODEL, Door, FanModel, fan_door, inside
from tests.documents.rows import row, shared
from transom.checklist.writing.document import parse_spec
from transom.compat.context_agent import CodeGenAgent, ContextAgent, ValidationAgent
from transom.llm import render

PIPELINE = "transom.checklist.pipeline"
VERDICTS = "transom.checklist.verdicts"
ROUNDS = "transom.checklist.writing.rounds:write_sections"
WRITE = f"{PIPELINE}:write_spec"
FILES = ("analysis", "section1", "section2", "section3", "section4")


@pytest.fixture(scope=shared)
def specified(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """FAN-1, specified with copies of every round; the requests are in `FanModel`'s file."""
    FanModel.forget()
    door = fan_door(tmp_path_factory.mktemp("specified"))
    answer = door("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out", "--debug")
    assert answer.code == 0, answer
    sent = {each.role: render(each) for each in FanModel.requests_of}
    REQUESTS.clear()
    REQUESTS.update(sent)
    return door


@pytest.fixture(scope=shared)
def checked(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """FAN-1, checked in one go with the scenarios of its matrix; its log lacks the sensor."""
    door = fan_door(tmp_path_factory.mktemp("checked"))
    door.write("logs/boot.log", "boot 2031-04-02\ncontroller: Aero ver 4.2 built 2031-03-30\n")
    answer = door("check", "all", "FAN-1.yaml", "--model", MODEL, "-o", "out", "--tests")
    assert answer.code == 1, answer
    return door


REQUESTS: dict[str, Any] = {}


def spec_text(door: Door) -> str:
    return (door.here / "out" / "FAN-1_ItemSpec.md").read_text("utf-8")


def judged(door: Door, **changes: Any) -> Any:
    """The verdict of the built checker for a changed item."""
    door.item("FAN-1.yaml", FAN, **changes)
    return door.json("check", "run", "FAN-1.yaml")


@row("one line becomes an ItemSpec of four sections", WRITE)
def test_four_sections(specified: Door) -> None:
    text = spec_text(specified)
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert [head[:5] for head in heads] == ["## 1.", "## 2.", "## 3.", "## 4."]
    assert text.startswith("# ItemSpec: FAN-1\n")
    assert FAN["description"] in text


@row("five rounds, each one call with one tag", ROUNDS)
def test_five_rounds(specified: Door) -> None:
    assert list(REQUESTS) == [f"checklist.{name}" for name in FILES]
    for name in FILES:
        assert f"<{name}>" in REQUESTS[f"checklist.{name}"].as_text()


@row("round 1 walks seven steps", ROUNDS)
def test_seven_steps(specified: Door) -> None:
    asked = REQUESTS["checklist.analysis"].as_text()
    written = (specified.here / "out/FAN-1_debug/round1_analysis.md").read_text("utf-8")
    for number in range(1, 8):
        assert f"Step {number}" in asked
        assert f"### Step {number}" in written


@row("each round sees its own slice of the prompts", "transom.checklist.writing.rounds:make_role")
def test_slices(specified: Door) -> None:
    systems = {name: REQUESTS[f"checklist.{name}"].as_text() for name in FILES}
    assert "<waiver_rules>" in systems["section3"]
    assert "<waiver_rules>" not in systems["section1"]
    assert "<check_rules>" in systems["section2"]
    assert "<check_rules>" not in systems["section3"]
    assert "<parsing_rules>" in systems["section1"]
    assert "<type_system>" in systems["analysis"]


@row("a round sees what the rounds before it wrote", ROUNDS)
def test_earlier_rounds(specified: Door) -> None:
    assert "the slash names both" not in REQUESTS["checklist.analysis"].as_text()
    assert "Two categories, `controller` and `sensor`" in REQUESTS["checklist.section1"].as_text()
    assert "`controller.maker`" in REQUESTS["checklist.section3"].as_text()
    assert "Waiver Decisions" in REQUESTS["checklist.section4"].as_text()


@row(
    "prompts are tagged: task, template, instructions", "transom.checklist.writing.rounds:make_role"
)
def test_tagged_prompts(specified: Door) -> None:
    text = REQUESTS["checklist.section2"].as_text()
    for tag in ("task", "template_section", "instructions", "configuration"):
        assert f"<{tag}>" in text, tag
        assert f"</{tag}>" in text, tag


@row(
    "a prompt has the number of input files, not their paths",
    "transom.checklist.writing.rounds:simplified",
)
def test_counts_in_place_of_paths(specified: Door) -> None:
    text = REQUESTS["checklist.analysis"].as_text()
    assert "1 file configured" in text
    assert "boot.log" not in text


@row("Section 1: categories, fields with a type, two examples", WRITE)
def test_section_1(specified: Door) -> None:
    text = spec_text(specified)
    assert "- `built` (String): the day of its build" in text
    assert "**parsed_fields Example**" in text
    assert "**Output Example**" in text


@row("Section 2: items with type, condition, PASS and FAIL of their own", WRITE)
def test_section_2(specified: Door) -> None:
    text = spec_text(specified)
    passes = [line for line in text.splitlines() if line.startswith("- **PASS condition**")]
    assert len(passes) == len({*passes}) == 2
    edges = text.partition("### Edge Cases")[2].partition("###")[0]
    assert len({line for line in edges.splitlines() if line.startswith("- ")}) == 4


@row("Section 3: scenarios, reasons, keywords, a justification each", WRITE)
def test_section_3(specified: Door) -> None:
    text = spec_text(specified)
    reasons = [line for line in text.splitlines() if "**Business justification**" in line]
    assert len({*reasons}) == 2
    assert '**Matching keywords**: "bench", "sensor"' in text
    assert "### Global Waiver Mode" in text
    assert "### Selective Waiver Mode" in text


@row("Section 4: sources, patterns, four special scenarios, the matrix of six", WRITE)
def test_section_4(specified: Door) -> None:
    text = spec_text(specified)
    assert "- **Primary source**: `boot_log`" in text
    assert text.count("#### Scenario ") == 4
    table = text.partition("### 4.3")[2]
    matrix = [line for line in table.splitlines() if line.startswith("| ") and "| yes |" in line]
    assert len(matrix) == 3


@row(
    "four files a round in the debug folder, config.yaml, meta.json",
    "transom.checklist.writing.round_copies:export_rounds",
)
def test_debug_files(specified: Door) -> None:
    names = {path.name for path in (specified.here / "out/FAN-1_debug").iterdir()}
    for number, part in enumerate(FILES, 1):
        kinds = ("system_prompt", "prompt", "response", part)
        assert {f"round{number}_{kind}.md" for kind in kinds} <= names
    assert {"config.yaml", "meta.json"} <= names


@row("no round is asked again when all are there", "transom.runs.run:decide")
def test_resume(specified: Door) -> None:
    FanModel.forget()
    answer = specified("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out")
    assert answer.code == 0
    assert FanModel.requests_of == []


@row("a run that failed in round 4 resumes there", ROUNDS)
def test_resume_in_the_middle(fan: Door) -> None:
    FanModel.instead["section3"] = ["nothing of use", "nothing of use"]
    assert fan("check", "spec", "FAN-1.yaml", "--model", MODEL).code == 2
    FanModel.forget()
    assert fan("check", "spec", "FAN-1.yaml", "--model", MODEL).code == 0
    assert [each.role for each in FanModel.requests_of] == [
        "checklist.section3",
        "checklist.section4",
    ]


@row(
    "a deleted copy of a round is written again, with what follows",
    "transom.checklist.writing.round_copies:is_deleted",
)
def test_deleted_copy(fan: Door) -> None:
    command = ("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out", "--debug")
    fan(*command)
    FanModel.forget()
    (fan.here / "out/FAN-1_debug/round3_section2.md").unlink()
    answer = fan(*command)
    assert "round3_section2.md was deleted; round 3 is written again" in answer.err
    assert [each.role for each in FanModel.requests_of] == [
        f"checklist.{name}" for name in FILES[2:]
    ]
    FanModel.forget()
    fan(*command)
    assert FanModel.requests_of == []


@pytest.mark.slow
@row(
    "an edit of a copy of a round counts, with what follows",
    "transom.checklist.writing.round_copies:adopt",
)
def test_edited_copy(fan: Door) -> None:
    command = ("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out", "--debug")
    fan(*command)
    FanModel.forget()
    copy = fan.here / "out/FAN-1_debug/round2_section1.md"
    copy.write_text(copy.read_text("utf-8").replace("drives the fan", "turns the blades"), "utf-8")
    answer = fan(*command)
    assert "round2_section1.md was changed by hand; the change counts" in answer.err
    assert FanModel.requests_of[0].role == "checklist.section2"
    assert "turns the blades" in spec_text(fan)


@row(
    "junk in the place of a round is named, and written again",
    "transom.checklist.writing.round_copies:_is_junk",
)
def test_junk(fan: Door) -> None:
    fan("check", "spec", "FAN-1.yaml", "--model", MODEL)
    FanModel.forget()
    (file,) = (fan.run_folder("FAN-1") / "spec/round2_section1").glob("round2_section1.md")
    file.write_text("oops", "utf-8")
    answer = fan("check", "spec", "FAN-1.yaml", "--model", MODEL)
    assert answer.code == 0, answer
    assert "no section1 can be read from it; round 2 is written again" in answer.err
    assert FanModel.requests_of[0].role == "checklist.section1"


@row(
    "a reply without its tag is asked for once more; the last pair counts; a cut one never",
    "transom.checklist.writing.rounds:read_tag",
)
def test_tags(fan: Door) -> None:
    from tests.documents.door import REPLIES

    own = (REPLIES / "analysis.txt").read_text("utf-8")
    FanModel.instead["analysis"] = [own.replace("</analysis>", "")]
    FanModel.instead["section1"] = [
        "<section1></section1>\n" + (REPLIES / "section1.txt").read_text("utf-8")
    ]
    assert fan("check", "spec", "FAN-1.yaml", "--model", MODEL).code == 0
    roles = [each.role.removeprefix("checklist.") for each in FanModel.requests_of]
    assert roles == ["analysis", *FILES]


@row(
    "an ItemSpec with findings is _NEEDS_REVIEW and opens with a warning",
    "transom.checklist.writing.write:needs_review",
)
def test_needs_review(fan: Door) -> None:
    from tests.documents.door import REPLIES

    broken = (
        (REPLIES / "section2.txt").read_text("utf-8").replace("the first one counts", "{TODO: x}")
    )
    FanModel.instead["section2"] = [broken, broken]
    answer = fan("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out")
    text = (fan.here / "out/FAN-1_ItemSpec_NEEDS_REVIEW.md").read_text("utf-8")
    assert answer.code == 1
    assert text.startswith("<!--")
    assert not (fan.here / "out/FAN-1_ItemSpec.md").exists()
    built = fan("check", "build", "out/FAN-1_ItemSpec_NEEDS_REVIEW.md")
    assert built.code == 2


@row("five metrics of quality, each with its parts", "transom.checklist.writing.write:quality_of")
def test_quality(specified: Door) -> None:
    meta = json.loads((specified.here / "out/FAN-1_debug/meta.json").read_text("utf-8"))
    metrics = ("consistency", "completeness", "practicality", "generality", "traceability")
    for name in metrics:
        assert 0 <= meta["quality"][name]["score"] <= 10
        assert meta["quality"][name]["parts"]


@row("process(): default output, a result with artifacts and metadata", f"{PIPELINE}:spec_of")
async def test_context_agent(fan: Door) -> None:
    lines: list[str] = []
    with inside(fan.here):
        agent = ContextAgent(
            debug_mode=True,
            llm_config={"model": MODEL, "temperature": 0.0, "max_tokens": 9000},
            activity_handler=lines.append,
        )
        result = await agent.process({"config_path": "FAN-1.yaml"})
    assert (result.status, result.errors) == ("success", ())
    assert result.artifacts["itemspec_path"].startswith("output/")
    assert set(result.artifacts["rounds"]) == {*FILES}
    debug = {path.name for path in (fan.here / "output/FAN-1_debug").iterdir()}
    assert {"config.yaml", "meta.json", "round4_response.md"} <= debug
    assert [line[:9] for line in lines if line[0] == "["] == [f"[Stage {n}]" for n in range(1, 10)]
    sizes = [line for line in lines if line.endswith(" characters") and ": " in line]
    assert len(sizes) == 5
    assert FanModel.request("section4").settings.max_tokens == 9000


@row("a model's bare name finds its provider", "transom.compat.context_agent:_with_provider")
async def test_bare_model_name(fan: Door) -> None:
    with inside(fan.here):
        agent = ContextAgent(
            llm_config={"model": "claude-sonnet-4-5"}, activity_handler=lambda line: None
        )
        result = await agent.process({"config_path": "FAN-1.yaml"})
    assert result.status == "failed"
    assert "ANTHROPIC_API_KEY" in result.errors[0]


ITEM_ERRORS: dict[str, tuple[Any, str]] = {
    "empty": ("", "is empty"),
    "syntax": ('description: "no end\n  key: value\n', "bad.yaml:"),
    "a list": ("- one\n- two\n", "bad.yaml"),
    "not UTF-8": (b"description: caf\xe9\n", "UTF-8"),
    "no file": (None, "no such file"),
}


@pytest.mark.parametrize("kind", ITEM_ERRORS)
@row("five errors of an item's file, each one line", "transom.checklist.item:load_yaml")
def test_item_errors(door: Door, kind: str) -> None:
    text, message = ITEM_ERRORS[kind]
    if text is not None:
        door.write("bad.yaml", text)
    answer = door("check", "spec", "bad.yaml", "-q")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1


@row("a description alone is enough", WRITE)
def test_minimal_item(fan: Door) -> None:
    fan.write("FAN-2.yaml", f"description: {FAN['description']}\n")
    assert fan("check", "spec", "FAN-2.yaml", "--model", MODEL).code == 0


TYPES: dict[int, tuple[Any, list[str], Any, list[str]]] = {
    1: ("N/A", [], "N/A", []),
    4: ("N/A", [], 0, ["all known"]),
}


@pytest.mark.parametrize("kind", TYPES)
@row("the type follows from requirements and waivers", f"{VERDICTS}:check_files")
def test_types(checked: Door, kind: int) -> None:
    value, patterns, waive, items = TYPES[kind]
    verdict = judged(
        checked,
        requirements={"value": value, "pattern_items": patterns},
        waivers={"value": waive, "waive_items": items},
    )
    assert verdict["checker_type"] == kind
    assert verdict["capability_type"] == 4


@row(
    "a global waiver makes information of every violation",
    "transom.checklist.judging.check:apply_waivers",
)
def test_global_waiver(checked: Door) -> None:
    verdict = judged(checked, waivers={"value": 0, "waive_items": ["bench week"]})
    assert verdict["status"] == "PASS"
    assert [entry["tag"] for entry in verdict["waived"]] == ["[WAIVED_AS_INFO]"]
    assert verdict["waiver_comments"][0]["tag"] == "[WAIVED_INFO]"
    assert verdict["unused_waivers"] == []


WAIVERS = {"exact": "2.2", "wildcard": "Sensor*", "regex": "regex:^Sensor", "keyword": "sensor"}


@pytest.mark.parametrize("match", WAIVERS)
@row(
    "selective waivers: exact, wildcard, regex, keyword; unused ones warn",
    "transom.checklist.judging.check:apply_waivers",
)
def test_selective_waivers(checked: Door, match: str) -> None:
    waivers = {
        "value": 2,
        "waive_items": [WAIVERS[match], "prototype"],
        "waive_reasons": ["ok", ""],
    }
    verdict = judged(checked, waivers=waivers)
    assert verdict["status"] == "PASS"
    assert verdict["waived"][0]["waiver"]["match"] == match
    assert verdict["waived"][0]["severity"] == "INFO"
    assert [entry["pattern"] for entry in verdict["unused_waivers"]] == ["prototype"]
    assert verdict["unused_waivers"][0]["severity"] == "WARN"


@row("every applied waiver is in the audit trail", f"{VERDICTS}:audit_waivers")
def test_audit(checked: Door) -> None:
    judged(
        checked, waivers={"value": 1, "waive_items": ["2.2"], "waive_reasons": ["no sensor yet"]}
    )
    text = (checked.here / ".transom/waiver_audit.jsonl").read_text("utf-8")
    last = json.loads(text.splitlines()[-1])
    assert (last["reason"], last["finding"]["id"]) == ("no sensor yet", "2.2")


@row(
    "scenarios of the matrix as YAML files from real values, run and kept",
    f"{VERDICTS}:run_scenarios",
)
def test_scenarios(checked: Door) -> None:
    folder = checked.here / "out/FAN-1_checker/scenarios"
    results = json.loads((folder / "results.json").read_text("utf-8"))
    assert [row["status"] for row in results] == ["FAIL", "PASS", "PASS"]
    assert not any(row["problem"] for row in results)
    selective = yaml.safe_load((folder / "FAN-1_selective_waiver.yaml").read_text("utf-8"))
    assert selective["waivers"]["waive_items"][0] == "sensor"


@row("a violation names file, line, and the nearest line", f"{VERDICTS}:check_files")
def test_traceability(checked: Door) -> None:
    verdict = judged(checked)
    found, missing = verdict["found_items"][0], verdict["missing_items"][0]
    assert (found["line_number"], found["matched_content"]) == (
        2,
        "controller: Aero ver 4.2 built 2031-03-30",
    )
    assert found["parsed_fields"]["controller"]["maker"] == "Aero"
    assert missing["nearest"]["why_not"]


HEADS = {
    "design/top.v": "// Generator: Cadence Genus 21.12-s068_1\n// Date: 2031-02-03 10:11:12\nmodule top(); endmodule\n",
    "design/top.spef": (
        '*SPEF "IEEE 1481-1999"\n*DESIGN "top"\n*DATE "Mon Feb 3 12:11:12 2031"\n'
        '*VENDOR "Syn"\n*PROGRAM "StarRC"\n*VERSION "2030.06-SP1"\n'
    ),
    "logs/sta.log": (
        "pt_shell> read_verilog ../design/top.v\nLoading verilog file '/x/design/top.v'\n1\n"
        "pt_shell> read_parasitics ../design/top.spef\n1\n"
    ),
}
HEADERS = {
    "item_id": "HEAD-1",
    "description": "Confirm the netlist/spef version is correct.",
    "input_files": ["logs/sta.log"],
    "waivers": {"value": "N/A", "waive_items": []},
}


@pytest.fixture
def heads(door: Door) -> Door:
    """A timing log at the top, and the files that it names, elsewhere below the item."""
    for name, text in HEADS.items():
        door.write(name, text)
    door.item("HEAD-1.yaml", HEADERS)
    return door


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return sorted({entry["id"] for entry in entries})


@row(
    "without a model: a whole ItemSpec, about the items that the verdict judges",
    "transom.checklist.pipeline:write_claim_spec",
)
def test_spec_of_a_claim(heads: Door) -> None:
    document = heads.json("check", "spec", "HEAD-1.yaml", "-o", "specs")
    assert (document["status"], document["capability_type"]) == ("READY", 4)
    assert document["quality"]["validation_items"] == 4
    path = heads.here / "specs/HEAD-1_ItemSpec.md"
    assert heads("check", "lint", str(path)).code == 0
    spec = parse_spec(path.read_text("utf-8"))
    assert [item.id for item in spec.check.items] == ["2.1", "2.2", "2.3", "2.4"]
    assert len({item.passes for item in spec.check.items}) == 4
    assert len({item.fails for item in spec.check.items}) == 4
    assert len(spec.guide.scenarios) >= 4
    assert {"synthesis", "pre-layout", "wireload"} <= {*spec.waiver.keywords_of("2.3")}
    assert {"synthesis", "pre-layout", "wireload"} <= {*spec.waiver.keywords_of("2.4")}
    assert "legacy" in spec.waiver.keywords_of("2.4")
    assert len({scenario.justification for scenario in spec.waiver.scenarios}) == 3


@pytest.mark.slow
@row("one keyword waives 2.3 and 2.4 where the log shows its stage", f"{VERDICTS}:verdict_of")
def test_one_keyword(heads: Door) -> None:
    log = HEADS["logs/sta.log"].partition("pt_shell> read_par")[0]
    heads.write("logs/sta.log", log + "pt_shell> echo pre-layout\npre-layout\n")
    waivers = {"value": 1, "waive_items": ["pre-layout"], "waive_reasons": ["no layout yet"]}
    heads.item("HEAD-1.yaml", HEADERS, waivers=waivers)
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (ids(verdict["missing_items"]), ids(verdict["waived"])) == ([], ["2.3", "2.4"])
    heads.write("logs/sta.log", log)
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["missing_items"])) == ("FAIL", ["2.3", "2.4"])


ECHOES = {
    "puts": 'pt_shell> puts "read_parasitics top.spef"\nread_parasitics top.spef\n',
    "echo": "pt_shell> echo read_spef top.spef later\nread_spef top.spef later\n",
    "a remark": "pt_shell> # the SPEF top.spef comes with the next drop\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ECHOES)
@row(
    "lines that a person says to read nothing leave the file unread, never a PASS",
    "transom.checklist.judging.doubtful_lines:lines_that_read_nothing",
)
def test_accepted_echo(heads: Door, form: str) -> None:
    log = HEADS["logs/sta.log"].partition("pt_shell> read_par")[0]
    heads.write("logs/sta.log", log + ECHOES[form])
    heads.item("HEAD-1.yaml", HEADERS)
    for _ in range(4):
        verdict = heads.json("check", "all", "HEAD-1.yaml")
        if verdict["status"] != "NEEDS_REVIEW":
            break
        assert verdict["would_be"] == "FAIL"
        accept = ("--accept", "1", "--by", "Ola")
        assert heads("answer", verdict["run_id"], *accept).code == 0
    assert (verdict["status"], ids(verdict["missing_items"])) == ("FAIL", ["2.3", "2.4"])


WAIVED_AT = {
    "Confirm the netlist/spef version is correct (waive for synthesis stage).": "synthesis",
    "Check the SPEF and netlist version; waived during floorplan.": "floorplan",
    "The netlist/spef version is correct; may be waived in the pre-layout stage.": "pre-layout",
}


@pytest.mark.slow
@pytest.mark.parametrize("description", WAIVED_AT)
@row(
    "(waive for a stage): asked once, and waived there alone", "transom.checklist.offers:offers_of"
)
def test_waived_at_a_stage(heads: Door, description: str) -> None:
    stage = WAIVED_AT[description]
    heads.item("HEAD-1.yaml", {**HEADERS, "description": description})
    choose(heads, "HEAD-1.yaml")
    log = HEADS["logs/sta.log"].partition("pt_shell> read_par")[0]
    heads.write("logs/sta.log", f"{log}pt_shell> echo {stage}\n{stage}\n")
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["waived"])) == ("PASS", ["2.3", "2.4"]), verdict[
        "capped_by"
    ]
    heads.write("logs/sta.log", log)
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "FAIL"


def choose(door: Door, item: str, *, may_leave_out: bool = False) -> dict[str, Any]:
    """Answer the question of an item by its first candidate, which leaves nothing out."""
    asked = door.json("check", "all", item)
    assert asked["status"] == "NEEDS_MODEL", asked
    first: dict[str, Any] = asked["readings"][0]["reads_as"]
    assert may_leave_out or not first.get("left_out"), first
    number = asked["choose"].split()[2]
    assert door("answer", number, "--choose", "1", "--by", "Ola").code in (0, 1)
    return first


BOTH = "Reading netlist ../design/top.v\nReading SPEF ../design/top.spef\n"
NETLIST_ALONE = "Reading netlist ../design/top.v\nNetlist loaded\n"
LIBRARY = 'library (cells_ss) {\n  date : "2031-01-09";\n  revision : "7.2";\n}\n'
# The document's own lines, each with a log that fulfils it and one that does not.
EXAMPLE_LINES = [
    (
        "Confirm design database is loaded",
        "<CMD> read_db top.db\nDesign database loaded successfully.\n",
        NETLIST_ALONE,
    ),
    ("Verify netlist/spef exists.", BOTH, NETLIST_ALONE),
    ("Verify netlist and spef both exist.", BOTH, NETLIST_ALONE),
    ("Verify netlist or spef exists.", NETLIST_ALONE, "read_lef ../design/top.lef\n"),
    (
        "Check liberty file version (waive for legacy libs)",
        "Reading liberty file ../design/cells_ss.lib\n",
        "Reading liberty file ../design/blank.lib\n",
    ),
    ("Confirm netlist/spef version (waive for synthesis stage)", BOTH, NETLIST_ALONE),
    ("Verify netlist/spef version", BOTH, NETLIST_ALONE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("description", "good", "bad"), EXAMPLE_LINES)
@row("the document's example lines: one answer settles each", "transom.checklist.offers:offers_of")
def test_example_lines(heads: Door, description: str, good: str, bad: str) -> None:
    heads.write("design/cells_ss.lib", LIBRARY)
    heads.write("design/blank.lib", LIBRARY.replace('"7.2"', '""'))
    heads.item("HEAD-1.yaml", {**HEADERS, "description": description, "waivers": None})
    heads.write("logs/sta.log", good)
    choose(heads, "HEAD-1.yaml")
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert verdict["status"] == "PASS", verdict
    heads.write("logs/sta.log", bad)
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "FAIL"


TREE_LOG = "clock tree of block pear\nclock p: global skew {skew} ns\nTree done.\n"


@pytest.mark.slow
@row(
    "a metric of a clock tree: its line is offered, in whatever unit it is printed",
    "transom.checklist.line_candidates:_limit_in",
)
def test_clock_tree(heads: Door) -> None:
    heads.write("logs/sta.log", TREE_LOG.format(skew="0.031"))
    heads.item("HEAD-1.yaml", {**HEADERS, "description": "The global skew is below 40 ps"})
    asked = heads.json("check", "all", "HEAD-1.yaml")
    assert 'like "clock p: global skew 0.031 ns" is below 40 ps' in asked["readings"][0]["says"]
    choose(heads, "HEAD-1.yaml", may_leave_out=True)
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "PASS"
    heads.write("logs/sta.log", TREE_LOG.format(skew="0.041"))
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "FAIL"


TREE_LOGS = {
    "PASS": "tree p: skew 0.031 ns\ntree p: mean latency 0.41 ns\nTree done.\n",
    "FAIL": "tree p: skew 0.031 ns\ntree p: mean latency 0.61 ns\nTree done.\n",
    "NEEDS_REVIEW": "tree p: skew 0.031 ns\nTree done.\n",
}


@pytest.mark.slow
@row(
    "several limits of a clock tree in one line: each counts, one that nothing measures is said",
    "transom.checklist.joined_lines:candidates_of_all",
)
def test_several_limits(heads: Door) -> None:
    heads.write("logs/sta.log", TREE_LOGS["PASS"])
    description = "The skew is below 40 ps and the latency is below 0.5 ns."
    heads.item("HEAD-1.yaml", {**HEADERS, "description": description})
    first = choose(heads, "HEAD-1.yaml")
    assert first["parameters"]["asked"].count(";") == 1
    for status, log in TREE_LOGS.items():
        heads.write("logs/sta.log", log)
        assert heads.json("check", "all", "HEAD-1.yaml")["status"] == status


SHARED_LIMIT_LOGS = {
    "PASS": "tree q: skew 0.031 ns, depth 7\ntree q: jitter 2 ps, latency 39 ps\nTree done.\n",
    "FAIL": "tree q: skew 0.031 ns, depth 7\ntree q: jitter 2 ps, latency 41 ps\nTree done.\n",
    "NEEDS_REVIEW": "tree q: skew 0.031 ns, depth 7\nTree done.\n",
}


@pytest.mark.slow
@row(
    "one limit for two figures: each has a line, and the number behind its own label counts",
    "transom.checklist.claims.several_limits:limits_apart",
)
def test_shared_limit(heads: Door) -> None:
    heads.write("logs/sta.log", SHARED_LIMIT_LOGS["PASS"])
    heads.item("HEAD-1.yaml", {**HEADERS, "description": "Skew and latency below 40 ps"})
    choose(heads, "HEAD-1.yaml")
    for status, log in SHARED_LIMIT_LOGS.items():
        heads.write("logs/sta.log", log)
        assert heads.json("check", "all", "HEAD-1.yaml")["status"] == status


@pytest.mark.slow
@row(
    "a limit with alternatives is a question that names each of them",
    "transom.checklist.offers:alternatives_of",
)
def test_alternative_limits(heads: Door) -> None:
    log = "mode func: clock frequency 1.31 GHz\nmode scan: clock frequency 1.51 GHz\nDone.\n"
    heads.write("logs/sta.log", log)
    description = "The clock frequency is at least 1.2GHz or 1.5GHz"
    heads.item("HEAD-1.yaml", {**HEADERS, "description": description})
    asked = heads.json("check", "all", "HEAD-1.yaml")
    assert asked["status"] == "NEEDS_MODEL"
    meanings = [row["reads_as"].get("parameters", {}).get("asked", "") for row in asked["readings"]]
    assert meanings[:4] == [
        "func at least 1.2 GHz; scan at least 1.2 GHz",
        "func at least 1.5 GHz; scan at least 1.5 GHz",
        "func at least 1.2 GHz; scan at least 1.5 GHz",
        "func at least 1.5 GHz; scan at least 1.2 GHz",
    ]
    number = asked["choose"].split()[2]
    assert heads("answer", number, "--choose", "3", "--by", "Ola").code in (0, 1)
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "PASS"
    heads.write("logs/sta.log", log.replace("1.51", "1.49"))
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "FAIL"


@pytest.mark.slow
@row("an optional part is judged if it is there", "transom.checklist.pipeline:check_all")
def test_if_present(heads: Door) -> None:
    optional = {**HEADERS, "description": "Confirm the SPEF version is correct (if present)."}
    heads.item("HEAD-1.yaml", optional)
    asked = heads.json("check", "all", "HEAD-1.yaml")
    assert asked["status"] == "NEEDS_MODEL"
    first = asked["readings"][0]["reads_as"]
    assert first["claim"] == "headers_complete_if_present"
    assert not first.get("left_out")
    heads.item("HEAD-1.yaml", optional, reads_as={"claim": first["claim"]})
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "PASS"
    log = HEADS["logs/sta.log"].partition("pt_shell> read_par")[0]
    heads.write("logs/sta.log", log)
    assert heads.json("check", "all", "HEAD-1.yaml")["status"] == "PASS"
    heads.write("logs/sta.log", HEADS["logs/sta.log"])
    heads.write("design/top.spef", HEADS["design/top.spef"].replace('"StarRC"', '" "'))
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["missing_items"])) == ("FAIL", ["2.4"])


@pytest.mark.slow
@row("the worked example: four items; a log leads to netlist and SPEF", f"{VERDICTS}:verdict_of")
def test_worked_example(heads: Door) -> None:
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["found_items"])) == (
        "PASS",
        ["2.1", "2.2", "2.3", "2.4"],
    )
    assert {entry["source_file"] for entry in verdict["found_items"]} >= {"design/top.v"}


@pytest.mark.slow
@row(
    "a blank header field and a missing SPEF fail; compressed files are read",
    f"{VERDICTS}:verdict_of",
)
def test_odd_heads(heads: Door) -> None:
    head = HEADS["design/top.spef"].replace('"StarRC"', '"  "')
    heads.write("design/top.spef", head)
    heads.write("design/top.v", b"")
    (heads.here / "design/top.v").unlink()
    heads.write("design/top.v.gz", gzip.compress(HEADS["design/top.v"].encode()))
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["missing_items"])) == ("FAIL", ["2.4"])


@pytest.mark.slow
@row("synthesis: 2.3 and 2.4 are missing; SPEF or a wildcard waives them", f"{VERDICTS}:verdict_of")
def test_expected_results(heads: Door) -> None:
    heads.write("logs/sta.log", HEADS["logs/sta.log"].partition("pt_shell> read_par")[0])
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["missing_items"])) == ("FAIL", ["2.3", "2.4"])
    heads.item("HEAD-1.yaml", HEADERS, waivers={"value": 0, "waive_items": ["legacy"]})
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["waived"])) == ("PASS", ["2.3", "2.4"]), verdict[
        "capped_by"
    ]
    heads.item("HEAD-1.yaml", HEADERS, waivers={"value": 1, "waive_items": ["SPEF*"]})
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["waived"])) == ("PASS", ["2.3", "2.4"]), verdict[
        "capped_by"
    ]


OWN_NOTE = "Note: the SPEF comes after routing, and old blocks have short heads."


@pytest.mark.slow
@row("a note of a description is said as not checked", "transom.checklist.claims.sentences:is_note")
def test_note(heads: Door) -> None:
    description = f"Confirm the netlist/spef version is correct. {OWN_NOTE}"
    heads.item("HEAD-1.yaml", {**HEADERS, "description": description})
    asked = heads.json("check", "all", "HEAD-1.yaml")
    assert asked["status"] == "NEEDS_MODEL"
    assert asked["readings"][0]["reads_as"] == {
        "claim": "headers_complete",
        "left_out": [OWN_NOTE],
    }
    number = asked["choose"].split()[2]
    heads("answer", number, "--choose", "1", "--by", "Ola")
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], verdict["would_be"]) == ("NEEDS_REVIEW", "PASS")
    assert OWN_NOTE in str(verdict["capped_by"])


PATTERNS: dict[str, tuple[str, list[str], list[str]]] = {
    "Genus|StarRC|2029": ("PASS", [], []),
    "StarRC|Fusion": ("FAIL", ["2.2"], []),
    "Genus 21.1|StarRC": ("FAIL", ["2.2"], []),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@row(
    "one pattern of alternatives for the heads of all files",
    "transom.checklist.claims.header_files:header_items",
)
def test_alternatives_of_heads(heads: Door, pattern: str) -> None:
    heads.item("HEAD-1.yaml", HEADERS, requirements={"value": 1, "pattern_items": [pattern]})
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    extra, missing = ids(verdict["extra_items"]), ids(verdict["missing_items"])
    assert (verdict["status"], extra, missing) == PATTERNS[pattern]
    assert verdict["checker_type"] == 2


@row(
    "a head that has a listed text, and is not complete, is missing",
    "transom.checklist.claims.header_files:header_items",
)
def test_listed_and_not_complete(heads: Door) -> None:
    heads.write("design/top.spef", HEADS["design/top.spef"].replace('"2030.06-SP1"', '" "'))
    requirements = {"value": 1, "pattern_items": ["Genus|StarRC"]}
    heads.item("HEAD-1.yaml", HEADERS, requirements=requirements)
    verdict = heads.json("check", "all", "HEAD-1.yaml")
    assert (verdict["status"], ids(verdict["missing_items"])) == ("FAIL", ["2.4"])


@row("one byte that is not UTF-8 changes no verdict", f"{VERDICTS}:verdict_of")
def test_encoding(checked: Door) -> None:
    log = checked.here / "logs/boot.log"
    before = log.read_bytes()
    log.write_bytes(before + b"sensor: Hygro ver 1.9 built 2031-02-11\n# caf\xe9\n")
    verdict = judged(checked)
    log.write_bytes(before)
    assert verdict["status"] == "PASS"
    assert any("Latin-1" in note["message"] for note in verdict["warnings"])


@row("several files are judged each by itself", f"{VERDICTS}:verdict_of")
def test_several_files(checked: Door) -> None:
    checked.write(
        "logs/second_boot.log",
        "controller: Brisa ver 1.0 built 2031-01-02\nsensor: Hygro ver 2.0 built 2031-01-01\n",
    )
    verdict = judged(checked, input_files=["logs/boot.log", "logs/second_boot.log"])
    assert verdict["status"] == "FAIL"
    assert len([entry for entry in verdict["found_items"] if entry["id"] == "2.1"]) == 2
    assert [entry["source_file"] for entry in verdict["missing_items"]] == ["logs/boot.log"]


@row(
    "rounds 2 to 4 side by side, with a gate on what fits",
    "transom.checklist.writing.rounds:_side_by_side",
)
def test_parallel_rounds(fan: Door) -> None:
    answer = fan("check", "spec", "FAN-1.yaml", "--model", MODEL, "--parallel-rounds", "-o", "out")
    assert answer.code == 0, answer
    asked = [each.role.removeprefix("checklist.") for each in FanModel.requests_of]
    assert sorted(asked) == sorted(FILES)
    assert asked[0] == "analysis"
    assert asked[-1] == "section4"


@row(
    "a draft that contradicts Section 1 is written again",
    "transom.checklist.writing.rounds:_side_by_side",
)
def test_parallel_rounds_that_differ(fan: Door) -> None:
    from tests.documents.door import REPLIES

    other = (
        (REPLIES / "section2.txt").read_text("utf-8").replace("`sensor.maker`", "`sensor.owner`")
    )
    FanModel.instead["section2"] = [other]
    answer = fan("check", "spec", "FAN-1.yaml", "--model", MODEL, "--parallel-rounds", "-o", "out")
    assert answer.code == 0, answer
    assert [each.role for each in FanModel.requests_of].count("checklist.section2") == 2
    assert "sensor.owner" not in spec_text(fan)


@pytest.mark.slow
@row("an orchestrator in Python: specify, build, run", "transom.checklist.calls:specify")
async def test_calls(fan: Door) -> None:
    from transom import checklist

    with inside(fan.here):
        options = checklist.CheckOptions(model=MODEL, out="out")
        spec = await checklist.specify("FAN-1.yaml", options)
        assert spec.itemspec_path is not None
        assert checklist.validate_spec(spec.itemspec_path) == []
        built = await checklist.build(spec.itemspec_path, "FAN-1.yaml", options)
        assert built.status == "done"
        verdict = await checklist.run(str(built.checker_path), "FAN-1.yaml", options)
    assert verdict.status == "PASS"


@row("the document's orchestrator names no item", "transom.checklist.known_items:known_item")
async def test_orchestrator(heads: Door) -> None:
    with inside(heads.here):
        specified = await ContextAgent(activity_handler=lambda line: None).process(
            {"config_path": "HEAD-1.yaml", "output_dir": "./output/itemspecs"}
        )
        itemspec = specified.artifacts["itemspec_path"]
        built = await CodeGenAgent().process(
            {"itemspec_path": itemspec, "output_dir": "./output/checkers"}
        )
        assert built.status == "success", built.errors
        checker = built.artifacts["checker_path"]
        validated = await ValidationAgent().process(
            {"checker_code_path": checker, "itemspec_path": itemspec}
        )
    assert (validated.status, validated.errors) == ("success", ())


@row("check build finds the item of its ItemSpec", "transom.cli.check.steps:known_item")
def test_build_without_item(heads: Door) -> None:
    assert heads("check", "spec", "HEAD-1.yaml", "-o", "specs", "-q").code == 0
    built = heads("check", "build", "specs/HEAD-1_ItemSpec.md", "-o", "out")
    assert built.code == 0, built
    assert "HEAD-1.yaml; --item names another one" in built.err
    (heads.here / "HEAD-1.yaml").unlink()
    heads.write("else/HEAD-1_ItemSpec.md", (heads.here / "specs/HEAD-1_ItemSpec.md").read_bytes())
    unknown = heads("check", "build", "else/HEAD-1_ItemSpec.md", "-q")
    assert unknown.code == 3
    assert "with --item ITEM.yaml" in unknown.out


@pytest.mark.slow
@row("check everything in one call", "transom.checklist.calls:check_all")
async def test_check_all_call(fan: Door) -> None:
    from transom import checklist

    with inside(fan.here):
        verdict = await checklist.check_all("FAN-1.yaml", checklist.CheckOptions(model=MODEL))
    assert verdict.status == "PASS"


@row("lint says what is wrong with an ItemSpec, and build refuses it", f"{PIPELINE}:check_spec")
def test_contracts(specified: Door) -> None:
    text = spec_text(specified).replace("- **Condition**: none", "- **Condition**: {TODO: x}", 1)
    specified.write("BAD_ItemSpec.md", text)
    assert specified("check", "lint", "BAD_ItemSpec.md", "-q").code == 1
    built = specified("check", "build", "BAD_ItemSpec.md", "-q")
    assert built.code == 2
    assert "transom check lint" in built.err


@row("each ItemSpec of a folder is linted", "transom.cli.check.linting:_in_folder")
def test_lint_of_a_folder(specified: Door) -> None:
    text = spec_text(specified)
    specified.write("specs/FAN-1_ItemSpec.md", text)
    specified.write("specs/notes.md", "Not an ItemSpec.\n")
    assert specified("check", "lint", "specs", "-q").code == 0
    specified.write("specs/FAN-2_ItemSpec.md", text.replace("## 3.", "## 7."))
    unfinished = text.replace("- **Condition**: none", "- **Condition**: {TODO: x}", 1)
    specified.write("specs/FAN-3_ItemSpec_NEEDS_REVIEW.md", unfinished)
    answer = specified("check", "lint", "specs", "--format", "json", "-q")
    assert answer.code == 1
    names = {finding["artifact"].rpartition("/")[2] for finding in answer.document["findings"]}
    assert names == {"FAN-2_ItemSpec.md", "FAN-3_ItemSpec_NEEDS_REVIEW.md"}


@row(
    "lint holds the ItemSpec of a checker to the same rule", "transom.cli.check.linting:check_spec"
)
def test_lint_of_a_checker(heads: Door) -> None:
    assert heads("check", "spec", "HEAD-1.yaml", "-o", "specs", "-q").code == 0
    command = ("check", "build", "specs/HEAD-1_ItemSpec.md", "--item", "HEAD-1.yaml")
    assert heads(*command, "-o", "out").code == 0
    assert heads("check", "lint", "out/HEAD-1_checker").code == 0
    spec = heads.here / "out/HEAD-1_checker/ItemSpec.md"
    lines = spec.read_text("utf-8").splitlines(keepends=True)
    spec.write_text("".join([*lines, "\n{TODO: say more}\n"]), "utf-8")
    alone = heads.json("check", "lint", "out/HEAD-1_checker/ItemSpec.md")["findings"]
    inside_folder = heads.json("check", "lint", "out/HEAD-1_checker")["remarks"]
    assert alone
    assert [remark for remark in inside_folder if remark in alone] == alone


@row("tokens of a specification: at least 60 % less than all prompts in all rounds", ROUNDS)
def test_tokens(specified: Door) -> None:
    from transom.checklist.writing.views import PROMPTS_DIR, ROUND_VIEWS
    from transom.llm import estimate_tokens

    used = sum(estimate_tokens(sent.as_text()) for sent in REQUESTS.values())
    files = {prompt.file for view in ROUND_VIEWS.values() for prompt in view.prompt}
    prompts = sum(
        estimate_tokens((PROMPTS_DIR / f"{name}.md").read_text("utf-8")) for name in files
    )
    written = [
        (specified.here / f"out/FAN-1_debug/round{n}_{part}.md").read_text("utf-8")
        for n, part in enumerate(FILES, 1)
    ]
    earlier = [sum(map(estimate_tokens, written[:number])) for number in range(5)]
    without = 5 * prompts + sum(earlier)
    assert used <= 0.4 * without, (used, without)


@pytest.mark.slow
@row(
    "the depth of the prompts follows from the description",
    "transom.checklist.writing.rounds:complexity_of",
)
def test_depth(fan: Door) -> None:
    fan.item(
        "DEEP.yaml",
        FAN,
        item_id="DEEP",
        description="Validate various quality metrics of clock trees, skew, latency, and relevant buffers as needed.",
    )
    fan("check", "spec", "DEEP.yaml", "--model", MODEL)
    deep = render(FanModel.request("analysis")).as_text()
    fan.item("FLAT.yaml", FAN, item_id="FLAT", description="Confirm the fan firmware is recorded.")
    fan("check", "spec", "FLAT.yaml", "--model", MODEL)
    flat = render(FanModel.request("analysis")).as_text()
    assert len(flat) < len(deep)


@row("a model of its own for a round", "transom.llm.naming:seat_spec")
def test_model_per_round(fan: Door) -> None:
    fan.write(
        "transom.yaml",
        f"model: {MODEL}\nllm: {{analysis: {{provider: 'tests.documents.door:OtherModel', temperature: 0.3}}}}\n",
    )
    document = fan.json("check", "spec", "FAN-1.yaml")
    assert [each["by"] for each in document["rounds"]] == ["other", *["author"] * 4]
    assert FanModel.request("analysis").settings.temperature == 0.3


@row("own prompts and an own template, by a setting", "transom.checklist.writing.views:own_prompt")
def test_own_prompts(fan: Door) -> None:
    fan.write("transom.yaml", "paths: {prompts_dir: mine}\n")
    fan.write("mine/role.md", "You write for a workshop of clockmakers.\n")
    fan.write("mine/template_section1.md", "## 1. Parsing Logic\n\n{TODO: as clockmakers do}\n")
    assert fan("check", "spec", "FAN-1.yaml", "--model", MODEL).code == 0
    text = render(FanModel.request("section1")).as_text()
    assert "a workshop of clockmakers" in text
    assert "as clockmakers do" in text


@row(
    "similar items that passed are shown to the first round",
    "transom.checklist.writing.rounds:recall_similar",
)
def test_similar_items(checked: Door) -> None:
    FanModel.forget()
    checked.item(
        "FAN-3.yaml",
        FAN,
        item_id="FAN-3",
        description="Confirm the pump controller firmware is recorded.",
    )
    checked("check", "spec", "FAN-3.yaml", "--model", MODEL)
    text = render(FanModel.request("analysis")).as_text()
    assert FAN["description"] in text
    assert "Controller Firmware; Sensor Firmware" in text


@row(
    "past ItemSpecs are found by quality and type, and the better ones are shown first",
    "transom.checklist.writing.similar:remember_spec",
)
def test_past_specs(checked: Door) -> None:
    where = ("--where", "kind=itemspec", "--where", "type=4", "--where")
    found = checked.json("memory", "search", "fan firmware", *where, "quality>=9")["entries"]
    assert [entry["metadata"]["item"] for entry in found] == ["FAN-1"]
    none = checked.json("memory", "search", "fan firmware", *where, "quality>=10.1")["entries"]
    assert none == []


@pytest.mark.slow
@row("a batch of several items, in one table", "transom.cli.check.batch:together")
def test_batch(heads: Door) -> None:
    heads.item("HEAD-2.yaml", HEADERS, item_id="HEAD-2", input_files=["logs/none.log"])
    answer = heads("check", "batch", "HEAD-1.yaml", "HEAD-2.yaml", "-j", "2", "-o", "out", "-q")
    assert answer.code == 2
    assert "HEAD-1" in answer.out
    assert "HEAD-2" in answer.out
    assert (heads.here / "out/HEAD-1_verdict.json").is_file()


@row("runs are cleaned up by age and state", "transom.cli.cleaning:_judge")
def test_clean_up(specified: Door) -> None:
    answer = specified("runs", "clean", "--older-than", "0d", "--dry-run")
    assert answer.code == 0
    assert "FAN-1" in answer.out


@row("an atomic write: no half file, whatever happens", "transom.runs.artifact:write_atomic")
def test_atomic(fan: Door) -> None:
    fan("check", "spec", "FAN-1.yaml", "--model", MODEL, "-o", "out")
    assert [path.name for path in (fan.here / "out").iterdir()] == ["FAN-1_ItemSpec.md"]
    assert spec_text(fan).endswith("\n")
