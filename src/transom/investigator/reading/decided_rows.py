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
    if not isinstance(root.value, list):
        return []
    columns = dict[str, list[Node]]()
    for row in root.children:
        for cell in row.children:
            columns.setdefault(cell.key, []).append(cell)
    observations = []
    for column, cells in columns.items():
        if _is_decided(cells, column):
            for row in root.children:
                observations.append(_decision(row, row.get(column)))
    return observations


def _is_decided(cells: list[Node], column: str) -> bool:
    told = known = decided = 0
    for cell in cells:
        if str(cell.value).strip():
            told += 1
            known += words().status_of(cell.value) is not None
            decided += bool(_DECIDED & set(key_words(str(cell.value))))
    # Under "signed by" stand names.
    if known * 2 < told or not known:
        return False
    return bool(_DECIDING & set(key_words(column))) or decided == told


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
    first = next(iter(row.children), row)
    return str(first.value)
