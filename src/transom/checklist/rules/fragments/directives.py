"""`directives`: a word such as `*NAME` and the texts after it, at the head of a file; together they make one entry."""

import re
from typing import Any

from transom.checklist.rules.fragments.shared import entry


def head_words(line: str, block: bool) -> tuple[list[str], bool]:
    """Every word or quoted text of a line, comments left out; and whether a comment goes on behind it."""
    words: list[str] = []
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
            words.append(word)
    return words, block


class DirectiveReader:
    """One entry for the head of the file, empty fields where a directive is absent or says nothing."""

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule = rule
        self.texts: dict[str, list[str]] = {}
        self.seen: dict[str, tuple[int, str]] = {}
        self.first: tuple[int, str] | None = None
        self.into: list[str] | None = None  # where words go that are no directives
        self.block = self.done = False

    def line(self, number: int, line: str) -> list[dict[str, Any]]:
        """The entry, where the head ends."""
        if self.done:
            return []
        self.first = self.first or ((number, line) if line.strip() else None)
        words, self.block = head_words(line, self.block)
        for word in words:
            if re.match(self.rule["stop"], word):
                return self.end()
            self.word(number, line, word)
        return []

    def word(self, number: int, line: str, word: str) -> None:
        """A directive, or a text behind one."""
        if match := re.fullmatch(self.rule["pattern"], word):
            name = self.rule["names"].get(match["name"].upper())
            self.into = self.texts.setdefault(name, []) if name and name not in self.seen else None
            self.seen.setdefault(name, (number, line))
        elif word[0] == '"' and (len(word) == 1 or word[-1] != '"'):
            raise ValueError(f"line {number}: a quoted text without an end: {word}")
        elif self.into is not None:
            self.into.append(word)

    def late(self) -> bool:
        """Whether an entry may still come for a line that went before."""
        return not self.done

    def end(self) -> list[dict[str, Any]]:
        """The entry, where the head did not end before the file."""
        if self.done:
            return []
        self.done = True
        fields: dict[str, Any] = {}
        for name, words in self.texts.items():
            said = " ".join([word.strip('"') for word in words if word[0] == '"'] or words).strip()
            fields[name] = None if re.fullmatch(self.rule["placeholder"], said) else said or None
        told = [self.seen[name] for name in self.rule["names"].values() if fields.get(name) and name in self.seen]
        number, line = [*told, self.first or (None, "")][0]
        return [entry(self.rule, number, line, fields)]
