r"""Sentence templates: what they look like, and how they become recognisers.

A template is words with `[optional parts]`, `(one|of|these)`, `(as often as it fits)*` and `{named
lists}`; every element of a list is a template itself. `{entities}` is a list of the domain's things
(`the netlist and the SPEF`,
`netlist/spef`), `{entities:tail}` one whose last thing, at least, is followed by the list `tail`,
and `{entities:nor}` one that is joined by `nor`; in `{entities:or}` an `or` joins as well, which is
right behind a negation alone. `{number:name}` is a number other than zero, and a choice. `\[` is a
bracket of the text itself. `{free}` is any run of the free words. Commas, colons and brackets may
follow any word.

A list with keys is a choice: which of its keys was said is part of what was understood;
`{list:key}` makes that choice without a word, and `{entities:key}` names that thing. `{list=mark}`
is a choice that must agree with the others of the same mark and says nothing else: `{flag=1} means
{outcome=1}` understands `MET means found` and not `MET means violation`. A list without elements
matches nothing, so a form that needs it is not there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from transom.checklist.rules.chart import (
    Chain,
    Choice,
    Maybe,
    Node,
    Number,
    Often,
    OneOf,
    Row,
    Said,
    Word,
)

WordLists = Mapping[str, Sequence[str] | Mapping[str, Sequence[str]]]
Things = Mapping[str, Sequence[str]]

MAX_WORDS = 120

_TOKEN = re.compile(r"\{\w+(?::\w+)?(?:=\w+)?\}|\\[\[\]()|]|\)\*|[\[\]()|]|[^\s\[\](){}|\\]+")
_NAMED = re.compile(r"\{(\w+)(?::(\w+))?(?:=(\w+))?\}")
_WORD = re.compile(
    r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?=[a-zµμ%]{0,4}(?![\w.]))|[^\W_]+(?:[._][^\W_]+)*|\S"
)
_BREAK = re.compile(r"(?<=[.!?])\s+|[.!?]\s*$|;|\n+|\s[-–—]+\s|[–—]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+", re.MULTILINE)
# A line that goes on in small letters is not a new sentence.
_WRAPPED = re.compile(
    r"(?:(?<![.!?;: \t])[ \t]++|(?<=[.!?;:][ \t])[ \t]*+|(?<![.!?;: \t]))\n[ \t]*+(?=[a-z(])"
)
# What explains is a clause like any other.
_THAT_IS = re.compile(
    r"(?:[,:]\s*+|(?<![,:\s])\s++|)\b(?:i\.\s?e\.|that is,|namely,?),?\s+", re.IGNORECASE
)
# The dot of a shortened word ends no sentence.
_SHORTENED = re.compile(r"\b(vs|max|min|incl|excl|approx)\.(?=\s)", re.IGNORECASE)
_DROPPED = str.maketrans(dict.fromkeys('"“”„‟«»`*', " ") | {"’": "'", "‘": "'", "′": "'"})
# In small letters it would be a thousandth.
_MEGA = re.compile(r"(?<=\d)\s*M(?=[A-Za-z]\b)")
_ARROW = re.compile(r"(?:(?<![-=])|(?<=:=))[-=]++>|→|⇒|:=|==")
_PAIRS = {"[": "]", "(": ")"}


class FormError(ValueError):
    """A template cannot be read, or names a list that does not exist."""

    template = ""


@dataclass(frozen=True)
class Match:
    """Meaning of what was said: keys of things in the order of the knowledge, and choices (list
    -> key).
    """

    things: tuple[str, ...]
    choices: tuple[Choice, ...]


def sentences(text: str) -> list[str]:
    """The sentences of a description, as written. A bracket that opens with `waive` is a
    sentence of its own.
    """
    text = _WRAPPED.sub(" ", _BULLET.sub("", unicodedata.normalize("NFKC", text)))
    text = _SHORTENED.sub(r"\1", _THAT_IS.sub(", ", text))
    text = re.sub(r"\(\s*((?i:waiv)[^()]*)\)", r"\n\1\n", text)
    parts = (part.strip(" \t\r.!?") for part in _BREAK.split(text))
    return [part for part in parts if part]


def normal(sentence: str) -> list[str]:
    """Lower-case words; punctuation that may mean something stays a word of its own."""
    text = (
        _MEGA.sub(" mega", unicodedata.normalize("NFKC", sentence)).casefold().translate(_DROPPED)
    )
    text = re.sub(r"\bw/(o\b)?\s*", lambda m: "without " if m[1] else "with ", text)
    text = re.sub(r"'s\b", " ", text).replace("(s)", "s").replace("'", " ").replace("&", " and ")
    text = re.sub(r"(?<=\w)-(?=\w)", " ", _ARROW.sub(" = ", text))
    return _WORD.findall(text)


@lru_cache(maxsize=20_000)
def _words_of(token: str) -> tuple[str, ...]:
    """`normal` of a template's token; the templates of all domains have few different ones."""
    return tuple(normal(token))


def words_in(template: str) -> frozenset[str]:
    """The words that stand in a template itself, not in the lists that it names."""
    tokens = (token for token in _TOKEN.findall(template) if not _NAMED.fullmatch(token))
    return frozenset(word for token in tokens for word in _words_of(token))


