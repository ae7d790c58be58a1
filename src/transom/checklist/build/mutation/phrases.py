"""Lines as tools write them: a command that is only printed, and several of one kind."""

from __future__ import annotations

import re
from collections.abc import Iterable

from transom.checklist.build.mutation.fields import Topic

MANY = 8
_PROMPT = r"\s*(?:[\w.@]{0,30}[>%]\s*)?"


def many(line: str, names: Iterable[str | None]) -> list[str]:
    """Several of a line, each with a name of its own, or with its number at the end where it has no name."""
    name = next((name for name in names if name and name in line), None)
    if name is None:
        return [f"{line} {number}" for number in range(1, MANY + 1)]
    return [line.replace(name, f"{name}_{number}", 1) for number in range(1, MANY + 1)]


def only_printed(line: str, topic: Topic) -> str | None:
    """A command of the spec as a comment and as texts that are only printed; None where the line is none."""
    words = "|".join(re.escape(word) for word in topic.extraction.keywords if re.fullmatch(r"[A-Za-z]\w*", word))
    found = re.match(rf"{_PROMPT}(?P<rest>(?:{words})\w*\s+[^\s:].*)$", line) if words else None
    if found is None:
        return None
    command = found["rest"].rstrip()
    plain = [] if re.search(r"[\"{}\\]", command) else [f'echo "{command}"', f"puts {{{command}}}"]
    return "\n".join([f"# {command}", *plain, f'puts "next: {command} as soon as it is there"'])
