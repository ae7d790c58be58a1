"""Gates: deterministic checks that yield findings."""

from transom.gates.finding import Finding, sort_findings

__all__ = ["Finding", "sort_findings"]
