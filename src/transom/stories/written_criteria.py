"""Acceptance criteria in Markdown: list items, tables, groups that begin with Given, numbered
headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transom.formats.markdown import (
    Bullets,
    Fence,
    InlineText,
    ListItem,
    MarkdownPart,
    MarkdownTable,
    Node,
    Paragraph,
    iter_lines,
    parse,
)
from transom.stories.criteria_forms import (
    criteria_of_item,
    criteria_of_table,
    criteria_of_value,
)

BOX = re.compile(r"^\[([ xX])\]\s+")
_OWN_MARK = re.compile(r"(?:(?<!\s)\s++)?\(ACs?\s*+:?\s*+#?\d[^)]{0,200}\)\s*+$", re.IGNORECASE)
_BEGINS = re.compile(r"^(?:given\b|(?:AC\s*#?)?\d+(?:\.\d+)*\s*[:.)])", re.IGNORECASE)
_NUMBER = re.compile(r"^(?:(?:AC\s*#?)?\d+(?:\.\d+)*\s*[:.)]|#\d+\s)\s*", re.IGNORECASE)
_LABEL = re.compile(r"^[A-Z][\w /-]{2,30}:(?:\s|$)")
_LONGEST_LABEL = 40
ACCEPTANCE = re.compile(r"^(?:acceptance\b(?!\s+\w+\s+\w)|ACs?\b)", re.IGNORECASE)
_CRITERIA = (
    ACCEPTANCE,
    re.compile(
        r"^(?:success\s+criteria|conditions\s+of\s+satisfaction|requirements)\W*$", re.IGNORECASE
    ),
)
"""Headings of criteria; the second form counts only if no heading has the first."""
_CRITERION = re.compile(r"^(?:AC|acceptance criterion|criterion|scenario)?\s*+[-#.]?\s*+\d", re.I)
_NO_CRITERIA = re.compile(
    r"^\W*(?:out\s+of\s+scope|non-?goals?|notes?|references?|definition\s+of\s+done|risks?"
    r"|assumptions?|open\s+questions?)\b",
    re.IGNORECASE,
)
_MORE = re.compile(r"^\w[\w -]{1,40}\sacceptance\s+criteria\W*$", re.IGNORECASE)
_NOT_NOW = re.compile(
    r"^(?:epic|future|later|deferred|removed|dropped|old|previous|example|out)\b", re.IGNORECASE
)
_SCENARIO = re.compile(r"((?:AC\W{0,2}\d|scenario\b).*)", re.IGNORECASE)
_STEP = re.compile(r"\b(?:given|when|then)\b", re.IGNORECASE)
_MARKED = re.compile(r"^`?ACs?[-_ #]{0,2}\d")


def read_criteria(parts: Sequence[MarkdownPart]) -> tuple[str, ...]:
    """Return list items, or groups that begin with Given, below a heading or label like
    "Acceptance Criteria".
    """
    # A heading that says "acceptance" outranks "requirements" or "success criteria".
    blocks, has_heading = next(
        (section for heading in _CRITERIA if (section := _below(parts, heading))[0]),
        (_marked(parts), True),
    )
    texts = _texts_of(blocks, has_heading=has_heading)
    for place, part in enumerate(parts) if has_heading else ():
        if _MORE.match(part.title) and not _NOT_NOW.match(part.title):
            added = [*part.blocks, *_deeper(parts[place + 1 :], part.level)]
            texts += _texts_of(added, has_heading=True)
    return _bare(texts)


def criteria_of_blocks(blocks: Sequence[Node]) -> tuple[str, ...]:
    """Return the criteria of the blocks of a section."""
    return _bare(_texts_of(blocks, has_heading=True))


def _bare(texts: Sequence[str]) -> tuple[str, ...]:
    """Return criteria without their marks and numbers."""
    # Marks and numbers differ by file; claims refer to the criterion's place.
    bare = (_NUMBER.sub("", _OWN_MARK.sub("", BOX.sub("", text))).strip() for text in texts)
    return tuple(filter(None, bare))


def criteria_of_field(value: object) -> tuple[str, ...]:
    """Return the criteria of a field of data; a text of several lines is read as Markdown."""
    texts: list[str] = []
    for text in criteria_of_value(value):
        own = read_criteria(parse(f"# Acceptance\n\n{text}")) if "\n" in text else ()
        texts += own if len(own) > 1 else [text]
    return tuple(texts)


def _texts_of(blocks: Sequence[Node], *, has_heading: bool) -> list[str]:
    """Return the criteria of a section as they are written."""
    texts: list[str] = []
    for number, block in enumerate(blocks):
        following = blocks[number + 1] if number + 1 < len(blocks) else None
        if isinstance(block, Bullets):
            _add_items(texts, block, blocks[number - 1] if number else None)
        elif isinstance(block, (MarkdownTable, Fence)):
            texts += _texts_of_rows(block, is_first=not texts)
        elif isinstance(block, Paragraph):
            if texts and _goes_on(block):
                _add_lines(texts, block)
                continue
            # A bold line before numbered criteria is their group's name.
            if has_heading and _names_group(block, following):
                continue
            block = _without_group(block)
            begins = _BEGINS.match(block.lines[0].text)
            if _names_criterion(block) and isinstance(following, Bullets):
                texts.append(joined(block.lines))
                continue
            if has_heading and not begins and isinstance(following, Bullets):
                # Below a heading, text before a list names a group of criteria.
                if _NO_CRITERIA.match(block.lines[0].text):
                    break
                continue
            has_list = any(isinstance(later, Bullets) for later in blocks[number:])
            if has_heading and not begins and not texts and has_list:
                continue  # an introduction
            label = block.lines[0].lead.endswith(":") or _LABEL.match(block.lines[0].text)
            if texts and not begins and (label or isinstance(blocks[number - 1], Bullets)):
                break  # a new section begins
            _add_lines(texts, block)
    return texts


def _add_items(texts: list[str], block: Bullets, before: Node | None) -> None:
    """Add the criteria of a list, or its items as steps to the criterion that the text before it
    begins with Given or And.
    """
    is_step = (_begins_given(before) or _goes_on(before)) and not _begins_given(block)
    if texts and before and (_names_criterion(before) or is_step):
        texts[-1] = f"{texts[-1]} {joined([*iter_lines([block])])}"
    else:
        texts += _items_of(block)


def _texts_of_rows(block: MarkdownTable | Fence, *, is_first: bool) -> list[str]:
    """Return the criteria of a table, or the scenarios of a code block."""
    if isinstance(block, Fence):
        return _scenarios_of(block)
    return criteria_of_table(block, is_first=is_first)


def _scenarios_of(block: Fence) -> list[str]:
    """Return the scenarios of a code block, each with its steps; none if the block is code."""
    texts: list[str] = []
    has_steps = False
    for line in map(str.strip, block.text.splitlines()):
        is_given = bool(re.match(r"given\b", line, re.IGNORECASE))
        begins = _SCENARIO.match(line)
        # "Given" below the name of its scenario goes on with it.
        if begins or (is_given and (has_steps or not texts)):
            texts.append(begins[1] if begins else line)
            has_steps = is_given or bool(begins and "given" in line.lower())
        elif line and texts:
            texts[-1] = f"{texts[-1]} {line}"
            has_steps = True
    return [text for text in texts if _STEP.search(text)]


def _items_of(block: Bullets) -> list[str]:
    """Return the criteria of a list."""
    texts: list[str] = []
    for item in block.items:
        # The number of an item counts, so what lies below it is a part of it.
        whole = joined([*item.lines, *iter_lines(item.blocks)])
        texts += [whole] if block.ordered else criteria_of_item(item)
    return texts


def _add_lines(texts: list[str], block: Paragraph) -> None:
    """Add the lines of a text: each begins a criterion, or continues the last one."""
    for line in block.lines:
        is_step = (
            line.text.lower().startswith("when")
            and texts
            and not texts[-1].lower().startswith("given")
        )
        if _BEGINS.match(line.text) or is_step or not texts:
            texts.append(line.text)
        else:
            texts[-1] = f"{texts[-1]} {line.text}"


def _without_group(block: Paragraph) -> Paragraph:
    """Return a text without the name of a group in the line before numbered criteria.

    A list that begins with another number than 1 continues the paragraph of the name.
    """
    first, remaining = block.lines[0], block.lines[1:]
    if first.text == first.lead and remaining and _BEGINS.match(remaining[0].text):
        return Paragraph(remaining, remaining[0].line)
    return block


def _names_group(block: Paragraph, following: Node | None) -> bool:
    """Whether a text is a bold name alone, before a text that begins a criterion."""
    return (
        len(block.lines) == 1
        and block.lines[0].text == block.lines[0].lead
        and not _NO_CRITERIA.match(block.lines[0].text)
        and isinstance(following, Paragraph)
        and bool(_BEGINS.match(following.lines[0].text))
    )


def _goes_on(block: Node | None) -> bool:
    """Whether a text goes on with the steps of a criterion."""
    return isinstance(block, Paragraph) and bool(
        re.match(r"(?:and|but)\b", block.lines[0].text, re.IGNORECASE)
    )


def _begins_given(block: Node | None) -> bool:
    """Whether a text, or the first item of a list, begins with Given."""
    if isinstance(block, Bullets):
        lines = block.items[0].lines if block.items else ()
    else:
        lines = block.lines if isinstance(block, Paragraph) else ()
    return bool(lines and re.match(r"given\b", BOX.sub("", lines[0].text), re.IGNORECASE))


def _marked(parts: Sequence[MarkdownPart]) -> list[Node]:
    """Return the first list whose items all carry a mark such as AC1, under a heading of any
    language; items that are struck out do not count.
    """
    for block in (block for part in parts for block in part.blocks):
        if not isinstance(block, Bullets):
            continue
        # Struck out is the usual way to drop a criterion and keep its number.
        items = tuple(item for item in block.items if not joined(item.lines).startswith("~~"))
        if items and all(_MARKED.match(joined(item.lines)) for item in items):
            return [Bullets(items, block.line, block.ordered)]
    return []


def _names_criterion(block: Node) -> bool:
    """Whether a text numbers a criterion whose steps follow as a list: `**AC1 — Sign in:**`."""
    if not isinstance(block, Paragraph) or len(block.lines) > 1:
        return False
    return bool(
        block.lines[0].lead and re.match(r"AC\W*\d|scenario\W*\d", block.lines[0].text, re.I)
    )


def _below(parts: Sequence[MarkdownPart], heading: re.Pattern[str]) -> tuple[list[Node], bool]:
    """Return the blocks below the first heading, or the first label within a text, that matches,
    and whether it is a heading.

    Headings of a deeper level belong to the section. One that numbers a criterion is the criterion.
    """
    for place, part in enumerate(parts):
        # A sign before the words, as in "✅ Acceptance Criteria", says nothing of what follows.
        if heading.match(re.sub(r"^\W+", "", part.title)):
            return [*part.blocks, *_deeper(parts[place + 1 :], part.level)], True
        for number, block in enumerate(part.blocks):
            if isinstance(block, Paragraph) and is_label(block, heading):
                remaining = [Paragraph(block.lines[1:], block.line)] if len(block.lines) > 1 else []
                return [*remaining, *part.blocks[number + 1 :]], False
    return [], False


def _deeper(parts: Sequence[MarkdownPart], level: int) -> Iterator[Node]:
    """Yield the blocks of the headings below a level; a numbered heading with its text is one
    item of a list.
    """
    skipped = 0  # the level of a heading such as "Out of scope"; its own headings are deeper
    for part in parts:
        if part.level <= level:
            return
        if skipped and part.level > skipped:
            continue
        # Another heading of criteria is read for itself.
        is_other = _NO_CRITERIA.match(part.title) or _MORE.match(part.title)
        skipped = part.level if is_other else 0
        if is_other:
            continue
        if _CRITERION.match(full_title(part)):
            lines = [*iter_lines(part.blocks)]
            head = InlineText(f"{part.title}:" if lines else part.title, (), part.line)
            yield Bullets((ListItem((head, *lines), (), part.line),), part.line)
        else:
            yield from part.blocks


def is_label(block: Paragraph, heading: re.Pattern[str]) -> bool:
    """Whether a text begins with a short label that matches."""
    first = block.lines[0]
    return bool(heading.match(first.lead or first.text)) and len(first.text) < _LONGEST_LABEL


def full_title(part: MarkdownPart) -> str:
    """Return a heading with its number."""
    return f"{part.number} {part.title}".strip()


def joined(lines: Sequence[InlineText]) -> str:
    """Return lines as one text."""
    return " ".join(line.text for line in lines).strip()
