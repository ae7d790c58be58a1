"""What a gate says: a finding names the gate, the artifact, the line and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that a deterministic gate holds against an artifact.

    Attributes:
        gate: name of the gate, e.g. `spec.placeholders`.
        artifact: what it is about: a file name or an artifact's name (`atom_a`, `checker.yaml`).
        line: 1-based line in the artifact, or None where no single line is at fault.
        message: what is wrong and what would be right, one sentence.
    """

    gate: str
    artifact: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.artifact}:{self.line}" if self.line else self.artifact
        return f"{place}: {self.message} [{self.gate}]"

    def to_json(self) -> dict[str, str | int | None]:
        return asdict(self)


def sort_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Stable order for reports: artifact, line, gate, message; each finding once."""
    return sorted(set(findings), key=lambda f: (f.artifact, f.line or 0, f.gate, f.message))
