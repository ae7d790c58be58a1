"""The model of a story, common to all backlog formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

Action = Literal["created", "modified", "deleted"]
Status = Literal[
    "backlog", "ready", "in-progress", "review", "done", "closed", "blocked", "unknown"
]

_STATUSES: Mapping[str, Status] = {
    **dict.fromkeys(("not started", "not yet", "not done", "not complete"), "backlog"),
    **dict.fromkeys(
        ("draft", "drafted", "backlog", "optional", "todo", "to do", "open", "new"), "backlog"
    ),
    **dict.fromkeys(("pending", "planned", "contexted", "proposed", "incomplete"), "backlog"),
    **dict.fromkeys(("ready for review", "in review", "review", "ready for done"), "review"),
    **dict.fromkeys(("ready for qa", "in qa", "qa", "testing", "in test"), "review"),
    # What is ready for the step after development has been built.
    **dict.fromkeys(
        [
            f"ready {word}"
            for word in (
                *("for test", "for testing", "to test", "for uat", "for acceptance", "for demo"),
                *("for merge", "for merging", "to merge", "for deployment", "to deploy"),
                *("for release", "to release", "for production", "for verification"),
                *("for validation", "for sign off", "for signoff", "to ship"),
            )
        ],
        "review",
    ),
    **dict.fromkeys(("ready", "approved"), "ready"),
    **dict.fromkeys(("in progress", "inprogress", "started", "doing", "wip"), "in-progress"),
    **dict.fromkeys(("blocked", "on hold"), "blocked"),
    **dict.fromkeys(("done", "complete", "finished", "implemented", "merged"), "done"),
    **dict.fromkeys(("released", "shipped", "delivered", "deployed", "verified"), "done"),
    **dict.fromkeys(("closed", "superseded", "obsolete", "cancelled", "canceled"), "closed"),
    **dict.fromkeys(("won t", "wont", "wontfix", "wontdo", "rejected", "dropped"), "closed"),
    **dict.fromkeys(("duplicate", "abandoned", "moved", "replaced", "withdrawn"), "closed"),
    **dict.fromkeys(("removed", "descoped", "out of scope", "archived", "deprecated"), "closed"),
    **dict.fromkeys(("deferred", "postponed"), "closed"),
}
"""First words of a written status -> the status; the first match counts."""
_MARK = re.compile(
    r"\{\{[^{}\n]{1,60}\}\}"
    r"|(?<!\{)\{(?i:title|date|project_name|todo)\b[^{}\n]{0,60}\}"
    r"|\[(?i:add|insert|describe|brief|your|feature"
    r" name|title|entity\d*|endpoint|###)\b[^\]\n]{0,80}\](?!\()"
    r"|\[(?:TODO|TBD|PLACEHOLDER|NEEDS CLARIFICATION)\b[^\]\n]*\]"
    r"|<(?:TO_BE_\w+|TODO|TBD|PLACEHOLDER)[^>\n]*>"
    r"|^\W*(?i:TODO|TBD|PLACEHOLDER)\b\W*(?::.*)?$"
    r"|\b(?:ONE_TO_TWO_SENTENCES|INVARIANT_RULES|EXPECTED_RESULT|ADDITIONAL_CRITERIA)\b"
    r"|\bAs an? \[[^\]\n]+\](?!\()",
    re.MULTILINE,
)
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# A comment without its end is matched as well: it would be looked for again from each `<!--`.
_SKIPPED = re.compile(rf"<!--.*?(?:-->|\Z)|{_CODE.pattern}", re.MULTILINE | re.DOTALL)


CLOSED: frozenset[Status] = frozenset({"done", "closed"})
"""Statuses of stories that nobody works on any more."""
ASKED: frozenset[Status] = frozenset({"unknown", "review"})
"""Statuses of stories that may be built already: work in review is there."""
_ARROW = re.compile(r"[→➔➜➡⇒]|[-=]>")
_STRUCK_OUT = re.compile(r"~~[^~\n]*~~")
_STATUS_BOX = re.compile(r"\[([ xX✓✔])\]")
_CLAUSE = re.compile(r"[()/,;:|–—.]|\s-{1,3}\s")
CLOSED_NAMES = "|".join(words for words, status in _STATUSES.items() if status in CLOSED)
_CLOSED_WORD = re.compile(rf"\b(?:{CLOSED_NAMES})d?\b")
_NOT_YET = re.compile(rf"\b(?:not|never|be|until|once|before)\s(?:yet\s)?(?:{CLOSED_NAMES})d?\b")


class StoryRecord(BaseModel):
    """A frozen record."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(StoryRecord):
    """A task, and the numbers of its criteria."""

    text: str
    done: bool = False
    criteria: tuple[int, ...] = ()


