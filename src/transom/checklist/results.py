"""Answers of `check spec`, `check build` and `check lint`: `transom.spec/1`, `transom.build/1`,
`transom.lint/1`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import Field

from transom import __version__
from transom.canonical import Json, digest
from transom.checklist.atoms import Requirements, Shape, Waivers
from transom.checklist.complexity import Complexity
from transom.evidence.findings import Finding

SPEC: Final = "ItemSpec"
"""The artifact of a finding that no repair of the checker could mend: the ItemSpec leaves
something open.
"""


class WordsRow(Shape):
    """Words that the embedded rules could not read, and where they stand."""

    text: str
    where: str


class ReadingRow(Shape):
    """A reading that comes near a description: one sentence, how the item would say it, and what
    today's files give.

    The answer that chooses it by name also accepts the caps of `accepts`, and states the check of
    `check` for values of which the reports name none. `shown` is what it accepts, in few words.
    """

    says: str
    reads_as: dict[str, Json]
    evidence: str
    accepts: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()
    check: Annotated[str, Field(exclude_if=operator.not_)] = ""
    shown: Annotated[tuple[str, ...], Field(exclude_if=operator.not_)] = ()

    @property
    def option(self) -> str:
        """Return the answer as a person reads it, with all that it takes over."""
        parts = [self.says]
        if self.check:
            parts.append(f"and states that the values without a check are of {self.check}")
        if self.accepts:
            parts.append(f"and accepts: {' | '.join(self.shown or self.accepts)}")
        return "; ".join(parts)

    @property
    def option_alone(self) -> str:
        """Return the answer that takes nothing over, or "" if there is nothing."""
        if self.option == self.says:
            return ""
        return f"{self.says}; and accepts nothing else"


class Acceptance(Shape):
    """A person's word that an item may stay unchecked until a day, which counts (ISO 8601).

    `state` says whether it holds on the day of the verdict, or has ended.
    """

    by: str
    reason: str
    until: str
    state: Literal["holds", "ended"]

    @property
    def sentence(self) -> str:
        """Return what it means for the item."""
        if self.state == "holds":
            return f"not checked, accepted by {self.by} until {self.until}"
        return f"the acceptance by {self.by} ended on {self.until}"


class RoundRow(Shape):
    """One round: who answered it and what it took, in tokens."""

    round: int
    by: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cache_write_tokens: int = 0


class SpecResult(Shape):
    """`check spec --format json`. Of `readings` a person may choose one, with the command
    `choose`.
    """

    schema_: Literal["transom.spec/1"] = Field(default="transom.spec/1", alias="schema")
    status: Literal["READY", "NEEDS_REVIEW", "NEEDS_MODEL", "ERROR"]
    item_id: str
    itemspec_path: str | None = None
    complexity: Complexity | None = None
    capability_type: int | None = None
    rounds: tuple[RoundRow, ...] = ()
    findings: tuple[Finding, ...] = ()
    quality: dict[str, Json] = Field(default_factory=dict)
    needs_model: tuple[WordsRow, ...] = ()
    readings: tuple[ReadingRow, ...] = ()
    choose: str | None = None
    run_id: str

    @property
    def exit_code(self) -> int:
        return {"READY": 0, "NEEDS_REVIEW": 1, "ERROR": 2, "NEEDS_MODEL": 3}[self.status]


class GateRow(Shape):
    """One gate of a build. What a gate that was passed says is a remark, e.g. on what it could
    not try.
    """

    gate: str
    passed: bool
    findings: tuple[Finding, ...] = ()


def objections(gates: Iterable[GateRow]) -> tuple[Finding, ...]:
    """Return everything that the gates object to, in their order."""
    rows: list[Finding] = []
    for gate in gates:
        if not gate.passed:
            rows.extend(gate.findings)
    return tuple(rows)


class AnswerRow(Shape):
    """A question of the gates, and what the writer of atom A answered."""

    question: str
    answer: str


class Survivor(Shape):
    """An alteration of the evidence that left the result as it was: what was done, where, and
    what was seen.
    """

    mutation: str
    artifact: str
    line: int | None
    why: str


class MutationRow(Shape):
    """What had to change the result: how many times it did, out of how many, which did not, and
    of what kinds.
    """

    killed: int
    applicable: int
    kinds: tuple[str, ...] = ()
    survivors: tuple[Survivor, ...] = ()


class ExpectedResult(Shape):
    """What comes of a test: the ids of the items that are found, violated or waived, and the
    waivers without use.
    """

    status: Literal["PASS", "FAIL"]
    found: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    unused_waivers: tuple[str, ...] = ()


class Combination(Shape):
    """A test of `check build --tests`, e.g. `VER-01_global_waiver`, on an example of the ItemSpec.

    `result` is what came of it where that is not what was expected.
    """

    name: str
    example: str
    requirements: Requirements
    waivers: Waivers
    expected: ExpectedResult
    result: ExpectedResult | None = None


class BuildResult(Shape):
    """`check build --format json`. `waits_for` says what a person must bring; it makes the exit
    code 3.
    """

    schema_: Literal["transom.build/1"] = Field(default="transom.build/1", alias="schema")
    status: Literal["done", "needs_review", "human_required", "NEEDS_MODEL", "ERROR"]
    item_id: str
    checker_path: str | None = None
    iterations: int = 0
    gates: tuple[GateRow, ...] = ()
    mutation: MutationRow | None = None
    needs_model: tuple[WordsRow, ...] = ()
    waits_for: str | None = None
    run_id: str

    @property
    def findings(self) -> tuple[Finding, ...]:
        return objections(self.gates)

    @property
    def against_spec(self) -> tuple[str, ...]:
        """Return findings of the real files against the ItemSpec.

        They are examples that contradict it, and patterns that match nothing.
        """
        rows = []
        for gate in self.gates:
            for row in gate.findings:
                if gate.gate in ("examples", "patterns"):
                    rows.append(row)
        messages = []
        for row in rows:
            if row.artifact == SPEC:
                messages.append(row.message)
        return tuple(messages)

    @property
    def exit_code(self) -> int:
        if self.waits_for:
            return 3
        return {"done": 0, "needs_review": 3, "ERROR": 2, "human_required": 3, "NEEDS_MODEL": 3}[
            self.status
        ]


class GeneratedCode(Shape):
    """The texts of a checker that was not finished; "" for what could never be read."""

    atom_a: str = ""
    atoms_b_and_c: str = ""
    yaml: str = ""


class ErrorRow(Shape):
    """One repair that was tried, and the findings that it was to mend."""

    iteration: int
    source: str
    errors: tuple[Finding, ...]


class Intervention(Shape):
    """`human_intervention_report.json`: why a build could not be finished, and what a person can
    do about it.
    """

    schema_: Literal["transom.intervention/1"] = Field(
        default="transom.intervention/1", alias="schema"
    )
    status: Literal["HUMAN_INTERVENTION_REQUIRED"] = "HUMAN_INTERVENTION_REQUIRED"
    item_id: str
    total_iterations: int
    failure_summary: str
    error_history: tuple[ErrorRow, ...]
    last_validation_errors: tuple[Finding, ...]
    last_generated_code: GeneratedCode
    key_decisions: tuple[dict[str, str], ...]
    generated_code_signatures: dict[str, str]
    suggested_actions: tuple[str, ...]
    cache_location: str
    resume_command: str


# What only casts doubt on a checker, without showing that it is wrong: a person looks at it in the
# end.
DOUBTS: Final = frozenset({"mutation", "untested"})


class LintResult(Shape):
    """`check lint --format json`. `remarks` are questions of the gates, and what they could not
    try.
    """

    schema_: Literal["transom.lint/1"] = Field(default="transom.lint/1", alias="schema")
    findings: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return 1 if something is wrong, 3 if the gates only doubt."""
        if self.findings and {row.gate for row in self.findings} <= DOUBTS:
            return 3
        return bool(self.findings)


