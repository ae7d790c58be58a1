"""Write the ItemSpec of a claim: the same four sections that a model writes, from the claim's data.

Everything in it follows from what decides: the validation items of `checker.yaml`, the claim, and
the rows of the report formats that yield its measurements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pprint import pformat
from typing import Final

from transom.checklist.atoms import CheckerConfig, ClaimRow, Condition, Operator, ValidationItem
from transom.checklist.claims.claim_data import (
    Claim,
    HeaderPart,
    bad_facts,
    fact_words,
    measure_name,
    proof_facts,
    shipped_claims,
)
from transom.checklist.item import Item
from transom.formats.reports import load_format, read_report_text, shipped_formats
from transom.formats.reports.loading import SHIPPED
from transom.formats.reports.report_format import ReportFormat, ReportRow

_TYPES: Final = {
    1: "Boolean check",
    2: "Value check",
    3: "Value check with waivers",
    4: "Boolean check with waivers",
}
# Rows of the test matrix: requirements, waivers, the types that have it, and what it shows.
_MATRIX: Final = (
    ("N/A", "N/A", (1, 4), "the reports alone decide"),
    ("N/A", "0", (4,), "every violation becomes information"),
    ("N/A", ">0", (4,), "a named violation is waived, any other remains"),
    (">0", "N/A", (2, 3), "the listed values decide"),
    (">0", "0", (3,), "every difference from the list becomes information"),
    (">0", ">0", (3,), "a named difference is waived, any other remains"),
)
_VALIDATIONS: Final = {"existence": "existence check", "pattern": "pattern match"}
_MAX_PATTERNS = 16
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
class _ReportRule:
    """A row of a report format that yields a measurement of the claim."""

    format: ReportFormat
    row: ReportRow


def write_claim_text(item: Item, row: ClaimRow, config: CheckerConfig) -> str:
    """Return the ItemSpec of an item that is judged by a claim.

    Args:
        item: the item.
        row: its claim, with parameters.
        config: `checker.yaml` of the claim, whose validation items the text describes.
    """
    return _ClaimText(item, row, config).text()


class _ClaimText:
    """The sections of one ItemSpec."""

    def __init__(self, item: Item, row: ClaimRow, config: CheckerConfig) -> None:
        self.item, self.row, self.config = item, row, config
        self.claim: Claim = shipped_claims().claims[row.name]
        self.categories = [*dict.fromkeys(each.category for each in config.items)]
        self.proof = [
            " or ".join(fact_words(pattern, row) for pattern in group)
            for group in proof_facts(self.claim, row.parameters)
        ]
        self.bad = [fact_words(pattern, row) for pattern in bad_facts(self.claim, row.parameters)]
        self.rules = self._report_rules()

    def text(self) -> str:
        description = " ".join(self.item.description.split())
        head = [f"# ItemSpec: {self.item.item_id}", f"**Description**: {description}"]
        sections = [self.parsing(), self.check(), self.waiver(), self.guide()]
        return "\n\n".join([*head, *sections]) + "\n"

    def parsing(self) -> str:
        """Return Section 1."""
        lines = [
            "## 1. Parsing Logic\n",
            f"**Information to extract**: {self._information()}. Each report is recognised by its"
            " content and read by its report format.\n",
        ]
        examples = {key: self._sample_fields(key) for key in self.categories}
        for number, key in enumerate(self.categories, 1):
            part = self._part(key)
            title = f"{part.title} File Information" if part else key.capitalize()
            lines += [
                f"### 1.{number} {title}\n",
                f"- **Purpose**: {self._purpose(key)}",
                f"- **Category key**: `{key}`",
                "- **Key Fields**:",
                *self._field_lines(key),
                "",
            ]
        lines += [
            f"### 1.{len(self.categories) + 1} File Metadata\n",
            "- **Purpose**: leads you from a result to its line",
            "- **Category key**: none (keys of the entry itself)",
            "- **Key Fields**:",
            "  - `source_file` (String): the file that the entry was read from",
            "  - `line_number` (Integer): its line from 1, or null if a whole file is meant",
            "  - `matched_content` (String): the unaltered text of that line",
            "\n### Data Structure\n",
            "**parsed_fields Example**:\n",
            _fence("python", pformat(examples, width=96, sort_dicts=False)),
            "\n**Output Example**:\n",
            _fence("python", pformat(self._sample_output(examples), width=96, sort_dicts=False)),
        ]
        return "\n".join(lines)

    def check(self) -> str:
        """Return Section 2."""
        kind = self.config.capability_type
        parameters = ", ".join(f"{name} {value}" for name, value in self.row.parameters.items())
        meaning = self.claim.title + (f" ({parameters})" if parameters else "")
        left_out = "".join(f' Not checked: "{words}".' for words in self.row.left_out)
        lines = [
            "## 2. Check Logic\n",
            f"**Interpretation**: the description is read as the claim `{self.row.name}`:"
            f" {meaning}.{left_out}\n",
            f"**Capability type**: {kind} ({_TYPES[kind]})\n",
        ]
        for validation in self.config.items:
            lines += [*self._item_lines(validation), ""]
        pattern = [each.id for each in self.config.items if each.check == "pattern"]
        existence = [each.id for each in self.config.items if each.check == "existence"]
        order = ", ".join(pattern) if pattern else "not applicable; nothing is compared with a list"
        edges = self._edge_cases()
        lines += [
            "### Pattern Matching\n",
            f"- **Items requiring pattern matching**: {', '.join(pattern) or 'none'}",
            f"- **Items with existence check only**: {', '.join(existence) or 'none'}",
            f"- **Pattern Correspondence Order**: {order}",
            "\n### Overall Pass/Fail Logic\n",
            "- **PASS**: every item is found, and nothing unexplained holds the result back",
            "- **FAIL**: an item is missing, or a violation remains that no waiver accepts",
            "\n### Edge Cases\n",
            *[f"- {case}: {result}" for case, result in edges],
            "\n### Validation Sequence\n",
        ]
        for number, each in enumerate(self.config.items, 1):
            lines.append(f"{number}. {each.id}: {each.name}")
        last = len(self.config.items) + 1
        lines.append(f"{last}. combine: the check passes if no violation is left")
        return "\n".join(lines)

    def waiver(self) -> str:
        """Return Section 3."""
        kind = self.config.capability_type
        supported = kind in (3, 4)
        lines = [
            "## 3. Waiver Logic\n",
            f"**Waiver support**: {'yes' if supported else 'no'} (type {kind}, {_TYPES[kind]})\n",
        ]
        covered = dict[str, list[str]]()
        if supported:
            for number, scenario in enumerate(self._waiver_scenarios(), 1):
                names = scenario.pop("items")
                for name in names.split(" and "):
                    covered.setdefault(name, []).append(f"3.{number}")
                noun = "Items" if " and " in names else "Item"
                lines.append(f"### 3.{number} {scenario.pop('name')} ({noun} {names})\n")
                lines += [f"- **{label}**: {text}" for label, text in scenario.items()]
                lines.append("")
        lines += self._waiver_modes(supported)
        lines += ["\n### Waiver Decisions\n", "| Item | Waivable | Why |", "|---|---|---|"]
        for each in self.config.items:
            numbers = covered.get(each.id)
            if numbers:
                lines.append(f"| {each.id} | yes | scenario {' and scenario '.join(numbers)} |")
            elif supported:
                lines.append(f"| {each.id} | no | without this file nothing is known of the rest |")
            else:
                lines.append(f"| {each.id} | no | the item has no waivers |")
        lines += [
            "\n### Implementation Guidance\n",
            "- **Matching**: a waiver is compared with the id, name, value and file of a violation;"
            " a keyword is a whole word of its name, or one of the keywords above",
            "- **Traceability**: a waived row keeps its file and line, and names the waiver, the"
            " kind of match, the reason and the owner",
        ]
        return "\n".join(lines)

    def guide(self) -> str:
        """Return Section 4."""
        lines = [
            "## 4. Implementation Guide\n",
            "### 4.1 Item-Specific Implementation Points\n",
            "#### Data Sources\n",
            *self._source_lines(),
            "",
        ]
        for key in self.categories:
            lines += [*self._extraction_lines(key), ""]
        ids = ", ".join(each.id for each in self.config.items)
        lines += [
            "#### Examples\n",
            f"No example for item {ids}: those of the report formats named above are the tests.\n",
            "#### References to Other Files\n",
            *self._reference_lines(),
            "\n#### Error Tolerance\n",
            "- a byte that is not UTF-8: the file is read as Latin-1, which the verdict says",
            "- a compressed file: read like the plain one",
            "- a report that is cut off: a question, never a PASS",
            "\n#### Multi-Stage Steps\n",
            *self._step_lines(),
            "\n### 4.2 Special Scenario Handling\n",
        ]
        for number, (name, context, result, handling) in enumerate(self._special_scenarios(), 1):
            lines += [
                f"#### Scenario {number}: {name}\n",
                f"- **Context**: {context}",
                f"- **Check result**: {result}",
                f"- **Waiver handling**: {handling}",
                "",
            ]
        lines += ["### 4.3 Test Data Generation Guidance\n", *self._matrix_lines()]
        return "\n".join(lines)

    def _report_rules(self) -> list[_ReportRule]:
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
                    rules.append(_ReportRule(compiled_format.model, row))
        return rules

    def _information(self) -> str:
        titles = " and ".join(part.title for part in self.claim.headers)
        if titles:
            return f"which {titles} a log loads, and what the heads of these files say"
        return f"{'; '.join(self.proof)}, and what speaks against it"

    def _part(self, key: str) -> HeaderPart | None:
        """Return the kind of file that a category is about, if there is one."""
        for part in self.claim.headers:
            if part.kind == key:
                return part
        return None

    def _purpose(self, key: str) -> str:
        part = self._part(key)
        if part:
            return f"tells whether the {part.title} was loaded, and which tool wrote it and when"
        if key == "refuting":
            return "holds what contradicts the listed values"
        return f"holds what the reports measure of: {self.claim.title}"

    def _fields(self, key: str) -> dict[str, str]:
        """Return the fields of a category, with what each says."""
        part = self._part(key)
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

    def _field_lines(self, key: str) -> list[str]:
        lines = []
        for name, meaning in self._fields(key).items():
            type_name = "Boolean" if name in ("loaded", "holds") else "String"
            lines.append(f"  - `{name}` ({type_name}): {meaning}")
        return lines

    def _sample_fields(self, key: str) -> dict[str, object]:
        """Return an example of a category's fields; of a report's own example, if there is one."""
        part = self._part(key)
        if part:
            return {"loaded": True, **_header_sample(part, self.rules)}
        name, value = "report", "0"
        if self.rules:
            name, value, *_ = _measured(self.rules, self._proof_names())
        fields: dict[str, object] = {
            "name": name,
            "measure": sorted(self._proof_names())[0],
            "value": value,
            "holds": key != "refuting",
            "why": "nothing speaks against it" if key != "refuting" else self._bad_words(),
        }
        for field in self._fields(key):
            fields.setdefault(field, value)
        return fields

    def _sample_output(self, examples: Mapping[str, Mapping[str, object]]) -> list[object]:
        source = next((name.written for name in self.item.input_files), "report.rpt")
        source = source.replace("\\", "/").rpartition("/")[2]
        entries = list[object]()
        for key, fields in examples.items():
            value, content, line = self.claim.title, "", 1
            part = self._part(key)
            rules = self.rules
            if part:
                rules = [rule for rule in rules if part.kind in rule.format.name]
            if rules:
                _, value, content, line = _measured(rules, self._proof_names())
            if part:
                source = part.files[0].replace("*", "top")
                value = " ".join(str(text) for text in fields.values() if text is not True)
            entries.append(
                {
                    "value": value,
                    "source_file": source,
                    "line_number": line,
                    "matched_content": content,
                    "parsed_fields": {key: dict(fields)},
                }
            )
        return entries

    def _proof_names(self) -> set[str]:
        names = set[str]()
        for group in proof_facts(self.claim, self.row.parameters):
            names |= {measure_name(pattern, self.row.parameters) for pattern in group}
        return names

    def _bad_words(self) -> str:
        return " or ".join(self.bad) or "a value that the item does not list"

    def _item_lines(self, each: ValidationItem) -> list[str]:
        """Return the description of a validation item."""
        purpose, completeness, passes, fails = self._item_words(each)
        fields = each.required or (each.select,)
        lines = [
            f"### {each.id} {each.name}\n",
            f"- **Purpose**: {purpose}",
            f"- **Required fields**: {', '.join(f'`{field}`' for field in fields)}",
            f"- **Completeness definition**: {completeness}",
            f"- **Validation type**: {_VALIDATIONS[each.check]}",
            f"- **Condition**: {_condition(each.condition)}",
            f"- **Mode**: {each.mode}",
            f"- **Quantifier**: {each.quantifier.replace('_', ' ')}",
        ]
        if each.take:
            lines.append(f"- **Take**: {each.take}")
        if each.only_with:
            lines.append(f"- **Only with**: `{each.only_with}`")
        return [*lines, f"- **PASS condition**: {passes}", f"- **FAIL condition**: {fails}"]

    def _item_words(self, each: ValidationItem) -> tuple[str, str, str, str]:
        """Return purpose, completeness, PASS and FAIL condition of a validation item."""
        part = self._part(each.category)
        if part and each.select.endswith(".loaded") and part.kind in self.claim.optional:
            return (
                f"proves that a {part.title} was read, if the log has a command for it",
                f"no command of the log reads a {part.title}, or one does and no error follows it",
                f"no line of the log speaks of a {part.title}, or its {part.title} can be opened",
                f"the log has a command that reads a {part.title}, and says that it failed",
            )
        if part and each.select.endswith(".loaded"):
            return (
                f"proves that the run read a {part.title}",
                f"a command of the log reads a {part.title}, and no error follows it",
                f"the log shows a command that reads a {part.title}, and the file can be opened",
                f"no command of the log reads a {part.title}, or the log says that it failed",
            )
        if part:
            names = ", ".join(field.replace("_", " ") for field in part.fields)
            return (
                f"proves which tool and version wrote the {part.title}, and when",
                f"the topmost header says {names}, and none of them is blank",
                f"{names} are all in the head of the {part.title}",
                f"one of {names} is missing or blank, or there is no {part.title} to look at",
            )
        if each.select.startswith("refuting."):
            refuted = f"{self._bad_words()}"
            return (
                "makes sure that nothing contradicts the listed values",
                "the same reports are read",
                f"no report shows {refuted}",
                f"a report shows {refuted}",
            )
        if each.check == "pattern":
            return self._list_words(each)
        proof = "; ".join(self.proof)
        scope = "each of them" if each.quantifier == "each" else "each report"
        return (
            f"proves this: {self.claim.title}",
            f"{scope} shows {proof}; a report that shows none of it proves nothing",
            f"{proof}: measured, and no violation among the lines of the report",
            f"a report shows {self._bad_words()}",
        )

    def _list_words(self, each: ValidationItem) -> tuple[str, str, str, str]:
        """Return the words of an item whose values are compared with the item's list."""
        proof = "; ".join(self.proof)
        completeness = f"the reports show {proof}, and the item lists pattern_items"
        purpose = f"proves this: {self.claim.title}"
        if each.mode == "forbid":
            passes = "none of the pattern_items appears in the files"
            return purpose, completeness, passes, "a line of a file has one of the pattern_items"
        fails = "a value that appears is not among the pattern_items"
        if each.mode == "require":
            passes = "every value that appears is listed, and every listed value appears"
            return purpose, completeness, passes, f"{fails}, or one of them does not appear"
        return purpose, completeness, "every value that appears is listed", fails

    def _edge_cases(self) -> list[tuple[str, str]]:
        """Return situations at the edge, and the result of each."""
        first = self.config.items[0].id
        if self.claim.headers:
            cases = []
            for part in self.claim.headers:
                loaded, version = self._ids_of(part)
                cases += [
                    (
                        f"the log reads a {part.title} and reports an error for it",
                        f"{loaded} is missing",
                    ),
                    (f"a header field of the {part.title} is blank", f"{version} is missing"),
                    (f"several headers in one {part.title}", f"{version} looks at the topmost one"),
                ]
            return cases
        return [
            ("nothing was measured, such as INF or N/A", f"{first} is a question, never a PASS"),
            (
                "a report of another check, stage or corner than the one named",
                f"{first} is not judged from it: the wrong file",
            ),
            ("two reports, one of them good", f"{first} is judged in each of them by itself"),
            ("a printed -0.00", f"{first} is a question, since it is a rounded violation"),
        ]

    def _ids_of(self, part: HeaderPart) -> tuple[str, str]:
        """Return the ids of a part's two items: loaded, and complete."""
        loaded, version = (each.id for each in self.config.items if each.category == part.kind)
        return loaded, version

    def _waiver_scenarios(self) -> list[dict[str, str]]:
        """Return the labels of each scenario, with `name` and `items`."""
        scenarios = []
        for part in self.claim.headers:
            ids = dict(zip(("loading", "version"), self._ids_of(part), strict=True))
            for waiver in part.waivers:
                scenarios.append(
                    {
                        "name": waiver.name,
                        "items": " and ".join(ids[name] for name in waiver.of),
                        "Waiver scenario": waiver.situation,
                        "Typical reason": f'"{waiver.reason}"',
                        "Matching keywords": _quoted(waiver.keywords),
                        "Stage words": _quoted(waiver.stages) if waiver.stages else "none",
                        "Business justification": waiver.justification,
                    }
                )
        if scenarios:
            return scenarios
        for each in self.config.items:
            keywords = _words_of_name(each.name, self.claim) or [each.id]
            scenarios.append(
                {
                    "name": f"Accepted: {each.name}",
                    "items": each.id,
                    "Waiver scenario": "a violation was reviewed, and its owner accepts it until a"
                    " named day",
                    "Typical reason": '"Accepted for this milestone by the owner of the block"',
                    "Matching keywords": _quoted(keywords),
                    "Stage words": "none",
                    "Business justification": "the owner answers for the named violation; anything"
                    " that the waiver does not name still fails",
                }
            )
        return scenarios

    def _waiver_modes(self, supported: bool) -> list[str]:
        if not supported:
            return [
                "### Global Waiver Mode (waivers.value = 0)\n",
                "- **Behavior**: not applicable, since the item has no waivers\n",
                "### Selective Waiver Mode (waivers.value > 0)\n",
                "- **Behavior**: not applicable, since the item has no waivers",
            ]
        last = self.config.items[-1]
        return [
            "### Global Waiver Mode (waivers.value = 0)\n",
            "- **Behavior**: every violation becomes information with the tag `[WAIVED_AS_INFO]`,"
            " and the check passes",
            "- **Use cases**: the first weeks of a check; the change to another tool",
            "- **Traceability**: each row keeps its file, line and text; the texts in waive_items"
            " are printed as comments\n",
            "### Selective Waiver Mode (waivers.value > 0)\n",
            "- **Behavior**: a violation that a waiver matches becomes information, any other one"
            " remains an error",
            f"- **Matching strategy**: exact: {last.id}; wildcard: `{last.name.split()[0]}*`;"
            " regex: `regex:` with an expression from the beginning of the text; keyword: those"
            " of the scenarios",
            "- **Unused waivers**: a waiver that matched nothing is a warning with the reason",
        ]

    def _source_lines(self) -> list[str]:
        """Return where the information comes from: the item's files, and what they may be."""
        files = [name.written for name in self.item.input_files]
        globs = []
        for name in files:
            base = name.replace("\\", "/").rpartition("/")[2]
            globs.append(base if "." in base or "*" in base else f"{base}*.*")
        primary = ", ".join(f"`{name}`" for name in dict.fromkeys(globs)) or "`*.log`, `*.rpt`"
        kind = "log" if self.claim.headers else "report"
        lines = [f"- **Primary source**: `{kind}` in {primary}: {self._known_reports()}"]
        for part in self.claim.headers:
            patterns = ", ".join(f"`{name}`" for name in part.files)
            lines.append(
                f"- **Secondary source**: `{part.kind}` in {patterns}: the head of the"
                f" {part.title} that the log names, or that is an input file"
            )
        return lines

    def _known_reports(self) -> str:
        """Return the report formats that can answer, in words."""
        if self.row.format:
            return f"read by the item's own report format {self.row.format}"
        titles = dict.fromkeys(rule.format.name for rule in self.rules)
        if not titles:
            return "every line is searched for the text"
        return f"read by the report formats {', '.join(titles)}"

    def _extraction_lines(self, key: str) -> list[str]:
        """Return how the fields of a category are found."""
        part = self._part(key)
        rules = [rule for rule in self.rules if part is None or _is_about(rule, part)]
        words = part.read_as if part else self.claim.needs or self.claim.words
        patterns = dict[str, str]()
        for rule in rules:
            # A backtick would end the code in which the pattern stands.
            if "`" not in rule.row.pattern:
                patterns.setdefault(rule.row.pattern, rule.format.name)
        shown = [*patterns.items()][:_MAX_PATTERNS]
        lines = [
            f"#### Extraction: {part.title if part else key}\n",
            f"- **Category key**: `{key}`",
            "- **Location**: wherever a report of these formats begins, in a log as well",
            f"- **Keywords**: {_quoted(words or self.row.parameters.values() or ['text'])}",
        ]
        if shown:
            lines.append("- **Patterns**:")
            lines += [f"  - `{pattern}`: of {name}" for pattern, name in shown]
        more = len(patterns) - len(shown)
        rest = f"; {more} more rows of the report formats are not shown here" if more else ""
        method = "one entry for each measurement; a field that the report does not print is null"
        return [*lines, f"- **Method**: {method}{rest}"]

    def _reference_lines(self) -> list[str]:
        if not self.claim.headers:
            return ["- none: each report is judged by what it says itself"]
        return [
            f"- a command that reads a {part.title} names its file; the path is taken from the"
            " command, and looked for below the item's folder and the other roots"
            for part in self.claim.headers
        ]

    def _step_lines(self) -> list[str]:
        if not self.claim.headers:
            return [
                "1. recognise each report by its content, and read its measurements",
                "2. keep those that prove or break the claim, with their scope and line",
            ]
        return [
            "1. read the log: which files does it load, and does it report an error for one",
            "2. open the files that it names, and read the fields of their topmost header",
            "3. combine both: the loading comes from the log, the fields from the files",
        ]

    def _special_scenarios(self) -> list[tuple[str, str, str, str]]:
        """Return name, context, check result and waiver handling of special scenarios."""
        first = self.config.items[0].id
        no_waiver = "none: a waiver accepts a violation, never a missing measurement"
        scenarios = []
        for part in self.claim.headers:
            ids = dict(zip(("loading", "version"), self._ids_of(part), strict=True))
            for waiver in part.waivers:
                names = " and ".join(ids[name] for name in waiver.of)
                scenarios.append(
                    (
                        waiver.name,
                        waiver.situation,
                        f"{names} missing",
                        f"{_quoted(waiver.keywords)} waive {names}",
                    )
                )
        return [
            *scenarios,
            ("Nothing measured", "the report prints INF, N/A or an empty table",
             f"{first} is a question, which a person answers", no_waiver),
            ("Another report", "the file is of another tool, check, stage or corner",
             f"{first} is not judged: the verdict is ERROR, wrong file", no_waiver),
            ("Cut off", "the report does not show its end",
             f"{first} is a question, unless a violation was seen, which is a FAIL", no_waiver),
            ("Unexplained trouble", "a line that no rule explains speaks of an error",
             f"{first} is held back until somebody accepts that line by name", no_waiver),
        ]  # fmt: skip

    def _data_lines(self) -> list[str]:
        """Return how data is made with which the check passes, and with which it fails."""
        if self.claim.headers:
            titles = " and ".join(part.title for part in self.claim.headers)
            return [
                f"- **Passing data**: a log that reads {titles}, and both files with their heads",
                f"- **Failing data**: blank one field of a head; drop the command that reads the"
                f" {self.claim.headers[-1].title}",
            ]
        return [
            f"- **Passing data**: a complete report with {'; '.join(self.proof)}",
            f"- **Failing data**: the same report with {self._bad_words()}",
        ]

    def _matrix_lines(self) -> list[str]:
        kind = self.config.capability_type
        lines = [
            "| Scenario | requirements.value | waivers.value | Applicable | Objective |",
            "|---|---|---|---|---|",
        ]
        for number, (required, waived, kinds, shows) in enumerate(_MATRIX, 1):
            applies = kind in kinds or (kind == 3 and number <= 3)
            objective = shows if applies else f"type {kind} has no such configuration"
            yes_no = "yes" if applies else "no"
            lines.append(f"| {number} | {required} | {waived} | {yes_no} | {objective} |")
        return [
            *lines,
            "",
            *self._data_lines(),
            "- **Waiver values**: the keywords of Section 3; `check all --tests` writes these files"
            " from real values and runs them",
        ]


