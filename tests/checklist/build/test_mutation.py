"""The mutation gate: right checkers kill what is altered, and every known way of testing nothing is rejected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.acceptance.common import EDA, EXAMPLES, ITEMS, needs_shared
from tests.checklist.build.made import DATA, Made, made
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.build.mutation.score import ENOUGH, Mutation

LOCK = LOCKED_LAYER.splitlines()[0] + "\n"
OWN = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
SHARED_RIGHT = ("01", "02", "03", "07", "08", "09", "10")


def example(name: str) -> Made:
    return made(EXAMPLES / f"{name}.yaml")


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


def altered(checker: Made, before: str, after: str) -> str:
    assert before in checker.code
    return checker.code.replace(before, after, 1)


def with_last_word(checker: Made, *lines: str) -> str:
    """Atom A with lines that change its results at the end."""
    return altered(checker, LOCK, "".join(f"    {line}\n" for line in lines) + LOCK)


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
ANYWHERE = (
    """if not told and not re.match(rf"{target['names']}\\s", text):\n                continue\n""",
    """if not told and not re.search(rf"{target['names']}\\s", text):\n                continue\n"""
    """            text = " ".join(text[re.search(target["names"], text).start() :].split()[:2])\n""",
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
    assert mutation.row is not None
    assert {one.mutation.partition(":")[0] for one in mutation.row.survivors} == {"print"}
    assert all("only printed" in problem for problem in mutation.problems)
    assert len(mutation.problems) == 2


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
    mutation = await checker.mutated(with_last_word(checker, kept, "about = {**FILES[kind], 'account': None}"))
    assert any("leaves out updown/setup_signoff.rpt:6" in problem for problem in mutation.unseen)


async def test_an_atom_that_keeps_something_between_calls_is_named() -> None:
    checker = example("VER-01")
    code = with_last_word(checker, "SEEN.append(1)", "results = results if len(SEEN) < 4 else []")
    mutation = await checker.mutated(code.replace("SCOPE =", "SEEN = []\nSCOPE =", 1))
    assert "an atom keeps something" in " ".join(mutation.problems)


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
