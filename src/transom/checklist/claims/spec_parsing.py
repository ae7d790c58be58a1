"""Section 1 of a claim's ItemSpec: what is read from the reports, with examples of the data."""

from __future__ import annotations

from collections.abc import Mapping
from pprint import pformat

from transom.checklist.claims.claim_subject import (
    ClaimSubject,
    example_measurement,
    header_sample,
)


class ParsingText:
    """Writer of Section 1, Parsing Logic."""

    def __init__(self, subject: ClaimSubject) -> None:
        self.subject = subject

    def text(self) -> str:
        """Return Section 1."""
        lines = [
            "## 1. Parsing Logic\n",
            f"**Information to extract**: {self._information()}. Each report is recognised by its"
            " content and read by its report format.\n",
        ]
        examples = {key: self._sample_fields(key) for key in self.subject.categories}
        for number, key in enumerate(self.subject.categories, 1):
            part = self.subject.part(key)
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
            f"### 1.{len(self.subject.categories) + 1} File Metadata\n",
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

    def _information(self) -> str:
        titles = " and ".join(part.title for part in self.subject.claim.headers)
        if titles:
            return f"which {titles} a log loads, and what the heads of these files say"
        return f"{'; '.join(self.subject.proof)}, and what speaks against it"

    def _purpose(self, key: str) -> str:
        part = self.subject.part(key)
        if part:
            return f"tells whether the {part.title} was loaded, and which tool wrote it and when"
        if key == "refuting":
            return "holds what contradicts the listed values"
        return f"holds what the reports measure of: {self.subject.claim.title}"

    def _field_lines(self, key: str) -> list[str]:
        lines = []
        for name, meaning in self.subject.fields(key).items():
            type_name = "Boolean" if name in ("loaded", "holds") else "String"
            lines.append(f"  - `{name}` ({type_name}): {meaning}")
        return lines

    def _sample_fields(self, key: str) -> dict[str, object]:
        """Return an example of a category's fields; of a report's own example, if there is one."""
        part = self.subject.part(key)
        if part:
            return {"loaded": True, **header_sample(part, self.subject.rules)}
        name, value = "report", "0"
        if self.subject.rules:
            name, value, *_ = example_measurement(self.subject.rules, self.subject.proof_names())
        fields: dict[str, object] = {
            "name": name,
            "measure": sorted(self.subject.proof_names())[0],
            "value": value,
            "holds": key != "refuting",
            "why": "nothing speaks against it" if key != "refuting" else self.subject.bad_words(),
        }
        for field in self.subject.fields(key):
            fields.setdefault(field, value)
        return fields

    def _sample_output(self, examples: Mapping[str, Mapping[str, object]]) -> list[object]:
        source = next((name.written for name in self.subject.item.input_files), "report.rpt")
        source = source.replace("\\", "/").rpartition("/")[2]
        entries = list[object]()
        for key, fields in examples.items():
            value, content, line = self.subject.claim.title, "", 1
            part = self.subject.part(key)
            rules = self.subject.rules
            if part:
                # The line of a file's head, and not the command that reads it.
                rules = [rule for rule in rules if part.kind in rule.format.name]
            if rules:
                _, value, content, line = example_measurement(rules, self.subject.proof_names())
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


def _fence(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"
