"""The result of a gate: gate, artifact, line and message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One defect that a deterministic gate found in an artifact.

    Attributes:
        gate: the gate's name, e.g. `spec.placeholders`.
        artifact: the name of the file or artifact (`atom_a`, `checker.yaml`).
        line: 1-based line in the artifact, or None if no single line is at fault.
        message: the defect and the correction, one sentence.
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
    """Sort findings for reports: by artifact, line, gate, message; each once."""
    return sorted(set(findings), key=lambda f: (f.artifact, f.line or 0, f.gate, f.message))
