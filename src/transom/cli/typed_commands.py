"""Commands that a message tells a person to type, completed for the workspace of the message."""

from __future__ import annotations

import re

# A command that works in a workspace, up to the end of its clause. Columns of a table are parted by
# two spaces, and the sentence goes on behind a comma, a semicolon or a back quote.
_COMMAND = re.compile(
    r"(?:\b|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))"  # a style ends with a letter
    r"transom (?:answer|chat|resume|view|waiting"
    r"|(?:cache|check|learning|memory|playbook|runs|session|story|study|trace|window) [a-z]+)"
    r"(?: [^\s;,`)\x1b]+(?:,[^\s;,`)\x1b]+)*)*(?![\w-])"
)
_OPTION = "--workspace"


def with_workspace(text: str, option: str) -> str:
    """Return a text whose commands have an option that names the workspace.

    Messages are made where nobody knows how the workspace was named, e.g. while a checker is built.

    Args:
        text: one line or more for a person.
        option: `--workspace PATH`; "" if a command finds the workspace by itself.
    """
    if not option or "transom " not in text:
        return text

    def completed(match: re.Match[str]) -> str:
        return match[0] if _OPTION in match[0] else f"{match[0]} {option}"

    return _COMMAND.sub(completed, text)
