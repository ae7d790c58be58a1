"""Reading what the build roles reply: code by its syntax tree, the checker's YAML by its model."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.checklist.atoms import CheckerConfig, Shape
from transom.checklist.building.artifacts import tree_of
from transom.checklist.results import AnswerRow
from transom.errors import InputError, ReplyError
from transom.formats.tags import read_fences, read_tag
from transom.formats.yaml_files import parse_yaml

PARSER_TAG = "atom_a"
LOGIC_TAG = "checker"
ATOMS_TAG = "atoms"
ANSWERS_TAG = "answers"
ATOM_A = "extract_context"
ATOMS_BC = ("validate_logic", "check_existence")

_BEGINS = re.compile(r"(?:from|import|def|class|@)\s*\w|[A-Z_]+\s*[:=]")
_TRIES = 40  # lines of prose before or after code that stands in no fence
_NUMBERED = re.compile(r"^\s*(\d+)[.)]\s+(.+?)(?=^\s*\d+[.)]\s|\Z)", re.MULTILINE | re.DOTALL)
MEND = "MEND"
_SETTLED = ("schema", "item_id", "description")


class LogicReply(Shape):
    """Reply of the Logic role: `checker.yaml` without what the framework settles, and own atoms
    if any.
    """

    checker: dict[str, Any]
    atoms: str = ""

    def config(self, item_id: str, description: str) -> CheckerConfig:
        """Return the checker's configuration for an item.

        Raises:
            ValidationError: the reply does not fit the model.
        """
        return CheckerConfig.model_validate(
            {**self.checker, "item_id": item_id, "description": description}
        )


def read_atom_a(reply: str) -> str:
    """Read the code of atom A from `<atom_a>`: all Python fences, or whatever parses of the text.

    Functions that are atom B's and C's are left out; helpers stay.

    Raises:
        ReplyError: no tag, no code, or no function of that name.
    """
    return _code(read_tag(reply, PARSER_TAG).text, (ATOM_A,), ATOMS_BC, PARSER_TAG)


def read_logic(reply: str) -> LogicReply:
    """Read the checker's YAML, and atoms B and C if the reply says `atoms: own`.

    Raises:
        ReplyError: no tag, no YAML, or a model that does not hold; each naming the part.
    """
    data = _yaml(read_tag(reply, LOGIC_TAG).text)
    checker = {}
    for key, value in data.items():
        if key not in _SETTLED:
            checker[key] = value
    own = data.get("atoms") == "own"
    atoms = _code(read_tag(reply, ATOMS_TAG).text, ATOMS_BC, (ATOM_A,), ATOMS_TAG) if own else ""
    result = LogicReply(checker=checker, atoms=atoms)
    # Tried with any id, so that a wrong model is a reply to correct, not a crash later.
    try:
        result.config("item", "description")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        raise ReplyError(f"{place}: {first['msg']}", place=LOGIC_TAG) from error
    return result


class Answers(Shape):
    """Answers of atom A's writer to the gates' questions, in their order. An answer that begins
    with `MEND` is one
    to repair by."""

    rows: tuple[AnswerRow, ...]

    @property
    def to_mend(self) -> tuple[AnswerRow, ...]:
        rows = []
        for row in self.rows:
            if row.answer.startswith(MEND):
                rows.append(row)
        return tuple(rows)


def read_answers(reply: str, questions: Sequence[str]) -> Answers:
    """Read one answer for each question from the numbered list inside `<answers>`.

    Raises:
        ReplyError: no tag, or a question without an answer.
    """
    text = read_tag(reply, ANSWERS_TAG).text
    numbered = {int(number): " ".join(answer.split()) for number, answer in _NUMBERED.findall(text)}
    # A question without an answer would count as settled.
    missing = []
    for number in range(1, len(questions) + 1):
        if not numbered.get(number):
            missing.append(number)
    if missing:
        numbers = ", ".join(map(str, missing))
        raise ReplyError(
            f"there is no answer {numbers}; write a list, one number for each question",
            place=ANSWERS_TAG,
        )
    return Answers(
        rows=tuple(
            AnswerRow(question=question, answer=numbered[number])
            for number, question in enumerate(questions, 1)
        )
    )


def _code(text: str, names: Sequence[str], other_names: Sequence[str], tag: str) -> str:
    """Return the code that defines `names`, without `other_names`, which another role writes."""
    code = _fenced(text) or _bare(text)
    for name in names:
        if not re.search(rf"^\s*def\s+{name}\b", code, re.MULTILINE):
            raise ReplyError(f"the code defines no function {name}", place=tag)
    # Broken code is not an unreadable reply: the syntax gate names the line.
    return _without(code, other_names)


def _fenced(text: str) -> str:
    """Return the joined Python fences.

    A fence that names no language counts if the whole still parses.
    """
    fenced_codes = [fence.text.strip("\n") for fence in read_fences(text, "python")]
    # Some models leave the language out for the second half of their code.
    every = [fence.text.strip("\n") for fence in read_fences(text, "python", "")]
    chosen = every if not fenced_codes or tree_of("\n\n".join(every)) else fenced_codes
    if chosen:
        return "\n\n".join(chosen) + "\n"
    return ""


def _bare(text: str) -> str:
    """Return code that stands in no fence.

    It is the text without the prose before and after it, if that makes it parse.
    """
    lines = text.strip("\n").split("\n")
    starts = []
    for index, line in enumerate(lines):
        if _BEGINS.match(line):
            starts.append(index)
    # Prose of a few lines before and after is common; the longest part that parses counts.
    for start in starts[:_TRIES]:
        for end in range(len(lines), max(start, len(lines) - _TRIES), -1):
            code = "\n".join(lines[start:end]) + "\n"
            if tree_of(code):
                return code
    return "\n".join(lines) + "\n"


def _without(code: str, names: Sequence[str]) -> str:
    """Return the code without these module-level functions, or unchanged if it does not parse."""
    lines, tree = code.split("\n"), tree_of(code)
    # From the end, so that line numbers of the others stay right.
    for node in reversed(tree.body) if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name in names:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    return "\n".join(lines).strip("\n") + "\n"


def _yaml(text: str) -> dict[str, Any]:
    """Return the last YAML fence, or the last fence without a language, or the text."""
    fences = read_fences(text, "yaml") or read_fences(text, "")
    try:
        data = parse_yaml(fences[-1].text if fences else text, Path(LOGIC_TAG)).data
    except InputError as error:
        raise ReplyError(f"the YAML cannot be read: {error}", place=LOGIC_TAG) from error
    if not isinstance(data, dict):
        raise ReplyError("there is no YAML mapping", place=LOGIC_TAG)
    return dict(data)
