"""Reviews and sign-offs: what each person decided, under which conditions, with which doubts."""

from __future__ import annotations

from collections.abc import Iterator

from transom.formats.release.quoting import observe
from transom.formats.release.shapes import Observation, Remark
from transom.formats.release.tree import Node
from transom.formats.release.words import Status, word_list, word_set, words

_DECISIONS = word_list(
    "decision approval approval_status approved sign_off sign_off_status signed_off signoff vote verdict "
    "position recommendation review_status overall_decision final_decision status overall_status "
    "review_result result outcome conclusion state sentiment"
)
_PEOPLE = word_set(
    "reviewer stakeholder approver approval signoff sign review participant feedback attendee tester signatory response"
)
_PROSE = word_set(
    "comment note feedback remark rationale reason concern summary statement quote observation opinion "
    "justification message text caveat"
)
_NO_PERSON = word_set(
    "issue finding defect bug scenario case test vulnerability checklist item check condition step action"
)


def read_decisions(root: Node) -> tuple[list[Observation], list[Remark]]:
    """Observations `review.decision` (the whole), `review.person` (each), `review.condition`; doubts as remarks."""
    found: list[Observation] = []
    overall = _overall(root)
    if overall is not None:
        found.append(observe("review.decision", overall[0], overall[1], label="the review", nature="measured"))
    for node, label, status in _people(root):
        found.append(observe("review.person", node, status, label=label, nature="measured"))
    found += [
        observe("review.condition", node, "conditional", label=_text_of(node), nature="measured")
        for node in _conditions(root)
    ]
    return found, list(_doubts(root))


def _overall(root: Node) -> tuple[Node, Status] | None:
    if not isinstance(root.value, dict):
        return None
    for place in (root, *(child for child in root.children if isinstance(child.value, dict) and _is_summary(child))):
        for name in _DECISIONS:
            node = place.get(name)
            if node is None:
                continue
            inner = node.get(*_DECISIONS) if isinstance(node.value, dict) else node
            status = words().status_of(inner.value) if inner is not None else None
            if status is not None and inner is not None and inner.nature not in ("history", "limit"):
                return inner, status
    return None


def _is_summary(node: Node) -> bool:
    return bool(
        {"summary", "overall", "decision", "conclusion", "result", "signoff", "approval", "review"} & set(node.words)
    )


def _people(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Each person's or group's own decision, wherever it stands."""
    for node in root.walk():
        if not isinstance(node.value, dict) or node.parent is None or node.nature in ("history", "limit"):
            continue
        around = {*node.words, *node.parent.words}
        if around & _NO_PERSON:
            continue
        named = node.get("reviewer", "stakeholder", "approver", "name", "role", "person", "department", "team")
        if not around & _PEOPLE or ((node.place < 0 and not _PEOPLE & set(node.parent.words)) and named is None):
            continue
        decision = node.get(*_DECISIONS)
        status = words().status_of(decision.value) if decision is not None else None
        if status is not None and decision is not None:
            yield decision, node.label, status
        elif (decision is not None and decision.value in (None, "")) or (
            decision is None and named is not None and node.place >= 0 and not _prose(node)
        ):
            yield node, node.label, "pending"


def _prose(node: Node) -> list[Node]:
    return [child for child in node.children if isinstance(child.value, str) and _PROSE & set(child.words)]


def _conditions(root: Node) -> Iterator[Node]:
    """Conditions of an approval that are not met yet."""
    for node in root.walk():
        if "condition" not in node.words or node.nature in ("history", "limit") or node.place >= 0:
            continue
        entries = node.children if isinstance(node.value, list) else (node,) if isinstance(node.value, str) else ()
        for entry in entries:
            state = entry.get("status", "state", "met", "fulfilled", "resolved")
            met = state is not None and (state.value is True or words().fate_of(state.value) == "closed")
            met = met or (state is not None and words().status_of(state.value) == "pass")
            written = isinstance(entry.value, dict) or str(entry.value).strip().lower() not in ("", "none", "n/a", "-")
            if written and not met:
                yield entry


def _text_of(node: Node) -> str:
    text = node.get("text", "condition", "description", "title", "name")
    return str(text.value if text is not None else node.value)[:160]


def _doubts(root: Node) -> Iterator[Remark]:
    for node in root.walk():
        if not isinstance(node.value, str) or len(node.value) < 12 or node.nature in ("history", "limit"):
            continue
        around = {*node.words, *(node.parent.words if node.parent is not None else ())}
        if not around & _PROSE or _settled(node):
            continue
        match = words().hedges.search(node.value)
        text = sentence(node.value, match.start()) if match else ""
        if text and not words().settling.search(text):
            yield Remark(kind="doubt", text=text, locator=node.pointer, quote=text)


def _settled(node: Node) -> bool:
    """Whether it belongs to an entry that is closed."""
    state = node.parent.get("status", "state", "resolution") if node.parent is not None else None
    return state is not None and words().fate_of(state.value) == "closed"


def sentence(text: str, at: int) -> str:
    """The sentence of a text that a place lies in, at most 240 characters of it."""
    start = max(text.rfind(sign, 0, at) for sign in ".!?\n") + 1
    ends = [end for sign in (". ", "! ", "? ", "\n") if (end := text.find(sign, at)) >= 0]
    return " ".join(text[start : min(ends, default=len(text)) + 1].split())[:240]
