"""The mutation gate: right checkers kill what is altered, and every known way of testing nothing is rejected."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.common import EDA, EXAMPLES, ITEMS, needs_shared
from tests.checklist.build.atoms_for_tests import ATOM_A, CHECKER, POINTS, REPORT, SECTION2, spec_text
from tests.checklist.build.cheats import altered, example, with_last_word
from tests.checklist.build.made import DATA, made
from transom.checklist.build.checker import atoms_source
from transom.checklist.build.mutation import Mutation, Setting, mutate
from transom.checklist.build.mutation.judged import ENOUGH
from transom.checklist.build.reading import read_logic
from transom.checklist.item import parse_item
from transom.checklist.spec.document import parse_spec
from transom.sandbox import Limits, Sandbox

OWN = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
SHARED_RIGHT = ("01", "02", "03", "07", "08", "09", "10", "14", "15")


def accepted(mutation: Mutation) -> None:
    assert mutation.row is not None, mutation.why_not
    assert (mutation.problems, mutation.unseen) == ((), ())
    assert mutation.row.applicable >= 5
    assert mutation.row.killed >= ENOUGH * mutation.row.applicable


@pytest.mark.parametrize("name", OWN)
async def test_the_checker_of_every_example_is_accepted(name: str) -> None:
    accepted(await example(name).mutated())


@needs_shared
@pytest.mark.parametrize("number", SHARED_RIGHT)
async def test_the_checker_of_every_shared_item_is_accepted(number: str) -> None:
    accepted(await made(ITEMS / f"EDA-S-{number}" / "item.yaml", EDA).mutated())


STATUS = 'result["parsed_fields"]["endpoint"]["status"]'
GOOD = '{"endpoint": {"name": "all", "status": "MET", "slack": 1.0, "check": "setup"}}'
CONSTANT = (f"results = [{{'value': 'all', 'parsed_fields': {GOOD}}}]",)
BY_NUMBER = (
    "for result in results:",
    "    slack = result['parsed_fields']['endpoint']['slack']",
    f"    {STATUS} = 'MET' if slack >= 0 else 'VIOLATED'",
)
FILLED = (
    "for result in results:",
    '    for told in (result["parsed_fields"].get(key) or {} for key in ("netlist", "spef")):',
    '        told.update({name: True if name == "loaded" else said or "unknown" for name, said in told.items()})',
)
FIRST = (
    "kinds = []",
    "for result in list(results):",
    '    kind = (result["parsed_fields"].get("reference") or {}).get("kind")',
    "    if kind in kinds:",
    "        results.remove(result)",
    "    kinds += [kind] if kind else []",
)
ENDS = ("for result in results[1:-1]:", f"    {STATUS} = 'MET'")
ECHOED = (
    "for number, line in enumerate(text.split('\\n'), 1):",
    "    told = re.search(r'puts.*read_(verilog|spef) (\\S+)', line)",
    "    kind = 'netlist' if told and told[1] == 'verilog' else 'spef'",
    "    said = {'value': line, 'line_number': number, 'matched_content': line}",
    "    if told:",
    "        results.append({**said, 'parsed_fields': {kind: {'path': told[2], 'loaded': True}}})",
)
MET = "for result in results:\n        result['parsed_fields']['endpoint']['status'] = 'MET'"
ANYWHERE = (
    """        found.append((text.strip(), prompted))\n""",
    """        found.append((re.sub(r'^puts +["{]?', "", text.strip()), prompted))\n""",
)


@pytest.mark.parametrize(
    ("what", "name", "lines", "way"),
    [
        ("always passes, whatever the file holds", "STA-02", CONSTANT, "remove"),
        ("calls every line good", "STA-02", ("for result in results:", f"    {STATUS} = 'MET'"), "flip"),
        ("fills what is missing", "VER-02", FILLED, "header"),
        ("always fails, whatever the file holds", "VER-01", ("results = []",), "change"),
        ("calls every line bad", "STA-01", ("for result in results:", f"    {STATUS} = 'VIOLATED'"), "flip"),
        ("looks at the first file of a kind only", "VER-07", FIRST, "fail"),
        ("ignores the word, believes the number", "STA-04", BY_NUMBER, "flip"),
        ("judges the first and the last line only", "STA-04", ENDS, "flip"),
        ("takes a printed command for one that was given too", "VER-01", ECHOED, "print"),
    ],
)
async def test_a_checker_that_tests_nothing_is_rejected(what: str, name: str, lines: tuple[str, ...], way: str) -> None:
    mutation = await example(name).mutated(with_last_word(example(name), *lines))
    assert mutation.row is not None
    assert mutation.problems, what
    assert way in {survivor.mutation.partition(":")[0] for survivor in mutation.row.survivors}


async def test_a_checker_that_takes_a_printed_command_for_one_is_rejected() -> None:
    checker = example("VER-01")
    mutation = await checker.mutated(altered(checker, *ANYWHERE))
    assert mutation.problems, "it is taken for a command that was given, so the log cannot be judged or is misjudged"


async def test_a_survivor_says_what_was_done_where_and_why_it_lives() -> None:
    checker = example("STA-01")
    mutation = await checker.mutated(with_last_word(checker, "for result in results:", f"    {STATUS} = 'VIOLATED'"))
    assert mutation.row is not None
    first = mutation.row.survivors[0]
    assert (first.mutation, first.artifact, first.line) == (
        "flip: the outcome is turned round",
        "updown/setup_signoff.rpt",
        6,
    )
    assert "its outcome does not" in first.why


async def test_an_atom_that_leaves_out_the_bad_ones_is_named() -> None:
    checker = example("STA-01")
    kept = f"results = [result for result in results if {STATUS} == 'MET']"
    mutation = await checker.mutated(with_last_word(checker, kept))
    assert any("leaves out updown/setup_signoff.rpt:6" in problem for problem in mutation.unseen)


async def test_an_atom_that_keeps_something_between_calls_is_named() -> None:
    checker = example("VER-01")
    code = with_last_word(checker, "SEEN.append(1)", "results = results if len(SEEN) < 4 else []")
    begins = "    return File(source_file"
    lost = "    SEEN.append(1)\n    readers = {kind: some if len(SEEN) < 4 else [] for kind, some in readers.items()}\n"
    begun = altered(checker, begins, lost + begins)
    for kept in (code, begun):
        mutation = await checker.mutated(kept.replace("SCOPE =", "SEEN = []\nSCOPE =", 1))
        assert "an atom keeps something" in " ".join(mutation.problems)


@pytest.mark.parametrize(
    ("what", "top", "line", "told"),
    [
        (
            "honest about a text only where another of that name came before",
            "SEEN = {}\n",
            f"if SEEN.setdefault(source_file, text) == text:\n        {MET.replace(chr(10), chr(10) + '    ')}",
            "keeps something between calls",
        ),
        (
            "remembers files by name",
            "SEEN = {}\n",
            "results = SEEN.setdefault(source_file, results)",
            "keeps something",
        ),
        (
            "looks at the beginning only",
            "",
            "results = [result for result in results if result['line_number'] < 1000]",
            "3000 blank lines",
        ),
        (
            "goes by the order of a set",
            "",
            f"if list(set('abcdefgh'))[0] in 'abcd':\n        {MET.replace(chr(10), chr(10) + '    ')}",
            "",
        ),
    ],
)
async def test_what_shows_itself_only_the_second_time_is_named(what: str, top: str, line: str, told: str) -> None:
    checker = example("STA-04")
    code = with_last_word(checker, line).replace("SCOPE =", f"{top}SCOPE =", 1)
    assert any(told in problem for problem in (await checker.mutated(code)).problems), what


async def test_most_lines_are_judged_as_the_specification_says() -> None:
    checker = example("STA-02")
    clean = with_last_word(checker, "for result in results[:-1]:", f"    {STATUS} = 'MET'")
    problems = (await checker.mutated(clean)).problems
    assert any("lines are judged otherwise than the ItemSpec says" in problem for problem in problems), problems


async def test_a_violation_on_a_line_that_is_no_evidence_is_named() -> None:
    checker = example("STA-01")
    told = "{'name': 'title', 'status': 'VIOLATED', 'slack': -1.0, 'check': 'setup'}"
    title = "{'value': 'title', 'line_number': 1, 'matched_content': text.split(chr(10))[0]"
    code = with_last_word(checker, f"results.append({title}, 'parsed_fields': {{'endpoint': {told}}}}})")
    problems = (await checker.mutated(code)).problems
    assert any("do not describe, the first updown/setup_signoff.rpt:1" in problem for problem in problems), problems


async def test_a_word_that_hides_what_is_missing_is_named() -> None:
    checker = example("VER-02")
    told = "told.update({name: said if said is not None else 'unknown' for name, said in told.items()})"
    hidden = ("for result in results:", "    told = result['parsed_fields'].get('netlist') or {}", f"    {told}")
    problems = (await checker.mutated(with_last_word(checker, *hidden))).problems
    assert any("says 'unknown' for" in problem for problem in problems), problems


async def test_a_file_outside_of_the_roots_is_no_evidence(tmp_path: Path) -> None:
    """The runtime does not read it either, so altering it can change nothing."""
    shutil.copytree(DATA / "updown", tmp_path / "in" / "updown")
    log = tmp_path / "in" / "updown" / "sta_signoff.log"
    (tmp_path / "updown.spef").write_bytes((log.parent / "updown.spef").read_bytes())
    log.write_text(log.read_text().replace("updown.spef", str(tmp_path / "updown.spef")))
    checker = made(EXAMPLES / "VER-01.yaml", tmp_path / "in")
    mutation = await checker.mutated()
    assert mutation.row is not None, mutation.why_not
    assert mutation.row.survivors == ()


async def test_a_pattern_of_the_item_that_never_ends_costs_a_worker(tmp_path: Path) -> None:
    spec = spec_text(section2=FORBID.replace("existence check", "pattern match"))
    checker = FORBIDDEN.replace("  quantifier", "  check: pattern\n  quantifier").replace(
        "capability_type: 1", "capability_type: 2"
    )
    more = "requirements: {value: 1, pattern_items: ['regex:(a+)+$']}\n"
    report = f"{REPORT}block {'a' * 60} power 1.0 !\n"
    mutation = await small(tmp_path, report, spec, checker, more=more, sandbox=Sandbox(Limits(wall_seconds=0.5)))
    assert "cannot be tried on the files" in (mutation.why_not or "")


async def test_nothing_to_alter_is_said() -> None:
    checker = example("STA-01")
    trial = replace(checker.trial, own=(DATA / "updown" / "updown_eco.v",))
    mutation = await replace(checker, trial=trial).mutated()
    assert (mutation.row, mutation.problems) == (None, ())
    assert mutation.why_not == "nothing that Section 4.1 names stands in updown/updown_eco.v"


async def test_files_that_the_checker_cannot_judge_are_a_problem_of_the_checker() -> None:
    checker = example("STA-01")
    mutation = await checker.mutated(with_last_word(checker, "raise ValueError('not today')"))
    assert mutation.row is None
    assert "gives no answer on the files as they are" in mutation.problems[0]
    assert "not today" in mutation.problems[0]


LIMIT = SECTION2.replace("- **Condition**: none", "- **Condition**: `block.power <= 2`")
LIMITED = CHECKER.replace("  quantifier", "  condition: {field: block.power, op: le, value: 2}\n  quantifier")
UNNAMED = POINTS.replace("(?P<name>\\w+)", "\\w+").replace("(?P<power>", "(?P<printed>")
FORBID = SECTION2.replace("**Mode**: require", "**Mode**: forbid")
FORBIDDEN = CHECKER.replace("  quantifier", "  mode: forbid\n  quantifier")


async def small(
    tmp_path: Path,
    report: str,
    spec: str,
    checker: str = CHECKER,
    code: str = ATOM_A,
    *,
    more: str = "",
    sandbox: Sandbox | None = None,
) -> Mutation:
    """The gate on a small checker of block powers."""
    (tmp_path / "power.rpt").write_text(report)
    logic = read_logic(f"<checker>\n```yaml\n{checker}```\n</checker>")
    item = parse_item(f"description: Report the power.\ninput_files: [power.rpt]\n{more}", tmp_path / "item.yaml")
    setting = Setting(sandbox or Sandbox(), (tmp_path / "power.rpt",), (tmp_path,), item)
    config = logic.config("POWER", "Report the power.")
    return await mutate(atoms_source(code, logic), config, parse_spec(spec), setting)


async def test_a_limit_is_broken_and_kept(tmp_path: Path) -> None:
    accepted(await small(tmp_path, REPORT, spec_text(section2=LIMIT), LIMITED))
    deaf = ATOM_A.replace('"power": match[2]', '"power": "1.0"')
    mutation = await small(tmp_path, REPORT, spec_text(section2=LIMIT), LIMITED, deaf)
    assert any(problem.startswith("power.rpt:2 altered (flip") for problem in mutation.problems)


async def test_a_number_without_the_fields_name_is_put_beyond_every_unit(tmp_path: Path) -> None:
    spec = spec_text(section2=LIMIT.replace("`block.name`, ", ""), points=UNNAMED)
    mutation = await small(tmp_path, REPORT, spec, LIMITED)
    assert mutation.row is not None and mutation.problems == ()
    deaf = ATOM_A.replace('"power": match[2]', '"power": "1.0"')
    mutation = await small(tmp_path, REPORT, spec, LIMITED, deaf)
    assert any("insert" in problem for problem in mutation.problems)


async def test_what_is_forbidden_and_absent_is_added_from_the_spec(tmp_path: Path) -> None:
    clean = "power report\nnothing to tell\n"
    mutation = await small(tmp_path, clean, spec_text(section2=FORBID), FORBIDDEN)
    assert mutation.row is not None and mutation.problems == ()
    assert mutation.row.killed == mutation.row.applicable > 1
    blind = await small(
        tmp_path, clean, spec_text(section2=FORBID), FORBIDDEN, ATOM_A.replace("if match:", "if False:")
    )
    assert blind.row is not None and blind.row.killed == 0
    assert "insert" in blind.problems[0]


async def test_where_patterns_name_what_is_forbidden_the_other_lines_decide_nothing(tmp_path: Path) -> None:
    spec = spec_text(section2=FORBID.replace("existence check", "pattern match"))
    checker = FORBIDDEN.replace("  quantifier", "  check: pattern\n  quantifier").replace(
        "capability_type: 1", "capability_type: 2"
    )
    for named in ("alu", "never"):
        more = f"requirements: {{value: 1, pattern_items: ['*{named}*']}}\n"
        mutation = await small(tmp_path, REPORT, spec, checker, more=more)
        assert mutation.row is not None, mutation.why_not
        assert (mutation.problems, mutation.row.survivors) == ((), ())


async def test_files_are_called_as_in_the_verdict_wherever_they_lie(tmp_path: Path) -> None:
    """Outside of all roots a file has the name that was written; under two roots two files may have one base name."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "power.rpt").write_text("block alu power 7\nblock rom power 1\n")
    files = tuple(tmp_path / folder / "power.rpt" for folder in ("one", "two"))
    logic = read_logic(f"<checker>\n```yaml\n{LIMITED}```\n</checker>")
    config, spec = logic.config("POWER", "Report the power."), parse_spec(spec_text(section2=LIMIT))
    for roots in ((tmp_path / "elsewhere",), tuple(file.parent for file in files)):
        accepted(await mutate(atoms_source(ATOM_A, logic), config, spec, Setting(Sandbox(), files, roots)))


