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
    findings = []
    for gate, message in _of_acceptance(item.accept, today):
        findings.append(Finding(f"accept.{gate}", str(path), file.line_of("accept"), message))
    waivers = item.waivers
    if waivers is None or waivers.value is None:
        return findings

    def finding(gate: str, message: str, index: int | None = None) -> Finding:
        keys = ("waivers", "waive_items") + (() if index is None else (index,))
        return Finding(f"waiver.{gate}", str(path), file.line_of(*keys), message)

    if waivers.value == 0:
        findings.append(finding("all", "everything is waived; name the violations that are meant"))
    if waivers.value == 0 and not waivers.waive_items:
        findings.append(
            finding(
                "reason",
                "nothing says why; write {pattern, reason, owner, expires} into waive_items",
            )
        )
    first_indexes: dict[str, int] = {}
    for index, waiver in enumerate(waivers.waive_items):
        for gate, message in _of_one(waiver, today, comment=waivers.value == 0):
            findings.append(finding(gate, message, index))
        # A second waiver of the same text outlives the first without anybody noticing.
        first = first_indexes.setdefault(waiver.pattern, index)
        if first != index:
            line = file.line_of("waivers", "waive_items", first)
            findings.append(
                finding("twice", f"{waiver.pattern!r} stands in line {line} already", index)
            )
    return findings


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


def _of_one(waiver: Waiver, today: date, *, comment: bool) -> Iterator[tuple[str, str]]:
    if not waiver.reason and not comment:
        yield "reason", f"{waiver.pattern!r} has no reason"
    if not waiver.owner:
        yield "owner", f"{waiver.pattern!r} names nobody who answers for it (owner)"
    if not waiver.expires:
        yield "expires", f"{waiver.pattern!r} has no last day (expires)"
    elif (days_left := (date.fromisoformat(waiver.expires) - today).days) < 0:
        yield "expired", f"{waiver.pattern!r} expired {waiver.expires}; it waives nothing"
    elif days_left <= SOON:
        days = "1 day" if days_left == 1 else f"{days_left} days"
        yield "soon", f"{waiver.pattern!r} ends {waiver.expires}, in {days}"
    if not comment and not set(waiver.pattern.removeprefix("regex:")) - set("*?.^$+| "):
        yield "all", f"{waiver.pattern!r} fits every violation"
