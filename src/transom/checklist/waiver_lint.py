"""`check waiver lint`: what a reviewer asks of waivers, and of the acceptance of an unchecked item,
before a sign-off rests on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from transom.checklist.atoms import Waiver
from transom.checklist.item import AcceptEntry, load_item
from transom.evidence.findings import Finding
from transom.formats.yaml_files import load_yaml

SOON = 30
"""Days before its end in which a waiver is remarked upon."""


def waiver_findings(path: Path, today: date) -> list[Finding]:
    """Return the findings on an item's acceptance and waivers; a gate `.soon` is only a remark.

    Raises:
        InputError: it is no item.
    """
    item, file = load_item(path), load_yaml(path)
    accepted = [
        Finding(f"accept.{gate}", str(path), file.line_of("accept"), message)
        for gate, message in _of_acceptance(item.accept, today)
    ]
    waivers = item.waivers
    if waivers is None or waivers.value is None:
        return accepted

    def finding(gate: str, message: str, index: int | None = None) -> Finding:
        at = ("waivers", "waive_items") + (() if index is None else (index,))
        return Finding(f"waiver.{gate}", str(path), file.line_of(*at), message)

    found = accepted
    if waivers.value == 0:
        found.append(finding("all", "everything is waived; name the violations that are meant"))
    if waivers.value == 0 and not waivers.waive_items:
        found.append(
            finding(
                "reason",
                "nothing says why; write {pattern, reason, owner, expires} into waive_items",
            )
        )
    seen: dict[str, int] = {}
    for index, one in enumerate(waivers.waive_items):
        found += [
            finding(gate, message, index)
            for gate, message in _of_one(one, today, comment=waivers.value == 0)
        ]
        first = seen.setdefault(one.pattern, index)
        if first != index:
            line = file.line_of("waivers", "waive_items", first)
            found.append(finding("twice", f"{one.pattern!r} stands in line {line} already", index))
    return found


def _of_acceptance(accept: AcceptEntry | None, today: date) -> Iterator[tuple[str, str]]:
    """Yield whether an acceptance has ended, or ends soon."""
    if accept is None:
        return
    days_left = (date.fromisoformat(accept.until) - today).days
    if days_left < 0:
        yield "ended", f"the acceptance by {accept.by} ended on {accept.until}"
    elif days_left <= SOON:
        days = f"{days_left} day{'' if days_left == 1 else 's'}"
        yield "soon", f"the acceptance by {accept.by} ends on {accept.until}, in {days}"


def _of_one(one: Waiver, today: date, *, comment: bool) -> Iterator[tuple[str, str]]:
    if not one.reason and not comment:
        yield "reason", f"{one.pattern!r} has no reason"
    if not one.owner:
        yield "owner", f"{one.pattern!r} names nobody who answers for it (owner)"
    if not one.expires:
        yield "expires", f"{one.pattern!r} has no last day (expires)"
    elif (left := (date.fromisoformat(one.expires) - today).days) < 0:
        yield "expired", f"{one.pattern!r} expired {one.expires}; it waives nothing"
    elif left <= SOON:
        yield "soon", f"{one.pattern!r} ends {one.expires}, in {left} day{'' if left == 1 else 's'}"
    if not comment and not set(one.pattern.removeprefix("regex:")) - set("*?.^$+| "):
        yield "all", f"{one.pattern!r} fits every violation"
