"""The runtime over the real sandbox: good atoms, own atoms B and C, and atoms that crash, hang
or answer nonsense.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist.judging.support import DATA, DESIGN, LocalRunner, checker, own_warnings, run
from transom.checklist.judging import UNSAFE, Note, artifact_bytes
from transom.checklist.vectors import STANDARD_SOURCE
from transom.sandbox import Level, Sandbox, WorkerLimits

VERSIONS = (DATA / "versions.atoms").read_text()
ITEM = "requirements: {value: 2, pattern_items: ['4.2', 'Extractor']}\n"


def test_the_sandbox_and_a_plain_process_agree(tmp_path: Path) -> None:
    loaded = checker(tmp_path, "versions")
    sandbox = Sandbox()
    verdict = run(loaded, tmp_path, DESIGN, item=ITEM, runner=sandbox)
    assert verdict.status == "PASS"
    assert verdict.sandbox_level == sandbox.level.value
    plain = run(loaded, tmp_path, DESIGN, item=ITEM, runner=LocalRunner())
    marks = {"sandbox_level": plain.sandbox_level}
    assert artifact_bytes(plain) == artifact_bytes(verdict.model_copy(update=marks))


def test_a_verdict_without_a_sandbox_is_marked(tmp_path: Path) -> None:
    verdict = run(
        checker(tmp_path, "versions"), tmp_path, DESIGN, item=ITEM, runner=Sandbox(level=Level.NONE)
    )
    assert (verdict.status, verdict.sandbox_level) == ("PASS", "none")
    assert own_warnings(verdict) == [Note(message=UNSAFE)]


@pytest.mark.parametrize("where", ["sandbox", "process"])
def test_a_checkers_own_atoms_b_and_c_are_asked_in_batches(tmp_path: Path, where: str) -> None:
    own = {"items:\n": "atoms: own\nitems:\n"}
    loaded = checker(tmp_path, "versions", changes=own, atoms=VERSIONS + "\n\n" + STANDARD_SOURCE)
    runner = Sandbox() if where == "sandbox" else LocalRunner()
    assert run(loaded, tmp_path, DESIGN, item=ITEM, runner=runner).status == "PASS"


def test_an_own_atom_c_that_sees_nothing_fails_the_item_with_its_reason(tmp_path: Path) -> None:
    answer = "{'is_match': len(items) > 1, 'reason': 'only one', 'evidence': items}"
    strict = f"\n\ndef check_existence(items):\n    return {answer}\n"
    atoms = VERSIONS + "\n\n" + STANDARD_SOURCE + strict
    loaded = checker(
        tmp_path, "versions", changes={"items:\n": "atoms: own\nitems:\n"}, atoms=atoms
    )
    verdict = run(loaded, tmp_path, DESIGN, runner=LocalRunner())
    assert {one.reason for one in verdict.missing_items} == {"only one"}


LAYER = "\ndef extract_context(text, source_file):\n    "
GOOD = (
    "{'value': 'x', 'source_file': source_file, 'line_number': 1, 'matched_content': '',"
    " 'parsed_fields': {}}"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "part"),
    [
        (LAYER + "raise ValueError('no')", "cannot be judged: no"),
        (LAYER + "while True: pass", "(timeout)"),
        (LAYER + "return None", "(schema)"),
        (LAYER + "return [{'value': 1}]", "(schema)"),
        (LAYER + f"return [dict({GOOD}, value=5)]", "value: Input should be a valid string"),
        (LAYER + f"return [dict({GOOD}, more=5)]", "more"),
        (LAYER + f"return [dict({GOOD}, source_file='other')]", "another source_file"),
        (LAYER + f"return [dict({GOOD}, line_number=99)]", "line 99 of 5"),
        (LAYER + f"return [dict({GOOD}, line_number=0)]", "line_number"),
        ("def nothing(): pass", "extract_context"),
        ("syntax error", "(crash)"),
        ("SCOPE = 'word'\n" + LAYER + "return []", "SCOPE is 'word'"),
        ("SCOPE = 'record'\n" + LAYER + "return []", "RECORD_START is no regular expression"),
        ("SCOPE = 'record'\nRECORD_START = '('\n" + LAYER + "return []", "(crash)"),
        ("SCOPE = 'record'\nRECORD_START = '(.|.|.|.)*!'\n" + LAYER + "return []", "(timeout)"),
        ("SCOPE = 'line'\n" + LAYER + "return None", "returned NoneType, not a list"),
        ("SCOPE = 'line'\n" + LAYER + "return ['x']", "an entry has not its shape"),
        ("SCOPE = 'line'\n" + LAYER + f"return [dict({GOOD}, line_number=2)]", "line 2 of 1"),
        ("SCOPE = 'line'\n" + LAYER + f"return [dict({GOOD}, line_number='1')]", "line_number"),
        ("SCOPE = 'line'\n" + LAYER + f"return [{GOOD}] * 30_000", "more than 100000 things"),
        ("SOURCES = 5\n" + LAYER + "return []", "SOURCES has not its shape"),
    ],
)
def test_an_atom_that_fails_is_an_error_and_never_a_verdict(
    tmp_path: Path, atoms: str, part: str
) -> None:
    loaded = checker(tmp_path, "versions", atoms=atoms)
    sandbox = Sandbox(WorkerLimits(wall_seconds=3))
    verdict = run(
        loaded, tmp_path, DESIGN, item="waivers: {value: 0, waive_items: [x]}\n", runner=sandbox
    )
    assert (verdict.status, verdict.exit_code) == ("ERROR", 2)
    assert part in verdict.errors[-1].message


@pytest.mark.parametrize("answer", ["None", "{'is_match': 1, 'reason': ''}", "{'is_match': True}"])
def test_an_own_atom_that_answers_nonsense_is_an_error(tmp_path: Path, answer: str) -> None:
    atoms = f"{VERSIONS}\n\n{STANDARD_SOURCE}\n\ndef check_existence(items):\n    return {answer}\n"
    loaded = checker(
        tmp_path, "versions", changes={"items:\n": "atoms: own\nitems:\n"}, atoms=atoms
    )
    verdict = run(loaded, tmp_path, DESIGN, runner=Sandbox())
    assert verdict.status == "ERROR"
    assert verdict.found_items == ()
