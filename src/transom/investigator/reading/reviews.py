"""Reads reviews and sign-offs: each person's decision, its conditions, its doubts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.evidence.trouble import TroubleFinder
from transom.formats.json_tree import quote_of
from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import Status, key_words, word_list, word_set, words

_DECISIONS = word_list(
    "decision approval approval_status approved sign_off sign_off_status signed_off signoff vote"
    " verdict position recommendation review_status overall_decision final_decision status"
    " accepted overall_status review_result result outcome conclusion state sentiment"
)
_NOUNS = word_set(
    "decision verdict result outcome conclusion recommendation accepted approved passed"
)
_BESIDE_NOUN = word_set(
    "overall final review uat test acceptance release security summary the of for this our team"
    " board go no"
)
_IDENTITY = word_set("date feature title")
_PERSON_KEYS = (
    "reviewer", "approver", "approved_by", "accepted_by", "signed_by", "signed_off_by", "by",
    "name", "who", "stakeholder", "tester", "person",
)  # fmt: skip
_BARE_NAMES = (("name",), ("who",), ("by",), ("person",))
_UNTIL = word_set("until till through thru to end before")
_FEWEST_VOTES = 2
_PEOPLE = word_set(
    "reviewer stakeholder approver approval signoff sign review participant feedback attendee"
    " tester signatory response"
)
_APPROVED = word_set("approved approval signed signoff")
_SIGNED = _APPROVED | word_set("sign approver rejected declined")
_REVOKED = word_set("rejected declined revoked superseded withdrawn expired")
_TAKEN_BACK = word_set("revoked withdrawn rescinded rejected declined retracted")
_OPEN = word_set("pending missing outstanding awaiting rejected declined")
_LONGEST_DECISION = 6  # words; more are a sentence
_ASKED = word_set("required needed mandatory")
_COUNTS = word_set("by count number of off total so far")
_GIVEN = word_set("received given obtained collected approved")
_PROSE = word_set(
    "comment note feedback remark rationale reason concern summary statement quote observation"
    " opinion justification message text caveat"
)
_NO_PERSON = word_set(
    "issue finding defect bug scenario case test vulnerability checklist item check condition step"
    " action"
)


def read_decisions(root: Node) -> tuple[list[Observation], list[Remark]]:
    """Return observations `review.decision`, `review.person`, `review.condition`; and doubts as
    remarks.
    """
    observations: list[Observation] = []
    for node, status in _overall(root):
        observations.append(
            observe("review.decision", node, status, label="the review", nature="measured")
        )
    observations += _approvers(root, [status for _, status in _overall(root)])
    remarks = list[Remark]()
    for node, status in _choices(root):
        label = "the box that is checked"
        observations.append(
            observe("review.decision", node, status, label=label, nature="measured")
        )
        options = node if isinstance(node.value, list) else node.parent
        if options is not None:
            remarks.append(Remark(kind="settled", text="a choice", locator=options.pointer))
    observations += _validity(root)
    votes = () if observations else _root_votes(root)
    tallies = _tallies(root, decided=bool(observations))
    people = (*_people(root), *tallies, *_missing_people(root), *votes)
    for node, label, status in people:
        observations.append(observe("review.person", node, status, label=label, nature="measured"))
    observations += [
        observe("review.condition", node, "conditional", label=_text_of(node), nature="measured")
        for node in _conditions(root)
    ]
    return observations, [*remarks, *_doubts(root)]


def _overall(root: Node) -> list[tuple[Node, Status]]:
    """Return the overall decision, and weaker statements beside it."""
    if not isinstance(root.value, dict):
        return []
    for place in (
        root,
        *(child for child in root.children if isinstance(child.value, dict) and _is_summary(child)),
    ):
        denials = [_against(child) for child in place.children]
        less = [entry for entry in denials if entry is not None]
        for number, node in enumerate(candidates := decision_nodes(place)):
            inner: Node | None = node
            if isinstance(node.value, dict):
                inner = next(iter(decision_nodes(node)), None)
            status = decision_of(inner) if inner is not None else None
            if (
                status is not None
                and inner is not None
                and inner.nature not in ("history", "limit")
            ):
                siblings = candidates[number + 1 :]
                alternatives = [
                    (entry, decision_of(entry)) for entry in siblings if entry is not inner
                ]
                less += [
                    (entry, decision)
                    for entry, decision in alternatives
                    if decision in ("fail", "conditional")
                ]
                return [(inner, status), *(entry for entry in less if entry[0] is not inner)]
        if less:
            return less
    return []


def decision_nodes(place: Node) -> list[Node]:
    """Return the members of an object that may state its decision, the plainest first."""
    if not isinstance(place.value, dict):
        return []
    # A number below `passed` counts, and decides nothing.
    members = [child for child in place.children if child.number is None]
    nodes = list[Node]()
    for name in _DECISIONS:
        nodes += [child for child in members if child.words == key_words(name)]
    # `overall_result`, `uat_decision`, `Result of the acceptance test`
    for child in members:
        child_words = set(child.words)
        if child not in nodes and child_words & _NOUNS and child_words <= _NOUNS | _BESIDE_NOUN:
            nodes.append(child)
    return nodes


def _choices(root: Node) -> Iterator[tuple[Node, Status]]:
    """Yield the decision of each list of boxes: `☒ Approved ☐ Rejected`."""
    for node in root.walk():
        if not isinstance(node.value, list):
            continue
        entries = [child for child in node.children if child.get("completed") is not None]
        options = [entry for entry in entries if _option(entry) is not None]
        if len(options) < 2 or len(options) < len(node.children):
            continue
        chosen = [entry for entry in options if _is_checked(entry)]
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
    key = set(node.words)
    is_prose = len(value.split()) > _LONGEST_DECISION or bool(key & {"recommendation", "sentiment"})
    if is_prose or words().placeholders.match(value):
        return None
    return "conditional"


def _approvers(root: Node, overall: Sequence[Status]) -> Iterator[Observation]:
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


def _missing_people(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the people who must approve and of whom no approval is told."""
    for node in root.walk():
        is_list = isinstance(node.value, list) and _ASKED & set(node.words)
        if not is_list or not (_PEOPLE | _SIGNED) & set(node.words):
            continue
        people = {
            str(other.value).casefold()
            for other in root.walk()
            if isinstance(other.value, str) and not other.pointer.startswith(node.pointer + "/")
        }
        keys = {other.key.casefold() for other in root.walk() if other.place < 0}
        for entry in node.children:
            name = str(entry.value).strip()
            if isinstance(entry.value, str) and name.casefold() not in people | keys:
                yield entry, name, "pending"


