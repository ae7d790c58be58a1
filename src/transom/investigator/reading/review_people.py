"""Reads who decided in a review: people, roles, votes, and sign-offs that are only counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.formats.json_tree import quote_of
from transom.formats.measurements import Observation
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.review_decisions import (
    APPROVED,
    DECISION_NOUNS,
    DECISIONS,
    PROSE,
    REQUIRED,
    REVOKED,
    decision_nodes,
    decision_of,
)
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, word_set, words

_PERSON_KEYS = (
    "reviewer", "approver", "approved_by", "accepted_by", "signed_by", "signed_off_by", "by",
    "name", "who", "stakeholder", "tester", "person",
)  # fmt: skip
_BARE_NAMES = (("name",), ("who",), ("by",), ("person",))
_FEWEST_VOTES = 2
_PEOPLE = word_set(
    "reviewer stakeholder approver approval signoff sign review participant feedback attendee"
    " tester signatory response"
)
_SIGNED = APPROVED | word_set("sign approver rejected declined")
_OPEN = word_set("pending missing outstanding awaiting rejected declined")
_COUNTS = word_set("by count number of off total so far")
_GIVEN = word_set("received given obtained collected approved")
_NO_PERSON = word_set(
    "issue finding defect bug scenario case test vulnerability checklist item check condition step"
    " action"
)


def approvers(root: Node, overall: Sequence[Status]) -> Iterator[Observation]:
    """Yield who decided, by name, with the role; and whose work it is.

    The value is the decision, `said` the role. `review.author` names who did the work.
    """
    for node in root.walk():
        if not isinstance(node.value, dict) or node.nature in ("history", "limit"):
            continue
        author = node.get("author", "created_by", "requested_by", "developer", "submitted_by")
        if author is not None and isinstance(author.value, str):
            yield observe("review.author", author, "pass", label=author.value.strip())
        person = node.get(*_PERSON_KEYS)
        if person is None or not isinstance(person.value, str) or not person.value.strip():
            continue
        role = node.get("role", "function", "position", "department", "team")
        context = {*node.words, *(node.parent.words if node.parent is not None else ())}
        # A case or a finding has a name, too.
        is_person = person.words not in _BARE_NAMES or role is not None or context & _PEOPLE
        if context & _NO_PERSON or not is_person:
            continue
        decision = next(iter(decision_nodes(node)), None)
        status = decision_of(decision) if decision is not None else None
        if status is None and node is root and overall:
            status = overall[0]
        yield Observation(
            measure="review.approver",
            value=status or "pending",
            locator=person.pointer,
            label=person.value.strip(),
            said=str(role.value) if role is not None else "",
            quote=quote_of(person),
        )


def _signed(node: Node) -> Node | None:
    """Return the signature of a person who gave one with its day."""
    signature = node.get("signature", "signed_by", "signed")
    day = node.get("date", "signed_at", "signed_on", "approved_at", "timestamp")
    is_written = signature is not None and signature.value not in (None, "", False)
    if is_written and day is not None and day.value:
        return signature
    return None


def missing_people(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the people who must approve and of whom no approval is told."""
    for node in root.walk():
        is_list = isinstance(node.value, list) and REQUIRED & set(node.words)
        if not is_list or not (_PEOPLE | _SIGNED) & set(node.words):
            continue
        # Their names elsewhere, as values or as keys: `{"signed_by": "Ana"}`, `{"Ana": "go"}`.
        names = set[str]()
        for other in root.walk():
            if isinstance(other.value, str) and not other.pointer.startswith(node.pointer + "/"):
                names.add(other.value.casefold())
            if other.place < 0:
                names.add(other.key.casefold())
        for entry in node.children:
            name = str(entry.value).strip()
            if isinstance(entry.value, str) and name.casefold() not in names:
                yield entry, name, "pending"


def tallies(root: Node, *, decided: bool) -> Iterator[tuple[Node, str, Status]]:
    """Yield counted or listed sign-offs: `{required: 3, received: 2}`, `{pm: true}`, `missing:
    [legal]`.
    """
    for node in root.walk():
        if not isinstance(node.value, dict) or node.nature == "history":
            continue
        required, received = _number(node, REQUIRED), _number(node, _GIVEN)
        if required is not None and received is not None:
            is_short = (received.number or 0) < (required.number or 0)
            label = f"{received.value} of {required.value} sign-offs"
            yield received, label, "pending" if is_short else "pass"
        yield from _missing_signoffs(node, decided=decided)
        yield from _votes_in(node)


