"""A copy of the example data that a test may change, and the way from a folder to a decision
without a run.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from transom.formats.places import PlaceIndex, stands_in
from transom.investigator.deciding import Decision, decide
from transom.investigator.gathering import read_source, sources_of, unread
from transom.investigator.ledger import Ledger
from transom.investigator.policy import CriterionWaiver, load_policy
from transom.investigator.sources import DataFolder

EXAMPLES = Path(__file__).parents[2] / "examples" / "incoming_data"
_LONG = ("API_*", "USER_*", "TEST_STRATEGY*", "MEETING_*", "DATABASE_*", "OPERATIONS_*")
TODAY = date(2026, 9, 20)
READY, NOT_READY, MIXED, PARTIAL, STEERED, TOOLS = (f"feature{n}" for n in range(1, 7))


def copy_of(folder: str, target: Path) -> Path:
    """The example feature in a data folder of its own, with its mandatory documents; returns the
    feature's folder.
    """
    shutil.copytree(EXAMPLES / folder, target / folder, ignore=shutil.ignore_patterns(*_LONG))
    return target / folder


def change(path: Path, edit: Callable[[Any], Any]) -> None:
    """Change a JSON file in place, or put what `edit` returns in its place."""
    data = json.loads(path.read_text(encoding="utf-8"))
    made = edit(data)
    path.write_text(
        json.dumps(data if made is None else made, ensure_ascii=False), encoding="utf-8"
    )


def judged(
    root: Path,
    folder: str,
    target: str | None = None,
    waivers: tuple[CriterionWaiver, ...] = (),
    as_of: date = TODAY,
) -> tuple[Decision, Ledger]:
    """The decision on a feature, with the rules alone."""
    data, policy = DataFolder(root), load_policy()
    feature = data.feature(folder)
    readings = [read_source(data, ref) for ref in sources_of(data, feature)]
    current = policy.stage_of(feature.status, feature.category)
    ledger = Ledger(data.read)
    decision = decide(
        policy,
        feature,
        readings,
        ledger,
        current=current,
        target=target or (policy.after(current) if current else policy.stages[-1]),
        waivers=waivers,
        as_of=as_of,
        unread=unread(data, feature),
    )
    return decision, ledger


def status(decision: Decision, criterion: str) -> str:
    """`pass`, `fail`, `waived`, or the kind of doubt."""
    one = next(one for one in decision.criteria if one.id == criterion)
    return one.doubt if one.status == "unknown" else one.status


def misplaced(ledger: Ledger, read: Callable[[str], bytes]) -> list[str]:
    """Entries whose value does not stand at their place in the source as it is now."""
    wrong = []
    for row in ledger:
        text = PlaceIndex(read(row.source), row.source).at(row.locator)
        derived = row.formula and (text or row.locator == "")
        if not derived and not stands_in(row.value, text) and not stands_in(row.quote, text):
            wrong.append(f"{row.id} {row.source}#{row.locator} {row.value}")
    return wrong
