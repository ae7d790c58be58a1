"""Reads test results of any shape: counts, groups of counts, lists of cases."""

from __future__ import annotations

from collections.abc import Sequence

from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.count_groups import (
    ROLES,
    SUMS,
    CountedNode,
    Group,
    group_of,
    groups_of,
    role_of,
)
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.tool_reports import shares_of_skipped
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, word_list, word_set, words

_CASES = word_set("test case scenario acceptance uat")
_OTHER_ROLES = ROLES["failed"] | ROLES["errors"] | ROLES["skipped"] | ROLES["blocked"]
STATUS_KEYS = word_list(
    "status result outcome state passed conclusion verdict execution_status success"
)
_MOST_SHOWN = 5


def read_counts(root: Node, prefix: str) -> tuple[list[Observation], list[Remark]]:
    """Return observations `<prefix>.failed`, `.executed`, `.passed`, `.not_run`, `.pass_rate`,
    and contradictions.
    """
    groups = []
    for group in groups_of(root):
        if group.node.nature not in ("history", "limit"):
            groups.append(group)
    measured = _measured(groups)
    listed = failing_cases(root)
    remarks = _read_places(groups, listed)
    observations: list[Observation] = []
    if measured:
        observations += _of_main(measured, prefix)
    else:
        # Planned and estimated counts are reported as such, each for itself.
        for group in groups:
            observations += _of_group(group, prefix)
    failed = _most_failed(observations, prefix)
    remarks += _lists_of_failed(root, failed or 0)
    for cases, bad in listed:
        if failed is None:
            observations += _of_cases(cases, bad, prefix)
        elif len(bad) > failed and cases.nature == "measured":
            text = f"{len(bad)} failing cases are listed, the summary counts {failed:g}"
            operands = _units(bad)
            observations.append(
                derived(
                    f"{prefix}.failed", cases, float(len(bad)), "count of failing cases", operands
                )
            )
            remarks.append(_contradiction(text, cases, prefix))
        for node in bad[:_MOST_SHOWN]:
            observations.append(observe(f"{prefix}.case", node, "fail", label=node.label))
    if not observations:
        observations += _empty_lists(root, prefix)
    for surplus, total in _parts_beyond(measured, failed):
        place = surplus[0].node.parent or root
        text = f"the parts count {total:g} failed, the summary {failed or 0:g}"
        operands = _failures(surplus)
        observations.append(derived(f"{prefix}.failed", place, total, "sum of the parts", operands))
        remarks.append(_contradiction(text, place, prefix))
    return [*observations, *_rates(root, prefix)], remarks


def _most_failed(observations: Sequence[Observation], prefix: str) -> float | None:
    """Return the greatest count of failures; None if nothing counts them."""
    counts = []
    for entry in observations:
        if entry.measure == f"{prefix}.failed":
            counts.append(entry.number or 0.0)
    return max(counts, default=None)


def _measured(groups: Sequence[Group]) -> list[Group]:
    """Return the groups that were measured; those of bare lists only if there is nothing else."""
    measured = []
    numbered = []
    for group in groups:
        if group.node.nature == "measured":
            measured.append(group)
            if not group.is_list:
                numbered.append(group)
    return numbered or measured


def _read_places(
    groups: Sequence[Group], listed: Sequence[tuple[Node, list[Node]]]
) -> list[Remark]:
    """Return the places that the counts explain, so that nobody asks what they mean."""
    remarks = list[Remark]()
    for group in groups:
        for node in group.read_nodes():
            remarks.append(Remark(kind="settled", text="a count", locator=node.pointer))
    for cases, _ in listed:
        for case in cases.children:
            remarks.append(Remark(kind="settled", text="a case", locator=case.pointer))
    return remarks


def _contradiction(text: str, place: Node, prefix: str) -> Remark:
    measure = f"{prefix}.failed"
    return Remark(kind="contradiction", text=text, locator=place.pointer, measure=measure)


def _empty_lists(root: Node, prefix: str) -> list[Observation]:
    """Return that no case ran, for a list of cases that has no entry: `"scenarios": []`."""
    for node in root.walk():
        key = set(node.words)
        is_empty = isinstance(node.value, list) and not node.value
        # `failed_tests: []` lists what went wrong, and is no list of cases.
        if is_empty and key & _CASES and not key & _OTHER_ROLES:
            formula = "count of cases"
            return [observe(f"{prefix}.executed", node, 0.0, formula=formula, nature="measured")]
    return []


