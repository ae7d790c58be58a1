"""Checks of an outcome's citations and numbers against its sources."""

from __future__ import annotations

from pathlib import Path

from transom.errors import InputError
from transom.evals.scenario_models import EvaluationCitation, ScenarioOutcome
from transom.evidence.facts import FactSource, facts_of
from transom.formats.places import PlaceIndex as Place
from transom.formats.places import stands_in
from transom.formats.text_files import TextFile
from transom.once import once

_LONGEST_NUMBERS = 40
"""Characters of a quotation from which it must stand in the text word for word."""


class Sources:
    """The texts that an outcome may cite: files of the data, and its own `sources`."""

    def __init__(self, data: Path | None, outcome: ScenarioOutcome) -> None:
        self._data = data.resolve() if data else None
        self._outcome = outcome
        self._texts: dict[str, str | None] = {}

    def text(self, name: str) -> str | None:
        """Return the text of a source; None if it is not a file of the data."""
        if name not in self._texts:
            self._texts[name] = self._outcome.sources.get(name, self._read(name))
        return self._texts[name]

    def _read(self, name: str) -> str | None:
        if self._data is None:
            return None
        # A model may cite any name: none of them may lead out of the data, or raise.
        try:
            path = (self._data / name).resolve()
            return TextFile(path).whole() if path.is_relative_to(self._data) else None
        except (InputError, ValueError, OSError):
            return None

    def holds(self, piece: EvaluationCitation) -> bool:
        """Return whether the text at a citation's locator has its value and its quotation."""
        text = self.text(piece.source)
        # A calculated value stands in no source; its formula shows where it comes from.
        if text is None:
            return piece.formula is not None
        place = _located(text, piece.locator, piece.source)
        if piece.formula or not place:
            return bool(place)
        if not _has(place, piece.value):
            return False
        # Without a value, a quotation may begin before its locator.
        return _has(place, piece.quote) or (not piece.value and _has(text, piece.quote))

    @once
    def everything(self) -> FactSource:
        """Return all cited texts as one source, for looking numbers up."""
        citations, texts = list[str](), dict[str, str]()
        for piece in self._outcome.evidence:
            citations.append(f"{piece.value}\n{piece.quote}")
            texts[piece.source] = self.text(piece.source) or ""
        texts |= self._outcome.sources
        return FactSource("\n".join([*citations, *texts.values()]))


def _located(text: str, locator: str, name: str) -> str:
    """Return the text at a locator: a line (`12`, `line:12`, `lines:12-14`) or a JSON pointer.

    Without a locator this is the whole text; at a wrong one it is "".
    """
    if not locator:
        return text
    try:
        return Place(text.encode(), name).at(f"line:{locator}" if locator.isdecimal() else locator)
    except InputError:
        return ""


def _has(text: str, quotation: str) -> bool:
    """Return whether a text contains another, but for white space and notations of numbers."""
    words = " ".join(quotation.split())
    if not words or stands_in(words, text):
        return True
    # A short quotation of numbers may write them in another notation: 1,234 for 1234.
    if len(words) >= _LONGEST_NUMBERS:
        return False
    source, facts = FactSource(text), list(facts_of(words))
    return bool(facts) and all(fact.value is not None and source.has(fact) for fact in facts)
