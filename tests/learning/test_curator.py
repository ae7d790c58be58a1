from __future__ import annotations

import pytest

from transom.errors import InputError
from transom.learning import Curator, InsightCategory, InsightSource, Playbook

STR, MIS, *_ = InsightCategory


@pytest.fixture
def book() -> Playbook:
    return Playbook(clock=lambda: "2026-11-23T00:00:00Z")


@pytest.fixture
def curator(book: Playbook) -> Curator:
    book.add_insight(STR, "Begin with a coarse mesh", source_trial=1, tags=["mesh"])
    book.add_insight(
        STR,
        "A first run needs no fine elements",
        tags=["start"],
        source=InsightSource(run="r2"),
        egress="local",
    )
    book.add_insight(MIS, "Never leave a body without a fixed node")
    return Curator(book)


def test_a_merged_insight_gives_all_it_has_and_stands_for_the_other(
    book: Playbook, curator: Curator
) -> None:
    for key, good in (("str-00001", True), ("str-00002", True), ("str-00002", False)):
        book.record_outcome(key, good)
    kept = curator.merge("str-00001", "str-00002", by="ada")
    assert (kept.helpful_count, kept.harmful_count, kept.tags) == (2, 1, ("mesh", "start"))
    assert kept.sources == (InsightSource(trial=1), InsightSource(run="r2"))
    assert kept.egress == "local"
    assert {*book.items} == {"str-00001", "mis-00003"}
    assert book.record_outcome("str-00002", True)
    assert book.require("str-00001").helpful_count == 3
    assert book.add_insight(STR, "a first run needs no fine elements").id == "str-00001"
    assert [one.id for one in book.search_by_content("start")] == ["str-00001"]
    curator.merge("mis-00003", "str-00001")
    assert book.record_outcome("str-00002", True)
    assert book.require("mis-00003").helpful_count == 4
    for keep, other, why in (
        ("mis-00003", "mis-00003", "into itself"),
        ("mis-00003", "str-00001", "it is retired"),
    ):
        with pytest.raises(InputError, match=why):
            curator.merge(keep, other)


def test_an_edited_insight_keeps_its_standing_and_is_found_by_its_new_words(
    book: Playbook, curator: Curator
) -> None:
    book.record_outcome("str-00001", True)
    edited = curator.edit(
        "str-00001",
        content="Begin with few elements",
        tags=["b", "a"],
        valid_until="2027",
        by="ada",
    )
    assert (edited.helpful_count, edited.tags, edited.valid_until) == (1, ("a", "b"), "2027")
    assert [one.id for one in book.search_by_content("few")] == ["str-00001"]
    assert book.search_by_content("coarse") == []
    assert curator.edit("str-00001", tags=[]).content == "Begin with few elements"
    assert book.events("str-00001")[2].data["before"] == "Begin with a coarse mesh"
    with pytest.raises(
        InputError,
        match=r"str-00002 says the same; merge them: transom playbook merge str-00002 str-",
    ):
        curator.edit("str-00001", content="A FIRST run needs no fine elements.")
    with pytest.raises(InputError, match="content is empty"):
        curator.edit("str-00001", content=" ")


def test_a_retired_insight_can_be_restored(book: Playbook, curator: Curator) -> None:
    assert (
        curator.retire("str-00001", "wrong since release 9", by="ada").retired
        == "wrong since release 9"
    )
    assert "str-00001" not in book.items
    with pytest.raises(InputError, match="it is retired"):
        curator.retire("str-00001", "again")
    assert curator.restore("str-00001", by="ada").retired == ""
    assert "str-00001" in book.items
    with pytest.raises(InputError, match="it is not retired"):
        curator.restore("str-00001")
    with pytest.raises(InputError, match="no reason"):
        curator.retire("str-00001", " ")
    curator.merge("str-00001", "str-00002")
    with pytest.raises(InputError, match="merged into str-00001"):
        curator.restore("str-00002")
    with pytest.raises(InputError, match="unknown insight 'str-00099'"):
        curator.confirm("str-00099", by="ada")


