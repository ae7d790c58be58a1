"""Which descriptions are understood, what they are taken to say, and which are left to a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checklist.rules.support import shipped
from transom.checklist.rules.forms import normal
from transom.checklist.rules.knowledge import grammar_of
from transom.checklist.rules.reading import Reading, read_description
from transom.errors import NeedsModel

DATA = Path(__file__).parent / "data"


def lines(name: str) -> list[str]:
    return [line for line in (DATA / name).read_text().splitlines() if line and not line.startswith("#")]


def read(text: str) -> Reading:
    return read_description(text, shipped())


def words(text: str) -> list[str]:
    with pytest.raises(NeedsModel) as caught:
        read(text)
    return [word.text for word in caught.value.words]


@pytest.mark.parametrize("text", lines("versions_understood.txt"))
def test_versions_are_understood(text: str) -> None:
    reading = read(text)
    assert (reading.domain.domain, reading.entities) == ("versions", ("netlist", "spef"))


@pytest.mark.parametrize("text", lines("endpoints_understood.txt"))
def test_endpoints_are_understood(text: str) -> None:
    reading = read(text)
    assert reading.domain.domain == "sta_endpoints"
    wanted = "hold" if "hold" in text else "setup" if "setup" in text.lower() else None
    assert reading.choices.get("check") == wanted


@pytest.mark.parametrize("text", lines("not_understood.txt"))
def test_near_misses_are_not(text: str) -> None:
    assert words(text)


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("The SPEF version is correct.", ("spef",)),
        ("Verify that the gate-level netlists carry complete version information.", ("netlist",)),
        ("Confirm the SPEF version is correct. Confirm the netlist version is correct.", ("netlist", "spef")),
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
        ("Confirm the netlist version is correct. Then dance.", ["then", "dance"]),
        ("The netlist correct is version.", ["The netlist correct is version"]),
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
    assert words("Confirm every endpoint meets timing. Confirm every endpoint in the hold report meets timing.")


def test_a_text_without_end_or_of_one_huge_word_is_left_alone() -> None:
    assert words("netlist " * 5000)
    assert words("x" * 100_000)


def test_every_template_compiles() -> None:
    knowledge = shipped()
    for domain in knowledge.domains:
        grammar = grammar_of(domain, knowledge.common)
        for form in (*domain.forms, *knowledge.common.forms):
            for say in form.say:
                assert grammar.compile(say).match("") is None


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
    "if",
    "hardly",
    "<",
]


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(lines("versions_understood.txt") + lines("endpoints_understood.txt")),
    st.sampled_from(CONTENT) | st.from_regex(r"\Az[a-z]{4,9}\Z"),
    st.integers(0, 60),
)
def test_one_foreign_word_anywhere_and_it_is_not_understood(text: str, word: str, at: int) -> None:
    told = text.split(" ")
    at %= len(told) + 1
    if word == "if" and at and normal(told[at - 1]).split()[-1:] in (["check"], ["found"]):
        return
    changed = " ".join([*told[:at], word, *told[at:]])
    waive = changed.lower().rfind("waive")
    if 0 <= waive <= len(" ".join(told[:at])):
        return  # the free part of a hint may hold more, and decides nothing
    with pytest.raises(NeedsModel):
        read(changed)
