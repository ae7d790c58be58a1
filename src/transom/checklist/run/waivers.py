"""Waivers: which violations are accepted, by which waiver and why; and which waivers were not needed.

A waiver is tried as exact text, wildcard, `regex:` (from the beginning of the text) and keyword, in that order. The
first waiver of the list that fits a violation moves it; every waiver is tried on every violation, so that one that
others have made superfluous still counts as used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from transom.checklist.atoms import CheckerConfig, ValidationItem, Waiver, Waivers
from transom.checklist.patterns import REGEX
from transom.checklist.run.evaluate import Outcome
from transom.checklist.run.files import Evidence
from transom.checklist.run.verdict import (
    CheckedItem,
    UnusedWaiver,
    Violation,
    WaivedItem,
    WaiverComment,
    WaiverUse,
    Warned,
)
from transom.checklist.standard_atoms import validate_logic

Kind = Literal["exact", "wildcard", "regex", "keyword"]

# A keyword must not begin or end inside of a name: `data_out` is no word of `data_out[15]`, `2` none of `2.3`,
# `layout` none of `pre-layout`. A full stop at the end of a sentence is no part of a name.
_BEFORE = r"(?<![\w.\-/\\\[\]$])"
_AFTER = r"(?![\w\-/\\\[\]$]|\.\w)"
_FILE_LIKE = re.compile(r"\.[A-Za-z]\w{0,7}$")


@dataclass(frozen=True)
class Waived:
    """An outcome after waivers."""

    missing: tuple[Violation, ...] = ()
    extra: tuple[Violation, ...] = ()
    waived: tuple[WaivedItem, ...] = ()
    comments: tuple[WaiverComment, ...] = ()
    unused: tuple[UnusedWaiver, ...] = ()
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True)
class _Hit:
    kind: Kind
    text: str


def apply_waivers(outcome: Outcome, waivers: Waivers, config: CheckerConfig, evidence: Evidence, as_of: str) -> Waived:
    """Move what is waived.

    Args:
        waivers: as they count in this run.
        as_of: ISO date; a waiver applies through the day on which it expires.
    """
    if waivers.value is None:
        return Waived(missing=outcome.missing, extra=outcome.extra)
    if waivers.value == 0:
        return _waive_all(outcome, waivers.waive_items, as_of)
    return _Selective(outcome, waivers.waive_items, config, evidence, as_of).apply()


def _expired(waiver: Waiver, as_of: str) -> bool:
    return waiver.expires is not None and waiver.expires < as_of


def _waive_all(outcome: Outcome, comments: Sequence[Waiver], as_of: str) -> Waived:
    listed = tuple(WaiverComment(text=comment.pattern, reason=comment.reason) for comment in comments)
    if comments and all(_expired(comment, as_of) for comment in comments):
        latest = max(comment.expires or "" for comment in comments)
        message = f"the global waiver expired {latest} and does not apply"
        return Waived(outcome.missing, outcome.extra, comments=listed, warnings=(Warned(message=message),))
    first = comments[0] if comments else None
    reason = (first.reason or first.pattern) if first else None
    owner, expires = (first.owner, first.expires) if first else (None, None)

    def move(violation: Violation, origin: Literal["missing", "extra"]) -> WaivedItem:
        use = WaiverUse(
            pattern="*", match="global", matched_text=violation.value or violation.name, reason=reason, owner=owner,
            expires=expires,
        )  # fmt: skip
        return _moved(violation, origin, "[WAIVED_AS_INFO]", use)

    waived = [move(violation, "missing") for violation in outcome.missing]
    waived += [move(violation, "extra") for violation in outcome.extra]
    return Waived(waived=tuple(waived), comments=listed)


def _moved(
    violation: Violation,
    origin: Literal["missing", "extra"],
    tag: Literal["[WAIVED_AS_INFO]", "[WAIVER]"],
    use: WaiverUse,
) -> WaivedItem:
    fields = violation.model_dump(mode="python", exclude={"severity"})
    return WaivedItem(**fields, origin=origin, tag=tag, waiver=use)


class _Selective:
    """Tries each waiver on each violation."""

    def __init__(
        self, outcome: Outcome, waivers: Sequence[Waiver], config: CheckerConfig, evidence: Evidence, as_of: str
    ) -> None:
        self.outcome = outcome
        self.waivers = waivers
        self.items = {item.id: item for item in config.items}
        self.evidence = evidence
        self.as_of = as_of
        self.keywords = config.keyword_waivers
        self.used = [False] * len(waivers)
        self.testers = [_tester(waiver.pattern) for waiver in waivers]
        self.stages: dict[str, bool] = {}

    def apply(self) -> Waived:
        missing, waived = self.split(self.outcome.missing, "missing")
        extra, more = self.split(self.outcome.extra, "extra")
        unused = [self.unused(index) for index, used in enumerate(self.used) if not used]
        return Waived(tuple(missing), tuple(extra), (*waived, *more), unused=tuple(unused))

    def split(
        self, violations: Sequence[Violation], origin: Literal["missing", "extra"]
    ) -> tuple[list[Violation], list[WaivedItem]]:
        kept: list[Violation] = []
        waived: list[WaivedItem] = []
        for violation in violations:
            first = self.first_waiver(violation)
            if first is None:
                kept.append(violation)
                continue
            waiver, hit = first
            use = WaiverUse(
                pattern=waiver.pattern, match=hit.kind, matched_text=hit.text, reason=waiver.reason,
                owner=waiver.owner, expires=waiver.expires,
            )  # fmt: skip
            waived.append(_moved(violation, origin, "[WAIVER]", use))
        return kept, waived

    def first_waiver(self, violation: Violation) -> tuple[Waiver, _Hit] | None:
        first: tuple[Waiver, _Hit] | None = None
        for index, waiver in enumerate(self.waivers):
            if _expired(waiver, self.as_of):
                continue
            hit = self.hit(index, violation)
            if hit is not None:
                self.used[index] = True
                first = first or (waiver, hit)
        return first

    def hit(self, index: int, entry: CheckedItem) -> _Hit | None:
        for kind, fits in self.testers[index]:
            for text in _texts(entry, self.items.get(entry.id)):
                if fits(text):
                    return _Hit(kind, text)
        item = self.items.get(entry.id)
        barred = not self.keywords or (item is not None and not item.waivable)
        return None if barred else self.keyword_hit(self.waivers[index].pattern, entry)

    def keyword_hit(self, pattern: str, entry: CheckedItem) -> _Hit | None:
        if pattern.startswith(REGEX):
            return None
        item = self.items.get(entry.id)
        said = _name(entry, item) or entry.value
        for word in _alternatives(pattern):
            if "*" in word or "?" in word:
                continue
            if _has_word(word, said, fold=False):
                return _Hit("keyword", said)
            for text in (entry.id, entry.name):
                if _has_word(word, text, fold=True):
                    return _Hit("keyword", text)
            keyword = self.scenario_keyword(word, item) if item else None
            if keyword is not None:
                return _Hit("keyword", keyword)
        return None

    def violations(self) -> Sequence[Violation]:
        return (*self.outcome.missing, *self.outcome.extra)

    def bars(self, pattern: str, entry: CheckedItem) -> bool:
        """A keyword would fit, but Section 3 says that the item is not waivable."""
        item = self.items.get(entry.id)
        return self.keywords and item is not None and not item.waivable and self.keyword_hit(pattern, entry) is not None

    def scenario_keyword(self, word: str, item: ValidationItem) -> str | None:
        """The item's own keyword that a waiver names; a stage's only if a log shows the stage."""
        keyword = next((one for one in item.keywords if one.lower() == word.lower()), None)
        if keyword is None or (_is_stage(word, item) and not self.stage_shown(word)):
            return None
        return keyword

    def stage_shown(self, word: str) -> bool:
        if word not in self.stages:
            logs = [file for file in self.evidence.files if file.given]
            self.stages[word] = any(_has_word(word, piece, fold=True) for log in logs for piece in log.pieces())
        return self.stages[word]

    def unused(self, index: int) -> UnusedWaiver:
        waiver = self.waivers[index]
        return UnusedWaiver(pattern=waiver.pattern, reason=waiver.reason, why=self.why_unused(index))

    def why_unused(self, index: int) -> str:
        waiver = self.waivers[index]
        if _expired(waiver, self.as_of):
            return f"expired {waiver.expires}"
        stage = next((item for item in self.items.values() if _is_stage(waiver.pattern, item)), None)
        if stage is not None and not self.stage_shown(waiver.pattern):
            return f"no log shows the stage {waiver.pattern!r}"
        barred = next((entry for entry in self.violations() if self.bars(waiver.pattern, entry)), None)
        if barred is not None:
            return f"{barred.id} {barred.name} is not to be waived by a keyword"
        passed = next((entry for entry in self.outcome.found if self.hit(index, entry)), None)
        if passed is not None:
            return f"nothing to waive: it fits {passed.id} {passed.value or passed.name}, which passed"
        if _FILE_LIKE.search(waiver.pattern) and not waiver.pattern.startswith(REGEX):
            names = [text for file in self.evidence.files for text in (file.shown, _base(file.shown))]
            if not any(fits(name) for _, fits in self.testers[index] for name in names):
                return "file not there"
        return "no such text"


def _tester(pattern: str) -> list[tuple[Kind, Callable[[str], bool]]]:
    """How a waiver is compared with a text, in the order in which it is tried."""
    exact: tuple[Kind, Callable[[str], bool]] = ("exact", lambda text: text == pattern)
    if pattern.startswith(REGEX):
        compiled = re.compile(pattern.removeprefix(REGEX))
        return [exact, ("regex", lambda text: compiled.match(text) is not None)]
    words = _alternatives(pattern)
    globs = [word for word in words if "*" in word or "?" in word]
    return [
        ("exact", lambda text: text == pattern or text in words),
        ("wildcard", lambda text: any(validate_logic(text, glob)["is_match"] for glob in globs)),
    ]


def _alternatives(pattern: str) -> list[str]:
    return [word for word in pattern.split("|") if word.strip()]


def _texts(entry: CheckedItem, item: ValidationItem | None) -> list[str]:
    """What a waiver is compared with; empty texts are left out, `*` alone must not fit for their sake."""
    source = entry.source_file or ""
    texts = (entry.id, entry.name, _name(entry, item), entry.value, source, _base(source))
    return [text for text in dict.fromkeys(texts) if text]


def _name(entry: CheckedItem, item: ValidationItem | None) -> str:
    """What the entry is called, where its category says so; the rest of a row is no word for it."""
    fields = entry.parsed_fields.get(item.category) if item else None
    name = fields.get("name") if isinstance(fields, dict) else None
    return name if isinstance(name, str) else ""


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _is_stage(word: str, item: ValidationItem) -> bool:
    return word.lower() in {stage.lower() for stage in item.stages}


def _has_word(word: str, text: str, *, fold: bool) -> bool:
    """Whole-word search. Names of the design are case-sensitive, words of the language are not."""
    flags = re.IGNORECASE if fold else 0
    return re.search(_BEFORE + re.escape(word.strip()) + _AFTER, text, flags) is not None
