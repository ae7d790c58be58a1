"""How a checklist item is run for an evaluation: `check all` in a workspace of its own; its answer is the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from transom.canonical import digest
from transom.checklist.results import BuildResult, SpecResult
from transom.checklist.roles import make_role
from transom.checklist.rules import load_knowledge
from transom.checklist.run import Verdict
from transom.checklist.run.verdict import CheckedItem
from transom.checklist.spec.views import VIEWS
from transom.cli.checking import answer_of
from transom.cli.eval_cases import apart, below, inside, records_of, used_by
from transom.cli.options import Options
from transom.cli.session import Session
from transom.config import Settings
from transom.errors import InputError
from transom.evals import Case, Evidence, Outcome, Runner, Used
from transom.llm import Chain


def checklist_runner(session: Session, chain: Chain) -> Runner:
    """`input.item` is an item's YAML and `input.variables` are folders, both below the scenario's data."""

    async def run(case: Case) -> Outcome:
        item, folders = below(case, "item"), _variables(case)
        own = apart(session, case, chain)
        variables = tuple(f"{name}={folder}" for name, folder in folders.items())
        async with own.open_store() as store:
            answer = await answer_of(own, store, Options(item=item, variables=variables))
            used = used_by(records_of(store, [answer.run_id or ""], "model_reply"))
        made = _outcome(answer, used, [*folders.values()], case.data)
        return made.model_copy(update={"egress": session.settings.egress.logs})

    return run


def checklist_prompts(settings: Settings, chain: Chain) -> str:
    """A digest of all that decides how items are answered: prompts, rules, knowledge."""
    roles = [make_role(name) for name in sorted(VIEWS)]
    knowledge = load_knowledge(settings.paths.knowledge_dirs).digests
    told = [[role.digest, chain.of(role.name).fingerprint(role)] for role in roles]
    return digest([told, dict(knowledge)])[:16]


def _variables(case: Case) -> dict[str, Path]:
    given = case.scenario.input.get("variables") or {}
    if not isinstance(given, dict):
        raise InputError("input.variables is no mapping", where=case.scenario.id, hint="write NAME: folder lines")
    return {name: inside(case, str(folder)) for name, folder in given.items()}


def _outcome(
    answer: SpecResult | BuildResult | Verdict, used: Used, roots: Sequence[Path], data: Path | None
) -> Outcome:
    document = answer.model_dump(mode="json", by_alias=True)
    words = tuple(f"not understood: {row.text}" for row in answer.needs_model)
    if not isinstance(answer, Verdict):
        findings = [row for gate in getattr(answer, "gates", ()) for row in gate.findings]
        findings += getattr(answer, "findings", ())
        told = tuple(f"{row.artifact}: {row.message}" for row in findings)
        return Outcome(verdict=answer.status, reported=(*words, *told), used=used, document=document)
    entries = [*answer.found_items, *answer.missing_items, *answer.extra_items, *answer.waived]
    troubles = [f"{one.source_file or ''}: {one.message}" for one in answer.errors]
    troubles += [f"{one.source_file or ''}: {one.message}" for one in answer.warnings]
    unused = [f"unused waiver {one.pattern}: {one.why}" for one in answer.unused_waivers]
    return Outcome(
        verdict=answer.status,
        subject=answer.item_id,
        text="\n".join(one.reason for one in (*answer.missing_items, *answer.extra_items)),
        values={
            "type": answer.checker_type,
            "found": len(answer.found_items),
            "missing": len(answer.missing_items),
            "extra": len(answer.extra_items),
            "waived": len(answer.waived),
        },
        evidence=tuple(_evidence(entries, roots, data)),
        reported=(*words, *troubles, *unused),
        used=used,
        document=document,
    )


def _evidence(entries: Sequence[CheckedItem], roots: Sequence[Path], data: Path | None) -> Iterator[Evidence]:
    """Each entry with a file, by its name below the data; the report names it below one of the variables' folders."""
    for one in entries:
        if one.source_file is None or data is None:
            continue
        places = [root / one.source_file for root in (*roots, data)]
        path = next((place for place in places if place.is_file()), places[0])
        name = path.relative_to(data).as_posix() if path.is_relative_to(data) else one.source_file
        yield Evidence(source=name, locator=str(one.line_number or ""), quote=one.matched_content)