def _is_about(rule: _ReportRule, part: HeaderPart) -> bool:
    """Return whether a row yields a part's head, or the command that reads such a file."""
    texts = [rule.format.name, rule.row.name, *rule.row.scope.values()]
    return rule.row.name == "file_read" or any(part.kind in text for text in texts)


def _header_sample(part: HeaderPart, rules: Iterable[_ReportRule]) -> dict[str, object]:
    """Return the fields of a head, from the first example of the format that reads it."""
    values: dict[str, object] = dict.fromkeys(part.fields)
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


def _measured(rules: Sequence[_ReportRule], names: set[str]) -> tuple[str, str, str, int]:
    """Return name, value, text and line of a measurement in a report format's own example."""
    for name in dict.fromkeys(rule.format.name for rule in rules):
        compiled_format = load_format(SHIPPED / f"{name}.yaml")
        for example in compiled_format.model.examples.good:
            for section in read_report_text(example.text, [compiled_format]).sections:
                for found in section.measurements:
                    if found.name in names:
                        subject = next(iter(found.scope.values()), found.name)
                        value = found.value or found.text or found.name
                        content = found.content.split("\n")[0]
                        # An ItemSpec holds no absolute path, in examples neither.
                        subject, value, content = (
                            _FOLDERS.sub("", text) for text in (subject, value, content)
                        )
                        return subject, value, content, found.line
    return "report", "0", "", 1


def _condition(condition: Condition | None) -> str:
    if condition is None:
        return "none"
    # The claims compare with these two alone.
    sign = "in" if condition.op is Operator.IN else "=="
    return f"`{condition.field} {sign} {condition.value!r}`"


def _words_of_name(name: str, claim: Claim) -> list[str]:
    """Return the words of an item's name that a keyword waiver may use."""
    matter = {word.lower() for word in (*claim.needs, *claim.words)}
    return [word for word in re.findall(r"\w+", name) if word.lower() in matter][:4]


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"
