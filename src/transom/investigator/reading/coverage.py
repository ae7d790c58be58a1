"""Reads coverage of any shape: the share of lines, and of branches if present."""

from __future__ import annotations

from collections.abc import Iterator

from transom.formats.coverage import CLOSE
from transom.formats.measurements import Observation
from transom.investigator.reading.quoting import derived, observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_set

_LINES = {"line", "statement", "instruction"}
_BRANCHES = {"branch", "condition", "decision"}
# Shares of these are no shares of lines, however the key calls them.
_OTHERS = word_set(
    "function method class mutation requirement file feature scenario api doc documentation change"
    " delta diff difference new changed patch"
)
_CHANGES = word_set("patch delta diff difference changed")
_WHOLE = word_set("overall total summary project all code test global combined aggregate unit")
_PERCENT = word_set(
    "percent pct percentage rate coverage covered value actual ratio current measured"
)
# A list of the worst parts is below the whole, as it should be.
_WORST = word_set("worst lowest least poorest below under weak hotspot uncovered missing")
_COVERED, _TOTAL = {"covered", "hit"}, {"total", "count", "valid", "statement", "all"}


def read_coverage(root: Node) -> list[Observation]:
    """Return observations `coverage.line` and `coverage.branch` of the whole, each with its
    limit.
    """
    observations: list[Observation] = []
    for measure, own, not_own in (
        ("coverage.line", _LINES, _BRANCHES),
        ("coverage.branch", _BRANCHES, _LINES),
    ):
        candidates = []
        # The number of the node keeps the order of the document among equally good ones.
        for number, node in enumerate(root.walk()):
            if not _in_part(node) and _says_share(node, own, not_own):
                candidates.append((_rank(node, own), number, node))
        if candidates:
            _, _, best = min(candidates, key=lambda entry: entry[:2])
            value = _percent(best)
            limit = _limit(best, root, own)
            place = ""
            if limit is not None:
                place = limit.pointer
            bound = _percent(limit) if limit is not None else None
            observations.append(
                observe(measure, best, value, unit="%", limit=bound, limit_at=place, at_most=False)
            )
            observations += _below_total(root, best, measure, own, not_own)
        # A share that the tool prints outranks one that is calculated from its counts.
        elif counts := _from_counts(root, measure, own):
            observations.append(counts)
    return observations


def _below_total(
    root: Node, best: Node, measure: str, own: set[str], not_own: set[str]
) -> Iterator[Observation]:
    """Yield that counts beside a total, or all parts that are listed, are below it."""
    total = _percent(best)
    if counts := _from_counts(root, measure, own):
        counted = float(counts.value)
        if total - counted > CLOSE:
            yield _doubt(best, f"the total is {total:g} %, by its counts {counted:.4g} %")
    parts = []
    for node in root.walk():
        if _in_part(node) and not _WORST & _context(node, 4) and _says_share(node, own, not_own):
            parts.append(_percent(node))
    if len(parts) > 1 and total - max(parts) > CLOSE:
        yield _doubt(best, f"the total is {total:g} %, that of no part above {max(parts):g} %")


def _doubt(best: Node, text: str) -> Observation:
    return observe("source.outcome", best, "conditional", label=text).model_copy(
        update={"said": text}
    )


def _context(node: Node, depth: int = 2) -> set[str]:
    words_around: set[str] = set()
    around: Node | None = node
    for _ in range(depth + 1):
        if around is None:
            break
        words_around |= set(around.words)
        around = around.parent
    return words_around


def _says_share(node: Node, own: set[str], not_own: set[str]) -> bool:
    """Whether a number is a measured share of lines, branches or all code, and of nothing else."""
    number = node.number
    if number is None or not 0 <= number <= 100 or node.nature in ("limit", "history"):
        return False
    # `lines: [1, null, 0]` and `s: {"0": 7}` are how often lines ran.
    if node.place >= 0 or node.key.isdigit():
        return False
    key, context = set(node.words), _context(node, 1)
    # The coverage of a change says nothing of the whole.
    if (
        _CHANGES & context
        or key & (not_own | _OTHERS)
        or {"uncovered", "missing", "missed", "partial"} & key
    ):
        return False
    # `branches: {pct: 71}` is no coverage of lines.
    if context & not_own and not key & own:
        return False
    if own is _BRANCHES and not context & own:
        return False
    # `covered: 164` is a count of lines, and no share of 164 %.
    if key & _TOTAL - _LINES - _WHOLE or (
        key & _COVERED and not key & {"percent", "pct", "percentage"}
    ):
        return False
    if _of_nothing(node):
        return False
    covers = bool({"coverage", "covered"} & _context(node, 2)) or _document_of_coverage(node)
    siblings = node.parent.children if node.parent is not None else ()
    if (
        "total" in key
        and not key & (_PERCENT - _COVERED)
        and any(_COVERED & set(child.words) for child in siblings)
    ):
        return False  # a count of lines, not a share
    return covers and bool(key & (_PERCENT | own | _WHOLE)) and not {"test", "count"} <= key


