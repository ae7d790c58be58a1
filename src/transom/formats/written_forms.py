"""Forms that people write, as data: labels with their values, tables and lists below headings.

    # Security review                    {"title": "Security review",
    **Decision:** Approved          ->    "Decision": "Approved",
    ## Findings                           "Findings": {"Open": {"High": "0"}}}
    | Severity | Open |
    |---|---|
    | High | 0 |

Nothing is dropped: what is no label, table or list stands as prose below `text`. Text that is
struck out does not count. A box that is checked or not makes an entry `{"item", "completed"}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.markdown import (
    Bullets,
    Comment,
    Fence,
    ListItem,
    MarkdownPart,
    MarkdownTable,
    Node,
    Paragraph,
    parse,
)
from transom.yaml_text import parse_yaml

FORM_SUFFIXES: Final = (".md", ".markdown", ".txt", ".rst", ".adoc", ".html", ".htm", ".docx",
                        ".pdf")  # fmt: skip
_FRONT = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\s*\n", re.DOTALL)
_STRUCK = re.compile(r"~~[^~\n]*~~")
_LABEL = re.compile(r"(?P<label>[^\W\d_][^:：|=.!?\n]{0,48}?)\s*[:：]\s*(?P<value>\S.*)")
_BARE_LABEL = re.compile(r"[^\W\d_][^:：|=.!?\n]{0,48}?\s*[:：]")
_BETWEEN = re.compile(r"(?<!\s)\s*+[|;•·]\s*+|,\s++(?=[^\W\d_][^,:]{0,30}:)")
_BOX = re.compile(r"(\[[ xX✓✔]\]|[☐☑☒✅⬜])\s*")
_CHECKED: Final = ("[x]", "[X]", "[✓]", "[✔]", "☑", "☒", "✅")
_MOST_LABEL_WORDS = 6
_MOST_VALUE_WORDS = 6
# Heads of tables that only say that a name and its value follow.
_PLAIN_WORDS = (
    "field value item property key attribute metric measure count number total entry detail details"
    " information wert feld anzahl angabe eigenschaft champ valeur campo valor valore veld waarde"
    " name description"
)
_PLAIN_HEADS = frozenset(_PLAIN_WORDS.split())
_VALUE_HEADS = _PLAIN_HEADS - {"name", "item", "entry"}


def parse_form(text: str, place: str) -> dict[str, Json]:
    """Return what a form in Markdown says, as data.

    Raises:
        InputError: its front matter is no YAML.
    """
    form = dict[str, Any]()
    front = _FRONT.match(text)
    if front is not None:
        data = parse_yaml(front[1] + "\n", Path(place)).data
        if isinstance(data, dict):
            form |= data
        # Blank lines keep the numbers of the lines that follow.
        text = "\n" * text[: front.end()].count("\n") + text[front.end() :]
    parts = parse(_STRUCK.sub("", text))
    titles = [part for part in parts if part.level == 1]
    title = titles[0] if len(titles) == 1 else None
    path: list[tuple[int, dict[str, Any]]] = [(0, form)]
    for part in parts:
        if part is title or part.level == 0:
            target, heading = form, part.title
            if part is title:
                form.setdefault("title", part.title)
        else:
            while path[-1][0] >= part.level:
                path.pop()
            target, heading = path[-1][1], part.title
            heading, blocks = _placed_section(target, heading, part)
            path.append((part.level, target[heading]))
            _fill(target[heading], "", blocks)
            continue
        _fill(target, heading, part.blocks)
    plain: dict[str, Json] = _plain(form)
    return plain


def _placed_section(
    parent: dict[str, Any], heading: str, part: MarkdownPart
) -> tuple[str, Sequence[Node]]:
    """Add a section to its parent, and return its key and the blocks that are left for it.

    A section that begins with a short line is the value of its heading: `## Decision`, `Approved`.
    """
    key = heading.strip(" :") or f"section at line {part.line}"
    blocks = part.blocks
    first = blocks[0] if blocks else None
    if isinstance(first, Paragraph) and len(first.lines) == 1:
        line = first.lines[0].text
        is_short = len(line.split()) <= _MOST_VALUE_WORDS and not _LABEL.fullmatch(line)
        if is_short and not _BOX.search(line):
            _add(parent, key, line.rstrip("."))
            blocks = blocks[1:]
            key = f"{key} (details)"
    while key in parent:
        key = f"{key} (more)"
    parent[key] = {}
    return key, blocks


def _fill(target: dict[str, Any], heading: str, blocks: Sequence[Node]) -> None:
    """Add the blocks of a section to its data; lists and tables go below the heading, if any."""
    for block in blocks:
        match block:
            case Paragraph():
                for line in block.lines:
                    _add_line(target, line.text, line.lead)
            case Bullets():
                _add_items(target, heading or "items", block.items)
            case MarkdownTable():
                _add_table(target, heading or "rows", block)
            case Fence():
                _add(target, "text", block.text)
            case Comment():
                pass


def _add_line(target: dict[str, Any], text: str, lead: str = "") -> None:
    text = text.strip()
    choices = list(_choices(text))
    if choices:
        target.setdefault("choices", []).extend(choices)
        return
    if not text or _BARE_LABEL.fullmatch(text):
        return
    pieces = [piece for piece in _BETWEEN.split(text) if piece.strip()]
    matches = [_LABEL.fullmatch(piece.strip()) for piece in pieces]
    if matches and all(matches) and all(_is_label(match) for match in matches):
        for match in matches:
            assert match is not None
            _add(target, match["label"].strip(), _value(match["value"]))
        return
    full_match = _LABEL.fullmatch(text)
    if _is_label(full_match) and full_match is not None:
        _add(target, full_match["label"].strip(), _value(full_match["value"]))
    elif lead and lead != text and len(text.split()) <= _MOST_LABEL_WORDS:
        # `**Decision** Approved`
        _add(target, lead.strip(" :"), text[len(lead) :].strip(" :–—-"))
    else:
        _add(target, "text", text)


def _is_label(match: re.Match[str] | None) -> bool:
    """Return whether a match is a label with its value, not a sentence with a colon."""
    if match is None:
        return False
    is_address = match["value"].startswith("//")
    return len(match["label"].split()) <= _MOST_LABEL_WORDS and not is_address


def _choices(text: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a line with boxes: `☒ Approved ☐ Rejected`."""
    boxes = list(_BOX.finditer(text))
    for number, box in enumerate(boxes):
        end = boxes[number + 1].start() if number + 1 < len(boxes) else len(text)
        name = text[box.end() : end].strip(" ,;|")
        # A tick before a single word is its decoration: `✅ Approved`.
        if box[1] == "✅" or not name:
            return
        label = text[: boxes[0].start()].strip(" :*")
        entry: dict[str, Any] = {"item": name, "completed": box[1] in _CHECKED}
        yield {"label": label} | entry if label else entry


