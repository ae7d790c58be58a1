"""What is JSON and what is not, of texts that models and servers write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.llm.strict_json import LEVELS, MOST_LEVELS, is_deep, read_document, read_json

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value)) == read_document(json.dumps(value)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "NaN",
        '{"x": -Infinity}',
        "[1e999]",
        "[-1e999]",
        f"[{'9' * 400}.0]",
        "[" * 100_000,
        "9" * 5_000,
        "'a'",
    ],
    ids=lambda text: text[:12],
)
def test_what_is_none_is_told(text: str) -> None:
    for read in (read_json, read_document):
        with pytest.raises(ValueError, match=r"."):
            read(text)


def test_a_name_that_stands_twice_is_nobodys_meaning() -> None:
    for text in ('{"x": "bad", "x": 1}', '[{"a": {"\\u0078": 1, "x": 1}}]'):
        with pytest.raises(ValueError, match="a name twice"):
            read_json(text)
        assert read_document(text)
    assert read_json('[{"x": 1}, {"x": 2}]') == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("begin", "end"), [("[", "]"), ('{"a":', "}"), ('[1, {"a":', "}]")], ids=repr
)
def test_there_is_one_depth(begin: str, end: str) -> None:
    step = begin.count("[") + begin.count("{")
    for read, levels in ((read_json, LEVELS), (read_document, MOST_LEVELS)):
        deepest = begin * (levels // step) + "1" + end * (levels // step)
        value = read(deepest)
        assert not is_deep(value, levels)
        assert is_deep([value], levels)
        for deeper in (
            f"[{deepest}]",
            f'{{"b": {deepest}, "c": 1}}',
            begin * 450 + "1" + end * 450,
        ):
            with pytest.raises(ValueError, match="nested"):
                read(deeper)


@given(VALUES, st.integers(0, 6))
def test_depth_is_that_of_the_deepest(value: Any, levels: int) -> None:
    def depth(one: Any) -> int:
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        return 0 if inside is None else 1 + max(map(depth, inside), default=0)

    assert is_deep(value, levels) is (depth(value) > levels)


@pytest.mark.parametrize(
    "text",
    ["```json\n{}\n```", "```\n{}\n```", "\n ``` \n{}\n  ```\n", "```JSON\r\n{}\r\n```", "{}"],
)
def test_a_fence_around_all_of_it_is_left_out(text: str) -> None:
    assert read_json(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Here:\n```json\n{}\n```",
        "```json\n{}\n```\nDone.",
        "```json\n{}\n```\n```json\n{}\n```",
        "```json {} ```",
        "```python\n{}\n```",
        "```json\n{}",
    ],
)
def test_text_around_or_between_fences_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        read_json(text)
