"""A check that a person states for values of which the report does not name it.

"worst slack 0.53" may be the slack of setup or of hold. A person is asked once; the item keeps the
answer, and each verdict repeats who gave it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from transom.checklist.atoms import ClaimRow
from transom.formats.reports import Measurement


def with_stated_check(
    row: ClaimRow, measurements: Sequence[Measurement], names: Collection[str]
) -> tuple[Sequence[Measurement], str]:
    """Return measurements, of the stated check if the report names none, and who stated that.

    Args:
        row: the claim, with what a person stated.
        measurements: all measurements of a file.
        names: the measurements that prove or break the claim.
    """
    if not row.stated_check:
        return measurements, ""
    changed = list[Measurement]()
    lines = list[int]()
    for fact in measurements:
        # As the checker does it: a name that is only usual for the tool gives way, too.
        if "check" not in fact.scope or fact.scope.get("assumed") == "check":
            fact = fact._replace(scope={**fact.scope, "check": row.stated_check})
            if fact.name in names:
                lines.append(fact.line)
        changed.append(fact)
    if not lines:
        return changed, ""
    words = f"the report does not name the check of line {lines[0]}"
    return changed, f"{words}; {row.stated_by} states that it is {row.stated_check}"