def _validity(root: Node) -> Iterator[Observation]:
    """Yield the last day of an approval: `valid_until`, `expires`."""
    for node in root.walk():
        key = set(node.words)
        is_end = {"valid", "validity"} & key and _UNTIL & key
        is_day = is_end or key & {"expire", "expires", "expiry", "expiration"}
        if is_day and isinstance(node.value, str) and node.value.strip():
            yield observe("review.valid_until", node, node.value.strip(), nature="measured")


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
    if node_words & (_ASKED | {"condition", "conditionally", "pending"}):
        return None
    if (node.value is False and _APPROVED & node_words) or (
        node.value is True and _REVOKED & node_words
    ):
        return node, "fail"
    return None


def _tallies(root: Node, *, decided: bool) -> Iterator[tuple[Node, str, Status]]:
    """Yield counted or listed sign-offs: `{required: 3, received: 2}`, `{pm: true}`, `missing:
    [legal]`.
    """
    for node in root.walk():
        if not isinstance(node.value, dict) or node.nature == "history":
            continue
        required, received = _number(node, _ASKED), _number(node, _GIVEN)
        if required is not None and received is not None:
            reason = (received.number or 0) < (required.number or 0)
            yield (
                received,
                f"{received.value} of {required.value} sign-offs",
                "pending" if reason else "pass",
            )
        of_people = any(_SIGNED & set(child.words) for child in (node, *node.children))
        for child in node.children:
            key, listed = set(child.words), isinstance(child.value, list)
            is_tally = key & _OPEN and key <= _OPEN | _SIGNED | _PEOPLE | _COUNTS
            if (
                is_tally
                and (child.value if listed else child.number)
                and (of_people or (decided and listed))
            ):
                yield child, child.key.replace("_", " "), "fail" if key & _REVOKED else "pending"
        votes = [(child, decision_of(child)) for child in node.children]
        if not any(words().status_of(child.value) for child in node.children):
            continue  # the name and the signature of a person are no votes
        if (
            votes
            and _PEOPLE & set(node.words)
            and all(_is_vote(child, status) for child, status in votes)
        ):
            yield from ((child, child.key, status or "pending") for child, status in votes)


