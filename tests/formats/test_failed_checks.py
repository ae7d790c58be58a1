"""Failures of checks, told from errors that the tested code raises, by what runners report."""

from __future__ import annotations

import pytest

from transom.formats.failed_checks import is_failed_check, rust_place
from transom.formats.junit import read_junit
from transom.formats.test_output import read_test_output

CHECKS = {
    "pytest": "assert 4 == 3\n>       assert total() == 3\nE  assert 4 == 3\n\n"
    "tests/test_a.py:4: AssertionError",
    "pytest, no error": "Failed: DID NOT RAISE ValueError\n\ntests/test_a.py:8: Failed",
    "pytest, a library": "AssertionError: Not equal\n\n"
    "../lib/python3/site-packages/numpy/testing/utils.py:9: AssertionError",
    "pytest, raised by the test": ">       raise ValueError(3)\n\ntests/test_a.py:8: ValueError",
    "unittest": "Traceback (most recent call last):\n"
    '  File "/w/tests/test_a.py", line 5, in test_b\n'
    "    self.assertEqual(1, 2)\nAssertionError: 1 != 2",
    "node": "4 == 3\n[Error [ERR_TEST_FAILURE]: 4 == 3] {\n  cause: AssertionError [ERR_ASSERTION]:"
    " 4 == 3\n      at f (/w/test/a.test.js:2:22)\n}",
    "node, thrown by the test": "no\n  cause: Error: no\n"
    "      at f (file:///w/test/a.test.js:2:22)",
    "tap": "  error: '1 == 2'\n  code: 'ERR_ASSERTION'\n  name: 'AssertionError'",
    "jest": "Error: expect(received).toBe(expected)\n    at f (/w/src/a.test.ts:3:9)",
    "vitest": "AssertionError\nexpected 1 to be 2",
    "go": "=== RUN   TestA\n    a_test.go:3: got 1\n--- FAIL: TestA (0.00s)\n",
    "rust": "thread 'tests::a' panicked at src/lib.rs:4:17:\nassertion `left == right` failed",
    "rust, no panic": "note: test did not panic as expected at src/lib.rs:7:28",
    "java": "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
    "unknown": "got 3, want 4",
}
ERRORS = {
    "pytest": "KeyError: 'abc'\n>   def test_c(): say(1)\n\ntests/test_a.py:5: \n"
    '>       return {}["a"]\n\nsrc/app.py:3: KeyError',
    "pytest, assert of the code": "AssertionError: no x\n\ntests/test_a.py:6: \n"
    ">       assert x\n\nsrc/app.py:2: AssertionError",
    "pytest, in the test": "KeyError: 'a'\n>       MODES[MODE]\n\ntests/test_a.py:6: KeyError",
    "pytest, short": "TypeError: 'NoneType' object is not callable",
    "unittest, assert of the code": "Traceback (most recent call last):\n"
    '  File "/w/tests/test_a.py", line 15, in test_d\n    say(0)\n'
    '  File "/w/src/app.py", line 2, in say\n    assert x\nAssertionError',
    "node": "x\n  cause: TypeError [Error]: Cannot read properties\n"
    "      at f (/w/test/a.test.js:3:25)",
    "node, thrown by the code": "no\n  cause: Error: no\n      at say (file:///w/lib/a.js:2:22)\n"
    "      at f (file:///w/test/a.test.js:2:22)",
    "tap": "  error: 'x'\n  code: 'ERR_TEST_FAILURE'\n  name: 'ReferenceError'",
    "vitest": "TypeError\nmakers[STUFF] is not a function",
    "go": "=== RUN   TestB\npanic: runtime error: invalid memory address\n"
    "\ngoroutine 21 [running]:\n",
    "rust": "thread 'a' panicked at tests/a.rs:6:61:\n"
    "called `Result::unwrap()` on an `Err` value: 1",
    "rust, older": "thread 'a' panicked at 'index out of bounds: the len is 1', src/lib.rs:3:4",
    "rust, returned": 'Error: "q"',
    "java": "java.lang.NullPointerException: at App.say",
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_failed_check_is_known(name: str) -> None:
    assert is_failed_check(CHECKS[name])


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_the_code_is_no_failed_check(name: str) -> None:
    assert not is_failed_check(ERRORS[name])


def test_reports_hold_what_their_messages_leave_out() -> None:
    report = (
        '<testsuites><testcase name="a"><failure type="testCodeFailure" message="no">'
        "cause: TypeError: no</failure></testcase></testsuites>"
    )
    (case,) = read_junit(report).cases
    assert case.message == "no" and not is_failed_check(case.details)
    tap = "TAP version 13\nnot ok 1 - a\n  ---\n  error: 'no'\n  name: 'TypeError'\n  ...\n1..1\n"
    (case,) = read_test_output(tap)
    assert case.message == "no" and not is_failed_check(case.details)


def test_a_panic_has_a_place() -> None:
    assert rust_place(CHECKS["rust"]) == ("src/lib.rs", 4)
    assert rust_place(ERRORS["rust, older"]) == ("src/lib.rs", 3)
    assert rust_place(CHECKS["go"]) is None
