"""What test runners print: cases, their status and their messages."""

from __future__ import annotations

import pytest

from transom.formats.test_output import read_test_output

GO = """{"Action":"run","Package":"shop/cart","Test":"TestTotal"}
{"Action":"output","Package":"shop/cart","Test":"TestTotal","Output":"    cart_test.go:9: got 3\\n"}
{"Action":"fail","Package":"shop/cart","Test":"TestTotal","Elapsed":0}
{"Action":"pass","Package":"shop/cart","Test":"TestTotal/of_two"}
{"Action":"skip","Package":"shop/cart","Test":"TestSlow"}
{"Action":"output","Package":"shop/cart","Output":"FAIL\\n"}
{"Action":"pass","Package":"shop/till"}
"""
GO_BUILD = """# shop/cart
cart/cart.go:3:1: syntax error
{"Action":"start","Package":"shop/cart"}
{"Action":"output","Package":"shop/cart","Output":"FAIL\\tshop/cart [build failed]\\n"}
{"Action":"fail","Package":"shop/cart"}
"""
CARGO = """
running 3 tests
test tests::adds ... ok
test tests::slow ... ignored, takes long
test tests::refuses_texts - should panic ... FAILED

failures:

---- tests::refuses_texts - should panic stdout ----
thread 'tests::refuses_texts' panicked at src/lib.rs:30:9:
note: test did not panic as expected

failures:
    tests::refuses_texts

test result: FAILED. 1 passed; 1 failed; 1 ignored

   Doc-tests shop
test src/lib.rs - total (line 4) ... ok
"""
TAP = """TAP version 13
# Subtest: sums of two
ok 1 - sums of two
  ---
  duration_ms: 1.2
  ...
not ok 2 - a text # with a mark
  ---
  error: |-
    Expected values to be strictly equal:

    1 !== 2
  code: 'ERR_ASSERTION'
  ...
not ok 3 - later # TODO not written
ok 4 - elsewhere # SKIP no network
# Subtest: group
    # Subtest: inner
    ok 1 - inner
    1..1
ok 5 - group
1..5
"""
SPEC = """▶ group
  ✔ sums of two (0.24ms)
  ✖ refuses a text (1.5ms)
▶ group (3ms)
﹣ later (0.1ms) # SKIP
"""
# A docstring, text that a test prints, sub-tests, and the place as Python 3.10 writes it.
UNITTEST = """setUpClass (test_a.Set) ... ERROR
test_adds (test_a.Sums.test_adds)
It adds. ... ok
test_prints (test_a.Sums.test_prints) ... all is ok
FAIL
test_later (test_a.Sums.test_later) ... skipped "it's late"
test_known (test_a.Sums.test_known) ... expected failure
test_cases (test_a.Sums.test_cases) ...
  test_cases (test_a.Sums.test_cases) (k=0) ... FAIL
test_mended (test_a.Sums.test_mended) ... unexpected success
test_old_place (test_a.Sums) ... noise
ok

======================================================================
ERROR: setUpClass (test_a.Set)
----------------------------------------------------------------------
ValueError: boom
======================================================================
FAIL: test_prints (test_a.Sums.test_prints)
----------------------------------------------------------------------
AssertionError: 1 != 2 : rowan
======================================================================
FAIL: test_cases (test_a.Sums.test_cases) (k=0)
----------------------------------------------------------------------
AssertionError: 0 != 1

----------------------------------------------------------------------
Ran 8 tests in 0.003s

FAILED (failures=2, errors=1, skipped=1, expected failures=1, unexpected successes=1)
"""
DOC_TESTS = """running 2 tests
test src/a.rs - a::sum (line 3) ... ok
test src/a.rs - a::sum (line 9) ... FAILED
"""
JEST = """ FAIL  ./sum.test.js
  sum
    ✓ adds (2 ms)
    ✕ refuses a text
    ○ skipped later
"""


