"""Finds where a document names a thing, and whether the sentence says that something depends on it.

A sentence is read in its own clause: its verb, its subject, and a denial of the verb. A sentence
that names the thing in any other way is no dependency, and is shown as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from transom.investigator.reading.vocabulary import plain_words, singular, word_set

MentionKind = Literal["depends", "names", "alike"]

_CLAUSE_END: Final = re.compile(r"[,;:()]|\s-\s|[–—]|\b(?:but|while|whereas|aber|während)\b")
# One alternative a row: English verbs with "on", English transitive verbs, "X from Y", German.
_VERBS: Final = re.compile(
    r"\b(?:(?:depends?|depending|dependent|rely|relies|relying|based|builds?|building|built)"
    r"(?: \w{1,20}ly)? (?:up)?on"
    r"|(?:requires?|requiring|needs?(?! to\b)|uses?|using|calls?|calling|consumes?|consuming"
    r"|queries|querying|invokes?)"
    r"|(?:subscribes?|connects?|talks?|writes?|listens?) to|integrates? with"
    r"|(?:powered|backed|served) by"
    r"|(?:gets?|takes?|fetch(?:es)?|pulls?|reads?|loads?|receives?|comes?)\b[^.;:,()]{0,60}? from"
    r"|(?:fetched|read|taken|loaded|pulled|received|written|stored|sent|posted)(?: \w+){0,2}?"
    r" (?:from|to|in|into)"
    r"|dependenc(?:y|ies)(?: \w{1,20})? (?:is|are|includes?|on)|dependency on"
    r"|(?:hängt|hängen|abhängig|basiert|basieren)(?: \w+){0,3}? (?:von|auf)"
    r"|dépend(?:ent)? (?:de|du|des)"
    r"|(?:nutzt|nutzen|benutzt|benötigt|benötigen|braucht|brauchen|verwendet|verwenden))\b",
    re.IGNORECASE,
)
# "X is used by the plan", behind the name.
_PASSIVE: Final = re.compile(
    r"\W{0,3}(?:(?:service|api|server) )?(?:is|are|must be|has to be|will be)"
    r"(?P<between>(?: \w+){0,2}?) (?:required|needed|used|called|consumed|queried) (?:by|for)\b"
    r"(?P<user>[^.;:]{0,120})",
    re.IGNORECASE,
)
# Denials stand right before the verb: "without exception it requires" denies nothing.
_DENIED_VERB: Final = re.compile(
    r"(?:\b(?:not|never|no|no longer|hardly|stopped|ceased|cannot|nicht|used to|may|might|could"
    r"|would|should|will|shall|if it)|n['’]t)\b(?: \w+){0,1} ?$",
    re.IGNORECASE,
)
_DENIED_SUBJECT: Final = re.compile(
    r"\b(?:nothing|none|nobody|neither|nor|no (?:one|part|feature|service|step|component)"
    r"|nichts|niemand)\b",
    re.IGNORECASE,
)
_DENIED_OBJECT: Final = re.compile(
    r"\b(?:no|not|nicht|kein\w{0,2}|neither|nor|without|whether|if)\b", re.IGNORECASE
)
_DENIED_BEHIND: Final = re.compile(
    r"\W{0,3}(?:no more|no longer|any ?more|any longer|nicht mehr|only until"
    r"|(?:was|were|is|has been|will be) (?:removed|dropped|gone|retired|replaced))\b",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+(?=\S)")
# A line that begins a block of its own: a heading, a bullet, a row of a table, a quotation.
_BLOCK: Final = re.compile(r"\s{0,12}(?:#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|\||>)")
_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")
_ARTICLES: Final = word_set("the a an our your their this that these der die das den dem")
# "The tide-table service" is the tide-table.
_CATEGORIES: Final = word_set(
    "service api system server component module database feature library interface"
)
_LONGEST_QUOTE: Final = 160
_MOST_PLACES: Final = 20  # of one sentence


@dataclass(frozen=True)
class ThingMention:
    """A place of a document that names a thing.

    Attributes:
        kind: `depends` if the sentence says so, `names` if it says anything else, `alike` if only a
            longer name has the thing's name in it.
        subject: the words before the verb; the sentence may be about another feature.
    """

    kind: MentionKind
    line: int
    quote: str
    subject: str = ""


class NamedThing:
    """A thing that a question names, to be found in texts in its usual writings."""

    def __init__(self, text: str) -> None:
        words = [word for word in plain_words(text) if word not in _ARTICLES]
        core = words
        while len(core) > 1 and singular(core[-1]) in _CATEGORIES:
            core = core[:-1]
        self.words = core
        # "gauge-feed", "Gauge Feed" and "GaugeFeed" are one name, "gauge-feed-archive" is another.
        name = r"[\s_./`'-]{0,2}".join(re.escape(singular(word)) + "(?:e?s)?" for word in core)
        self._loose = re.compile(name, re.IGNORECASE)
        self._exact = re.compile(rf"(?<![\w])(?<!\w[-_])(?:{name})(?![-_]?\w)", re.IGNORECASE)

    @property
    def is_named(self) -> bool:
        """Whether anything is left that names a thing."""
        return any(len(word) > 1 for word in self.words)

    def find(self, text: str) -> re.Match[str] | None:
        """Return the first place of a text that names the thing."""
        return self._exact.search(text)

    def mentions(self, lines: Iterable[str]) -> Iterator[ThingMention]:
        """Yield the sentences of a document that name the thing."""
        for text, starts in _paragraphs(lines):
            place = 0
            for sentence in _SENTENCE_END.split(text):
                place = text.index(sentence, place)
                mention = self._mention(sentence)
                if mention is not None:
                    kind, subject, offset = mention
                    line = max(number for start, number in starts if start <= place + offset)
                    quote = " ".join(sentence.split())[:_LONGEST_QUOTE]
                    yield ThingMention(kind, line, quote, subject)
                place += len(sentence)

    def _mention(self, sentence: str) -> tuple[MentionKind, str, int] | None:
        """Return the kind of a sentence, its subject and where the name stands in it."""
        first: tuple[MentionKind, str, int] | None = None
        for name in islice(self._exact.finditer(sentence), _MOST_PLACES):
            subject = self._subject(sentence, name)
            if subject is not None:
                return "depends", subject, name.start()
            first = first or ("names", "", name.start())
        if first is None and (alike := self._loose.search(sentence)):
            return "alike", "", alike.start()
        return first

    def _subject(self, sentence: str, name: re.Match[str]) -> str | None:
        """Return what depends on the thing by the verb before or behind its name, else None."""
        passive = _PASSIVE.match(sentence, name.end())
        if passive is not None:
            is_denied = _DENIED_OBJECT.search(passive["between"]) is not None
            return None if is_denied else passive["user"]
        before = sentence[: name.start()]
        verbs = list(_VERBS.finditer(before))
        verb = verbs[-1] if verbs else None
        if verb is None or re.search(r"[.;:()]", before[verb.end() :]):
            return None
        subject = _CLAUSE_END.split(before[: verb.start()])[-1]
        # "The gauge-feed uses the gauge-feed of another harbour" says nothing of this feature.
        if self._exact.search(subject) or _DENIED_SUBJECT.search(subject):
            return None
        if _DENIED_VERB.search(subject) or _DENIED_OBJECT.search(verb[0] + before[verb.end() :]):
            return None
        return None if _DENIED_BEHIND.match(sentence, name.end()) else subject


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield paragraphs as one line each, with the offsets at which their lines start."""
    text, starts = "", list[tuple[int, int]]()
    is_code = False
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            is_code = not is_code
        # Sentences run on over lines, but not over blocks, and not in code.
        if text and (is_code or not line.strip() or _BLOCK.match(line) or _FENCE.match(line)):
            yield text, starts
            text, starts = "", []
        if line.strip():
            starts.append((len(text), number))
            text += f"{line.rstrip()} "
        if text.startswith("#"):
            yield text, starts
            text, starts = "", []
    if text:
        yield text, starts