class BuildRecord(Shape):
    """`build.json`: how a checker came to be. No clock, no path: equal builds give equal bytes.

    Attributes:
        complexity: of the item's description, by which the prompts of its ItemSpec were chosen.
        answers: what the writer of atom A answered to the gates' questions.
        tests: those that `--tests` ran.
        files: name -> SHA-256 of `atoms.py` and `checker.yaml` as the gates saw them.
        tried_on: base name -> SHA-256 of each file that the gates tried them on.
    """

    schema_: Literal["transom.built/1"] = Field(default="transom.built/1", alias="schema")
    status: Literal["done", "needs_review", "human_required"]
    transom: str
    item_id: str
    complexity: Complexity | None = None
    item_sha256: str | None = None
    itemspec_sha256: str
    provider: str
    model: str | None = None
    sandbox_level: str
    gates: tuple[GateRow, ...]
    mutation: MutationRow | None = None
    answers: tuple[AnswerRow, ...] = ()
    tests: tuple[Combination, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    tried_on: dict[str, str] = Field(default_factory=dict)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return objections(self.gates)

    @property
    def questions(self) -> tuple[Finding, ...]:
        """Return the questions of the gates to the writer of atom A that nobody answered."""
        answered = {row.question for row in self.answers}
        rows = (row for gate in self.gates if gate.gate == "questions" for row in gate.findings)
        open_questions = []
        for row in rows:
            if row.message not in answered:
                open_questions.append(row)
        return tuple(open_questions)

    @staticmethod
    def of(
        gates: tuple[GateRow, ...],
        item: str,
        spec: str,
        level: str,
        item_id: str,
        provider: str,
        model: str | None,
    ) -> BuildRecord:
        """Return the record of a build, from its gates and the texts that it was made from."""
        return BuildRecord(
            status="done" if all(row.passed for row in gates) else "needs_review",
            transom=__version__,
            item_id=item_id,
            item_sha256=digest(item) if item else None,
            itemspec_sha256=digest(spec),
            provider=provider,
            model=model,
            sandbox_level=level,
            gates=gates,
        )

    @staticmethod
    def unfinished(item_id: str, item: str, spec: str) -> BuildRecord:
        """Return the record of a checker that never came to its gates."""
        record = BuildRecord.of((), item, spec, "none", item_id, "nobody", None)
        return record.model_copy(update={"status": "human_required"})
