"""A model for the shipped items: replies that a strong model might write, from files.

It answers every role for items on timing endpoints and on file headers, also after a person has
edited a section, so tests can watch the rounds, the gates and repairs without recorded windows:

    transom check all item.yaml --model tests.checklist.shipped_model:ShippedModel
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from transom.checklist.atoms import LOCKED_LAYER
from transom.errors import NeedsModel, NotUnderstood
from transom.llm import Reply, Request, RulesProvider, Text

ROLES: Final = (
    *("checklist.analysis", "checklist.section1", "checklist.section2", "checklist.section3"),
    *("checklist.section4", "checklist.parser", "checklist.logic"),
)
MODEL: Final = "tests.checklist.shipped_model:ShippedModel"
EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples" / "checks"
_FOLDER: Final = Path(__file__).with_name("shipped_replies")
# The blocks that speak of the item; the others are the same for every item.
_OF_ITEM: Final = (
    *("configuration", "previous_analysis", "section1_parsing_logic", "previous_sections"),
    *("previous_sections_summary", "section_1", "section_2", "analysis_reference"),
)
_CHECK: Final = re.compile(
    r"check = `(\w+)`|narrowed to `(\w+)`|(setup|hold) (?:report|timing)", re.I
)
_NO_WAIVERS: Final = (
    "corrected from type 1: the user gives no patterns and configures no waivers, which alone would"
    " be type 1, but step 7 finds legitimate failures, so the check must be able to waive them"
)
_WAIVERS: Final = "the user gives no patterns and configures waivers, which step 7 finds realistic"


class ShippedModel(RulesProvider):
    """Answers the roles of the checklist for the shipped items."""

    name = "scripted"

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(ROLES, answer), dict.fromkeys(ROLES, 1), {})


def without_claim(text: str) -> str:
    """Return the text of a shipped item without its claim, so that the roles are asked."""
    return re.sub(r"^reads_as:\n(?: .*\n)+", "", text, flags=re.MULTILINE)


def copy_items(folder: Path) -> None:
    """Copy the shipped items without their claims."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(EXAMPLES.glob("*.yaml")):
        text = without_claim(path.read_text(encoding="utf-8"))
        (folder / path.name).write_text(text, encoding="utf-8")


def answer(request: Request) -> Reply:
    """Return the reply of a role, or raise NeedsModel for an item that it has no replies for."""
    about = "\n".join(request.window.text(name) or "" for name in _OF_ITEM)
    if "spef" in about.lower():
        family, check = "headers", ""
    elif match := _CHECK.search(about):
        family, check = "timing", (match[1] or match[2] or match[3]).lower()
    else:
        raise NeedsModel([NotUnderstood(about.strip()[:80], "description")])
    text = _reply(family, request.role.rpartition(".")[2])
    configuration = request.window.text("configuration") or ""
    has_waivers = not re.search(r"waivers:\n\s+value: (?:null|N/A)", configuration)
    description = re.search(r"description: (.*)", configuration)
    values = {
        "check": check,
        "Check": check.capitalize(),
        "heading": "max_delay/setup" if check == "setup" else "min_delay/hold",
        "reason": _WAIVERS if has_waivers else _NO_WAIVERS,
        "description": description[1].strip("'").partition(".")[0].lower() if description else "",
        "locked": LOCKED_LAYER,
    }
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    for block in ("section1_parsing_logic", "section_2"):
        if source := request.window.text(block):
            text = _without_lost_fields(text, source)
    return Reply((Text(text),))


def _without_lost_fields(text: str, source: str) -> str:
    """Return a reply without the fields that a person took out of the section before it."""
    for field in sorted(set(re.findall(r"\b(?:netlist|spef)\.\w+", text))):
        name = field.partition(".")[2]
        if not re.search(rf"`(?:\w+\.)?{name}`", source):
            text = re.sub(rf",? `{field}`", "", text)
            text = re.sub(rf"^ *- {field}\n", "", text, flags=re.MULTILINE)
    return text


@cache
def _reply(family: str, role: str) -> str:
    return (_FOLDER / family / f"{role}.md").read_text(encoding="utf-8")
