"""Words that a line must hold: every match of an expression holds one; lines passed over change
no entry.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checklist.rules.support import shipped
from transom.checklist.atoms import Source
from transom.checklist.rules.extract import Wanted, reader_of
from transom.checklist.rules.fragments.main import File, Gate
from transom.checklist.rules.literals import gate, words_before
from transom.checklist.rules.shapes import Domain


@pytest.mark.parametrize(
    ("regex", "words"),
    [
        (r"(?i)\bDRC\b.*\b(?:viol|error)", ["error", "viol"]),
        (r"^\s*(?P<v>-?[\d.]+)\s+slack \((?:MET|VIOLATED)", [" slack (met", " slack (violated"]),
        (r"(?=.*fail)\d+", ["fail"]),
        (r"(?:foo)+x?", ["foo"]),
        (r"(?!)never", []),
        (r"^[a-c]\w", ["a", "b", "c"]),
        ("✗", []),
        (r"(?:foo)*", None),
        (r"foo|\d", None),
        (r"[ a]", None),
        (r"\b0\s+(?:of|/)\s+\d", [" / ", " of "]),
        (r"\w\.(?:v|vg)\b", [".v"]),
        (r"foo(?!bar)", ["foo"]),
    ],
)
def test_words(regex: str, words: list[str] | None) -> None:
    assert words_before(regex) == (None if words is None else tuple(words))


LINEWISE = [
    *(
        r"^\s*foo(?!\s*x)",
        r"^(?:a|bc)\s*+z$",
        r"^\d{1,3}[:>]\s+|^0$",
        r"^(?!\w+:)[a-z]+(?:_[a-z]+)+(?:\s|$)",
    ),
    *(
        r"^(?>\s*b)\W*$",
        r"^\s*[-x]\Z",
        r"(?i)\b0\s+(?:of|/)\s+\d",
        r"n't\b|\bnot(?:hing)?\b",
        r"\w\.(?:v|vg)\b",
    ),
    *(
        r"^\s*(?:[^a]\s)+y",
        r"(?<!\s)fail\b",
        r"tim(?:e|ed)?(?:  ?)?out",
        r"(?:ab)+c?\s[de]{2}",
        "\t[kl]x",
    ),
]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    data=st.data(),
    regex=st.sampled_from(LINEWISE),
    around=st.lists(
        st.sampled_from(["  x", "x: 1", "z", "", " of 3", "\t-b", "y y"]), min_size=2, max_size=4
    ),
)
def test_the_gate_shows_every_line_that_an_expression_matches(
    data: st.DataObject, regex: str, around: list[str]
) -> None:
    told = gate([regex])
    line = data.draw(st.from_regex(regex, alphabet=st.characters(max_codepoint=126)))
    if told and "\n" not in line and re.search(regex, line):
        text = "\n".join([around[0], line, *around[1:]])
        assert Gate(text, *map(re.compile, told)).next(0) <= len(around[0]) + 1


def reader(domain: Domain, kind: str, name: str, *, every: bool) -> File:
    fields = {category.key: [one.name for one in category.fields] for category in domain.categories}
    sources = [Source(kind=one.kind, rank=one.rank, files=one.files) for one in domain.sources]
    made = reader_of(domain, Wanted(fields, sources), name)
    assert made.kind == kind
    if every:
        made.gate = []
    return made


def read(made: File, text: str) -> list[dict[str, Any]] | str:
    try:
        return [*made.feed(text), *made.finish()]
    except ValueError as error:
        return str(error)


PLACES = [
    (domain, source.kind, source.files[0].replace("*", "run").replace("?", "x"))
    for domain in shipped().domains
    for source in domain.sources
]
LINES = sorted(
    {
        line
        for d in shipped().domains
        for i in d.items
        for one in i.examples
        for line in one.text.split("\n")
    }
)
AFTER_READING = [
    *(
        "read_verilog a.v",
        "read_spef a.spef",
        "reading spef file 'a.spef'",
        "Annotated: 0",
        "0 of 12 nets",
        "0 %",
        "0",
    ),
    *(
        "The tool timed out",
        "TIMEOUT",
        "Licence expired",
        "COULD NOT open it",
        "nothing",
        "\u0130gnored",
        "r\u00e9glage termin\u00e9",
        "\u017fegmentation\u00a0fault",
        "Error:\u2003one",
        "timed out\u2028ab\u0131r",
        "data arrival time",
    ),
]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    place=st.sampled_from(PLACES),
    lines=st.lists(
        st.sampled_from([*LINES, *AFTER_READING, "", "  0.10   0.25 ^ u1/Y"]), max_size=12
    ),
)
def test_lines_that_are_passed_over_change_nothing(
    place: tuple[Domain, str, str], lines: list[str]
) -> None:
    text = "\n".join(lines)
    told = [read(reader(*place, every=every), text) for every in (False, True)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("name", "last", "found"),
    [("log_messages", "Error: \u00e9tape", [503, 1]), ("versions", "read_spef b.spef", [2, 503])],
)
def test_a_long_log_is_passed_over_where_it_holds_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, last: str, found: list[int]
) -> None:
    (domain,) = (one for one in shipped().domains if one.domain == name)
    (kind, *_) = (one.kind for one in domain.sources)
    made = reader(domain, kind, "run.log", every=False)
    seen: list[int] = []
    line = made.line

    def noted(text: str) -> list[dict[str, Any]]:
        seen.append(made.number + 1)
        return line(text)

    monkeypatch.setattr(made, "line", noted)
    quiet = "   0.10    0.25 ^ _1234_/Y (nand2)\n" * 500
    entries = read(made, f"OpenSTA 2.6.0\nread_spef a.spef\n{quiet}{last}\n{quiet}")
    assert [one["line_number"] for one in entries if isinstance(one, dict)] == found
    assert len(seen) < 20


@pytest.mark.parametrize("line", AFTER_READING)
@pytest.mark.parametrize("command", AFTER_READING[:3])
def test_the_gate_shows_what_matters_behind_a_read_command(command: str, line: str) -> None:
    place = next(one for one in PLACES if one[1] == "sta_log")
    told = [
        read(reader(*place, every=every), f"OpenSTA 2.6.0\n{command}\n{line}\n")
        for every in (False, True)
    ]
    assert told[0] == told[1]


def test_a_line_behind_a_carriage_return_is_seen() -> None:
    place = next(one for one in PLACES if one[1] == "tool_log")
    text = (
        "OpenSTA 2.6.0\nread\nread 10%\rE1127 12:12:00 42 a.cc:1] disk is full\nread\nread\nexit\n"
    )
    told = [read(reader(*place, every=every), text) for every in (False, True)]
    assert told[0] == told[1] == "line 3: not understood: E1127 12:12:00 42 a.cc:1] disk is full"


def test_a_kind_without_a_reader_still_sees_what_must_be_read() -> None:
    domain = next(one for one in shipped().domains if one.domain == "physical_verification")
    source = next(one for one in domain.sources if one.kind == "marker_database")
    told = Wanted(
        {"antenna": ["count"]}, [Source(kind=source.kind, rank=source.rank, files=source.files)]
    )
    assert str(
        read(reader_of(domain, told, "a.lyrdb"), "<x>\n <item><category>m1</category></item>\n")
    ).startswith("line 2: not understood")


@pytest.mark.parametrize("regex", [r"^(\S+)\s+\1$", r"^(?P<a>\S+)\s+(?(a)\d|x)"])
def test_an_expression_that_refers_to_its_groups_shows_every_line(regex: str) -> None:
    assert gate([regex, r"^\d+$"]) == []