def _missing_signoffs(node: Node, *, decided: bool) -> Iterator[tuple[Node, str, Status]]:
    """Yield the members of an object that count or list who has not signed."""
    of_people = any(_SIGNED & set(child.words) for child in (node, *node.children))
    for child in node.children:
        key, is_list = set(child.words), isinstance(child.value, list)
        if not key & _OPEN or not key <= _OPEN | _SIGNED | _PEOPLE | _COUNTS:
            continue
        # `pending: 2` may count anything; beside a decision a list `missing: [legal]` does not.
        is_filled = bool(child.value) if is_list else bool(child.number)
        if is_filled and (of_people or (decided and is_list)):
            yield child, child.key.replace("_", " "), "fail" if key & REVOKED else "pending"


def _votes_in(node: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the votes of an object whose keys are people: `approvals: {pm: true, legal: null}`."""
    # `{item, completed}` is a box that somebody checks.
    if not _PEOPLE & set(node.words) or node.get("completed") is not None:
        return
    # Without a word of decision these are the name and the signature of one person.
    if not any(words().status_of(child.value) for child in node.children):
        return
    votes = [(child, decision_of(child)) for child in node.children]
    if all(_is_vote(child, status) for child, status in votes):
        for child, status in votes:
            yield child, child.key, status or "pending"


def root_votes(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the votes that stand at the top of a document by their roles: `{product: go}`."""
    if not isinstance(root.value, dict):
        return
    votes = list[tuple[Node, str, Status]]()
    not_roles = {*DECISIONS, *PROSE, *DECISION_NOUNS, "date", "feature", "title"}
    for child in root.children:
        if set(child.words) & not_roles or isinstance(child.value, dict | list | bool):
            continue
        status = words().status_of(child.value)
        if status is not None or child.value is None:
            votes.append((child, child.key, status or "pending"))
    # A single word beside a key may be anything; several people vote.
    if sum(status in ("pass", "fail", "conditional") for _, _, status in votes) >= _FEWEST_VOTES:
        yield from votes


def _number(node: Node, names: frozenset[str]) -> Node | None:
    """Return the number of sign-offs under one of these names."""
    recognised = names | _SIGNED | _PEOPLE | _COUNTS
    for child in node.children:
        key = set(child.words)
        if child.number is not None and names & key and key <= recognised:
            return child
    return None


def _is_vote(node: Node, status: Status | None) -> bool:
    return node.value is None or (status is not None and not set(node.words) & {*DECISIONS, *PROSE})


def people_with_decisions(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the decision of each person or group, at any depth."""
    for node in root.walk():
        if not isinstance(node.value, dict) or node.parent is None:
            continue
        if node.nature in ("history", "limit"):
            continue
        context = {*node.words, *node.parent.words}
        name = node.get(
            "reviewer", "stakeholder", "approver", "name", "role", "person", "department", "team"
        )
        # The rows of a table stand in a list without a name.
        if node.place >= 0 and not node.words and name is not None:
            context |= _PEOPLE
        is_member = node.place >= 0 or _PEOPLE & set(node.parent.words)
        if context & _NO_PERSON or not context & _PEOPLE or not (is_member or name is not None):
            continue
        decision = node.get(*DECISIONS)
        if decision is not None:
            status = decision_of(decision)
            if status is not None:
                yield decision, node.label, status
            elif decision.value in (None, ""):
                yield node, node.label, "pending"
        elif (signed := _signed(node)) is not None:
            # A signature with its day is an approval; nobody signs a refusal.
            yield signed, node.label, "pass"
        elif name is not None and node.place >= 0 and not _has_prose(node):
            yield node, node.label, "pending"


def _has_prose(node: Node) -> bool:
    """Whether a person wrote a comment, which is an answer of its own."""
    texts = [child for child in node.children if isinstance(child.value, str)]
    return any(PROSE & set(text.words) for text in texts)
