"""The text of a test, and whether the test checks anything."""

from __future__ import annotations

import pytest

from transom.stories.own_text import has_check, text_of_test

CLASSES = """class TestA:
    def test_x(self):
        assert five() == 5


class TestB:
    def test_x(self):
        assert seven() == 7


def test_x():
    assert nine() == 9
"""
GO = """package p

func TestPayment(t *testing.T) {
\tif pay() != 5 {
\t\tt.Error("no")
\t}
}

func TestPay(t *testing.T) {
\tpay()
}
"""
GROUPS = """describe("cats", () => {
  it("eats", () => { expect(cat()).toBe(1); });
});
describe("dogs", () => {
  it("eats", () => { expect(dog()).toBe(2); });
});
"""
RUST = """mod cats {
    #[test]
    fn eats() { assert_eq!(cat(), 1); }
    #[test]
    fn eats_much() { assert_eq!(cat(), 3); }
}
mod dogs {
    #[test]
    fn eats() { assert_eq!(dog(), 2); }
}
"""


@pytest.mark.parametrize(
    ("case", "path", "text", "word", "other"),
    [
        ("m.TestB.test_x", "t.py", CLASSES, "seven", "five"),
        ("tests.t.TestA.test_x", "tests/t.py", CLASSES, "five", "nine"),
        ("tests.t.test_x", "tests/t.py", CLASSES, "nine", "seven"),
        ("p.TestPay", "p_test.go", GO, "pay()", "Error"),
        ("p.TestPayment/in_cash", "p_test.go", GO, "Error", "TestPay("),
        ("test.cats > eats", "a.test.js", GROUPS, "cat()", "dog()"),
        ("dogs eats.eats", "a.test.js", GROUPS.replace('"dogs"', '"dogs eats"'), "dog()", "cat()"),
        ("dogs::eats", "src/a.rs", RUST, "dog()", "cat()"),
        ("cats::eats", "src/a.rs", RUST, "cat(), 1", "cat(), 3"),
        ("cats::eats_much", "src/a.rs", RUST, "cat(), 3", "cat(), 1"),
    ],
)
def test_a_test_is_found_by_its_full_name(
    case: str, path: str, text: str, word: str, other: str
) -> None:
    own = text_of_test(case, {path: text})
    assert word in own and other not in own


def test_comments_and_documentation_name_no_value() -> None:
    text = 'def test_a():\n    """Is 12."""\n    assert a() == 3  # and 15\n'
    own = text_of_test("test_a", {"test_a.py": text})
    assert "3" in own and "12" not in own and "15" not in own


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("test_a.py", "def test_a():\n    say('assert (x)')\n"),
        ("test_a.py", "def test_a():\n    say(LEVEL)  # assert say()\n"),
        ("test_a.py", "def test_a():\n    say(LEVEL)\n    assert True\n"),
        ("test_a.py", "def test_a():\n    check_order(5)\n"),
        ("test_a.py", "def helper():\n    say(1)\n\ndef test_a():\n    helper()\n"),
        ("test_a.py", "def test_b():\n    assert say()\n\ndef test_a():\n    say()\n"),
        ("a.test.js", 'test("test_a", () => {\n  say("x");\n  console.error("expect(x)");\n});\n'),
        ("a.test.js", 'test("test_a", () => { assert(true); });\n'),
        ("a_test.go", 'func test_a(t *testing.T) {\n\tt.Log(Say())\n\tfmt.Errorf("no")\n}\n'),
        ("src/a.rs", "#[test]\nfn test_a() {\n    say(3); // assert!(x)\n}\n"),
    ],
)
def test_a_test_without_a_check(path: str, body: str) -> None:
    assert not has_check("test_a", {path: body}, "def check_order(order):\n    pass\n")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("test_a.py", "def test_a():\n    with pytest.raises(ValueError):\n        say(0)\n"),
        (
            "test_a.py",
            "class T(TestCase):\n    def test_a(self):\n        self.assertIn(1, say())\n",
        ),
        ("test_a.py", "def test_a():\n    if say() != 3:\n        raise AssertionError(3)\n"),
        ("test_a.py", "def shows(x):\n    assert x\n\ndef test_a():\n    shows(say())\n"),
        ("test_a.py", "from tests.pages import shows\n\ndef test_a():\n    shows(say())\n"),
        ("test_a.py", "def test_a():\n    sender.assert_called_once_with(say())\n"),
        ("test_a.py", "def test_a():\n    np.testing.assert_allclose(say(), 3)\n"),
        ("a.test.js", 'test("test_a", (t) => { t.is(say(), 3); });\n'),
        ("a.test.js", 'it("test_a", () => { say().should.equal(3); });\n'),
        ("a.test.js", 'test("test_a", () => { if (say() !== 3) throw new Error("no"); });\n'),
        ("a_test.go", "func test_a(t *testing.T) {\n\trequire.Equal(t, 3, Say())\n}\n"),
        ("a_test.go", "func test_a(t *testing.T) {\n\twants(t, Say(), 3)\n}\n"),
        ("src/a.rs", "#[test]\n#[should_panic]\nfn test_a() {\n    say(0);\n}\n"),
        ("src/a.rs", "#[test]\nfn test_a() {\n    assert!(say(0).is_err());\n}\n"),
        ("other_test.py", "def test_other():\n    say()\n"),
    ],
)
def test_a_test_with_a_check(path: str, body: str) -> None:
    assert has_check("test_a", {path: body}, "def say(text):\n    return text\n")


@pytest.mark.parametrize("case", ["src/a.rs - say (line 3)", "src/a.rs - say #2"])
def test_the_text_of_a_documentation_test_is_not_known(case: str) -> None:
    text = "/// assert_eq!(a::say(1), 1);\npub fn say(x: i32) -> i32 { x }\n"
    assert has_check(case, {"src/a.rs": text}, text)


def test_what_an_example_of_go_prints_is_a_check() -> None:
    body = "func ExampleSay() {\n\tfmt.Println(Say(3))\n\t// Output: 3\n}\n"
    assert has_check("quay.ExampleSay", {"a_test.go": body}, "")
    body = body.replace("// Output: 3", "// It says 3.")
    assert not has_check("quay.ExampleSay", {"a_test.go": body}, "")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "a.test.js",
            "const rows = [{ name: 'two sums', want: 3 }];\nfor (const { name, want } of rows) {\n"
            "  it(name, () => { assert.equal(add(1, 2), want); });\n}\n"
            "it('another', () => {});\n",
        ),
        (
            "tests/a.rs",
            "macro_rules! sums { ($name:ident: $want:expr) => { #[test] fn $name() {"
            " assert_eq!(add(1, 2), $want); } } }\nsums! { two_sums: 3 }\n",
        ),
    ],
)
def test_a_test_that_is_a_row_of_a_table_has_the_check_of_its_loop(path: str, text: str) -> None:
    name = "two sums" if path.endswith(".js") else "two_sums"
    assert has_check(name, {path: text}, "")
    assert not has_check("another", {"a.test.js": text}, "") or path.endswith(".rs")
