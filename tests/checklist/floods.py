"""What a broken disk, a loop or a binary file may add to a report, in any length."""

from __future__ import annotations

from collections.abc import Callable, Mapping

FLOODS: Mapping[str, Callable[[int], str]] = {
    "blanks": lambda length: " " * length,
    "tabs and a sign": lambda length: "\t" * length + "!",
    "zero bytes": lambda length: "\0" * length,
    "one letter": lambda length: "x" * length,
    "one digit": lambda length: "0" * length,
    "a rule": lambda length: "-" * length,
    "dots": lambda length: "." * length,
    "words": lambda length: "ab " * (length // 3),
    "numbers": lambda length: "0.1 " * (length // 4),
    "brackets": lambda length: "[(" * (length // 2),
    "quotes": lambda length: "\"'" * (length // 2),
    "a path": lambda length: "/a" * (length // 2),
    "bars": lambda length: "| " * (length // 2),
    "colour codes": lambda length: "\x1b[0m" * (length // 4),
    "blank lines": lambda length: "\n" * length,
    "lines of blanks": lambda length: " \n" * (length // 2),
    "lines of rules": lambda length: "---\n" * (length // 4),
    "lines of a bar and blanks": lambda length: "|   \n" * (length // 5),
    "lines of colours": lambda length: "\x1b[32m-\x1b[0m \n" * (length // 12),
    "lines of zero bytes": lambda length: "\0\0\0\n" * (length // 4),
}
