"""Expressions that take more than linear time are noticed, and linear ones are not."""

from __future__ import annotations

import re

import pytest

from transom.evidence.regex_growth import Method, growth_of
from transom.evidence.regex_parts import PartReader

SLOW = [
    r"(.*?)\s*$",
    r"\s+$",
    r"\d+%",
    r"\w+\s*=",
    r"error.*failed",
    r"^\s*\[?\s*\]?\s*x",
    r"^\d+\.?\d*$",
    r"^\s*(?P<name>\S.*?)\s*:\s*$",
    r"^(?:a|aa)+$",
    r"^(?:\w+\s?)*:$",
    r"^(?:(?:ab)*)*c",
    r"<!--.*?-->",
    r"^x(?=.*\by\b.*z$)(?:.*\s)?y\s*(?:#.*)?$|q.*w.*e",
    r"(?i)\bslack\b.*\bviolated\b",
    r"(?x) \s* \S+ \s* =  # a key",
    r"(?s)begin.*end",
    r"\n+b",
]
LINEAR = [
    r"^\s*foo",
    r"foo\s*$",
    r"a\n*b",
    r"^\s*+[:=]?\s*+\d",
    r"(?<!\d)\d++%",
    r"^(?>.*?\berror\b).*\bfailed\b",
    r"^\d+(?:\.\d*)?$",
    r"^\s*(?P<name>\S(?:.*\S)?)\s*$",
    r"^(?:ab)+$",
    r"\bslack \((?:MET|VIOLATED)\)",
    r"x{3,5}y?",
    r"[A-Z]\w{0,40}-\d+",
    r"(?i:a|b)(?-i:c)",
    r"(?P<quote>['\"])x(?P=quote)",
    r"(?#a comment)[]a][^]b]\x41\u0041(q)\1?(?(1)a|b)",
    "",
]


@pytest.mark.parametrize("regex", SLOW)
def test_an_expression_that_takes_more_than_linear_time_is_noticed(regex: str) -> None:
    assert growth_of(re.compile(regex)) is not None


@pytest.mark.parametrize("regex", LINEAR)
def test_a_linear_expression_is_not_noticed(regex: str) -> None:
    assert growth_of(re.compile(regex)) is None


def test_an_expression_of_many_alternatives_is_linear_though_it_is_slow() -> None:
    names = "|".join(f"[a-z]?[0-9]?#{number}" for number in range(100, 350))
    assert growth_of(re.compile(rf"^q *(?:{names})")) is None


@pytest.mark.parametrize(
    ("regex", "method"), [(r".*_count", "fullmatch"), (r"\s*module\s", "match")]
)
def test_an_expression_is_measured_as_it_is_used(regex: str, method: Method) -> None:
    assert growth_of(re.compile(regex)) is not None
    assert growth_of(re.compile(regex), method) is None


def test_the_line_that_takes_so_long_is_told() -> None:
    growth = str(growth_of(re.compile(r"^Placement:(.*?)\s*$x")))
    assert growth.startswith("takes more than linear time, for example ")
    assert growth.endswith(" after 'Placement:'")


def test_the_parts_of_an_expression_are_read_as_the_library_reads_them() -> None:
    pattern = re.compile(r"(?i)a[^\]b]+(?:c|\(d){0,30}(?<!x\s)\.$|\N{DIGIT ONE}\x41(?P<n>e)?(?P=n)")
    assert [part.source for part in PartReader(pattern).characters()] == [
        "a",
        r"[^\]b]",
        "c",
        r"\(",
        "d",
        "x",
        r"\s",
        r"\.",
        r"\N{DIGIT ONE}",
        r"\x41",
        "e",
    ]
