"""The lists of an item: patterns, waivers, and the reasons beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from transom.canonical import Json
from transom.checklist.atoms import AnyOf, Waiver
from transom.checklist.item_entries import EntryReader, Notice
from transom.checklist.patterns import REGEX, is_split_regex, parts, pattern_problem, waiver_problem
from transom.formats.yaml_files import Key
from transom.gates import Finding

_WAIVER = ("pattern", "reason", "owner", "expires")


class ListReader(EntryReader):
    """Reads the lists of one file."""

    def patterns(self, value: Json, at: tuple[Key, ...]) -> list[str | AnyOf]:
        found: list[str | AnyOf] = []
        for index, entry in enumerate(self.entries(value, at)):
            here = (*at, index)
            if isinstance(entry, dict) and set(entry) == {"any_of"}:
                texts = self.texts(entry["any_of"], (*here, "any_of"), "pattern")
                if not texts:
                    self.fail(here, "any_of is empty", 'write any_of: ["first", "second"]')
                found.append(AnyOf(any_of=tuple(text for _, text in texts)))
            else:
                found.append(self.text(entry, here, "pattern"))
            for part in parts(found[-1]):
                self.check_pattern(part, here)
        return found

    def check_pattern(self, text: str, at: tuple[Key, ...]) -> None:
        problem = pattern_problem(text)
        if problem:
            self.fail(at, problem, "mend it, or remove the line")
        if is_split_regex(text):
            listed = ", ".join(f"'{part}'" for part in self.unsplit(text))
            message = (
                f"{text!r} is compared as literal texts, because | separates alternatives before regex: is read; "
                f"write any_of: [{listed}]"
            )
            self.findings.append(Finding("item.pattern", str(self.file.path), self.file.line_of(*at), message))
            self.warnings.append(Notice(self.file.line_of(*at), message))

    @staticmethod
    def unsplit(text: str) -> list[str]:
        """What was probably meant by `regex:^(MET|OK)$`: one regex per alternative."""
        expression = text.removeprefix(REGEX)
        group = re.fullmatch(r"([^()|]*)\((?:\?:)?([^()]*)\)([^()|]*)", expression)
        if group is None:
            return [REGEX + part.removeprefix(REGEX) for part in expression.split("|") if part]
        before, inner, after = group.groups()
        return [f"{REGEX}{before}{part}{after}" for part in inner.split("|")]

    def waiver_list(self, value: Json, *, is_comment: bool) -> list[Waiver]:
        found: list[Waiver] = []
        for index, entry in enumerate(self.entries(value, ("waivers", "waive_items"))):
            at = ("waivers", "waive_items", index)
            waiver = self.waiver(entry, at)
            problem = None if is_comment else waiver_problem(waiver.pattern)
            if problem:
                self.fail(at, problem, "mend it, or remove the line")
            found.append(waiver)
        return found

    def waiver(self, entry: Json, at: tuple[Key, ...]) -> Waiver:
        if not isinstance(entry, dict):
            return Waiver(pattern=self.text(entry, at, "waiver"))
        if "pattern" not in entry:
            self.explain_mapping(entry, at, "waiver")
        self.known(entry, _WAIVER, at)
        fields = {key: self.text(entry[key], (*at, key), key) for key in _WAIVER if entry.get(key) is not None}
        if "pattern" not in fields:
            self.fail(at, "the waiver has no pattern", "write `pattern: text`")
        if "expires" in fields:
            try:
                fields["expires"] = date.fromisoformat(fields["expires"].strip()).isoformat()
            except ValueError:
                self.fail((*at, "expires"), f"{fields['expires']!r} is not a date", "write it as 2026-01-31")
        return Waiver(**fields)

    def with_reasons(self, waivers: Sequence[Waiver], value: Json, *, is_comment: bool) -> list[Waiver]:
        """Reasons run beside the waivers. A wrong count misleads a reader, not the verdict: a warning, as for value."""
        at = ("waivers", "waive_reasons")
        reasons = [
            "" if entry is None else self.text(entry, (*at, index), "reason", may_be_blank=True).strip()
            for index, entry in enumerate(self.entries(value, at))
        ]
        if is_comment:
            count = len(waivers)
            waivers = [*waivers, *(Waiver(pattern=reason) for reason in reasons[count:] if reason)]
            reasons = reasons[:count]
        elif reasons and len(reasons) != len(waivers):
            self.warn(at, f"there are {len(reasons)} waive_reasons for {len(waivers)} waive_items; write one for each")
        reasons += [""] * (len(waivers) - len(reasons))
        return [
            waiver if waiver.reason or not reason else waiver.model_copy(update={"reason": reason})
            for waiver, reason in zip(waivers, reasons, strict=False)
        ]
