"""Whether a stage runs again: a pure decision from its history, its inputs and what lies on disk.

inputs    file       then
same      same       reuse
same      edited     honour the edit; what follows is redone
any       missing    a new attempt, asked again; everything downstream redone even if bytes agree
changed   same       redo
changed   edited     wait for a person: keep or redo
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from transom.runs.attempts import StageHistory


@dataclass(frozen=True)
class Plan:
    """What to do with a stage.

    Attributes:
        action: `reuse` the file (edited or not), `keep` an edit although inputs changed, `run`, or `ask` a person.
        deletions: how often the stage's file was deleted; part of the epoch.
        edited: SHA-256 of the file where a person changed it, else "".
    """

    action: Literal["reuse", "keep", "run", "ask"]
    deletions: int = 0
    edited: str = ""


def decide(history: StageHistory, *, fingerprint: str, is_current: bool, found: str | None, answer: str | None) -> Plan:
    """Decide.

    Args:
        history: what the journal says of the stage.
        fingerprint: of the inputs, roles and version today.
        still: whether everything that the stage's replies rest on is unchanged.
        found: SHA-256 of the file on disk, None where there is none.
        answer: a person's "keep" or "redo" for this very fingerprint and file.
    """
    done, cut_off = history.done, history.open
    if done is None:
        return Plan("run", cut_off.deletions if cut_off else 0)
    deletions = done.attempt.deletions
    if found is None:
        # A deletion counts once, however often the attempt after it fails.
        return Plan("run", max(deletions + 1, cut_off.deletions if cut_off else 0))
    # What an attempt wrote before it was cut off says nothing about a person's wish.
    half_done = history.wrote and found in history.outputs
    if cut_off and half_done and (cut_off.deletions > deletions or found != done.output):
        return Plan("run", cut_off.deletions)
    unchanged = is_current and done.attempt.fingerprint == fingerprint
    if found == done.output:
        return Plan("reuse" if unchanged else "run", deletions)
    if unchanged:
        return Plan("reuse", deletions, edited=found)
    if answer == "keep":
        return Plan("keep", deletions, edited=found)
    return Plan("run" if answer == "redo" else "ask", deletions, edited=found)
