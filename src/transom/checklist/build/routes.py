"""Where the developer flow goes next: pure functions of its state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from transom.checklist.build.artifacts import ATOM_A, route
from transom.checklist.build.state import BuildState
from transom.checklist.results import DOUBTS
from transom.runs import A_PERSON, Route, to

# After the repairs an example that is read otherwise is a doubt as well: the example may be what is wrong.
_DOUBTS = DOUBTS | {"examples"}
_KEY = re.compile(r"""["'](\w+)["']\s*(?::|\]\s*=(?!=))""")


def after_preprocess(state: BuildState) -> str:
    """Without files to look at there is nothing to write a parser for."""
    return "done" if state.result else "parser"


def after_parser(state: BuildState) -> str:
    """A parser that could be read goes on to its logic."""
    return _repair(state) if state.unread else "logic"


def after_logic(state: BuildState) -> str:
    """A configuration that could be read is tried."""
    return _repair(state) if state.unread else "validate"


def after_validate(state: BuildState) -> str:
    """Done, or a repair, or a person; what passed and left questions goes to its writer first."""
    if state.findings:
        return _repair(state)
    asks = state.record and state.record.value.questions and not state.asked
    return "questions" if asks and state.atom_a and state.atom_a.by not in ("rules", A_PERSON) else "done"


def after_questions(state: BuildState) -> str:
    """An answer may say that the parser must be mended."""
    return _repair(state) if state.unread else "done"


def after_repair_a(state: BuildState) -> str:
    """The logic is written again only where it has none yet or the parser's fields are others than before."""
    if state.stuck or state.unread:
        return _repair(state)
    return "validate" if state.logic and not state.fields_changed else "logic"


def after_repair_b(state: BuildState) -> str:
    """What was mended is tried."""
    return _repair(state) if state.stuck or state.unread else "validate"


def emitted_fields(code: str) -> frozenset[str]:
    """The keys that a parser's code writes: a superset of the fields that it emits.

    Read from the text, since code that does not parse has fields as well.
    """
    return frozenset(_KEY.findall(code))


def _repair(state: BuildState) -> str:
    wanted = route(state.findings)
    exhausted = not wanted or state.stuck or state.iteration >= state.repairs
    if exhausted or any(state.belongs_to_a_person(artifact) for artifact in wanted):
        return "done" if {finding.gate for finding in state.findings} <= _DOUBTS else "human_required"
    return "repair_a" if ATOM_A in wanted else "repair_b"


ENDS = ("human_required", "done")
_ENDS = ("repair_a", "repair_b", *ENDS)

ROUTES: Mapping[str, Route[BuildState]] = MappingProxyType(
    {
        "load_spec": to("preprocess"),
        "preprocess": Route(("parser", "done"), after_preprocess),
        "parser": Route(("logic", *_ENDS), after_parser),
        "logic": Route(("validate", *_ENDS), after_logic),
        "validate": Route(("questions", *_ENDS), after_validate),
        "questions": Route(_ENDS, after_questions),
        "repair_a": Route(("validate", "logic", *_ENDS), after_repair_a),
        "repair_b": Route(("validate", *_ENDS), after_repair_b),
    }
)
"""Where each node may lead; a node that is not here ends the walk."""