class Grammar:
    """Makes recognisers of templates over word lists and things.

    Attributes:
        lists: named word lists, those of `base` included.
        base: a grammar with other elements for some lists; what does not depend on these is shared
            with it.
    """

    def __init__(
        self,
        lists: WordLists,
        things: Things,
        free: Sequence[str] = (),
        base: Grammar | None = None,
    ) -> None:
        self.lists: WordLists = {**lists, "free": free}
        self._named: dict[tuple[str, ...], Node] = {}
        self._own: dict[str, bool] = {}
        self._base = base
        self._keys = tuple(things)
        if base is None:
            named = (Said(self._any(words, ()), thing=key) for key, words in things.items())
            self._thing: Node = OneOf(named)
        else:
            self._thing = base._thing

    def over(self, lists: WordLists) -> Grammar:
        """This grammar with other elements for these lists."""
        free = flat(self.lists["free"])
        grammar = Grammar({**self.lists, **lists}, dict.fromkeys(self._keys, ()), free, self)
        grammar._own = dict.fromkeys(lists, True)
        return grammar

    def compile(self, template: str) -> Form:
        return Form(self._read(template, ()), self._keys)

    def _any(self, templates: Sequence[str], seen: tuple[str, ...]) -> Node:
        return OneOf([self._read(template, seen) for template in templates])

    def _read(self, template: str, seen: tuple[str, ...]) -> Node:
        rest = _TOKEN.findall(template)[::-1]
        try:
            node = self._parse(rest, seen)
            if rest:
                raise FormError(f"unexpected {rest[-1]!r} in a template")
        except FormError as error:
            error.template = error.template or template
            raise
        return node

    def _parse(self, rest: list[str], seen: tuple[str, ...]) -> Node:
        """The node of the tokens up to the next closing one; `rest` has them backwards, and
        keeps what follows.
        """
        branches: list[Node] = []
        parts: list[Node] = []
        while rest and rest[-1] not in ("]", ")", ")*"):
            token = rest.pop()
            if token == "|":
                branches.append(Chain(parts))
                parts = []
            elif token in _PAIRS:
                inner, closed = self._parse(rest, seen), rest.pop() if rest else ""
                if closed.rstrip("*") != _PAIRS[token]:
                    raise FormError(f"{token} is not closed in a template")
                parts.append(
                    Maybe(inner) if token == "[" else Often(inner) if closed == ")*" else inner
                )
            elif named := _NAMED.fullmatch(token):
                parts.append(self._list(named[1], named[2] or "", named[3] or "", seen))
            elif token[0] == "\\":
                parts.append(Word(token[1]))
            else:
                parts += map(Word, _words_of(token))
        last: Node = parts[0] if len(parts) == 1 else Chain(parts)
        return OneOf([*branches, last]) if branches else last

    def _list(self, name: str, tail: str, mark: str, seen: tuple[str, ...]) -> Node:
        if name in seen:
            raise FormError(f"the list {name} holds itself")
        if name == "number":
            return Number(tail or name)
        if name not in self.lists and name != "entities":
            raise FormError(f"there is no list {name}")
        if (
            self._base is not None
            and not self._depends(name)
            and not (tail and self._depends(tail))
        ):
            return self._base._list(name, tail, mark, seen)
        key = (name, tail, mark)
        if key not in self._named:
            self._named[key] = self._make(name, tail, mark, (*seen, name))
        return self._named[key]

    def _make(self, name: str, tail: str, mark: str, seen: tuple[str, ...]) -> Node:
        if name == "entities":
            return Said(Chain([]), thing=tail) if tail in self._keys else self._entities(tail, seen)
        found = self.lists[name]
        if name == "free":
            word = self._any(flat(found), seen)
            return Chain([word, Often(word)])
        if not isinstance(found, Mapping):
            return self._any(found, seen)
        if tail:
            return Said(Chain([]), choice=(name, tail))
        choice = f"={mark}" if mark else name
        return OneOf(
            [Said(self._any(words, seen), choice=(choice, key)) for key, words in found.items()]
        )

    def _entities(self, tail: str, seen: tuple[str, ...]) -> Node:
        one: Node = Chain([Maybe(self._list("each", "", "", seen)), self._thing])
        if tail == "nor":
            more: Node = Chain([Word("nor"), one])
            return Chain([one, more, Often(more)])
        join = self._list("join", "", "", seen)
        if tail == "or":
            join, tail = OneOf([join, Word("or"), Word("nor")]), ""
        after = self._list(tail, "", "", seen) if tail else Chain([])
        before = Chain([one, Maybe(after), join])
        return Chain([Often(before), one, after])

    def _depends(self, name: str) -> bool:
        """Whether a list holds, however deep, one that differs from the base's."""
        if name not in self._own:
            self._own[name] = False
            named = [
                found for text in flat(self.lists.get(name, ())) for found in _NAMED.findall(text)
            ]
            self._own[name] = any(
                self._depends(part) for head, tail, _ in named for part in (head, tail) if part
            )
        return self._own[name]


@dataclass(frozen=True)
class Form:
    """A compiled template."""

    node: Node
    keys: tuple[str, ...]

    def ends(self, row: Row, at: int) -> Iterator[tuple[int, Match]]:
        """Every place where it may end, with what is said up to there."""
        if not row.begins(at, self.node.first):
            return
        for span in self.node.reach(row, at):
            if span.end > at:
                choices = sorted(choice for choice in span.choices if choice[0][0] != "=")
                yield (
                    span.end,
                    Match(tuple(key for key in self.keys if key in span.things), tuple(choices)),
                )


def flat(found: Sequence[str] | Mapping[str, Sequence[str]]) -> list[str]:
    """The templates of a word list, of all its keys where it has some."""
    if isinstance(found, Mapping):
        return [template for templates in found.values() for template in templates]
    return list(found)
