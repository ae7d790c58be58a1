"""An ItemSpec as text and as values: reading, cutting into sections, putting together.

Markdown is parsed once by `transom.formats.markdown`; sections are found by the number in their
headings, never by a pattern over the text, so a heading inside a code fence is not one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from transom.checklist.writing import words
from transom.checklist.writing.guide import read_guide, subregion
from transom.checklist.writing.readers import body, read_check, read_parsing, read_waiver
from transom.checklist.writing.review_mark import REVIEW_MARK
from transom.checklist.writing.shapes import (
    Analysis,
    CheckSection,
    GuideSection,
    ParsingSection,
    SpecDocument,
    Step,
    WaiverSection,
)
from transom.errors import InputError
from transom.evidence.findings import Finding
from transom.formats.labels import find, labels
from transom.formats.markdown import MarkdownPart, fences, iter_lines, parse, region
from transom.formats.markdown_cut import source, source_lines

SECTION_TITLES: Final[Mapping[str, str]] = {
    "1": "Parsing Logic",
    "2": "Check Logic",
    "3": "Waiver Logic",
    "4": "Implementation Guide",
}
SECTION_NAMES: Final = ("1", "2", "3", "4.1", "4.2", "4.3")

STEP: Final = re.compile(r"step\s+(\d+)\b[\s:.)–—-]*(.*)", re.IGNORECASE)


def parse_spec(text: str, *, artifact: str = "ItemSpec") -> SpecDocument:
    """Read a whole ItemSpec.

    Raises:
        InputError: one of the sections 1 to 4 is missing.
    """
    parts = parse(text)
    sections = {number: _section(parts, number) for number in SECTION_TITLES}
    missing = []
    for number, section in sections.items():
        if not section:
            missing.append(number)
    if missing:
        raise _missing(missing, artifact)
    check = read_check(sections["2"])
    title = next((part.title for part in parts if part.level == 1), "")
    description = find(
        labels(parts[: next(i for i, p in enumerate(parts) if p is sections["1"][0])]),
        "Description",
    )
    return SpecDocument(
        item_id=title.partition(":")[2].strip(" `"),
        description=_raw(text, description.line) if description else "",
        parsing=read_parsing(sections["1"]),
        check=check,
        waiver=read_waiver(sections["3"], check.item_ids()),
        guide=read_guide(sections["4"], check.item_ids()),
        text=text,
    )


def parse_section1(text: str) -> ParsingSection:
    """Read Section 1 alone, with or without its own heading."""
    return read_parsing(section_parts(text, "1"))


def parse_section2(text: str) -> CheckSection:
    """Read Section 2 alone, with or without its own heading."""
    return read_check(section_parts(text, "2"))


def parse_section3(text: str, item_ids: Sequence[str] = ()) -> WaiverSection:
    """Read Section 3 alone; `item_ids` are Section 2's item ids."""
    return read_waiver(section_parts(text, "3"), item_ids)


def parse_section4(text: str, item_ids: Sequence[str] = ()) -> GuideSection:
    """Read Section 4 alone; `item_ids` are Section 2's item ids."""
    return read_guide(section_parts(text, "4"), item_ids)


def section_parts(text: str, number: str) -> tuple[MarkdownPart, ...]:
    """Return the parts of one main section, or all parts if the text has no heading of it."""
    parts = parse(text)
    return _section(parts, number) or parts


def parse_analysis(text: str) -> Analysis:
    """Read the answer of round 1."""
    parts = parse(text)
    steps = []
    for index, part in enumerate(parts):
        match = STEP.match(part.title)
        if match is not None:
            inner = region(parts, index, lambda p: bool(STEP.match(p.title)))
            # Some models write a step as a list, others as a table in a fence.
            lines = []
            fenced = []
            for inner_part in inner:
                lines += [line.text for line in iter_lines(inner_part.blocks)]
                fenced += [fence.text for fence in fences(inner_part.blocks)]
            steps.append(Step(int(match[1]), "\n".join(lines + fenced).strip(), part.line))
    part_labels = labels(parts)
    # A step may mull over an earlier type: the last word counts.
    kind = find(list(reversed(part_labels)), "Capability type", "Checker type")
    after = [label for label in part_labels if kind and label.line >= kind.line] or part_labels
    return Analysis(
        steps=tuple(steps),
        capability_type=words.capability(body(kind)),
        reason=body(find(after, "Reason", "Rationale")),
        reading=body(find(part_labels, "Notation", "Reading of the notation", "Reading")),
        line=kind.line if kind else 1,
    )


