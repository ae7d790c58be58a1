"""Artifacts that findings are about: the parts of a checker that a role can write again, and
which of them go first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from transom.checklist.results import SPEC
from transom.evidence.findings import Finding

ATOM_A: Final = "atom_a"
ATOM_B: Final = "atom_b"
ATOM_C: Final = "atom_c"
CHECKER: Final = "checker.yaml"
FUNCTIONS: Final = {"extract_context": ATOM_A, "validate_logic": ATOM_B, "check_existence": ATOM_C}
SEPARATOR: Final = "# Atoms B and C:"
_PRELUDE: Final = "import re; from typing import Any, Dict, List, Optional"
_DEF = re.compile(r"(?:async\s+)?def\s+(\w+)")


def route(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the artifacts to repair, in order.

    A goes alone while anything is wrong with it, then B, C and the YAML together.

    What names no artifact that is known here goes to A. What only the ItemSpec or the files can
    mend goes to nobody.
    """
    # A fault of the ItemSpec is nothing that a role could repair.
    artifacts = {finding.artifact for finding in findings} - {SPEC}
    later = tuple(artifact for artifact in (ATOM_B, ATOM_C, CHECKER) if artifact in artifacts)
    if artifacts == set(later):
        return later
    return (ATOM_A,)


def file_of(artifact: str) -> str:
    """Return the file of a checker folder that holds an artifact."""
    if artifact in FUNCTIONS.values():
        return "atoms.py"
    return artifact


@dataclass(frozen=True)
class Parts:
    """`atoms.py` as two pieces of source that keep the lines of the whole.

    Attributes:
        full_text: the file.
        first: line at which B and C begin; past the end if there are none.
    """

    full_text: str
    first: int

    @cached_property
    def a(self) -> str:
        """Return atom A's source."""
        return "\n".join(self.full_text.split("\n")[: self.first - 1]) + "\n"

    @cached_property
    def logic(self) -> str:
        """Return the source of B and C.

        In place of A stand blank lines and the imports that A is bound to have.
        """
        lines = self.full_text.split("\n")[self.first - 1 :]
        blank = [_PRELUDE, *[""] * (self.first - 2)] if self.first > 1 else []
        return "\n".join([*blank, *lines])

    @cached_property
    def trees(self) -> tuple[ast.Module, ...]:
        """Return the tree of the code, or else the trees of the parts that parse."""
        # If one part does not parse, the gates still say what is wrong with the other.
        whole_tree = tree_of(self.full_text)
        if whole_tree:
            return (whole_tree,)
        return tuple(tree for part in (self.a, self.logic) if (tree := tree_of(part)))

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return all nodes of these trees."""
        return tuple(node for tree in self.trees for node in ast.walk(tree))

    def artifact(self, line: int | None) -> str:
        """Return the atom that a line belongs to; without a line it is A."""
        if line is None or line < self.first:
            return ATOM_A
        owner = ATOM_B
        for number, text in enumerate(self.full_text.split("\n")[:line], 1):
            definition = _DEF.match(text)
            if definition and number >= self.first:
                # A helper belongs to B, whose comparisons need some; C looks at nothing but a
                # length.
                owner = ATOM_C if FUNCTIONS.get(definition[1]) == ATOM_C else ATOM_B
        return owner

    def line_of(self, artifact: str) -> int | None:
        """Return the line at which the function of an atom begins."""
        name = next((name for name, owner in FUNCTIONS.items() if owner == artifact), "")
        for number, text in enumerate(self.full_text.split("\n"), 1):
            definition = _DEF.match(text)
            if definition and definition[1] == name:
                return number
        return None


def split(code: str) -> Parts:
    """Cut `atoms.py` at the line that says where B and C begin.

    Without such a line the first of their functions is the cut.

    It works on code that does not parse, so that a fault in one part does not hide the others.
    """
    lines = code.split("\n")
    marked = None
    for number, line in enumerate(lines, 1):
        if line.startswith(SEPARATOR):
            marked = number
            break
    # Code of a person need not have the line; then the first function of B or C is the cut.
    if marked is None:
        for number, line in enumerate(lines, 1):
            definition = _DEF.match(line)
            if definition and FUNCTIONS.get(definition[1], ATOM_A) != ATOM_A:
                marked = number
                break
    return Parts(code, marked or len(lines) + 1)


@lru_cache(maxsize=64)  # each gate asks again about the same parts
def tree_of(code: str) -> ast.Module | None:
    """Return the syntax tree, which nobody changes, or None if the code is no Python."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
