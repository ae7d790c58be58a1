"""Excerpts of what a round wrote: whole headings and labels, never a text that stops in the middle.

An excerpt is made only of a part whose structure is that of its template. Where a heading is missing, foreign, or
cannot be read, the part is given whole: a window that is too long costs money, a name that is missing costs the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from transom.canonical import Json
from transom.checklist.atoms import ENTRY_KEYS, TYPE_NAMES
from transom.checklist.spec.document import STEP, parse_analysis, parse_section1, section_parts
from transom.checklist.spec.readers import is_sub
from transom.checklist.spec.shapes import Analysis, Category, ParsingSection
from transom.formats.labels import normal
from transom.formats.markdown import Part, parse, region
from transom.formats.markdown_cut import source, without

STEPS: Final = (1, 2, 3, 4, 5, 6, 7)
_CONCLUSION: Final = "conclusion"
_SEQUENCE: Final = "validation sequence"
_EXAMPLES: Final = ("data structure", "parsed fields example", "output example")


def analysis_excerpt(text: str, *, steps: Sequence[int], labels: Sequence[str]) -> str:
    """Some steps of the analysis as written, and some labels of its conclusion.

    Args:
        text: the analysis.
        steps: numbers of the steps.
        labels: of `Notation`, `Capability type` and `Reason`.
    """
    parts = parse(text)
    told = _conclusion(parse_analysis(text))
    if not _is_plain_analysis(parts) or not all(told[label] for label in labels):
        return text
    kept = [source(text, parts, [part]) for part in parts if not part.level or _step(part) in steps]
    kept.append("\n".join(["### Conclusion", "", *(f"- **{label}**: {told[label]}" for label in labels), ""]))
    return "\n".join(piece for piece in kept if piece.strip())


def section1_fields(text: str) -> str:
    """Section 1 as written, without its examples and the keys that every entry has; of the examples what is not said
    elsewhere, values and kinds of references.
    """
    parsing = parse_section1(text)
    if not is_plain_section1(parsing, text):
        return text
    every = {category.number for category in parsing.categories if is_of_every_entry(category)}

    def drops(part: Part) -> bool:
        return part.number in every or normal(part.title) in _EXAMPLES

    shown = without(text, drops, lambda part: is_sub(part, "1") or normal(part.title) in _EXAMPLES)
    return shown + _values(parsing) + _references(parsing)


def section1_names(text: str) -> str:
    """Of Section 1 the categories with each field's name and type; values of entries."""
    parsing = parse_section1(text)
    if not is_plain_section1(parsing, text):
        return text
    lines = ["## 1. Parsing Logic"]
    for category in parsing.categories:
        if not is_of_every_entry(category):
            fields = [f"  - `{field.name}` ({field.type})" for field in category.fields]
            lines += [
                "",
                f"### {category.number} {category.name}",
                "",
                f"- Key: `{category.key}`",
                "- Fields:",
                *fields,
            ]
    return "\n".join([*lines, ""]) + _values(parsing)


def section2_rules(text: str) -> str:
    """Section 2 as written, without the order in which its items are decided."""
    return without(text, lambda part: normal(part.title) == _SEQUENCE, lambda _: True)


def is_plain_section1(parsing: ParsingSection, text: str) -> bool:
    """Whether every category has a key and fields, the output example can be read, and no heading is foreign."""
    categories = [category for category in parsing.categories if not is_of_every_entry(category)]
    return (
        bool(categories)
        and all(category.key and category.fields for category in categories)
        and parsing.output_example is not None
        and parsing.output_example.error is None
        and has_only(text, "1", _EXAMPLES)
    )


def is_of_every_entry(category: Category) -> bool:
    """Whether it is File Metadata: keys that every entry has, as the data structure says."""
    return bool(category.fields) and category.key is None and all(f.name in ENTRY_KEYS for f in category.fields)


def has_only(text: str, number: str, titles: Sequence[str]) -> bool:
    """Whether a section has no headings but its own, the numbered ones with what stands below them, and `titles`."""
    parts = section_parts(text, number)
    index = 1
    while index < len(parts):
        if is_sub(parts[index], number):
            index += len(region(parts, index, lambda part: is_sub(part, number) or normal(part.title) in titles))
        elif normal(parts[index].title) in titles:
            index += 1
        else:
            return False
    return True


def _values(parsing: ParsingSection) -> str:
    """What `value` looks like: that of the first entry of each category in the output example."""
    found: dict[str, str] = {}
    for value, told in _entries(parsing):
        for key in told:
            found.setdefault(key, f'"{value}"')
    keys = parsing.keys()
    shown = dict.fromkeys(found[key] for key in keys if key in found)
    return f"\n**Values of entries**, for example: {'; '.join(shown)}\n" if shown else ""


def _references(parsing: ParsingSection) -> str:
    """Of which kinds the output example has references."""
    told = [parsed["reference"] for _, parsed in _entries(parsing) if "reference" in parsed]
    kinds = dict.fromkeys(f"`{each.get('kind')}`" for each in told if isinstance(each, dict))
    return f"\n**References to other files**, by kind: {', '.join(kinds) or 'none'}\n"


def _entries(parsing: ParsingSection) -> Iterator[tuple[Json, dict[str, Json]]]:
    """Value and parsed fields of each entry of the output example."""
    entries = parsing.output_example.value if parsing.output_example else None
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(told := entry.get("parsed_fields"), dict):
            yield entry.get("value"), told


def _conclusion(analysis: Analysis) -> dict[str, str]:
    kind = analysis.capability_type
    return {
        "Notation": analysis.reading,
        "Capability type": f"{kind} ({TYPE_NAMES[kind]})" if kind else "",
        "Reason": analysis.reason,
    }


def _step(part: Part) -> int | None:
    match = STEP.match(part.title)
    return int(match[1]) if match else None


def _is_plain_analysis(parts: Sequence[Part]) -> bool:
    """Whether the headings are the seven steps in order and the conclusion."""
    *steps, last = parts[1:] or parts
    return [_step(part) for part in steps] == list(STEPS) and normal(last.title) == _CONCLUSION
