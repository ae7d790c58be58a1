"""What a build takes from the playbook and gives back: insights for its roles, outcomes for those that they named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transom.checklist.build.artifacts import ATOM_A, route
from transom.checklist.build.state import BuildState
from transom.checklist.build.writing import RESPONSE_FILE, numbered
from transom.gates import Finding
from transom.learning import (
    ErrorPatterns,
    InsightCategory,
    OptimizationOutcome,
    Outcome,
    Playbook,
    Reflector,
    Source,
    cited_in,
    ids_in,
)
from transom.learning.insight import Draft
from transom.learning.reader import PLAYBOOK_TOKENS
from transom.runs import Artifact, Run, Stage, text_file

DOMAIN = "checklist"
"""The playbook's domain that the insights of builds and verdicts lie in."""

RECALL = "build/recall"
_FILE = "playbook.txt"
_BY = "checklist"
_PATTERNS = Path(__file__).with_name("gate_errors.yaml")


async def recall(run: Run, playbook: Playbook, description: str) -> Artifact[str]:
    """What the playbook has for an item, as text; asked once, so that a build that is resumed sees the same."""

    async def step(_: Stage, query: str) -> str:
        # Who answers is not known yet, so what must stay on this machine is left out.
        blocks = await playbook.snapshot(local=False).blocks(query, PLAYBOOK_TOKENS)
        return "\n".join(block.text for block in blocks)

    return await run.stage(RECALL, step, description, out=text_file(_FILE))


def learn(run: Run, playbook: Playbook, state: BuildState) -> None:
    """Count each draft for or against the insights that it named, and add what the gates found as insights.

    A draft that a gate objects to speaks against them, one that stands in a checker that passed every gate for them.
    A build that is resumed counts nothing twice.
    """
    reflector = Reflector(playbook, ErrorPatterns(_PATTERNS))
    authors = {"parser": "build/parser", "logic": "build/logic"}
    passed = state.result is not None and state.result.status == "done"
    for number, findings in enumerate([*(one.because for one in state.tried), () if passed else state.findings]):
        if number:
            role = state.tried[number - 1].role
            authors["parser" if role == "repair_a" else "logic"] = numbered(f"build/{role}", number)
        of_parser = [one for one in findings if route([one]) == (ATOM_A,)]
        of_logic = [one for one in findings if one not in of_parser and route([one])]
        # What is wrong with the logic may come of the parser while that is wrong.
        author, wrong = ("parser", of_parser) if of_parser else ("logic", of_logic)
        if wrong:
            stage, messages = authors[author], told_plainly(wrong)
            kinds = reflector.patterns.tags_of(messages)
            playbook.record(
                Outcome(False, run.id, stage, kinds=kinds, source=Source(by=_BY)), _named(run.folder, stage)
            )
            source = Source(run=run.id, stage=stage, by=_BY)
            reflector.analyze_trial(OptimizationOutcome(None, False, solver_errors=messages, source=source))
    for stage in authors.values() if passed else ():
        playbook.record(Outcome(True, run.id, stage, source=Source(by=_BY)), _named(run.folder, stage))
    reflector.commit_insights()


def judged(playbook: Playbook, build: Path, outcome: Outcome, why: str = "") -> tuple[list[str], str]:
    """Take in what a person says of a verdict.

    Args:
        build: the folder of the run that built the checker.
        outcome: of the verdict; `good` where it is confirmed.
        why: a sentence on what was wrong, which becomes an insight; "" for none.

    Returns:
        The ids that it was counted for, and the id of the insight; "" where there is none.
    """
    stages = [path.parent.relative_to(build).as_posix() for path in sorted(build.glob(f"build/*/{RESPONSE_FILE}"))]
    named = dict.fromkeys(key for stage in stages for key in _named(build, stage))
    counted = playbook.record(outcome, named)
    if not why:
        return counted, ""
    source = Source(outcome.run, outcome.stage, by=outcome.source.by)
    draft = Draft(InsightCategory.MISTAKE, why, ("verdict",), source, f"domain/{DOMAIN}")
    return counted, playbook.add(draft)[0].id


def told_plainly(findings: Sequence[Finding]) -> list[str]:
    """The first message of each gate, without its place, which differs from draft to draft.

    What the hard-coding gate quotes is a value that no role may see.
    """
    first = {one.gate: one.message for one in reversed(findings)}
    gates = dict.fromkeys(one.gate for one in findings)
    return [f"[{gate}]" if gate == "hard_coding" else f"[{gate}] {first[gate]}" for gate in gates]


def _named(folder: Path, stage: str) -> tuple[str, ...]:
    """The insights that the reply of a stage named, of those that it was shown."""
    shown, reply = folder / RECALL / _FILE, folder / stage / RESPONSE_FILE
    if not (shown.is_file() and reply.is_file()):
        return ()
    return cited_in(reply.read_text("utf-8"), ids_in(shown.read_text("utf-8")))
