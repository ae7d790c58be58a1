"""Section 2 of a claim's ItemSpec: its validation items, and when the check passes."""

from __future__ import annotations

from typing import Final

from transom.checklist.atoms import Condition, Operator, ValidationItem
from transom.checklist.claims.claim_subject import (
    ClaimSubject,
)

TYPES: Final = {
    1: "Boolean check",
    2: "Value check",
    3: "Value check with waivers",
    4: "Boolean check with waivers",
}
_VALIDATIONS: Final = {"existence": "existence check", "pattern": "pattern match"}


class CheckText:
    """Writer of Section 2, Check Logic."""

    def __init__(self, subject: ClaimSubject) -> None:
        self.subject = subject

    def text(self) -> str:
        """Return Section 2."""
        kind = self.subject.config.capability_type
        parameters = ", ".join(
            f"{name} {value}" for name, value in self.subject.row.parameters.items()
        )
        meaning = self.subject.claim.title + (f" ({parameters})" if parameters else "")
        left_out = "".join(f' Not checked: "{words}".' for words in self.subject.row.left_out)
        lines = [
            "## 2. Check Logic\n",
            f"**Interpretation**: the description is read as the claim `{self.subject.row.name}`:"
            f" {meaning}.{left_out}\n",
            f"**Capability type**: {kind} ({TYPES[kind]})\n",
        ]
        for validation in self.subject.config.items:
            lines += [*self._item_lines(validation), ""]
        ids_of_check: dict[str, list[str]] = {"pattern": [], "existence": []}
        for each in self.subject.config.items:
            ids_of_check[each.check].append(each.id)
        pattern, existence = ids_of_check["pattern"], ids_of_check["existence"]
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
        for number, each in enumerate(self.subject.config.items, 1):
            lines.append(f"{number}. {each.id}: {each.name}")
        last = len(self.subject.config.items) + 1
        lines.append(f"{last}. combine: the check passes if no violation is left")
        return "\n".join(lines)

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
        part = self.subject.part(each.category)
        # A file that need not be read fails only if the log reads it and says that it failed.
        if part and each.select.endswith(".loaded") and part.kind in self.subject.claim.optional:
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
            listed, unlisted = "", ""
            if each.check == "pattern":
                listed, unlisted = ", and it has a listed text", ", or it has no listed text"
            return (
                f"proves which tool and version wrote the {part.title}, and when",
                f"the topmost header says {names}, and none of them is blank",
                f"{names} are all in the head of the {part.title}{listed}",
                f"one of {names} is missing or blank, or there is no {part.title} to look at"
                f"{unlisted}",
            )
        # What a report says against the list breaks it, also if every listed value appears.
        if each.select.startswith("refuting."):
            refuted = f"{self.subject.bad_words()}"
            return (
                "makes sure that nothing contradicts the listed values",
                "the same reports are read",
                f"no report shows {refuted}",
                f"a report shows {refuted}",
            )
        if each.check == "pattern":
            return self._list_words(each)
        proof = "; ".join(self.subject.proof)
        scope = "each of them" if each.quantifier == "each" else "each report"
        return (
            f"proves this: {self.subject.claim.title}",
            f"{scope} shows {proof}; a report that shows none of it proves nothing",
            f"{proof}: measured, and no violation among the lines of the report",
            f"a report shows {self.subject.bad_words()}",
        )

    def _list_words(self, each: ValidationItem) -> tuple[str, str, str, str]:
        """Return the words of an item whose values are compared with the item's list."""
        proof = "; ".join(self.subject.proof)
        completeness = f"the reports show {proof}, and the item lists pattern_items"
        purpose = f"proves this: {self.subject.claim.title}"
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
        first = self.subject.config.items[0].id
        if self.subject.claim.headers:
            cases = []
            for part in self.subject.claim.headers:
                ids = self.subject.ids_of(part)
                error = f"the log reads a {part.title} and reports an error for it"
                cases.append((error, f"{ids['loading']} is missing"))
                version = ids.get("version")
                if version is None:
                    text = f"no line of the log reads a {part.title}"
                    cases.append((text, f"{ids['loading']} is missing"))
                    continue
                cases += [
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


def _condition(condition: Condition | None) -> str:
    if condition is None:
        return "none"
    # The claims compare with these two alone.
    sign = "in" if condition.op is Operator.IN else "=="
    return f"`{condition.field} {sign} {condition.value!r}`"