class Story(StoryRecord):
    """One story; criteria are numbered from 1.

    Attributes:
        id: its id in the backlog, e.g. `1.2`, `story-1`, `US1`.
        key: its name in the sprint status and in file names, e.g. `1-2-create-finding-dataclass`.
        status_text: the status as written; empty if the format has none.
        creates, changes: files that the story names, used to find conflicts between stories.
        allowed: globs of the files that may change; empty: not restricted.
        source: its file, relative to the project; `line`: its first line there.
        owns_file: whether the file has only this story.
        unclear: why it is not clear whether the story is to be built: an unknown status, or two
            files that disagree; "" if it is.
        unreadable: why its own file cannot be read, or "".
        spec_checkpoint, done_checkpoint: whether a person reviews it before Dev starts, and when it
            is done.
    """

    id: str
    title: str
    text: str
    key: str = ""
    epic: str = ""
    goal: str = ""
    criteria: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    status: Status = "unknown"
    status_text: str = ""
    depends_on: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    source: str = ""
    line: int = 1
    owns_file: bool = False
    spec_checkpoint: bool = False
    done_checkpoint: bool = False
    instructions: str = ""
    unclear: str = ""
    unreadable: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Names that a command line accepts."""
        return frozenset({self.id, self.key, f"story-{self.id}"} - {""})

    @property
    def label(self) -> str:
        """The name in messages: `story 1.2`."""
        return self.id if "story" in self.id.lower() else f"story {self.id}"

    @property
    def slug(self) -> str:
        """The name for folders and branches."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.key or self.id).strip("-.")[:60] or "story"

    @property
    def touches(self) -> frozenset[str]:
        return frozenset((*self.creates, *self.changes))


def read_status(text: str) -> Status:
    """Parse a status in free words: `InProgress`, `ready-for-dev`, `✅ Done (QA passed)`.

    The last word of a chain of arrows counts, and no word that is struck out. A text with two
    statuses that contradict each other is unknown.
    """
    text = _ARROW.split(_STRUCK_OUT.sub(" ", text))[-1]
    boxes = _STATUS_BOX.split(text)
    if len(boxes) > 1:
        # Of a list of boxes, the ticked one counts.
        ticked = [words for box, words in zip(boxes[1::2], boxes[2::2], strict=True) if box != " "]
        if len(ticked) != 1:
            return "unknown"
        text = ticked[0]
    status = _first_status(text)
    is_doubtful = text.rstrip().endswith("?") or _contradicts(status, text)
    return "unknown" if is_doubtful else status


def plain_words(text: str) -> str:
    """Return the Latin words of a text in lower case, without any sign."""
    return " ".join(
        re.sub(r"[^a-z]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower()).split()
    )


def _first_status(text: str) -> Status:
    """Return the status of the first words of a text."""
    plain = plain_words(text)
    for words, status in _STATUSES.items():
        if plain == words or plain.startswith((f"{words} ", f"{words}d")):
            return status
    return "unknown"


def _contradicts(status: Status, text: str) -> bool:
    """Whether a text says something else than the status of its first words."""
    clauses = [clause for clause in _CLAUSE.split(text) if plain_words(clause)][1:]
    if status in CLOSED:
        exact = (_STATUSES.get(plain_words(clause), status) for clause in clauses)
        return any(other not in CLOSED for other in exact)
    if status in ("unknown", "review"):
        return False
    if any(_first_status(clause) in (*CLOSED, "review") for clause in clauses):
        return True
    # "to be implemented" and "not done yet" tell what has not happened.
    return bool(_CLOSED_WORD.search(_NOT_YET.sub(" ", plain_words(text))))


def _blanked(match: re.Match[str]) -> str:
    """Return a comment or code as blanks; a comment without its end hides nothing but its code."""
    if match[0].startswith("<!--") and not match[0].endswith("-->"):
        return _CODE.sub(_blanked, match[0])
    return re.sub(r"[^\n]", " ", match[0])


def placeholders(text: str) -> tuple[tuple[int, str], ...]:
    """Return `(line, text)` of each placeholder; code and comments are ignored."""
    text = _SKIPPED.sub(_blanked, text)
    return tuple(
        (text.count("\n", 0, match.start()) + 1, match[0].strip()) for match in _MARK.finditer(text)
    )


_FEWEST_WORDS = 3
_VAGUE = re.compile(
    r"^(?:criteri(?:a|on)|ac|works?|done|good|ok|as discussed|see \w+)\W*\d*\W*$", re.IGNORECASE
)


# Thai, Lao, Burmese, Khmer, Japanese and Chinese are written without blanks between words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_UNSPACED_WORD = 2  # characters of such a script that are about one word


def count_words(text: str) -> int:
    """Return about how many words a text of any script has."""
    number = len(_UNSPACED_RUN.sub(" ", text).split())
    for run in _UNSPACED_RUN.findall(text):
        number += -(-len(run) // _UNSPACED_WORD)
    return number


def is_testable(criterion: str) -> bool:
    """Whether a criterion can be tested: at least three words or numbers, no placeholder, not
    vague.
    """
    words = re.findall(r"[^\W\d_]{2,}|\d+", criterion)
    is_long = count_words(" ".join(words)) >= _FEWEST_WORDS
    return is_long and not placeholders(criterion) and not _VAGUE.match(criterion.strip())
