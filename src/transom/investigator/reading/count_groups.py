"""Finds the counts of test results in data of any shape: which key counts what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_set, words

CountedNode = tuple[float, Node]
"""A count, and the node that states it."""
CountFormula = tuple[float, str, list[CountedNode]]
"""A calculated count, its formula with letters for the operands, and the operands."""

ROLES: dict[str, frozenset[str]] = {
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
SUMS = {"summary", "total", "overall", "aggregate", "all", "result"}


@dataclass
class Group:
    """An object with counts; a count is a number and its node."""

    node: Node
    counts: dict[str, CountedNode] = field(default_factory=dict)
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

    def of_roles(self, *roles: str) -> list[CountedNode]:
        """Return the counts of some roles, in this order; roles without a count are left out."""
        counts = []
        for role in roles:
            if role in self.counts:
                counts.append(self.counts[role])
        return counts

    def failed(self) -> CountFormula | None:
        """Return the number of failures, the formula, and its operands; None if unknown."""
        parts = self.of_roles("failed", "errors")
        if "failed" in self.counts:
            return _total(parts), " + ".join("ab"[: len(parts)]), parts
        # Without a count of failures, they are what the total has beside the other outcomes.
        whole = self.of_roles("total", "passed")
        if len(whole) == 2:
            return _difference([*whole, *self.of_roles("skipped", "blocked")])
        if parts:
            return _total(parts), "a", parts
        return None

    def executed(self) -> CountFormula | None:
        """Return the number of executed cases, the formula, and its operands; None if unknown."""
        if "executed" in self.counts:
            return self.counts["executed"][0], "a", [self.counts["executed"]]
        if "passed" in self.counts and "failed" in self.counts:
            ran = self.of_roles("passed", "failed", "errors")
            return _total(ran), " + ".join("abc"[: len(ran)]), ran
        if "total" not in self.counts:
            return None
        return _difference(self.of_roles("total", "skipped", "blocked"))


def _total(counts: Iterable[CountedNode]) -> float:
    return sum(value for value, _ in counts)


def _difference(operands: list[CountedNode]) -> CountFormula:
    """Return the first count less the others; never below 0, since outcomes may overlap."""
    remainder = operands[0][0] - _total(operands[1:])
    return max(remainder, 0.0), " - ".join("abcd"[: len(operands)]), operands


def role_of(key: Sequence[str]) -> str | None:
    """Return what a key counts: `total_failed` -> `failed`, `tests` -> `total`; None for any
    other key.
    """
    key_set = set(key)
    # Before the roles: `not_run` has the word of the total in it, and `not_executed` another.
    if {"not", "run"} <= key_set or {"not", "executed"} <= key_set:
        if key_set <= _NOISE:
            return "blocked"
        return None
    for role, names in ROLES.items():
        # A word that is no noise narrows the key: `failed_logins` counts no tests.
        if key_set & names and key_set - names <= _NOISE:
            return role
    if key_set and key_set <= word_set("test case scenario unit uat number of"):
        return "total"
    return None


def groups_of(root: Node) -> list[Group]:
    """Return the objects that hold counts, the uppermost first."""
    groups: list[Group] = []
    level, depth = [root], 0
    while level:
        below = []
        for node in level:
            if isinstance(node.value, dict) and (group := group_of(node, depth)):
                groups.append(group)
            for child in node.children:
                if isinstance(child.value, dict | list):
                    below.append(child)
        level = below
        depth += 1
    # Beside the counts of a whole run, a key such as `failed_checks` counts something else.
    full_groups = []
    for group in groups:
        if len(group.counts) > 1:
            full_groups.append(group)
    return full_groups or groups


def group_of(node: Node, depth: int) -> Group | None:
    """Return the counts of an object; None if it is no summary of tests."""
    group = Group(node, depth=depth)
    for child in node.children:
        role = role_of(child.words)
        if role is None or (role == "planned" and child.number is None):
            continue
        number = child.number
        if number is None and isinstance(child.value, list) and role == "failed":
            number = float(sum(1 for entry in child.children if _is_open(entry)))
        # A number is more reliable than a list, which may show only the first failures.
        is_better = role not in group.counts or isinstance(group.counts[role][1].value, list)
        if number is not None and is_better:
            group.counts[role] = (number, child)
    roles = group.counts.keys()
    if "planned" in roles and not {"passed", "failed", "executed"} & roles:
        return group
    if {"failed", "passed"} & roles and len(roles) > 1:
        return group
    return _alone(group)


def _alone(group: Group) -> Group | None:
    """Return a group with a single count only if it is the document itself or its summary."""
    top = group.node.parent is None or bool(SUMS & set(group.node.words))
    if top and {"failed", "passed"} & group.counts.keys():
        return group
    return None


def _is_open(entry: Node) -> bool:
    status = entry.get("status", "state", "resolution")
    return status is None or words().fate_of(status.value) == "open"
