"""Parser of Markdown by people and models: headings, lists, tables and fences, each with its line.

Everything is read from the token tree of markdown-it-py, so the contents of a code fence are never
taken for headings or labels. A document is a flat sequence of parts, one per heading, since models
get numbers right more often than levels; `region` returns the parts of a heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

# `2.1 Title`, `Section 2: Title`, `2.1 - Title`: models number headings in many ways.
_NUMBER = re.compile(r"(?:section\s+)?(\d+(?:\.\d+)*)\.?(?=[\s:)–—-]|$)[\s:)–—-]*", re.IGNORECASE)


@dataclass(frozen=True)
class InlineText:
    """One line of inline text.

    Attributes:
        text: the text without emphasis; code spans keep their backticks.
        codes: contents of the code spans, in order.
        line: 1-based line number.
        lead: the bold text at its beginning, or "".
    """

    text: str
    codes: tuple[str, ...]
    line: int
    lead: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Consecutive lines of text."""

    lines: tuple[InlineText, ...]
    line: int


@dataclass(frozen=True)
class ListItem:
    """One list item: its own lines and its nested blocks."""

    lines: tuple[InlineText, ...]
    blocks: tuple[Node, ...]
    line: int


@dataclass(frozen=True)
class Bullets:
    """A bullet or numbered list."""

    items: tuple[ListItem, ...]
    line: int
    ordered: bool = False


@dataclass(frozen=True)
class Fence:
    """A code block. `line` is its first line of content; `lang` is lower case, "" if none is
    given.
    """

    lang: str
    text: str
    line: int


@dataclass(frozen=True)
class MarkdownTable:
    """A table: the header cells and the rows."""

    header: tuple[InlineText, ...]
    rows: tuple[tuple[InlineText, ...], ...]
    line: int


@dataclass(frozen=True)
class Comment:
    """An HTML comment."""

    text: str
    line: int


Node = Paragraph | Bullets | Fence | MarkdownTable | Comment


@dataclass(frozen=True)
class MarkdownPart:
    """A heading and the blocks up to the next heading of any level.

    Attributes:
        level: 1..6; 0 for the text before the first heading.
        number: `"2"` or `"2.1"` if the title begins with one, else "".
        title: the title without the number.
        line: 1-based line of the heading.
    """

    level: int
    number: str
    title: str
    line: int
    blocks: tuple[Node, ...] = ()


@lru_cache(maxsize=128)  # a specification's sections are read by every gate and by the next round
def parse(text: str) -> tuple[MarkdownPart, ...]:
    """Split Markdown into its parts, in order; the first is the preamble (level 0), possibly empty.

    A paragraph that is one bold line beginning with a number such as `2.1` counts as a heading of
    level 3.
    """
    parts: list[MarkdownPart] = [MarkdownPart(0, "", "", 1)]
    blocks: list[Node] = []
    for node in SyntaxTreeNode(_parser().parse(text)).children:
        heading = _heading(node)
        if heading is None:
            blocks.extend(_block(node))
            continue
        parts[-1] = replace(parts[-1], blocks=tuple(blocks))
        parts.append(heading)
        blocks = []
    parts[-1] = replace(parts[-1], blocks=tuple(blocks))
    return tuple(parts)


def region(
    parts: Sequence[MarkdownPart], start: int, ends: Callable[[MarkdownPart], bool] | None = None
) -> tuple[MarkdownPart, ...]:
    """Return the part at `start` with its subparts: up to the next heading of its level or
    above, or that `ends`.
    """
    stop = start + 1
    while (
        stop < len(parts)
        and parts[stop].level > parts[start].level
        and not (ends and ends(parts[stop]))
    ):
        stop += 1
    return tuple(parts[start:stop])


def iter_lines(blocks: Sequence[Node]) -> Iterator[InlineText]:
    """Yield every line of text in the blocks, nested ones included; fences and comments are
    skipped.
    """
    for block in blocks:
        match block:
            case Paragraph():
                yield from block.lines
            case Bullets():
                for item in block.items:
                    yield from item.lines
                    yield from iter_lines(item.blocks)
            case MarkdownTable():
                for row in block.rows:
                    yield _join(row)


def iter_nodes(blocks: Sequence[Node]) -> Iterator[Node]:
    """Yield every block, nested ones included."""
    for block in blocks:
        yield block
        if isinstance(block, Bullets):
            for item in block.items:
                yield from iter_nodes(item.blocks)


def fences(blocks: Sequence[Node]) -> list[Fence]:
    """Return every code block in the blocks, nested ones included."""
    return [node for node in iter_nodes(blocks) if isinstance(node, Fence)]


