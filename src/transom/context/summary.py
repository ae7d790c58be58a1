"""What comes back of a text that was too long: a summary held to its source, or a mark-bearing extract by rule."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from transom.canonical import Json
from transom.context.facts import Fact, Source, facts_of, strike
from transom.context.outline import lines_of
from transom.context.tokens import TokenCorrection
from transom.llm import Asked, CameBack, Said, Text, ToolCall, Turn
from transom.llm.render import unfenced

RATIO = 10
"""Tokens of a source for each token of its summary, where nothing else is asked for."""
_LEAST = 200
_IDS_PART = 0.25  # of a summary's room, for the ids that it does not mention
STRUCK = "[struck: not in the source]"

_BAD = re.compile(r"\b(fatal|error|fail(?:ed|ure|s)?|violat\w*|warn\w*|blocker|critical)\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,6} ")


@dataclass(frozen=True)
class Summary:
    """What stands for a source in a window.

    Attributes:
        text: all that is shown, within its room.
        by: `model`, or `extract` where there was no summary and lines were chosen by rule.
        struck: numbers and ids that it named and its source does not.
        cut: whether something of it was left out for want of room.
    """

    text: str
    by: Literal["model", "extract"]
    struck: tuple[str, ...] = ()
    cut: bool = False


def words_of(turns: Iterable[Turn]) -> str:
    """What was asked, said, called with and came back, as it came: none of it is in the words of our rendering."""
    words: list[str] = []
    for turn in turns:
        match turn:
            case Asked(text):
                words.append(unfenced(text))
            case CameBack(results):
                words += [result.content for result in results]
            case Said(parts):
                for part in parts:
                    words += [part.text] if isinstance(part, Text) else []
                    words += _values(part.arguments) if isinstance(part, ToolCall) else []
    return "\n".join(words)


def _values(arguments: Json) -> list[str]:
    """The texts and numbers that a call was made with; the names that its schema gives them say nothing."""
    if isinstance(arguments, dict | list):
        inner = arguments.values() if isinstance(arguments, dict) else arguments
        return [value for one in inner for value in _values(one)]
    return [] if arguments is None or isinstance(arguments, bool) else [str(arguments)]


def summary_room(size: int, most: int, ratio: float = RATIO) -> int:
    """Tokens that a summary may take.

    Args:
        size: tokens of its source.
        most: tokens that one result may take.
        ratio: tokens of the source for each of the summary's.
    """
    return min(max(_LEAST, int(size / ratio)), most)


def summarised(said: str, source: str, room: int, tokens: TokenCorrection) -> Summary:
    """What a window is shown in the place of a source.

    A number or an id that the source does not have is struck and reported. Ids of the source that the summary does not
    mention are listed under it as far as there is room. Without a summary, an extract stands there.

    Args:
        said: the summary, "" where nobody made one.
        source: the whole text that it is of.
        room: tokens that there are for it.
        tokens: how they are estimated.
    """
    if not said.strip():
        return extract(source, room, tokens)
    known, said = Source(source), said.strip()
    wrong = [fact for fact in facts_of(said) if not known.has(fact)]
    text, cut = _within(strike(said, wrong, STRUCK), room, tokens)
    listed = _ids(text, source, min(int(room * _IDS_PART), room - tokens.count(text)), tokens)
    return Summary("\n".join([text, *listed]), "model", tuple(fact.text for fact in wrong), cut)


def extract(source: str, room: int, tokens: TokenCorrection) -> Summary:
    """Lines of a source, chosen by rule, each with its number: what is bad, headings, numbers and ids go first."""
    lines = lines_of(source)
    order = sorted((-_weight(line, index, len(lines)), index) for index, line in enumerate(lines) if line.strip())
    head = f"[no summary; lines chosen by rule of {len(lines)}]"
    chosen, used = set[int](), tokens.count(head)
    for _, index in order:
        size = tokens.count(f"{index + 1}: {lines[index]}\n")
        if used + size <= room:
            chosen.add(index)
            used += size
    told = [f"{index + 1}: {lines[index]}" for index in sorted(chosen)]
    return Summary("\n".join([head, *told]), "extract", (), len(told) < len(order))


def _weight(line: str, index: int, count: int) -> int:
    facts = list(facts_of(line))
    ends = index == 0 or index == count - 1
    return 4 * bool(_BAD.search(line)) + 3 * bool(_HEADING.match(line)) + 2 * ends + min(len(facts), 2)


def _within(text: str, room: int, tokens: TokenCorrection) -> tuple[str, bool]:
    """As many whole lines as there is room for; a first one that is too long is cut."""
    if tokens.count(text) <= room:
        return text, False
    mark = "[cut: the summary was longer than its room]"
    kept: list[str] = []
    for line in lines_of(text):
        if tokens.count("\n".join([*kept, line, mark])) > room:
            break
        kept.append(line)
    return "\n".join([*kept, mark]), True


def _ids(said: str, source: str, room: int, tokens: TokenCorrection) -> list[str]:
    """One line with the ids of the source that what was said does not mention, in their order."""
    mentioned = {fact.text for fact in facts_of(said)}
    missing = list(dict.fromkeys(one.text for one in _all_ids(source) if one.text not in mentioned))
    line, told = "Also named in the source:", 0
    for name in missing:
        longer = f"{line} {name},"
        if tokens.count(longer) > room:
            break
        line, told = longer, told + 1
    return [line.rstrip(",")] if told else []


def _all_ids(text: str) -> list[Fact]:
    return [fact for fact in facts_of(text) if fact.value is None]
