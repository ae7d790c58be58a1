"""The classes of failure, and the patterns by which a solver's messages are known.

They are data (`failures.yaml`), which files of the same form can extend.
"""

from __future__ import annotations

import builtins
import errno
import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from transom.errors import InputError
from transom.formats.yaml_files import load_yaml
from transom.formats.yaml_models import validate_yaml
from transom.studies.study import Data, Pattern

Severity = Literal["design", "unclear", "machine", "study", "warning"]
# A path of two names or more, or of a file; a device or a mount point names a machine.
_PATH = re.compile(
    r"(?<![\w/:.])(?!/(dev|proc|sys)/)(~|\.{1,2}|[A-Za-z]:)?"
    r"(([/\\][\w.+~@-]++){2,}[/\\]?|[/\\][\w+~@-]+\.\w+)"
)


class MessageStart(Data):
    """The start of a solver's message line."""

    kind: Literal["error", "warning", "info"]
    starts: Pattern


class Completion(Data):
    """The last line of a tool that finished.

    Attributes:
        unconverged: what a tool prints that finishes the same way without convergence.
        results: tables that are proof enough if the line is cut off.
    """

    tool: str
    of: Pattern
    ends: Pattern
    otherwise: str
    unconverged: Pattern | None = None
    file: str | None = None
    results: Pattern | None = None


class FailureClass(Data):
    """A class of failure; `words` are searched in messages only.

    Attributes:
        severity: who is to blame; `unclear` if it may be the design or the machine.
        own_words: words of a file of one's own, which blame a design without a noun beside them.
        errors: names of error numbers of the operating system, such as ESTALE; their texts are
            words of the class.
        exceptions: exceptions of Python; they and the built-in ones below them are words, too.
    """

    title: str
    severity: Severity
    advice: str = ""
    words: tuple[Pattern, ...] = ()
    own_words: tuple[Pattern, ...] = ()
    errors: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """All patterns of the class: its words, and what its error numbers and exceptions say."""
        texts = []
        for name in self.errors:
            # The text comes from this system: its language and wording are those of its solvers.
            if number := getattr(errno, name, None):  # not every system has every number
                texts.append(rf"(?:^|[:,(\]] ?){re.escape(os.strerror(number))}\b")
        for name in self.exceptions:
            texts.append(rf"\b(?:{'|'.join(_exceptions_below(getattr(builtins, name)))})\b:")
        return (*self.words, *texts)


def _exceptions_below(exception: type[BaseException]) -> list[str]:
    """Return the names of a built-in exception and of those that derive from it."""
    names = []
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, exception):
            names.append(name)
    return names


