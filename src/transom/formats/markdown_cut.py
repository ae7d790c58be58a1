"""Markdown as it was written, cut at its headings: whole parts, byte for byte but for line ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transom.formats.markdown import Part, parse, region


def source_lines(text: str) -> list[str]:
    """The lines of a text as the parser counts them: line 1 is the first."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def source(text: str, parts: Sequence[Part], chosen: Sequence[Part]) -> str:
    """Consecutive parts as they were written: from the heading of the first to the heading that follows the last.

    Args:
        text: what was parsed.
        parts: all of its parts.
        chosen: one or more of them, without a gap.
    """
    lines = source_lines(text)
    following = next(index for index, part in enumerate(parts, 1) if part is chosen[-1])
    end = parts[following].line if following < len(parts) else len(lines) + 1
    return "\n".join(lines[chosen[0].line - 1 : end - 1]).rstrip() + "\n"


def without(text: str, drops: Callable[[Part], bool], ends: Callable[[Part], bool] | None = None) -> str:
    """The text as it was written, except for the regions of the headings that `drops`.

    Args:
        text: Markdown.
        drops: whether a heading goes, with everything below it.
        ends: a heading that ends the region before it whatever its level; see `region`.
    """
    parts = parse(text)
    kept: list[str] = []
    index = 0
    while index < len(parts):
        if parts[index].level and drops(parts[index]):
            index += len(region(parts, index, ends))
            continue
        kept.append(source(text, parts, [parts[index]]))
        index += 1
    return "\n".join(piece for piece in kept if piece.strip())