def _value(text: str) -> str:
    return text.strip().strip("*_").strip()


def _add_items(target: dict[str, Any], key: str, items: Sequence[ListItem]) -> None:
    for item in items:
        text = " ".join(line.text for line in item.lines).strip()
        lead = item.lines[0].lead if item.lines else ""
        match = _LABEL.fullmatch(text)
        choices = list(_choices(text))
        if choices:
            _listed(target, key).extend(choices)
        elif _is_label(match) or (lead and lead != text):
            _add_line(target, text, lead)
        elif text:
            _listed(target, key).append(text)
        _fill(target, key, item.blocks)


def _listed(target: dict[str, Any], key: str) -> list[Any]:
    """Return the list at a key; what stood there becomes its first entry."""
    entries = target.setdefault(key, [])
    if not isinstance(entries, list):
        entries = target[key] = [entries]
    return entries


def _add_table(target: dict[str, Any], key: str, table: MarkdownTable) -> None:
    heads = [cell.text.strip() for cell in table.header]
    rows = [[cell.text.strip() for cell in row] for row in table.rows]
    if len(heads) == 2 and _is_mapping(heads, rows):
        inner = target
        name = heads[1].casefold()
        if heads[1] and name not in _VALUE_HEADS:
            # `| Severity | Open |` counts what is open.
            inner = target.setdefault(heads[1], {})
            if not isinstance(inner, dict):
                inner = target[f"{heads[1]} (more)"] = {}
        for row in rows:
            if row[0]:
                _add_cell(inner, row[0], row[1])
        return
    if not any(heads) and rows:
        heads, rows = rows[0], rows[1:]
    _listed(target, key)  # a table without rows is an empty list
    names = [head or f"column {number}" for number, head in enumerate(heads, 1)]
    for row in rows:
        entry = dict[str, Any]()
        for name, cell in zip(names, row, strict=False):
            if cell:
                _add_cell(entry, name, cell)
            else:
                entry[name] = None
        _listed(target, key).append(entry)


def _add_cell(target: dict[str, Any], name: str, cell: str) -> None:
    choices = list(_choices(cell))
    if choices:
        target[name] = choices
    else:
        _add(target, name.strip(" :*"), _value(cell))


def _is_mapping(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table of two columns holds labels and values, not entries."""
    are_plain = all(head.casefold() in _PLAIN_HEADS or not head for head in heads)
    are_numbers = bool(rows) and all(
        re.fullmatch(r"[<>≤≥~]?\s*[\d.,]+\s*\S{0,3}", row[1]) for row in rows if row[1]
    )
    names = [row[0].casefold() for row in rows]
    return (are_plain or are_numbers) and len(set(names)) == len(names)


def _add(target: dict[str, Any], key: str, value: Any) -> None:
    """Add a value; a label that comes again keeps all of its values."""
    if key == "text":
        target.setdefault("text", []).append(value)
    elif key not in target:
        target[key] = value
    elif target[key] != value:
        entries = target[key] if isinstance(target[key], list) else [target[key]]
        target[key] = [*entries, value]


def _plain(value: Any) -> Any:
    """Return data without empty sections; a section of one list or text is that list or text."""
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    plain = dict[str, Any]()
    for key, inner in value.items():
        inner_value = _plain(inner)
        is_empty = isinstance(inner, dict) and not inner
        if is_empty:
            continue
        if (
            isinstance(inner_value, dict)
            and len(inner_value) == 1
            and set(inner_value) <= {"items", "rows"}
        ):
            inner_value = next(iter(inner_value.values()))
        plain[key] = inner_value
    return plain


def read_form(text: str, place: str) -> dict[str, Json] | None:
    """Return what a form says, or None if it has no label, table or list."""
    try:
        form = parse_form(text, place)
    except InputError:
        return None
    if set(form) <= {"title", "text"}:
        return None
    return form
