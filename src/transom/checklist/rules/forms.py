"""Sentence templates: what they look like, and whether a sentence fits one as a whole.

A template is words with `[optional parts]`, `(one|of|these)` and `{named lists}`; every element of a list is a
template itself. `{entities}` is a list of the domain's things (`the netlist and the SPEF`, `netlist/spef`),
`{entities:tail}` one whose last thing, at least, is followed by the list `tail`, and `{entities:nor}` one that is
joined by `nor`. A list with keys is a choice: which of its keys was said is part of what was understood. Commas and
colons may stand anywhere.

Templates become one regular expression over normalised words, so nothing but the whole sentence can fit.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

WordLists = Mapping[str, Sequence[str] | Mapping[str, Sequence[str]]]
Things = Mapping[str, Sequence[str]]

MAX_WORDS = 80

_TOKEN = re.compile(r"\{(\w+)(?::(\w+))?\}|([\[\]()|])|([^\s\[\](){}|]+)")
_WORD = re.compile(r"[^\W_]+(?:[._][^\W_]+)*|\S")
_BREAK = re.compile(r"(?<=[.!?])\s+|[.!?]\s*$|;|\n+|\s[-–—]+\s|[–—]")
_DROPPED = str.maketrans(dict.fromkeys('"“”„‟«»`*', " ") | {"’": "'", "‘": "'", "′": "'"})


class FormError(ValueError):
    """A template cannot be read, or names a list that does not exist."""


@dataclass(frozen=True)
class Match:
    """What was said: keys of things in the order of the knowledge, and choices (list -> key)."""

    things: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]


def sentences(text: str) -> list[str]:
    """The sentences of a description, as written. A bracket that opens with `waive` is a sentence of its own."""
    text = re.sub(r"\(\s*((?i:waiv)[^()]*)\)", r"\n\1\n", unicodedata.normalize("NFKC", text))
    parts = (part.strip(" \t\r.!?") for part in _BREAK.split(text))
    return [part for part in parts if part]


def normal(sentence: str) -> str:
    """Lower-case words with one space after each; punctuation that may mean something stays a word of its own."""
    text = unicodedata.normalize("NFKC", sentence).casefold().translate(_DROPPED)
    text = re.sub(r"'s\b", " ", text).replace("'", " ").replace("&", " and ")
    text = re.sub(r"(?<=\w)-(?=\w)", " ", text)
    words = [word for word in _WORD.findall(text) if word not in "()"]
    return "".join(f"{word} " for word in words)


class Grammar:
    """Compiles templates over word lists and things; `{free}` is any run of the `free` words."""

    def __init__(self, lists: WordLists, things: Things, free: Sequence[str] = ()) -> None:
        self._lists: WordLists = {**lists, "free": free}
        self._things = {key: self._any(words) for key, words in things.items()}
        self._thing = "|".join(self._things.values())
        self._count = 0

    def compile(self, template: str) -> Form:
        self._count = 0
        return Form(re.compile(self._sequence(list(_tokens(template)), ())), self._things)

    def words(self, templates: Sequence[str]) -> str:
        """A regex for one of the templates."""
        return self._any(templates)

    def vocabulary(self, templates: Sequence[str]) -> frozenset[str]:
        """Every word that the templates and what they name hold."""
        found: set[str] = set()
        todo, done = list(templates), set[str]()
        while todo:
            for name, tail, _, word in _TOKEN.findall(todo.pop()):
                found.update(normal(word).split())
                for part in {name, tail} & set(self._lists) - done:
                    done.add(part)
                    todo += _flat(self._lists[part])
        return frozenset(found)

    def _any(self, templates: Sequence[str], seen: tuple[str, ...] = ()) -> str:
        # Longest first: with the whole sentence to fit this only saves steps.
        made = [self._sequence(list(_tokens(t)), seen) for t in sorted(templates, key=len, reverse=True)]
        return f"(?:{'|'.join(made)})"

    def _sequence(self, tokens: list[str], seen: tuple[str, ...]) -> str:
        made, rest = self._parse(tokens, seen)
        if rest:
            raise FormError(f"unexpected {rest[0]!r} in a template")
        return made

    def _parse(self, tokens: list[str], seen: tuple[str, ...]) -> tuple[str, list[str]]:
        branches, made = [], ""
        while tokens and tokens[0] not in ("]", ")"):
            token, *tokens = tokens
            if token == "|":
                branches.append(made)
                made = ""
            elif token in ("[", "("):
                inner, tokens = self._parse(tokens, seen)
                closing = "]" if token == "[" else ")"
                if not tokens or tokens[0] != closing:
                    raise FormError(f"{token} is not closed in a template")
                tokens = tokens[1:]
                made += f"(?:{inner})" + ("?" if token == "[" else "")
            elif token.startswith("{"):
                made += self._named(token[1:-1], seen)
            else:
                made += "".join(f"{re.escape(word)} (?:[,:] )?" for word in normal(token).split())
        return "|".join([*branches, made]) if branches else made, tokens

    def _named(self, name: str, seen: tuple[str, ...]) -> str:
        head, _, tail = name.partition(":")
        if head == "entities":
            return self._entities(tail, seen)
        if head == "free":
            return f"(?:{self._any(_flat(self._lists['free']), seen)}){{1,40}}"
        if head in seen:
            raise FormError(f"the list {head} holds itself")
        if head not in self._lists:
            raise FormError(f"there is no list {head}")
        found = self._lists[head]
        if not isinstance(found, Mapping):
            return self._any(found, (*seen, head))
        self._count += 1
        keys = (f"(?P<c{self._count}_{head}__{k}>{self._any(v, (*seen, head))})" for k, v in found.items())
        return f"(?:{'|'.join(keys)})"

    def _entities(self, tail: str, seen: tuple[str, ...]) -> str:
        self._count += 1
        article = f"{self._any(_flat(self._lists['each']), seen)}?" if "each" in self._lists else ""
        one = f"{article}(?:{self._thing})"
        if tail == "nor":
            return f"(?P<e{self._count}>{one}(?:nor {one})+)"
        after = self._any([f"{{{tail}}}"], seen) if tail else ""
        join = self._any(["and [also] [of|for|in|from]", "/", "as well as [of|for]", "plus"], seen)
        more = f"(?:{one}{after + '?' if after else ''}(?:{join}|, ))"
        return f"(?P<e{self._count}>{more}{{0,5}}{one}){after}"


@dataclass(frozen=True)
class Form:
    """A compiled template."""

    pattern: re.Pattern[str]
    things: Mapping[str, str]

    def match(self, words: str) -> Match | None:
        """What normalised words say, or None where they do not fit as a whole or contradict themselves."""
        found = self.pattern.fullmatch(words)
        if found is None:
            return None
        said = {name: text for name, text in found.groupdict().items() if text}
        spans = " ".join(text for name, text in said.items() if name[0] == "e")
        things = tuple(key for key, words_ in self.things.items() if re.search(rf"(?<!\S){words_}", spans))
        choices = sorted({tuple(name.partition("_")[2].split("__", 1)) for name in said if name[0] == "c"})
        if len({name for name, *_ in choices}) != len(choices):
            return None
        return Match(things, tuple((choice[0], choice[1]) for choice in choices))


def _tokens(template: str) -> Iterator[str]:
    for match in _TOKEN.finditer(template):
        yield match[0]


def _flat(found: Sequence[str] | Mapping[str, Sequence[str]]) -> list[str]:
    if isinstance(found, Mapping):
        return [template for templates in found.values() for template in templates]
    return list(found)
