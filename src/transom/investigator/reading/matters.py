"""What the counts and verdicts of a project's own data are about: tests, or rules of a scanner.

`{"status": "pass"}` and `{"passed": 20}` are written by runners of tests and by tools that check
images, settings and policies alike. A pass counts only for the matter that its file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transom.formats.measurements import Observation
from transom.investigator.reading.quoting import observe
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import key_words, word_set

TESTING = word_set("test case suite spec scenario assertion testcase junit")
CHECKING = word_set(
    "policy violation vulnerability cve remediation compliance misconfiguration scan scanner"
    " advisory finding audit resource"
)
_RECORDS = word_set("result report output summary log")
_CLAUSE = re.compile(r"[,;:!?(]| - ")
# A longer key is a name: `test_the_policy_of_fees_is_read`.
_MOST_WORDS = 3


def speaks_of(matter: frozenset[str], root: Node) -> bool:
    """Return whether a key of data names a matter."""
    return any(matter & set(node.words) for node in root.walk() if _is_telling(node))


def other_matter(
    root: Node, observations: list[Observation], own: frozenset[str], other: frozenset[str]
) -> Node | None:
    """Return a key by which the data at the observations is about another matter; None if it is
    about its own.

    In data that names both matters, only keys around the observations count.
    """
    is_own = speaks_of(own, root)
    places = set[str]()
    for observation in observations:
        places.add(observation.locator)
    for node in root.walk():
        if not _is_telling(node) or not other & set(node.words) or own & set(node.words):
            continue
        if not is_own or any(place and _are_nested(node.pointer, place) for place in places):
            return node
    return None


def doubts_of_matter(
    root: Node, observations: list[Observation], own: frozenset[str], other: frozenset[str]
) -> Iterator[Observation]:
    """Yield that what was observed is about another matter, which leaves no criterion met."""
    node = other_matter(root, observations, own, other) if observations else None
    if node is not None:
        text = f"it speaks of {node.key!r}, which is another matter"
        yield observe("source.outcome", node, "conditional", label=text).model_copy(
            update={"said": text}
        )


def is_named_after_checks(names: Sequence[str]) -> bool:
    """Return whether suites are called after checks of another matter, by the last word of each:
    `terraform scan` is none of tests, `Scan button` is.
    """
    told = list(filter(None, names))
    return bool(told) and all(map(_is_called_a_check, told))


def _is_called_a_check(name: str) -> bool:
    called = list(key_words(_CLAUSE.split(name)[0]))
    while called and called[-1] in _RECORDS:
        called.pop()
    return bool(called) and called[-1] in CHECKING and not TESTING & set(called)


def _is_telling(node: Node) -> bool:
    return node.place < 0 and 0 < len(node.words) <= _MOST_WORDS


def _are_nested(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
