"""What the sections of a claim's ItemSpec say of it: its categories, fields, proof and rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from transom.checklist.atoms import CheckerConfig, ClaimRow
from transom.checklist.claims.claim_data import (
    HeaderPart,
    bad_facts,
    fact_words,
    measure_name,
    proof_facts,
)
from transom.checklist.claims.file_kinds import known_claim
from transom.checklist.item import Item
from transom.formats.reports import load_format, read_report_text, shipped_formats
from transom.formats.reports.loading import SHIPPED
from transom.formats.reports.report_format import ReportFormat, ReportRow

_FOLDERS: Final = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+")
_FIELDS: Final = {
    "name": "what is measured: an endpoint, a rule, a cell, or the measure itself",
    "measure": "the name of the measurement in the report format",
    "value": "the number or the status as the report prints it",
    "holds": "whether nothing speaks against the claim",
    "why": "the fact that breaks the claim, in words",
}
_SCOPE_MEANING = "the part of the scope that the item's list is compared with"


@dataclass(frozen=True)
class ReportRule:
    """A row of a report format that yields a measurement of the claim."""

    format: ReportFormat
    row: ReportRow


class ClaimSubject:
    """A claim, the item that it judges, and what follows from both.

    Attributes:
        categories: the categories of its entries, each once.
        proof: what proves the claim, in words; each of them is needed.
        bad: what speaks against it, in words.
        rules: the rows of the report formats that yield its measurements.
    """

    def __init__(self, item: Item, row: ClaimRow, config: CheckerConfig) -> None:
        self.item, self.row, self.config = item, row, config
        self.claim = known_claim(row)
        self.categories = [*dict.fromkeys(each.category for each in config.items)]
        self.proof = []
        for group in proof_facts(self.claim, row.parameters):
            # One of a group is enough, and each group is needed.
            self.proof.append(" or ".join(fact_words(pattern, row) for pattern in group))
        self.bad = [fact_words(pattern, row) for pattern in bad_facts(self.claim, row.parameters)]
        self.rules = self._report_rules()

    def _report_rules(self) -> list[ReportRule]:
        """Return the rows of the report formats that yield the claim's measurements."""
        names = set[str]()
        for group in proof_facts(self.claim, self.row.parameters):
            names |= {measure_name(pattern, self.row.parameters) for pattern in group}
        for pattern in bad_facts(self.claim, self.row.parameters):
            names.add(measure_name(pattern, self.row.parameters))
        rules = []
        for compiled_format in shipped_formats():
            for row in compiled_format.model.rows:
                yields = {row.name, *(measure.name for measure in row.measures)}
                # Which kind of file a command reads must be read, too.
                if self.claim.headers and row.name == "file_read" and "<kind>" not in row.pattern:
                    continue
                if yields & names:
                    rules.append(ReportRule(compiled_format.model, row))
        return rules

    def part(self, key: str) -> HeaderPart | None:
        """Return the kind of file that a category is about, if there is one."""
        for part in self.claim.headers:
            if part.kind == key:
                return part
        return None

    def proof_names(self) -> set[str]:
        """Return the names of the measurements that prove the claim."""
        names = set[str]()
        for group in proof_facts(self.claim, self.row.parameters):
            names |= {measure_name(pattern, self.row.parameters) for pattern in group}
        return names

    def bad_words(self) -> str:
        """Return what speaks against the claim, in words."""
        return " or ".join(self.bad) or "a value that the item does not list"

    def ids_of(self, part: HeaderPart) -> dict[str, str]:
        """Return the ids of a part's items: of `loading`, and of `version` if fields are asked."""
        ids = (each.id for each in self.config.items if each.category == part.kind)
        return dict(zip(("loading", "version"), ids, strict=False))

    def fields(self, key: str) -> dict[str, str]:
        """Return the fields of a category, with what each says."""
        part = self.part(key)
        if part:
            fields = {"loaded": f"whether the log shows that the {part.title} was read"}
            for field, scope_key in part.fields.items():
                fields[field] = f"the {scope_key} in the head of the file; null if it says none"
            return fields
        fields = dict(_FIELDS)
        for each in self.config.items:
            category, _, name = each.select.partition(".")
            if category == key:
                fields.setdefault(name, _SCOPE_MEANING)
        return fields


def is_about(rule: ReportRule, part: HeaderPart) -> bool:
    """Return whether a row yields a part's head, or the command that reads such a file."""
    texts = [rule.format.name, rule.row.name, *rule.row.scope.values()]
    return rule.row.name == "file_read" or any(part.kind in text for text in texts)


def header_sample(part: HeaderPart, rules: Iterable[ReportRule]) -> dict[str, object]:
    """Return the fields of a head, from the first example of the format that reads it."""
    values: dict[str, object] = dict.fromkeys(part.fields)
    # The format of the head has the kind in its name; that of the log has it not.
    own = [rule.format.name for rule in rules if part.kind in rule.format.name]
    for name in dict.fromkeys(own):
        compiled_format = load_format(SHIPPED / f"{name}.yaml")
        for example in compiled_format.model.examples.good:
            for section in read_report_text(example.text, [compiled_format]).sections:
                for measurement in section.measurements:
                    for field, key in part.fields.items():
                        values[field] = values[field] or measurement.scope.get(key)
            if all(values.values()):
                return values
    return values


def example_measurement(rules: Sequence[ReportRule], names: set[str]) -> tuple[str, str, str, int]:
    """Return name, value, text and line of a measurement in a report format's own example."""
    for name in dict.fromkeys(rule.format.name for rule in rules):
        compiled_format = load_format(SHIPPED / f"{name}.yaml")
        for example in compiled_format.model.examples.good:
            for section in read_report_text(example.text, [compiled_format]).sections:
                for measurement in section.measurements:
                    if measurement.name in names:
                        subject = next(iter(measurement.scope.values()), measurement.name)
                        value = measurement.value or measurement.text or measurement.name
                        content = measurement.content.split("\n")[0]
                        # An ItemSpec holds no absolute path, in examples neither.
                        subject = _FOLDERS.sub("", subject)
                        value = _FOLDERS.sub("", value)
                        content = _FOLDERS.sub("", content)
                        return subject, value, content, measurement.line
    return "report", "0", "", 1


def quoted(words: Iterable[str]) -> str:
    """Return words in quotation marks, parted by commas."""
    return ", ".join(f'"{word}"' for word in words)
