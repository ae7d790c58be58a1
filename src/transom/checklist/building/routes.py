"""Routes of the developer flow: pure functions of its state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from transom.checklist.building.artifacts import ATOM_A, route
from transom.checklist.building.state import BuildState
from transom.checklist.results import DOUBTS
from transom.runs import A_PERSON, Route, to

# After the repairs an example that is read otherwise is a doubt as well: the example may be what is
# wrong.
_DOUBTS = DOUBTS | {"examples"}
_KEY = re.compile(r"""["'](\w+)["']\s*(?::|\]\s*=(?!=))""")


def _after_validate(state: BuildState) -> str:
    """Return the next node: the end, a repair, a person, or the writer of open questions."""
    if state.findings:
        return _repair(state)
    # Rules and people are not asked: rules cannot answer, and a person will be.
    asks = state.record and state.record.value.questions and not state.was_asked
    if asks and state.atom_a and state.atom_a.by not in ("rules", A_PERSON):
        return "questions"
    return "done"


def _after_preprocess(state: BuildState) -> str:
    """Send a whole checker of a person to the gates: no role has to write anything."""
    if state.result:
        return "done"
    return "validate" if state.atoms and state.config else "parser"


def _after_parser(state: BuildState) -> str:
    """Write the logic, unless a person wrote it."""
    return _unless_unread(state, "validate" if state.config else "logic")


def _after_repair_a(state: BuildState) -> str:
    """Write the logic again only if there is none yet or the parser's fields changed."""
    return _unless_unread(
        state, "validate" if state.logic and not state.fields_changed else "logic"
    )


def _unless_unread(state: BuildState, then: str) -> str:
    """Send a reply that could not be read, or that nobody could give, to repair."""
    if state.stuck or state.unread:
        return _repair(state)
    return then


def emitted_fields(code: str) -> frozenset[str]:
    """Return the keys that a parser's code writes: a superset of the fields that it emits.

    Read from the text, since code that does not parse has fields as well.
    """
    return frozenset(_KEY.findall(code))


def _repair(state: BuildState) -> str:
    artifacts = route(state.findings)
    # Nothing to repair, nobody to do it, or no attempts left.
    exhausted = not artifacts or state.stuck or state.iteration >= state.repairs
    # Doubts alone do not keep a checker from being used; its verdicts wait for a person.
    if exhausted or any(state.belongs_to_a_person(artifact) for artifact in artifacts):
        if {finding.gate for finding in state.findings} <= _DOUBTS:
            return "done"
        return "human_required"
    if ATOM_A in artifacts:
        return "repair_a"
    return "repair_b"


ENDS = ("human_required", "done")
_ENDS = ("repair_a", "repair_b", *ENDS)

ROUTES: Mapping[str, Route[BuildState]] = MappingProxyType(
    {
        "load_spec": to("preprocess"),
        # Without files to look at there is nothing to write a parser for.
        "preprocess": Route(("parser", "validate", "done"), _after_preprocess),
        "parser": Route(("logic", "validate", *_ENDS), _after_parser),
        "logic": Route(("validate", *_ENDS), lambda state: _unless_unread(state, "validate")),
        "validate": Route(("questions", *_ENDS), _after_validate),
        "questions": Route(_ENDS, lambda state: _unless_unread(state, "done")),
        "repair_a": Route(("validate", "logic", *_ENDS), _after_repair_a),
        "repair_b": Route(("validate", *_ENDS), lambda state: _unless_unread(state, "validate")),
    }
)
"""Where each node may lead; a node that is not here ends the walk."""