def test_a_person_is_asked_of_the_uncertain_first_and_then_of_the_stale(
    book: Playbook, curator: Curator
) -> None:
    assert curator.questions() == []
    for key, outcomes in (
        ("str-00001", [True, False] * 2),
        ("str-00002", [True] * 4),
        ("mis-00003", [True]),
    ):
        for good in outcomes:
            book.record_outcome(key, good)
    (asked,) = curator.questions()
    assert (asked.kind, asked.insight.id) == ("uncertain", "str-00001")
    assert asked.text.startswith("2 outcomes speak for it, 2 against it")
    book.clock = lambda: "2027-11-23T00:00:00Z"
    assert [(one.kind, one.insight.id) for one in curator.questions()] == [
        ("uncertain", "str-00001"), ("stale", "str-00002"), ("stale", "mis-00003"),
    ]  # fmt: skip
    assert len(curator.questions(limit=1)) == 1
    book.clock = lambda: "2026-11-23T00:00:00Z"
    confirmed = curator.confirm("str-00002", by="ada")
    assert confirmed.confirmed_at
    assert confirmed.helpful_count == 5


def near_pair(book: Playbook) -> tuple[str, str]:
    """Add two insights that differ in one word; returns their ids."""
    first = book.add_insight(STR, "Use the slow corner for setup checks of the core")
    second = book.add_insight(STR, "Use the slow corner for hold checks of the core")
    return first.id, second.id


def test_a_question_on_a_near_pair_ends_with_a_persons_answer() -> None:
    for answer in ("merge", "keep both", "edit", "retire"):
        book = Playbook()
        first, second = near_pair(book)
        curator = Curator(book)
        (question,) = curator.questions()
        assert "setup checks" in question.text
        match answer:
            case "merge":
                curator.merge(first, second, by="ada")
                assert book.require(second).content.endswith("hold checks of the core")
            case "keep both":
                curator.distinguish(second, by="ada")
                assert len(book.items) == 2
                assert book.events(second)[-1].data == {"by": "ada"}
            case "edit":
                curator.edit(second, tags=["timing"])
                assert curator.questions(), "another tag is no answer"
                curator.edit(second, content="Check hold in the fast corner")
            case "retire":
                curator.retire(second, "wrong", by="ada")
        assert curator.questions() == []
        book.ledger.rebuild()
        assert curator.questions() == []


def test_an_insight_near_to_a_retired_one_is_asked_about_with_the_reason() -> None:
    book = Playbook()
    first = book.add_insight(STR, "Use the slow corner for setup checks of the core")
    Curator(book).retire(first.id, "wrong since release 9", by="ada")
    second = book.add_insight(STR, "Use the slow corner for hold checks of the core")
    assert not second.retired
    (question,) = Curator(book).questions()
    assert "retired (wrong since release 9)" in question.text


def test_near_pairs_are_asked_about_between_the_uncertain_and_the_stale() -> None:
    book = Playbook(clock=lambda: "2026-11-23T00:00:00Z")
    tried = book.add_insight(STR, "Begin with a coarse mesh")
    for good in (True, False, True, False):
        book.record_outcome(tried.id, good)
    near_pair(book)
    book.clock = lambda: "2027-11-23T00:00:00Z"
    kinds = [question.kind for question in Curator(book).questions()]
    assert kinds == ["uncertain", "near", "stale", "stale"]


@pytest.mark.parametrize("text", ["tomorrow", "next friday", "01/02/2026"])
def test_a_date_that_is_none_hides_nothing(text: str) -> None:
    playbook = Playbook()
    key = playbook.add_insight(InsightCategory.TOOL, "Prefer tool A").id
    with pytest.raises(InputError, match="is not a date"):
        Curator(playbook).edit(key, valid_from=text)
    assert [*playbook.items] == [key]
    edited = Curator(playbook).edit(
        key, valid_from="20260101", valid_until="2126-01-01T01:00:00+02:00"
    )
    assert (edited.valid_from, edited.valid_until) == ("2026-01-01", "2125-12-31T23:00:00Z")
    assert Curator(playbook).edit(key, valid_until="").valid_until == ""
    assert [*playbook.items] == [key]
