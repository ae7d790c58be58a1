"""The expressions of a validated data file are found by the marks of their fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from transom.evidence.regex_fields import MatchedBy, RegexField, regexes_of, slow_regexes

Pattern = Annotated[str, Field(min_length=1), MatchedBy()]
Key = Annotated[str, MatchedBy("fullmatch")]


class Row(BaseModel):
    match: Pattern
    about: str = ""


class Format(BaseModel):
    name: str
    sign: Annotated[Pattern | None, Field(alias="recognized-by")] = None
    rows: tuple[Row, ...] = ()
    units: dict[Pattern, str] = Field(default_factory=dict)
    ends: dict[str, list[Pattern]] = Field(default_factory=dict)
    pair: tuple[Pattern, str] | None = None
    keys: frozenset[Key] = frozenset()


def test_expressions_are_found_in_every_kind_of_field() -> None:
    data = Format.model_validate(
        {
            "name": "n.*",
            "recognized-by": "s",
            "rows": [{"match": "m", "about": "a.*b"}],
            "units": {"u": "no"},
            "ends": {"no": ["e", "f"]},
            "pair": ["p", "no"],
            "keys": ["k"],
        }
    )
    assert list(regexes_of(data)) == [
        RegexField("recognized-by", "s", "search"),
        RegexField("match", "m", "search"),
        RegexField("units", "u", "search"),
        RegexField("ends", "e", "search"),
        RegexField("ends", "f", "search"),
        RegexField("pair", "p", "search"),
        RegexField("keys", "k", "fullmatch"),
    ]


def test_an_expression_that_a_long_line_stops_is_a_problem_with_its_field() -> None:
    data = Format(name="n", rows=(Row(match=r"count:(.*?)\s*of", about=r"(.*?)\s*of"),))
    (problem,) = slow_regexes(data)
    assert problem.startswith(r"match: the regular expression 'count:(.*?)\\s*of' takes more than")


def test_an_expression_is_measured_by_the_method_of_its_field() -> None:
    assert slow_regexes(Format(name="n", keys=frozenset({".*_count"}))) == []
    assert slow_regexes(Format(name="n", rows=(Row(match=".*_count"),))) != []
