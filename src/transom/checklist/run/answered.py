"""What a run tells beside its findings: which files answered, and where they contradict each other."""

from __future__ import annotations

from transom.checklist.atoms import CheckerConfig, Entry, ValidationItem
from transom.checklist.run.files import Evidence
from transom.checklist.run.judge import field_of
from transom.checklist.run.subjects import subjects
from transom.checklist.run.verdict import AnsweredBy, Warned


def sources(config: CheckerConfig, evidence: Evidence) -> tuple[AnsweredBy, ...]:
    """Of each item which files answered it, with the rank of their answers."""
    seen: dict[tuple[str, str], AnsweredBy] = {}
    for item in config.items:
        for subject in subjects(item, evidence):
            for entry in subject.answers if item.quantifier == "per_file" else subject.entries:
                answer = AnsweredBy(item=item.id, answered_by=evidence.rank(entry), source_file=entry.source_file)
                seen.setdefault((item.id, entry.source_file), answer)
    return tuple(seen.values())


def contradictions(config: CheckerConfig, evidence: Evidence) -> tuple[Warned, ...]:
    """Where files say other things of one subject, and which of them counts."""
    found: dict[str, Warned] = {}
    for item in config.items:
        if item.quantifier != "per_file":
            continue  # entries that are judged one by one do not contradict each other
        for subject in subjects(item, evidence):
            for entry in subject.overruled:
                counted = subject.answers[0]
                message = (
                    f"{entry.source_file}:{entry.line_number} says {_words(item, entry)} of {subject.name}, "
                    f"{counted.source_file}:{counted.line_number} says {_words(item, counted)}; the latter counts"
                )
                found.setdefault(
                    message,
                    Warned(source_file=entry.source_file, line_number=entry.line_number, message=message),
                )
    return tuple(found.values())


def _words(item: ValidationItem, entry: Entry) -> str:
    names = dict.fromkeys([item.select, *item.required])
    return ", ".join(f"{name} {field_of(entry.parsed_fields, name)!r}" for name in names)