GO_LINES = """\
=== RUN   TestSum
=== RUN   TestSum/of_two
    sum_test.go:9: got 3
=== RUN   TestSum/of_none
--- FAIL: TestSum (0.00s)
    --- FAIL: TestSum/of_two (0.00s)
    --- PASS: TestSum/of_none (0.00s)
=== RUN   TestLater
    sum_test.go:20: later
--- SKIP: TestLater (0.00s)
FAIL
FAIL\texample.com/tide/sum\t0.004s
?   \texample.com/tide\t[no test files]
=== RUN   TestWave
--- PASS: TestWave (1.20s)
PASS
ok  \texample.com/tide/wave\t1.205s
# example.com/tide/low [example.com/tide/low.test]
./low.go:3:2: undefined: x
FAIL\texample.com/tide/low [build failed]
"""
PYTEST_LINES = """\
============================= test session starts ==============================
collecting ... collected 6 items

tests/test_sum.py::test_adds PASSED                                      [ 16%]
tests/test_sum.py::TestRows::test_names[a b] FAILED                      [ 33%]
tests/test_sum.py::test_later SKIPPED (not on a Sunday)                  [ 50%]
tests/test_sum.py::test_known XFAIL                                      [ 66%]
tests/test_sum.py::test_closes PASSED                                    [ 83%]
tests/test_sum.py::test_closes ERROR                                     [ 83%]
tests/deep/test_sum.py::test_adds PASSED                                 [100%]

=================================== FAILURES ===================================
___________________________ TestRows.test_names[a b] ___________________________

>       assert names(row) == "a"
E       AssertionError: assert 'b' == 'a'

tests/test_sum.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_sum.py::TestRows::test_names[a b] - AssertionError
"""


@pytest.mark.parametrize(
    ("text", "cases"),
    [
        (
            GO,
            {
                "shop/cart.TestTotal": "failed",
                "shop/cart.TestTotal/of_two": "passed",
                "shop/cart.TestSlow": "skipped",
            },
        ),
        (GO_BUILD, {"shop/cart": "error"}),
        (
            CARGO,
            {
                "tests::adds": "passed",
                "tests::slow": "skipped",
                "tests::refuses_texts": "failed",
                "src/lib.rs - total": "passed",
            },
        ),
        (
            TAP,
            {
                "sums of two": "passed",
                "a text # with a mark": "failed",
                "later": "skipped",
                "elsewhere": "skipped",
                "inner": "passed",
                "group": "passed",
            },
        ),
        (
            SPEC,
            {"sums of two": "passed", "refuses a text": "failed", "later": "skipped"},
        ),
        (
            UNITTEST,
            {
                "test_a.Set.setUpClass": "error",
                "test_a.Sums.test_adds": "passed",
                "test_a.Sums.test_prints": "failed",
                "test_a.Sums.test_later": "skipped",
                "test_a.Sums.test_known": "skipped",
                "test_a.Sums.test_cases": "failed",
                "test_a.Sums.test_mended": "failed",
                "test_a.Sums.test_old_place": "passed",
            },
        ),
        (
            GO_LINES,
            {
                "example.com/tide/sum.TestSum": "failed",
                "example.com/tide/sum.TestSum/of_two": "failed",
                "example.com/tide/sum.TestSum/of_none": "passed",
                "example.com/tide/sum.TestLater": "skipped",
                "example.com/tide/sum": "error",
                "example.com/tide/wave.TestWave": "passed",
                "example.com/tide/low": "error",
            },
        ),
        ("ok  \texample.com/tide/wave\t1.205s\n", {}),
        (
            PYTEST_LINES,
            {
                "tests.test_sum.test_adds": "passed",
                "tests.test_sum.TestRows.test_names[a b]": "failed",
                "tests.test_sum.test_later": "skipped",
                "tests.test_sum.test_known": "skipped",
                "tests.test_sum.test_closes": "error",
                "tests.deep.test_sum.test_adds": "passed",
            },
        ),
        ("tests/test_sum.py ..F.                             [100%]\n", {}),
        (DOC_TESTS, {"src/a.rs - a::sum": "passed", "src/a.rs - a::sum #2": "failed"}),
        ("test_adds (test_a.Sums.test_adds) ... ok\n", {}),
        (JEST, {"adds": "passed", "refuses a text": "failed", "skipped later": "skipped"}),
        ("make: Nothing to be done for 'test'.\n", {}),
        ("ok, that went well\n", {}),
        ('{"Action": 5}\n{"other": 1}\n', {}),
    ],
)
def test_cases_are_read(text: str, cases: dict[str, str]) -> None:
    assert {case.name: case.status for case in read_test_output(text)} == cases


