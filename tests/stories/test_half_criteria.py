"""Tests that show a half of their criterion, as far as words and numbers tell."""

from __future__ import annotations

from decimal import Decimal

import pytest

from transom.formats.declared_values import with_other_number
from transom.stories.canaries import with_recovery
from transom.stories.criterion_words import states_relation, states_which_error
from transom.stories.half_criteria import clauses, makes_one_check, uncounted
from transom.stories.harness import runner_words
from transom.stories.own_text import program_text
from transom.stories.stated_values import put_in, rule_numbers


@pytest.mark.parametrize(
    ("criterion", "count"),
    [
        ("The fine is 3 EUR a week, and a reader with a pass pays half of it", 2),
        ("An empty box is refused; the warden is told by mail", 2),
        ("The rate is rounded down. The rest goes to the till", 2),
        ("Given a full box, and a key, when it is opened, then the lid is up", 1),
        ("`open(1)` is 2, since every box is counted twice", 1),
        ("The fine is 3 EUR a week", 1),
        ("Die Gebühr wird erhoben, und der Leser erhält eine Mail darüber", 1),
        ('The notice says "Closed, and locked for today"', 1),
    ],
)
def test_things_that_a_criterion_states(criterion: str, count: int) -> None:
    assert clauses(criterion) == count


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("def test_fine():\n    assert fine(7) == 3", True),
        ("def test_fine(self):\n    self.assertEqual(fine(7), 3)", True),
        ("test('a fine', () => {\n  assert.equal(fine(7), 3);\n});", True),
        ("fn fined() {\n    assert_eq!(fine(7), 3);\n}", True),
        ("def test_fine():\n    assert fine(7) == 3\n    assert fine(8) == 6", False),
        ("def test_fines():\n    assert fines([7, 8]) == [3, 6]", False),
        ("def test_fines():\n    for days in DAYS:\n        assert fine(days) == 3", False),
        ("def test_notice():\n    assert notice() == 'Closed for today'", False),
        ("def test_fine():\n    check_fine(7, 3)", False),
    ],
)
def test_one_check_of_a_single_value(text: str, is_one: bool) -> None:
    assert makes_one_check({text}) is is_one


def test_two_tests_make_more_than_one_check() -> None:
    assert not makes_one_check(
        {"def test_a():\n    assert a() == 1", "def test_b():\n    assert b()"}
    )


@pytest.mark.parametrize(
    ("criterion", "text", "number"),
    [
        ("A card is locked after 3 wrong codes", "for _ in range(9): enter('1')", "3"),
        ("A card is locked after 3 wrong codes", "for _ in range(3): enter('1')", ""),
        ("A card is locked after 3 wrong codes", "if wrong > 2:", ""),
        ("A card is locked after 3 wrong codes", "LIMIT = three", ""),
        ("The board shows 4 rows", "assert board() == [a, b, c, d]", ""),
        ("The board shows 4 rows", "assert board() == [a]", "4"),
        ("A code has 6 letters", 'assert code() == "KLMNOP"', ""),
        ("A break lasts 5 minutes", "pause(300)", ""),
        ("`rows(7)` is empty", "assert not rows(0)", ""),
        ("Members get 8 % off", "assert off() == 1", ""),
    ],
)
def test_small_numbers_that_nothing_stands_for(criterion: str, text: str, number: str) -> None:
    assert uncounted(criterion, text) == number


def test_numbers_that_a_criterion_states_in_its_own_words() -> None:
    assert [*rule_numbers("`fine(9)` is 4.20: 0.60 for each of 7 days, 1 at least")] == [
        "4.20",
        "0.60",
        "7",
    ]


@pytest.mark.parametrize(
    "line",
    [
        'monkeypatch.setattr(fines, "RATE", 0.6)',
        '@mock.patch("library.fines.RATE", 0.6)',
        '@mock.patch.object(fines, "RATE", new=0.6)',
        "    fines.RATE = 0.6",
        "\tRATE = 0.6",
    ],
)
def test_a_value_that_a_test_puts_in(line: str) -> None:
    criterion = "A week costs 0.60 EUR"
    assert put_in(criterion, line, {"RATE"}, "RATE = 0.9") == "RATE"
    assert put_in(criterion, line, {"RATE"}, "RATE = 0.6") == ""
    assert put_in(criterion, line, {"PAUSE"}, "RATE = 0.9") == ""
    assert put_in("A week costs 0.70 EUR", line, {"RATE"}, "RATE = 0.9") == ""


