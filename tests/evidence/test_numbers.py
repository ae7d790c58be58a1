"""Numbers: each printed form is read exactly, and what may mean two things is unknown."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.tables import assert_forms, load_rows
from transom.evidence.number_limits import NumberLimit, compare, read_bound
from transom.evidence.numbers import (
    PrintedNumber,
    UnknownNumber,
    convert,
    find_decimal_mark,
    read_number,
    share_of,
)
from transom.evidence.units import UnitSource, unit_of_heading, unit_of_key, unit_of_title

READ = load_rows("numbers", "read")
UNKNOWN = load_rows("numbers", "unknown")
Reader = Callable[..., PrintedNumber | UnknownNumber]


def sources_of(row: dict[str, Any]) -> list[UnitSource]:
    sources = [
        unit_of_key(row["key"]) if "key" in row else None,
        unit_of_heading(row["column"]) if "column" in row else None,
        unit_of_title(row["title"]) if "title" in row else None,
    ]
    assert [source is not None for source in sources].count(True) == len(
        {"key", "column", "title"} & row.keys()
    )
    return [source for source in sources if source is not None]


def holds(row: dict[str, Any], reader: Reader) -> bool:
    """Whether a reader gives what the row asks for."""
    number = reader(
        row["json"] if "json" in row else row["text"],
        units=sources_of(row),
        decimal_mark=row.get("mark"),
        sentinels=row.get("sentinels", ()),
        is_count=row.get("count", False),
        is_share=row.get("share", False),
    )
    if isinstance(number, UnknownNumber):
        return number.reason == row.get("reason") and row["words"] in number.message
    if "value" not in row:
        return False
    origin = row.get("origin", number.unit_origin)
    printed = (number.value, number.unit, number.unit_origin)
    return printed == (Decimal(row["value"]), row.get("unit", ""), origin)


def first_digits(value: object, **_: object) -> PrintedNumber:
    """A stand-in that takes the first digits of anything for its value."""
    digits = re.search(r"-?\d+(?:\.\d+)?", str(value))
    return PrintedNumber(Decimal(digits[0] if digits else 0))


def abstain(value: object, **_: object) -> UnknownNumber:
    """A stand-in that reads nothing."""
    return UnknownNumber(str(value), "not_a_number", "no number is read")


@pytest.mark.parametrize("row", READ, ids=lambda row: row["id"])
def test_a_printed_form_is_read_exactly(row: dict[str, Any]) -> None:
    assert holds(row, read_number), read_number(row.get("text"))


@pytest.mark.parametrize("row", UNKNOWN, ids=lambda row: row["id"])
def test_an_uncertain_text_is_unknown_for_its_reason(row: dict[str, Any]) -> None:
    assert holds(row, read_number)


def test_the_tables_have_forms_and_tell_readers_apart() -> None:
    assert_forms(READ)
    assert_forms(UNKNOWN)
    assert [row["id"] for row in UNKNOWN if holds(row, first_digits)] == []
    assert [row["id"] for row in READ if holds(row, abstain)] == []


# The marks that a source may use: for groups of thousands and before the fraction.
STYLES = [
    ("", "."),
    ("", ","),
    (",", "."),
    (".", ","),
    (" ", ","),
    ("'", "."),
    ("_", "."),
    ("\u202f", ","),
]


def rendered(value: Decimal, group: str, mark: str) -> str:
    """The value as a source with these marks prints it."""
    text = f"{value:,f}" if group else f"{value:f}"
    return text.replace(".", "\0").replace(",", group).replace("\0", mark)


values = st.decimals(
    min_value=-(10**12), max_value=10**12, allow_nan=False, allow_infinity=False, places=None
).filter(lambda value: value.adjusted() > -20 and not (value == 0 and value.is_signed()))


@given(values, st.sampled_from(STYLES), st.sampled_from(["", " ns", "ns", " %"]))
def test_a_rendered_value_is_read_back_if_its_mark_is_known(
    value: Decimal, style: tuple[str, str], unit: str
) -> None:
    group, mark = style
    number = read_number(
        rendered(value, group, mark) + unit, decimal_mark="," if mark == "," else "."
    )
    assert isinstance(number, PrintedNumber)
    assert number.value == value
    assert number.unit == unit.strip()


@given(values, st.sampled_from(STYLES))
def test_without_a_known_mark_a_value_is_read_right_or_not_at_all(
    value: Decimal, style: tuple[str, str]
) -> None:
    number = read_number(rendered(value, *style))
    assert isinstance(number, UnknownNumber) or number.value == value


@given(values, st.integers(-20, 20))
def test_a_value_in_exponent_notation_keeps_its_value_and_step(value: Decimal, power: int) -> None:
    number = read_number(f"{value:f}e{power}", decimal_mark=".")
    assert isinstance(number, PrintedNumber)
    assert number.value == Decimal(f"{value:f}e{power}")
    places = len(f"{value:f}".partition(".")[2])
    assert number.step == Decimal(1).scaleb(power - places)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert isinstance(read_number(text), PrintedNumber | UnknownNumber)
    assert isinstance(read_bound(text), NumberLimit | UnknownNumber)


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["12.5", "1,234"], "."),
        (["12,5", "1.234"], ","),
        (["1,234", "5,678"], None),
        (["12,5", "12.5"], None),
        (["1,234.5"], "."),
        (["1.234.567"], ","),
        (["MET", "", "17"], None),
    ],
)
def test_the_other_numbers_of_a_source_show_its_decimal_mark(
    texts: list[str], mark: str | None
) -> None:
    assert find_decimal_mark(texts) == mark


def number_of(text: str) -> PrintedNumber:
    number = read_number(text)
    assert isinstance(number, PrintedNumber), number
    return number


@pytest.mark.parametrize(
    ("value", "comparator", "limit", "outcome"),
    [
        ("0.79 s", "<=", "800 ms", True),
        ("0.81 s", "<=", "800 ms", False),
        ("85 %", ">=", "0.8 ratio", True),
        ("12 errors", "<=", "5", False),
        ("-0.31 ns", ">=", "0", False),
        ("0.00 ns", ">=", "0", True),
        ("100.0 %", ">=", "100 %", True),
        ("85", ">=", "85.4", "rounded"),
        ("85", ">=", "85.6", False),
        ("12 ns", "<=", "5", "unit"),
        ("12 ns", "<=", "5 mW", "unit"),
        ("12", "<=", "5 mW", "unit"),
        ("12 errors", "<=", "5 ns", "unit"),
        ("1 MW", "<=", "20 mW", False),
    ],
)
def test_a_number_is_compared_in_the_unit_of_its_limit(
    value: str, comparator: Any, limit: str, outcome: object
) -> None:
    compared = compare(number_of(value), comparator, number_of(limit))
    assert (compared.reason if isinstance(compared, UnknownNumber) else compared) == outcome


def test_a_count_is_exact_and_compares_with_any_limit() -> None:
    count = read_number("85", is_count=True)
    assert isinstance(count, PrintedNumber)
    assert compare(count, ">=", number_of("85.4")) is False


@pytest.mark.parametrize(
    ("part", "whole", "outcome"),
    [
        ("3", "4", Decimal(75)),
        ("0", "4", Decimal(0)),
        ("0", "0", "not_measured"),
        ("5", "4", "above_whole"),
        ("-1", "4", "above_whole"),
        ("4", "4", Decimal(100)),
    ],
)
def test_a_part_of_a_whole_is_a_share_up_to_all_of_it(
    part: str, whole: str, outcome: object
) -> None:
    share = share_of(number_of(part), number_of(whole))
    assert (share.reason if isinstance(share, UnknownNumber) else share.value) == outcome


@pytest.mark.parametrize(
    ("text", "comparator", "value", "unit"),
    [
        ("at least 85 %", ">=", "85", "%"),
        ("≥ 0.9", ">=", "0.9", ""),
        ("< 800 ms", "<", "800", "ms"),
        ("<=5", "<=", "5", ""),
        ("max. 12", "<=", "12", ""),
        ("Maximum: 3 errors", "<=", "3", "errors"),
        ("No more than 10", "<=", "10", ""),
        ("above 99.9 %", ">", "99.9", "%"),
    ],
)
def test_a_limit_is_read_with_its_sense(text: str, comparator: str, value: str, unit: str) -> None:
    bound = read_bound(text)
    assert isinstance(bound, NumberLimit), bound
    assert (bound.comparator, bound.number.value, bound.number.unit) == (
        comparator,
        Decimal(value),
        unit,
    )


@pytest.mark.parametrize("text", ["85 %", "between 5 and 9", "at least many", "minutes 5"])
def test_a_limit_without_sense_or_number_is_unknown(text: str) -> None:
    assert isinstance(read_bound(text), UnknownNumber)


def test_a_limit_without_words_takes_the_sense_that_the_caller_knows() -> None:
    bound = read_bound("80 %", default=">=")
    assert isinstance(bound, NumberLimit)
    assert bound.comparator == ">="


def test_a_value_is_converted_within_its_quantity_only() -> None:
    converted = convert(number_of("1.5 s"), "ms")
    assert isinstance(converted, PrintedNumber)
    assert (converted.value, converted.step) == (Decimal(1500), Decimal(100))
    assert isinstance(convert(number_of("1.5 s"), "mW"), UnknownNumber)


@pytest.mark.parametrize(
    "key", ["totals", "latency_min", "errors", "WNS", "s", "size_kb_max", "p95", "error_rate"]
)
def test_a_key_without_a_unit_states_none(key: str) -> None:
    assert unit_of_key(key) is None


@pytest.mark.parametrize(
    "heading", ["Fanout", "Net (fanout)", "Description", "Count", "Cell type", "Max"]
)
def test_a_heading_without_a_unit_states_none(heading: str) -> None:
    assert unit_of_heading(heading) is None
