"""State of the developer flow: artifacts, and what was tried. Nothing is kept here that no stage
keeps.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from transom.checklist.building.artifacts import ATOM_A, CHECKER, tree_of
from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.overview import FileOverview
from transom.checklist.building.reading import LogicReply
from transom.checklist.results import BuildRecord, BuildResult
from transom.evidence.findings import Finding
from transom.runs import A_PERSON, Artifact

_HINTS: Final = {
    "schema": (
        "five keys of the stated types; `line_number` is the line whose text `matched_content` is"
    ),
    "examples": "the example's text, alone in a file, yields its fields",
    "mutation": (
        "each field is read from the line that its entry names, and nothing is kept between calls"
    ),
    "hard_coding": "values of this item stand in checker.yaml and in the files, not in code",
    "yaml": "a dotted field is spelled as the parser emits it",
    "agreement": "the items are those of Section 2",
    "locked_layer": "`extract_context` ends with the lines that the contract shows",
    "questions": "mend what the writer's answer names",
}


@dataclass(frozen=True)
class RepairAttempt:
    """One repair: who was asked, `repair_a` or `repair_b`, and the findings that it was to mend."""

    role: str
    because: tuple[Finding, ...]


@dataclass(frozen=True)
class BuildState:
    """The state of one build.

    Attributes:
        repairs: how often it may be repaired, all in all.
        helps: where people had it go on, and what they said.
        sections: the ItemSpec's sections by number, each an input of its own.
        hints: what the playbook has for the item; None if nobody asked, or it has nothing.
        atom_a, logic: what the roles wrote; None until a reply could be read.
        atoms, config: `atoms.py` and `checker.yaml`, as they are tried; `record` is what the gates
            said of them.
        drafts: files by name that an earlier walk left for a person to finish.
        unread: findings beside the gates': replies that could not be read, answers that say what to
            mend.
        was_asked: whether the writer of atom A was asked the gates' questions; that is done once.
        attempts: the repairs so far.
        fields_changed: whether the last repair of the parser changed what it emits.
        stuck: why nobody can repair, "" while somebody can.
        result: the answer, if the flow has come to its end.
    """

    inputs: BuildInputs
    repairs: int
    helps: Sequence[Mapping[str, Any]] = ()
    sections: Mapping[str, Artifact[str] | str] | None = None
    hints: Artifact[str] | None = None
    overview: Artifact[FileOverview] | None = None
    atom_a: Artifact[str] | None = None
    logic: Artifact[LogicReply] | None = None
    atoms: Artifact[str] | None = None
    config: Artifact[str] | None = None
    drafts: Mapping[str, Artifact[str]] = field(default_factory=dict)
    record: Artifact[BuildRecord] | None = None
    unread: tuple[Finding, ...] = ()
    was_asked: bool = False
    attempts: tuple[RepairAttempt, ...] = ()
    fields_changed: bool = False
    stuck: str = ""
    result: BuildResult | None = None

    @property
    def iteration(self) -> int:
        """Return the number of repairs so far."""
        return len(self.attempts)

    @property
    def guidance(self) -> str:
        """Return the words of people before the next repair, or ""."""
        return "\n\n".join(
            help_row["answer"]
            for help_row in self.helps
            if help_row["after"] <= self.iteration and help_row["answer"]
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings on an unreadable reply, or else on what was tried last."""
        # What could not be read comes first: the gates' findings are of an older draft.
        if self.unread:
            return self.unread
        if self.record:
            return self.record.value.findings
        return ()

    @property
    def decisions(self) -> tuple[dict[str, str], ...]:
        """Return the decisions and their reasons: `{round, decision, reason}` for each repair."""
        rows = []
        for number, attempt in enumerate(self.attempts, 1):
            rows.append(
                {
                    "round": str(number),
                    "decision": attempt.role,
                    "reason": finding_text(attempt.because[0]),
                }
            )
        return tuple(rows)

    @property
    def summary(self) -> str:
        """Return the repairs so far and what remained after each, for whoever repairs next."""
        # The findings of the next repair are what remained of this one.
        remained = [*(attempt.because for attempt in self.attempts[1:]), self.findings]
        rows = []
        for number, (attempt, after) in enumerate(zip(self.attempts, remained, strict=False), 1):
            rows.append(
                f"{number}. {attempt.role}, because of:\n{listed(attempt.because)}\n   What"
                f" remained:\n{listed(after)}"
            )
        return "\n".join(rows)

    @property
    def signatures(self) -> dict[str, str]:
        """Return the functions of `atoms.py` and their parameters, as far as it parses."""
        tree = tree_of(self.atoms.value) if self.atoms else None
        if tree:
            functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        else:
            functions = []
        return {node.name: ast.unparse(node.args) for node in functions}

    def belongs_to_a_person(self, artifact: str) -> bool:
        """Return whether a person wrote or edited it: then no role may write it again."""
        # An edit of the written file or of the part it was made from counts alike.
        atoms = (self.atoms, self.atom_a if artifact == ATOM_A else self.logic)
        artifacts = (self.config, self.logic) if artifact == CHECKER else atoms
        return any(
            artifact_of_build is not None and artifact_of_build.by == A_PERSON
            for artifact_of_build in artifacts
        )


def finding_text(finding: Finding) -> str:
    """Return one finding on one line."""
    place = f"{finding.artifact}:{finding.line}" if finding.line else finding.artifact
    return f"[{finding.gate}] {place}: {finding.message}"


def shortly(findings: tuple[Finding, ...]) -> str:
    """Return the first of the findings, and how many more there are."""
    return finding_text(findings[0]) + (
        f" and {len(findings) - 1} more" if len(findings) > 1 else ""
    )


_CRASH_HINT: Final = "any text gives a list: catch what a line of another form raises, and go on"


def hinted(findings: tuple[Finding, ...]) -> str:
    """Return the findings, one a line, and for each gate what would satisfy it."""
    hints = []
    # A crash has one remedy whatever the gate is.
    for gate, hint in _HINTS.items():
        if any(finding.gate == gate and not _is_crash(finding) for finding in findings):
            hints.append(f"- {gate}: {hint}")
    if any(map(_is_crash, findings)):
        hints.append(f"- crash: {_CRASH_HINT}")
    return "\n".join([listed(findings), *(["", "What satisfies a gate:", *hints] if hints else [])])


def _is_crash(finding: Finding) -> bool:
    return finding.message.startswith("crash: ")


def listed(findings: tuple[Finding, ...]) -> str:
    """Return the findings, one a line."""
    return "\n".join(f"- {finding_text(finding)}" for finding in findings) or "- nothing"
