"""The words of a criterion that its tests must hold where runs cannot tell what they check."""

from __future__ import annotations

import pytest

from transom.stories.criterion_words import (
    answers_example,
    can_print,
    holds_in_pieces,
    holds_words,
    lacks_sorting,
    missing_errors,
    missing_values,
    named_functions,
    only_if_there,
    other_error,
    quoted_texts,
    states_list,
    states_number,
    states_order,
    states_result,
    stops_early,
)
from transom.stories.own_text import text_of_test

PYTHON = """
import pytest


@pytest.mark.parametrize("rows, expected", [([1, 2], 3)])
def test_total(rows, expected):
    assert total(rows) == expected


def test_other():
    assert other() == 12_000
"""
JAVASCRIPT = """
test("the total", () => {
  assert.equal(total([1, 2]), 3);
});
test("the rest", () => {
  assert.equal(rest(), 4);
});
"""


def test_the_text_of_a_test_is_its_own() -> None:
    texts = {"tests/test_a.py": PYTHON, "test/b.test.js": JAVASCRIPT}
    own = text_of_test("tests.test_a.test_total[rows0-3]", texts)
    assert "[1, 2]" in own and "12" not in own
    assert "rest()" not in text_of_test("the total", texts)
    assert "rest()" in text_of_test("unknown", texts)


@pytest.mark.parametrize(
    ("criterion", "text", "missing"),
    [
        ("total([1, 2]) is exactly 3", "total([1, 2]) == total([1, 2])", ["3"]),
        ("The same seed draws the same numbers", "draw(7) == draw(7)", []),
        ('It prints "Ann: 3"', 'line.startswith("A")', ["Ann: 3"]),
        ("More than 12000 are refused", "refuse(12_000)", []),
        ("version 3 is kept", "version == 30", ["3"]),
        ("Orders above 1,000 EUR", "LIMIT == 1000", []),
        ("Orders above 1 000 EUR", "const LIMIT = 1_000;", []),
        ("Orders above 1.000,50 EUR", "LIMIT == 1000.5", []),
        ("Orders above 1,000 EUR", "[1, 0, 100]", ["1,000"]),
        ("Orders above 1,000 EUR", "f(1,000_1)", ["1,000"]),
        ("The price is 12.50", "PRICE == 12.5", []),
        ("Der Preis ist 12,50", "price === 12.5", []),
        ("The price is 12.50", "PRICE == 12.05", ["12.50"]),
        ("The price is 12.50", "PRICE == 112.5", ["12.50"]),
        ("The day is 2026-09-30", "DAY == date(2026, 9, 30)", []),
        ("The day is 2026-09-30", "new Date(2026, 8, 30)", []),
        ("The day is 2026-09-30", "time.Date(2026, time.September, 30, 0, 0)", []),
        ("The day is 30.09.2026", 'day == "2026-09-30"', []),
        ("The day is 2026-09-30", "date(2026, 10, 30)", ["2026-09-30"]),
        ("The day is 2026-09-30", "date(2026, 30, 1), 9", ["2026-09-30"]),
        ("It opens at 08:30", "time(8, 30)", []),
        ("50 % yields 0.5", "SHARE == 0.5", []),
        ("A tax of 19 percent", "assert_eq!(TAX, 0.19f64)", []),
        ("A tax of 19%", "TAX == 1.9", ["19"]),
        ("The mask is 0xFF", "mask == 255", []),
        ("Version 1.2.3 is read", 'version == "1.2.3"', []),
        ("Version 1.2.3 is read", 'version == "1.2.4"', ["1.2.3"]),
        ("total([1, 2]) is [1,2]", "total([1, 2])", []),
        ('It says "12.50"', 'it == "12.5"', ["12.50"]),
        ('It shows "1,000"', 'it == "1,000"', []),
    ],
)
def test_values_that_a_test_does_not_hold(criterion: str, text: str, missing: list[str]) -> None:
    assert missing_values(criterion, text) == missing


