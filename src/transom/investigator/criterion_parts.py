"""The result of one rule of a criterion, with the observations that it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from transom.formats.measurements import Observation, Reading

MOST_STATE = 60
"""Characters of a source's own words that a reason quotes."""


@dataclass(frozen=True)
class SourcedObservation:
    """An observation with its reading."""

    observation: Observation
    reading: Reading

    @property
    def number(self) -> float | None:
        return self.observation.number


@dataclass
class Part:
    """The result of one rule of a criterion: `pass | fail | mixed | not_measured | absent`."""

    outcome: str
    why: str
    rests_on: list[SourcedObservation] = field(default_factory=list)
    limits: bool = False


def of_measure(entries: Iterable[SourcedObservation], measure: str) -> list[SourcedObservation]:
    """Return the observations of one measure."""
    return [entry for entry in entries if entry.observation.measure == measure]


def quoted_state(entry: SourcedObservation, label: str) -> str:
    """Quote a source on a state, at most 60 characters."""
    state_text = entry.observation.said or str(entry.observation.value)
    if state_text == entry.observation.label:
        return state_text
    return f'{entry.observation.label or label}: "{state_text[:MOST_STATE]}"'