def _of_nothing(node: Node) -> bool:
    """Return whether the total beside a share is zero: of nothing no share was measured."""
    for child in node.parent.children if node.parent is not None else ():
        if child.number == 0 and {"total", "valid", "count"} & set(child.words):
            return True
    return False


def _document_of_coverage(node: Node) -> bool:
    return bool(node.words and set(node.words) & (_LINES | _BRANCHES | _PERCENT | _WHOLE))


def _in_part(node: Node) -> bool:
    """Whether a node belongs to one module or file, not to the whole."""
    around = node.parent
    if around is not None and _is_measure_of_project(around):
        return False
    while around is not None:
        parts = word_set("module file package component class directory service layer uncovered")
        if around.place >= 0 or parts & set(around.words):
            return True
        around = around.parent
    return False


def _is_measure_of_project(row: Node) -> bool:
    """Return whether a row such as `{"metric": "line_coverage", "value": 88}` stands in the list
    that SonarQube gives of a whole project.
    """
    if row.place < 0 or row.get("metric") is None or row.parent is None:
        return False
    component = row.parent.parent
    if component is None or component.key not in ("", "component"):
        return False
    qualifier = component.get("qualifier")
    return qualifier is None or qualifier.value == "TRK"


def _rank(node: Node, own: set[str]) -> tuple[int, ...]:
    node_words, around = set(node.words), _context(node, 1)
    # Tools print both lines and statements; lines are what a policy means.
    exact = 1
    if own is not _LINES or "line" in around:
        exact = 0
    return (
        0 if around & own else 1,
        exact,
        0 if around & _WHOLE else 1,
        node.pointer.count("/") + (0 if node_words & own else 1),
    )


def _percent(node: Node) -> float:
    number = node.number or 0.0
    written = str(node.value)
    share = (
        number <= 1
        and not written.rstrip().endswith("%")
        and not {"percent", "pct", "percentage"} & set(node.words)
    )
    # 1 is a whole or one percent; nobody writes one percent as a bare 1 for code coverage.
    if share and ("." in written or number == 1):
        return round(number * 100, 6)
    return number


def _limit(best: Node, root: Node, own: set[str]) -> Node | None:
    limits = []
    for node in root.walk():
        if (
            node.number is not None
            and node.nature == "limit"
            and 0 < node.number <= 100
            and not _in_part(node)
        ):
            limits.append(node)
    # The limit beside the share is the nearest, then one of its kind, then one of none.
    own_limits = []
    for node in limits:
        if own & _context(node, 1):
            own_limits.append(node)
    siblings = []
    for node in limits:
        if node.parent is best.parent and not (_LINES | _BRANCHES) & set(node.words):
            siblings.append(node)
    plain = []
    for node in limits:
        if (
            own is _LINES
            and not (_BRANCHES | _OTHERS) & _context(node, 1)
            and not _LINES & _context(node, 1)
        ):
            plain.append(node)
    return next(iter([*siblings, *own_limits, *plain]), None)


def _from_counts(root: Node, measure: str, own: set[str]) -> Observation | None:
    """Compute a share from counts: `lines: {total: 200, covered: 164}`, `lines_covered: 164`."""
    for node in root.walk():
        if (
            not isinstance(node.value, dict)
            or node.nature in ("history", "limit")
            or _in_part(node)
        ):
            continue
        within = bool(own & set(node.words))
        numbers = []
        for child in node.children:
            if child.number is not None and (within or own & set(child.words)):
                numbers.append(child)
        covered = []
        for child in numbers:
            if _COVERED & set(child.words):
                covered.append(child)
        total = []
        for child in numbers:
            if child not in covered and _TOTAL & set(child.words):
                total.append(child)
        if covered and total and (of := total[0].number):
            hit = covered[0].number or 0.0
            operands = [(hit, covered[0]), (of, total[0])]
            return derived(measure, node, 100 * hit / of, "100 * a / b", operands, unit="%")
    return None
