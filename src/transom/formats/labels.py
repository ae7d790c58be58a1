"""Labelled values in Markdown: `**Name**: value`, a list item `Name: value`, or a heading with its
contents.

Models mix the three forms, so they are read alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from transom.formats.markdown import Bullets, InlineText, MarkdownPart, Node, Paragraph, iter_lines

_PLAIN_LABEL = re.compile(r"([A-Za-z][^:`.!?|]{0,60}?)\s*:(?=\s|$)")
# A sentence may have a colon, too; more words before it are no label.
_LABEL_WORDS = 6


@dataclass(frozen=True)
class Label:
    """A labelled value, `**Name**: value`, with the blocks below it.

    Attributes:
        name: the name as written, without emphasis and colon.
        value: the text after the colon on the same line.
        body: nested or following blocks.
    """

    name: str
    value: InlineText
    body: tuple[Node, ...] = ()

    @property
    def line(self) -> int:
        return self.value.line

    def lines(self) -> tuple[InlineText, ...]:
        """Return the value, unless empty, and every line of text below it; a table row is one
        line.
        """
        own = (self.value,) if self.value.text else ()
        return own + tuple(iter_lines(self.body))

    def text(self) -> str:
        """Return all lines, joined by blanks."""
        return " ".join(line.text for line in self.lines())

    def codes(self) -> tuple[str, ...]:
        return tuple(code for line in self.lines() for code in line.codes)


def labels(parts: Sequence[MarkdownPart]) -> list[Label]:
    """Return every labelled value in reading order: headings, paragraphs, and list items at any
    depth.
    """
    result: list[Label] = []
    for part in parts:
        # Some models write a heading where others write a bold name.
        if part.level:
            result.append(Label(part.title, InlineText("", (), part.line), part.blocks))
        result.extend(_labels(part.blocks))
    return result


def find(choices: Sequence[Label], *names: str) -> Label | None:
    """Return the first label with one of the names, earlier names first; else one that begins with
    a name; or None.

    Case, punctuation and text in parentheses are ignored.
    """
    # The order of the names counts before that of the labels: the first name is the usual one.
    normal_names = [normal(name) for name in names]
    for name in normal_names:
        for label in choices:
            if normal(label.name) == name:
                return label
    for name in normal_names:
        for label in choices:
            # Models add words to a label: "Purpose of the check" is the label "Purpose".
            if normal(label.name).startswith(name + " "):
                return label
    return None


def normal(name: str) -> str:
    """Normalise a label's name for comparison: lower-case words without punctuation and
    parentheses.
    """
    bare = re.sub(r"\([^)]*\)?", " ", name.casefold())
    return " ".join(re.findall(r"[^\W_]+", bare))


def _split(line: InlineText) -> tuple[str, InlineText] | None:
    """Return the label's name and the rest of the line, or None if the line has no label."""
    # Emphasis says where the name ends, so a bold name may be of any length.
    if line.lead:
        body = line.text[len(line.lead) :].lstrip()
        # The colon stands inside of the emphasis, `**Name:** value`, or behind it.
        if line.lead.endswith(":"):
            return line.lead[:-1], replace(line, text=body, lead="")
        if body.startswith(":") or not body:
            return line.lead, replace(line, text=body[1:].lstrip(), lead="")
        return None
    match = _PLAIN_LABEL.match(line.text)
    if match is None or len(match[1].split()) > _LABEL_WORDS:
        return None
    return match[1], replace(line, text=line.text[match.end() :].strip())


def _labels(blocks: Sequence[Node]) -> list[Label]:
    result: list[Label] = []
    open_: Label | None = None
    for block in blocks:
        line_labels = _labels_of_lines(block.lines) if isinstance(block, Paragraph) else []
        if line_labels:
            result += [*_closed(open_), *line_labels[:-1]]
            open_ = line_labels[-1]
        # A block without a label belongs to the label above it: a list below `**Fields**:`.
        elif open_:
            open_ = replace(open_, body=(*open_.body, block))
        else:
            result += _nested(block)
    return result + _closed(open_)


def _closed(label: Label | None) -> list[Label]:
    """Return a label, followed by the labels in its body."""
    if label is None:
        return []
    return [label, *(inner for block in label.body for inner in _nested(block))]


def _nested(block: Node) -> list[Label]:
    if not isinstance(block, Bullets):
        return []
    result: list[Label] = []
    for item in block.items:
        line_labels = _labels_of_lines(item.lines)
        if line_labels:
            line_labels[-1] = replace(line_labels[-1], body=(*line_labels[-1].body, *item.blocks))
            result += [*line_labels[:-1], *_closed(line_labels[-1])]
        else:
            result += _labels(item.blocks)
    return result


def _labels_of_lines(lines: Sequence[InlineText]) -> list[Label]:
    """Return the labels of a paragraph; a line without one continues the label before it."""
    result: list[Label] = []
    for line in lines:
        split = _split(line)
        if split is not None:
            result.append(Label(*split))
        elif result:
            last = result[-1]
            result[-1] = replace(last, body=(*last.body, Paragraph((line,), line.line)))
    return result
