"""Bad input to `transom check`: one clear line, the right exit code, no traceback, nothing lost."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.checklist.shipped_model import MODEL, copy_items
from tests.cli.checks import EXAMPLES, ROOT, Desk, edit
from tests.cli.helpers import transom
from transom.checklist.writing.document import section_texts

ITEMS: dict[str, tuple[str | bytes, str]] = {
    "broken YAML": ("description: x\nwaivers: {value: [1\n", r"bad\.yaml:\d: is not valid YAML: "),
    "Latin-1": (
        b"# ok\ndescription: caf\xe9\n",
        r"bad\.yaml:2: is not UTF-8 .*; save the file as UTF-8",
    ),
    "an unknown key": (
        "description: x\nwaiver: {}\n",
        r"bad\.yaml:2: unknown key waiver; did you mean waivers\?",
    ),
}
"""What else can be wrong with one is tested beside the item."""


@pytest.fixture
def desk(model_desk: Desk) -> Desk:
    return model_desk


@pytest.mark.parametrize("name", ITEMS)
def test_a_bad_item(name: str, desk: Desk) -> None:
    content, expected = ITEMS[name]
    (desk.here / "bad.yaml").write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    lines = {desk("check", command, "bad.yaml").line() for command in ("spec", "all", "run")}
    assert len(lines) == 1, "all commands say the same"
    assert re.match(expected, lines.pop())
    assert not (desk.here / ".transom" / "runs").exists(), "no run was opened for it"


PLACES = {
    "a folder for a file": (["spec", "data"], r"data: is a folder, not a file; "),
    "no such item": (["all", "nosuch.yaml"], r"nosuch\.yaml: no such file; "),
    "no such target": (["run", "nosuch"], r"nosuch: no such file; "),
    "no checker in a folder": (
        ["run", "data"],
        r"data: is no checker folder: it holds no atoms\.py and no checker\.yaml; ",
    ),
    "nothing built yet": (
        ["run", "VER-01.yaml"],
        r"VER-01\.yaml: no checker .*: transom check all VER-01\.yaml",
    ),
    "no such ItemSpec": (["build", "nosuch.md"], r"nosuch\.md: no such file; "),
    "a folder for an ItemSpec": (["build", "data"], r"data: is a folder, not a file; "),
    "an endless ItemSpec": (["build", "/dev/zero"], r"/dev/zero: is not a regular file; "),
    "nothing to lint": (["lint", "nosuch.yaml"], r"nosuch\.yaml: no such file; "),
    "no such checker to lint": (["lint", "VER-01.yaml", "nosuch"], r"nosuch: no such file; "),
    "no day": (
        ["all", "VER-01.yaml", "--as-of", "tomorrow"],
        r"--as-of: 'tomorrow' is no date; write YYYY-MM-DD",
    ),
    "no report": (
        ["run", "VER-01.yaml", "--report", "pdf:x"],
        r"--report: 'pdf:x' is no report; write FORMAT:PATH",
    ),
    "a report without path": (
        ["run", "VER-01.yaml", "--report", "json"],
        r"--report: 'json' is no report; write",
    ),
    "no variable": (
        ["all", "VER-01.yaml", "--var", "ROOT"],
        r"--var: 'ROOT' is no variable; write NAME=PATH",
    ),
    "no folder": (
        ["all", "VER-01.yaml", "--var", "R=nosuch"],
        r"--var R: .*/nosuch is no folder; name",
    ),
    "a long folder": (
        ["all", "VER-01.yaml", "--var", f"R={'x' * 5000}"],
        r"--var R: .*x is no folder; name",
    ),
    "no root": (["all", "VER-01.yaml", "--root", "nosuch"], r"--root: nosuch is no folder; name"),
    "no model": (
        ["spec", "VER-01.yaml", "--model", "wizard"],
        r"--model: unknown provider 'wizard'; use rules, ",
    ),
    "no key": (
        ["spec", "VER-01.yaml", "--model", "anthropic:x"],
        r"anthropic:x: .* ANTHROPIC_API_KEY is not set; set",
    ),
    "an unknown flag": (
        ["run", "x", "--as-off", "d"],
        r"no option --as-off; did you mean --as-of\? see: ",
    ),
    "another unknown flag": (
        ["build", "x", "--allow-need-review"],
        r"no option .* --allow-needs-review\? see: ",
    ),
    "an unknown format": (
        ["all", "VER-01.yaml", "--format", "xml"],
        r"Invalid value for '--format': 'xml' is not",
    ),
    "no command": (["explode"], r"transom check has no command 'explode'; did you mean "),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_bad_command(name: str, desk: Desk) -> None:
    arguments, expected = PLACES[name]
    assert re.match(expected, desk("check", *arguments).line())


def test_a_name_that_is_no_utf_8_is_refused_at_the_door(desk: Desk) -> None:
    name = "a\udcff.yaml"
    (desk.here / name).write_bytes((desk.here / "VER-01.yaml").read_bytes())
    line = desk("check", "all", name).line()
    assert line == r"command line: 'a\udcff.yaml' is not UTF-8; rename that file or folder"
    assert "is not UTF-8" in desk("check", "spec", "VER-01.yaml", "-o", "o\udcff").line()
    assert not (desk.here / ".transom").exists()


@pytest.mark.parametrize("command", [["resume"], ["answer", "keep"]])
def test_an_unknown_run_is_named_with_the_nearest(command: list[str], desk: Desk) -> None:
    desk("check", "spec", "VER-01.yaml", "-q")
    known = desk.run_of("VER-01").name
    near = f"{known[:-1]}x"
    words = ["answer", near, "keep"] if command[0] == "answer" else [*command, near]
    assert known in desk(*words).line()


def test_an_undefined_variable_is_said_before_anybody_is_asked(desk: Desk) -> None:
    line = desk("check", "all", "VER-01.yaml", "-q").line()
    assert (
        line == "VER-01.yaml:6: the variable ${CHECKLIST_ROOT} is not defined; add --var"
        " CHECKLIST_ROOT=PATH"
    )
    assert desk.records("model_reply") == []


# --- ItemSpecs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `check all` leaves for VER-01, made once."""
    folder = tmp_path_factory.mktemp("made")
    copy_items(folder)
    arguments = [
        "check",
        "all",
        "VER-01.yaml",
        "--var",
        f"CHECKLIST_ROOT={EXAMPLES / 'data'}",
    ]
    assert (
        transom(
            *arguments, "-o", "out", cwd=folder, TRANSOM_MODEL=MODEL, PYTHONPATH=str(ROOT)
        ).returncode
        == 0
    )
    return folder / "out"


