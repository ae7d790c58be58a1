"""Section 4 of a claim's ItemSpec: sources, patterns, special scenarios and test data."""

from __future__ import annotations

from typing import Final

from transom.checklist.claims.claim_subject import (
    ClaimSubject,
    is_about,
    quoted,
)

# Rows of the test matrix: requirements, waivers, the types that have it, and what it shows.
_MATRIX: Final = (
    ("N/A", "N/A", (1, 4), "the reports alone decide"),
    ("N/A", "0", (4,), "every violation becomes information"),
    ("N/A", ">0", (4,), "a named violation is waived, any other remains"),
    (">0", "N/A", (2, 3), "the listed values decide"),
    (">0", "0", (3,), "every difference from the list becomes information"),
    (">0", ">0", (3,), "a named difference is waived, any other remains"),
)
_MAX_PATTERNS = 16


class GuideText:
    """Writer of Section 4, Implementation Guide."""

    def __init__(self, subject: ClaimSubject) -> None:
        self.subject = subject

    def text(self) -> str:
        """Return Section 4."""
        lines = [
            "## 4. Implementation Guide\n",
            "### 4.1 Item-Specific Implementation Points\n",
            "#### Data Sources\n",
            *self._source_lines(),
            "",
        ]
        for key in self.subject.categories:
            lines += [*self._extraction_lines(key), ""]
        ids = ", ".join(each.id for each in self.subject.config.items)
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

    def _source_lines(self) -> list[str]:
        """Return where the information comes from: the item's files, and what they may be."""
        files = [name.written for name in self.subject.item.input_files]
        globs = []
        for name in files:
            base = name.replace("\\", "/").rpartition("/")[2]
            globs.append(base if "." in base or "*" in base else f"{base}*.*")
        primary = ", ".join(f"`{name}`" for name in dict.fromkeys(globs)) or "`*.log`, `*.rpt`"
        kind = "log" if self.subject.claim.headers else "report"
        lines = [f"- **Primary source**: `{kind}` in {primary}: {self._known_reports()}"]
        for part in self.subject.claim.headers:
            patterns = ", ".join(f"`{name}`" for name in part.files)
            lines.append(
                f"- **Secondary source**: `{part.kind}` in {patterns}: the head of the"
                f" {part.title} that the log names, or that is an input file"
            )
        return lines

    def _known_reports(self) -> str:
        """Return the report formats that can answer, in words."""
        if self.subject.row.format:
            return f"read by the item's own report format {self.subject.row.format}"
        titles = dict.fromkeys(rule.format.name for rule in self.subject.rules)
        if not titles:
            return "every line is searched for the text"
        return f"read by the report formats {', '.join(titles)}"

    def _extraction_lines(self, key: str) -> list[str]:
        """Return how the fields of a category are found."""
        part = self.subject.part(key)
        rules = [rule for rule in self.subject.rules if part is None or is_about(rule, part)]
        words = part.read_as if part else self.subject.claim.needs or self.subject.claim.words
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
            f"- **Keywords**: {quoted(words or self.subject.row.parameters.values() or ['text'])}",
        ]
        if shown:
            lines.append("- **Patterns**:")
            lines += [f"  - `{pattern}`: of {name}" for pattern, name in shown]
        more = len(patterns) - len(shown)
        rest = f"; {more} more rows of the report formats are not shown here" if more else ""
        method = "one entry for each measurement; a field that the report does not print is null"
        return [*lines, f"- **Method**: {method}{rest}"]

    def _reference_lines(self) -> list[str]:
        if not self.subject.claim.headers:
            return ["- none: each report is judged by what it says itself"]
        return [
            f"- a command that reads a {part.title} names its file; the path is taken from the"
            " command, and looked for below the item's folder and the other roots"
            for part in self.subject.claim.headers
        ]

    def _step_lines(self) -> list[str]:
        if not self.subject.claim.headers:
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
        first = self.subject.config.items[0].id
        no_waiver = "none: a waiver accepts a violation, never a missing measurement"
        scenarios = []
        for part in self.subject.claim.headers:
            ids = self.subject.ids_of(part)
            for waiver in part.waivers:
                names = " and ".join(ids[name] for name in waiver.of if name in ids)
                scenarios.append(
                    (
                        waiver.name,
                        waiver.situation,
                        f"{names} missing",
                        f"{quoted(waiver.keywords)} waive {names}",
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
        if self.subject.claim.headers:
            titles = " and ".join(part.title for part in self.subject.claim.headers)
            return [
                f"- **Passing data**: a log that reads {titles}, and both files with their heads",
                f"- **Failing data**: blank one field of a head; drop the command that reads the"
                f" {self.subject.claim.headers[-1].title}",
            ]
        return [
            f"- **Passing data**: a complete report with {'; '.join(self.subject.proof)}",
            f"- **Failing data**: the same report with {self.subject.bad_words()}",
        ]

    def _matrix_lines(self) -> list[str]:
        kind = self.subject.config.capability_type
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
