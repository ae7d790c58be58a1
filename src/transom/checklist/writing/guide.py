"""Section 4 of an ItemSpec from the parts of its Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from transom.checklist.atoms import Rank, Source
from transom.checklist.writing import words
from transom.checklist.writing.examples import left_out, read_examples
from transom.checklist.writing.readers import body, entries, is_sub
from transom.checklist.writing.shapes import (
    DescribedSource,
    Extraction,
    GuideSection,
    MatrixRow,
    SpecialScenario,
    SpecPattern,
)
from transom.formats.labels import Label, find, labels, normal
from transom.formats.markdown import MarkdownPart, MarkdownTable, Node, iter_nodes, region

_RANKS: Final[tuple[Rank, ...]] = ("primary", "secondary", "fallback")
_SCENARIO = re.compile(r"(?:special\s+)?scenario\s+(\d+)\b[\s:.)–—-]*(.*)", re.IGNORECASE)
_KIND = re.compile(r"\s*`([A-Za-z_]\w*)`")


def read_guide(parts: Sequence[MarkdownPart], item_ids: Sequence[str] = ()) -> GuideSection:
    """Read Section 4; `item_ids` are Section 2's, which `all items` means."""
    points, special, testing = (subregion(parts, number) for number in ("4.1", "4.2", "4.3"))
    point_labels = labels(points)
    examples, examples_line, problem = read_examples(points)
    lines = {}
    for sub in (points, special, testing):
        if sub:
            lines[sub[0].number] = sub[0].line
    if examples_line is not None:
        lines["examples"] = examples_line
    return GuideSection(
        sources=tuple(_sources(point_labels)),
        extractions=tuple(_extractions(points)),
        examples=examples,
        examples_problem=problem,
        no_examples=left_out(points),
        references=entries(
            find(point_labels, "References to Other Files", "References", "Reference")
        ),
        error_tolerance=entries(find(point_labels, "Error Tolerance")),
        steps=entries(
            find(
                point_labels, "Multi-Stage Steps", "Multi-Stage Extraction", "Multi-Stage", "Steps"
            )
        ),
        scenarios=tuple(_scenarios(special, item_ids)),
        matrix=tuple(_matrix(testing)),
        line=parts[0].line if parts else 1,
        lines=lines,
    )


def subregion(parts: Sequence[MarkdownPart], number: str) -> tuple[MarkdownPart, ...]:
    """Return the parts under the heading with this number, or () if it is absent."""
    section = number.partition(".")[0]
    for index, part in enumerate(parts):
        if part.number == number:
            stop = next(
                (i for i in range(index + 1, len(parts)) if is_sub(parts[i], section)), len(parts)
            )
            return tuple(parts[index:stop])
    return ()


def _sources(point_labels: Sequence[Label]) -> Iterator[DescribedSource]:
    for label in point_labels:
        rank = _rank_of(label)
        if rank is None or not label.text():
            continue
        text = label.text()
        kind = _KIND.match(text)
        files = []
        for code in label.codes():
            # Other code on the line is a pattern or a command.
            if re.search(r"[*?.]", code) and not re.search(r"[\s(\\]", code):
                files.append(code)
        source = Source(kind=kind[1] if kind else "", rank=rank, files=tuple(dict.fromkeys(files)))
        yield DescribedSource(source, text, label.line)


def _rank_of(label: Label) -> Rank | None:
    for rank in _RANKS:
        if re.match(rf"{rank}\b.*(source|strategy|fallback|$)", normal(label.name)):
            return rank
    return None


def _extractions(parts: Sequence[MarkdownPart]) -> Iterator[Extraction]:
    for index, part in enumerate(parts):
        match = re.match(
            r"(?:information\s+)?extraction\s*(?:of|for|:|-|–|—)\s*(.+)", part.title, re.IGNORECASE
        )
        # Only headings below 4.1's own are extractions.
        extraction_labels = labels(region(parts, index))[1:] if part.level > 3 else []
        key = find(extraction_labels, "Category key", "Key")
        if match is None and key is None:
            continue
        codes = words.identifiers(key.codes() if key else re.findall(r"`(\w+)`", part.title))
        name = (match[1] if match else part.title).strip()
        category = codes[0] if codes else (body(key) or None)
        yield Extraction(
            category=category,
            name=name,
            location=body(find(extraction_labels, "Location", "Where")),
            keywords=words.keywords(find(extraction_labels, "Keywords", "Search keywords")),
            patterns=tuple(
                _patterns(
                    find(
                        extraction_labels,
                        "Patterns",
                        "Pattern",
                        "Extraction pattern",
                        "Parsing pattern",
                    )
                )
            ),
            method=body(find(extraction_labels, "Method", "Strategy")),
            line=part.line,
        )


def _patterns(label: Label | None) -> Iterator[SpecPattern]:
    """Yield the first code span of every line as its pattern; other spans explain it."""
    if label is None:
        return
    for line in label.lines():
        # Code in the middle of a sentence is no pattern, unless it is the only code.
        if (line.codes and line.text.lstrip().startswith("`")) or len(line.codes) == 1:
            note = line.text.strip().removeprefix(f"`{line.codes[0]}`").strip(" :–—-")
            yield SpecPattern(line.codes[0].removeprefix("regex:"), line.line, note)


def _scenarios(parts: Sequence[MarkdownPart], item_ids: Sequence[str]) -> Iterator[SpecialScenario]:
    for index, part in enumerate(parts):
        match = _SCENARIO.match(part.title)
        if match is None:
            continue
        scenario_labels = labels(region(parts, index))[1:]
        result = body(find(scenario_labels, "Check result", "Expected result", "Result"))
        yield SpecialScenario(
            number=int(match[1]),
            name=match[2].strip(),
            context=body(find(scenario_labels, "Context", "Situation")),
            check_result=result,
            waiver_handling=body(find(scenario_labels, "Waiver handling", "Waiver")),
            items=words.item_ids(result, item_ids),
            line=part.line,
        )


def _matrix(parts: Sequence[MarkdownPart]) -> Iterator[MatrixRow]:
    blocks: list[Node] = []
    for part in parts:
        blocks.extend(part.blocks)
    for table in iter_nodes(blocks):
        if not isinstance(table, MarkdownTable):
            continue
        heads = [normal(cell.text) for cell in table.header]
        columns = {}
        for name in ("requirements", "waivers", "applicable", "objective"):
            columns[name] = _column(heads, name)
        # Section 4.3 may hold other tables, such as the commands of the tests.
        if columns["requirements"] is None or columns["waivers"] is None:
            continue
        # A row without a number counts by its place.
        for position, row in enumerate(table.rows, 1):
            cell = {}
            for name, index in columns.items():
                cell[name] = row[index].text if index is not None else ""
            number = re.search(r"\d+", row[0].text)
            yield MatrixRow(
                number=int(number[0]) if number else position,
                requirements=_value(cell["requirements"]),
                waivers=_value(cell["waivers"]),
                applicable=words.yes_no(cell["applicable"]),
                objective=cell["objective"],
                line=row[0].line,
            )


def _column(heads: Sequence[str], name: str) -> int | None:
    return next((index for index, head in enumerate(heads) if name in head.split()), None)


def _value(text: str) -> str:
    plain = text.strip(" `*").upper().replace(" ", "")
    if plain in {">0", "N>0", "N(>0)", ">=1", "≥1", "N"}:
        return ">0"
    if plain in {"N/A", "NA", "NONE", "-", "—"}:
        return "N/A"
    return plain
