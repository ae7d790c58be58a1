"""Rules by the role that they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from transom.checklist.rules.analysis import answer_analysis
from transom.checklist.rules.guide import answer_section4
from transom.checklist.rules.knowledge import Knowledge
from transom.checklist.rules.logic import answer_logic
from transom.checklist.rules.parser import answer_parser
from transom.checklist.rules.sections import answer_section1, answer_section2
from transom.checklist.rules.waiver import answer_section3
from transom.llm import Reply, Request, Rule

# Each with its version, raised by hand when it answers differently from the same knowledge, so that
# its earlier answers are void.
_ANSWERS: Final[Mapping[str, tuple[Callable[[Request, Knowledge], Reply], int]]] = MappingProxyType(
    {
        "checklist.analysis": (answer_analysis, 5),
        "checklist.section1": (answer_section1, 2),
        "checklist.section2": (answer_section2, 2),
        "checklist.section3": (answer_section3, 1),
        "checklist.section4": (answer_section4, 3),
        "checklist.parser": (answer_parser, 7),
        "checklist.logic": (answer_logic, 1),
    }
)
RULE_VERSIONS: Final[Mapping[str, int]] = MappingProxyType(
    {role: number for role, (_, number) in _ANSWERS.items()}
)


def rule_table(knowledge: Knowledge) -> dict[str, Rule]:
    """Role name -> its rule over this knowledge."""
    return {role: _over(knowledge, answer) for role, (answer, _) in _ANSWERS.items()}


def _over(knowledge: Knowledge, answer: Callable[[Request, Knowledge], Reply]) -> Rule:
    return lambda request: answer(request, knowledge)
