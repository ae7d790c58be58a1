"""The substance gate: what an ItemSpec must say, part by part, decided without a model.

Each check is a small function that yields `Said` (finding name, line, message); the functions here turn them into
findings of an artifact. A round checks its own section; `check_spec` checks the whole and its cross-references.
"""

from __future__ import annotations

from collections.abc import Iterable

from transom.checklist.spec.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
    parse_section4,
)
from transom.checklist.spec.gate.analysis import analysis_says
from transom.checklist.spec.gate.check import check_says
from transom.checklist.spec.gate.guide import examples_wanted, guide_says
from transom.checklist.spec.gate.parsing import parsing_says
from transom.checklist.spec.gate.problem import SpecProblem
from transom.checklist.spec.gate.text import headings_say, text_says
from transom.checklist.spec.gate.waiver import waiver_says
from transom.checklist.spec.shapes import CheckSection, ParsingSection, SpecDocument
from transom.gates import Finding, sort_findings

__all__ = [
    "check_analysis",
    "check_section1",
    "check_section2",
    "check_section3",
    "check_section4",
    "check_spec",
]


def check_analysis(text: str, *, artifact: str = "analysis") -> list[Finding]:
    """Round 1: seven steps, a capability type with its reason, the notation's reading."""
    return _findings([*text_says(text), *analysis_says(parse_analysis(text))], artifact)


def check_section1(text: str, *, artifact: str = "section1") -> list[Finding]:
    """Categories, typed fields, both examples."""
    return _findings([*text_says(text), *parsing_says(parse_section1(text))], artifact)


def check_section2(text: str, parsing: ParsingSection, *, artifact: str = "section2") -> list[Finding]:
    """Validation items against Section 1's fields, pattern matching against the type, overall logic."""
    return _findings([*text_says(text), *check_says(parse_section2(text), parsing)], artifact)


def check_section3(text: str, check: CheckSection, *, artifact: str = "section3") -> list[Finding]:
    """Waiver scenarios, both modes and a decision for every item of Section 2."""
    section = parse_section3(text, check.item_ids())
    return _findings([*text_says(text), *waiver_says(section, check)], artifact)


def check_section4(
    text: str, parsing: ParsingSection, check: CheckSection, *, artifact: str = "section4"
) -> list[Finding]:
    """Sources, extraction for every category of Section 1, special scenarios, the test matrix."""
    section = parse_section4(text, check.item_ids())
    patterns = [pattern.regex for extraction in section.extractions for pattern in extraction.patterns]
    said = [*text_says(text, patterns), *guide_says(section, parsing, check), *examples_wanted(section, check)]
    return _findings(said, artifact)


def check_spec(doc: SpecDocument, *, artifact: str = "ItemSpec") -> list[Finding]:
    """Everything above for a whole ItemSpec; lines are those of `doc.text`."""
    patterns = [pattern.regex for extraction in doc.guide.extractions for pattern in extraction.patterns]
    said: list[SpecProblem] = [*text_says(doc.text, patterns), *headings_say(doc.text)]
    if not doc.item_id:
        said.append(SpecProblem("spec.title", 1, "the title does not name the item: `# ItemSpec: <item id>`"))
    if not doc.description:
        said.append(
            SpecProblem("spec.title", 1, "the description does not stand below the title: `**Description**: ...`")
        )
    said += parsing_says(doc.parsing)
    said += check_says(doc.check, doc.parsing)
    said += waiver_says(doc.waiver, doc.check)
    said += guide_says(doc.guide, doc.parsing, doc.check)
    return _findings(said, artifact)


def _findings(said: Iterable[SpecProblem], artifact: str) -> list[Finding]:
    return sort_findings(Finding(s.gate, artifact, s.line, s.message) for s in said)
