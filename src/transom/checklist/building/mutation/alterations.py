"""Real files altered in ways that need no meaning: what atom A says of them has to follow.

Each entry's own line is the evidence. It is emptied, or a digit of a number that the entry states
is changed. `addition` tries what lies beside these lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from transom.checklist.atoms import REFERENCE_FIELD, Entry
from transom.checklist.building.prober import ParserAnswer, RealFile

Way: TypeAlias = Literal["line emptied", "text changed"]
PER_FILE: Final = 6
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\d)")
_ZEROS = re.compile(r"^[-+]?0*|0+$")


@dataclass(frozen=True)
class Alteration:
    """An altered text, and where it was altered.

    Of those with the same `of` only one need be noticed; unless it is `sure`, no notice is only a
    question.
    """

    way: Way
    file: RealFile
    line: int
    text: str
    of: str
    sure: bool = True
    change: str = ""

    @property
    def says(self) -> str:
        return f"{self.file.name}:{self.line} altered ({self.way}{self.change})"


def alterations(file: RealFile, entries: Sequence[Entry]) -> list[Alteration]:
    """Return alterations of one file, spread over its entries."""
    placed = []
    for entry in entries:
        # An entry without a line, or of a blank one, has no evidence to alter.
        if entry.line_number and file.lines[entry.line_number - 1].strip():
            placed.append(entry)
    altered: list[Alteration] = []
    for entry in _spread(placed):
        number = entry.line_number or 0
        altered.append(
            Alteration(
                "line emptied", file, number, file.with_line(number, ""), f"{number} emptied"
            )
        )
        altered += _changed(file, number, entry)
    return altered


def noticed(alteration: Alteration, before: ParserAnswer, after: ParserAnswer) -> bool:
    """Return whether atom A follows: it says something else, or that it cannot judge the file."""
    if after.refused is not None:
        return True
    # The text of a changed line may stand in `value` as it is; only what was read from it counts.
    if alteration.way == "text changed":
        return after.fields != before.fields
    return after.placed != before.placed


def _spread(entries: Sequence[Entry]) -> list[Entry]:
    """Return some alterations of each kind of entry: the first, the last and some between."""
    # Entries with the same categories are read by the same part of atom A.
    kinds: dict[str, list[Entry]] = {}
    for entry in entries:
        kinds.setdefault(",".join(sorted(entry.parsed_fields)), []).append(entry)
    limit = max(2, PER_FILE // max(1, len(kinds)))
    steps = {kind: max(1, -(-len(group) // limit)) for kind, group in kinds.items()}
    spread: list[Entry] = []
    for kind, group in kinds.items():
        spread.extend([*group[:: steps[kind]], group[-1]][:PER_FILE])
    return spread


def _changed(file: RealFile, number: int, entry: Entry) -> Iterator[Alteration]:
    """Yield alterations of a digit or letter in each value that stands in the entry's line."""
    line = file.lines[number - 1]
    for value in dict.fromkeys(_values(entry)):
        for start, end in places(line, value):
            token = line[start:end]
            text = file.with_line(number, f"{line[:start]}{other_token(token)}{line[end:]}")
            # A short or repeated token may mean something else at this place, so silence is no
            # proof.
            alone = file.text.count(token) == 1 and len(token) > 1
            change = f": {token} to {other_token(token)}"
            yield Alteration("text changed", file, number, text, f"{number} {value}", alone, change)


def _values(entry: Entry) -> Iterator[str | float]:
    """Yield the texts and numbers among an entry's fields.

    True and false stand for something that is written otherwise.
    """
    for category, fields in entry.parsed_fields.items():
        # A reference names another file, and no value of this one.
        if category == REFERENCE_FIELD or not isinstance(fields, dict):
            continue
        for value in fields.values():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                continue
            if str(value).strip():
                yield value


def places(line: str, value: str | float) -> list[tuple[int, int]]:
    """Return where a value is printed in a line.

    A text must stand as it is, a number in any unit that is a power of ten.
    """
    if isinstance(value, str):
        return [match.span() for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", line)]
    digits = _digits(f"{value:.12g}")
    return [match.span() for match in _NUMBER.finditer(line) if _digits(match[0]) == digits]


def _digits(number: str) -> str:
    """Return the significant digits of a number: 1.23e-03, 0.00123 and 1.230 have the same."""
    return _ZEROS.sub("", re.split(r"[eE]", number)[0].replace(".", "").lstrip("+-"))


def other_token(token: str) -> str:
    """Return the token with its last digit raised by one: `1.25e-03` -> `1.26e-03`.

    A token without a digit gets another last letter: `MET` -> `MEx`.
    """
    # The exponent stays: another one would change the number beyond any limit.
    without_exponent = re.split(r"[eE](?=[-+]?\d+$)", token)[0]
    digits = []
    for index, sign in enumerate(without_exponent):
        if sign.isdigit():
            digits.append(index)
    position = digits[-1] if digits else len(token) - 1
    sign = token[position]
    if digits:
        other = str((int(sign) + 1) % 10)
    elif sign == "x":
        other = "y"
    else:
        other = "x"
    return f"{token[:position]}{other}{token[position + 1 :]}"


def is_prose(file: RealFile) -> bool:
    """Return whether a blank line at the top means nothing, as it does in JSON or a table."""
    head = file.text.lstrip()[:1]
    # A log may begin with a bracket as well, so the text has to be JSON to count as such.
    if head in ("{", "[", "<", ""):
        try:
            json.loads(file.text)
        except ValueError:
            return head in ("[",) and not file.text.rstrip().endswith("]")
        return False
    return not re.search(r"[,;\t].*[,;\t]", file.lines[0])