def items(blocks: Sequence[Node]) -> list[ListItem]:
    """Return the items of the top-level lists in the blocks."""
    return [item for block in blocks if isinstance(block, Bullets) for item in block.items]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def _heading(node: SyntaxTreeNode) -> MarkdownPart | None:
    if node.type == "heading":
        line = _inline(node.children[0])[0] if node.children and node.children[0].content else None
        return _part(int(node.tag[1]), line.text if line else "", _line(node))
    if node.type != "paragraph":
        return None
    lines = _inline(node.children[0])
    # A line that is bold as a whole is how models write a heading below the third level.
    if len(lines) != 1 or lines[0].lead != lines[0].text:
        return None
    part = _part(3, lines[0].lead.rstrip(":"), _line(node))
    # `**2. Do this**` is more often a step than a heading.
    return part if "." in part.number else None


def _part(level: int, title: str, line: int) -> MarkdownPart:
    if (match := _NUMBER.match(title)) is None:
        return MarkdownPart(level, "", title, line)
    return MarkdownPart(level, match[1], title[match.end() :].strip(), line)


def _line(node: SyntaxTreeNode) -> int:
    return node.map[0] + 1 if node.map else 1


def _block(node: SyntaxTreeNode) -> list[Node]:
    line = _line(node)
    match node.type:
        case "paragraph":
            return [Paragraph(_inline(node.children[0]), line), *_comments(node)]
        case "bullet_list" | "ordered_list":
            items = tuple(_item(child) for child in node.children)
            return [Bullets(items, line, node.type == "ordered_list")]
        case "fence":
            return [Fence(node.info.strip().split(" ")[0].lower(), node.content, line + 1)]
        case "code_block":
            # The map of an indented block begins at its content, that of a fence at the line of its
            # marks.
            return [Fence("", node.content, line)]
        case "table":
            return [_table(node, line)]
        case "html_block":
            # Other HTML is markup, such as an anchor, and says nothing.
            return [Comment(node.content, line)] if "<!--" in node.content else []
        case _:
            return [block for child in node.children for block in _block(child)]


def _item(node: SyntaxTreeNode) -> ListItem:
    blocks = [block for child in node.children for block in _block(child)]
    if blocks and isinstance(blocks[0], Paragraph):
        return ListItem(blocks[0].lines, tuple(blocks[1:]), _line(node))
    return ListItem((), tuple(blocks), _line(node))


def _table(node: SyntaxTreeNode, line: int) -> MarkdownTable:
    rows = [
        tuple(replace(_join(_inline(cell.children[0])), line=_line(row)) for cell in row.children)
        for group in node.children
        for row in group.children
    ]
    return MarkdownTable(rows[0], tuple(rows[1:]), line)


def _comments(node: SyntaxTreeNode) -> list[Node]:
    return [
        Comment(n.content, _line(node))
        for n in node.walk()
        if n.type == "html_inline" and "<!--" in n.content
    ]


def _join(texts: Sequence[InlineText]) -> InlineText:
    return InlineText(
        " ".join(t.text for t in texts if t.text),
        tuple(code for t in texts for code in t.codes),
        texts[0].line if texts else 1,
    )


def _inline(node: SyntaxTreeNode) -> tuple[InlineText, ...]:
    """Return the lines of an inline token, without emphasis; code spans keep their backticks."""
    rows: list[tuple[list[str], list[str], list[str]]] = [([], [], [])]
    _collect(node, rows, bold=False)
    first = _line(node)
    parts = []
    for offset, (texts, codes, leads) in enumerate(rows):
        text = "".join(texts).strip()
        if text:
            parts.append(InlineText(text, tuple(codes), first + offset, "".join(leads).strip()))
    return tuple(parts) or (InlineText("", (), first),)


def _collect(
    node: SyntaxTreeNode, rows: list[tuple[list[str], list[str], list[str]]], *, bold: bool
) -> None:
    for child in node.children:
        texts, codes, leads = rows[-1]
        # Only bold text with nothing before it is a lead.
        leading = bold and "".join(texts) == "".join(leads)
        match child.type:
            # Each line of a paragraph counts for itself: a label may stand in any of them.
            case "softbreak" | "hardbreak":
                rows.append(([], [], []))
                continue
            case "strong":
                _collect(child, rows, bold=True)
                continue
            case "code_inline":
                piece = f"`{child.content}`"
                codes.append(child.content)
            # `_comments` reads comments; here they would be taken for text of the line.
            case "html_inline" if child.content.startswith("<!--"):
                continue
            case "text" | "html_inline":
                piece = child.content
            case "image":
                continue
            case _:
                _collect(child, rows, bold=bold)
                continue
        texts.append(piece)
        if leading:
            leads.append(piece)
