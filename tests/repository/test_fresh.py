"""What the table of `make fresh` is read from: the output of `make demo` and `make test`."""

from __future__ import annotations

from scripts.fresh import Row, advice_in, counted_tests, is_good, products_shown, table

DEMO = """\
setup: missing: bubblewrap; run as root: apt-get install -y bubblewrap
The demo needs no model and no network.
== Checklist: from a line of a sign-off checklist to a checker
checklist: 20.1 s
== Stories: git and test runs say what was done
  The tests run at sandbox level L2 (Landlock, seccomp), not L3: bubblewrap is not installed.
== Studies: the lightest bracket that holds its load
transom: studies is not shown: studies need Optuna; run: pip install '.[studies]' in a clone
"""


def test_products_are_counted_without_those_that_are_not_shown() -> None:
    assert products_shown(DEMO) == "2 of 3, story at L2"
    assert products_shown("== Checklist: a\n== Learning: b\n") == "2 of 2"
    assert products_shown("make: *** [Makefile:111: .venv/.core] Error 1\n") == "0 of 0"


def test_the_command_for_root_is_found_and_nothing_else() -> None:
    assert advice_in(DEMO) == "apt-get install -y bubblewrap"
    bare = "setup: there is no Python 3.11 or later; run as root: apt-get install -y python3 git\n"
    assert advice_in(bare) == "apt-get install -y python3 git"
    assert advice_in("setup: apt-get install -y python3\n") is None
    assert advice_in("run as root: apt-get install -y x; rm -rf /\n") is None


def test_the_counts_of_the_last_summary_are_read() -> None:
    text = "3 passed in 1 s\n2 tests were skipped: this machine lacks it\n"
    text += "1 failed, 5469 passed, 64 skipped in 300.00s (0:05:00)\nmake: Error 1\n"
    assert counted_tests(text) == {"failed": "1", "passed": "5469", "skipped": "64"}
    assert counted_tests("make: *** Error 2\n") == {}


def test_only_the_last_run_of_each_command_decides() -> None:
    first = Row("user", "make demo", 2, 1.0)
    rows = [first, Row("user", "(root) apt-get install -y x", 1, 2.0)]
    rows += [Row("user", "make demo", 0, 3.0, "5 of 5"), Row("user", "make test", 0, 4.0)]
    assert is_good(rows)
    assert not is_good([*rows, Row("root", "make test", 1, 5.0)])
    lines = table(rows)
    assert len(lines) == 2 + len(rows)
    assert len({len(line) for line in lines}) == 1
