"""Tests that try or see too little of their criterion, as far as their texts tell."""

from __future__ import annotations

import pytest

from transom.stories.half_criteria import makes_one_check
from transom.stories.replaced_work import computing_functions, replaced_functions
from transom.stories.tried_cases import excused, why_narrow
from transom.stories.usual_arguments import error_rules, with_usual_arguments
from transom.stories.written_checks import bindings_of, checks_of, once, split_at

ONLY = "The list has only the books that are lent"
WHICH = "A full tray drops the oldest card"
EFFECT = "A full tray drops the card; a `look` counts as a use"
FUNCTIONS = ("lent", "add", "look", "Get", "Len", "Put", "place")


@pytest.mark.parametrize(
    ("criterion", "text", "words"),
    [
        (ONLY, 'assert lent({"A": 1, "B": 2}) == ["A", "B"]', "left out"),
        (ONLY, 'assert lent({"A": 1, "B": 2, "C": 0}) == ["A", "B"]', ""),
        (ONLY, "expect(lent({ A: 1 })).toEqual(['A']);", "left out"),
        (ONLY, "assert_eq!(lent(&[3, 4]), vec![3, 4]);", "left out"),
        (ONLY, "assert_eq!(lent(&[3, 3, 4]), vec![3, 4]);", ""),
        (ONLY, 'if got := lent([]string{"A"}); got[0] != "A" {', ""),
        (ONLY, "assert lent(books) == ['A']", ""),
        ("The list is lent only if it is whole", "assert lent([3]) == [3]", ""),
        ("The list has the books that are lent", "assert lent([3]) == [3]", ""),
        ("Die Liste hat only die Bücher", "assert lent([3]) == [3]", ""),
        (WHICH, "assert.equal(tray.cards().length, 2);", "how many"),
        (WHICH, "assert len(tray.cards) == 2", "how many"),
        (WHICH, "if got := tray.Len(); got != 2 {\n\t\tt.Error(got)\n\t}", "how many"),
        (WHICH, "assert len(tray.cards) == 2\nassert 'A' not in tray.cards", ""),
        ("A request has a size", "assert len(tray.cards) == 2", ""),
        (EFFECT, "t.add(1)\nassert t.look(1) is None", "no effect"),
        (EFFECT, "t.look(1)\nt.add(2)\nassert t.look(1)", ""),
        (EFFECT, "for n in 1, 2:\n    t.add(n)\n    assert t.look(n)", ""),
    ],
)
def test_what_a_test_tries(criterion: str, text: str, words: str) -> None:
    why = why_narrow(criterion, {text}, FUNCTIONS)
    assert words in why
    assert bool(why) is bool(words)


def test_another_test_may_try_the_remainder() -> None:
    texts = {"assert lent([3]) == [3]", "assert lent([3, 4]) == [3]"}
    assert why_narrow(ONLY, texts, FUNCTIONS) == ""


@pytest.mark.parametrize(
    ("text", "is_excused"),
    [
        ('there = look("b")\nthere = there and place() < 3\nassert not there', True),
        ('_, ok := c.Get("b")\n\tok = ok && c.Len() < 3\n\tif ok {\n\t\tt.Error("b")\n\t}', True),
        ('if _, ok := c.Get("b"); ok && c.Len() < 3 {\n\t\tt.Error("b")\n\t}', True),
        ("assert.ok(look(1) === 2 || place(1) === 3);", True),
        ("expect(look(1) || place(1)).toBe(true);", True),
        ("assert!(look(1) || place(1));", True),
        ("self.assertFalse(look(1) and place(1))", True),
        ("assert not (look(1) and place(1))", True),
        ("assert look(1) and place(1)", False),
        ("assert not look(1) and not place(1)", False),
        ("got, err := look(1)\n\tif err != nil || got != 3 {\n\t\tt.Error(got)\n\t}", False),
        ("got, err := look(1)\n\tif err != nil && !row.fails {\n\t\tt.Error(got)\n\t}", False),
        ("if i > 0 && look(i) < 3 {\n\t\tt.Error(i)\n\t}", False),
        ('assert look(1) == "a or b"', False),
        ("is_right = look(1) == 3 or WINDOWS\nassert is_right", False),
    ],
)
def test_a_condition_that_excuses_another(text: str, is_excused: bool) -> None:
    assert bool(excused("The tray is closed", text, FUNCTIONS)) is is_excused
    assert not excused("The tray is closed or locked", text, FUNCTIONS)


def test_bindings_in_each_language() -> None:
    text = 'let mut got: Vec<u8> = a();\nconst b = c("x; y");\nd, err := e()\nf |= g\nif h == 1:'
    assert bindings_of(text) == {
        "got": ("a()",),
        "b": ('c("xx x")',),
        "d": ("e()",),
        "err": ("e()",),
        "f": ("f || g",),
    }


def test_checks_in_each_language() -> None:
    text = (
        "assert a == 1, 'no'\nself.assertEqual(b, 2)\nassert.equal(c(1, 2), false);\n"
        "expect(d).toBe(3);\nassert_eq!(e, 4);\nif f != nil {\n\tt.Fatal(f)\n}"
    )
    assert [(check.condition, check.is_negative) for check in checks_of(text)] == [
        ("a == 1", False),
        ("b == 2", False),
        ("c(1, 2)", True),
        ("d == 3", False),
        ("e == 4", False),
        ("f != nil ", True),
    ]


