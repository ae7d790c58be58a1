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
    """Return `{"score": 9.2, "parts": {"items with examples": "3 of 4"}}` by metric, and sizes."""
    metrics = _metrics(spec, [finding.gate for finding in findings])
    sizes: dict[str, Json] = {
        "characters": len(spec.text),
        "categories": len(spec.parsing.keys()),
        "validation_items": len(spec.check.items),
        "waiver_scenarios": len(spec.waiver.scenarios),
        "special_scenarios": len(spec.guide.scenarios),
    }
    return {**sizes, **{name: _metric(parts) for name, parts in metrics.items()}}


def overall_quality(spec: SpecDocument) -> float:
    """Return the mean of the five scores of an ItemSpec without findings, 0 to 10."""
    scores = [_metric(parts)["score"] for parts in _metrics(spec, ()).values()]
    return round(sum(score for score in scores if isinstance(score, float)) / len(scores), 1)


def _metrics(spec: SpecDocument, gates: Sequence[str]) -> dict[str, Parts]:
    """Return the parts of each metric, with an answer for each thing that is counted."""
    items, waiver, guide = spec.check.items, spec.waiver, spec.guide
    categories = []
    for category in spec.parsing.categories:
        if category.key:
            categories.append(category)
    types: list[str] = []
    for category in categories:
        types += [field.type for field in category.fields]
    regexes: list[str] = []
    for extraction in guide.extractions:
        regexes += [pattern.regex for pattern in extraction.patterns]
    read = {extraction.category for extraction in guide.extractions}
    exemplified = {example.item for example in guide.examples} | set(guide.no_examples)
    return {
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
            "patterns that compile": (regex_problem(regex) is None for regex in regexes),
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
            "fields of a known type": (type_name in FIELD_TYPES for type_name in types),
            "waiver scenarios that name items": (
                bool(scenario.items) for scenario in waiver.scenarios
            ),
            "waiver decisions with a reason": (bool(decision.why) for decision in waiver.decisions),
        },
    }


def _metric(parts: Parts) -> dict[str, Json]:
    shares = []
    evidence: dict[str, Json] = {}
    for name, parts_of_name in parts.items():
        answers = [bool(answer) for answer in parts_of_name]
        # A part that the ItemSpec does not have neither raises nor lowers the score.
        if answers:
            shares.append(sum(answers) / len(answers))
            evidence[name] = f"{sum(answers)} of {len(answers)}"
    score = 10.0
    if shares:
        score = round(10 * sum(shares) / len(shares), 1)
    return {"score": score, "parts": evidence}
