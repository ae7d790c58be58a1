"""The gate between what Section 2 says and what `checker.yaml` makes of it."""

from __future__ import annotations

from collections.abc import Iterator

from transom.checklist.atoms import CheckerConfig, Condition, Count, ValidationItem
from transom.checklist.building.artifacts import CHECKER
from transom.checklist.writing.shapes import CheckSection, SpecItem
from transom.evidence.findings import Finding


def check_agreement(config: CheckerConfig, text: str, section: CheckSection) -> list[Finding]:
    """Every validation item of Section 2 stands in the YAML as it was specified, and no other.

    What Section 2 leaves open (a label that is missing or cannot be read) is not compared. `text`
    is `checker.yaml`.
    """
    said = {item.id: item for item in section.items}
    made = {item.id: item for item in config.items}
    findings = [
        _finding(text, f"item {ident} of Section 2 is not there", ident)
        for ident in said
        if ident not in made
    ]
    findings += [
        _finding(text, f"item {ident} stands not in Section 2", ident)
        for ident in made
        if ident not in said
    ]
    if section.capability_type not in (None, config.capability_type):
        message = (
            f"capability_type is {config.capability_type}, Section 2 says {section.capability_type}"
        )
        findings.append(_finding(text, message, "capability_type"))
    for ident in (one for one in said if one in made):
        findings += [
            _finding(text, f"item {ident}: {problem}", ident)
            for problem in _differences(said[ident], made[ident])
        ]
    return findings


def _differences(said: SpecItem, made: ValidationItem) -> Iterator[str]:
    for name, wanted, found in (
        ("check", said.validation, made.check),
        ("mode", said.mode, made.mode),
        ("quantifier", said.quantifier, made.quantifier),
        ("take", said.take or "all", made.take or "all"),
        ("count", _number(said.count), _number(made.count)),
        ("only_with", said.only_with or "none", made.only_with or "none"),
        ("name", said.name.casefold(), made.name.casefold()),
    ):
        if wanted is not None and wanted != found:
            yield f"{name} is {found!r}, Section 2 says {wanted!r}"
    # A condition's own field is demanded by the condition; naming it as required too changes
    # nothing.
    asked = {condition.field for condition in (said.condition, made.condition) if condition}
    specified, required = set(said.required) - asked, set(made.required) - asked
    if specified != required:
        yield f"required is {_listed(required)}, Section 2 says {_listed(specified)}"
    readable = said.condition or not said.condition_text or said.condition_text.lower() == "none"
    if readable and said.condition != made.condition:
        yield f"condition is {_told(made.condition)}, Section 2 says {_told(said.condition)}"


def _number(count: Count | None) -> str:
    return f"{count.op} {count.value}" if count else "none"


def _told(condition: Condition | None) -> str:
    return f"{condition.field} {condition.op} {condition.value!r}" if condition else "none"


def _listed(fields: set[str]) -> str:
    return ", ".join(sorted(fields)) or "nothing"


def _finding(text: str, message: str, needle: str) -> Finding:
    line = next(
        (number for number, line in enumerate(text.splitlines(), 1) if needle in line), None
    )
    return Finding("agreement", CHECKER, line, message)