def _lists_of_failed(root: Node, failed: float) -> list[Remark]:
    """Return the lists of the tests that were counted as failed, which say nothing new."""
    remarks = list[Remark]()
    for node in root.walk():
        is_list = isinstance(node.value, list) and role_of(node.words) == "failed"
        if is_list and len(node.children) <= failed:
            remarks.append(Remark(kind="settled", text="a list", locator=node.pointer))
    return remarks


def _units(nodes: Sequence[Node]) -> list[CountedNode]:
    return [(1.0, node) for node in nodes[:_MOST_SHOWN]]


def _of_main(groups: list[Group], prefix: str) -> list[Observation]:
    """Read the group that summarises the document, or the sum of the uppermost groups."""
    least = min(group.depth for group in groups)
    top = []
    sums = []
    for group in groups:
        if group.depth == least:
            top.append(group)
        # A summary may stand one level below a part that is named before it.
        if SUMS & set(group.node.words) and group.depth <= least + 1:
            sums.append(group)
    if len(top) == 1 and (least == 0 or not sums):
        return _of_group(top[0], prefix)
    if sums:
        return _of_group(sums[0], prefix)
    observations: list[Observation] = []
    place = top[0].node.parent or top[0].node
    for measure, counted in (("failed", Group.failed), ("executed", Group.executed)):
        value = 0.0
        operands: list[CountedNode] = []
        parts = 0
        for group in top:
            part = counted(group)
            if part is not None:
                value += part[0]
                operands += part[2]
                parts += 1
        # A sum without the count of one part would be too small, and look complete.
        if parts == len(top):
            sum_of_parts = derived(
                f"{prefix}.{measure}", place, value, "sum of the parts", operands
            )
            observations.append(sum_of_parts)
    return observations


def _of_group(group: Group, prefix: str) -> list[Observation]:
    """Return what a group counts, and the shares that follow from it."""
    observations = _of_formulas(group, prefix)
    for role in ("passed", "skipped", "total", "planned", "blocked"):
        if role in group.counts:
            value, node = group.counts[role]
            observations.append(observe(f"{prefix}.{role}", node, value))
    if {"total", "passed", "failed"} <= group.counts.keys() and (lost := _unaccounted(group)):
        observations.append(lost.model_copy(update={"measure": f"{prefix}.unaccounted"}))
    failed, executed = group.failed(), group.executed()
    if failed and executed and executed[0] > 0:
        operands = [(failed[0], failed[2][0][1]), (executed[0], executed[2][0][1])]
        rate = 100 * (executed[0] - failed[0]) / executed[0]
        formula = "100 * (1 - a / b)"
        observations.append(
            derived(f"{prefix}.pass_rate", group.node, rate, formula, operands, unit="%")
        )
    if executed is not None:
        not_run = sum(count for count, _ in group.of_roles("skipped", "blocked"))
        for share in shares_of_skipped(prefix, executed[0], not_run, group.node.pointer):
            observations.append(share.model_copy(update={"nature": group.node.nature}))
    # Only for acceptance tests: a unit test may be skipped for good reasons.
    if prefix == "uat" and executed:
        total = max(group.of_roles("total", "planned"), default=None, key=_count)
        if total and total[0] > executed[0]:
            operands = [total, (executed[0], executed[2][0][1])]
            rest = total[0] - executed[0]
            observations.append(derived(f"{prefix}.not_run", group.node, rest, "a - b", operands))
    return observations


def _of_formulas(group: Group, prefix: str) -> list[Observation]:
    """Return the counts of failed and executed tests, which may have to be calculated."""
    observations = []
    for measure, counted in (("failed", group.failed()), ("executed", group.executed())):
        if counted is None:
            continue
        value, formula, operands = counted
        name = f"{prefix}.{measure}"
        first = operands[0][1]
        if len(operands) > 1:
            observations.append(derived(name, group.node, value, formula, operands))
        elif isinstance(first.value, list):
            observations.append(derived(name, first, value, "count of entries", []))
        else:
            observations.append(observe(name, first, value))
    return observations


