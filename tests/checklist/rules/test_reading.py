"""Which descriptions are understood, what they are taken to say, and which are left to a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checklist.rules.support import shipped
from tests.fuzzing import examples
from transom.checklist.rules import load_knowledge
from transom.checklist.rules.reading import Reading, read_description
from transom.errors import NeedsModel

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[str]:
    return [
        line for line in (DATA / name).read_text().splitlines() if line and not line.startswith("#")
    ]


def read(text: str) -> Reading:
    return read_description(text, shipped())


def words(text: str) -> list[str]:
    with pytest.raises(NeedsModel) as caught:
        read(text)
    return [word.text for word in caught.value.words]


VERSIONS = [*lines("versions_understood.txt"), *lines("versions_reworded.txt")]
ENDPOINTS = [*lines("endpoints_understood.txt"), *lines("endpoints_reworded.txt")]


@pytest.mark.parametrize("text", VERSIONS)
def test_versions_are_understood(text: str) -> None:
    reading = read(text)
    assert (reading.domain.domain, reading.entities) == ("versions", ("netlist", "spef"))


@pytest.mark.parametrize("text", ENDPOINTS)
def test_endpoints_are_understood(text: str) -> None:
    reading = read(text)
    assert reading.domain.domain == "sta_endpoints"
    told = text.lower()
    wanted = "hold" if "hold" in told else "setup" if "setup" in told else None
    assert reading.choices.get("check") == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [*lines("not_understood.txt"), *lines("not_understood_reworded.txt")]
)
def test_near_misses_are_not(text: str) -> None:
    assert words(text)


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("The SPEF version is correct.", ("spef",)),
        ("Verify that the gate-level netlists carry complete version information.", ("netlist",)),
        (
            "Confirm the SPEF version is correct. Confirm the netlist version is correct.",
            ("netlist", "spef"),
        ),
    ],
)
def test_only_what_is_named_is_checked(text: str, entities: tuple[str, ...]) -> None:
    assert read(text).entities == entities


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Confirm the liberty/spef version is correct.", ["liberty"]),
        ("Confirm the netlist or spef version is correct.", ["or"]),
        ("Confirm every startpoint in the setup report meets timing.", ["startpoint"]),
        ("Confirm the netlist version is correct. Then dance.", ["dance"]),
        ("Of the correct is netlist version.", ["Of the correct is netlist version"]),
        ("The final worst setup slack is at least 0.", ["final"]),
        ("After routing, the utilization is at least 50 %.", ["routing"]),
        ("The WNS in the hold report is at least 0.", ["hold"]),
        ("Confirm the version. Confirm the netlist version is correct.", ["Confirm the version"]),
        ("...", ["..."]),
    ],
)
def test_the_words_that_were_not_understood_are_named(text: str, unknown: list[str]) -> None:
    assert words(text) == unknown


def test_a_waive_hint_is_recorded_and_changes_nothing_else() -> None:
    reading = read("Check the netlist/SPEF version (waive for synthesis).")
    assert reading.waive_hints == ("waive for synthesis",)
    assert [clause.kind for clause in reading.clauses] == ["claim", "waive"]


def test_contradicting_choices_are_not_reconciled() -> None:
    assert words("Confirm hold timing is met at every endpoint in the setup report.")
    assert words(
        "Confirm every endpoint meets timing. Confirm every endpoint in the hold report meets"
        " timing."
    )


@pytest.mark.slow
def test_a_text_without_end_or_of_one_huge_word_is_left_alone() -> None:
    assert words("netlist " * 5000)
    assert words("x" * 100_000)


def test_every_template_is_one() -> None:
    for language in load_knowledge().languages:
        assert language.speeches
        assert {"claim", "waive", "unit", "text", "marker"} >= {
            speech.kind for speech in language.speeches
        } - {"note"}


def test_a_wrapped_line_and_bullets_are_read_as_written() -> None:
    assert read("Confirm that the netlist\nand SPEF versions are correct.").entities == (
        "netlist",
        "spef",
    )
    both = read("- Confirm the netlist version is correct.\n- Confirm the SPEF version is correct.")
    assert [clause.kind for clause in both.clauses] == ["claim", "claim"]


def test_what_stands_in_brackets_may_be_a_clause_of_its_own() -> None:
    reading = read(
        "All endpoints in the setup report (one item per endpoint line) must meet timing."
    )
    assert [clause.kind for clause in reading.clauses] == ["claim", "unit"]
    assert words("All endpoints in the setup report (one item per startpoint) must meet timing.")


@pytest.mark.parametrize("joint", ["where", "with"])
def test_a_claim_is_no_condition_of_another(joint: str) -> None:
    assert words(f"The netlist version is correct {joint} the SPEF version is correct.")


def test_one_sentence_may_be_narrowed_once_and_two_may_not() -> None:
    told = "Verify endpoint timing in the setup report: all endpoints must be met."
    assert read(told).choices == {"check": "setup"}
    assert words(told.replace(":", "."))


@pytest.mark.parametrize(
    ("mark", "outcome"),
    [
        (mark, outcome)
        for mark in ("(MET)", "(VIOLATED)")
        for outcome in ("found", "ok", "a violation", "a failure")
    ],
)
@pytest.mark.parametrize(
    "said",
    [
        "{mark} = {outcome}.",
        "An endpoint marked {mark} is {outcome}.",
        "Treat any line with {mark} as {outcome}.",
        "If an endpoint is flagged {mark}, it is {outcome}.",
        "{outcome}: {mark}.",
    ],
)
def test_a_mark_and_its_outcome_must_agree(said: str, mark: str, outcome: str) -> None:
    text = (
        "Every endpoint in the setup report meets timing."
        f" {said.format(mark=mark, outcome=outcome)}"
    )
    if (mark == "(MET)") == (outcome in ("found", "ok")):
        assert [clause.kind for clause in read(text).clauses] == ["claim", "marker"]
    else:
        assert words(text)


CONTENT = [
    "liberty",
    "approved",
    "latest",
    "2023",
    "corner",
    "margin",
    "clk",
    "never",
    "or",
    "unless",
    "hardly",
    "<",
]


# What would turn a claim round, narrow it, or compare it.
TURNING = [
    "not",
    "or",
    "except",
    "unless",
    "only",
    "at least",
    "at most",
    "more than",
    "than",
    "older",
    "same",
    "agree",
    "before",
    "after 2024",
    "never",
    "most",
    "some",
    "half",
    "another",
    "without",
    "neither",
]


def inserted(text: str, word: str, at: int) -> tuple[str, bool]:
    """The text with a word in it, and whether that may have gone into the free part of a waive
    hint.
    """
    told = text.split(" ")
    at %= len(told) + 1
    waive = text.lower().find("waiv")
    return " ".join([*told[:at], word, *told[at:]]), waive >= 0


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(VERSIONS + ENDPOINTS), st.sampled_from(TURNING), st.integers(0, 80))
def test_a_word_that_turns_narrows_or_compares_is_not_passed_over(
    text: str, word: str, at: int
) -> None:
    changed, hint = inserted(text, word, at)
    if not hint:
        assert words(changed)
        return
    try:
        reading = read(changed)
    except NeedsModel:
        return
    kept = [clause.text for clause in read(text).clauses if clause.kind != "waive"]
    assert [clause.text for clause in reading.clauses if clause.kind != "waive"] == kept


@pytest.mark.slow
@pytest.mark.fence
@settings(max_examples=examples(80), deadline=None)
@given(
    st.sampled_from(VERSIONS + ENDPOINTS),
    st.sampled_from(CONTENT) | st.from_regex(r"\Az[a-z]{4,9}\Z"),
    st.integers(0, 60),
)
def test_one_foreign_word_anywhere_and_it_is_not_understood(text: str, word: str, at: int) -> None:
    changed, hint = inserted(text, word, at)
    if hint:
        return  # the free part of a hint may hold more, and decides nothing
    with pytest.raises(NeedsModel):
        read(changed)
