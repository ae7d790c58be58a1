"""Replies of the build roles as models write them."""

from __future__ import annotations

import ast

import pytest

from tests.checklist.building.atoms_for_tests import ATOM_A, CHECKER
from transom.checklist.building.reading import read_atom_a, read_logic
from transom.errors import ReplyError

B = (
    'def validate_logic(text, pattern, parsed_fields=None, default_match="contains",'
    ' regex_mode="search"):\n    return _no()\n'
)
C = (
    'def check_existence(items):\n    return {"is_match": bool(items), "reason": "", "evidence":'
    " items}\n"
)
HELPER = "def _no():\n    return {}\n"
OWN = CHECKER.replace("atoms: standard", "atoms: own")


def functions(code: str) -> list[str]:
    return [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]


def fenced(code: str, language: str = "python") -> str:
    return f"```{language}\n{code}```\n"


@pytest.mark.parametrize(
    "inner",
    [
        fenced(ATOM_A),
        fenced(ATOM_A, "py"),
        fenced(ATOM_A, "Python3"),
        fenced(ATOM_A, ""),
        f"Here it is.\n\n{fenced(ATOM_A)}\nIt works in one pass.",
        ATOM_A,
        f"Here is the module.\n\n{ATOM_A}\nThat is all, I hope it helps.",
        (
            f"The log looks so:\n\n{fenced('block alu power 1.25' + chr(10), '')}\nand"
            f" so\n\n{fenced(ATOM_A)}"
        ),
        fenced(ATOM_A + "\n\n" + B + "\n\n" + C),
        fenced(ATOM_A) + "\nand the others\n\n" + fenced(B) + fenced(C),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_atom_a_in_every_dress(inner: str, ends: str) -> None:
    reply = f"Thinking aloud.\n<atom_a></atom_a>\n<atom_a>\n{inner}\n</atom_a>\nDone."
    code = read_atom_a(reply.replace("\n", ends))
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(ATOM_A))


def test_helpers_are_kept_where_the_functions_of_others_are_dropped() -> None:
    code = read_atom_a(f"<atom_a>\n{fenced(HELPER + ATOM_A + C)}</atom_a>")
    assert functions(code) == ["_no", "extract_context"]


@pytest.mark.parametrize(
    ("atoms", "names"),
    [
        (fenced(HELPER + B + C), ["_no", "validate_logic", "check_existence"]),
        (fenced(B) + "then\n" + fenced(C + HELPER), ["validate_logic", "check_existence", "_no"]),
        (fenced(ATOM_A + B + C), ["validate_logic", "check_existence"]),
        (B + C, ["validate_logic", "check_existence"]),
    ],
)
def test_own_atoms_in_one_block_or_several(atoms: str, names: list[str]) -> None:
    reply = read_logic(f"<checker>\n{fenced(OWN, 'yml')}</checker>\n<atoms>\n{atoms}</atoms>")
    assert functions(reply.atoms) == names
    assert reply.checker["atoms"] == "own"


@pytest.mark.parametrize(
    "inner",
    [
        fenced(CHECKER, "yaml"),
        fenced(CHECKER, "yml"),
        fenced(CHECKER, ""),
        CHECKER,
        f"Mind:\n\n{fenced(CHECKER, 'YAML')}\nSo.",
    ],
)
def test_the_yaml_in_every_dress(inner: str) -> None:
    reply = read_logic(f"<checker>\n{inner}\n</checker>".replace("\n", "\r\n"))
    assert reply.checker["items"][0]["select"] == "block.power"


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        (f"<atom_a>\n{fenced(ATOM_A)}", "atom_a"),
        ("<atom_a>\n```python\n" + ATOM_A[:200], "cut off"),
        ("<atom_a></atom_a>", "nothing between <atom_a>"),
        (f"<atom_a>\n{fenced(B)}</atom_a>", "extract_context"),
        ("<atom_a>\n```python\ndef other(:\n```\n</atom_a>", "extract_context"),
    ],
)
def test_a_missing_part_of_the_parsers_reply_is_named(reply: str, part: str) -> None:
    with pytest.raises(ReplyError, match=part):
        read_atom_a(reply)


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        (f"<checker>\n{fenced(OWN, 'yaml')}</checker>", "<atoms>"),
        (
            f"<checker>\n{fenced(OWN, 'yaml')}</checker>\n<atoms>\n{fenced(B)}</atoms>",
            "check_existence",
        ),
        (
            f"<checker>\n{fenced(OWN, 'yaml')}</checker>\n<atoms>\n{fenced(C)}</atoms>",
            "validate_logic",
        ),
        (f"<checker>\n{fenced(OWN, 'yaml')}</checker>\n<atoms>\n{fenced(B + C)}", "cut off"),
        (f"<atoms>\n{fenced(B + C)}</atoms>", "<checker>"),
    ],
)
def test_a_missing_part_of_the_logics_reply_is_named(reply: str, part: str) -> None:
    with pytest.raises(ReplyError, match=part):
        read_logic(reply)


def test_code_that_does_not_parse_is_kept_for_the_gate_that_names_the_line() -> None:
    broken = ATOM_A.replace("if match:", "if match")
    assert read_atom_a(f"<atom_a>\n{fenced(broken)}</atom_a>") == broken