class Taxonomy(Data):
    """All classes and patterns.

    Attributes:
        design_terms: what only a design or its equations have, such as an element or an increment.
        design_nouns: what a machine may have, too, such as a mesh or a volume.
        machine_nouns: what a machine has, such as a licence server. A message blames a design only
            if it names something of the design, and no more of the machine than its terms outweigh.
    """

    messages: tuple[MessageStart, ...] = ()
    completion: tuple[Completion, ...] = ()
    design_terms: tuple[Pattern, ...] = ()
    design_nouns: tuple[Pattern, ...] = ()
    machine_nouns: tuple[Pattern, ...] = ()
    return_codes: dict[int, str] = Field(default_factory=dict)
    classes: dict[str, FailureClass] = Field(default_factory=dict)

    @cached_property
    def starts(self) -> re.Pattern[str]:
        """One pattern whose groups `m0`, `m1`, ... are the messages in order."""
        # One pattern for all messages: an output of many megabytes is read once.
        parts = (f"(?P<m{n}>{message.starts})" for n, message in enumerate(self.messages))
        return re.compile("^(?:" + ("|".join(parts) or r"(?!)") + ")", re.MULTILINE)

    @cached_property
    def words(self) -> dict[str, tuple[re.Pattern[str], re.Pattern[str]]]:
        """Patterns of each class: its words in files of one's own, and its shipped ones."""
        words = {}
        for name, failure_class in self.classes.items():
            words[name] = (_any_of(failure_class.own_words), _any_of(failure_class.patterns))
        return words

    def class_of(self, text: str) -> str | None:
        """Return the first class whose words occur in a message, or None."""
        blames_design, bare = self.blames_design(text), _without_paths(text)
        # The first class wins, so their order in the file matters.
        for name, failure_class in self.classes.items():
            own, shipped = self.words[name]
            if own.search(text):
                return name
            if failure_class.severity != "design":
                if shipped.search(text):
                    return name
            elif blames_design and shipped.search(bare):
                return name
        return None

    def blames_design(self, text: str) -> bool:
        """Return whether a message names something of a design, and nothing of a machine."""
        return self.names_design(text) and not self.names_machine(text)

    def names_design(self, text: str) -> bool:
        """Return whether a message names something of a design."""
        bare = _without_paths(text)
        return any(pattern.search(bare) for pattern in (self._terms, self._design))

    def names_machine(self, text: str) -> bool:
        """Return whether a message names more of a machine than words outweigh that only designs
        have.
        """
        bare = _without_paths(text)
        return len(_names(self._machine, bare)) > len(_names(self._terms, bare))

    @cached_property
    def _terms(self) -> re.Pattern[str]:
        return _any_of(self.design_terms)

    @cached_property
    def _design(self) -> re.Pattern[str]:
        return _any_of(self.design_nouns)

    @cached_property
    def _machine(self) -> re.Pattern[str]:
        return _any_of(self.machine_nouns)

    def leaves_cause_open(self, failure: str | None) -> bool:
        """Return whether a class leaves open if the design or the machine is the cause."""
        return failure not in self.classes or self.classes[failure].severity == "unclear"

    def merged(self, own: Taxonomy) -> Taxonomy:
        """Return this taxonomy with that of a file of one's own, which takes precedence."""
        classes = {}
        for name, added in own.classes.items():
            own_words = (*added.own_words, *added.patterns)
            none: dict[str, Any] = {"words": (), "errors": (), "exceptions": ()}
            classes[name] = added.model_copy(update={**none, "own_words": own_words})
        for name, shipped in self.classes.items():
            # A file of one's own adds words to a shipped class, and need not repeat its words.
            if extended := classes.get(name):
                own_words = (*extended.own_words, *shipped.own_words)
                shipped = extended.model_copy(
                    update={
                        "words": shipped.words,
                        "errors": shipped.errors,
                        "exceptions": shipped.exceptions,
                        "own_words": own_words,
                    }
                )
            classes[name] = shipped
        return Taxonomy(
            messages=(*own.messages, *self.messages),
            completion=(*own.completion, *self.completion),
            design_terms=(*own.design_terms, *self.design_terms),
            design_nouns=(*own.design_nouns, *self.design_nouns),
            machine_nouns=(*own.machine_nouns, *self.machine_nouns),
            return_codes={**self.return_codes, **own.return_codes},
            classes=classes,
        )


def _without_paths(text: str) -> str:
    """Return a message without the paths of files, whose names say nothing about its cause."""
    return _PATH.sub(" ", text)


def _names(pattern: re.Pattern[str], text: str) -> set[str]:
    """Return the different names in a message that a pattern finds."""
    return {match[0].lower() for match in pattern.finditer(text)}


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the patterns; without one, nothing."""
    return re.compile("|".join(f"(?:{one})" for one in patterns) or r"(?!)", re.IGNORECASE)


def load_taxonomy(*own: Path) -> Taxonomy:
    """Load the shipped taxonomy and files that extend it; InputError if one is wrong."""
    taxonomy = Taxonomy()
    for path in (Path(__file__).with_name("failures.yaml"), *own):
        read = validate_yaml(Taxonomy, load_yaml(path))
        taxonomy = taxonomy.merged(read) if taxonomy.classes else read
        for name in (
            *taxonomy.return_codes.values(),
            *(completion.otherwise for completion in taxonomy.completion),
        ):
            if name not in taxonomy.classes:
                raise InputError(
                    f"unknown class {name}", place=str(path), hint="describe it under `classes`"
                )
    return taxonomy