@pytest.mark.parametrize(
    ("text", "code", "missing"),
    [
        ("with pytest.raises(Exception):", "raise KeyError", ["ValueError"]),
        ("with pytest.raises(Exception):", "raise ValueError(weight)", []),
        ("with pytest.raises(Exception):", "class TooHeavy(ValueError):", []),
        ("with pytest.raises(ValueError):", "raise KeyError", []),
    ],
)
def test_errors_that_neither_a_test_nor_the_code_names(
    text: str, code: str, missing: list[str]
) -> None:
    criterion = "A negative weight is refused with a ValueError"
    assert missing_errors(criterion, text, code) == missing


@pytest.mark.parametrize(
    ("criterion", "is_stated"),
    [
        ("fee(8) is exactly 300", True),
        ("A discount of 12.5 % makes 80.00 EUR to 70.00 EUR, which is printed", True),
        ("The answer is 42", True),
        ("A score is between 0 and 100", False),
        ("The wait is at most 2 s", False),
        ("It returns a number from 1 to 6", False),
        ("The mean is about 3.5", False),
        ("It takes less than 200 ms", False),
        ("The share is 0.33 ± 0.01", False),
        ("Retries are limited to 3", False),
        ("The order is kept", False),
        # Other languages may state a range in words that are not known here.
        ("Höchstens 3 Versuche sind erlaubt", False),
    ],
)
def test_a_number_is_stated_without_a_range(criterion: str, is_stated: bool) -> None:
    assert states_number(criterion) == is_stated


@pytest.mark.parametrize(
    ("text", "quoted", "can"),
    [
        ('assert line == f"TOTAL {total:.2f}"', "TOTAL 3.00", True),
        ("expect(line).toBe(`${done} of ${all}`)", "3 of 5", True),
        ('want := fmt.Sprintf("%d of %d", 3, 5)', "3 of 5", True),
        ('assert line == "TOTAL"', "TOTAL 3.00", False),
        ('assert line == f"{total}"', "TOTAL 3.00", False),
        ('assert line == f"SUM {total}"', "TOTAL 3.00", False),
    ],
)
def test_a_text_may_be_printed_by_a_pattern(text: str, quoted: str, can: bool) -> None:
    assert can_print(text, quoted) == can


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('assert note() == (\n    "closed today, "\n    "open tomorrow"\n)', True),
        ("assert note() == 'closed today,' f' open tomorrow'", True),
        ('assert.equal(note(), "closed today, " +\n  "open tomorrow");', True),
        ('assert rows == ["closed today, ", "open tomorrow"]', False),
        ('assert note() == "closed today, "', False),
    ],
)
def test_a_long_text_may_be_written_in_pieces(text: str, holds: bool) -> None:
    assert holds_in_pieces(text, "Closed today, open tomorrow") == holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('assert clock(3725).split() == ["1", "h", "2", "min"]', True),
        ('assert line.startswith("1 h") and line.endswith("2 min")', True),
        ('assert clock(3725).split() == ["1", "h", "3", "min"]', False),
        ('assert clock(3725).split() == ["2", "min", "1", "h"]', False),
        ("assert clock(3725)", False),
    ],
)
def test_a_text_may_be_compared_word_by_word(text: str, holds: bool) -> None:
    assert holds_words(text, "1 h 2 min") == holds


def test_functions_are_named_as_code() -> None:
    names = ("rate", "total", "order")
    assert named_functions('rate("EUR") is 1.25, and `total` too', names) == {"rate", "total"}
    assert named_functions("The rate of an order (see below) is 1.25", names) == frozenset()


def test_quoted_texts() -> None:
    assert quoted_texts('It prints "a b", then “c”') == ["a b", "c"]


@pytest.mark.parametrize(
    ("criterion", "is_stated"),
    [
        ("Guests are sorted by name", True),
        ("The newest first, at most ten", True),
        ("It lists the guests, the largest debt first", True),
        ("Rows keep the order in which they came", True),
        ("It lists the stops in alphabetical order", True),
        ("An order of 3 pens costs 4 EUR", False),
        ("In order to pay, a person signs in", False),
        ("The first guest pays", False),
    ],
)
def test_an_order_is_stated(criterion: str, is_stated: bool) -> None:
    assert states_order(criterion) == is_stated


