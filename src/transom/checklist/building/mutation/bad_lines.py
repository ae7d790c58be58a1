"""Bad lines for a good report: copies with worse values, and messages of trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import Entry, ValidationItem
from transom.checklist.building.mutation.alterations import is_prose, other_token, places
from transom.checklist.building.mutation.pattern_matches import without_examples
from transom.checklist.building.mutation.values import bad_texts
from transom.checklist.building.prober import RealFile
from transom.checklist.judging.entries import field_of
from transom.checklist.writing.shapes import SpecDocument
from transom.evidence.vocabulary import shipped_vocabulary

# A report of thousands of rows is tried at its first, its last and some rows between.
_JUDGED_LINES: Final = 4


@dataclass(frozen=True)
class BadLines:
    """Lines to add to a report.

    Attributes:
        text: the lines.
        after_line: the number of the line that they are laid behind; 0 before the first.
        replaces: whether they take the place of that line.
        must_be_read: whether they are of the kind that atom A reads; a message is not.
    """

    text: str
    after_line: int
    replaces: bool = False
    must_be_read: bool = True

    def laid_into(self, lines: Sequence[str]) -> str:
        """Return the text of a report with these lines."""
        before = lines[: self.after_line - 1] if self.replaces else lines[: self.after_line]
        return "\n".join([*before, *self.text.split("\n"), *lines[self.after_line :]])

    def line_numbers(self) -> range:
        """Return the numbers of these lines in the report."""
        first = self.after_line if self.replaces else self.after_line + 1
        return range(first, first + self.text.count("\n") + 1)


def bad_copies(
    item: ValidationItem, report: RealFile, judged: Sequence[Entry], spec: SpecDocument
) -> Iterator[BadLines]:
    """Yield copies of judged lines whose value breaks the condition, beside these lines."""
    # Without a condition no value is bad, and a count does not look at values.
    if item.condition is None or item.count is not None:
        return
    field = item.condition.field
    rows = list[Entry]()
    for entry in judged:
        if _is_printed_once(report, entry, field_of(entry.parsed_fields, field)):
            rows.append(entry)
    # Each trial reads the report again, so a few rows stand for all.
    chosen = _spread(rows, _JUDGED_LINES)
    if item.take is not None:
        chosen = chosen[-1:] if item.take == "last" else chosen[:1]
    in_place = not takes_more_lines(report)
    words = _failing_words(item, field, spec)
    for entry in chosen:
        number = entry.line_number or 1
        line = report.lines[number - 1]
        value = field_of(entry.parsed_fields, field)
        is_last = entry is chosen[-1]
        # All values at the last line, one at each other line: the rows are of one form.
        for index, (text, is_known) in enumerate(bad_texts(item, line, value, words)):
            if index and not is_last:
                break
            if in_place:
                yield BadLines(text, number, replaces=True, must_be_read=is_known)
            elif item.take == "first":
                yield BadLines(text, number - 1, must_be_read=is_known)
            else:
                renamed = _renamed(text, entry, field, spec)
                behind = behind_record(report, number)
                if renamed != text and is_last and not index:
                    # The same name again, with a worse value.
                    yield BadLines(text, behind, must_be_read=is_known)
                yield BadLines(renamed, behind, must_be_read=is_known)


def _failing_words(item: ValidationItem, field: str, spec: SpecDocument) -> list[str]:
    """Return the words that the judged field has in failing examples of the ItemSpec."""
    words = dict[str, None]()
    for example in spec.guide.examples:
        if example.item != item.id or example.outcome != "fails":
            continue
        for fields in example.fields:
            word = fields.get(field)
            if isinstance(word, str) and word in example.text:
                words[word] = None
    return list(words)


def _is_printed_once(report: RealFile, entry: Entry, value: Json) -> bool:
    """Return whether a judged value stands in its entry's line, at one place."""
    # A value that is printed twice could be changed at the wrong place.
    if (
        isinstance(value, bool)
        or not isinstance(value, str | int | float)
        or not str(value).strip()
    ):
        return False
    return len(places(report.lines[(entry.line_number or 1) - 1], value)) == 1


def _renamed(text: str, entry: Entry, field: str, spec: SpecDocument) -> str:
    """Return a row with other names, since an atom may keep one row for each name.

    Names that the ItemSpec speaks of are kept: the item may be about them alone.
    """
    spec_words = set(re.findall(r"\w+", without_examples(spec.text)))
    for fields in entry.parsed_fields.values():
        for key, value in fields.items() if isinstance(fields, dict) else ():
            is_judged = field.endswith(f".{key}")
            if (
                is_judged
                or not isinstance(value, str)
                or set(re.findall(r"\w+", value)) <= spec_words
            ):
                continue
            for start, end in places(text, value)[:1]:
                text = f"{text[:start]}{_other_name(value)}{text[end:]}"
    return text


def _other_name(name: str) -> str:
    """Return a name of the same form: its longest part differs, as in `u_dec/r0/D`."""
    parts = list(re.finditer(r"\w+", name))
    if not parts:
        return name
    longest = max(parts, key=lambda part: len(part[0]))
    return f"{name[: longest.start()]}{other_token(longest[0])}{name[longest.end() :]}"


def behind_record(report: RealFile, number: int) -> int:
    """Return the line that a line belongs to as far as it is continued with a backslash."""
    lines = report.lines
    while 0 < number < len(lines) and lines[number - 1].rstrip().endswith("\\"):
        number += 1
    return number


def messages_of_trouble(report: RealFile) -> Iterator[BadLines]:
    """Yield all messages of trouble at the end of a report, where a log tells of its failure."""
    # A table or JSON has no place for a message.
    if takes_more_lines(report) and is_prose(report):
        count = len(report.lines) - (report.lines[-1] == "")
        yield BadLines("\n".join(trouble_messages()), count, must_be_read=False)


@lru_cache(maxsize=1)
def trouble_messages() -> tuple[str, ...]:
    """Return messages of the shipped vocabulary: for each state its first words, as tools write."""
    messages = list[str]()
    for entry in shipped_vocabulary().entries:
        if not entry.is_of("eda"):
            continue
        for word in entry.words.get("en", ())[:2]:
            plain = word.replace("*", "")
            if "prefix" in entry.places:
                messages += [
                    f"{plain.upper()}: step 3 of the run",
                    f"{plain.capitalize()}: u_top/u_core",
                ]
            elif "text" in entry.places:
                messages.append(f"step 3 of the run is {plain}")
    return tuple(messages)


def takes_more_lines(report: RealFile) -> bool:
    """Return whether a line can be added without breaking the form, as it would in JSON or XML."""
    return report.text.lstrip()[:1] not in ("{", "[", "<") or is_prose(report)


def _spread(entries: Sequence[Entry], limit: int) -> list[Entry]:
    """Return the first and the last of entries, and some between."""
    if len(entries) <= limit:
        return list(entries)
    step = (len(entries) - 1) / (limit - 1)
    return [entries[round(index * step)] for index in range(limit)]
