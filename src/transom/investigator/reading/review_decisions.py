"""Reads the decision of a review as a whole: its word, its boxes, and what is taken back."""

from __future__ import annotations

from collections.abc import Iterator

from transom.evidence.trouble import TroubleFinder
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, key_words, word_list, word_set, words

PROSE = word_set(
    "comment note feedback remark rationale reason concern summary statement quote observation"
    " opinion justification message text caveat"
)
DECISIONS = word_list(
    "decision approval approval_status approved sign_off sign_off_status signed_off signoff vote"
    " verdict position recommendation review_status overall_decision final_decision status"
    " accepted overall_status review_result result outcome conclusion state sentiment"
)
DECISION_NOUNS = word_set(
    "decision verdict result outcome conclusion recommendation accepted approved passed"
)
_BESIDE_NOUN = word_set(
    "overall final review uat test acceptance release security summary the of for this our team"
    " board go no"
)
APPROVED = word_set("approved approval signed signoff")
REVOKED = word_set("rejected declined revoked superseded withdrawn expired")
_REVIEWED = word_set("uat acceptance")
_SUMMARIES = word_set(
    "summary overall decision conclusion result signoff approval review round cycle"
)
_TAKEN_BACK = word_set("revoked withdrawn rescinded rejected declined retracted")
_LONGEST_DECISION = 6  # words; more are a sentence
REQUIRED = word_set("required needed mandatory")


def overall_decisions(root: Node) -> list[tuple[Node, Status]]:
    """Return the overall decision, and weaker statements beside it."""
    if not isinstance(root.value, dict):
        return []
    places = [root]
    for child in root.children:
        if isinstance(child.value, dict) and _is_summary(child):
            places.append(child)
    for place in places:
        decisions = _decisions_in(place)
        if decisions:
            return decisions
    return []


def _decisions_in(place: Node) -> list[tuple[Node, Status]]:
    """Return the decision that an object states, and what speaks against it in the same object.

    Without a decision these are the denials alone: a review that was revoked decides by that.
    """
    weaker = []
    for child in place.children:
        denial = _against(child)
        if denial is not None:
            weaker.append(denial)
    candidates = decision_nodes(place)
    for number, node in enumerate(candidates):
        inner: Node | None = node
        if isinstance(node.value, dict):
            inner = next(iter(decision_nodes(node)), None)
        if inner is None or inner.nature == "history":
            continue
        # `acceptance: granted` is no bound, as the word would be before a number.
        if inner.nature == "limit" and (place.nature == "limit" or not _is_text(inner)):
            continue
        status = decision_of(inner)
        if status is None:
            continue
        # `decision: approved` beside `status: on hold`: the doubt counts, not the plainer key.
        for sibling in candidates[number + 1 :]:
            decision = decision_of(sibling)
            if decision in ("fail", "conditional"):
                weaker.append((sibling, decision))
        return [(inner, status), *(entry for entry in weaker if entry[0] is not inner)]
    return weaker


def _is_text(node: Node) -> bool:
    return isinstance(node.value, str) and node.number is None


def decision_nodes(place: Node) -> list[Node]:
    """Return the members of an object that may state its decision, the plainest first."""
    if not isinstance(place.value, dict):
        return []
    # A number below `passed` counts, and decides nothing.
    members = []
    for child in place.children:
        if child.number is None:
            members.append(child)
    # In the order of DECISIONS: `decision` is plainer than `status`, which may be a workflow's.
    nodes = list[Node]()
    for name in DECISIONS:
        for child in members:
            if child.words == key_words(name):
                nodes.append(child)
    # `overall_result`, `uat_decision`, `Result of the acceptance test`
    for child in members:
        child_words = set(child.words)
        if (
            child not in nodes
            and child_words & DECISION_NOUNS
            and child_words <= DECISION_NOUNS | _BESIDE_NOUN
        ):
            nodes.append(child)
    if not nodes:
        nodes += _named_after_review(members)
    return nodes


def _named_after_review(members: list[Node]) -> list[Node]:
    """Return the one statement of a review that is called after it: `Acceptance: granted`.

    Several statements beside each other are votes.
    """
    stated = [node for node in members if words().status_of(node.value) is not None]
    if len(stated) != 1 or not isinstance(stated[0].value, str):
        return []
    name = set(stated[0].words)
    return stated if name & _REVIEWED and name <= _BESIDE_NOUN else []


def choices(root: Node) -> Iterator[tuple[Node, Status]]:
    """Yield the decision of each list of boxes: `☒ Approved ☐ Rejected`."""
    for node in root.walk():
        if not isinstance(node.value, list):
            continue
        options = []
        chosen = []
        for child in node.children:
            if child.get("completed") is None or _option(child) is None:
                continue
            options.append(child)
            if _is_checked(child):
                chosen.append(child)
        # One box, or boxes beside other entries, are a list of tasks.
        if len(options) < 2 or len(options) < len(node.children):
            continue
        if len(chosen) == 1:
            yield chosen[0], _option(chosen[0]) or "conditional"
        else:
            # Nobody chose, or somebody chose twice.
            yield node, "conditional" if chosen else "pending"


def _option(entry: Node) -> Status | None:
    item = entry.get("item")
    if item is None or len(str(item.value).split()) > _LONGEST_DECISION:
        return None
    return words().status_of(item.value)


def _is_checked(entry: Node) -> bool:
    box = entry.get("completed")
    return box is not None and box.value is True


def decision_of(node: Node) -> Status | None:
    """Return the decision that a value states: a word that nobody knows is in doubt.

    That something is over decides nothing, and a sentence is no decision.
    """
    value = node.value
    status = words().status_of(value)
    if status == "ended":
        return None
    if status is not None or not isinstance(value, str) or not value.strip():
        return status
    # A recommendation may advise anything: "postpone the migration".
    key = set(node.words)
    is_prose = len(value.split()) > _LONGEST_DECISION or bool(key & {"recommendation", "sentiment"})
    if is_prose or words().placeholders.match(value):
        return None
    return "conditional"


def _against(node: Node) -> tuple[Node, Status] | None:
    """Return a node that says no: `approved_for_production: false`, `revoked: true`, or
    `withdrawn_at` with a date.
    """
    node_words = set(node.words)
    is_told = isinstance(node.value, str) and bool(node.value.strip())
    if node_words & _TAKEN_BACK and is_told:
        status = words().status_of(node.value)
        is_denied = TroubleFinder("release").is_nothing(str(node.value))
        return None if is_denied or status == "pending" else (node, "fail")
    # `approval_required: false` says that nobody has to approve, and denies nothing.
    if node_words & (REQUIRED | {"condition", "conditionally", "pending"}):
        return None
    if (node.value is False and APPROVED & node_words) or (
        node.value is True and REVOKED & node_words
    ):
        return node, "fail"
    return None


def _is_summary(node: Node) -> bool:
    return bool(_SUMMARIES & set(node.words))
