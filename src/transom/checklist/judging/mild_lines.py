"""Lines that nothing explains and that a person may take over by one answer: which, and how few.

    Warning: net u7/n12 has no driver      \\
    Warning: net u9/n4 has no driver        > 3 lines like "Warning: net u7/n12 has no driver"
    Warning: net alu/clk has no driver     /

Nobody reads a hundred lines in a question. Lines that differ in names alone are one form, and a
question shows at most five forms, or else how many lines each mark of the tool has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from transom.evidence.caps import ANY_NAME
from transom.evidence.trouble import TroubleFinder

MOST_SHOWN: Final = 5
_MOST_FORMS: Final = 40
# The tool itself says that a message is no error: `[WARNING ODB-0220]`, `Warning (10230):`.
_MARK: Final = r"^[^A-Za-z]*+(?:[\w./]++[:\s*-]++){{0,2}}[^A-Za-z]*+(?P<mark>{words})\b"
_MILD: Final = re.compile(
    _MARK.format(words=r"warning|warn|information|info|note") + r"|^[a-z]+: \*[WN],",
    re.IGNORECASE,
)
_NOTE: Final = re.compile(_MARK.format(words="information|info|note"), re.IGNORECASE)
_POSSIBLE: Final = re.compile(r"\b(?:may|might|could) [a-z]+", re.IGNORECASE)
# A name of the design: it has a digit, a path or an index, or it is quoted. A word such as
# `max_cap` may be the matter, and `12ns` is a value.
_NAME: Final = re.compile(
    r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|"
    r"(?<![\w/.\[\]$\\-])(?=[\w.$\\-]*[\d/\[])[A-Za-z_\\/$][\w/.\[\]$\\-]*+"
)
_CODE: Final = re.compile(r"^\[?[A-Z]{2}[A-Z0-9]*+-\d++\]?$")
# States that say that the run or a check of it came to nothing.
_GRAVE: Final = frozenset(
    {"crashed", "ended early", "hangs", "severe", "system", "nothing looked at"}
)
# States that may say the opposite of a claim; the tool must have marked the first ones as mild.
_WRONG: Final = frozenset({"error", "failed", "exhausted"})
_AGAINST: Final = frozenset({"against", "denied", "partial"})


@dataclass(frozen=True)
class MildLine:
    """A line, or several of one shape, that a person may take over.

    Attributes:
        text: the first of them.
        reason: why it is open.
        count: how many there are.
    """

    text: str
    reason: str
    count: int


@dataclass(frozen=True)
class TakenLines:
    """What an answer takes over.

    Attributes:
        accepts: the texts of caps, with a placeholder where lines differ in names.
        shown: how a question shows them.
    """

    accepts: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def is_mild(line: str, *, is_matter: bool) -> bool:
    """Return whether an unexplained line is a mild message about another matter than a claim's."""
    is_marked = _MILD.match(line) is not None
    # A warning of what may happen tells nothing that did.
    said = _POSSIBLE.sub(" ", line) if is_marked else line
    states = {trouble.state for trouble in TroubleFinder("eda").in_line(said)}
    if states & _GRAVE:
        return _NOTE.match(line) is not None
    if states & _WRONG and not is_marked:
        return False
    return not is_matter or not (states & (_WRONG | _AGAINST) or not states)


def is_plain(line: str, *, is_matter: bool) -> bool:
    """Return whether an unknown line of a report has no number, no trouble and no matter."""
    has_number = any(sign.isdigit() for sign in line)
    return not (is_matter or has_number or TroubleFinder("eda").in_line(line))


def in_few_forms(lines: Iterable[MildLine]) -> TakenLines:
    """Return what an answer takes over of mild lines: nothing if they have too many forms."""
    forms = dict[tuple[str, str], list[MildLine]]()
    for line in lines:
        forms.setdefault((_form_of(line.text), line.reason), []).append(line)
    if len(forms) > _MOST_FORMS:
        return TakenLines()
    accepts = list[str]()
    for (form, reason), members in forms.items():
        # A line that stands there once is taken over as it stands.
        text = form if sum(line.count for line in members) > 1 else members[0].text
        accepts.append(f"{text}: {reason}")
    # Nobody can judge more forms than these in one question, but marks of the tool are few.
    groups = list(forms.values())
    if len(groups) > MOST_SHOWN:
        marked = dict[str, list[MildLine]]()
        for members in groups:
            mark = _MILD.match(members[0].text)
            name = (mark["mark"] or mark[0]).lower() if mark else ""
            marked.setdefault(name, []).extend(members)
        groups = list(marked.values())
    return TakenLines(tuple(accepts), tuple(map(_shown, groups)))


def _form_of(line: str) -> str:
    """Return a line with a placeholder for each name of the design; the code of a message stays."""
    return _NAME.sub(lambda match: match[0] if _CODE.fullmatch(match[0]) else ANY_NAME, line)


def _shown(lines: Sequence[MildLine]) -> str:
    """Return lines as a question shows them: the first of them, and how many there are."""
    count = sum(line.count for line in lines)
    first = " ".join(lines[0].text.split())
    return f'{count} lines like "{first}"' if count > 1 else f'"{first}"'
