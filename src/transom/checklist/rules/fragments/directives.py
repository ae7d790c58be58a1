"""`directives`: a word such as `*NAME` and the texts after it, at the head of a file; together they make one entry."""

import re
from collections.abc import Iterator
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def head_words(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Every word or quoted text and its line, comments left out."""
    block = False
    for number, line in enumerate(lines, 1):
        rest = line
        while rest := rest.strip():
            if block:
                _, found, rest = rest.partition("*/")
                block = not found
                continue
            match = re.match(r'//.*|/\*|"[^"]*"?|[^\s"]+?(?=\s|"|//|/\*|$)', rest)
            word = match[0] if match else rest
            rest = rest[len(word) :]
            block = word == "/*"
            if not word.startswith(("//", "/*")):
                yield number, word


def read_directives(lines: list[str], rule: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for the head of the file, empty fields where a directive is absent or says nothing."""
    texts: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    open_for: list[str] = []
    for number, word in head_words(lines):
        if re.match(rule["stop"], word):
            break
        if match := re.fullmatch(rule["pattern"], word):
            name = rule["names"].get(match["name"].upper())
            open_for = texts.setdefault(name, []) if name and name not in seen else []
            seen.setdefault(name, number)
        elif word[0] == '"' and (len(word) == 1 or word[-1] != '"'):
            raise ValueError(f"line {number}: a quoted text without an end: {word}")
        else:
            open_for.append(word)
    fields: dict[str, Any] = dict(rule["constants"])
    for name, words in texts.items():
        said = " ".join([word.strip('"') for word in words if word[0] == '"'] or words).strip()
        fields[name] = None if re.fullmatch(rule["placeholder"], said) else said or None
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 0)
    at = next((seen[name] for name in rule["names"].values() if fields.get(name) and name in seen), first)
    return [entry(rule, at or None, lines[at - 1] if at else "", fields)]
