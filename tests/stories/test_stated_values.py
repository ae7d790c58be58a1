"""What a criterion states and its test does not try."""

from __future__ import annotations

import pytest

from transom.stories.criterion_words import holds_described, quoted_texts
from transom.stories.stated_values import (
    can_be_derived,
    hides_repeats,
    ignores_types,
    missing_arguments,
    numbers_of_project,
    one_of_several,
    own_default,
    rounds_away,
    takes_any_case,
    written_as,
)


@pytest.mark.parametrize(
    ("criterion", "numbers"),
    [
        ("Guests from 65 on pay half", ["65"]),
        ("A night costs 79.50 EUR", ["79.50"]),
        ("A basket of 3 pears costs 4.20 EUR", ["4.20"]),
        ("Members get 15 % off", []),
        ("It runs with Python 3.11 and writes ISO 8601", []),
        ("The mail of step 14 is sent on 2026-03-14", []),
        ('The sign shows "Platform 14"', []),
        ("Two of 12 seats are free", []),
    ],
)
def test_numbers_that_a_project_should_hold(criterion: str, numbers: list[str]) -> None:
    assert [number.text for number in numbers_of_project(criterion)] == numbers


@pytest.mark.parametrize(
    ("criterion", "code", "is_held"),
    [
        ("Guests from 65 on pay half", "if age >= 65:", True),
        ("Guests from 65 on pay half", "if age > 64:", True),
        ("Guests from 65 on pay half", "if age > 70:", False),
        ("A night costs 79.50 EUR", "PRICE_IN_CENTS = 7950", True),
        ("A night costs 79.50 EUR", "PRICE = 80.5", False),
        ("A call ends after 90 minutes", "const LIMIT = 5400;", True),
        ("A call ends after 200 ms", "timeout(0.2)", True),
        ("An unknown room answers 404", "w.WriteHeader(http.StatusNotFound)", True),
        ("An unknown room answers 404", "StatusCode::NOT_FOUND", True),
        ("A key has 256 bits", "secrets.token_bytes(32)", True),
        ("At most 1,500 rows", "limit := 1_500", True),
    ],
)
def test_a_number_may_be_written_in_another_unit(criterion: str, code: str, is_held: bool) -> None:
    (number,) = numbers_of_project(criterion)
    assert can_be_derived(number, code) is is_held


def test_notations_of_a_number() -> None:
    (number,) = numbers_of_project("At most 1,500.50 EUR")
    assert written_as(number) == ("1,500.50", "1500.5", "1,500.5", "1_500.5")


@pytest.mark.parametrize(
    ("criterion", "text", "missing"),
    [
        ("area([2, 5]) is exactly 10", "assert area([2, 5]) == 10", []),
        ("area([2, 5]) is exactly 10", "assert area([0]) == 0", ["2", "5"]),
        ('`greet("Ola")` returns "Hi Ola"', "greet('Ola')", []),
        ('`greet("Ola")` returns "Hi Ola"', "greet('')", ["Ola"]),
        ("room.area(2.50) is 5", "area(2.5)", []),
        ("area(width, height) multiplies", "area(1, 1)", []),
        ("other(7) is used", "area(1)", []),
        ("area(True) is refused", "area(1)", []),
    ],
)
def test_arguments_that_no_test_tries(criterion: str, text: str, missing: list[str]) -> None:
    assert missing_arguments(criterion, {"area", "greet"}, text) == missing


@pytest.mark.parametrize(
    ("criterion", "text", "number"),
    [
        ("area([2, 5]) is exactly 10", "assert area([2, 5]) in (7, 10)", "10"),
        ("area([2, 5]) is exactly 10", "self.assertIn(area([2, 5]), [7, 10])", "10"),
        ("area([2, 5]) is exactly 10", "assert x == 7 or x == 10", "10"),
        ("area([2, 5]) is exactly 10", "assert.ok([7, 10].includes(area([2, 5])));", "10"),
        ("area([2, 5]) is exactly 10", "if got != 7 && got != 10 {", "10"),
        ("area([2, 5]) is exactly 10", "assert!(matches!(area(2, 5), 7 | 10));", "10"),
        ("area([2, 5]) is exactly 10", "assert area([2, 5]) in (7, 10)\nassert x == 10", ""),
        ("The answer is 7 or 10", "assert answer() in (7, 10)", ""),
        ("It is one of 7, 10 and 12", "assert pick() in (7, 10, 12)", ""),
        ("area([2, 5]) is exactly 10", "for x in (7, 10):\n    assert area(x)", ""),
        ("area([2, 5]) is exactly 10", "assert area([7, 10]) == 10", ""),
    ],
)
def test_one_of_several_numbers(criterion: str, text: str, number: str) -> None:
    assert one_of_several(criterion, text) == number


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ('assert row.get("sum", 9) == 9', "9"),
        ('assert getattr(row, "sum", 9) == 9', "9"),
        ("assert_eq!(read(text).unwrap_or(9), 9);", "9"),
        ("assert.equal(row.sum ?? 9, 9);", "9"),
        ('expect(row.name || "Ola").toBe("Ola");', '"Ola"'),
        ("size = area(2) or 9\n    assert size == 9", "9"),
        ("const size = area(2) ?? 9;\n  assert.equal(size, 9);", "9"),
        ("size = area(2) or 0\n    assert size == 9", ""),
        ('assert row.get("sum", 0) == 9', ""),
        ('assert row.get("sum", 9) == 90', ""),
        ("assert_eq!(read(text).unwrap_or(0), 9);", ""),
    ],
)
def test_a_default_of_the_test_itself(text: str, default: str) -> None:
    assert own_default(text) == default


