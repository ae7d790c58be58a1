"""The checks of a test as they are written, in Python, JavaScript, TypeScript, Go and Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from transom.formats.brace_functions import closing_brackets

_STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]{0,2000}`")
_STATEMENT = re.compile(r"^[ \t]*assert[ \t](?P<condition>[^\n]{1,500})", re.MULTILINE)
_CALL = re.compile(r"(?<![\w$.])(?:self\.)?(?P<name>assert\w{0,30}(?:\.\w{1,30}){0,3}|expect)!?\(")
_GO = re.compile(
    r"\bif[ ](?P<condition>[^{}\n]{1,300}+)\{\s*+\w+\.(?:Errorf?|Fatalf?|Fail(?:Now)?)\("
)
_FALSE = re.compile(
    r"\)(?:\.not)?\.to(?:Be|Equal|StrictEqual)\(false\)|\)\.toBeFalsy\(\)|\)\.not\.toBeTruthy\(\)"
)
_TRUTH = re.compile(
    r"\)(?:\.not)?\.to(?:BeTruthy|BeFalsy|(?:Be|Equal|StrictEqual)\((?:true|false))"
)
_BINDING = re.compile(
    r"(?:^|[;{}])[ \t]*(?:if[ ]|(?:let|const|var)[ ](?:mut[ ])?)?"
    r"(?P<names>\w{1,60}(?:,[ ]?\w{1,60}){0,3})(?::[ ][^=\n]{1,60}(?=[ ]=))?"
    r"[ ]?(?:(?::=|(?<![=!<>])=(?!=))[ ]?|(?P<joint>&&|\|\||\?\?|&|\|)=[ ]?)"
    r"(?P<value>[^\n;]{1,300})",
    re.MULTILINE,
)
_HEADER = re.compile(r"\bdef (\w+)\(")


@dataclass(frozen=True)
class WrittenCheck:
    """A check: its condition must hold, or must not hold if it is negative."""

    condition: str
    is_negative: bool = False

    @property
    def is_set_up(self) -> bool:
        """Whether it is one of Go that ends a test whose objects cannot be made."""
        return bool(re.fullmatch(r"(?:\w{1,20}rr|err\w{0,20}) != nil", self.condition.strip()))


def checks_of(text: str) -> Iterator[WrittenCheck]:
    """Yield the checks of a test. The strings in their conditions are blanked."""
    plain = _blanked(text)
    for match in _STATEMENT.finditer(plain):
        yield WrittenCheck(split_at(match["condition"], ",")[0])
    for match in _CALL.finditer(plain):
        end = closing_brackets(plain[: match.end() + 2_000], match.end() - 1)
        if end > 0:
            yield _of_call(match["name"], plain[match.end() : end], plain[end : end + 80])
    for match in _GO.finditer(plain):
        yield WrittenCheck(match["condition"].rpartition(";")[2], is_negative=True)


def bindings_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """Return name -> what a test assigns to it, in order."""
    bindings: dict[str, tuple[str, ...]] = {}
    for match in _BINDING.finditer(_blanked(text)):
        names = [name.strip() for name in match["names"].split(",")]
        value = match["value"]
        if match["joint"]:
            value = f"{names[0]} {match['joint'][0] * 2} {value}"
        for name in names:
            if name != "_":
                bindings[name] = (*bindings.get(name, ()), value)
    return bindings


def split_at(text: str, *joints: str) -> list[str]:
    """Return the parts of an expression between joints that are in no brackets."""
    parts, depth, start, place = [], 0, 0, 0
    while place < len(text):
        sign = text[place]
        depth += (sign in "([{") - (sign in ")]}")
        joint = next((row for row in joints if text.startswith(row, place)), "")
        if joint and depth == 0:
            parts.append(text[start:place])
            start = place = place + len(joint)
            continue
        place += 1
    return [*parts, text[start:]]


def once(text: str) -> str:
    """Return a test once: one of Python comes as it is written and as it is read."""
    headers = [*_HEADER.finditer(text)]
    for match in headers[1:]:
        if match[1] == headers[0][1]:
            start = text.rfind("\n", 0, match.start()) + 1
            return text[start:]
    return text


def _of_call(name: str, arguments: str, following: str) -> WrittenCheck:
    """Return the check that a call of a function or macro makes."""
    parts = [part.strip() for part in split_at(arguments, ",")]
    condition = parts[0]
    is_negative = name.endswith(("False", "isFalse")) or bool(_FALSE.match(following))
    if re.search(r"[eE]qual|_eq|is$", name) and len(parts) > 1:
        if parts[1] in ("true", "false", "True", "False"):
            is_negative = parts[1].lower() == "false"
        else:
            condition = f"{parts[0]} == {parts[1]}"
    elif name == "expect" and not _TRUTH.match(following):
        condition = f"{condition} == {following.partition('(')[2].partition(')')[0]}"
    return WrittenCheck(condition, is_negative)


def _blanked(text: str) -> str:
    """Return a text whose strings hold no words, with quotes of one kind. Blanks stay."""
    return _STRING.sub(lambda match: f'"{re.sub(r"[^ ]", "x", match[0][1:-1])}"', text)
