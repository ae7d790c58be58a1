"""Compare names of the same thing as two writers spell them.

    same_name("design", "Top_Level", "top level")        -> "same"
    same_name("commit", "3f9ac1e", "3F9AC1E07B...")      -> "same"
    same_name("version", "v2.1.0", "2.1")                -> "same"
    same_name("corner", "ss_0p72v_m40c", "SS 0.72V -40C") -> "same"
    same_name("stage", "global routing", "routing")      -> "unclear"
    same_name("design", "top", "top_wrapper")            -> "different"

Case, separators, prefixes of versions and branches, and short commit hashes are rules. Names that
mean the same by the knowledge of a field alone ("routed", "post route") are synonyms, which the
caller passes. A name that says less than the other, or more, is unclear.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Literal, get_args

Facet = Literal[
    "tool",
    "report",
    "design",
    "feature",
    "stage",
    "check",
    "corner",
    "mode",
    "commit",
    "branch",
    "version",
    "image",
    "date",
]
"""What can be said of the subject of a reading: the tool and the kind of its report; the design or
the feature; the stage, the check, the corner and the mode; the commit, the branch, the version, the
image and the date of what was looked at.
"""
FACETS: tuple[Facet, ...] = get_args(Facet)

Sameness = Literal["same", "different", "unclear"]
Synonyms = Collection[Collection[str]]
"""Groups of names that mean the same thing: [["routed", "post route"], ["slow", "ss"]]."""

_RUN = re.compile(r"[^\W\d_]+|\d+|[+#]")
_WORD = re.compile(r"[^\W_]+(?:[.+#][^\W_]+)*|[+#]+")
_LIKE_VERSION = re.compile(r"\d\.\d|(?<![^\W_])v\d|(?<!\d)(?:19|20)\d\d(?!\d)", re.IGNORECASE)
# "0p72" is 0.72, "m40c" and "n40c" are -40 degrees.
_POINT = re.compile(r"(?<=\d)p(?=\d)", re.IGNORECASE)
_MINUS = re.compile(r"(?<![^\W_])[mn](?=\d+(?:\.\d+)?c(?![^\W_]))", re.IGNORECASE)
_SIGNED = re.compile(r"(?:(?<=[^\w.])|(?<=_)|^)-(\d+)")
# In "ss-40c" the hyphen may be a sign or part two words.
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=\d)")
_LEAST_HASH = 7
_HASH = re.compile(r"[0-9a-f]{4,64}")
_DESCRIBED = re.compile(r".+-\d+-g([0-9a-f]{7,64})", re.IGNORECASE)
_HASH_PREFIX = re.compile(
    r"(?:(?:git[- ]?)?(?:sha(?:-?1|-?256)?|commit|revision|rev|hash)\s*[:=#-]?\s*)", re.IGNORECASE
)
_BRANCH_PREFIX = re.compile(r"^(?:refs/(?:heads|remotes)/|remotes/|heads/)?(?:origin/)?")
_VERSION_PREFIX = re.compile(
    r"(?:(?:version|release|rel|ver|tag)\b[\s.:=_/-]*)?(?:v\.?\s?(?=\d))?", re.IGNORECASE
)
_VERSION = re.compile(r"(?P<parts>\d+(?:\.\d+)*)(?P<rest>.*)", re.DOTALL)
_PRERELEASE = re.compile(
    r"[-._]?(?:alpha|beta|rc|pre|preview|dev|snapshot|nightly|a\d|b\d|m\d)", re.IGNORECASE
)
_IMAGE = re.compile(
    r"(?:docker://|oci://)?(?P<path>[^@\s]+?)(?::(?P<tag>[\w.-]+))?(?:@(?P<digest>\w+:[0-9a-f]+))?",
    re.IGNORECASE,
)
# Beginnings that turn a name into its opposite, and those that do so only beside these.
_BEFORE = ("pre", "not", "non", "no", "un", "without", "before", "anti")
_AFTER = ("post", "after", "")
_ORDINAL = re.compile(r"\d+|[ivx]+|[a-z]", re.IGNORECASE)
_LEAST_STEM = 3
# Names of things exclude each other; words that describe may be shorter or longer.
_EXACT_FACETS = frozenset({"design", "feature"})
_WORDY_FACETS = frozenset({"tool", "report"})


def same_name(facet: Facet, name: str, other: str, synonyms: Synonyms = ()) -> Sameness:
    """Return whether two names of a facet mean the same thing.

    Args:
        facet: decides the rules; a `date` is compared in `dates`, not here.
        name: the name that is asked for.
        other: the name that a source states.
        synonyms: groups of names that mean the same thing.
    """
    name, other = " ".join(name.split()), " ".join(other.split())
    if not name or not other:
        return "unclear"
    if name == other or _are_synonyms(name, other, synonyms):
        return "same"
    if facet == "commit":
        return _same_commit(name, other)
    if facet == "branch":
        return _same_branch(name, other)
    if facet == "version":
        return _same_version(name, other)
    if facet == "image":
        return _same_image(name, other)
    return _same_words(facet, name, other)


def _are_synonyms(name: str, other: str, synonyms: Synonyms) -> bool:
    """Return whether one group has both names."""
    keys = {_key(name), _key(other)}
    return any(keys <= {_key(member) for member in group} for group in synonyms)


def _key(name: str) -> str:
    """Return a name without case and separators; two numbers side by side stay two.

    `postRoute` and `post-route` give one key, `a1_1` and `a11` two.
    """
    runs = list[str]()
    for run in _RUN.findall(name.casefold()):
        if run.isdigit() and runs and runs[-1].isdigit():
            runs.append("_")
        runs.append(run)
    return "".join(runs)


def _same_words(facet: Facet, name: str, other: str) -> Sameness:
    """Return whether two names in words mean the same thing."""
    if facet == "corner":
        name, other = _in_full(name), _in_full(other)
        if _key(name) == _key(other):
            return _same_signs(name, other)
    if not _key(name) or not _key(other):
        return "unclear"
    if _key(name) == _key(other):
        return "same"
    if facet in _EXACT_FACETS:
        return "unclear" if _without_zeros(name) == _without_zeros(other) else "different"
    if _are_opposites(_key(name), _key(other)):
        return "different"
    words, other_words = _words(name), _words(other)
    if facet in _WORDY_FACETS and set(words) <= set(other_words):
        return _same_with_more_words(words, other)
    if set(words) & set(other_words) or _begins(_key(name), _key(other)):
        return "unclear"
    return "different"


def _same_with_more_words(words: list[str], longer: str) -> Sameness:
    """Return whether a name with more words is the same: vendor and version do not change it.

    "Acme Router 21.1" is the same as "Router", but "Router II" and "pre Router" may be others.
    """
    for part in longer.casefold().split():
        further = [word for word in _words(part) if word not in words]
        if not further or _LIKE_VERSION.search(part):
            continue
        for word in further:
            if word in _BEFORE or word in _AFTER or _ORDINAL.fullmatch(word):
                return "unclear"
    return "same"


def _are_opposites(key: str, other: str) -> bool:
    """Return whether two keys differ by what turns one into the opposite: routed, unrouted."""
    for beginning, remainder in _beginnings(key):
        for other_beginning, other_rest in _beginnings(other):
            if remainder != other_rest or beginning == other_beginning:
                continue
            if beginning in _BEFORE or other_beginning in _BEFORE:
                return True
    return False


def _beginnings(key: str) -> list[tuple[str, str]]:
    """Return each way to take a key apart into a beginning and the rest."""
    parts = list[tuple[str, str]]()
    for beginning in (*_BEFORE, *_AFTER):
        remainder = key.removeprefix(beginning)
        if key.startswith(beginning) and len(remainder) >= _LEAST_STEM:
            parts.append((beginning, remainder))
    return parts


def _in_full(corner: str) -> str:
    """Return a corner with points and signs in full."""
    return _MINUS.sub("-", _POINT.sub(".", corner))


def _same_signs(name: str, other: str) -> Sameness:
    """Return whether corners of the same digits have the same signs: -40 and 40 have not."""
    if _HYPHEN.search(name) or _HYPHEN.search(other):
        return "unclear"
    return "same" if _SIGNED.findall(name) == _SIGNED.findall(other) else "different"


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def _without_zeros(name: str) -> str:
    """Return the key of a name without leading zeros: STORY-01 and STORY-1."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", _key(name))


