"""A summary of a text that was too long, checked against its source; without one, an extract by
rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from transom.context.cutting import cut, parts
from transom.context.outline import LONGEST_LINE, lines_of
from transom.context.tokens import TokenCorrection
from transom.evidence.facts import MOST_READ, FactSource, count_facts, facts_of, strike
from transom.llm import AssistantMessage, Block, Text, ToolResults, Turn, UserMessage
from transom.llm.render import unfenced

_LEAST = 200
_IDS_PART = 0.25  # of a summary's room, for the ids that it does not mention
_AND_MORE = ", and more"
_PARTS = 4  # of an extract's room; a longer line is divided
_SHORTEST = 20  # characters of such a part
_BESIDE = 8  # tokens of its number and the dots for the rest of the line
STRUCK = "[struck: not in the source]"
# one stands for it while there may be more to strike
_HOLES = [chr(code) for code in (0, *range(0xE000, 0xF900))]

_BAD = re.compile(
    r"\b(fatal|error|fail(?:ed|ure|s)?|violat\w*|warn\w*|blocker|critical)\b", re.IGNORECASE
)
_HEADING = re.compile(r"^\s{0,3}#{1,6} ")


@dataclass(frozen=True)
class SourceSummary:
    """The text that stands for a source in a window.

    Attributes:
        text: all that is numbered, within its room.
        by: `model`, or `extract` where there was no summary and lines were chosen by rule.
        struck: numbers and ids that it named and its source does not.
        cut: whether something of it was left out for want of room.
    """

    text: str
    by: Literal["model", "extract"]
    struck: tuple[str, ...] = ()
    cut: bool = False


def seen_in(blocks: Iterable[Block], turns: Iterable[Turn]) -> str:
    """Return a conversation's blocks, messages and tool results as one text.

    A summary is checked against this text, so the model's own words are not in it.
    """
    words = [block.text for block in blocks]
    for turn in turns:
        match turn:
            case UserMessage(text):
                words.append(unfenced(text))
            case ToolResults(results):
                for result in results:
                    # Our own words on a refused call repeat the model's arguments.
                    if not (result.is_error and result.trust == "ours"):
                        words.append(result.content)
    return "\n".join(words)


def said_in(turns: Iterable[Turn]) -> str:
    """Return a conversation's own text."""
    texts = []
    for turn in turns:
        if isinstance(turn, AssistantMessage):
            texts += [part.text for part in turn.parts if isinstance(part, Text)]
    return "\n".join(texts)


def summary_room(size: int, limit: int, ratio: float) -> int:
    """Return the tokens that a summary may take: one for `ratio` of its source's tokens."""
    return min(max(_LEAST, int(size / ratio)), limit)


def summarised(
    answer: str, source: str, room: int, tokens: TokenCorrection, *, also: str = ""
) -> SourceSummary:
    """Return the summary of a source, checked and within its room, in tokens.

    A number or an id that the source does not have is struck and reported. Ids of the source that
    the summary does not mention are listed under it as far as there is room: for a list that is no
    longer than the summary, or the shortest room of one. Without a summary (`answer` is "") an
    extract stands there.

    `also`: other texts whose facts it may name: those that its author saw beside the source.
    """
    if not answer.strip():
        return extract(source, room, tokens)
    searched = FactSource(source)  # which is gone through once, for all that is looked up in it
    supported, wrong = _remove_unsupported(answer.strip(), searched, FactSource(also))
    text, cut = _within(supported, room, tokens)
    size = tokens.count(text)
    listed = _ids(
        text, searched, min(int(room * _IDS_PART), room - size, max(_LEAST, size)), tokens
    )
    return SourceSummary("\n".join([text, *listed]), "model", wrong, cut)


