"""Sections 1 to 3 of an ItemSpec from the parts of its Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transom.checklist.atoms import Condition, ValidationItem, selection_problem
from transom.checklist.writing import words
from transom.checklist.writing.shapes import (
    UNSPECIFIED,
    Category,
    CheckSection,
    DescribedItem,
    ParsingSection,
    SpecField,
    WaiverDecision,
    WaiverScenario,
    WaiverSection,
)
from transom.formats.labels import Label, find, labels
from transom.formats.markdown import (
    Bullets,
    Fence,
    InlineText,
    MarkdownPart,
    MarkdownTable,
    Node,
    fences,
    items,
    iter_nodes,
    region,
)

_FIELD = re.compile(
    r"[`\s]*(?P<name>[A-Za-z_][\w.]*)`?\s*(?:\((?P<type>[^)]*)\))?\s*[:–—-]?\s*(?P<rest>.*)",
    re.DOTALL,
)


def subsections(parts: Sequence[MarkdownPart], section: str) -> Iterator[tuple[MarkdownPart, ...]]:
    """Return the regions of the headings numbered `section.N`, in order."""
    for index, part in enumerate(parts):
        if is_sub(part, section):
            yield region(parts, index, lambda p: is_sub(p, section))


def is_sub(part: MarkdownPart, section: str) -> bool:
    """Return whether a heading is numbered `section.N`."""
    head, dot, tail = part.number.rpartition(".")
    return bool(dot) and head == section and tail.isdigit()


def body(label: Label | None) -> str:
    """Return a label's whole text, or "" without a label."""
    if label:
        return label.text().strip()
    return ""


def entries(label: Label | None) -> tuple[str, ...]:
    """Return the entries that a label lists, one text each: list items, or else lines."""
    if label is None:
        return ()
    listed = items(label.body)
    if listed:
        # A first entry may stand on the label's own line.
        own = (label.value.text,) if label.value.text else ()
        return own + tuple(" ".join(line.text for line in item.lines) for item in listed)
    return tuple(line.text for line in label.lines())


def read_parsing(parts: Sequence[MarkdownPart]) -> ParsingSection:
    """Read Section 1."""
    part_labels = labels(parts)
    example_label = find(part_labels, "parsed_fields Example", "parsed fields")
    output = find(
        part_labels,
        "Output Example",
        "Complete Output Structure",
        "Output Structure Example",
        "Output Structure",
    )
    return ParsingSection(
        categories=tuple(map(_category, subsections(parts, "1"))),
        fields_example=words.example(_first_fence(example_label)),
        output_example=words.example(_first_fence(output)),
        line=_line(parts),
    )


def read_check(parts: Sequence[MarkdownPart]) -> CheckSection:
    """Read Section 2."""
    part_labels = labels(parts)
    listed = tuple(map(_item, subsections(parts, "2")))
    item_ids = tuple(item.id for item in listed)
    # Labels of the items have the same names as those of the whole section.
    tail = []
    for label in part_labels:
        if label.line > max((i.line for i in listed), default=0):
            tail.append(label)
    kind = find(part_labels, "Capability type", "Checker type", "Type")
    overall = find(tail, "Overall Pass/Fail Logic", "Overall logic")
    # The items have PASS and FAIL conditions of their own; only what stands after the overall label
    # counts.
    after = []
    for label in tail:
        if overall and label.line >= overall.line:
            after.append(label)
    pattern = find(tail, "Items requiring pattern matching", "Items requiring pattern match")
    existence = find(tail, "Items with existence check only", "Items with existence check")
    order = find(tail, "Pattern Correspondence Order", "Pattern Correspondence")
    return CheckSection(
        interpretation=body(find(part_labels, "Interpretation", "Reading")),
        capability_type=words.capability(body(kind)),
        items=listed,
        pattern_ids=_ids(pattern, item_ids),
        existence_ids=_ids(existence, item_ids),
        correspondence=_ids(order, item_ids),
        overall_pass=body(find(after, "PASS")),
        overall_fail=body(find(after, "FAIL")),
        edge_cases=entries(find(tail, "Edge Cases")),
        sequence=entries(find(tail, "Validation Sequence")),
        line=_line(parts),
        pattern_line=(
            find(tail, "Pattern Matching") or pattern or Label("", InlineText("", (), _line(parts)))
        ).line,
    )


