"""What holds after a storm, whatever was killed, paused, cut off or full."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.workers.farm import REPLIES, Farm
from tests.workers.once_program import EFFECTS
from transom.store import find_damage

_ROW = re.compile(r"^([A-Z_]+) +(\S+-\d+) ", re.MULTILINE)


def rows_of(output: str) -> list[tuple[str, str]]:
    """Return the statuses and the items of a batch's table."""
    return _ROW.findall(output)


def broken_invariants(farm: Farm, ids: list[str], output: str) -> list[str]:
    """Return what is not as it would be without a fault.

    Args:
        ids: the items of the last round.
        output: what the last command printed.
    """
    return [
        *_other_answers(ids, output),
        *_other_files(farm, ids),
        *_lost_or_doubled_records(farm, ids),
        *_wrong_costs(farm, ids),
        *_double_effects(farm.folder),
    ]


def _other_answers(ids: list[str], output: str) -> list[str]:
    problems = []
    rows = rows_of(output)
    others = sorted({item_id for status, item_id in rows if status != "NEEDS_REVIEW"})
    if others:
        problems.append(f"other answers than without faults: {', '.join(others)}")
    if missing := sorted({*ids} - {item_id for _, item_id in rows}):
        problems.append(f"no answer: {', '.join(missing)}")
    return problems


def _other_files(farm: Farm, ids: list[str]) -> list[str]:
    """Return what is wrong with the artifacts: equal items have equal files."""
    texts = Counter[str]()
    for item_id in ids:
        files = sorted((farm.folder / ".transom" / "runs" / item_id).rglob("*_ItemSpec.md"))
        texts["\0".join(file.read_text().replace(item_id, "ID") for file in files)] += 1
    return [] if len(texts) == 1 else [f"{len(texts)} different ItemSpecs of equal items"]


def _lost_or_doubled_records(farm: Farm, ids: list[str]) -> list[str]:
    """Return what is wrong with the journals: chains show what was acknowledged and is gone."""
    problems = find_damage(farm.address, deep=True)
    counts = farm.replies(ids)
    if counts != [REPLIES] * len(ids):
        problems.append(f"replies of each item: {counts}, not {REPLIES}")
    return problems


def _wrong_costs(farm: Farm, ids: list[str]) -> list[str]:
    """Return what is wrong with the purses: each reply of an item costs a dollar."""
    problems = []
    items = 0
    for ledger, spent in farm.purses():
        items += len(spent)
        if any(usd > REPLIES for usd in spent.values()):
            problems.append(f"dollars of each item in a purse: {sorted({*spent.values()})}")
        # A call whose process died counts, whether its reply came or not.
        calls = len(ledger["calls"])
        if sum(spent.values()) + calls < REPLIES * len(spent):
            problems.append(f"a purse has {sum(spent.values())} dollars of {len(spent)} items")
    if items < len(ids):
        problems.append(f"the purses have {items} items of {len(ids)}")
    return problems


def _double_effects(folder: Path) -> list[str]:
    path = folder / EFFECTS
    effects = Counter(path.read_text().split() if path.exists() else [])
    doubled = sorted(number for number, count in effects.items() if count > 1)
    return [f"effects of a once tool that came twice: {', '.join(doubled)}"] if doubled else []
