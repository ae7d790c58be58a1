"""What became of a command: the lines from it to the next one. What cannot be told for certain is an error."""

import re
from typing import Any

from transom.checklist.rules.fragments.plain import alarming, files_in, plain


def is_command(text: str, prompted: bool, rule: dict[str, Any]) -> bool:
    """Certainly a command, so that what follows is its own: no prose that sounds alarming."""
    if not (prompted or re.match(rule["command"], text)):
        return bool(re.match(rule["echo"], text))
    bare = re.sub(r'(?:^|\s)-\w+|"[^"]*"|>\s*\S+', " ", text)
    return bool(re.match(rule["echo"], text)) or not alarming(bare, rule)


def outcome(
    lines: list[str], start: int, bases: list[str], endings: str, rule: dict[str, Any]
) -> tuple[str | None, range]:
    """How the command before line index `start` failed, None where it did not; and the indexes of its own lines."""
    wrong: str | None = None
    doubt = 0
    for index in range(start, len(lines)):
        for text, prompted in plain(lines[index], rule):
            if is_command(text, prompted, rule):
                return wrong, range(start, index)
            if not alarming(text, rule):
                doubt = doubt or (index + 1 if re.match(rule["maybe"], text) else 0)
                continue
            failed = any(re.search(pattern, text) for pattern in rule["failed"])
            others = [name for name in files_in(text, endings) if name not in bases]
            if wrong is None and failed and not (doubt or others or prompted or len(bases) > 1):
                wrong = text
            elif wrong is None:
                why = f"a command may stand in line {doubt}, so " if doubt else ""
                raise ValueError(f"line {index + 1}: {why}whether this means that {bases[0]} was not read: {text}")
    return wrong, range(start, len(lines))