def _begins(key: str, other: str) -> bool:
    """Return whether one key may be short for the other: func, functional."""
    shorter, longer = sorted((key, other), key=len)
    return len(shorter) >= _LEAST_STEM and longer.startswith(shorter)


def _same_commit(name: str, other: str) -> Sameness:
    """Return whether two commits are the same; one hash may be the beginning of the other."""
    digests, is_changed = [], False
    for text in (name, other):
        plain = _HASH_PREFIX.sub("", text.casefold(), count=1).strip("'\" ")
        # A tree with changes of its own is not what was committed.
        if plain.endswith(("-dirty", "+", "-modified")):
            is_changed = True
            plain = re.sub(r"(?:-dirty|-modified|\+)$", "", plain)
        described = _DESCRIBED.fullmatch(plain)
        digests.append(described[1] if described else plain)
    digest, other_digest = digests
    if not _HASH.fullmatch(digest) or not _HASH.fullmatch(other_digest):
        # A revision of another system, such as r1234.
        if _key(digest) == _key(other_digest) and not is_changed:
            return "same"
        is_either = _HASH.fullmatch(digest) or _HASH.fullmatch(other_digest)
        return "unclear" if is_either or is_changed else "different"
    shorter, longer = sorted((digest, other_digest), key=len)
    if not longer.startswith(shorter):
        return "different"
    return "unclear" if is_changed or len(shorter) < _LEAST_HASH else "same"