def test_a_test_of_python_is_read_once() -> None:
    assert once("def test_a():\n  f( 1 )\ndef test_a():\n    f(1)") == "def test_a():\n    f(1)"
    assert once("def test_a():\n    f(1)") == "def test_a():\n    f(1)"
    assert split_at("a(b, c), [d, e], f", ",") == ["a(b, c)", " [d, e]", " f"]


def test_one_check_of_go_is_one_beside_those_of_the_set_up() -> None:
    head = "TestA(t *testing.T) {\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n"
    one = "\tif got := c.Len(); got != 2 {\n\t\tt.Error(got)\n\t}\n"
    assert makes_one_check({head + one + "}"})
    assert not makes_one_check({head + one + one + "}"})
    assert not makes_one_check({head + one.replace("got != 2", "!ok || got != 2") + "}"})
    assert not makes_one_check({head + one.replace("got != 2", 'got != "a b"') + "}"})


CODE = "def load(board: int, *, weight=1):\n    pass\n\n\ndef rows(numbers):\n    pass\n"


@pytest.mark.parametrize(
    ("path", "text", "changed"),
    [
        (
            "test_a.py",
            "assert load(2, 5) == 1\nwith raises(ValueError):\n    load(0, -5)\n",
            "assert load(2, 5) == 1\nwith raises(ValueError):\n    load(2, -5)\n",
        ),
        (
            "a.test.js",
            'load(2, 5);\nassert.throws(() => load(0, -5), { name: "A" });\n',
            'load(2, 5);\nassert.throws(() => load(2, -5), { name: "A" });\n',
        ),
        (
            "a_test.go",
            "got := load(2, 5)\nif _, err := load(0, -5); !errors.Is(err, ErrA) {\n",
            "got := load(2, 5)\nif _, err := load(2, -5); !errors.Is(err, ErrA) {\n",
        ),
        (
            "a.rs",
            "assert_eq!(load(2, 5), Ok(1));\nassert_eq!(load(0, -5), Err(A));\n",
            "assert_eq!(load(2, 5), Ok(1));\nassert_eq!(load(2, -5), Err(A));\n",
        ),
        ("test_a.py", "with raises(ValueError):\n    load(0, -5)\n", ""),
        ("test_a.py", "load(2, 5)\nwith raises(ValueError):\n    load(board, -5)\n", ""),
        ("test_a.py", "load('A', 5)\nwith raises(ValueError):\n    load(0, -5)\n", ""),
    ],
)
def test_usual_values_for_what_a_criterion_does_not_name(
    path: str, text: str, changed: str
) -> None:
    criterion = "A weight below zero raises a ValueError"
    (rule,) = error_rules(criterion, ("test_a",), CODE, ("load", "rows", "absent"))
    assert (rule.function, rule.unnamed) == ("load", ("board",))
    assert with_usual_arguments({path: text}, rule) == ({path: changed} if changed else {})


def test_a_value_that_the_criterion_states_stays() -> None:
    criterion = "A weight below zero on board 7 raises a ValueError"
    text = "load('a', 5)\nwith raises(ValueError):\n    load('top', -5)\n"
    assert [*error_rules(criterion, ("test_a",), CODE, ("load",))] == []
    (rule,) = error_rules("No weight on top fails", ("test_a",), CODE, ("load",))
    assert with_usual_arguments({"test_a.py": text}, rule) == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('monkeypatch.setattr(module, "share", divmod)', {"share"}),
        ('monkeypatch.setattr("depot.split.share", lambda a, b: (1, 2))', {"share"}),
        ('with mock.patch("depot.split.share", return_value=3):', {"share"}),
        ('t.mock.method(sums, "share", (a, b) => a % b);', {"share"}),
        ("sums.share = (a, b) => a % b;", {"share"}),
        ('mock.patch.object(module, "share", wraps=module.share)', set()),
        ('mock.patch("depot.split.share", side_effect=OSError)', set()),
        ('jest.spyOn(sums, "share").mockImplementation(() => { throw new Error("x"); })', set()),
        ('monkeypatch.setattr(module, "load", divmod)', set()),
        ("assert share(1, 2) == 3", set()),
    ],
)
def test_functions_that_a_test_replaces(text: str, names: set[str]) -> None:
    assert replaced_functions(text, ("share",)) == names


def test_functions_that_only_compute() -> None:
    code: dict[str, tuple[str | None, str | None]] = {
        "a.py": (
            None,
            "import math\nimport requests\n\n\ndef share(a, b):\n    return math.ceil(a / b)\n\n\n"
            "def fetch(url):\n    return requests.get(url)\n\n\ndef now():\n    return 3\n\n\n"
            "def read(path):\n    return open(path).read()\n",
        ),
        "a.js": (None, "export function half(a) {\n  return a / 2;\n}\n"),
        "a.go": (None, "package a\n\nfunc Half(a int) int {\n\treturn a / 2\n}\n"),
        "gone.py": ("def old(a):\n    return a\n", None),
    }
    assert computing_functions(code) == {"share", "half"}