def without_unsupported(answer: str, source: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without the numbers and ids that its source does not have, and those."""
    return _remove_unsupported(answer, FactSource(source))


def _remove_unsupported(answer: str, *sources: FactSource) -> tuple[str, tuple[str, ...]]:
    text, struck = answer, list[str]()
    hole = next(sign for sign in _HOLES if sign not in answer)
    # Again until nothing is struck: what is left of a word may be an id by itself.
    while True:
        wrong = []
        for fact in facts_of(text):
            if not any(source.has(fact) for source in sources):
                wrong.append(fact)
        if not wrong:
            return text.replace(hole, STRUCK), tuple(struck)
        text = strike(text, wrong, hole)
        struck += [fact.text for fact in wrong]


def extract(source: str, room: int, tokens: TokenCorrection) -> SourceSummary:
    """Choose lines of a source by rule, each with its number: what is bad, headings, numbers and
    ids go first.

    A line that would take more than a quarter of the room is divided, and each part is chosen by
    itself.
    """
    pieces = list(_pieces(source[:MOST_READ], room // _PARTS - _BESIDE, tokens))
    order = []
    for number, piece in enumerate(pieces):
        if piece.text.strip():
            order.append((-_weight(piece.text, number, len(pieces)), number))
    order.sort()
    head = f"[no summary; lines chosen by rule of {len(lines_of(source))}]"
    chosen, tokens_used = list[int](), tokens.count(head)
    for _, number in order:
        if tokens_used >= room:
            break
        size = tokens.count(f"{pieces[number].numbered}\n")
        if tokens_used + size <= room:
            chosen.append(number)
            tokens_used += size
    text = "\n".join([head, *(pieces[number].numbered for number in sorted(chosen))])
    return SourceSummary(text, "extract", (), len(chosen) < len(order))


class _Piece(NamedTuple):
    """A line of a source or a part of a long one, and the same with its number and the dots for
    the rest.
    """

    text: str
    numbered: str


def _pieces(text: str, limit: int, tokens: TokenCorrection) -> Iterator[_Piece]:
    """Yield the lines of a text, numbered as `lines_of` does; those of more than `limit` tokens in
    parts.
    """
    number = 1
    for line in text.split("\n"):
        longest = len(line)
        if not tokens.fits(line, limit):
            longest = max(_SHORTEST, tokens.reach(line, limit))
        for start, end in parts(line, longest):
            before, after = "..." * (start > 0), "..." * (end < len(line))
            part = line[start:end]
            yield _Piece(part, f"{number + start // LONGEST_LINE}: {before}{part}{after}")
        number += max(1, -(-len(line) // LONGEST_LINE))


def _weight(line: str, index: int, count: int) -> int:
    ends = index == 0 or index == count - 1
    return (
        4 * bool(_BAD.search(line))
        + 3 * bool(_HEADING.match(line))
        + 2 * ends
        + count_facts(line, 2)
    )


def _within(text: str, room: int, tokens: TokenCorrection) -> tuple[str, bool]:
    """Return as much of a text as has room, and whether it was cut."""
    if tokens.count(text) <= room:
        return text, False
    mark = "[cut: the summary was longer than its room]"
    limit = tokens.reach(text, room - tokens.count(f"\n{mark}"))
    beginning = text[: cut(text, limit, {STRUCK})].rstrip()
    return f"{beginning}\n{mark}" if beginning else mark, True


def _ids(answer: str, source: FactSource, room: int, tokens: TokenCorrection) -> list[str]:
    """Return a line with ids of the source that an answer does not mention, or no line."""
    mentioned = {fact.text for fact in facts_of(answer)}
    missing = [name for name in source.ids if name not in mentioned]
    line, listed = "Also named in the source:", 0
    for name in missing:
        separator = "," if listed else ""
        longer = f"{line}{separator} {name}"
        # Unless this is the last one, the remark on the others must have room as well.
        ending = "" if listed + 1 == len(missing) else _AND_MORE
        if tokens.count(longer + ending) > room:
            break
        line, listed = longer, listed + 1
    if not listed:
        return []
    return [line if listed == len(missing) else line + _AND_MORE]
