"""Lessons that a build gives back to the playbook: outcomes for the insights that its roles
named, and new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.checklist.building.artifacts import ATOM_A, route
from transom.checklist.building.state import BuildState
from transom.checklist.building.writing import RESPONSE_FILE, numbered
from transom.evidence.findings import Finding
from transom.learning import (
    ErrorPatterns,
    InsightSource,
    OptimizationOutcome,
    Playbook,
    Reflector,
    cited_in,
    shown_in,
)
from transom.runs import Run

DOMAIN = "checklist"
"""The playbook's domain that the insights of builds and verdicts lie in."""

RECALL = "build/recall"
_FILE = "playbook.txt"
_BY = "checklist"
_PATTERNS = Path(__file__).with_name("gate_errors.yaml")


def learn(run: Run, playbook: Playbook, state: BuildState) -> None:
    """Count each draft for or against the insights that it named.

    What the gates found is added as new insights.

    A draft that a gate objects to speaks against them, one that stands in a checker that passed
    every gate for them. A build that is resumed counts nothing twice.
    """
    reflector = Reflector(playbook, ErrorPatterns(_PATTERNS))
    authors = {"parser": "build/parser", "logic": "build/logic"}
    passed = state.result is not None and state.result.status == "done"
    # The findings that led to a repair are what the draft before it was wrong about.
    findings_of_drafts = [attempt.because for attempt in state.attempts]
    # Nothing is wrong with the last draft of a build that passed.
    findings_of_drafts.append(() if passed else tuple(state.findings))
    for number, findings in enumerate(findings_of_drafts):
        # Draft 0 is that of the parser and the logic; each later one is a repair.
        if number:
            role = state.attempts[number - 1].role
            author = "parser" if role == "repair_a" else "logic"
            authors[author] = numbered(f"build/{role}", number)
        of_parser = []
        for finding in findings:
            if route([finding]) == (ATOM_A,):
                of_parser.append(finding)
        of_logic = []
        for finding in findings:
            if finding not in of_parser and route([finding]):
                of_logic.append(finding)
        # What is wrong with the logic may come of the parser while that is wrong.
        author, wrong = ("parser", of_parser) if of_parser else ("logic", of_logic)
        if wrong:
            source = InsightSource(run.id, authors[author], by=_BY)
            outcome = OptimizationOutcome(
                None, False, solver_errors=told_plainly(wrong), source=source
            )
            reflector.learn(outcome, _keys_in_reply(run.folder, source.stage))
    # Only the last draft of each role stands in the checker that passed.
    for stage in authors.values() if passed else ():
        reflector.learn(
            OptimizationOutcome(None, True, source=InsightSource(run.id, stage, by=_BY)),
            _keys_in_reply(run.folder, stage),
        )
    reflector.commit_insights()


def named_in(build: Path) -> list[str]:
    """Return the insights that the roles of a build named; `build` is the folder of its run."""
    stages = []
    for path in sorted(build.glob(f"build/*/{RESPONSE_FILE}")):
        stages.append(path.parent.relative_to(build).as_posix())
    return [*dict.fromkeys(key for stage in stages for key in _keys_in_reply(build, stage))]


def told_plainly(findings: Sequence[Finding]) -> list[str]:
    """Return the first message of each gate without its place, which differs from draft to draft.

    What the hard-coding gate quotes is a value that no role may see.
    """
    # Reversed, so that the first message of a gate stays.
    first = {finding.gate: finding.message for finding in reversed(findings)}
    gates = dict.fromkeys(finding.gate for finding in findings)
    return [f"[{gate}]" if gate == "hard_coding" else f"[{gate}] {first[gate]}" for gate in gates]


def _keys_in_reply(folder: Path, stage: str) -> tuple[str, ...]:
    """Return the insights named by a stage's reply, of those that the stage was shown."""
    recall, reply = folder / RECALL / _FILE, folder / stage / RESPONSE_FILE
    # A build without a playbook, or a role that never answered.
    if not (recall.is_file() and reply.is_file()):
        return ()
    return cited_in(reply.read_text("utf-8"), shown_in(recall.read_text("utf-8")))
