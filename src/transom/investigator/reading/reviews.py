"""Reads reviews and sign-offs: each person's decision, its conditions, its doubts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.review_decisions import PROSE, choices, overall_decisions
from transom.investigator.reading.review_people import (
    approvers,
    missing_people,
    people_with_decisions,
    root_votes,
    tallies,
)
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_set, words

_SHORTEST_DOUBT = 12  # characters
_UNTIL = word_set("until till through thru to end before")


def read_decisions(root: Node) -> tuple[list[Observation], list[Remark]]:
    """Return observations `review.decision`, `review.person`, `review.condition`; and doubts as
    remarks.
    """
    observations: list[Observation] = []
    for node, status in overall_decisions(root):
        observations.append(
            observe("review.decision", node, status, label="the review", nature="measured")
        )
    observations += approvers(root, [status for _, status in overall_decisions(root)])
    remarks = list[Remark]()
    for node, status in choices(root):
        label = "the box that is checked"
        observations.append(
            observe("review.decision", node, status, label=label, nature="measured")
        )
        options = node if isinstance(node.value, list) else node.parent
        if options is not None:
            remarks.append(Remark(kind="settled", text="a choice", locator=options.pointer))
    observations += _validity(root)
    # Beside a decision, other words at the top are its details, not votes.
    votes = () if observations else root_votes(root)
    people = (
        *people_with_decisions(root),
        *tallies(root, decided=bool(observations)),
        *missing_people(root),
        *votes,
    )
    for node, label, status in people:
        observations.append(observe("review.person", node, status, label=label, nature="measured"))
    for node in _conditions(root):
        observations.append(
            observe(
                "review.condition", node, "conditional", label=_text_of(node), nature="measured"
            )
        )
    return observations, [*remarks, *_doubts(root)]


def _validity(root: Node) -> Iterator[Observation]:
    """Yield the last day of an approval: `valid_until`, `expires`."""
    for node in root.walk():
        key = set(node.words)
        is_end = {"valid", "validity"} & key and _UNTIL & key
        is_day = is_end or key & {"expire", "expires", "expiry", "expiration"}
        if is_day and isinstance(node.value, str) and node.value.strip():
            yield observe("review.valid_until", node, node.value.strip(), nature="measured")


def _conditions(root: Node) -> Iterator[Node]:
    """Yield the conditions of an approval that are not met yet."""
    for node in root.walk():
        if "condition" not in node.words or node.nature in ("history", "limit") or node.place >= 0:
            continue
        entries: Sequence[Node] = ()
        if isinstance(node.value, list):
            entries = node.children
        elif isinstance(node.value, str):
            entries = (node,)
        for entry in entries:
            text = str(entry.value).strip().lower()
            is_written = isinstance(entry.value, dict) or text not in ("", "none", "n/a", "-")
            if is_written and not _is_met(entry):
                yield entry


def _is_met(condition: Node) -> bool:
    state = condition.get("status", "state", "met", "fulfilled", "resolved")
    if state is None:
        return False
    vocabulary = words()
    # The states of a condition are those of a task, of a review, or a plain yes.
    is_closed = vocabulary.fate_of(state.value) == "closed"
    return state.value is True or is_closed or vocabulary.status_of(state.value) == "pass"


def _text_of(node: Node) -> str:
    text = node.get("text", "condition", "description", "title", "name")
    return str(text.value if text is not None else node.value)[:160]


def _doubts(root: Node) -> Iterator[Remark]:
    for node in root.walk():
        if not isinstance(node.value, str) or node.nature in ("history", "limit"):
            continue
        if len(node.value) < _SHORTEST_DOUBT:
            continue
        around = {*node.words, *(node.parent.words if node.parent is not None else ())}
        if not around & PROSE or _settled(node):
            continue
        for pattern in (words().hedges, words().open_ends):
            match = pattern.search(node.value)
            text = sentence(node.value, match.start()) if match else ""
            # "No concerns remain" settles a hedge, but not an open end such as "to be confirmed".
            if text and (pattern is words().open_ends or not words().settling.search(text)):
                yield Remark(kind="doubt", text=text, locator=node.pointer, quote=text)
                break


def _settled(node: Node) -> bool:
    """Whether a node belongs to a closed entry."""
    state = node.parent.get("status", "state", "resolution") if node.parent is not None else None
    return state is not None and words().fate_of(state.value) == "closed"


def sentence(text: str, at: int) -> str:
    """Return the sentence at a position of a text, at most 240 characters."""
    start = max(text.rfind(sign, 0, at) for sign in ".!?\n") + 1
    end = len(text)
    for sign in (". ", "! ", "? ", "\n"):
        place = text.find(sign, at)
        if 0 <= place < end:
            end = place
    return " ".join(text[start : end + 1].split())[:240]