def _unaccounted(group: Group) -> Observation | None:
    """Return the number of cases of the total without an outcome."""
    operands = [group.counts["total"]]
    for child in group.node.children:
        is_outcome = role_of(child.words) not in (None, "total", "executed")
        if is_outcome and child.number is not None:
            operands.append((child.number, child))
    remainder = operands[0][0] - sum(value for value, _ in operands[1:])
    if remainder > 0:
        return derived("", group.node, remainder, " - ".join("abcdefgh"[: len(operands)]), operands)
    return None


def _count(counted: CountedNode) -> float:
    return counted[0]


def failing_cases(root: Node) -> list[tuple[Node, list[Node]]]:
    """Return lists of cases that all have a status, each with its failed cases."""
    lists = []
    for node in root.walk():
        if node.nature in ("history", "limit") or not node.children:
            continue
        # One entry makes a list of cases, but an object with one status may be anything.
        least = 1 if isinstance(node.value, list) else 2
        statuses = [case_status(child) for child in node.children]
        if None in statuses or len(statuses) < least:
            continue
        failed = []
        for child, status in zip(node.children, statuses, strict=True):
            if status == "fail":
                failed.append(child)
        lists.append((node, failed))
    return lists


def case_status(node: Node) -> Status | None:
    """Return the status of an entry of a list of cases; None if it is not a case."""
    if not isinstance(node.value, dict) or group_of(node, 0) is not None:
        return None
    # An entry with a severity is a finding, and its status tells whether it is open.
    if node.get("severity", "priority"):
        return None
    status = node.get(*STATUS_KEYS)
    if status is not None:
        return words().status_of(status.value)
    return None


def _of_cases(cases: Node, bad: list[Node], prefix: str) -> list[Observation]:
    """Count the cases of a list that has no summary."""
    total = len(cases.children)
    ran = 0
    for child in cases.children:
        if case_status(child) in ("pass", "fail"):
            ran += 1
    if not ran:
        # Cases without a result are a plan.
        formula = "count of cases"
        name = f"{prefix}.planned"
        return [observe(name, cases, float(total), nature="planned", formula=formula)]
    failed, executed = float(len(bad)), float(ran)
    observations = [
        derived(f"{prefix}.failed", cases, failed, "count of failing cases", _units(bad)),
        derived(f"{prefix}.executed", cases, executed, "count of cases that ran", []),
    ]
    if total > ran:
        formula = "count of cases that did not run"
        observations.append(derived(f"{prefix}.not_run", cases, float(total - ran), formula, []))
    rate = 100 * (executed - failed) / executed
    formula = "100 * passed / executed"
    observations.append(derived(f"{prefix}.pass_rate", cases, rate, formula, [], unit="%"))
    return observations


def _failures(groups: Sequence[Group]) -> list[CountedNode]:
    failures = []
    for group in groups:
        part = group.failed()
        if part and part[0] > 0:
            failures.append((part[0], part[2][0][1]))
    return failures[:_MOST_SHOWN]


def _parts_beyond(groups: list[Group], failed: float | None) -> list[tuple[list[Group], float]]:
    """Return sets of parts that together count more failures than the document's summary."""
    groups_by_parent: dict[str, list[Group]] = {}
    for group in groups:
        if group.node.parent is not None:
            groups_by_parent.setdefault(group.node.parent.pointer, []).append(group)
    surplus = []
    for parts in groups_by_parent.values():
        own = []
        total = 0.0
        for group in parts:
            # The summary beside its parts would count each failure twice.
            if SUMS & set(group.node.words) and group.node.place < 0:
                continue
            own.append(group)
            part = group.failed()
            total += part[0] if part else 0.0
        if own and failed is not None and total > failed:
            surplus.append((own, total))
    return surplus


def _rates(root: Node, prefix: str) -> list[Observation]:
    """Return the pass rate that a document states itself."""
    observations = []
    for node in root.walk():
        key = set(node.words)
        if node.number is None or not {"rate", "percentage", "percent", "pct", "ratio"} & key:
            continue
        if key & ROLES["passed"] and node.nature not in ("history", "limit"):
            # `pass_rate: 0.97` is a share of 1, `pass_rate: 1` and `pass_percent: 0.97` are not.
            is_rate = "rate" in key and not {"percent", "pct"} & key
            is_share = "ratio" in key or ("." in str(node.value) and is_rate)
            value = node.number * 100 if node.number <= 1 and is_share else node.number
            observations.append(observe(f"{prefix}.stated_pass_rate", node, value, unit="%"))
    return observations[:1]
