"""Whether what an outcome says stands in its sources."""

from __future__ import annotations

import json
from pathlib import Path

from transom.errors import InputError
from transom.evals.shapes import Evidence, Outcome
from transom.formats.text_files import TextFile
from transom.gates.facts import Source, facts_of
from transom.once import once


class Sources:
    """The texts that an outcome may cite: files below the data's folder, and those that it brings along."""

    def __init__(self, data: Path | None, outcome: Outcome) -> None:
        self._data = data.resolve() if data else None
        self._outcome = outcome
        self._texts: dict[str, str | None] = {}

    def text(self, name: str) -> str | None:
        """The text of a source; None where there is no such file below the data's folder."""
        if name not in self._texts:
            self._texts[name] = self._outcome.sources.get(name, self._read(name))
        return self._texts[name]

    def _read(self, name: str) -> str | None:
        if self._data is None:
            return None
        try:
            path = (self._data / name).resolve()
            return TextFile(path).whole() if path.is_relative_to(self._data) else None
        except (InputError, ValueError, OSError):
            return None

    def holds(self, piece: Evidence) -> bool:
        """Whether the value and the quotation of a cited piece stand at its locator. A derived value has a formula."""
        text = self.text(piece.source)
        if text is None:
            return piece.formula is not None
        place = _located(text, piece.locator)
        if place is None:
            return False
        value = "" if piece.formula else piece.value
        return _has(place, value) and (_has(place, piece.quote) or (not piece.value and _has(text, piece.quote)))

    @once
    def everything(self) -> Source:
        """All that was cited, as one source to look numbers up in."""
        cited = {piece.source: None for piece in self._outcome.evidence}
        texts = [self.text(name) or "" for name in (*cited, *self._outcome.sources)]
        pieces = [f"{piece.value}\n{piece.quote}" for piece in self._outcome.evidence]
        return Source("\n".join([*pieces, *texts]))


def _located(text: str, locator: str) -> str | None:
    """What stands at a line number, a JSON pointer (`/summary/failed`) or, for any other locator, anywhere."""
    if locator.isdecimal():
        lines = text.split("\n")
        return lines[int(locator) - 1] if 0 < int(locator) <= len(lines) else None
    if not locator.startswith("/"):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    for part in locator[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _has(text: str, said: str) -> bool:
    """Whether a text says that: to the letter but for white space, or the same numbers in another notation."""
    words = " ".join(said.split())
    if not words or words in " ".join(text.split()):
        return True
    facts = list(facts_of(words))
    only_numbers = bool(facts) and all(fact.value is not None for fact in facts) and len(words) < 40
    return only_numbers and all(Source(text).has(fact) for fact in facts)
