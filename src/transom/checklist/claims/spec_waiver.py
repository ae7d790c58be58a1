"""Section 3 of a claim's ItemSpec: which violations a waiver may accept, and how it is matched."""

from __future__ import annotations

import re

from transom.checklist.claims.claim_data import (
    Claim,
)
from transom.checklist.claims.claim_subject import (
    ClaimSubject,
    quoted,
)
from transom.checklist.claims.spec_check import TYPES


class WaiverText:
    """Writer of Section 3, Waiver Logic."""

    def __init__(self, subject: ClaimSubject) -> None:
        self.subject = subject

    def text(self) -> str:
        """Return Section 3."""
        kind = self.subject.config.capability_type
        supported = kind in (3, 4)
        lines = [
            "## 3. Waiver Logic\n",
            f"**Waiver support**: {'yes' if supported else 'no'} (type {kind}, {TYPES[kind]})\n",
        ]
        covered = dict[str, list[str]]()
        if supported:
            for number, scenario in enumerate(self._waiver_scenarios(), 1):
                # What is left of a scenario afterwards are its labels.
                names = scenario.pop("items")
                for name in names.split(" and "):
                    covered.setdefault(name, []).append(f"3.{number}")
                noun = "Items" if " and " in names else "Item"
                lines.append(f"### 3.{number} {scenario.pop('name')} ({noun} {names})\n")
                lines += [f"- **{label}**: {text}" for label, text in scenario.items()]
                lines.append("")
        lines += self._waiver_modes(supported)
        lines += ["\n### Waiver Decisions\n", "| Item | Waivable | Why |", "|---|---|---|"]
        for each in self.subject.config.items:
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

    def _waiver_scenarios(self) -> list[dict[str, str]]:
        """Return the labels of each scenario, with `name` and `items`."""
        scenarios = []
        for part in self.subject.claim.headers:
            ids = self.subject.ids_of(part)
            for waiver in part.waivers:
                scenarios.append(
                    {
                        "name": waiver.name,
                        "items": " and ".join(ids[name] for name in waiver.of if name in ids),
                        "Waiver scenario": waiver.situation,
                        "Typical reason": f'"{waiver.reason}"',
                        "Matching keywords": quoted(waiver.keywords),
                        "Stage words": quoted(waiver.stages) if waiver.stages else "none",
                        "Business justification": waiver.justification,
                    }
                )
        if scenarios:
            return scenarios
        # Claims on reports have no situations of their own: a person waives what is violated.
        for each in self.subject.config.items:
            keywords = _words_of_name(each.name, self.subject.claim) or [each.id]
            scenarios.append(
                {
                    "name": f"Accepted: {each.name}",
                    "items": each.id,
                    "Waiver scenario": "a violation was reviewed, and its owner accepts it until a"
                    " named day",
                    "Typical reason": '"Accepted for this milestone by the owner of the block"',
                    "Matching keywords": quoted(keywords),
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
        last = self.subject.config.items[-1]
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


def _words_of_name(name: str, claim: Claim) -> list[str]:
    """Return the words of an item's name that a keyword waiver may use."""
    matter = {word.lower() for word in (*claim.needs, *claim.words)}
    return [word for word in re.findall(r"\w+", name) if word.lower() in matter][:4]
