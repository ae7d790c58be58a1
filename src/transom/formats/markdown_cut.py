"""Markdown source cut at its headings: whole parts, byte for byte but for line ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transom.formats.markdown import MarkdownPart, parse, region


def source_lines(text: str) -> list[str]:
    """Return the lines of a text as the parser counts them: line 1 is the first."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def source(text: str, parts: Sequence[MarkdownPart], chosen: Sequence[MarkdownPart]) -> str:
    """Return the source of consecutive parts, from the first heading to the heading after the last
    part.

    Args:
        text: the text that was parsed.
        parts: all of its parts.
        chosen: one or more consecutive parts of them.
    """
    lines = source_lines(text)
    following = next(index for index, part in enumerate(parts, 1) if part is chosen[-1])
    end = parts[following].line if following < len(parts) else len(lines) + 1
    return "\n".join(lines[chosen[0].line - 1 : end - 1]).rstrip() + "\n"


def without(
    text: str,
    drops: Callable[[MarkdownPart], bool],
    ends: Callable[[MarkdownPart], bool] | None = None,
) -> str:
    """Return the source without the regions of the headings that `drops`.

    Args:
        text: Markdown.
        drops: whether to drop a heading, with everything below it.
        ends: whether a heading ends the region before it at any level; see `region`.
    """
    parts = parse(text)
    lines_kept: list[str] = []
    index = 0
    while index < len(parts):
        if parts[index].level and drops(parts[index]):
            index += len(region(parts, index, ends))
            continue
        lines_kept.append(source(text, parts, [parts[index]]))
        index += 1
    return "\n".join(piece for piece in lines_kept if piece.strip())