def _root_votes(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the votes that stand at the top of a document by their roles: `{product: go}`."""
    members = [child for child in root.children if isinstance(root.value, dict)]
    votes = list[tuple[Node, str, Status]]()
    for child in members:
        is_named = bool(
            set(child.words) & {*_DECISIONS, *_PROSE, *_NOUNS, "date", "feature", "title"}
        )
        if is_named or isinstance(child.value, dict | list | bool):
            continue
        status = words().status_of(child.value)
        if status is not None or child.value is None:
            votes.append((child, child.key, status or "pending"))
    if sum(status in ("pass", "fail", "conditional") for _, _, status in votes) >= _FEWEST_VOTES:
        yield from votes


def _number(node: Node, names: frozenset[str]) -> Node | None:
    """Return the number of sign-offs under one of these names."""
    numbers = (
        child for child in node.children if child.number is not None and names & set(child.words)
    )
    return next(
        (number for number in numbers if set(number.words) <= names | _SIGNED | _PEOPLE | _COUNTS),
        None,
    )


def _is_vote(node: Node, status: Status | None) -> bool:
    return node.value is None or (
        status is not None and not set(node.words) & {*_DECISIONS, *_PROSE}
    )


def _is_summary(node: Node) -> bool:
    return bool(
        {"summary", "overall", "decision", "conclusion", "result", "signoff", "approval", "review"}
        & set(node.words)
    )


def _people(root: Node) -> Iterator[tuple[Node, str, Status]]:
    """Yield the decision of each person or group, at any depth."""
    for node in root.walk():
        if (
            not isinstance(node.value, dict)
            or node.parent is None
            or node.nature in ("history", "limit")
        ):
            continue
        context = {*node.words, *node.parent.words}
        if context & _NO_PERSON:
            continue
        name_node = node.get(
            "reviewer", "stakeholder", "approver", "name", "role", "person", "department", "team"
        )
        # The rows of a table stand in a list without a name.
        is_row = node.place >= 0 and not node.words and name_node is not None
        if is_row:
            context |= _PEOPLE
        if not context & _PEOPLE or (
            (node.place < 0 and not _PEOPLE & set(node.parent.words)) and name_node is None
        ):
            continue
        decision = node.get(*_DECISIONS)
        status = decision_of(decision) if decision is not None else None
        if status is None and decision is None and (signed := _signed(node)) is not None:
            yield signed, node.label, "pass"
            continue
        if status is not None and decision is not None:
            yield decision, node.label, status
        elif (decision is not None and decision.value in (None, "")) or (
            decision is None and name_node is not None and node.place >= 0 and not _prose(node)
        ):
            yield node, node.label, "pending"


def _prose(node: Node) -> list[Node]:
    return [
        child
        for child in node.children
        if isinstance(child.value, str) and _PROSE & set(child.words)
    ]


def _conditions(root: Node) -> Iterator[Node]:
    """Yield the conditions of an approval that are not met yet."""
    for node in root.walk():
        if "condition" not in node.words or node.nature in ("history", "limit") or node.place >= 0:
            continue
        entries = (
            node.children
            if isinstance(node.value, list)
            else (node,)
            if isinstance(node.value, str)
            else ()
        )
        for entry in entries:
            state = entry.get("status", "state", "met", "fulfilled", "resolved")
            met = state is not None and (
                state.value is True or words().fate_of(state.value) == "closed"
            )
            met = met or (state is not None and words().status_of(state.value) == "pass")
            written = isinstance(entry.value, dict) or str(entry.value).strip().lower() not in (
                "",
                "none",
                "n/a",
                "-",
            )
            if written and not met:
                yield entry


def _text_of(node: Node) -> str:
    text = node.get("text", "condition", "description", "title", "name")
    return str(text.value if text is not None else node.value)[:160]


def _doubts(root: Node) -> Iterator[Remark]:
    for node in root.walk():
        if (
            not isinstance(node.value, str)
            or len(node.value) < 12
            or node.nature in ("history", "limit")
        ):
            continue
        around = {*node.words, *(node.parent.words if node.parent is not None else ())}
        if not around & _PROSE or _settled(node):
            continue
        for pattern in (words().hedges, words().open_ends):
            match = pattern.search(node.value)
            text = sentence(node.value, match.start()) if match else ""
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
    ends = [end for sign in (". ", "! ", "? ", "\n") if (end := text.find(sign, at)) >= 0]
    return " ".join(text[start : min(ends, default=len(text)) + 1].split())[:240]
