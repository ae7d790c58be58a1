"""Reads test results of any shape: counts, groups of counts, lists of cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.tool_reports import shares_of_skipped
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, word_list, word_set, words

_ROLES: dict[str, frozenset[str]] = {
    "failed": frozenset({"failed", "fail", "failing", "failure", "broken", "unsuccessful"}),
    "errors": word_set("error errored crashed aborted timed timeout"),
    "passed": frozenset({"passed", "pass", "passing", "success", "successful", "succeeded"}),
    "skipped": word_set("skipped skip ignored disabled xfail xfailed"),
    "blocked": word_set("blocked pending remaining notrun untested unexecuted incomplete"),
    "planned": frozenset({"planned", "todo", "scheduled"}),
    "executed": frozenset({"executed", "ran", "performed"}),
    "total": frozenset({"total", "count", "overall", "run"}),
}
_NOISE = word_set(
    "test case scenario count number num total unit check step of no uat result not yet run"
    " executed overall acceptance integration e2e name list detail n out"
)
_CASES = word_set("test case scenario acceptance uat")
_OTHER_ROLES = _ROLES["failed"] | _ROLES["errors"] | _ROLES["skipped"] | _ROLES["blocked"]
_SUMS = {"summary", "total", "overall", "aggregate", "all", "result"}
STATUS_KEYS = word_list(
    "status result outcome state passed conclusion verdict execution_status success"
)
_MOST_SHOWN = 5


@dataclass
class Group:
    """An object with counts; a count is a number and its node."""

    node: Node
    counts: dict[str, tuple[float, Node]] = field(default_factory=dict)
    depth: int = 0

    def read_nodes(self) -> list[Node]:
        """Return the nodes of its counts; a second count of failures is not among them."""
        nodes = [node for _, node in self.counts.values()]
        for child in self.node.children:
            if child not in nodes and role_of(child.words) in ("passed", "skipped", "total"):
                nodes.append(child)
        return nodes

    @property
    def is_list(self) -> bool:
        """Whether all its counts are lists of failures, which may be only examples."""
        return all(isinstance(node.value, list) for _, node in self.counts.values())

    def failed(self) -> tuple[float, str, list[tuple[float, Node]]] | None:
        """Return the number of failures, the formula, and its operands; None if unknown."""
        parts = [self.counts[role] for role in ("failed", "errors") if role in self.counts]
        if "failed" in self.counts:
            return sum(value for value, _ in parts), " + ".join("ab"[: len(parts)]), parts
        needed = [self.counts.get(role) for role in ("total", "passed")]
        if needed[0] is None or needed[1] is None:
            if parts:
                return (*(sum(v for v, _ in parts), "a"), parts)
            return None
        siblings = [self.counts[role] for role in ("skipped", "blocked") if role in self.counts]
        operands = [needed[0], needed[1], *siblings]
        remainder = operands[0][0] - sum(value for value, _ in operands[1:])
        return max(remainder, 0.0), " - ".join("abcd"[: len(operands)]), operands

    def executed(self) -> tuple[float, str, list[tuple[float, Node]]] | None:
        """Return the number of executed cases, the formula, and its operands; None if unknown."""
        if "executed" in self.counts:
            return self.counts["executed"][0], "a", [self.counts["executed"]]
        ran = [self.counts[role] for role in ("passed", "failed", "errors") if role in self.counts]
        if "passed" in self.counts and "failed" in self.counts:
            return sum(value for value, _ in ran), " + ".join("abc"[: len(ran)]), ran
        if "total" not in self.counts:
            return None
        operands = [
            self.counts["total"],
            *(self.counts[role] for role in ("skipped", "blocked") if role in self.counts),
        ]
        remainder = operands[0][0] - sum(value for value, _ in operands[1:])
        return max(remainder, 0.0), " - ".join("abc"[: len(operands)]), operands


def read_counts(root: Node, prefix: str) -> tuple[list[Observation], list[Remark]]:
    """Return observations `<prefix>.failed`, `.executed`, `.passed`, `.not_run`, `.pass_rate`,
    and contradictions.
    """
    groups = [group for group in _groups(root) if group.node.nature not in ("history", "limit")]
    listed = failing_cases(root)
    measured = [group for group in groups if group.node.nature == "measured"]
    measured = [group for group in measured if not group.is_list] or measured
    observations: list[Observation] = []
    remarks: list[Remark] = []
    for group in groups:
        for node in group.read_nodes():
            remarks.append(Remark(kind="settled", text="a count", locator=node.pointer))
    for cases, _ in listed:
        for case in cases.children:
            remarks.append(Remark(kind="settled", text="a case", locator=case.pointer))
    for group in groups if not measured else ():
        observations += _of_group(group, prefix)
    if measured:
        observations += _of_main(measured, prefix)
    failed = max(
        (entry.number or 0 for entry in observations if entry.measure == f"{prefix}.failed"),
        default=None,
    )
    remarks += _lists_of_failed(root, failed or 0)
    for cases, bad in listed:
        if failed is None:
            observations += _of_cases(cases, bad, prefix)
        elif len(bad) > failed and cases.nature == "measured":
            observations.append(
                derived(
                    f"{prefix}.failed",
                    cases,
                    float(len(bad)),
                    "count of failing cases",
                    _units(bad),
                )
            )
            text = f"{len(bad)} failing cases are listed, the summary counts {failed:g}"
            remarks.append(
                Remark(
                    kind="contradiction",
                    text=text,
                    locator=cases.pointer,
                    measure=f"{prefix}.failed",
                )
            )
        observations += [
            observe(f"{prefix}.case", node, "fail", label=node.label) for node in bad[:_MOST_SHOWN]
        ]
    if not observations:
        observations += _empty_lists(root, prefix)
    for surplus, total in _parts_beyond(measured, failed):
        observations.append(
            derived(
                f"{prefix}.failed",
                surplus[0].node.parent or root,
                total,
                "sum of the parts",
                _failures(surplus),
            )
        )
        text = f"the parts count {total:g} failed, the summary {failed or 0:g}"
        place = (surplus[0].node.parent or root).pointer
        remarks.append(
            Remark(kind="contradiction", text=text, locator=place, measure=f"{prefix}.failed")
        )
    return [*observations, *_rates(root, prefix)], remarks


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


def _units(nodes: Sequence[Node]) -> list[tuple[float, Node]]:
    return [(1.0, node) for node in nodes[:_MOST_SHOWN]]


def role_of(key: Sequence[str]) -> str | None:
    """Return what a key counts: `total_failed` -> `failed`, `tests` -> `total`; None for any
    other key.
    """
    key_set = set(key)
    if {"not", "run"} <= key_set or {"not", "executed"} <= key_set:
        if key_set <= _NOISE:
            return "blocked"
        return None
    for role, names in _ROLES.items():
        if key_set & names and key_set - names <= _NOISE:
            return role
    if key_set and key_set <= word_set("test case scenario unit uat number of"):
        return "total"
    return None


def _groups(root: Node) -> list[Group]:
    groups: list[Group] = []
    level, depth = [root], 0
    while level:
        for node in level:
            if isinstance(node.value, dict) and (group := _group(node, depth)):
                groups.append(group)
        level = [
            child
            for node in level
            for child in node.children
            if isinstance(child.value, dict | list)
        ]
        depth += 1
    # Beside the counts of a whole run, a key such as `failed_checks` counts something else.
    full_groups = [group for group in groups if len(group.counts) > 1]
    return full_groups or groups


def _group(node: Node, depth: int) -> Group | None:
    group = Group(node, depth=depth)
    for child in node.children:
        role = role_of(child.words)
        if role is None or (role == "planned" and child.number is None):
            continue
        number = child.number
        if number is None and isinstance(child.value, list) and role == "failed":
            number = float(sum(1 for entry in child.children if _is_open(entry)))
        if number is not None and (
            role not in group.counts or isinstance(group.counts[role][1].value, list)
        ):
            group.counts[role] = (number, child)
    if "planned" in group.counts and not {"passed", "failed", "executed"} & group.counts.keys():
        return group
    if {"failed", "passed"} & group.counts.keys() and len(group.counts) > 1:
        return group
    return _alone(group)


def _alone(group: Group) -> Group | None:
    """Return a group with a single count only if it is the document itself or its summary."""
    top = group.node.parent is None or bool(_SUMS & set(group.node.words))
    if top and {"failed", "passed"} & group.counts.keys():
        return group
    return None


def _is_open(entry: Node) -> bool:
    status = entry.get("status", "state", "resolution")
    return status is None or words().fate_of(status.value) == "open"


def _of_main(groups: list[Group], prefix: str) -> list[Observation]:
    """Read the group that summarises the document, or the sum of the uppermost groups."""
    least = min(group.depth for group in groups)
    top = [group for group in groups if group.depth == least]
    sums = [group for group in groups if _SUMS & set(group.node.words) and group.depth <= least + 1]
    if len(top) == 1 or sums:
        return _of_group((sums or top)[0] if not (len(top) == 1 and least == 0) else top[0], prefix)
    observations: list[Observation] = []
    place = top[0].node.parent or top[0].node
    for measure, counted in (("failed", Group.failed), ("executed", Group.executed)):
        parts = [counted(group) for group in top]
        parts_found = [part for part in parts if part is not None]
        if parts_found and len(parts_found) == len(parts):
            operands = [entry for part in parts_found for entry in part[2]]
            value = sum(part[0] for part in parts_found)
            observations.append(
                derived(f"{prefix}.{measure}", place, value, "sum of the parts", operands)
            )
    return observations


def _of_group(group: Group, prefix: str) -> list[Observation]:
    observations = []
    for measure, counted in (("failed", group.failed()), ("executed", group.executed())):
        if counted is None:
            continue
        value, formula, operands = counted
        if len(operands) == 1 and not isinstance(operands[0][1].value, list):
            observations.append(observe(f"{prefix}.{measure}", operands[0][1], value))
        elif len(operands) == 1:
            observations.append(
                derived(f"{prefix}.{measure}", operands[0][1], value, "count of entries", [])
            )
        else:
            observations.append(
                derived(f"{prefix}.{measure}", group.node, value, formula, operands)
            )
    for role in ("passed", "skipped", "total", "planned", "blocked"):
        if role in group.counts:
            observations.append(
                observe(f"{prefix}.{role}", group.counts[role][1], group.counts[role][0])
            )
    failed, executed = group.failed(), group.executed()
    if {"total", "passed", "failed"} <= group.counts.keys() and (lost := _unaccounted(group)):
        observations.append(lost.model_copy(update={"measure": f"{prefix}.unaccounted"}))
    if failed and executed and executed[0] > 0:
        passed = executed[0] - failed[0]
        operands = [(failed[0], failed[2][0][1]), (executed[0], executed[2][0][1])]
        rate = 100 * passed / executed[0]
        observations.append(
            derived(
                f"{prefix}.pass_rate", group.node, rate, "100 * (1 - a / b)", operands, unit="%"
            )
        )
    if executed is not None:
        not_run = sum(
            group.counts[role][0] for role in ("skipped", "blocked") if role in group.counts
        )
        for share in shares_of_skipped(prefix, executed[0], not_run, group.node.pointer):
            observations.append(share.model_copy(update={"nature": group.node.nature}))
    total = max(
        (group.counts[role] for role in ("total", "planned") if role in group.counts),
        default=None,
        key=_count,
    )
    # only for UAT: a unit test may be skipped
    if prefix == "uat" and executed and total and total[0] > executed[0]:
        operands = [total, (executed[0], executed[2][0][1])]
        observations.append(
            derived(f"{prefix}.not_run", group.node, total[0] - executed[0], "a - b", operands)
        )
    return observations


def _unaccounted(group: Group) -> Observation | None:
    """Return the number of cases of the total without an outcome."""
    role_children = [
        child
        for child in group.node.children
        if role_of(child.words) not in (None, "total", "executed")
    ]
    operands = [
        group.counts["total"],
        *((node.number, node) for node in role_children if node.number is not None),
    ]
    remainder = operands[0][0] - sum(value for value, _ in operands[1:])
    if remainder > 0:
        return derived("", group.node, remainder, " - ".join("abcdefgh"[: len(operands)]), operands)
    return None


def _count(counted: tuple[float, Node]) -> float:
    return counted[0]


def failing_cases(root: Node) -> list[tuple[Node, list[Node]]]:
    """Return lists of cases that all have a status, each with its failed cases."""
    observations = []
    for node in root.walk():
        if node.nature in ("history", "limit") or not node.children:
            continue
        rows = [(child, case_status(child)) for child in node.children]
        rated_cases = [(child, status) for child, status in rows if status is not None]
        if (
            rated_cases
            and len(rated_cases) == len(rows)
            and len(rated_cases) >= (1 if isinstance(node.value, list) else 2)
        ):
            observations.append(
                (node, [child for child, status in rated_cases if status == "fail"])
            )
    return observations


def case_status(node: Node) -> Status | None:
    """Return the status of an entry of a list of cases; None if it is not a case."""
    if (
        not isinstance(node.value, dict)
        or _group(node, 0) is not None
        or node.get("severity", "priority")
    ):
        return None
    status = node.get(*STATUS_KEYS)
    if status is not None:
        return words().status_of(status.value)
    return None


def _of_cases(cases: Node, bad: list[Node], prefix: str) -> list[Observation]:
    statuses = [case_status(child) for child in cases.children]
    ran = [
        child
        for child, status in zip(cases.children, statuses, strict=True)
        if status in ("pass", "fail")
    ]
    if not ran:
        return [
            observe(
                f"{prefix}.planned",
                cases,
                float(len(statuses)),
                nature="planned",
                formula="count of cases",
            )
        ]
    failed, executed = float(len(bad)), float(len(ran))
    observations = [
        derived(f"{prefix}.failed", cases, failed, "count of failing cases", _units(bad)),
        derived(f"{prefix}.executed", cases, executed, "count of cases that ran", []),
    ]
    not_run = len(statuses) - len(ran)
    if not_run:
        observations.append(
            derived(
                f"{prefix}.not_run", cases, float(not_run), "count of cases that did not run", []
            )
        )
    rate = 100 * (executed - failed) / executed
    return [
        *observations,
        derived(f"{prefix}.pass_rate", cases, rate, "100 * passed / executed", [], unit="%"),
    ]


def _failures(groups: Sequence[Group]) -> list[tuple[float, Node]]:
    return [
        (part[0], part[2][0][1]) for group in groups if (part := group.failed()) and part[0] > 0
    ][:_MOST_SHOWN]


def _parts_beyond(groups: list[Group], failed: float | None) -> list[tuple[list[Group], float]]:
    """Return sets of parts that together count more failures than the document's summary."""
    groups_by_parent: dict[str, list[Group]] = {}
    for group in groups:
        if group.node.parent is not None:
            groups_by_parent.setdefault(group.node.parent.pointer, []).append(group)
    observations = []
    for parts in groups_by_parent.values():
        own = [
            group for group in parts if not _SUMS & set(group.node.words) or group.node.place >= 0
        ]
        total = sum(part[0] for group in own if (part := group.failed()))
        if own and failed is not None and total > failed:
            observations.append((own, total))
    return observations


def _rates(root: Node, prefix: str) -> list[Observation]:
    """Return the pass rate that a document states itself."""
    observations = []
    for node in root.walk():
        key = set(node.words)
        if node.number is None or not {"rate", "percentage", "percent", "pct", "ratio"} & key:
            continue
        if key & _ROLES["passed"] and node.nature not in ("history", "limit"):
            share = "ratio" in key or (
                "." in str(node.value) and "rate" in key and not {"percent", "pct"} & key
            )
            value = node.number * 100 if node.number <= 1 and share else node.number
            observations.append(observe(f"{prefix}.stated_pass_rate", node, value, unit="%"))
    return observations[:1]