def section_texts(text: str, *, artifact: str = "ItemSpec") -> dict[str, str]:
    """Return the Markdown of sections 1, 2, 3, 4.1, 4.2 and 4.3, byte for byte.

    Each goes from its heading to the next section's.

    Raises:
        InputError: one of them is missing or has nothing under its heading; the message names it.
    """
    parts = parse(text)
    cut: dict[str, str] = {}
    for name in SECTION_NAMES:
        main = _section(parts, name[0])
        own = subregion(main, name) if "." in name else main
        # A heading alone is no section.
        if not own or not any(part.blocks for part in own):
            continue
        cut[name] = source(text, parts, own)
    missing = []
    for name in SECTION_NAMES:
        if name not in cut:
            missing.append(name)
    if missing:
        raise _missing(missing, artifact)
    return cut


def assemble(item_id: str, description: str, sections: Mapping[str, str]) -> str:
    """Return the ItemSpec of an item from its four sections, keyed `"1"` to `"4"`.

    What precedes a section's heading in its text is dropped; a section without a heading of its own
    is given one.
    """
    one_line = " ".join(description.split())
    chunks = [f"# ItemSpec: {item_id}", f"**Description**: {one_line}"]
    for number in SECTION_TITLES:
        chunks.append(_headed(sections[number], number))
    return "\n\n".join(chunk.strip("\n") for chunk in chunks) + "\n"


def needs_review(text: str, findings: Sequence[Finding]) -> str:
    """Return the text below a comment that lists the findings.

    Their lines are those of the result, header included.
    """
    remarks = []
    for finding in shifted(findings):
        line = f" (line {finding.line})" if finding.line else ""
        row = f"- {finding.gate}{line}: {finding.message}"
        # Two hyphens would end the comment.
        remarks.append(row.replace("--", "- -").replace("\n", " "))
    header = [
        "<!--",
        f"{REVIEW_MARK}: {len(remarks)} finding{'s' if len(remarks) != 1 else ''}",
        *remarks,
        "-->",
        "",
    ]
    return "\n".join(header) + "\n" + text


def shifted(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with the lines that they have below that comment."""
    # Each finding has a line of the comment, and the comment four lines of its own.
    offset = len(findings) + 4
    moved: list[Finding] = []
    for finding in findings:
        if finding.line:
            moved.append(replace(finding, line=finding.line + offset))
        else:
            moved.append(finding)
    return moved


def _raw(text: str, line: int) -> str:
    """Return the text behind the colon on a line, as it was written.

    A description may hold Markdown of its own.
    """
    return source_lines(text)[line - 1].partition(":")[2].strip(" *")


def _missing(numbers: Sequence[str], artifact: str) -> InputError:
    names = []
    for number in numbers:
        names.append(f"{number} ({SECTION_TITLES[number]})" if number in SECTION_TITLES else number)
    section_list = ", ".join(names)
    plural = "sections" if len(numbers) > 1 else "section"
    return InputError(
        f"{plural} {section_list} missing or empty",
        place=artifact,
        hint="write it, or make the ItemSpec anew with check spec",
    )


def _is_main(part: MarkdownPart, number: str) -> bool:
    return part.number == number and 1 <= part.level <= 2


def _section(parts: Sequence[MarkdownPart], number: str) -> tuple[MarkdownPart, ...]:
    """Return the parts of a main section, from its heading to the next main section's."""
    other_numbers = SECTION_TITLES.keys() - {number}
    # The next heading of a main section ends it, whatever its level is.
    for index, part in enumerate(parts):
        if _is_main(part, number):
            following = range(index + 1, len(parts))
            stop = next(
                (i for i in following if any(_is_main(parts[i], n) for n in other_numbers)),
                len(parts),
            )
            return tuple(parts[index:stop])
    return ()


def _headed(text: str, number: str) -> str:
    section = _section(parse(text), number)
    # Models sometimes write a sentence before the heading.
    if section:
        return "\n".join(source_lines(text)[section[0].line - 1 :])
    return f"## {number}. {SECTION_TITLES[number]}\n\n" + "\n".join(source_lines(text)).strip("\n")