def read_waiver(parts: Sequence[MarkdownPart], item_ids: Sequence[str] = ()) -> WaiverSection:
    """Read Section 3; `item_ids` are Section 2's, which `all items` means."""
    part_labels = labels(parts)
    return WaiverSection(
        supported=words.yes_no(body(find(part_labels, "Waiver support", "Applicability"))),
        scenarios=tuple(_scenario(sub, item_ids) for sub in subsections(parts, "3")),
        global_mode=body(find(part_labels, "Global Waiver Mode", "Global Mode")),
        selective_mode=body(find(part_labels, "Selective Waiver Mode", "Selective Mode")),
        decisions=tuple(
            _decisions(
                find(part_labels, "Waiver Decisions", "Waiver Decision", "Waiver-to-Item Mapping")
            )
        ),
        line=_line(parts),
    )


def _line(parts: Sequence[MarkdownPart]) -> int:
    if parts:
        return parts[0].line
    return 1


def _first_fence(label: Label | None) -> Fence | None:
    if label:
        return next(iter(fences(label.body)), None)
    return None


def _ids(label: Label | None, item_ids: Sequence[str]) -> tuple[str, ...] | None:
    if label is None:
        return None
    text = body(label)
    if words.is_none(text):
        return ()
    return words.item_ids(text, item_ids)


def _category(parts: Sequence[MarkdownPart]) -> Category:
    part_labels = labels(parts)
    # The first label is the category's heading itself.
    listed = find(part_labels[1:], "Key Fields", "Fields")
    key = _key(
        find([label for label in part_labels[1:] if label is not listed], "Category key", "Key")
    )
    fields = tuple(_fields(listed.body if listed else (), key))
    return Category(
        parts[0].number,
        parts[0].title,
        key,
        body(find(part_labels[1:], "Purpose")),
        fields,
        parts[0].line,
    )


def _key(label: Label | None) -> str | None:
    if label:
        codes = words.identifiers(code.removeprefix("parsed_fields.") for code in label.codes())
    else:
        codes = ()
    match = re.match(r"[\"']?([A-Za-z_]\w*)", body(label))
    if codes:
        return codes[0]
    if match and not words.is_none(body(label)):
        return match[1]
    return None


def _fields(blocks: Sequence[Node], key: str | None) -> Iterator[SpecField]:
    # Fields may come as a table or as a list; models write either.
    for node in iter_nodes(blocks):
        if isinstance(node, MarkdownTable):
            for row in node.rows:
                if row and row[0].text:
                    kind = row[1].text if len(row) > 1 else ""
                    meaning = " ".join(cell.text for cell in row[2:])
                    yield SpecField(
                        row[0].text.strip("`"), words.field_type(kind) or kind, meaning, row[0].line
                    )
    for block in blocks:
        if isinstance(block, Bullets):
            for item in block.items:
                text = " ".join(line.text for line in item.lines)
                if (match := _FIELD.fullmatch(text)) is not None:
                    yield _field(match, key, item.line)


def _field(match: re.Match[str], key: str | None, line: int) -> SpecField:
    name = match["name"]
    if key:
        name = name.removeprefix("parsed_fields.").removeprefix(f"{key}.")
    remark = match["rest"].strip()
    kind = match["type"] or ""
    # "name: String" gives the type where the meaning should be.
    if not kind and words.field_type(remark):
        kind = remark
    return SpecField(name, words.field_type(kind) or kind.strip(), remark, line)


def _item(parts: Sequence[MarkdownPart]) -> DescribedItem:
    part_labels = labels(parts)[1:]
    completeness = body(find(part_labels, "Completeness definition", "Completeness"))
    condition_label = find(part_labels, "Condition")
    rule, problems = _rule(
        parts[0],
        _required(find(part_labels, "Required fields", "Required field"), completeness),
        _condition(condition_label),
        part_labels,
    )
    condition_text = body(condition_label)
    if not condition_text or not (rule.condition or words.is_none(condition_text)):
        problems["condition"] = (
            "Condition must be one comparison in backticks such as `category.field == True`, or:"
            " none"
        )
    return DescribedItem(
        rule=rule,
        problems=problems,
        purpose=body(find(part_labels, "Purpose")),
        completeness=completeness,
        condition_text=condition_text,
        passes=body(find(part_labels, "PASS condition", "PASS")),
        fails=body(find(part_labels, "FAIL condition", "FAIL")),
        line=parts[0].line,
    )


