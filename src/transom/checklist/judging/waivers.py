"""Waivers: which violations are accepted, by which waiver and why; and which waivers were not
needed.

A waiver is tried as exact text, wildcard, `regex:` (from the beginning of the text) and keyword, in
that order. The first waiver of the list that fits a violation moves it; every waiver is tried on
every violation, so that one that others have made superfluous still counts as used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from transom.checklist.atoms import CheckerConfig, ValidationItem, Waiver, Waivers
from transom.checklist.judging.gather import GatheredEvidence
from transom.checklist.judging.verdict import Outcome
from transom.checklist.judging.verdict_rows import (
    CheckedItem,
    Note,
    UnusedWaiver,
    Violation,
    WaivedItem,
    WaiverComment,
    WaiverUse,
)
from transom.checklist.patterns import REGEX
from transom.checklist.standard_atoms import validate_logic

Kind = Literal["exact", "wildcard", "regex", "keyword"]

# A keyword must not begin or end inside of a name: `data_out` is no word of `data_out[15]`, `2`
# none of `2.3`, `layout` none of `pre-layout`. A full stop at the end of a sentence is no part of a
# name.
_BEFORE = r"(?<![\w.\-/\\\[\]$])"
_AFTER = r"(?![\w\-/\\\[\]$]|\.\w)"
_FILE_LIKE = re.compile(r"\.[A-Za-z]\w{0,7}$")


def apply_waivers(
    outcome: Outcome,
    waivers: Waivers,
    config: CheckerConfig,
    evidence: GatheredEvidence,
    as_of: str,
) -> Outcome:
    """Move what is waived by the waivers that count in this run.

    A waiver applies through the day on which it expires.
    """
    if waivers.value is None:
        return outcome
    # Zero accepts everything that is listed as a comment; a number counts patterns.
    if waivers.value == 0:
        return _waive_all(outcome, waivers.waive_items, as_of)
    selective = _Selective(outcome, waivers.waive_items, config, evidence, as_of)
    moved = _move(outcome, "[WAIVER]", selective.use)
    return replace(moved, unused_waivers=tuple(selective.unused()))


def _expired(waiver: Waiver, as_of: str) -> bool:
    return waiver.expires is not None and waiver.expires < as_of


def _waive_all(outcome: Outcome, comments: Sequence[Waiver], as_of: str) -> Outcome:
    listed = tuple(
        WaiverComment(text=comment.pattern, reason=comment.reason) for comment in comments
    )
    outcome = replace(outcome, waiver_comments=listed)
    if comments and all(_expired(comment, as_of) for comment in comments):
        latest = max(comment.expires or "" for comment in comments)
        warned = Note(message=f"the global waiver expired {latest} and does not apply")
        return replace(outcome, warnings=(*outcome.warnings, warned))
    # A global waiver has no pattern of its own, so its first comment signs for it.
    first = comments[0] if comments else None
    if first:
        why = {
            "reason": first.reason or first.pattern,
            "owner": first.owner,
            "expires": first.expires,
        }
    else:
        why = {}

    def use(violation: Violation) -> WaiverUse:
        return WaiverUse(
            pattern="*", match="global", matched_text=violation.value or violation.name, **why
        )

    return _move(outcome, "[WAIVED_AS_INFO]", use)


def _move(
    outcome: Outcome,
    tag: Literal["[WAIVED_AS_INFO]", "[WAIVER]"],
    use: Callable[[Violation], WaiverUse | None],
) -> Outcome:
    """Move the violations for which there is a waiver into `waived`."""
    waived: list[WaivedItem] = []

    def move_waived(
        violations: Sequence[Violation], origin: Literal["missing", "extra"]
    ) -> tuple[Violation, ...]:
        matches = [(violation, use(violation)) for violation in violations]
        for violation, waiver in matches:
            if waiver:
                fields = violation.model_dump(mode="python", exclude={"severity"})
                waived.append(WaivedItem(**fields, origin=origin, tag=tag, waiver=waiver))
        return tuple(violation for violation, waiver in matches if not waiver)

    missing, extra = (
        move_waived(outcome.missing_items, "missing"),
        move_waived(outcome.extra_items, "extra"),
    )
    return replace(outcome, missing_items=missing, extra_items=extra, waived=tuple(waived))


class _Selective:
    """Tries each waiver on each violation."""

    def __init__(
        self,
        outcome: Outcome,
        waivers: Sequence[Waiver],
        config: CheckerConfig,
        evidence: GatheredEvidence,
        as_of: str,
    ) -> None:
        self.outcome, self.waivers, self.evidence, self.as_of = outcome, waivers, evidence, as_of
        self.items = {item.id: item for item in config.items}
        self.keywords = config.keyword_waivers
        self.used_indexes: set[int] = set()
        self.testers = {waiver.pattern: _tester(waiver.pattern) for waiver in waivers}
        self.stages: dict[str, bool] = {}

    def use(self, violation: Violation) -> WaiverUse | None:
        """Return the first waiver that fits; all that fit count as used."""
        first: WaiverUse | None = None
        # No early end: a second waiver that fits counts as used, or nobody could remove the first.
        for index, waiver in enumerate(self.waivers):
            hit = None if _expired(waiver, self.as_of) else self.hit(waiver.pattern, violation)
            if hit:
                self.used_indexes.add(index)
                first = first or WaiverUse(
                    pattern=waiver.pattern,
                    match=hit[0],
                    matched_text=hit[1],
                    reason=waiver.reason,
                    owner=waiver.owner,
                    expires=waiver.expires,
                )
        return first

    def hit(self, pattern: str, entry: CheckedItem) -> tuple[Kind, str] | None:
        """Return the way in which a waiver fits, and the text that it fits."""
        item = self.items.get(entry.id)
        for kind, fits in self.testers[pattern]:
            for text in _texts(entry, item):
                if fits(text):
                    return kind, text
        # A keyword is the weakest match, so it comes after all others and may be switched off.
        if not self.keywords or (item is not None and not item.waivable):
            return None
        keyword = self.keyword(pattern, entry)
        if keyword is None:
            return None
        return ("keyword", keyword)

    def keyword(self, pattern: str, entry: CheckedItem) -> str | None:
        """Return the text that holds a word of a waiver: the entry's, the item's, or a keyword."""
        item = self.items.get(entry.id)
        name = _name(entry, item) or entry.value
        for word in () if pattern.startswith(REGEX) else _alternatives(pattern):
            # A glob is compared with whole texts, not looked for as a word.
            if "*" in word or "?" in word:
                continue
            if _has_word(word, name, fold=False):
                return name
            texts = []
            for text in (entry.id, entry.name):
                if _has_word(word, text, fold=True):
                    texts.append(text)
            for keyword in item.keywords if item else ():
                if keyword.lower() == word.lower():
                    texts.append(keyword)
            # A word that names a stage waives only if some log shows that stage.
            if texts and (
                texts[0] in (entry.id, entry.name) or not self.is_unseen_stage(word, item)
            ):
                return texts[0]
        return None

    def is_unseen_stage(self, word: str, item: ValidationItem | None) -> bool:
        """Return whether a word names a stage of the item that no log shows."""
        if item is None or word.lower() not in {stage.lower() for stage in item.stages}:
            return False
        if word not in self.stages:
            self.stages[word] = False
            for file in self.evidence.files:
                # A long log is read piece by piece, and no further than to the word.
                pieces = file.pieces() if file.is_input else ()
                if any(_has_word(word, piece, fold=True) for piece in pieces):
                    self.stages[word] = True
                    break
        return not self.stages[word]

    def unused(self) -> list[UnusedWaiver]:
        """Return the waivers that no violation needed, and why."""
        unused = []
        for index, waiver in enumerate(self.waivers):
            if index not in self.used_indexes:
                unused.append(waiver)
        rows: list[UnusedWaiver] = []
        for waiver in unused:
            rows.append(
                UnusedWaiver(
                    pattern=waiver.pattern, reason=waiver.reason, why=self.why_unused(waiver)
                )
            )
        return rows

    def why_unused(self, waiver: Waiver) -> str:
        pattern = waiver.pattern
        if _expired(waiver, self.as_of):
            return f"expired {waiver.expires}"
        # From the most telling reason to the least: each would be true as well of a later one.
        if any(self.is_unseen_stage(pattern, item) for item in self.items.values()):
            return f"no log shows the stage {pattern!r}"
        for violation in (*self.outcome.missing_items, *self.outcome.extra_items):
            item = self.items.get(violation.id)
            if (
                self.keywords
                and item
                and not item.waivable
                and self.keyword(pattern, violation) is not None
            ):
                return f"{violation.id} {violation.name} is not to be waived by a keyword"
        passed = next(
            (checked for checked in self.outcome.found_items if self.hit(pattern, checked)), None
        )
        if passed is not None:
            return (
                f"nothing to waive: it fits {passed.id} {passed.value or passed.name}, which passed"
            )
        if _FILE_LIKE.search(pattern) and not pattern.startswith(REGEX):
            names: list[str] = []
            for file in self.evidence.files:
                names.extend((file.shown_name, _base(file.shown_name)))
            if not any(fits(name) for _, fits in self.testers[pattern] for name in names):
                return "file not there"
        return "no such text"


def _tester(pattern: str) -> list[tuple[Kind, Callable[[str], bool]]]:
    """Return the comparisons of a waiver with a text, in the order in which they are tried."""
    # A pattern that equals a text always fits, even if its signs mean something.
    exact: tuple[Kind, Callable[[str], bool]] = ("exact", lambda text: text == pattern)
    if pattern.startswith(REGEX):
        compiled = re.compile(pattern.removeprefix(REGEX))
        return [exact, ("regex", lambda text: compiled.match(text) is not None)]
    words = _alternatives(pattern)
    globs = []
    for word in words:
        if "*" in word or "?" in word:
            globs.append(word)
    return [
        ("exact", lambda text: text == pattern or text in words),
        ("wildcard", lambda text: any(validate_logic(text, glob)["is_match"] for glob in globs)),
    ]


def _alternatives(pattern: str) -> list[str]:
    return [word for word in pattern.split("|") if word.strip()]


def _texts(entry: CheckedItem, item: ValidationItem | None) -> list[str]:
    """Return the texts that a waiver is compared with.

    Empty texts are left out, since `*` alone must not fit for their sake.
    """
    # The whole path and the base name: people write either.
    source = entry.source_file or ""
    texts = (entry.id, entry.name, _name(entry, item), entry.value, source, _base(source))
    return [text for text in dict.fromkeys(texts) if text]


def _name(entry: CheckedItem, item: ValidationItem | None) -> str:
    """Return the name of the entry by its category; the rest of a row is no word for it."""
    fields = entry.parsed_fields.get(item.category) if item else None
    name = fields.get("name") if isinstance(fields, dict) else None
    if isinstance(name, str):
        return name
    return ""


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _has_word(word: str, text: str, *, fold: bool) -> bool:
    """Return whether a text has a whole word.

    Names of the design are case-sensitive, words of the language are not.
    """
    flags = re.IGNORECASE if fold else 0
    return re.search(_BEFORE + re.escape(word.strip()) + _AFTER, text, flags) is not None
