"""Reading what the build roles reply: code by its syntax tree, the checker's YAML by its model."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.checklist.atoms import CheckerConfig, Shape
from transom.errors import InputError, ReplyError
from transom.formats.tags import read_fences, read_tag
from transom.formats.yaml_files import parse_yaml

PARSER_TAG = "atom_a"
LOGIC_TAG = "checker"
ATOMS_TAG = "atoms"
ATOM_A = "extract_context"
ATOMS_BC = ("validate_logic", "check_existence")

_SETTLED = ("schema", "item_id", "description")


class LogicReply(Shape):
    """What the Logic role wrote: `checker.yaml` without what the framework settles, and own atoms if any."""

    checker: dict[str, Any]
    atoms: str = ""

    def config(self, item_id: str, description: str) -> CheckerConfig:
        """The checker's configuration for an item.

        Raises:
            ValidationError: the reply does not fit the model.
        """
        return CheckerConfig.model_validate({**self.checker, "item_id": item_id, "description": description})


def read_atom_a(reply: str) -> str:
    """The code of atom A: every Python fence inside `<atom_a>`, joined, else the tag's text where it parses.

    Raises:
        ReplyError: no tag, no code, or no function of that name.
    """
    return _code(read_tag(reply, PARSER_TAG).text, (ATOM_A,), PARSER_TAG)


def read_logic(reply: str) -> LogicReply:
    """The checker's YAML, and atoms B and C where the reply says `atoms: own`.

    Raises:
        ReplyError: no tag, no YAML, or a model that does not hold; each naming the part.
    """
    text = read_tag(reply, LOGIC_TAG).text
    fences = read_fences(text, "yaml", "")
    data = _yaml(fences[-1].text if fences else text)
    checker = {key: value for key, value in data.items() if key not in _SETTLED}
    own = data.get("atoms") == "own"
    atoms = _code(read_tag(reply, ATOMS_TAG).text, ATOMS_BC, ATOMS_TAG) if own else ""
    result = LogicReply(checker=checker, atoms=atoms)
    try:
        result.config("item", "description")
    except ValidationError as error:
        raise ReplyError(_first_problem(error), where=LOGIC_TAG) from error
    return result


def _code(text: str, names: Sequence[str], tag: str) -> str:
    fences = read_fences(text, "python", "")
    code = "\n\n".join(fence.text.strip("\n") for fence in fences) if fences else text
    code = code.replace("\r\n", "\n").strip("\n") + "\n"
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        # Broken code is not an unreadable reply: the syntax gate names the line.
        return code
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for name in names:
        if name not in defined:
            raise ReplyError(f"the code defines no function {name}", where=tag)
    return code


def _yaml(text: str) -> dict[str, Any]:
    try:
        data = parse_yaml(text, Path(LOGIC_TAG)).data
    except InputError as error:
        raise ReplyError(f"the YAML cannot be read: {error}", where=LOGIC_TAG) from error
    if not isinstance(data, dict):
        raise ReplyError("there is no YAML mapping", where=LOGIC_TAG)
    return dict(data)


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "the document"
    return f"{place}: {first['msg']}"
