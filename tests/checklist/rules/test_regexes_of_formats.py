"""The regular expressions of report formats read a line of any length in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from transom.checklist.atoms import Source
from transom.checklist.rules import load_knowledge
from transom.checklist.rules.extract import Wanted, reader_of
from transom.checklist.rules.shapes import Domain
from transom.checklist.teach import Marked, end_regex, learn
from transom.evidence.regex_fields import regexes_of, slow_regexes
from transom.evidence.regex_growth import growth_of

DOMAINS = load_knowledge().domains


@pytest.mark.fence
@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS, ids=[domain.domain for domain in DOMAINS])
def test_no_shipped_expression_takes_more_than_linear_time(domain: Domain) -> None:
    assert slow_regexes(domain) == []


def test_the_expressions_of_each_field_are_measured() -> None:
    fields = {expression.field for domain in DOMAINS for expression in regexes_of(domain)}
    assert {"match", "must_be_read", "refuse", "ends", "keys", "from", "alarm", "begins"} <= fields
    assert not fields & {"about", "value", "file", "says", "maps"}


def line_filters() -> Iterator[tuple[str, re.Pattern[str]]]:
    for domain in DOMAINS:
        fields = {
            category.key: [field.name for field in category.fields]
            for category in domain.categories
        }
        sources = [
            Source(kind=source.kind, rank=source.rank, files=source.files)
            for source in domain.sources
        ]
        for source in domain.sources:
            name = source.files[0].replace("*", "run").replace("?", "x")
            reader = reader_of(domain, Wanted(fields, sources), name)
            for pattern in reader.gate:
                yield f"{domain.domain}, {source.kind}", pattern


def test_what_is_looked_for_in_a_whole_text_takes_linear_time() -> None:
    words = {name: pattern for name, pattern in line_filters() if "(?m)" not in pattern.pattern}
    assert words
    assert [name for name, pattern in words.items() if growth_of(pattern)] == []
    heads = {name: pattern for name, pattern in line_filters() if "(?m)" in pattern.pattern}
    assert heads
    lines = [re.compile(pattern.pattern.removeprefix("(?m)")) for pattern in heads.values()]
    assert [str(growth_of(line, "match")) for line in lines if growth_of(line, "match")] == []


@pytest.mark.parametrize(
    "lines",
    [
        ["worst spacing 0.12 um ok", "worst spacing -0.02 um bad"],
        ["Net clk_a[3]/q: 0 violations", "Net top/u1: 4 violations"],
        ["| M1.S.1 | 0 | clean |", "| M2.W.4 | 17 | dirty |"],
    ],
)
def test_expressions_that_are_learned_from_lines_take_linear_time(lines: list[str]) -> None:
    lesson = learn([Marked("good", lines[0]), Marked("bad", lines[1])])
    for regex in (*(regex for _, regex in lesson.rows), *lesson.must, end_regex(lines[0])):
        assert growth_of(re.compile(regex)) is None, regex
