"""Examples of the ItemSpec and altered files: what atom A must follow, and what the gate only
asks.
"""

from __future__ import annotations

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER, POINTS, REPORT, spec_text
from transom.checklist.building.checker import atoms_source
from transom.checklist.building.mutation.gate import Mutation, mutate
from transom.checklist.building.prober import Prober, RealFile
from transom.checklist.building.reading import read_logic
from transom.checklist.results import SPEC
from transom.checklist.writing.document import parse_spec
from transom.sandbox import Sandbox

GOOD = """- item: "2.1"
  outcome: holds
  text: block cpu power 3.5
  fields: {block.name: cpu, block.power: "3.5"}
- item: "2.1"
  outcome: none
  text: "# block cpu power 3.5"
"""


async def tried(
    code: str = ATOM_A, examples: str = GOOD, report: str = REPORT, points: str = POINTS
) -> Mutation:
    logic = read_logic(f"<checker>\n```yaml\n{CHECKER}```\n</checker>")
    points = f"{points}\n#### Examples\n\n```yaml\n{examples}```\n" if examples else points
    config = logic.config("POWER", "Report the power of each block.")
    spec = parse_spec(spec_text(points=points))
    async with Prober(atoms_source(code, logic), Sandbox()) as prober:
        return await mutate(prober, config, spec, [RealFile("power.rpt", report)])


def said(found: Mutation, gate: str, artifact: str = "atom_a") -> tuple[str, ...]:
    return tuple(found.messages[gate, artifact])


async def test_a_right_atom_follows_everything_and_the_score_says_of_what_kinds() -> None:
    found = await tried()
    assert (said(found, "examples"), said(found, "mutation"), said(found, "examples", SPEC)) == (
        (),
        (),
        (),
    )
    assert found.row is not None and found.row.killed == found.row.applicable
    assert set(found.row.kinds) == {
        "example alone",
        "example in a real file",
        "line emptied",
        "text changed",
        "bad line added",
        "fresh process",
    }
    assert (said(found, "questions"), said(found, "patterns", SPEC), said(found, "untried")) == (
        (),
        (),
        (),
    )
    assert said(found, "untested", SPEC)[0].startswith(
        "item 2.1: the ItemSpec has no example that fails, so nothing shows"
    )


async def test_what_an_example_says_otherwise_is_named_with_both_values() -> None:
    wrong = await tried(ATOM_A.replace('"power": match[2]', '"power": match[2] + "0"'))
    assert (
        '\'block cpu power 3.5\': block.power is "3.50", the ItemSpec says "3.5"'
        in said(wrong, "examples")[0]
    )
    loose = await tried(ATOM_A.replace("re.match(r", "re.search(r"))
    assert "does not belong to the item, and is read as an entry" in said(loose, "examples")[0]
    assert said(wrong, "mutation") == said(loose, "mutation") == ()


async def test_an_example_that_contradicts_the_item_is_the_specs_fault() -> None:
    found = await tried(examples=GOOD.replace("outcome: holds", "outcome: fails"))
    assert said(found, "examples") == ()
    assert "the item holds, and the ItemSpec says that it fails" in said(found, "examples", SPEC)[0]


async def test_an_example_is_not_held_against_the_atom_where_the_lines_around_its_place_decide() -> (
    None
):
    aware = ATOM_A.replace(
        "match[2]}", "match[2] if 'Error' not in text.split('\\n')[number] else ''}"
    )
    refused = "power report\nblock alu power 1.25\nError: no library\n"
    found = await tried(aware, report=refused)
    assert said(found, "examples") == ()
    assert any(
        "in place of power.rpt:2, cannot be tried: the lines around it" in remark
        for remark in said(found, "untried")
    )
    blind = await tried(
        ATOM_A.replace("match[2]}", "match[2] if 'cpu' not in text or number == 1 else ''}")
    )
    assert "fails, and the ItemSpec says that it holds" in said(blind, "examples")[0]


async def test_what_no_line_of_the_file_says_is_noticed() -> None:
    lazy = (
        ATOM_A.replace("if match:", "if number in (2, 3):")
        .replace("match[1]", '"cpu"')
        .replace("match[2]", '"1"')
    )
    found = await tried(lazy, examples="")
    assert any(
        problem.startswith("power.rpt:2 altered (line emptied)")
        for problem in said(found, "mutation")
    )
    assert any(
        "when a blank line is put before the first one" in remark
        for remark in said(found, "questions")
    )


