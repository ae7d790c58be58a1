"""Canonical JSON: one value, one text, whichever library writes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from transom.canonical import canonical_json, compact_bytes, compact_json, digest

TEXTS = st.text() | st.text('aä\n"\\\0\ud800😀', max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(-(2**70), 2**70) | TEXTS
SMALL = st.builds(
    lambda digits, power: float(f"{digits}e-{power}"),
    st.integers(-(10**17), 10**17),
    st.integers(0, 40),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | SMALL


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12
    )


class Model(BaseModel):
    name: str = "x"


@dataclass
class Plain:
    name: str = "x"


@given(nested(SCALARS | FLOATS))
@example(1e-05)
@example(
    [0.000012345, -1.5e-07, 1e-09, 1e-10, 1e-4, 1e16, 1e22, 5e-324, -0.0, 1.7976931348623157e308]
)
def test_it_is_what_the_standard_library_writes(value: Any) -> None:
    compact: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, **compact)
    assert canonical_json(value) == text
    assert (
        digest([value]) == hashlib.sha256(f"[{text}]".encode("utf-8", "surrogatepass")).hexdigest()
    )
    plainly = json.dumps(value, ensure_ascii=False, **compact)
    assert compact_json(value).encode() == plainly.encode("utf-8", "backslashreplace")
    assert json.loads(compact_json(value)) == value
    # Its fractions may have another form, but every value comes back, to the last bit.
    assert repr(json.loads(compact_bytes(value))) == repr(json.loads(plainly))


def compact_text(value: object) -> str:
    return compact_bytes(value).decode()


def test_keys_are_sorted_or_as_they_were_given() -> None:
    value: Any = {"b": 1, "a": None, "ä": {"z": [], "y": ()}}
    assert canonical_json(value) == '{"a":null,"b":1,"ä":{"y":[],"z":[]}}'
    assert compact_json({"b": 1, "a": ""}) == '{"b":1,"a":""}'


@pytest.mark.parametrize("write", [canonical_json, compact_json, compact_text])
@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), {1, 2}, b"bytes", object(), datetime.now(UTC), Plain()],
    ids=["NaN", "inf", "set", "bytes", "object", "time", "dataclass"],
)
def test_what_json_has_no_word_for_is_refused_wherever_it_stands(write: Any, value: object) -> None:
    for place in (value, [value], {"a": [None, {"b": value}]}):
        with pytest.raises((TypeError, ValueError)):
            write(place)


class Kind(Enum):
    GOOD = "good"


@pytest.mark.parametrize("write", [canonical_json, compact_json, compact_text])
def test_a_value_has_one_text_whatever_stands_beside_it(write: Any) -> None:
    """What one of the two libraries has no word for makes the other write."""
    for value, text in (
        (Kind.GOOD, '"good"'),
        (UUID(int=5), f'"{UUID(int=5)}"'),
        (2**63, str(2**63)),
    ):
        for beside in (None, 2**70, "\ud800"):
            assert write({"a": value}) == f'{{"a":{text}}}'
            assert write([value, beside]).startswith(f"[{text},")


def test_a_cycle_is_refused_and_what_is_merely_deep_is_not() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    assert canonical_json(deep) == "[" * 400 + "1" + "]" * 400
    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.raises((ValueError, RecursionError)):
        canonical_json(cycle)


def test_models_are_canonical_and_nothing_that_is_kept() -> None:
    assert (
        canonical_json([Model(), {"inner": Model(name="NaN")}])
        == '[{"name":"x"},{"inner":{"name":"NaN"}}]'
    )
    for write in (compact_json, compact_bytes):
        with pytest.raises(TypeError):
            write(Model())
