"""Reads a table that people decided row by row: each scenario, release or requirement by itself."""

from __future__ import annotations

from transom.formats.measurements import Observation
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.review_decisions import APPROVED, REVOKED, decision_of
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import key_words, word_set, words

_DECIDING = word_set(
    "decision decided approval approved accept accepted acceptance sign signed signoff verdict vote"
)
_DECIDED = APPROVED | REVOKED | word_set("accepted accept reject refused")


def row_decisions(root: Node) -> list[Observation]:
    """Return the decision of each row as `review.person`; none if the rows hold no decisions.

    A case that passed was not accepted by that: a column must be called a decision, or each of its
    words must be one. A row whose cell is empty is pending.
    """
    rows = [row for row in root.children if isinstance(row.value, dict)]
    if not rows or not isinstance(root.value, list) or len(rows) < len(root.children):
        return []
    observations = []
    columns = dict.fromkeys(cell.key for row in rows for cell in row.children)
    for column in columns:
        cells = [row.get(column) for row in rows]
        if _is_decided([cell for cell in cells if cell is not None], column):
            for row, cell in zip(rows, cells, strict=True):
                observations.append(_decision(row, cell))
    return observations


def _is_decided(cells: list[Node], column: str) -> bool:
    told = [cell for cell in cells if str(cell.value).strip()]
    known = [cell for cell in told if words().status_of(cell.value) is not None]
    # Under "signed by" stand names.
    if len(known) * 2 < len(told) or not known:
        return False
    called = bool(_DECIDING & set(key_words(column)))
    return called or all(_DECIDED & set(key_words(str(cell.value))) for cell in told)


def _decision(row: Node, cell: Node | None) -> Observation:
    status = decision_of(cell) if cell is not None else None
    # What is no decision leaves its row open.
    return observe(
        "review.person",
        row if cell is None else cell,
        status or "pending",
        label=_name(row),
        nature="measured",
    )


def _name(row: Node) -> str:
    return str(next(iter(row.children)).value)