async def test_of_a_long_file_the_beginning_is_tried(tmp_path: Path) -> None:
    rows = "".join(f"block b{number} power 0.{number}\n" for number in range(60_000))
    mutation = await small(tmp_path, "power report\n" + rows, spec_text())
    accepted(mutation)


async def test_a_pattern_that_never_ends_costs_a_worker_and_is_said(tmp_path: Path) -> None:
    points = POINTS.replace("^block (?P<name>\\w+) power (?P<power>\\S+)", "^(?P<name>(?:b|l|o|c|k|\\w)+)+$")
    (tmp_path / "power.rpt").write_text("block" * 20 + "!\n")
    setting = Setting(Sandbox(Limits(wall_seconds=0.5)), (tmp_path / "power.rpt",), (tmp_path,))
    logic = read_logic(f"<checker>\n```yaml\n{CHECKER}```\n</checker>")
    spec = parse_spec(spec_text(points=points))
    mutation = await mutate(atoms_source(ATOM_A, logic), logic.config("POWER", "Report."), spec, setting)
    assert "cannot be tried on the files" in (mutation.why_not or "")


async def test_a_file_without_a_header_is_given_the_one_of_the_spec(tmp_path: Path) -> None:
    (tmp_path / "bare.v").write_text("module bare (a, y);\n  input a;\n  output y;\n  assign y = a;\nendmodule\n")
    item = tmp_path / "NET-1.yaml"
    item.write_text("description: Confirm the netlist version is correct.\ninput_files: [bare.v]\n")
    mutation = await made(item, tmp_path).mutated()
    assert mutation.row is not None, mutation.why_not
    assert (mutation.problems, mutation.unseen, mutation.row.survivors) == ((), (), ())
    checker = made(item, tmp_path)
    assert (await checker.mutated(with_last_word(checker, "results = []"))).problems, "no header would ever be seen"