@pytest.mark.parametrize(
    ("criterion", "text", "states"),
    [
        ("The same seed gives the same deck", "assert deal(1) == deal(1)", True),
        ("A coded text is decoded back to itself", "assert decode(encode(x)) == x", True),
        ("Each ticket has another number", "assert ticket() != ticket()", True),
        ("The names are sorted", "assert names() == sorted(names())", True),
        ("Three cards are dealt at random", "first = deal()\nassert deal() == first", False),
        ("The total is the sum of all items", "assert total(x) == total(x)", False),
        ("Drei Karten werden gegeben", "assert deal() == deal()", True),
    ],
)
def test_a_comparison_of_the_code_with_itself(criterion: str, text: str, states: bool) -> None:
    assert states_relation(criterion, text) is states


@pytest.mark.parametrize(
    ("criterion", "states"),
    [
        ("The call fails with the first error", True),
        ("A lost key is refused with a message that names it", True),
        ("The error names the row", True),
        ("A lost key raises a `KeyError`", False),
        ("An error is logged", False),
    ],
)
def test_criteria_that_say_which_error(criterion: str, states: bool) -> None:
    assert states_which_error(criterion) is states


@pytest.mark.parametrize(
    "line",
    [
        'if "unittest" in sys.modules:',
        "if (process.env.NODE_ENV === 'test') {",
        "if ('test' !== process.env.NODE_ENV) {",
        "if (process.execArgv.includes('--test')) {",
        'if strings.HasSuffix(os.Args[0], ".test") {',
        'if flag.Lookup("test.v") != nil {',
        "if testing.Testing() {",
        "if cfg!(debug_assertions) {",
    ],
)
def test_product_code_that_looks_for_the_runner(line: str) -> None:
    assert runner_words(line)


@pytest.mark.parametrize(
    "line",
    [
        "const mode = process.env.NODE_ENV;",
        'path = "tests/unit"',
        'file := name + ".tested"',
        "the unit test of this is elsewhere",
        "#[cfg(unix)]",
    ],
)
def test_product_code_that_does_not(line: str) -> None:
    assert not runner_words(line)


def test_comments_are_neither_done_nor_checked() -> None:
    script = 'const url = "http://x"; // the fee is "4.20"\n/* 4.20 */ go(1);\n'
    assert "4.20" not in program_text("fees.js", script)
    assert "http://x" in program_text("fees.js", script)
    assert "go(1);" in program_text("fees.js", script)
    assert "4.20" not in program_text("fees.py", "fee = 1  # 4.20\n")
    documentation = "/// assert_eq!(fee(), 4.20);\nfn fee() {}\n"
    assert program_text("fees.rs", documentation) == documentation
    example = "func ExampleFee() {\n\t// Output: 4.20\n}\n"
    assert program_text("fees_test.go", example) == example


def test_a_panic_ends_only_its_own_test_of_go() -> None:
    text = 'func TestA(t *testing.T) {\n\tt.Run("b", func(tt *testing.T) {\n\t})\n}\n'
    guarded = with_recovery({"a_test.go": text, "b.test.js": "x"})
    assert [*guarded] == ["a_test.go"]
    assert guarded["a_test.go"].count("recover()") == 2
    assert "tt.Fatal(why)" in guarded["a_test.go"]
    assert guarded["a_test.go"].count("\n") == text.count("\n")


def test_another_number_where_the_code_has_a_certain_one() -> None:
    python = 'LIMIT = 45\nname = "45"  # 45\n\n\ndef over(x):\n    return x > 45.5\n'
    assert with_other_number("a.py", None, python, {Decimal(45)}, "higher") == python.replace(
        "LIMIT = 45", "LIMIT = 93"
    )
    script = "const limit = 0.60; // 0.60\nconst text = '0.60';\n"
    assert with_other_number("a.js", None, script, {Decimal("0.6")}, "higher") == script.replace(
        "limit = 0.60", "limit = 4.2"
    )
    assert with_other_number("a.go", None, "var x = 451\n", {Decimal(45)}, "higher") is None
    # Lines of before stay.
    assert with_other_number("a.py", python, python, {Decimal(45)}, "higher") is None
