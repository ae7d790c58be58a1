"""How numbers are written: a sign with a space, a sign in an accountant's brackets, no digit
before the point.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.context.summary import without_unsupported

numbers = st.decimals(min_value="0.001", max_value="99999", places=3).map(
    lambda value: f"{value.normalize():f}"
)
SPACED = [
    "slack: {}",
    "slack = {} ns",
    "x={}, y=900001",
    "it was ({})",
    "| slack | {} | ns |",
    "from {} to 900001",
    "is {}%",
]
CELLS = [
    "cells\t({})",
    "| cells | ({}) | 7 |",
    "cells    ({})   7",
    "a,({}),7",
    "loss: (${})",
    "({})",
]
PARTED = [
    "{} ns is the slack",
    "  {} ns",
    "900001 {}",
    "90% {}",
    "the slack {} ns",
    "x <{}",
    "(a) {}",
    "one: two {}",
]


def struck(said: str, source: str) -> bool:
    return bool(without_unsupported(said, source)[1])


@settings(max_examples=examples(60))
@given(numbers, st.sampled_from(SPACED), st.sampled_from("-−–"))
def test_a_dash_and_a_space_are_a_sign_where_a_value_begins(
    number: str, where: str, dash: str
) -> None:
    text = where.format(f"{dash} {number}")
    percent = "%" * where.endswith("%")
    assert not struck(f"it is -{number}{percent}", text)
    assert struck(f"it is {number}{percent}", text)
    assert not struck(text, f"-{number}{percent} or 900001; 1")
    assert struck(text, f"{number}{percent} or 900001; 1")
    assert without_unsupported(text, f"90 % of 7\n{text}\n") == (text, ())


@settings(max_examples=examples(60))
@given(numbers, st.sampled_from(PARTED))
def test_elsewhere_a_dash_parts_a_number_from_what_is_before_it(number: str, where: str) -> None:
    text = where.format(f"- {number}")
    assert not struck(f"it is {number}", text)
    assert struck(f"it is -{number}", text)


@settings(max_examples=examples(60))
@given(
    numbers,
    st.sampled_from(CELLS),
)
def test_a_number_alone_in_brackets_in_a_cell_may_be_negative_or_not(
    number: str, where: str
) -> None:
    text = where.format(number)
    for said in (f"it is {number}", f"it is -{number}", text):
        assert not struck(said, text)
    assert struck(f"it is {number}1", text)


@pytest.mark.parametrize(
    "text",
    [
        "the slack (0.5) is met",
        "f(0.5)",
        "(0.5 ns)",
        "the slack (0.5)",
        "1. (0.5) a",
        "it (0.5), then",
    ],
)
def test_in_a_sentence_brackets_say_nothing_of_a_sign(text: str) -> None:
    assert not struck("it is 0.5", text)
    assert struck("it is -0.5", text)


@settings(max_examples=examples(60))
@given(
    st.integers(1, 999_999),
    st.sampled_from(["", "-", "+", "$", "-$", "x = - "]),
    st.sampled_from([" ns", "%", "", "e-3"]),
)
def test_a_point_needs_no_digit_before_it(digits: int, sign: str, unit: str) -> None:
    short, whole = f"it is {sign}.{digits}{unit} then", f"it is {sign}0.{digits}{unit} then"
    other = f"it is {'' if '-' in sign else '-'}0.{digits}{unit} then"
    for one, two in ((short, whole), (whole, short), (short, short)):
        assert without_unsupported(one, two) == (one, ())
    assert struck(short, other) and struck(other, short)
    assert struck(short, f"it is {sign}{digits}{unit} then"), (
        "without the point it is another number"
    )
    assert without_unsupported(short, "none")[1][0].lstrip("-+$ ").startswith(".")


@pytest.mark.parametrize("text", ["a.5", "f().5", "x[3].5", "1...5", "a..5", "run.5.log"])
def test_a_point_behind_a_word_or_another_point_is_no_decimal_one(text: str) -> None:
    assert struck("it is .5", text)


def test_what_is_struck_goes_with_its_sign() -> None:
    assert without_unsupported("slack: - 0.5 ns", "none") == (
        "slack: [struck: not in the source] ns",
        ("- 0.5",),
    )
    assert without_unsupported("slack: .5 ns", "none") == (
        "slack: [struck: not in the source] ns",
        (".5",),
    )


def test_a_percentage_is_no_other_one_by_a_factor_of_a_hundred() -> None:
    for said, source in (("0.10%", "10%"), ("1000%", "10%"), ("0.0010", "10%")):
        assert struck(said, source), (said, source)
    for said, source in (
        ("10%", "0.1"),
        ("0.1", "10%"),
        ("10", "10%"),
        ("10%", "10"),
        ("0.1%", "0.001"),
    ):
        assert not struck(said, source), (said, source)
