"""The substance gate: what an ItemSpec must say, part by part, decided without a model.

A round checks its own section; `check_spec` checks the whole and its cross-references.
"""

from __future__ import annotations

from typing import Final

from transom.checklist.writing.document import (
    parse_analysis,
    parse_section1,
    parse_section2,
    parse_section3,
    parse_section4,
)
from transom.checklist.writing.gate.check import check_logic
from transom.checklist.writing.gate.guide_section import check_example_coverage, check_guide
from transom.checklist.writing.gate.parsing import check_parsing
from transom.checklist.writing.gate.problems import Problems, comma_list
from transom.checklist.writing.gate.text import check_headings, check_text
from transom.checklist.writing.gate.waiver import check_waivers
from transom.checklist.writing.shapes import (
    CheckSection,
    GuideSection,
    ParsingSection,
    SpecDocument,
)
from transom.evidence.findings import Finding

STEPS: Final = 7


def check_analysis(text: str, *, artifact: str = "analysis") -> list[Finding]:
    """Check round 1: seven steps, a capability type with its reason, the notation's reading."""
    problems, analysis = _text(text, artifact), parse_analysis(text)
    numbers = [step.number for step in analysis.steps]
    listing = comma_list([str(number) for number in numbers])
    message = f"the analysis has steps {listing}; must be 1 to {STEPS}, in order"
    problems.unless(numbers == list(range(1, STEPS + 1)), "spec.analysis.steps", 1, message)
    for step in analysis.steps:
        problems.thin(step.text, "spec.analysis.steps", step.line, f"step {step.number}")
    type_message = "Capability type must be 1, 2, 3 or 4"
    problems.unless(analysis.capability_type, "spec.analysis.type", analysis.line, type_message)
    problems.thin(
        analysis.reason,
        "spec.analysis.reason",
        analysis.line,
        "Reason (why the capability type is so)",
        3,
    )
    problems.thin(
        analysis.reading,
        "spec.analysis.notation",
        analysis.line,
        "Notation (how it was read, or: none used)",
    )
    return problems.findings


def check_section1(text: str) -> list[Finding]:
    """Check Section 1: categories, typed fields, both examples."""
    problems = _text(text, "section1")
    check_parsing(problems, parse_section1(text))
    return problems.findings


def check_section2(text: str, parsing: ParsingSection) -> list[Finding]:
    """Check Section 2: items against Section 1's fields, patterns against the type, the logic."""
    problems = _text(text, "section2")
    check_logic(problems, parse_section2(text), parsing)
    return problems.findings


def check_section3(text: str, check: CheckSection) -> list[Finding]:
    """Check Section 3: scenarios, both modes, a decision for every item of Section 2."""
    problems = _text(text, "section3")
    check_waivers(problems, parse_section3(text, check.item_ids()), check)
    return problems.findings


def check_section4(text: str, parsing: ParsingSection, check: CheckSection) -> list[Finding]:
    """Check Section 4: sources, extractions, examples, special scenarios, the test matrix."""
    section = parse_section4(text, check.item_ids())
    problems = _text(text, "section4", section)
    check_guide(problems, section, parsing, check)
    check_example_coverage(problems, section, check)
    return problems.findings


def check_spec(doc: SpecDocument, *, artifact: str = "ItemSpec") -> list[Finding]:
    """Check a whole ItemSpec but the coverage of its examples; lines are those of `doc.text`."""
    problems = _text(doc.text, artifact, doc.guide)
    check_headings(problems, doc.text)
    problems.unless(
        doc.item_id, "spec.title", 1, "the title does not name the item: `# ItemSpec: <item id>`"
    )
    message = "the description does not stand below the title: `**Description**: ...`"
    problems.unless(doc.description, "spec.title", 1, message)
    check_parsing(problems, doc.parsing)
    check_logic(problems, doc.check, doc.parsing)
    check_waivers(problems, doc.waiver, doc.check)
    check_guide(problems, doc.guide, doc.parsing, doc.check)
    return problems.findings


def _text(text: str, artifact: str, guide: GuideSection | None = None) -> Problems:
    problems = Problems(artifact)
    if guide:
        patterns = []
        for extraction in guide.extractions:
            for pattern in extraction.patterns:
                patterns.append(pattern.regex)
    else:
        patterns = []
    check_text(problems, text, patterns)
    return problems