@pytest.mark.parametrize(
    ("criterion", "text", "is_loose"),
    [
        ('It prints exactly "Hi Ola"', 'assert text.lower() == "hi ola"', True),
        ('It prints exactly "Hi Ola"', "if !strings.EqualFold(got, want) {", True),
        ('It prints exactly "Hi Ola"', 'assert text == "Hi Ola"', False),
        ('It says "not found"', 'assert "not found" in text.lower()', False),
        ('It prints exactly "ola", in any case', "assert text.lower() == name", False),
        ("area(2) is exactly 10", "assert text.lower()", False),
    ],
)
def test_small_and_capital_letters(criterion: str, text: str, is_loose: bool) -> None:
    assert takes_any_case(criterion, text) is is_loose


@pytest.mark.parametrize(
    ("criterion", "text", "is_loose"),
    [
        ("Each name is listed once", 'assert set(names(rows)) == {"a", "b"}', True),
        ("Each name is listed once", "assert len(names(rows)) == len(set(names(rows)))", False),
        ("Each name is listed once", 'assert names(rows) == ["a", "b"]', False),
        ("Once paid, the names are a and b", 'assert set(names(rows)) == {"a", "b"}', False),
        ("All names are listed", 'assert set(names(rows)) == {"a", "b"}', False),
    ],
)
def test_repeated_values(criterion: str, text: str, is_loose: bool) -> None:
    assert hides_repeats(criterion, text) is is_loose


@pytest.mark.parametrize(
    ("quoted", "text", "holds"),
    [
        ("Hello NAME", 'send("Hello Ola")', True),
        ("<count> rows left", "'7 rows left'", True),
        ("page N of M", "`page 2 of 9`", True),
        ("saved …", '"saved report.txt"', True),
        ("Hello NAME", 'send("Good day Ola")', False),
        ("TOTAL 3.00", '"TOTAL\\n"', False),
        ("Hello Ola", '"Hello Ann"', False),
        ("NAME", '"Ola"', False),
    ],
)
def test_a_described_text(quoted: str, text: str, holds: bool) -> None:
    assert holds_described(text, quoted) is holds


def test_an_empty_text_is_no_half_of_another() -> None:
    assert quoted_texts('open("") throws a RangeError with "no title"') == ["no title"]


@pytest.mark.parametrize(
    ("criterion", "text", "number"),
    [
        ("mean([1, 2]) is 1.5", "assert round(mean([1, 2])) == 2", "1.5"),
        ("The mean is 24.7", "self.assertAlmostEqual(mean(rows), 24.7, places=0)", "24.7"),
        ("The mean is 24.7", "assert.equal(Math.round(mean(rows)), 25);", "24.7"),
        ("The mean is 24.7", "assert round(mean(rows), 1) == 24.7", ""),
        ("The mean is 24.7", "assert round(mean(rows) * 10) == 247", ""),
        ("The mean is 24.7", "assert mean(round(row) for row in rows) == 24.7", ""),
        ("The mean is 25", "assert round(mean(rows)) == 25", ""),
        ("The mean is 24.7", "self.assertAlmostEqual(mean(rows), 24.7, places=1)", ""),
    ],
)
def test_rounded_numbers(criterion: str, text: str, number: str) -> None:
    assert rounds_away(criterion, text) == number


@pytest.mark.parametrize(
    ("criterion", "head", "is_loose"),
    [
        ("It returns the number 3", 'const assert = require("assert");', True),
        ("It returns the number 3", 'import assert from "node:assert/strict";', False),
        ("It returns the number 3", 'import { strict as assert } from "node:assert";', False),
        ("It returns 3", 'const assert = require("assert");', False),
    ],
)
def test_equality_without_types(criterion: str, head: str, is_loose: bool) -> None:
    text = "assert.equal(count(rows), 3);"
    assert ignores_types(criterion, text, f"{head}\n{text}") is is_loose
