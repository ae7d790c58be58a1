"""Answers that every atom B and C must give, as data: gates run these against generated code,
tests against ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from transom.canonical import Json

STANDARD_SOURCE = (
    resources.files("transom.checklist").joinpath("standard_atoms.py").read_text("utf-8")
)


@dataclass(frozen=True)
class Call:
    """One call and what its result must hold.

    Attributes:
        arguments: keyword arguments.
        equals: keys of the result and their values; a `reason` is how that begins.
    """

    arguments: Mapping[str, Json]
    equals: Mapping[str, Json]

    def problems(self, result: object) -> list[str]:
        """Return the faults of a result."""
        if not isinstance(result, Mapping):
            return [f"the result is {type(result).__name__}, not a dict"]
        reason, begins = result.get("reason"), str(self.equals.get("reason", ""))
        # The rest of a reason is the author's own wording.
        is_explained = isinstance(reason, str) and reason.startswith(begins)
        problems = []
        for key, value in self.equals.items():
            # In Python True equals 1, and an answer must have the very type.
            is_equal = type(result.get(key)) is type(value) and result[key] == value
            if key != "reason" and not is_equal:
                problems.append(f"{key} is {result.get(key)!r}, not {value!r}")
        if not is_explained:
            problems.append(f"reason {reason!r} is no text that begins with {begins!r}")
        return problems


@dataclass(frozen=True)
class Vector:
    """A named property of an atom, shown by one or more calls that must not raise."""

    name: str
    function: str
    calls: tuple[Call, ...]


def _match(
    text: Json, pattern: str, is_match: bool, kind: str, reason: str = "", **fields: Json
) -> Call:
    return Call(
        {"text": text, "pattern": pattern, **fields},
        {"is_match": is_match, "kind": kind, "reason": reason},
    )


def _validates(name: str, *calls: Call) -> Vector:
    return Vector(name, "validate_logic", calls)


VECTORS: tuple[Vector, ...] = (
    _validates(
        "none_safety",
        _match("abc", "a", True, "contains", parsed_fields=None),
        _match("abc", "regex:^a", True, "regex", parsed_fields=None),
        _match("abc", "a*", True, "wildcard", parsed_fields=None),
        _match("abc", "x|a", True, "alternatives", parsed_fields=None),
    ),
    _validates(
        "empty_alternatives",
        _match("abc", "|a||", True, "alternatives"),
        _match("xyz", "|a||", False, "alternatives"),
        _match("abc", "|", False, "alternatives"),
    ),
    _validates("bad_regex", _match("abc", "regex:[", False, "regex", "Invalid Regex:")),
    _validates(
        "literal_alternatives",
        _match("regex:^a", "regex:^a|zzz", True, "alternatives"),
        _match("abc", "regex:^a|zzz", False, "alternatives"),
        _match("MET", "regex:^(MET|OK)$", False, "alternatives"),
    ),
    _validates(
        "wildcard_precedence",
        _match("abc", "a*c", True, "wildcard"),
        _match("xabc", "a*c", False, "wildcard"),
        _match("abcx", "a*c", False, "wildcard"),
        _match("ABC", "a*c", False, "wildcard"),
        _match("abc", "a?c", True, "wildcard"),
        _match("ac", "a?c", False, "wildcard"),
    ),
    _validates(
        "default_strategy",
        _match("abc", "b", True, "contains", default_match="contains"),
        _match("abc", "b", False, "exact", default_match="exact"),
        _match("b", "b", True, "exact", default_match="exact"),
        _match("abc", "B", False, "contains"),
    ),
    _validates(
        "regex_mode",
        _match("abc", "regex:^a", True, "regex", regex_mode="INVALID_MODE"),
        _match("abc", "regex:b", True, "regex", regex_mode="INVALID_MODE"),
        _match("abc", "regex:b", True, "regex", regex_mode="search"),
        _match("abc", "regex:b", False, "regex", regex_mode="match"),
    ),
    _validates(
        "literal_brackets",
        _match("data_out[15]", "data_out[15]*", True, "wildcard"),
        _match("data_out1", "data_out[15]*", False, "wildcard"),
        _match("data_out5", "data_out[15]*", False, "wildcard"),
    ),
    Vector(
        "existence_empty",
        "check_existence",
        (Call({"items": []}, {"is_match": False, "evidence": []}),),
    ),
    Vector(
        "existence_evidence",
        "check_existence",
        (
            Call({"items": [{"value": "a"}]}, {"is_match": True, "evidence": [{"value": "a"}]}),
            Call(
                {"items": [{"value": ""}, {"value": "b", "parsed_fields": {"x": {"y": None}}}]},
                {
                    "is_match": True,
                    "evidence": [
                        {"value": ""},
                        {"value": "b", "parsed_fields": {"x": {"y": None}}},
                    ],
                },
            ),
        ),
    ),
)
