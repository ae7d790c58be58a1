"""Worth of an ItemSpec by five metrics, 0 to 10 each, counted from its parts: no opinion, and no
gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from transom.canonical import Json
from transom.checklist.patterns import regex_problem
from transom.checklist.writing.shapes import SpecDocument
from transom.checklist.writing.words import FIELD_TYPES
from transom.evidence.findings import Finding

Parts = Mapping[str, Iterable[bool]]


def quality_of(spec: SpecDocument, findings: Sequence[Finding]) -> dict[str, Json]:
    """Metric -> `{"score": 9.2, "parts": {"items with a waiver decision": "3 of 4", ...}}`, and
    sizes.
    """
    gates = [finding.gate for finding in findings]
    items, waiver, guide = spec.check.items, spec.waiver, spec.guide
    categories = [category for category in spec.parsing.categories if category.key]
    read = {extraction.category for extraction in guide.extractions}
    exemplified = {example.item for example in guide.examples} | set(guide.no_examples)
    metrics: dict[str, Parts] = {
        "consistency": {
            "references between sections that hold": (
                not gate.startswith("spec.cross") for gate in gates or [""]
            ),
            "categories that Section 4 reads": (category.key in read for category in categories),
            "items with a waiver decision": (
                item.id in {decision.item for decision in waiver.decisions} for item in items
            ),
        },
        "completeness": {
            "texts without a placeholder": ("placeholder" not in gate for gate in gates or [""]),
            "items with purpose, PASS and FAIL": (
                bool(item.purpose and item.passes and item.fails) for item in items
            ),
            "items with examples": (item.id in exemplified for item in items),
        },
        "practicality": {
            "extractions with a pattern or keywords": (
                bool(e.patterns or e.keywords) for e in guide.extractions
            ),
            "patterns that compile": (
                regex_problem(p.regex) is None for e in guide.extractions for p in e.patterns
            ),
            "sources with names of files": (
                bool(described.source.files or described.note) for described in guide.sources
            ),
        },
        "generality": {
            "texts without an absolute path": (gate != "spec.paths" for gate in gates or [""]),
            "extractions with more than one way": (
                len(e.patterns) + len(e.keywords) > 1 for e in guide.extractions
            ),
        },
        "traceability": {
            "fields of a known type": (
                field.type in FIELD_TYPES for category in categories for field in category.fields
            ),
            "waiver scenarios that name items": (
                bool(scenario.items) for scenario in waiver.scenarios
            ),
            "waiver decisions with a reason": (bool(decision.why) for decision in waiver.decisions),
        },
    }
    sizes: dict[str, Json] = {
        "characters": len(spec.text),
        "categories": len(spec.parsing.keys()),
        "validation_items": len(items),
        "waiver_scenarios": len(waiver.scenarios),
        "special_scenarios": len(guide.scenarios),
    }
    return {**sizes, **{name: _metric(parts) for name, parts in metrics.items()}}


def _metric(parts: Parts) -> dict[str, Json]:
    counted = {name: [bool(answer) for answer in answers] for name, answers in parts.items()}
    shares = [sum(answers) / len(answers) for answers in counted.values() if answers]
    evidence: dict[str, Json] = {
        name: f"{sum(answers)} of {len(answers)}" for name, answers in counted.items() if answers
    }
    return {
        "score": round(10 * sum(shares) / len(shares), 1) if shares else 10.0,
        "parts": evidence,
    }