def _same_branch(name: str, other: str) -> Sameness:
    """Return whether two branches are the same; their case counts."""
    branch, other_branch = _BRANCH_PREFIX.sub("", name), _BRANCH_PREFIX.sub("", other)
    if "head" in (branch.casefold(), other_branch.casefold()):
        return "unclear"
    if branch == other_branch:
        return "same"
    return "unclear" if branch.casefold() == other_branch.casefold() else "different"


def _same_version(name: str, other: str) -> Sameness:
    """Return whether two versions are the same: v2.1.0 is 2.1, but 2.1 may be the line of 2.1.3."""
    version = _VERSION.fullmatch(_VERSION_PREFIX.sub("", name, count=1).strip())
    other_version = _VERSION.fullmatch(_VERSION_PREFIX.sub("", other, count=1).strip())
    if version is None or other_version is None:
        return "same" if _key(name) == _key(other) else "different"
    parts, other_parts = _numbers(version["parts"]), _numbers(other_version["parts"])
    remainder, other_rest = _before_build(version["rest"]), _before_build(other_version["rest"])
    if _stripped(parts) == _stripped(other_parts):
        return _same_rest(remainder, other_rest)
    shorter, longer = sorted((parts, other_parts), key=len)
    is_line = len(shorter) < len(longer) and longer[: len(shorter)] == shorter
    return "unclear" if is_line else "different"


def _numbers(parts: str) -> list[int]:
    return [int(part) for part in parts.split(".")]


def _stripped(parts: Iterable[int]) -> list[int]:
    """Return the numbers of a version without the zeros at its end."""
    numbers = list(parts)
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _before_build(remainder: str) -> str:
    """Return what follows the numbers of a version, without remarks and metadata of a build."""
    return re.split(r"[+\s(,]", remainder, maxsplit=1)[0]


def _same_rest(remainder: str, other: str) -> Sameness:
    """Return whether what follows the numbers of two versions is the same."""
    if _key(remainder) == _key(other):
        return "same"
    if (remainder and other) or _PRERELEASE.match(remainder or other):
        return "different"
    # "21.12-s106" may be one of several builds of 21.12.
    return "unclear"


def _same_image(name: str, other: str) -> Sameness:
    """Return whether two images are the same: a digest decides, else path and tag."""
    image, other_image = _IMAGE.fullmatch(name), _IMAGE.fullmatch(other)
    if image is None or other_image is None:
        return "unclear"
    if image["digest"] and other_image["digest"]:
        is_equal = image["digest"].casefold() == other_image["digest"].casefold()
        return "same" if is_equal else "different"
    path, other_path = image["path"].split("/"), other_image["path"].split("/")
    shorter, longer = sorted((path, other_path), key=len)
    # The host and the folders may be left out: api:1.2 and hub.example/team/api:1.2.
    if longer[-len(shorter) :] != shorter:
        return "different"
    if image["tag"] and other_image["tag"] and image["tag"] != other_image["tag"]:
        return "different"
    # What is asked for must be stated; what is stated beyond that does no harm.
    for part in ("tag", "digest"):
        if image[part] and not other_image[part]:
            return "unclear"
    return "same"
