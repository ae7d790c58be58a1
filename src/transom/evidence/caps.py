"""Cap a positive verdict by what the evidence lacks, and lift a cap by a named acceptance.

    verdict = cap_verdict("PASS", caps, accepted, today, positive={"PASS"}, capped="NEEDS_REVIEW")
    verdict.status      # "NEEDS_REVIEW" if a cap is left
    verdict.to_json()   # {"status": ..., "would_be": "PASS", "capped_by": [...]}

A cap never changes a negative verdict. An acceptance names the text of one cap, who accepts it and
until when; it lifts that cap alone, and nothing after its last day. The caller passes the words of
its verdicts and the ready command of each cap (`with_commands`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, get_args

from transom.evidence.dates import is_over
from transom.evidence.identity import IdentityMatch

CapRule = Literal["words", "files", "trouble", "identity", "measured", "overturned"]
"""The rule that caps: words of the question that nothing used, files that nobody read, trouble that
no rule explains, an identity that the file does not state, a value that was not measured, or an
equal verdict that a person overturned.
"""
ANY_NAME = "<any name>"
"""Stands in the text of an acceptance for a name, which has no blanks or is quoted; the text then
lifts each cap that it fits.
"""
_NAME = r"""(?:'[^']*'|"[^"]*"|\S+)"""
CAP_RULES: tuple[CapRule, ...] = get_args(CapRule)


@dataclass(frozen=True)
class Cap:
    """A lack of evidence that keeps a verdict from being positive.

    Attributes:
        text: one sentence; an acceptance repeats it word for word.
        source_file: the file that it is about, or "".
        line_number: the line that it is about, or None.
        accept: the ready command with which a person accepts it, or "".
    """

    rule: CapRule
    text: str
    source_file: str = ""
    line_number: int | None = None
    accept: str = ""

    def to_json(self) -> dict[str, str | int | None]:
        """Return the cap as an entry of `capped_by`."""
        return {
            "rule": self.rule,
            "text": self.text,
            "source_file": self.source_file or None,
            "line_number": self.line_number,
            "accept": self.accept,
        }


@dataclass(frozen=True)
class CapAcceptance:
    """The word of a person that lifts one cap.

    Attributes:
        text: the text of the cap.
        by: the person.
        until: the last day on which it holds; None if it has no end.
    """

    text: str
    by: str
    until: date | None = None

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("an acceptance needs the text of the cap that it lifts")
        if not self.by.strip():
            raise ValueError("an acceptance needs the name of the person who accepts")


@dataclass(frozen=True)
class AcceptedCap:
    """A cap that somebody accepted, so that it no longer holds the verdict back."""

    cap: Cap
    acceptance: CapAcceptance


@dataclass(frozen=True)
class CappedVerdict:
    """A verdict after its caps.

    Attributes:
        status: the final status.
        would_be: the positive status that the caps hold back, or None.
        capped_by: the caps that are left.
        accepted: the caps that acceptances lifted.
        expired: acceptances whose last day is over.
        unused: acceptances that name no cap of this verdict.
    """

    status: str
    would_be: str | None = None
    capped_by: tuple[Cap, ...] = ()
    accepted: tuple[AcceptedCap, ...] = ()
    expired: tuple[CapAcceptance, ...] = ()
    unused: tuple[CapAcceptance, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the keys of a verdict's document; without caps only its status."""
        document: dict[str, object] = {"status": self.status}
        # Readers of a verdict without caps find the document that they know.
        if self.would_be is not None:
            document["would_be"] = self.would_be
            document["capped_by"] = [cap.to_json() for cap in self.capped_by]
        return document


def cap_verdict(
    status: str,
    caps: Iterable[Cap],
    acceptances: Sequence[CapAcceptance],
    today: date,
    *,
    positive: Collection[str],
    capped: str,
) -> CappedVerdict:
    """Return a verdict after its caps and acceptances.

    Args:
        status: the verdict that the evidence would give without caps.
        positive: the statuses that a cap holds back; all others stay as they are.
        capped: the status of a verdict that is held back.
    """
    # A cap holds back good news only; it never softens a negative verdict.
    if status not in positive:
        return CappedVerdict(status)
    valid = list[CapAcceptance]()
    expired = list[CapAcceptance]()
    for acceptance in acceptances:
        if acceptance.until is not None and is_over(acceptance.until, today):
            expired.append(acceptance)
        else:
            valid.append(acceptance)
    held_caps = list[Cap]()
    accepted = list[AcceptedCap]()
    forms = list[CapAcceptance]()
    for cap in dict.fromkeys(caps):
        match = _acceptance_of(cap, valid)
        if match is None:
            held_caps.append(cap)
        else:
            # Two equal texts are two caps, and each needs an acceptance of its own.
            if ANY_NAME in match.text:
                forms.append(match)
            else:
                valid.remove(match)
            accepted.append(AcceptedCap(cap, match))
    return CappedVerdict(
        status=capped if held_caps else status,
        would_be=status if held_caps else None,
        capped_by=tuple(held_caps),
        accepted=tuple(accepted),
        expired=tuple(expired),
        unused=tuple(each for each in valid if each not in forms),
    )


def _acceptance_of(cap: Cap, acceptances: Iterable[CapAcceptance]) -> CapAcceptance | None:
    """Return the first acceptance with the text of a cap; only blanks and names may differ."""
    text = " ".join(cap.text.split())
    for acceptance in acceptances:
        accepted = " ".join(acceptance.text.split())
        pieces = accepted.split(ANY_NAME)
        if accepted == text or (
            len(pieces) > 1 and re.fullmatch(_NAME.join(map(re.escape, pieces)), text)
        ):
            return acceptance
    return None


def read_acceptances(entries: Iterable[Mapping[str, object]]) -> tuple[CapAcceptance, ...]:
    """Return the entries of `accept: [{text, by, until}]` of an item, a policy or a story.

    Raises:
        ValueError: an entry has another key, lacks its text or person, or its day is no date.
    """
    acceptances = list[CapAcceptance]()
    for number, entry in enumerate(entries, 1):
        unknown = entry.keys() - {"text", "by", "until"}
        if unknown:
            raise ValueError(
                f"acceptance {number}: unknown key {min(unknown)!r}; write text, by and until"
            )
        until = entry.get("until")
        try:
            last_day = None if until is None else date.fromisoformat(str(until))
            text, person = str(entry.get("text") or ""), str(entry.get("by") or "")
            acceptances.append(CapAcceptance(text, person, last_day))
        except ValueError as error:
            raise ValueError(f"acceptance {number}: {error}") from error
    return tuple(acceptances)


def with_commands(caps: Iterable[Cap], command: Callable[[Cap], str]) -> tuple[Cap, ...]:
    """Return the caps, each with the ready command that accepts it."""
    return tuple(replace(cap, accept=command(cap)) for cap in caps)


def caps_of_identity(matches: Iterable[IdentityMatch], source_file: str = "") -> tuple[Cap, ...]:
    """Return a cap for each facet that is asked for and that the file does not state.

    A facet that the file states otherwise is no cap: see `identity.wrong_file`.
    """
    caps = list[Cap]()
    for match in matches:
        if match.outcome == "silent":
            lines = [fact.line_number for fact in match.facts if fact.line_number]
            caps.append(Cap("identity", match.message, source_file, min(lines) if lines else None))
    return tuple(caps)