async def test_lines_that_a_pattern_of_the_spec_matches_too_are_asked_about_and_no_fault() -> None:
    found = await tried(report=REPORT + "block x power unknown to us\n", examples="")
    assert said(found, "mutation") == ()
    picky = await tried(
        ATOM_A.replace("power (", "power ([0-9]"), report=REPORT + "block x power NA\n", examples=""
    )
    assert any(
        "also matches power.rpt:4, on which no entry stands" in remark
        for remark in said(picky, "questions")
    )
    assert said(picky, "mutation") == ()
    names = POINTS.replace(
        "power (?P<power>\\S+)`: name and power",
        "(?:power|area)`: the name, by which nothing is judged",
    )
    other = await tried(report=REPORT + "block x area 7\n", examples="", points=names)
    assert said(other, "questions") == ()


@pytest.mark.parametrize("words", ["each power row is counted into one sum", "no entry of its own"])
async def test_a_line_that_needs_no_entry_of_its_own_is_not_asked_about(words: str) -> None:
    picky = ATOM_A.replace("power (", "power ([0-9]")
    points = POINTS.replace("name and power", f"name and power; {words}")
    assert points != POINTS
    found = await tried(picky, report=REPORT + "block x power NA\n", examples="", points=points)
    assert said(found, "questions") == ()
    # The words hide nothing if the file has no entry at all.
    silent = await tried(
        ATOM_A.replace("if match:", "if match and number > 99:"), examples="", points=points
    )
    assert any("also matches power.rpt" in remark for remark in said(silent, "questions"))


async def test_an_atom_that_looks_for_a_name_of_this_design_alone_is_asked_about_it() -> None:
    report = REPORT.replace("alu", "cpu_top")
    keyed = await tried(
        ATOM_A.replace("if match:", 'if match and ("cpu_top" in line or "rom" in line):'),
        "",
        report,
    )
    asked = [question.partition(",")[0] for question in said(keyed, "questions")]
    assert asked == ["atom A looks for 'cpu_top'", "atom A looks for 'rom'"]
    spec = POINTS.replace('"block", "power"', '"block", "power", "cpu_top", "rom"')
    assert (
        said(
            await tried(ATOM_A.replace("if match:", 'if match and "o" in line:'), "", report, spec),
            "questions",
        )
        == ()
    )


async def test_patterns_that_miss_what_atom_a_reads_are_told_from_those_of_which_the_files_say_nothing() -> (
    None
):
    found = await tried(points=POINTS.replace("^block (", "^cell ("))
    assert (
        "for Block Power matches a line of power.rpt; atom A reads it from power.rpt:2 "
        in said(found, "patterns", SPEC)[0]
    )
    assert (said(found, "mutation"), said(found, "untried")) == ((), ())
    silent = await tried(
        ATOM_A.replace("if match:", "if False:"), points=POINTS.replace("^block (", "^cell (")
    )
    assert said(silent, "patterns", SPEC) == ()
    assert "no pattern of Section 4.1 for Block Power matches a line of power.rpt" in said(
        silent, "untried"
    )


async def test_an_atom_that_remembers_or_goes_by_the_order_of_a_set_is_named() -> None:
    body = "    results = []\n"
    keeps = await tried(
        ATOM_A.replace("def extract", "SEEN = []\n\n\ndef extract").replace(
            body,
            body + '    SEEN.append(text)\n    text = text if len(SEEN) < 9 else ""\n',
        ),
        examples="",
    )
    assert any("keeps something between calls" in problem for problem in said(keeps, "mutation"))
    report = "".join(f"block b{number} power {number}\n" for number in range(1, 20))
    order = ATOM_A.replace(
        "    # [Locked]",
        "    results = [results[i] for i in {str(i): i for i in range(99)} and \n"
        "               [int(i) for i in {str(n) for n in range(len(results))}]]\n    # [Locked]",
        1,
    )
    assert any(
        "the order of a set" in problem
        for problem in said(await tried(order, "", report), "mutation")
    )


async def test_a_file_that_atom_a_refuses_is_said_and_no_fault() -> None:
    refuses = ATOM_A.replace(
        "    results = []\n", '    results = []\n    raise ValueError("line 2: two readings")\n'
    )
    found = await tried(refuses, examples="")
    assert (found.row, said(found, "mutation")) == (None, ())
    assert (
        "power.rpt cannot be tried: ValueError: line 2: two readings" in said(found, "untried")[0]
    )
