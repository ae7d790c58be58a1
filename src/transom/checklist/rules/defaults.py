"""Parts that a domain's file need not say: the prose of an ItemSpec that follows from the rest
of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_OWNED: Final = "the finding has an owner and a date"
_SCENARIOS: Final = (
    ("Everything Holds", "the files are those of a good run", "found", "none is needed"),
    (
        "Something Is Wrong",
        "one line says that it does not hold",
        "missing",
        "a pattern with that line waives it",
    ),
    (
        "Several Files",
        "several files of this kind are among the inputs",
        "found",
        "the name of a file waives it",
    ),
    (
        "Known Finding",
        "a finding was looked into and is accepted",
        "missing",
        "the text of that finding waives it",
    ),
)
_WAIVERS: Final = (
    {
        "name": "Accepted Finding",
        "scenario": "the finding was looked into and is accepted for this release",
        "cases": [
            "an engineering change that is not in these files yet",
            "a finding that the foundry has accepted",
        ],
        "reason": "Accepted until the next release.",
        "keywords": ["accepted", "agreed"],
        "justification": _OWNED,
    },
    {
        "name": "Preliminary Data",
        "scenario": "the files come from data that is not final",
        "cases": ["an early floorplan", "a block that is not frozen"],
        "reason": "Preliminary data.",
        "keywords": ["preliminary", "early"],
        "justification": "the final files are checked again",
    },
)


def filled(data: Mapping[str, Any]) -> dict[str, Any]:
    """A domain's data with what it leaves out; what is there is kept, and what is malformed left
    to the model.
    """
    told = dict(data)
    try:
        told["categories"] = [_category(told, one) for one in told["categories"]]
        told["items"] = [_item(told, one) for one in told["items"]]
        told["sources"] = [_source(told, at, one) for at, one in enumerate(told["sources"])]
        general = _prose(told)
        told["waivers"] = [_waiver(one) for one in told.get("waivers", general["waivers"])]
        told["scenarios"] = [
            *(_scenario(told, one) for one in told.get("scenarios", ())),
            *general["scenarios"],
        ]
        told["read"] = [{"kind": "rows", **rule} for rule in told["read"]]
        return general | told
    except (KeyError, TypeError, AttributeError, IndexError):
        return told


def _category(told: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    names = ", ".join(f"`{field['name']}`" for field in given["fields"])
    mine = (
        item for item in told["items"] if str(item["required"][0]).startswith(f"{given['key']}.")
    )
    hints = dict.fromkeys(hint for item in mine for hint in item.get("hints", ()))
    guide = {
        "location": "the lines that the patterns below fit",
        "keywords": list(hints) or [given["name"]],
        "method": (
            f"the named groups of a pattern are the fields {names}; what a guard refuses is an"
            " error"
        ),
    }
    return {"purpose": f"tells {told['extracts']}", "guide": guide, **given}


def _item(told: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    bad = given.get("mode") == "forbid"
    return {
        "purpose": f"tells {told['question']}",
        "completeness": "an entry has every required field",
        "quantifier": "each",
        "passes": (
            "no such entry is read" if bad else "every entry that is read fulfils the condition"
        ),
        "fails": "such an entry is read" if bad else "an entry does not fulfil it, or none is read",
        "step": "read every file and judge each entry",
        "waivable": True,
        "why": "a single finding may be accepted with a reason",
        **given,
    }


def _source(told: Mapping[str, Any], at: int, given: Mapping[str, Any]) -> dict[str, Any]:
    return {"rank": "secondary" if at else "primary", "about": told["extracts"], **given}


def _waiver(given: Mapping[str, Any]) -> dict[str, Any]:
    scenario = given["scenario"]
    general = {
        "cases": [],
        "reason": f"{scenario[0].upper()}{scenario[1:]}.",
        "justification": _OWNED,
    }
    return {**general, **given}


def _scenario(told: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """One that names no missing item finds all of them."""
    if "missing" in given:
        return {"waiver": "the name of the file waives it", **given}
    return {"found": [item["key"] for item in told["items"]], "waiver": "none is needed", **given}


def _prose(told: Mapping[str, Any]) -> dict[str, Any]:
    keys = [item["key"] for item in told["items"]]
    waivable = [item["key"] for item in told["items"] if item["waivable"]]
    return {
        "waivers": [{**waiver, "items": waivable} for waiver in _WAIVERS] if waivable else [],
        "tolerance": [
            "Compressed files: the runtime hands over the decompressed text",
            "A line that speaks of the matter and is not understood: an error, and not a guess",
        ],
        "edge_cases": list(_edge_cases(told["read"])),
        "scenarios": [
            {"name": name, "context": context, result: keys, "waiver": waiver}
            for name, context, result, waiver in _SCENARIOS
        ],
        "examples": [_output(told, category) for category in told["categories"]],
    }


def _edge_cases(rules: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    reduced = any("reduce" in rule for rule in rules)
    several = "one of them counts, as the rule says" if reduced else "each time is judged"
    yield f"The same thing stands several times: {several}"
    if any(rule.get("steps") for rule in rules):
        yield "Several steps of a flow stand in one file: an error, since either may count"
    if any(rule.get("numbers") for rule in rules):
        yield "A number is rounded: it is compared as it is printed; -0.00 is an error"


def _output(told: Mapping[str, Any], category: Mapping[str, Any]) -> dict[str, Any]:
    """An entry as it is emitted: a line of an example that holds, where an item of the category
    has one.
    """
    fields = {field["name"]: field["example"] for field in category["fields"]}
    mine = (
        item for item in told["items"] if str(item["required"][0]).startswith(f"{category['key']}.")
    )
    told_of = (
        one for item in mine for one in item.get("examples", ()) if one["outcome"] == "holds"
    )
    drawn: dict[str, Any] = {"text": " ".join(str(value) for value in fields.values())}
    known = next((one for one in told_of if one.get("text") and one.get("fields")), drawn)
    said = {name.partition(".")[2]: value for name, value in known.get("fields", {}).items()}
    fields |= {name: value for name, value in said.items() if value not in ("{good}", "{bad}")}
    values = [str(fields[name]) for name in said if name in fields]
    number = next((value for value in fields.values() if type(value) in (int, float)), 1)
    lines = known["text"].replace("{good}", values[0] if values else str(number)).splitlines()
    at = max(range(len(lines)), key=lambda one: sum(value in lines[one] for value in values))
    line = " ".join(lines[at].split())
    name = known.get("file") or f"reports/{told['sources'][0]['files'][0]}".replace("*", "run")
    entry = {
        "value": line,
        "source_file": name,
        "line_number": at + 1,
        "matched_content": lines[at],
    }
    return {**entry, "parsed_fields": {category["key"]: fields}}
