"""Which part of a checker a finding is about, and who repairs what first."""

from __future__ import annotations

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A
from transom.checklist.building.artifacts import ATOM_A as A
from transom.checklist.building.artifacts import ATOM_B as B
from transom.checklist.building.artifacts import ATOM_C as C
from transom.checklist.building.artifacts import CHECKER, file_of, route, split
from transom.checklist.building.checker import atoms_source
from transom.checklist.building.reading import LogicReply
from transom.checklist.results import SPEC
from transom.evidence.findings import Finding


@pytest.mark.parametrize(
    ("named", "repaired"),
    [
        ([], ()),
        ([A], (A,)),
        ([B], (B,)),
        ([C], (C,)),
        ([CHECKER], (CHECKER,)),
        ([C, B], (B, C)),
        ([CHECKER, B], (B, CHECKER)),
        ([CHECKER, C, B], (B, C, CHECKER)),
        ([A, B], (A,)),
        ([CHECKER, A], (A,)),
        ([A, B, C, CHECKER], (A,)),
        (["something else"], (A,)),
        (["", B], (A,)),
        ([SPEC], ()),
        ([SPEC, B], (B,)),
        ([SPEC, A], (A,)),
    ],
)
def test_a_comes_first_and_the_unknown_goes_to_a(
    named: list[str], repaired: tuple[str, ...]
) -> None:
    assert route([Finding("gate", artifact, None, "wrong") for artifact in named]) == repaired


OWN = """HOW = 1


def validate_logic(text, pattern):
    return help_b()


def help_b():
    return {}


def check_existence(items):
    return {}
"""
WHOLE = atoms_source(ATOM_A, LogicReply(checker={}, atoms=OWN))


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(WHOLE.split("\n"), 1) if text in line)


@pytest.mark.parametrize(
    ("text", "artifact"),
    [
        ("SCOPE", A),
        ("def extract_context", A),
        ("return standardized_output", A),
        ("HOW = 1", B),
        ("return help_b()", B),
        ("def help_b", B),
        ("def check_existence", C),
    ],
)
def test_a_line_belongs_to_an_atom(text: str, artifact: str) -> None:
    assert split(WHOLE).artifact(line_of(text)) == artifact
    unmarked = "\n".join("" if line.startswith("# Atoms B") else line for line in WHOLE.split("\n"))
    if text != "HOW = 1":
        assert split(unmarked).artifact(line_of(text)) == artifact


def test_the_parts_keep_the_lines_of_the_whole() -> None:
    parts = split(WHOLE)
    assert parts.a.split("\n")[line_of("def extract_context") - 1].startswith("def extract_context")
    assert parts.logic.split("\n")[line_of("def check_existence") - 1].startswith(
        "def check_existence"
    )
    assert "extract_context" not in parts.logic
    assert "check_existence" not in parts.a
    assert parts.line_of(C) == line_of("def check_existence")
    assert (parts.artifact(None), split(ATOM_A).line_of(B)) == (A, None)


def test_each_artifact_lies_in_a_file_of_the_folder() -> None:
    assert [file_of(one) for one in (A, B, C, CHECKER)] == [
        "atoms.py",
        "atoms.py",
        "atoms.py",
        "checker.yaml",
    ]
