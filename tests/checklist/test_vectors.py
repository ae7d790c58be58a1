"""The standard atoms B and C: the gate's vectors, and properties over random texts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transom.checklist import standard_atoms
from transom.checklist.atoms import LOCKED_LAYER
from transom.checklist.vectors import STANDARD_SOURCE, VECTORS, Vector

TEXTS = st.text("ab|*?[]r:\\n.", max_size=12)


def match(text: str, pattern: str, **more: Any) -> dict[str, object]:
    return standard_atoms.validate_logic(text, pattern, **more)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_the_standard_atoms_answer_every_vector(vector: Vector) -> None:
    function = getattr(standard_atoms, vector.function)
    for call in vector.calls:
        assert call.problems(function(**call.arguments)) == []


def test_atom_b_has_eight_vectors_and_each_can_fail() -> None:
    assert len([v for v in VECTORS if v.function == "validate_logic"]) == 8
    for vector in VECTORS:
        wrong = {"is_match": None, "kind": "?", "reason": "?", "evidence": None}
        assert any(call.problems(wrong) for call in vector.calls)
    assert VECTORS[0].calls[0].problems("yes") == ["the result is str, not a dict"]
    assert VECTORS[0].calls[0].problems({"is_match": 1, "kind": "contains", "reason": 5}) == [
        "is_match is 1, not True",
        "reason 5 is no text that begins with ''",
    ]


def test_the_source_runs_behind_an_atom_a() -> None:
    atom_a = (
        "from typing import Dict, List\n\ndef extract_context(text: str, source_file: str) ->"
        " List[Dict]:\n"
    )
    space: dict[str, Any] = {}
    exec(
        compile(
            atom_a + "    results = []\n" + LOCKED_LAYER + "\n" + STANDARD_SOURCE,
            "atoms.py",
            "exec",
        ),
        space,
    )
    assert space["extract_context"]("", "a") == []
    assert space["validate_logic"]("abc", "a*c")["kind"] == "wildcard"
    assert space["check_existence"]([{"value": "a"}])["is_match"] is True


@given(text=TEXTS, pattern=TEXTS)
def test_nothing_raises_and_the_shape_is_kept(text: str, pattern: str) -> None:
    answer = match(text, pattern, parsed_fields={"a": None})
    assert set(answer) == {"is_match", "reason", "kind"}
    assert isinstance(answer["is_match"], bool)
    assert answer["kind"] in ("alternatives", "regex", "wildcard", "contains", "exact")


@given(text=st.text("ab[", max_size=10), pattern=st.text("ab[*?", max_size=8))
@example(text="abab", pattern="*ab")
@example(text="", pattern="*")
def test_wildcards_fit_the_whole_text_and_nothing_else(text: str, pattern: str) -> None:
    answer = match(text, pattern)
    if answer["kind"] == "wildcard":
        expression = "".join(
            ".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern
        )
        assert answer["is_match"] == bool(re.fullmatch(expression, text, re.DOTALL))


@given(text=TEXTS, segments=st.lists(st.text("ab*r:", max_size=3), min_size=2, max_size=4))
def test_alternatives_are_literal_and_blank_ones_do_not_count(
    text: str, segments: list[str]
) -> None:
    answer = match(text, "|".join(segments))
    assert answer["kind"] == "alternatives"
    assert answer["is_match"] == any(segment.strip() and segment in text for segment in segments)


def test_a_wildcard_with_many_stars_is_quick() -> None:
    assert match("a" * 3000, "*a*a*a*a*a*a*b")["is_match"] is False


def test_missing_texts_and_patterns_match_nothing() -> None:
    assert standard_atoms.validate_logic(None, "a")["is_match"] is False
    assert standard_atoms.validate_logic("a", None)["is_match"] is False
