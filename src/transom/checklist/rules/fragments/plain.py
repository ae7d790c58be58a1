"""A log's line as its tool meant it, and what in it is alarming: one reading for all who look at lines of logs."""

import re
from typing import Any


def plain(line: str, rule: dict[str, Any]) -> list[tuple[str, bool]]:
    """The texts of a line without colours, time stamps and prompts, each with whether a prompt stood before it.

    A line that a tool wrote over with carriage returns holds several.
    """
    found: list[tuple[str, bool]] = []
    pieces = re.sub(rule["colour"], "", line).split("\r") if "\x1b" in line or "\r" in line else [line]
    for piece in pieces:
        text, prompted = piece, False
        while told := re.match(rule["stamp"], text) or re.match(rule["prompt"], text):
            prompted = prompted or told.lastgroup == "prompt"
            text = text[told.end() :]
        found.append((text.strip(), prompted))
    return [one for one in found if one[0] or one[1]] or [("", False)]


def alarming(text: str, rule: dict[str, Any]) -> bool:
    """A line that may tell of a failure; what is denied (`no errors`) and what is known to do no harm set aside."""
    low = text.lower()
    if not any(word in low and re.search(regex, low) for word, regex in rule["alarm"].items()):
        return False  # nearly every line, so nothing else is asked before
    if any(re.search(pattern, text) for pattern in rule["harmless"]):
        return False
    low = re.sub(rule["denied"], " ", low)
    return any(word in low and bool(re.search(regex, low)) for word, regex in rule["alarm"].items())


def files_in(text: str, endings: str) -> list[str]:
    """Base names of the files in a text that have one of these endings, lower case and without `.gz`."""
    told = re.findall(rf"""(?i)[^\s"'{{}}\[\](),;=<>|]+\.(?:{endings})(?:\.gz)?(?!\w)(?!\.\w)""", text)
    return [base_name(path) for path in told]


def base_name(path: str) -> str:
    """For comparing: the last part, lower case and without `.gz`."""
    return path.replace("\\", "/").rpartition("/")[2].lower().removesuffix(".gz")
