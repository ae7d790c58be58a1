"""Checks in blocks that a test does not reach, in JavaScript, Go and Rust."""

from __future__ import annotations

import pytest

from transom.stories.nested_checks import with_failing_checks

JAVASCRIPT = """\
test("a branch", () => {
  const result = read("x");
  assert.ok(result);
  if (result.error) {
    assert.equal(result.error, "no number");
  }
});

it("a chain", async () => {
  await load("x").catch((error) => expect(error.code).toBe(4));
});

test("after a return", () => {
  if (!ready()) {
    return;
  }
  assert.equal(sum(), 4);
});

test("plain", { timeout: 9 }, () => {
  assert.equal(sum(), 4);
  try {
    read("");
    assert.fail("read");
  } catch (error) {}
});

test("a place", () => {
  if (process.platform === "win32") {
    assert.equal(sum(), 4);
  }
});

for (const row of rows) {
  test(`row ${row}`, () => {
    if (row) assert.equal(sum(), 4);
  });
}
"""
GO = """\
package tide

func TestGuard(t *testing.T) {
	if got, err := Read("x"); err == nil && got != "{" {
		t.Errorf("got %s", got)
	}
}

func TestLoop(t *testing.T) {
	for _, row := range Rows() {
		if row.Want != 3 {
			t.Fatal(row)
		}
	}
}

func TestPlain(t *testing.T) {
	if got := Sum(); got != 3 && got != 4 {
		t.Fatal(got)
	}
}
"""
RUST = """\
//! Tides.

#[test]
fn a_match() {
    match read("x") {
        Err(text) => assert_eq!(text, "no number"),
        Ok(_) => {}
    }
}

#[test]
#[should_panic]
fn plain() {
    assert_eq!(sum(), 4);
}

fn helper() {
    if true {
        assert!(sum() > 3);
    }
}
"""


@pytest.mark.parametrize(
    ("path", "text", "tests"),
    [
        ("test/a.test.js", JAVASCRIPT, {"a branch": 5, "a chain": 10, "after a return": 17}),
        ("tide_test.go", GO, {"TestGuard": 4, "TestLoop": 11}),
        ("tests/tide.rs", RUST, {"a_match": 6}),
        ("tests/test_a.py", "def test_a():\n    if x:\n        assert x\n", {}),
    ],
)
def test_checks_in_blocks_are_made_to_fail(path: str, text: str, tests: dict[str, int]) -> None:
    nested = with_failing_checks({path: text}, "zebra")
    assert nested.tests == tests
    assert {*nested.files} == ({path} if tests else set())


def test_the_replaced_check_fails() -> None:
    texts = {"test/a.test.js": JAVASCRIPT, "tide_test.go": GO, "tests/tide.rs": RUST}
    files = with_failing_checks(texts, "zebra").files
    assert '    zebra(result.error, "no number");' in files["test/a.test.js"]
    assert "(error) => zebra(error.code)" in files["test/a.test.js"]
    assert '  zebra(sum(), 4);\n});\n\ntest("plain"' in files["test/a.test.js"]
    assert 'err == nil && (true || ( got != "{" )) {' in files["tide_test.go"]
    assert '\t\tt.Fatal("zebra"); if row.Want != 3 {' in files["tide_test.go"]
    assert "if got := Sum(); got != 3 && got != 4 {" in files["tide_test.go"]
    assert 'Err(text) => zebra!(text, "no number"),' in files["tests/tide.rs"]
    assert files["tests/tide.rs"].index("macro_rules! zebra") > files["tests/tide.rs"].index("//!")


def test_a_test_that_still_passes_reaches_none() -> None:
    nested = with_failing_checks({"tide_test.go": GO}, "zebra")
    cases = {"tide.TestGuard": "passed", "tide.TestLoop": "failed", "tide.TestPlain": "passed"}
    assert nested.unreached(cases) == {"tide.TestGuard": 4}


def test_two_tests_of_one_name_tell_of_neither() -> None:
    nested = with_failing_checks({"a.test.js": JAVASCRIPT, "b.test.js": JAVASCRIPT}, "zebra")
    assert nested.unreached({"a branch": "passed"}) == {}


BRANCHES = """\
test("a branch", () => {
  const answer = lend("Emma");
  if (answer.ok) {
    assert.ok(answer);
  } else {
    assert.equal(answer.text, "lent until May");
  }
});

test("both", () => {
  if (lend("Emma").ok) {
    assert.equal(lend("Emma").text, "lent until May");
  }
  assert.equal(lend("Eve").text, "lent until May");
});
"""


def test_checks_that_hold_what_a_criterion_states() -> None:
    values = frozenset(("lent until May", "79.5"))
    nested = with_failing_checks({"test/a.test.js": BRANCHES}, "zebra", values)
    assert nested.tests == {"a branch": 6}
    assert nested.files["test/a.test.js"].count("zebra(answer") == 1
    assert not with_failing_checks({"test/a.test.js": BRANCHES}, "zebra", frozenset()).files
