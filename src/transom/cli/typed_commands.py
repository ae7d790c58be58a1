"""Commands that a message tells a person to type, completed for the workspace of the message."""

from __future__ import annotations

import re

# A command that works in a workspace, up to the end of its clause. Columns of a table are parted by
# two spaces, and the sentence goes on behind a comma, a semicolon, a back quote or a parenthesis.
# Behind `cd FOLDER &&` a command finds the workspace of that folder.
_COMMAND = re.compile(
    r"(?:\b|(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm))"  # a style ends with a letter
    r"(?<!&& )transom (?:answer|chat|investigate|resume|view|waiting"
    r"|(?:cache|check|learning|memory|playbook|runs|session|story|study|trace|window) [a-z]+)"
    r"(?: (?:'[^'\n]*'|\"[^\"\n]*\"|[^\s;,`()\x1b'\"]|,(?=\S))+)*(?![\w-])"
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
        if _OPTION in match[0]:
            return match[0]
        words, dashes, options = match[0].partition(" --")
        return f"{words} {option}{dashes}{options}"

    return _COMMAND.sub(completed, text)
