"""Reading of a part of a text that is too long for a window. Every cut is announced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from transom.canonical import Json
from transom.context.outline import json_entries, lines_of, parsed
from transom.context.tokens import TokenCorrection
from transom.errors import ToolRefused
from transom.llm import ToolSpec

_MOST_SEARCHED = 1_000
_MOST_ENTRIES = 40

READ_SLICE = ToolSpec(
    "read_slice",
    "Read a part of something that was too long to be shown whole: lines by their numbers, a value"
    " of a JSON text by its pointer, or the lines that hold a text. What does not fit is named,"
    " with how to go on.",
    {
        "type": "object",
        "properties": {
            "source": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "description": "Its name, as the outline or the note gives it.",
            },
            "first_line": {
                "type": "integer",
                "minimum": 1,
                "description": "The first line to read; else line 1.",
            },
            "last_line": {
                "type": "integer",
                "minimum": 1,
                "description": "The last one; else as many as fit.",
            },
            "pointer": {
                "type": "string",
                "maxLength": 4096,
                "description": "A JSON pointer, e.g. /issues/0/name.",
            },
            "find": {
                "type": "string",
                "minLength": 1,
                "maxLength": _MOST_SEARCHED,
                "description": "A text that the lines hold, whatever its case.",
            },
        },
        "required": ["source"],
        "additionalProperties": False,
    },
)
"""The tool that reads slices; the caller who registers it knows where the texts are kept."""


def read_slice(
    text: str, arguments: Mapping[str, Json], limit: int, tokens: TokenCorrection
) -> str:
    """Return the answer of the tool `read_slice`, in at most `limit` tokens; ToolRefused if there
    is no such part.
    """
    first, last = arguments.get("first_line"), arguments.get("last_line")
    pointer, find = arguments.get("pointer"), arguments.get("find")
    has_lines = first is not None or last is not None
    # Combined, they could mean either, and a wrong guess costs the model a turn.
    if sum((pointer is not None, find is not None, has_lines)) > 1:
        raise ToolRefused(
            "lines, a pointer and a text to find cannot be asked for at once",
            hint="give one of them",
        )
    if isinstance(pointer, str):
        return _value(text, pointer, limit, tokens)
    lines = lines_of(text)
    if isinstance(find, str):
        return _matching_lines(lines, find, limit, tokens)
    start = first if isinstance(first, int) else 1
    end = min(last, len(lines)) if isinstance(last, int) else len(lines)
    if start > len(lines) or end < start:
        raise ToolRefused(
            f"there are no lines {start} to {last or end}", hint=f"it has lines 1 to {len(lines)}"
        )
    return _lines(lines, start, end, limit, tokens)


def _lines(lines: Sequence[str], start: int, end: int, limit: int, tokens: TokenCorrection) -> str:
    fitting = list(_fitting(lines[start - 1 : end], limit, tokens))
    last = start + len(fitting) - 1
    head = f"lines {start} to {last} of {len(lines)}"
    if last < end:
        head += f"; there is no room for more, go on with first_line {last + 1}"
    return "\n".join([head, *fitting])


def _matching_lines(lines: Sequence[str], find: str, limit: int, tokens: TokenCorrection) -> str:
    lowered = find.casefold()
    matching = []
    for number, line in enumerate(lines, 1):
        if lowered in line.casefold():
            matching.append(f"{number}: {line}")
    if not matching:
        raise ToolRefused(f"no line of {len(lines)} holds {find!r}", hint="look for a shorter text")
    fitting = list(_fitting(matching, limit, tokens))
    head = f"{len(matching)} of {len(lines)} lines hold it"
    if len(fitting) < len(matching):
        head += (
            f"; there is room for the first {len(fitting)}, the others are read by their numbers or"
            " a longer text"
        )
    return "\n".join([head, *fitting])


def _fitting(lines: Sequence[str], limit: int, tokens: TokenCorrection) -> Iterator[str]:
    """Yield the whole lines that have room, at least one."""
    tokens_used = 0
    for index, line in enumerate(lines):
        tokens_used += tokens.count(f"{line}\n")
        if index and tokens_used > limit:
            return
        yield line


def _value(text: str, pointer: str, limit: int, tokens: TokenCorrection) -> str:
    document = parsed(text)
    if document is None:
        raise ToolRefused("it is not JSON, so no pointer leads into it", hint="read it by lines")
    value: Json = document
    # JSON Pointer (RFC 6901): ~1 stands for a slash in a key, and ~0 for a tilde, in this order.
    steps = pointer.removeprefix("/").split("/") if pointer.strip("/") else []
    for step in steps:
        value = _step(value, step.replace("~1", "/").replace("~0", "~"), pointer)
    rendered = json.dumps(value, ensure_ascii=False, indent=1)
    if tokens.count(rendered) <= limit:
        return rendered
    # Pointers into it tell the model how to ask for a smaller part.
    entries = list(json_entries(value))
    place = pointer or "the whole"
    lines = [f"it is too long to be shown whole; what it holds, by pointers from {place}:"]
    lines += entries[:_MOST_ENTRIES]
    if len(entries) > _MOST_ENTRIES:
        lines.append(f"... and {len(entries) - _MOST_ENTRIES} more")
    return "\n".join(lines)


def _step(value: Json, key: str, pointer: str) -> Json:
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list) and key.isdigit() and int(key) < len(value):
        return value[int(key)]
    content = next(json_entries(value)).partition(": ")[2]
    raise ToolRefused(
        f"{pointer} leads nowhere at {key!r}", hint=f"before it stands: {content[:240]}"
    )
