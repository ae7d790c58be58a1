"""Trouble in a report of any shape that no reader explains: `open_defects: 3`, `go_live: no`.

A reader names the places that it read. Every other key and status is looked up in the vocabulary
of trouble, so that a report is not taken for good news only because its keys are unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from transom.evidence.trouble import Trouble, TroubleFinder
from transom.formats.json_tree import quote_of
from transom.formats.measurements import Observation, Remark
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import word_set, words

_MOST = 12
_LONGEST_STATUS = 60
# Observations of a whole entry: what stands inside it was read with it.
_ENTRIES = (".entry", ".case", ".stage", ".check", ".condition", ".person")
_NAMES = word_set(
    "name title description summary text comment note id key url link path file label author email"
    " reviewer tester stakeholder approver assignee owner scenario endpoint test case component"
    " environment metric kind type category rule area step action observed seen fix solution"
    " severity priority level rank feedback quote rationale reason message recommendation"
    " mitigation remediation expected actual item given when then input output precondition"
    " question requirement"
)
# What a "no" to means that the feature must wait, though no vocabulary calls it good.
_CONSENT = word_set("go live release ship deploy proceed authorised authorized endorsed cleared")
# Verdicts of a tool on itself: `vulnerabilityScanPassed: false`.
_PASSED = word_set("passed success successful succeeded ok compliant")
_LATER = word_set("next future upcoming roadmap later")
_SINCE = (("at",), ("on",), ("since",))
_ENDED = word_set("stopped ended terminated closed finished killed skipped")
# Nothing was looked at: these are counts of the work, and zero of them proves nothing.
_LOOKED_AT = word_set(
    "scanned checked tested analyzed analysed covered inspected executed reviewed"
)
_COUNTED = word_set(
    "target file test case scenario package component image dependency item count number total"
    " asset line host endpoint of"
)


def unexplained(
    root: Node, observations: Iterable[Observation], settled: Collection[str]
) -> Iterator[Remark]:
    """Yield a remark for each key or status of trouble that nothing read.

    Args:
        settled: places of entries that were read, and of which nothing is reported.
    """
    # A number explains its place alone; an entry that was read explains all that it holds.
    exact, subtrees = set[str](), set[str](settled)
    for observation in observations:
        exact.add(observation.locator)
        exact.add(observation.limit_at)
        exact.update(operand.locator for operand in observation.operands)
        if observation.measure.endswith(_ENTRIES):
            subtrees.add(observation.locator)
    finder = TroubleFinder("release", with_system=False)
    count = 0
    for node in root.walk():
        # A document of another kind would yield a remark for each of its lines.
        if count >= _MOST:
            return
        # An object in a list has no key of its own; its members are looked at.
        if node.place >= 0 and node.is_leaf is False:
            continue
        if node.pointer in exact or _is_below(node.pointer, subtrees):
            continue
        # A key such as `targets_scanned` is no target, whatever its first word says.
        if _is_aside(node) and not _is_work_undone(node):
            continue
        # `failures: {...}` was read by way of its members.
        if not node.is_leaf and _holds(node.pointer, exact | subtrees):
            continue
        for trouble in _troubles(node, finder)[:1]:
            count += 1
            yield Remark(
                kind="trouble",
                text=f"{node.key or 'it'}: {trouble.word!r} is not explained by any reader",
                locator=node.pointer,
                quote=quote_of(node),
                severity="high",
            )


def _is_below(pointer: str, places: Collection[str]) -> bool:
    """Return whether a place is one of these, or inside one of them."""
    while pointer:
        if pointer in places:
            return True
        pointer = pointer.rpartition("/")[0]
    return False


def _holds(pointer: str, places: Collection[str]) -> bool:
    """Return whether one of these places is inside a node."""
    return any(place.startswith(f"{pointer}/") for place in places)


def _is_aside(node: Node) -> bool:
    """Return whether a node is a bound, or what was before this report."""
    if node.nature == "history" or _is_later(node):
        return True
    # A bound is a number; `release_gate: on hold` is none.
    if isinstance(node.value, str) and node.number is None:
        return bool(_NAMES & set(node.words[-1:]))
    return node.nature == "limit"


def _is_later(node: Node) -> bool:
    """Return whether a node belongs to what comes after this release: `next_cycle`."""
    around: Node | None = node
    while around is not None:
        if _LATER & set(around.words):
            return True
        around = around.parent
    return False


def _troubles(node: Node, finder: TroubleFinder) -> tuple[Trouble, ...]:
    """Return the trouble of a key with its value, or of a status in a list."""
    value = node.value
    if _is_work_undone(node):
        return (Trouble(f"{node.key}: 0", "not measured", "key"),)
    key = node.key
    # "by" and "at" make a setting of most keys, but not of a state: `blocked_by`, `aborted_at`.
    if node.words[-1:] == ("by",) or (node.words[-1:] in _SINCE and not _ENDED & set(node.words)):
        key = " ".join(node.words[:-1])
    if _CONSENT & set(node.words) and _is_denial(value, finder) and not finder.in_key(key):
        return (Trouble(f"{node.key}: {value}", "denied", "key"),)
    if value is False and node.words[-1:] and node.words[-1] in _PASSED:
        return (Trouble(f"{node.key}: false", "denied", "key"),)
    if isinstance(value, str):
        text = value.strip()
        # Prose names trouble without being in it, and is looked at by other readers.
        if len(text) > _LONGEST_STATUS or _is_good(text):
            return ()
        if node.place >= 0:
            return ()
        # An open text such as a title may name trouble; only its key can make it a status.
        if finder.is_nothing(text):
            return finder.in_entry(key, text)
        # The words of reviews and tests are known in more languages than those of trouble.
        if words().status_of(text) == "fail":
            return finder.in_status(text) or (Trouble(text, "denied", "status"),)
        return finder.in_key(key) or (finder.in_status(text) if len(text.split()) <= 4 else ())
    if node.place >= 0:
        return ()
    return finder.in_entry(key, value)


def _is_denial(value: object, finder: TroubleFinder) -> bool:
    """Return whether a value says no; zero and an empty text say nothing."""
    if value is False:
        return True
    return isinstance(value, str) and value.strip().isalpha() and finder.is_nothing(value)


def _is_work_undone(node: Node) -> bool:
    """Return whether a node says that nothing was looked at: `files_scanned: 0`."""
    words = set(node.words)
    is_work = bool(_LOOKED_AT & words) and words <= _LOOKED_AT | _COUNTED
    return is_work and node.is_leaf and node.number == 0


def _is_good(text: str) -> bool:
    """Return whether a value says that it is over or harmless: `fixed`, `approved`, `low`."""
    vocabulary = words()
    return (
        vocabulary.status_of(text) == "pass"
        or vocabulary.fate_of(text) == "closed"
        or vocabulary.severity_of(text) in ("low", "medium")
    )