@pytest.fixture
def spec(desk: Desk) -> Path:
    desk("check", "spec", "VER-01.yaml", "-o", "specs", "-q")
    return desk.here / "specs" / "VER-01_ItemSpec.md"


BUILD = ("build", "specs/VER-01_ItemSpec.md", "--item", "VER-01.yaml", "-q")


@pytest.mark.slow
def test_each_missing_section_is_named(desk: Desk, spec: Path) -> None:
    whole = spec.read_text("utf-8")
    for number, section in section_texts(whole).items():
        assert section in whole
        spec.write_text(whole.replace(section, ""), "utf-8")
        line = desk.check(*BUILD).line()
        assert re.match(
            rf"specs/VER-01_ItemSpec\.md: sections? {re.escape(number)}\b.* missing or empty; ",
            line,
        )


@pytest.mark.slow
def test_an_item_spec_that_was_cut_off_anywhere_is_refused(desk: Desk, spec: Path) -> None:
    whole = spec.read_text("utf-8")
    last = whole.index("### 4.3")
    for length in range(0, last, last // 25):
        spec.write_text(whole[:length], "utf-8")
        line = desk.check(*BUILD).line()
        assert re.match(r"specs/VER-01_ItemSpec\.md: .*; ", line), length


def test_an_item_spec_in_latin_1_names_the_line(desk: Desk, spec: Path) -> None:
    count = spec.read_bytes().count(b"\n")
    spec.write_bytes(spec.read_bytes() + b"caf\xe9\n")
    assert (
        desk.check(*BUILD)
        .line()
        .startswith(f"specs/VER-01_ItemSpec.md:{count + 1}: is not UTF-8 (byte ")
    )
    assert (
        desk("check", "spec", "VER-01.yaml", "-o", "specs", "-q")
        .line()
        .startswith(f"specs/VER-01_ItemSpec.md:{count + 1}: ")
    )
    assert spec.read_bytes().endswith(b"caf\xe9\n"), "nothing is lost"


def test_an_item_spec_of_another_item_is_refused(desk: Desk, spec: Path) -> None:
    line = desk.check("build", str(spec), "--item", "VER-02.yaml", "-q").line()
    assert (
        line == f"{spec}: the ItemSpec is for VER-01, not for VER-02; name the item that it was"
        " written for"
    )
    edit(desk.here / "VER-01.yaml", "and SPEF versions", "versions")
    line = desk.check("build", str(spec), "--item", "VER-01.yaml", "-q").line()
    assert "was written for another description; run: transom check spec VER-01.yaml" in line


@pytest.mark.parametrize("title", ["# ItemSpec: ../../up", "# ItemSpec:", "# Something"])
def test_a_title_that_is_no_name_makes_no_folder(title: str, desk: Desk, spec: Path) -> None:
    edit(spec, "# ItemSpec: VER-01", title)
    line = desk.check("build", str(spec), "-o", "out", "-q").line()
    assert "the title names no item" in line or "VER-01_ItemSpec.md:1: the title" in line
    assert not (desk.here / "out").exists()


@pytest.mark.slow
def test_findings_must_be_mended_or_allowed(desk: Desk, spec: Path) -> None:
    edit(spec, "**Purpose**", "**Purpos**")
    answer = desk("check", "spec", "VER-01.yaml", "-o", "specs", "-q")
    assert answer.code == 1
    assert answer.out.startswith("NEEDS_REVIEW  VER-01  specs/VER-01_ItemSpec_NEEDS_REVIEW.md\n")
    review = "specs/VER-01_ItemSpec_NEEDS_REVIEW.md"
    lines = Path(review).read_text("utf-8").splitlines()
    for line in re.findall(
        r"VER-01_ItemSpec_NEEDS_REVIEW\.md:(\d+): .*purpose", answer.out, re.IGNORECASE
    ):
        assert "category" in lines[int(line) - 1].lower() or lines[int(line) - 1].startswith("#"), (
            lines[int(line) - 1]
        )
    refused = desk.check("build", review, "--item", "VER-01.yaml", "-q").line()
    assert (
        refused == f"{review}: the ItemSpec has findings that nobody mended; mend them, or add"
        " --allow-needs-review"
    )
    allowed = desk.check("build", review, "--item", "VER-01.yaml", "--allow-needs-review", "-q")
    assert (allowed.code, allowed.out.splitlines()[0].split()[0]) == (0, "done")
    stopped = desk.check("all", "VER-01.yaml", "-o", "specs", "-q")
    assert (stopped.code, stopped.out.split()[0]) == (
        3,
        "NEEDS_REVIEW",
    ), "a person is needed before a verdict"


# --- checkers


@pytest.fixture
def checker(desk: Desk, made: Path) -> Path:
    shutil.copytree(made, desk.here / "out")
    return desk.here / "out" / "VER-01_checker"


DAMAGE: dict[str, tuple[str, bytes | None, str]] = {
    "no atoms": ("atoms.py", None, r"/atoms\.py: no such file; "),
    "no configuration": ("checker.yaml", None, r"/checker\.yaml: no such file; "),
    "Latin-1 atoms": ("atoms.py", b"# caf\xe9\n", r"atoms\.py:1: is not UTF-8 \(byte 0xe9\); save"),
    "an empty configuration": ("checker.yaml", b"", r"checker\.yaml: is empty; "),
    "a broken configuration": (
        "checker.yaml",
        b"items: [\n",
        r"checker\.yaml:\d+: is not valid YAML",
    ),
    "a list": ("checker.yaml", b"- 1\n", r"checker\.yaml:1: "),
    "half a configuration": (
        "checker.yaml",
        b"schema: transom.checker/1\nitem_id: x\n",
        r"checker\.yaml:\d+: ",
    ),
    "a broken record": (
        "build.json",
        b"{",
        r"build\.json: is no record of a build: .*; build the checker again",
    ),
    "a record that is none": (
        "build.json",
        b"[]",
        r"build\.json: is no record of a build: .*; build the checker again",
    ),
    "a broken item": ("item.yaml", b"description: [\n", r"item\.yaml:\d+: is not valid YAML"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checker(name: str, desk: Desk, checker: Path) -> None:
    file, content, expected = DAMAGE[name]
    if content is None:
        (checker / file).unlink()
    else:
        (checker / file).write_bytes(content)
    assert re.match(
        rf"out/VER-01_checker/?{expected}", desk.check("run", "out/VER-01_checker", "-q").line()
    )


EDITS = {
    "a folder as id": (
        "item_id: VER-01",
        "item_id: ../../up",
        r"checker\.yaml:\d+: item_id: string should match pattern",
    ),
    "an unknown key": (
        "capability_type:",
        "capability_typ:",
        r"checker\.yaml:\d+: .*capability_typ",
    ),
    "an unreadable hint": (
        "hints:",
        'hints:\n  - "regex:(["',
        r"checker\.yaml:\d+: 'regex:\(\[' is invalid",
    ),
}


@pytest.mark.slow
@pytest.mark.fence
@pytest.mark.parametrize("name", EDITS)
def test_a_configuration_that_was_edited_badly(name: str, desk: Desk, checker: Path) -> None:
    old, new, expected = EDITS[name]
    path = checker / "checker.yaml"
    assert old in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    assert re.match(
        rf"out/VER-01_checker/{expected}", desk.check("run", "out/VER-01_checker", "-q").line()
    )


ATOMS = {
    "a syntax error": ("def extract_context(", "deff extract_context(", "crash"),
    "a crash": ("    standardized_output = []", "    raise KeyError('netlist')", "crash"),
    "no function": ("def extract_context(", "def extract(", "crash"),
    "another shape": ("    return standardized_output", "    return [{'value': 1}]", "schema"),
    "no list": ("    return standardized_output", "    return 'PASS'", "schema"),
    "a file of its own": (
        "    standardized_output = []",
        "    open('/etc/passwd').read()",
        "does not allow open",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ATOMS)
def test_an_atom_that_was_edited_badly_is_an_error_and_never_a_pass(
    name: str, desk: Desk, checker: Path
) -> None:
    old, new, kind = ATOMS[name]
    edit(checker / "atoms.py", old, new)
    answer = desk.check("run", str(checker), "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (2, "ERROR")
    (trouble,) = answer.document["errors"]
    assert kind in trouble["message"], trouble
    assert answer.document["found_items"] == []


def test_a_checker_that_was_edited_well_is_another_checker(desk: Desk, checker: Path) -> None:
    before = desk.verdict("run", str(checker))
    with (checker / "atoms.py").open("a") as out:
        out.write("\n# a comment of mine\n")
    after = desk.verdict("run", str(checker))
    assert before["made_by"].pop("checker_sha256") != after["made_by"].pop("checker_sha256")
    (warned,) = after.pop("warnings")
    assert (before.pop("warnings"), warned["source_file"]) == ([], "atoms.py")
    assert (before.pop("status"), after.pop("status")) == ("PASS", "NEEDS_REVIEW")
    assert before == after


def test_a_checker_that_its_gates_doubt_says_what_it_finds_and_waits_for_a_person(
    desk: Desk, checker: Path
) -> None:
    """Exit code 3 alone and in a batch, with what was found, why it is doubted, and how a person
    takes it.
    """
    edit(checker / "build.json", '"status": "done"', '"status": "needs_review"')
    for targets in (["out/VER-01_checker"], ["out/VER-01_checker", "out/VER-01_checker"]):
        document = desk.check("run", *targets, "--format", "json", "-q")
        verdicts = document.document.get("checks", [document.document])
        assert document.code == 3
        assert (verdicts[0]["status"], len(verdicts[0]["doubted"])) == ("PASS", 1)
        assert verdicts[0]["found_items"]
    assert document.document["summary"] == {
        "PASS": 0,
        "FAIL": 0,
        "ERROR": 0,
        "NEEDS_MODEL": 0,
        "NEEDS_REVIEW": 2,
    }
    text = desk.check("run", "out/VER-01_checker", "-q").out
    assert text.startswith("PASS, doubted  VER-01  ")
    assert "transom check approve CHECKER --by NAME" in text
    assert desk("check", "approve", "out/VER-01_checker", "--by", "Ann Lee", "-q").code == 0
    assert desk.check("run", "out/VER-01_checker", "-q").code == 0


def test_a_checker_without_its_item_has_nothing_to_read(desk: Desk, checker: Path) -> None:
    (checker / "item.yaml").unlink()
    answer = desk.check("run", str(checker), "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (2, "ERROR")
    assert "nothing to read" in answer.document["errors"][0]["message"]


def test_strict_holds_for_the_item_in_a_checker_too(desk: Desk, checker: Path) -> None:
    edit(checker / "item.yaml", "value: N/A\n  pattern_items: []", "value:\n  pattern_items: []")
    assert desk.check("run", str(checker), "-q").code == 0
    line = desk.check("run", "out/VER-01_checker", "--strict", "-q").line()
    assert line.startswith(
        "out/VER-01_checker/item.yaml:3: requirements.value is empty and read as N/A"
    )


# --- logs


def test_logs_that_cannot_be_read_are_errors(desk: Desk, checker: Path) -> None:
    log = desk.here / "data" / "updown" / "sta_signoff.log"
    whole = log.read_bytes()
    for content, said in ((None, "no such file"), (b"", "is empty"), (b" \n\n", "is empty")):
        log.unlink(missing_ok=True)
        if content is not None:
            log.write_bytes(content)
        answer = desk.check("run", str(checker), "--format", "json", "-q")
        assert (answer.code, answer.document["status"]) == (2, "ERROR")
        assert answer.document["errors"][0]["source_file"] == "updown/sta_signoff.log"
        assert said in answer.document["errors"][0]["message"]
    log.unlink()
    packed = gzip.compress(whole)
    log.with_name("sta_signoff.log.gz").write_bytes(packed[: len(packed) // 2])
    answer = desk.check("run", str(checker), "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (2, "ERROR")
    assert answer.document["errors"][0]["source_file"] == "updown/sta_signoff.log.gz"


BROKEN_LOGS = {
    "empty": ("sta_signoff.log", b"", "is empty"),
    "damaged": ("sta_signoff.log.gz", b"\x1f\x8b\x08\x00cut off", "cannot be read"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN_LOGS)
def test_a_checker_is_not_built_from_a_log_that_cannot_be_read(name: str, desk: Desk) -> None:
    file, content, said = BROKEN_LOGS[name]
    log = desk.here / "data" / "updown" / "sta_signoff.log"
    whole = log.read_bytes()
    log.unlink()
    log.with_name(file).write_bytes(content)
    answer = desk.check("all", "VER-01.yaml", "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (2, "ERROR")
    (trouble,) = answer.document["errors"]
    assert trouble["source_file"] == f"updown/{file}"
    assert said in trouble["message"] and said in answer.err
    log.with_name(file).unlink()
    log.write_bytes(whole)
    assert desk.check("all", "VER-01.yaml", "-q").code == 0, "and once it can, the build goes on"


@pytest.mark.parametrize("others", [False, True])
def test_an_input_that_is_gone_is_named_whether_there_are_others_or_not(
    desk: Desk, *, others: bool
) -> None:
    log = desk.here / "data" / "updown" / "sta_signoff.log"
    log.unlink() if others else shutil.rmtree(log.parent)
    answer = desk.check("all", "VER-01.yaml", "--format", "json", "-q")
    assert (answer.code, answer.document["status"]) == (2, "ERROR")
    (trouble,) = answer.document["errors"]
    assert (trouble["source_file"], trouble["message"]) == (
        "updown/sta_signoff.log",
        "no such file",
    )
    assert f"looked for at {log}" in answer.err


def test_a_variable_that_is_gone_is_named_by_run_too(desk: Desk, checker: Path) -> None:
    line = desk("check", "run", str(checker), "-q").line()
    assert line.startswith(
        f"{checker}/item.yaml:6: the variable ${{CHECKLIST_ROOT}} is not defined; add --var"
    )


@pytest.mark.slow
def test_lint_says_what_is_wrong_with_each_target(desk: Desk, checker: Path) -> None:
    spec = desk.here / "half.md"
    spec.write_text("# ItemSpec: X\n\n## 1. Parsing Logic\n\ntext\n", "utf-8")
    (desk.here / "latin.md").write_bytes(b"caf\xe9")
    (desk.here / "bad.yaml").write_text("description: 12\n")
    shutil.copytree(checker, desk.here / "empty_checker")
    (desk.here / "empty_checker" / "checker.yaml").write_text("")
    shutil.copytree(checker, desk.here / "odd_checker")
    edit(
        desk.here / "odd_checker" / "atoms.py",
        "def extract_context(",
        "import os\ndef extract_contexts(",
    )
    good = [str(checker), "VER-01.yaml", "out/VER-01_ItemSpec.md"]
    data = ("--var", f"CHECKLIST_ROOT={EXAMPLES / 'data'}")
    assert desk("check", "lint", *good, *data).out.endswith("nothing found\n")
    bad = ["half.md", "latin.md", "bad.yaml", "empty_checker", "odd_checker"]
    answer = desk("check", "lint", *good, *bad, *data, "--format", "json")
    assert answer.code == 1
    artifacts = {finding["artifact"] for finding in answer.document["findings"]}
    expected = {
        "half.md",
        "latin.md",
        "bad.yaml",
        "empty_checker/checker.yaml",
        "odd_checker/atoms.py",
    }
    assert artifacts == expected


@pytest.mark.slow
def test_lint_holds_a_checker_to_its_gates_on_the_files_of_today(desk: Desk, checker: Path) -> None:
    data = ("--var", f"CHECKLIST_ROOT={EXAMPLES / 'data'}")
    answer = desk("check", "lint", str(checker), *data)
    assert (answer.code, answer.out.splitlines()[-1], answer.err) == (0, "nothing found", "")
    lazy = desk.here / "lazy_checker"
    shutil.copytree(checker, lazy)
    locked = "    # [Locked] Standardization Layer\n"
    edit(
        lazy / "atoms.py",
        locked,
        "    for result in results:\n        result['value'] = 'fine'\n" + locked,
    )
    edit(lazy / "atoms.py", 'not after.startswith("Error")', "True")
    assert "the variable ${CHECKLIST_ROOT} is not defined" in desk("check", "lint", str(lazy)).out
    answer = desk("check", "lint", str(lazy), *data, "--format", "json")
    assert answer.code == 1
    assert {(one["gate"], one["artifact"]) for one in answer.document["findings"]} == {
        ("examples", f"{lazy}/atoms.py")
    }
    wrong = "netlist.loaded is true, the ItemSpec says false"
    assert any(wrong in one["message"] for one in answer.document["findings"])


@pytest.mark.slow
@pytest.mark.fence
def test_an_input_that_is_no_file_is_named(desk: Desk) -> None:
    desk.use_rules()
    item = "description: Confirm that the log has no errors.\ninput_files: [{name}]\n"
    (desk.here / "other.log").write_text("Yosys 0.23 (git sha1 7ce5011c24b)\n", "utf-8")
    (desk.here / "folder.log").mkdir()
    os.mkfifo(desk.here / "pipe.log")
    (desk.here / "loop.log").symlink_to("loop.log")
    (desk.here / "lost.log").symlink_to("nowhere.log")
    said = {
        "folder.log": "is a folder, not a file",
        "pipe.log": "is not a regular file",
        "loop.log": "no such file",
        "lost.log": "no such file",
        "gone.log": "no such file",
    }
    for name, why in said.items():
        (desk.here / "it.yaml").write_text(item.format(name=name), "utf-8")
        answer = desk.check("all", "it.yaml", "-q")
        # The item's sentence stands between the verdict and its reason.
        assert (answer.code, answer.out.splitlines()[2].strip()) == (
            2,
            f"error: {name}: {why}",
        ), name


@pytest.mark.slow
def test_a_log_that_was_not_understood_is_looked_at_again(desk: Desk) -> None:
    desk.use_rules()
    item = "description: Confirm that the log has no errors.\ninput_files: [y.log]\n"
    (desk.here / "it.yaml").write_text(item, "utf-8")
    log = desk.here / "y.log"
    log.write_text("what is this\n", "utf-8")
    first = desk.check("all", "it.yaml", "-q")
    assert first.code == 3 and "y.log" in first.out
    log.write_text("Yosys 0.23 (git sha1 7ce5011c24b)\nERROR: bad thing\n", "utf-8")
    answer = desk.check("all", "it.yaml", "-q", "--format", "json")
    assert (answer.code, answer.document["status"]) == (1, "FAIL")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.log", None, "no such file"),
        ("blank.log", b" \n", "is empty"),
        (
            "cut.log.gz",
            b"\x1f\x8b\x08\x00",
            "cannot be read: the compressed file is cut short or damaged; copy it again",
        ),
        ("logs/*.log", None, "no such file"),
    ],
)
def test_an_input_without_contents_is_said_with_the_line_that_names_it(
    desk: Desk, name: str, content: bytes | None, message: str
) -> None:
    desk.use_rules()
    (desk.here / "items").mkdir()
    Path("items/ERR.yaml").write_text(
        f"description: Confirm that the log has no errors.\n\ninput_files:\n- '{name}'\n"
    )
    if content is not None:
        (desk.here / "items" / name).write_bytes(content)
    answer = desk("check", "all", "items/ERR.yaml", "--format", "json", "-q")
    assert (answer.code, answer.document["item_id"], answer.document["status"]) == (
        2,
        "ERR",
        "ERROR",
    )
    where = f"transom: items/ERR.yaml:4: {name}: {message}; looked for at {desk.here}/items/{name}"
    assert answer.err == f"{where}\n"