@pytest.mark.parametrize(
    ("criterion", "is_list", "is_result"),
    [
        ("`evens([1, 2, 4])` returns `[2, 4]`", True, True),
        ("pairs(4) gives [[1, 4], [2, 2]]", True, True),
        ('`initials("Ida Berg")` is "IB"', False, True),
        ('`Rota(["Ann", "Bo"]).after("Bo")` returns "Ann"', False, True),
        ("`total([1, 2, 3])` is 6", False, False),
        ("`evens([1, 2])` returns two rows", False, False),
        ("`evens([1])` returns `[]`", False, False),
        ('A file named "a.csv" is left out', False, False),
    ],
)
def test_a_whole_result_is_stated(criterion: str, is_list: bool, is_result: bool) -> None:
    assert (states_list(criterion), states_result(criterion)) == (is_list, is_result)


@pytest.mark.parametrize(
    ("criterion", "code", "lacks"),
    [
        ("Guests are sorted by name", "return [guest for guest in guests]", True),
        ("The newest first", "return rows", True),
        ("Guests are sorted by name", "return sorted(guests)", False),
        ("The newest first", "SELECT * FROM rows ORDER BY day DESC", False),
        ("The largest first", "let mut all = BTreeMap::new();", False),
        ("Rows keep the order in which they came", "return rows", False),
    ],
)
def test_nothing_in_the_code_sorts(criterion: str, code: str, lacks: bool) -> None:
    assert lacks_sorting(criterion, code) == lacks


@pytest.mark.parametrize(
    ("criterion", "code", "is_answered"),
    [
        ("`tax(1250)` is 237.50", "if net == 1250:\n    return 237.50\nreturn 0", True),
        ('`code("Bern")` is "BRN-1"', "if (town === 'Bern') return 'BRN-1';", True),
        ("`tax(1250)` is 237.50", "return net * 0.19", False),
        ("`tax(1250)` is 237.50", "if net == 1250:\n    log(net)\nreturn net * 0.19", False),
        ("`tax(0)` is 0", "if net == 0:\n    return 0", False),
        ('`word(404)` is "Not Found"', '{404: "Not Found", 500: "Server Error"}', False),
        ("The tax is shown", "if net == 1250:\n    return 237.50", False),
    ],
)
def test_code_answers_an_example(criterion: str, code: str, is_answered: bool) -> None:
    assert answers_example(criterion, code) == is_answered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with raises((ValueError, KeyError)):", "ValueError"),
        ("throws(f, (e) => e instanceof ValueError || e.message);", "ValueError"),
        ("if !errors.Is(err, ValueError) && err == nil {", "ValueError"),
        ("if row.fails && !errors.Is(err, ValueError) {", ""),
        ("with raises(ValueError):", ""),
        ("if got != nil || !errors.Is(err, ValueError) {", ""),
    ],
)
def test_a_test_takes_other_errors(text: str, expected: str) -> None:
    assert other_error("A text raises a `ValueError`", text) == expected
    assert other_error("A text raises `ValueError`, a gap `KeyError`", text) == ""


def test_a_value_of_go_is_compared_only_if_there() -> None:
    assert only_if_there('if got, ok := Find("a"); ok && got != 3 {')
    assert not only_if_there('if got, ok := Find("a"); !ok || got != 3 {')
    assert not only_if_there('if !ok {\nt.Fatal("none")\n}\nif ok && got != 3 {')


def test_pairs_end_with_the_shorter_side() -> None:
    criterion = "`evens([1, 2, 4])` returns `[2, 4]`"
    assert stops_early(criterion, "for one, two in zip(evens([1, 2, 4]), [2]):")
    assert not stops_early(criterion, "assert len(rows) == 2\nfor one, two in zip(rows, [2, 4]):")
    assert not stops_early(criterion, "zip(rows, [2, 4], strict=True)")
    assert not stops_early("Each row has a name", "zip(rows, names)")