def test_messages_are_kept() -> None:
    messages = {
        case.name: case.message
        for text in (GO, CARGO, TAP, UNITTEST, GO_LINES, PYTEST_LINES)
        for case in read_test_output(text)
    }
    assert "got 3" in messages["shop/cart.TestTotal"]
    assert "did not panic as expected" in messages["tests::refuses_texts"]
    assert "1 !== 2" in messages["a text # with a mark"]
    assert "rowan" in messages["test_a.Sums.test_prints"]
    assert "got 3" in messages["example.com/tide/sum.TestSum/of_two"]
    assert "undefined: x" in messages["example.com/tide/low"]
    assert "assert 'b' == 'a'" in messages["tests.test_sum.TestRows.test_names[a b]"]


def test_a_rust_test_that_has_to_panic_keeps_its_name() -> None:
    text = (
        "running 3 tests\n"
        "test tests::no_stone - should panic ... ok\n"
        "test tests::too_heavy - should panic ... FAILED\n"
        "test src/lib.rs - dress (line 9) - should panic ... ok\n"
        "\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    )
    statuses = {case.name.split("::")[-1]: case.status for case in read_test_output(text)}
    assert statuses["no_stone"] == "passed"
    assert statuses["too_heavy"] == "failed"
    assert not any("should panic" in name for name in statuses)


MOCHA = """
  ✔ stands alone
  1) breaks at once
  change
    ✔ is given in few coins (90ms)
    - comes later
    2) refuses too little


  2 passing (128ms)
  1 pending
  2 failing

  1) breaks at once:
     Error: no coins
      at Context.<anonymous> (spec/a.js:10:29)

  2) change
       refuses too little:

      AssertionError [ERR_ASSERTION]: Missing expected exception.
      + expected - actual
"""


def test_mocha_marks_a_failing_test_by_a_number_alone() -> None:
    cases = read_test_output(MOCHA)
    assert [(case.name, case.status) for case in cases] == [
        ("stands alone", "passed"),
        ("breaks at once", "failed"),
        ("is given in few coins", "passed"),
        ("comes later", "skipped"),
        ("refuses too little", "failed"),
    ]
    assert "Error: no coins" in cases[1].message
    assert "Missing expected exception" in cases[4].message
    assert "Missing" not in cases[1].message


def test_a_runner_that_lists_a_part_of_its_tests_tells_nothing_of_each() -> None:
    vitest = (
        " ✓ src/a.test.js (1 test) 3ms\n ❯ src/b.test.js (1 test | 1 failed) 9ms\n     × two 8ms\n"
    )
    assert not read_test_output(f"{vitest}\n      Tests  1 failed | 1 passed (2)\n")
    jest = "PASS src/a.test.js\nFAIL src/b.test.js\n  ● g › two\n\nTests:       1 failed, 2 total\n"
    assert not read_test_output(jest)
    plain = (
        f"F.\n{'=' * 70}\nFAIL: test_two (t.T.test_two)\n{'-' * 70}\nno\n\nRan 2 tests in 0.001s\n"
    )
    assert not read_test_output(plain)


def test_a_runner_that_lists_all_of_its_tests_tells_each() -> None:
    vitest = "  ✓ a.test.js > one 1ms\n  × a.test.js > two 8ms\n  ↓ a.test.js > three\n"
    total = "      Tests  1 failed | 1 passed | 1 skipped (3)\n"
    assert len(read_test_output(f"{vitest}\n{total}")) == 3
    jest = "PASS a.test.js\n  g\n    ✓ one (2 ms)\n    ✓ two\n\nTests:       2 passed, 2 total\n"
    assert [case.name for case in read_test_output(jest)] == ["one", "two"]
