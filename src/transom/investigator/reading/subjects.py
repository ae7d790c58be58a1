"""What a report says that it is about, and when it was made: feature, commit, branch, version,
image, date. All of it is read from the contents; the file system knows neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from transom.evidence.dates import PrintedDate, is_before, read_date
from transom.evidence.subject_names import Facet
from transom.formats.measurements import SubjectFact
from transom.formats.xml_paths import child_path, tag_of
from transom.investigator.reading.tree import Node
from transom.investigator.reading.vocabulary import key_words, word_set


def _keys(text: str) -> tuple[frozenset[str], ...]:
    """Return the words of each key of a list."""
    return tuple(word_set(key) for key in text.split(","))


# The words of a key that names a facet. A key may have them and no others.
_KEYS: dict[Facet, tuple[frozenset[str], ...]] = {
    "feature": _keys(
        "feature, feature id, feature key, feature name, feature title, epic, epic key, jira key,"
        " issue key, jira issue, jira ticket, jira, ticket, ticket id, ticket key, user story"
    ),
    "commit": _keys(
        "commit, commit sha, commit id, commit hash, git commit, git sha, sha, head sha, revision,"
        " git revision, revision id"
    ),
    "branch": _keys("branch, head branch, git branch, branch name, ref, ref name"),
    "version": _keys(
        "release, release version, app version, application version, build version,"
        " product version, fix version, target version"
    ),
    "image": _keys("artifact name, image, image name, image tag, container image, docker image"),
}
# A day that lies ahead, or that is not the day of this report.
_OTHER_DAYS = word_set(
    "due until expire expires expired expiry expiration valid planned target deadline fixed publish"
    " published modified disclosed next review before after from start started opened since period"
    " baseline previous born"
)
_TIMES = word_set("timestamp time created generated date dump")
# Lists with many dates that are not the report's own.
_ASIDE = word_set(
    "vulnerability finding match dependency package rule advisory history previous baseline"
    " component library defect"
)
_ISSUE = frozenset({"issue"})
_ISSUE_KEY = re.compile(r"[A-Z][A-Z0-9_]{1,9}-\d{1,7}")
_DEEPEST = 6
_DEEPEST_NAME = 3
_DEEPEST_ELEMENT = 3
_MOST = 200


def facts_of_json(root: Node) -> tuple[SubjectFact, ...]:
    """Return what a JSON document says of its subject and its date."""
    facts = list[SubjectFact]()
    for node in root.walk():
        if not node.is_leaf or len(facts) >= _MOST or node.pointer.count("/") > _DEEPEST:
            continue
        date = _date_of(node)
        if date is not None:
            facts.append(SubjectFact(facet="date", text=date, locator=node.pointer))
            continue
        if not isinstance(node.value, str) or not node.value.strip() or _is_in_list(node):
            continue
        if node.pointer.count("/") <= _DEEPEST_NAME and len(node.value) <= 120:
            # `issue: LIB-41` names the feature; any other text below it is a problem.
            if set(node.words) == _ISSUE and _ISSUE_KEY.fullmatch(node.value.strip()):
                text = node.value.strip()
                facts.append(SubjectFact(facet="feature", text=text, locator=node.pointer))
            for facet, keys in _KEYS.items():
                if frozenset(node.words) in keys:
                    text = node.value.strip()
                    facts.append(SubjectFact(facet=facet, text=text, locator=node.pointer))
    return tuple(facts)


def _is_in_list(node: Node) -> bool:
    """Return whether a node belongs to one of several entries, not to the report as a whole."""
    around = node.parent
    while around is not None:
        if around.place >= 0 and around.parent is not None and len(around.parent.children) > 1:
            return True
        around = around.parent
    return False


def _date_of(node: Node) -> str | None:
    """Return the date that a leaf holds, if it may be the day on which the report was made."""
    words = set(node.words)
    if words & _OTHER_DAYS or not isinstance(node.value, str | int | float):
        return None
    if isinstance(node.value, bool):
        return None
    if not isinstance(node.value, str):
        # A plain number is a moment only below a key that says so.
        if not words & _TIMES or not 10**9 <= node.value < 10**13:
            return None
        number = int(node.value)
        if isinstance(read_date(number), PrintedDate):
            return str(number)
        return None
    if len(node.value) > 40 or not any(sign.isdigit() for sign in node.value):
        return None
    around = node.parent
    while around is not None:
        if set(around.words) & _ASIDE:
            return None
        around = around.parent
    if node.value.strip().isdigit() and not words & _TIMES:
        return None
    if isinstance(read_date(node.value), PrintedDate):
        return node.value.strip()
    return None


_XML_TIMES = word_set(
    "timestamp generated start-time end-time run-date finish started-at finished-at dump"
    " starttime endtime run-time"
)


def facts_of_xml(root: Element) -> tuple[SubjectFact, ...]:
    """Return what a report in XML says of its subject and its date."""
    return tuple(_facts_below(root, f"/{tag_of(root)}", 0))


def _facts_below(element: Element, path: str, depth: int) -> Iterator[SubjectFact]:
    for name, value in element.attrib.items():
        if name.casefold() in _XML_TIMES and value.strip():
            printed = read_date(value)
            if isinstance(printed, PrintedDate):
                place = f"{path}/@{name}"
                yield SubjectFact(facet="date", text=value.strip(), locator=place)
    if tag_of(element) == "property" and element.get("name"):
        words = frozenset(key_words(str(element.get("name"))))
        for facet, keys in _KEYS.items():
            if words in keys and element.get("value"):
                yield SubjectFact(
                    facet=facet, text=str(element.get("value")).strip(), locator=f"{path}/@value"
                )
    if depth >= _DEEPEST_ELEMENT:
        return
    for child in element:
        if tag_of(child) in ("testcase", "package", "packages", "sources"):
            continue
        yield from _facts_below(child, child_path(path, element, child), depth + 1)


def newest_date(facts: Iterable[SubjectFact]) -> SubjectFact | None:
    """Return the newest date of a report; None if it states none."""
    newest: tuple[PrintedDate, SubjectFact] | None = None
    for fact in facts:
        if fact.facet != "date":
            continue
        printed = read_date(fact.text)
        if not isinstance(printed, PrintedDate):
            continue
        if newest is None or is_before(newest[0], printed) is True:
            newest = (printed, fact)
    if newest is not None:
        return newest[1]
    return None
