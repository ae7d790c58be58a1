"""Checks that a test does not reach, although it passes."""

from __future__ import annotations

from typing import Any

import pytest

from transom.stories.canaries import made_to_fail
from transom.stories.reached_checks import unreached_checks

HEAD = """\
import contextlib
import unittest


class pytest:
    class mark:
        parametrize = staticmethod(lambda *_: lambda function: function)

    @staticmethod
    def raises(error):
        return contextlib.suppress(error)


given = lambda function: function
"""
LINES = HEAD.count("\n")
SECRET = "zebra"


def unreached(
    body: str, *calls: tuple[Any, ...], values: frozenset[str] = frozenset()
) -> dict[str, int]:
    """Return the lines of the body whose checks are not reached when its test is called."""
    changed = made_to_fail("tests/test_a.py", HEAD + body, SECRET, values)
    assert changed is not None
    space: dict[str, Any] = {}
    exec(compile(changed[0], "test_a.py", "exec"), space)
    messages = {}
    for number, arguments in enumerate(calls or ((),)):
        with pytest.raises(AssertionError) as caught:
            space["test_it"](*arguments)
        messages[f"tests.test_a.test_it[{number}]"] = str(caught.value).strip()
    lines = unreached_checks(messages, SECRET)
    return {case.partition("[")[2][:-1]: line - LINES for case, line in lines.items()}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("def test_it():\n    if 1:\n        return\n    assert 2 == 3\n", 4),
        ("def test_it():\n    for row in []:\n        assert row\n", 3),
        ("def test_it():\n    assert 1 == 1\n    if 1 > 2:\n        assert 2 == 3\n", 4),
        ("def test_it():\n    while False:\n        unittest.TestCase().assertEqual(1, 2)\n", 3),
        ("def test_it():\n    try:\n        int('x')\n        assert 1 == 1\n    except ValueError:\n"
         "        pass\n", 4),
        ("@pytest.mark.parametrize('x', [1])\ndef test_it():\n    return\n    assert 2 == 3\n", 4),
        ("async def wait():\n    pass\ndef test_it():\n    if 1:\n        return\n"
         "    with pytest.raises(KeyError):\n        int('x')\n", 6),
    ],
)  # fmt: skip
def test_a_check_that_is_not_reached_is_found(body: str, line: int) -> None:
    assert unreached(body) == {"0": line}


@pytest.mark.parametrize(
    "body",
    [
        "def test_it():\n    assert 1 == 1\n",
        "def test_it():\n    if 1:\n        assert 1 == 1\n    else:\n        assert 1 == 2\n",
        "def test_it():\n    import sys\n    if sys.platform == 'none':\n        assert 1 == 2\n",
        "def test_it():\n    with pytest.raises(ValueError):\n        int('x')\n        assert 1 == 2\n",
        "def test_it():\n    class Fake:\n        def send(self):\n            assert 1 == 2\n",
        "def test_it():\n    if 1 == 1:\n        return\n    raise AssertionError('differs')\n",
        "def test_it():\n    for row in (1, 2):\n        if row == 2:\n            assert row\n",
        "@given\ndef test_it():\n    for row in []:\n        assert row\n",
        "def test_it():\n    match 1:\n        case 1:\n            assert 1 == 1\n        case _:\n"
        "            assert 1 == 2\n",
    ],
)
def test_checks_of_an_honest_test_are_reached(body: str) -> None:
    assert unreached(body) == {}


def test_the_rows_of_a_table_reach_the_checks_together() -> None:
    body = (
        "def test_it(text, error):\n    if error:\n        with pytest.raises(error):\n"
        "            int(text)\n        return\n    assert int(text) == 1\n"
    )
    assert unreached(body, ("1", None), ("x", ValueError)) == {}
    assert unreached(body, ("1", None)) == {"0": 3}


def test_a_check_with_a_stated_value_must_be_reached() -> None:
    body = (
        "def test_it():\n    answer = 3\n    if answer > 9:\n        assert answer == 'lent'\n"
        "    else:\n        assert answer\n"
    )
    assert unreached(body) == {}
    assert unreached(body, values=frozenset(("lent",))) == {"0": 4}
    assert unreached(body + "    assert answer != 'lent'\n", values=frozenset(("lent",))) == {}
    assert unreached(body, values=frozenset(("sold", "3"))) == {}
