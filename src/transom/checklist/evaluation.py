"""Evaluation of the checklist: what came of an item, for the scorers; and a digest of what
decides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from transom.canonical import digest
from transom.checklist.judging import Verdict
from transom.checklist.judging.verdict_rows import CheckedItem
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.writing.views import VIEWS, make_role
from transom.evals import EvaluationCitation, ScenarioOutcome, Used
from transom.llm import Chain


def prompts_digest(chain: Chain, data: Mapping[str, str]) -> str:
    """Return a digest of all that decides answers: prompts, rules, and `data`: digests by file."""
    # All roles, since a later one may depend on the text of an earlier one.
    roles = [make_role(name) for name in sorted(VIEWS)]
    fingerprints = [[role.digest, chain.of(role.name).fingerprint(role)] for role in roles]
    return digest([fingerprints, dict(data)])[:16]


def outcome_of(
    answer: SpecResult | BuildResult | Verdict,
    usage: Used,
    roots: Sequence[Path],
    data: Path | None,
) -> ScenarioOutcome:
    """Return what came of an item.

    Args:
        answer: the verdict, or the answer of the step that stopped.
        usage: calls and tokens.
        roots: the folders of the item's variables, which the report's names are below.
        data: the scenario's data, which the names of evidence are below.
    """
    document = answer.model_dump(mode="json", by_alias=True)
    words = [f"not understood: {row.text}" for row in answer.needs_model]
    if not isinstance(answer, Verdict):
        gates = answer.gates if isinstance(answer, BuildResult) else ()
        findings = [row for gate in gates for row in gate.findings] or answer.findings
        messages = [f"{row.artifact}: {row.message}" for row in findings]
        return ScenarioOutcome(
            verdict=answer.status, reported=(*words, *messages), used=usage, document=document
        )
    lists = {
        "found": answer.found_items,
        "missing": answer.missing_items,
        "extra": answer.extra_items,
    }
    entries = [*answer.found_items, *answer.missing_items, *answer.extra_items, *answer.waived]
    troubles = []
    for problem in (*answer.errors, *answer.warnings):
        troubles.append(f"{problem.source_file or ''}: {problem.message}")
    unused = [f"unused waiver {waiver.pattern}: {waiver.why}" for waiver in answer.unused_waivers]
    return ScenarioOutcome(
        verdict=answer.status,
        subject=answer.item_id,
        text="\n".join(entry.reason for entry in (*answer.missing_items, *answer.extra_items)),
        values={
            "type": answer.checker_type,
            "waived": len(answer.waived),
            **{k: len(v) for k, v in lists.items()},
        },
        evidence=tuple(_evidence(entries, roots, data)),
        reported=(*words, *troubles, *unused),
        used=usage,
        document=document,
    )


def _evidence(
    entries: Sequence[CheckedItem], roots: Sequence[Path], data: Path | None
) -> Iterator[EvaluationCitation]:
    """Yield each entry with a file, by its name below the data.

    The report names it below one of the variables' folders.
    """
    for entry in entries if data else ():
        if entry.source_file and data:
            # The same name may lie below several folders; the first is where the check looked
            # first.
            places = [root / entry.source_file for root in (*roots, data)]
            path = next((place for place in places if place.is_file()), places[0])
            if path.is_relative_to(data):
                name = path.relative_to(data).as_posix()
            else:
                name = entry.source_file
            yield EvaluationCitation(
                source=name, locator=str(entry.line_number or ""), quote=entry.matched_content
            )
