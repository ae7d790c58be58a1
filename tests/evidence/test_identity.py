"""Identity: a file says what it is of, and another name, a silence or a doubt never matches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.tables import assert_forms, load_rows
from transom.evidence.dates import PrintedDate, UnknownDate, read_age, read_date
from transom.evidence.identity import (
    Identity,
    IdentityFact,
    IdentityMatch,
    IdentityRequirement,
    compare_identity,
    wrong_file,
)
from transom.evidence.subject_names import FACETS, same_name

NOW = datetime(2024, 11, 20, 12, tzinfo=UTC)
MUST_PASS = load_rows("identity", "must_pass") + load_rows("dates", "must_pass")
MUST_NOT_PASS = load_rows("identity", "must_not_pass") + load_rows("dates", "must_not_pass")
DATES = load_rows("dates", "read")
NO_DATES = load_rows("dates", "unknown")
Compare = Callable[[dict[str, Any]], IdentityMatch]


def printed_date(text: str) -> PrintedDate:
    printed = read_date(text)
    assert isinstance(printed, PrintedDate), printed
    return printed


def requirement_of(row: dict[str, Any]) -> IdentityRequirement:
    """The requirement of a row: a name by its facet, or a day, an age or a bound of the date."""
    if "asked" in row:
        facet, text = next(iter(row["asked"].items()))
        return IdentityRequirement(facet, text)
    bound = printed_date(row["not_before"]) if "not_before" in row else None
    age = read_age(row["age"]) if "age" in row else None
    return IdentityRequirement("date", row.get("day", ""), max_age=age, not_before=bound)


def identity_of(row: dict[str, Any]) -> Identity:
    if "asked" not in row:
        return Identity((IdentityFact("date", row["file"]),)) if "file" in row else Identity()
    facts = [IdentityFact(facet, text, "a.rpt", line) for facet, text, line in row["file"]]
    identity = Identity(tuple(facts))
    for facet, text, person in row.get("stated", ()):
        identity = identity.with_statement(facet, text, person)
    return identity


def compare(row: dict[str, Any]) -> IdentityMatch:
    requirement = requirement_of(row)
    synonyms = {requirement.facet: row.get("synonyms", ())}
    matches = compare_identity(identity_of(row), [requirement], now=NOW, synonyms=synonyms)
    assert matches[0].requirement == requirement
    return matches[0]


def holds(row: dict[str, Any], comparing: Compare) -> bool:
    match = comparing(row)
    expected = row.get("outcome", "matches")
    return match.outcome == expected and row.get("words", "") in match.message


def match_everything(row: dict[str, Any]) -> IdentityMatch:
    """A stand-in that takes each file for the right one."""
    return IdentityMatch("tool", "matches", "the file is the right one")


def abstain(row: dict[str, Any]) -> IdentityMatch:
    """A stand-in that never says anything certain."""
    return IdentityMatch("tool", "silent", "the file says nothing")


@pytest.mark.parametrize("row", MUST_PASS, ids=lambda row: row["id"])
def test_the_right_file_matches_in_each_spelling(row: dict[str, Any]) -> None:
    assert holds(row, compare), compare(row)


@pytest.mark.parametrize("row", MUST_NOT_PASS, ids=lambda row: row["id"])
def test_a_wrong_or_silent_file_does_not_match_and_says_why(row: dict[str, Any]) -> None:
    assert holds(row, compare), compare(row)


def test_the_tables_have_forms_and_tell_comparisons_apart() -> None:
    for rows in (MUST_PASS, MUST_NOT_PASS, DATES, NO_DATES):
        assert_forms(rows)
    assert [row["id"] for row in MUST_NOT_PASS if holds(row, match_everything)] == []
    assert [row["id"] for row in MUST_PASS if holds(row, abstain)] == []


@pytest.mark.parametrize("row", DATES, ids=lambda row: row["id"])
def test_a_printed_date_is_the_span_of_time_that_it_can_mean(row: dict[str, Any]) -> None:
    printed = read_date(row["text"], order=row.get("order"))
    assert isinstance(printed, PrintedDate), printed
    assert printed.earliest == datetime.fromisoformat(row["earliest"]).replace(tzinfo=UTC)
    assert printed.latest == datetime.fromisoformat(row["latest"]).replace(tzinfo=UTC)


@pytest.mark.parametrize("row", NO_DATES, ids=lambda row: row["id"])
def test_a_text_that_is_no_certain_date_is_unknown(row: dict[str, Any]) -> None:
    printed = read_date(row["text"])
    assert isinstance(printed, UnknownDate), printed
    assert row["words"] in printed.message


@pytest.mark.parametrize(
    ("text", "has_zone"),
    [
        ("2024-11-05 11:00 +0100", True),
        ("2024-11-05T11:00:00Z", True),
        ("2024-11-05 11:00 CST", False),
        ("2024-11-05 11:00 IST", False),
        ("2024-11-05 11:00", False),
    ],
)
def test_a_date_has_a_zone_if_its_offset_is_known(text: str, has_zone: bool) -> None:
    assert printed_date(text).has_zone is has_zone


def test_what_nobody_asked_for_is_reported_and_neither_caps_nor_refuses() -> None:
    identity = Identity((IdentityFact("branch", "main", "ci.json", 3),))
    (match,) = compare_identity(identity, [])
    assert match.outcome == "not_asked"
    assert "main (line 3)" in match.message
    assert wrong_file([match]) is None


def test_a_wrong_file_names_each_facet_that_differs() -> None:
    identity = Identity((IdentityFact("tool", "Magic"), IdentityFact("stage", "placed")))
    asked = [IdentityRequirement("tool", "Calibre"), IdentityRequirement("stage", "routed")]
    reason = wrong_file(compare_identity(identity, asked))
    assert reason is not None and reason.startswith("wrong file: ")
    assert "Magic" in reason and "placed" in reason


def test_a_section_says_for_itself_what_the_file_says_otherwise() -> None:
    file = Identity((IdentityFact("tool", "Router"), IdentityFact("stage", "placed", "a.log", 3)))
    section = file.of_section(Identity((IdentityFact("stage", "routed", "a.log", 900),)))
    assert [fact.text for fact in section.of("stage")] == ["routed"]
    assert [fact.text for fact in section.of("tool")] == ["Router"]


def test_what_a_person_states_of_a_section_replaces_only_statements() -> None:
    section = Identity().with_statement("stage", "placed", "Ada")
    printed = Identity((IdentityFact("stage", "routed", "a.log", 9),))
    asked = [IdentityRequirement("stage", "routed")]
    assert [fact.text for fact in printed.of_section(section).of("stage")] == ["routed"]
    assert wrong_file(compare_identity(printed.of_section(section), asked)) is None
    stated = Identity().with_statement("stage", "routed", "Ben")
    assert [fact.text for fact in stated.of_section(section).of("stage")] == ["placed"]
    # What the section itself says outranks what was stated of the whole file.
    assert [fact.text for fact in stated.of_section(printed).of("stage")] == ["routed"]
    assert "Ben" not in str(stated.of_section(printed).to_json())


def test_a_statement_needs_a_person_and_shows_up_in_the_document() -> None:
    with pytest.raises(ValueError, match="who states it"):
        Identity().with_statement("stage", "routed", " ")
    identity = Identity((IdentityFact("tool", "Magic", "a.rpt", 2),))
    identity = identity.with_statement("stage", "routed", "Ada")
    assert identity.to_json() == {
        "tool": [{"text": "Magic", "source_file": "a.rpt", "line_number": 2}],
        "stage": [{"text": "routed", "stated_by": "Ada"}],
    }


def test_a_requirement_must_name_something() -> None:
    with pytest.raises(ValueError, match="names no stage"):
        IdentityRequirement("stage", " ")
    with pytest.raises(ValueError, match="only a date"):
        IdentityRequirement("stage", max_age=read_age("14 days"))


@given(st.sampled_from(FACETS), st.text(max_size=30), st.text(max_size=30))
def test_comparing_names_never_breaks_and_depends_on_both_sides(
    facet: Any, name: str, other: str
) -> None:
    answer = same_name(facet, name, other)
    assert same_name(facet, name, name) == ("same" if name.strip() else "unclear")
    # One side may say more than the other, but a contradiction holds in both directions.
    assert (answer == "different") == (same_name(facet, other, name) == "different")


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader_of_dates(text: str) -> None:
    assert isinstance(read_date(text), PrintedDate | UnknownDate)
    read_age(text)


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1)))
def test_each_moment_is_read_back_from_the_forms_that_programs_print(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    forms = [
        moment.isoformat(),
        f"{moment:%Y%m%dT%H%M%SZ}",
        f"{moment:%a %b %d %H:%M:%S UTC %Y}",
        f"{moment:%a, %d %b %Y %H:%M:%S +0000}",
        f"{moment:%d.%m.%Y %H:%M:%S GMT}",
    ]
    assert {printed_date(form).earliest for form in forms} == {moment}