def _rule(
    heading: MarkdownPart,
    required: tuple[str, ...],
    condition: Condition | None,
    part_labels: Sequence[Label],
) -> tuple[ValidationItem, dict[str, str]]:
    """Return the validation item that the labels describe, and what cannot be read of it."""
    problems: dict[str, str] = {}
    if not required:
        problems["required"] = "Required fields names no field"
    # Each label is read by itself, so that one mistake gives one finding.
    check = words.choice(
        body(find(part_labels, "Validation type", "Validation")), words.VALIDATIONS
    )
    if check is None:
        problems["check"] = "Validation type must be existence check or pattern match"
    mode = words.choice(body(find(part_labels, "Mode")), words.MODES)
    if mode is None:
        problems["mode"] = "Mode must be require or forbid"
    quantifier = words.choice(body(find(part_labels, "Quantifier")), words.QUANTIFIERS)
    if quantifier is None:
        problems["quantifier"] = "Quantifier must be exists, each or per file"
    take_text = body(find(part_labels, "Take"))
    take = words.choice(take_text, words.TAKES)
    if take is None and _says_something(take_text):
        problems["take"] = "Take must be first or last, or left out"
    count_label = find(part_labels, "Count")
    count = None
    if count_label:
        count = words.count(next(iter(count_label.codes()), body(count_label)))
        if count is None and _says_something(body(count_label)):
            problems["count"] = (
                "Count must be a comparison with a number such as `<= 5`, or left out"
            )
    selection = selection_problem(take, count, quantifier, mode, check)
    # What does not go together is dropped, or the item could not be made at all.
    if selection:
        problems["selection"] = selection
        take = count = None
    only_with = find(part_labels, "Only with")
    rule = ValidationItem(
        id=heading.number,
        name=heading.title,
        check=check or "existence",
        select=condition.field if condition else next(iter(required), UNSPECIFIED),
        condition=condition,
        required=required,
        mode=mode or "require",
        quantifier=quantifier or "per_file",
        take=take,
        count=count,
        only_with=next(iter(only_with.codes()), None) if only_with else None,
    )
    return rule, problems


def _says_something(text: str) -> bool:
    """Return whether the text of Take or Count asks for something else than all entries."""
    return bool(text) and not words.is_none(text) and text.strip(" `.").casefold() != "all"


def _required(label: Label | None, completeness: str) -> tuple[str, ...]:
    """Return the required fields; without the label, those that the completeness names."""
    if label is None:
        return words.dotted_fields([completeness])
    text = body(label)
    dotted = words.dotted_fields([text])
    if dotted or words.is_none(text):
        return dotted
    return words.identifiers(label.codes())


def _condition(label: Label | None) -> Condition | None:
    """Return the condition of a label, or None if it has none.

    Several comparisons cannot be one condition; then the text is not "none", and the gate says so.
    """
    if label is None:
        return None
    codes = label.codes()
    if len(codes) > 1:
        return None
    return words.condition(codes[0] if codes else body(label))


def _scenario(parts: Sequence[MarkdownPart], item_ids: Sequence[str]) -> WaiverScenario:
    part_labels = labels(parts)[1:]
    title = parts[0].title
    listed = words.item_ids(
        f"{title} {body(find(part_labels, 'Applies to', 'Affected items', 'Items', 'Item'))}",
        item_ids,
    )
    return WaiverScenario(
        id=parts[0].number,
        name=re.sub(
            r"(?:(?<!\s)\s++)?\((?:all )?items?\b[^)]{0,200}\)\s*+$", "", title, flags=re.IGNORECASE
        ),
        items=listed,
        scenario=body(find(part_labels, "Waiver scenario", "Scenario")),
        reason=body(find(part_labels, "Typical reason", "Typical waiver reason", "Reason")).strip(
            '"“”'
        ),
        keywords=words.keywords(find(part_labels, "Matching keywords", "Keywords")),
        stages=words.keywords(find(part_labels, "Stage words", "Stages")),
        justification=body(find(part_labels, "Business justification", "Justification")),
        line=parts[0].line,
    )


def _decisions(label: Label | None) -> Iterator[WaiverDecision]:
    """Yield a decision for each row of a table or item of a list: items, yes or no, why."""
    blocks = label.body if label else ()
    rows = []
    for block in blocks:
        if isinstance(block, MarkdownTable):
            for row in block.rows:
                rows.append(([cell.text for cell in row], row[0].line))
    for item in items(blocks):
        head, _, reason = " ".join(line.text for line in item.lines).partition(":")
        rows.append(([head, reason], item.line))
    for (subject, *cells), line in rows:
        answer = cells[0] if cells else ""
        why = " ".join(cells[1:]) or re.sub(r"^\W*[\w-]+(?: waivable)?[\s.,:;–—-]*", "", answer)
        # One row may decide for several items.
        for ident in words.item_ids(subject):
            yield WaiverDecision(ident, words.yes_no(answer), why.strip(), line)
