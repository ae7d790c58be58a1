"""What is too long for its room is cut, not lost: behind a line, a sentence or a word, and
through no number or id.
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.streams import KINDS
from tests.fuzzing import examples
from transom.context import TokenCorrection
from transom.context.cutting import cut, parts
from transom.context.outline import LONGEST_LINE, lines_of
from transom.context.summary import STRUCK, SourceSummary, extract, summarised, without_unsupported
from transom.evidence.facts import FactSource, facts_of

PLAIN = TokenCorrection()
SENTENCE = (
    "Most orders are fine, and order {} is late since the workshop waits for 1,250 parts of"
    " lot_{}. "
)
PARAGRAPH = "".join(SENTENCE.format(n, n) for n in range(1, 40)).strip()
CUT = "\n[cut: the summary was longer than its room]"


def shown(said: str, room: int, source: str) -> str:
    made = summarised(said, source, room, PLAIN)
    assert made.cut and PLAIN.count(made.text) <= room
    text, mark, _ = made.text.partition(CUT)
    assert mark
    return text


@pytest.mark.parametrize("room", [100, 200, 300, 777])
@pytest.mark.parametrize("before", ["", "Here is what I found:\n"])
def test_a_paragraph_that_is_longer_than_its_room_is_cut_behind_a_sentence(
    room: int, before: str
) -> None:
    said = before + PARAGRAPH
    text = shown(said, room, PARAGRAPH)
    assert said.startswith(text) and text.endswith(".")
    assert PLAIN.count(text) > room // 2 - PLAIN.count(CUT)


def test_lines_are_kept_whole_where_that_does_not_lose_the_half() -> None:
    said = "\n".join(f"- Order {number} is late. It waits." for number in range(100))
    text = shown(said, 200, said)
    assert text.splitlines() == said.splitlines()[: len(text.splitlines())]


@pytest.mark.parametrize("said", ["schlimm" * 500, "[" + "1.25," * 900 + "7]", "数" * 900])
def test_what_has_no_spaces_is_cut_all_the_same(said: str) -> None:
    text = shown(said, 200, said)
    assert said.startswith(text) and PLAIN.count(text) > 80
    assert without_unsupported(text, said)[1] == ()


def test_what_was_struck_is_cut_as_a_whole() -> None:
    said = "it has 7,77 " * 300
    for room in range(200, 240):
        assert "[" not in shown(said, room, "it has none").replace(STRUCK, "")


BELOW = (
    "It is short of it by 0.512 ns of violation, slack: - 0.512 here (0.512) of them, - 12 % and"
    " ±0.512 V, 0.512 off."
)


@pytest.mark.parametrize("pad", range(0, 60, 7))
def test_no_number_is_cut_nor_from_the_words_that_tell_its_sign(pad: int) -> None:
    text = f"{'x ' * pad}{BELOW} and more of that"
    whole = list(facts_of(text))
    for most in range(20, len(text) - 1):
        kept = text[: cut(text, most)].rstrip()
        assert list(facts_of(kept)) == whole[: len(list(facts_of(kept)))], kept


PIECES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**9), 10**9).map("{:,}".format),
    st.sampled_from(
        [
            "u_core/reg_7",
            "- 0.5",
            "5 %",
            "(5)",
            "of violation",
            "1.2.3",
            ", ",
            ";",
            "\n",
            " ",
            "  ",
            "−",
        ]
    ),
    st.text(max_size=12),
    st.sampled_from(KINDS),
)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(PIECES, min_size=20, max_size=60), st.sampled_from(["", " "]), st.integers(40, 300))
def test_what_is_kept_says_what_the_whole_says(pieces: list[str], between: str, most: int) -> None:
    text = between.join(pieces)
    if len(text) > most:
        kept = text[: cut(text, most)]
        whole = [fact for fact in facts_of(text) if fact.start < len(kept)]
        assert list(facts_of(kept)) == whole


ROWS = [{"id": f"BUG-{n}", "note": "fine", "slack": n * 0.37123} for n in range(900)]
BAD = [*ROWS[:700], {"id": "BUG-X", "note": "it failed", "slack": -0.125}, *ROWS[700:]]


def records(told: SourceSummary) -> list[str]:
    head, *lines = told.text.splitlines()
    assert head.startswith("[no summary; lines chosen by rule of ")
    return lines


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize("room", [200, 300, 700, 4_000])
def test_of_a_line_that_is_longer_than_the_room_parts_are_shown(
    room: int, separators: tuple[str, str]
) -> None:
    source = json.dumps(BAD, separators=separators)
    told = extract(source, room, PLAIN)
    lines = records(told)
    assert told.cut and room // 2 < PLAIN.count(told.text) <= room
    (bad,) = [line for line in lines if "it failed" in line]
    assert "BUG-X" in bad and "-0.125" in bad
    known = FactSource(source)
    for line in lines:
        number, text = re.fullmatch(r"(\d+): (.*)", line).groups()  # type: ignore[union-attr]  # else the test fails
        part = text.removeprefix("...").removesuffix("...")
        assert text != part and source.index(part) // LONGEST_LINE + 1 == int(number), (
            "as `read_slice` counts"
        )
        assert [fact.text for fact in facts_of(part) if not known.has(fact)] == [], (
            "not half a number"
        )


def test_a_line_that_has_room_is_shown_as_it_is_however_long() -> None:
    source = f"first\n{'long ' * 300}\nERROR at u_core/reg_7\nlast"
    assert records(extract(source, 3_000, PLAIN)) == [
        f"{n}: {line}" for n, line in enumerate(source.split("\n"), 1)
    ]


def test_a_line_that_was_broken_shows_no_half_of_a_number() -> None:
    source = "values: " + " ".join(str(10_000_000 + number * 7) for number in range(700))
    assert len(lines_of(source)) > 3 and not source[LONGEST_LINE - 1 : LONGEST_LINE + 1].count(" ")
    known = FactSource(source)
    for line in records(extract(source, 4_000, PLAIN)):
        assert [
            fact.text for fact in facts_of(line.partition(": ")[2]) if not known.has(fact)
        ] == []


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=80).map("".join), st.integers(20, 200))
def test_parts_are_the_whole(text: str, most: int) -> None:
    found = list(parts(text, most))
    assert "".join(text[start:end] for start, end in found) == text
    assert all(0 < end - start <= most for start, end in found if text)
