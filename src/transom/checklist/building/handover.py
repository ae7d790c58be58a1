"""Handing a build over to a person: a report of what was tried, and a stub in the checker's
place that never passes.
"""

from __future__ import annotations

from transom.canonical import pretty_json
from transom.checklist.atoms import CheckerConfig, ValidationItem
from transom.checklist.building.artifacts import ATOM_A, CHECKER, route
from transom.checklist.building.checker import ATOMS_FILE, BUILD_FILE, CHECKER_FILE, checker_yaml
from transom.checklist.building.state import BuildState, RepairAttempt, shortly
from transom.checklist.results import BuildRecord, ErrorRow, GeneratedCode, Intervention
from transom.checklist.vectors import STANDARD_SOURCE
from transom.runs import Run

REPORT_FILE = "human_intervention_report.json"

_STUB = '''"""This checker was not finished; see {report}. Its verdict is always ERROR."""

from typing import Dict, List

SCOPE = "file"
SOURCES = [{{"kind": "unfinished", "rank": "primary", "files": ["*"]}}]


def extract_context(text: str, source_file: str) -> List[Dict]:
    raise ValueError("this checker was not finished: {summary}")


{others}'''


def report_of(run: Run, state: BuildState) -> Intervention:
    """Report that a person needs to take over.

    The report names folders of this machine and is never read.
    """
    logic = state.logic.value if state.logic else None
    return Intervention(
        item_id=state.inputs.item_id,
        total_iterations=state.iteration,
        failure_summary=_summary(state),
        error_history=tuple(
            error_row(number, attempt) for number, attempt in enumerate(state.attempts, 1)
        ),
        last_validation_errors=state.findings,
        last_generated_code=GeneratedCode(
            atom_a=state.atom_a.value if state.atom_a else "",
            atoms_b_and_c=logic.atoms if logic else "",
            yaml=state.config.value if state.config else "",
        ),
        key_decisions=state.decisions,
        generated_code_signatures=state.signatures,
        suggested_actions=tuple(_actions(run, state)),
        cache_location=str(run.folder / "build"),
        resume_command=f"transom resume {run.id}",
    )


def error_row(number: int, attempt: RepairAttempt) -> ErrorRow:
    """Return the row of the `number`-th repair with its cause."""
    return ErrorRow(iteration=number, source=attempt.role, errors=attempt.because)


def stub_files(state: BuildState) -> dict[str, bytes]:
    """Return the files, by name, of a checker folder whose verdict is always ERROR."""
    # The summary goes into a string of the code.
    summary = _summary(state).replace("\\", "/").replace('"', "'").replace("\n", " ")
    code = _STUB.format(report=REPORT_FILE, summary=summary, others=STANDARD_SOURCE.strip() + "\n")
    item = ValidationItem(id="2.1", name="Unfinished checker", select="unfinished.checker")
    inputs = state.inputs
    config = CheckerConfig(
        item_id=inputs.item_id, description=inputs.description, capability_type=1, items=(item,)
    )
    return {
        ATOMS_FILE: code.encode("utf-8"),
        CHECKER_FILE: checker_yaml(config).encode("utf-8"),
        BUILD_FILE: pretty_json(_record(state)).encode("utf-8"),
    }


def _record(state: BuildState) -> BuildRecord:
    # A record of gates that ran on other code would lie about this one.
    if state.record and not state.unread:
        return state.record.value.model_copy(update={"status": "human_required"})
    return BuildRecord.unfinished(
        state.inputs.item_id, state.inputs.item_text or "", state.inputs.spec_text
    )


def _summary(state: BuildState) -> str:
    count = state.iteration
    repairs = f"{count} repair{'' if count == 1 else 's'} did not help" if count else ""
    problems = shortly(state.findings) if state.findings else "nothing was found"
    return "; ".join(part for part in (repairs, state.stuck, problems) if part)


def _actions(run: Run, state: BuildState) -> list[str]:
    """Yield steps that could help, such as an edit, another model, or other logs."""
    artifacts = route(state.findings)
    source = (state.config if artifacts == (CHECKER,) else state.atoms) or state.atom_a
    actions = [f"edit {source.path} and give: transom resume {run.id}"] if source else []
    actions.append(
        f'describe what it should do: transom answer {run.id} "YOUR WORDS", then transom resume'
        f" {run.id}"
    )
    if state.stuck:
        actions.append(f"let a model repair it: transom resume {run.id} --model PROVIDER:NAME")
    # If the parser is right, only the logic and Section 2 can disagree.
    if ATOM_A not in artifacts:
        return [*actions, "compare Section 2 of the ItemSpec with the fields that the parser emits"]
    actions.append(
        "compare Sections 1 and 4.1 of the ItemSpec with the real files: formats, keywords,"
        " patterns"
    )
    if any(
        finding.gate.startswith(("schema", "examples", "mutation")) for finding in state.findings
    ):
        actions.append(
            "see whether the input files are the right ones: they may lack the values that the"
            " item asks for"
        )
    return actions
