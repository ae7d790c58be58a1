"""Marks in Markdown that work is finished: signs and words in headings, ticked boxes, struck-out
titles. They are no status: a story that has one is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transom.formats.markdown import Comment, MarkdownPart
from transom.stories.status import labelled_lines
from transom.stories.story import CLOSED, CLOSED_NAMES, Story, plain_words, read_status
from transom.stories.written_criteria import full_title

_DONE_SIGN = re.compile("[✅☑✔✓]")
_END_SIGN = re.compile(
    r"[✅☑✔✓❌✗✘✖🚫⛔🏁🎉💯]|~~|\[[xX]\]|:(?:white_check_mark|heavy_check_mark|x):"
)
_BRACKETS = re.compile(r"[\[({]([^\[\](){}\n]{2,60})[\])}]")
_CLAUSE = re.compile(r"\s[-–—|]{1,3}\s|[:–—|,]\s")
_LEAD = re.compile(r"(?:\[[^\]\n]{0,40}\]|\([^()\n]{0,40}\)|[^\w\[(])+")
_NAME = re.compile(r"^([^\d\n]{0,40}?)\b((?:user\s+)?story|epic)\s+\d[\w.]*", re.IGNORECASE)
_CAPITALS = re.compile(r"\b[A-Z]{4,}\b")
_VERDICT = re.compile(
    rf"(?:{CLOSED_NAMES})d?(?:\s(?:do|fix|by|in|on|to|see|at|since|for|as|into|with|of)\b.*)?"
    r"|(?:not|no longer) (?:needed|required|planned)"
)
_STATUS = re.compile(r"^[^:\n]{0,20}\b(?:status|state|progress)\s*[:=]\s*(.+)$", re.IGNORECASE)
# A sign in code compares or sets a value of the program: `status === "done"`.
_CODE_WITH_SIGN = re.compile(r"`[^`\n]{0,200}[:=][^`\n]{0,200}`")
_SENTENCE_END = re.compile(r"(?:(?<=\w)|^)(?=\W*+$)[^\w.!?:;]*+[.!?:;]")
_WRAPPED = 40
"""Characters of a line that may go on in the next one."""
_DAY = re.compile(
    r"\d{4}-\d\d|\d\d?[./]\d\d?[./]\d\d|#\d|\b(?:yes|true)\b|100\s?%|[✅☑✔✓]", re.IGNORECASE
)


_COMPLETE = re.compile(r"\W*100\s?%\W*$")


def bare_title(part: MarkdownPart) -> str:
    """Return a heading with its number, without the marks before its first word."""
    title = full_title(part).replace("~~", "")
    if lead := _LEAD.match(title):
        title = title[lead.end() :]
    name = _NAME.match(title)
    if name and read_status(name[1]) != "unknown":
        title = title[name.start(2) :]
    return title.strip()


def has_mark(title: str) -> bool:
    """Whether a heading says that its work is over."""
    if _END_SIGN.search(title):
        return True
    name = _NAME.match(title)
    texts = [name[1]] if name else []
    texts += [match[1] for match in _BRACKETS.finditer(title)]
    # The first text behind the number is the title itself: "Done" may be the name of a button.
    own = title[name.end() :].lstrip(" :–—-") if name else title
    texts += _CLAUSE.split(own)[1:]
    texts += _CAPITALS.findall(own)
    return any(map(_is_verdict, texts))


def _is_verdict(text: str) -> bool:
    """Whether a text is the status of work that is over, such as `Done` or `moved to epic 2`."""
    return not re.match(r"\W*\d", text) and bool(_VERDICT.fullmatch(plain_words(text)))


def outer_mark(parts: Sequence[MarkdownPart], number: int) -> str:
    """Return what the headings above a part say about all that is below them, or ""."""
    level = parts[number].level
    for part in reversed(parts[:number]):
        if not 0 < part.level < level:
            continue
        level = part.level
        bare = re.sub(r"(?i)\s(?:stories|epics|work|items|tasks|features)$", "", part.title)
        if has_mark(full_title(part)) or _is_verdict(bare):
            return part.title
        if text := _finished_line([part]):
            return text
    return ""


def story_mark(story: Story, parts: Sequence[MarkdownPart]) -> str:
    """Return the heading or line of a story that says its work is over, or ""."""
    if has_mark(full_title(parts[0])):
        return full_title(parts[0])
    for part in parts[1:]:
        if _DONE_SIGN.search(part.title) and not story.status_text:
            return part.title
    for text in _texts(parts):
        match = _STATUS.match(_CODE_WITH_SIGN.sub(" ", text))
        if match and match[1] != story.status_text and read_status(match[1]) in CLOSED:
            return text
    criteria = story.criteria
    if criteria and not story.status_text and all(map(_DONE_SIGN.match, criteria)):
        return criteria[0]
    return _finished_line(parts[:1])


def _finished_line(parts: Sequence[MarkdownPart]) -> str:
    """Return the first line that says work is over, such as `Done` or `Merged: #12`, or ""."""
    for text in _texts(parts):
        name, colon, value = text.partition(":")
        if colon and (
            _COMPLETE.match(value)
            or _is_verdict(value)
            or (_DAY.search(value) and _is_verdict(name))
        ):
            return text
        if not colon and _is_verdict(text):
            return text
    return ""


def _texts(parts: Sequence[MarkdownPart]) -> Iterator[str]:
    """Yield the lines and comments of several parts; a line in the middle of a sentence is part of
    the line before it.
    """
    for part in parts:
        text, number = "", 0
        for line in labelled_lines(part.blocks):
            is_wrapped = len(text) >= _WRAPPED and not _SENTENCE_END.search(text)
            if text and not (is_wrapped and line.line == number + 1 and ":" not in line.text):
                yield text
                text = ""
            text, number = f"{text} {line.text}".strip(), line.line
        if text:
            yield text
        for block in part.blocks:
            if isinstance(block, Comment):
                yield block.text.strip("<>!- \n")
