from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.embedders import HashedWords
from transom.errors import InputError
from transom.learning import (
    Curator,
    Insight,
    InsightCategory,
    InsightSource,
    Playbook,
    PlaybookQuery,
)
from transom.learning.exchange import load_playbook, save_playbook

STR, MIS, TOOL, CAL, DOM, WF = InsightCategory
SHELLS = "Use shell elements for thin walls"
TOLERANCE = "Never set convergence below 1e-8 for SOL 106"


@pytest.fixture
def book() -> Playbook:
    return Playbook()


# adding


def test_an_insight_without_words_is_one_like_any_other(book: Playbook) -> None:
    assert book.add_insight(STR, "\U00086624").id == "str-00001"
    assert [*book.items] == ["str-00001"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Reject paths with slack < 0", "Reject paths with slack > 0"),
        ("Offset the datum by -0.5 mm", "Offset the datum by 0.5 mm"),
        ("Treat x == 0 as open", "Treat x != 0 as open"),
        ("Run lint before synthesis", "Run synthesis before lint"),
        ("Prefer tetra over hexa elements", "Prefer hexa over tetra elements"),
        ("Convert the file from Nastran to Abaqus", "Convert the file from Abaqus to Nastran"),
    ],
)
def test_equal_words_that_say_the_opposite_stay_two(book: Playbook, one: str, other: str) -> None:
    assert book.add_insight(DOM, one).id != book.add_insight(DOM, other).id


def test_what_to_do_and_what_to_avoid_stay_two_in_equal_words(
    book: Playbook, tmp_path: Path
) -> None:
    assert book.add_insight(STR, "Skip the mesh check").id == "str-00001"
    assert book.add_insight(MIS, "Skip the mesh check").id == "mis-00002"
    assert len(book.search_by_content("mesh check")) == 2
    save_playbook(book, tmp_path / "playbook.json")
    assert [*load_playbook(tmp_path / "playbook.json").items] == ["str-00001", "mis-00002"]


def test_ids_run_through_all_categories_and_are_never_given_twice(book: Playbook) -> None:
    assert [book.add_insight(category, f"fact about {category.name}").id for category in InsightCategory] == [
        "str-00001", "mis-00002", "tool-00003", "cal-00004", "dom-00005", "wf-00006",
    ]  # fmt: skip
    for _ in range(3):
        book.record_outcome("wf-00006", False)
    assert book.prune_harmful() == 1
    assert book.add_insight(STR, "something new altogether").id == "str-00007"


@pytest.mark.parametrize(
    "again",
    [
        SHELLS,
        "  use SHELL elements -- for thin walls!\n",
        "“Use `shell` elements, for thin walls.”",
    ],
)
def test_an_equal_text_is_kept_once_with_both_sources(book: Playbook, again: str) -> None:
    first = book.add_insight(STR, SHELLS, source_trial=67, tags=["mesh"])
    book.record_outcome(first.id, True)
    second = book.add_insight(
        TOOL, again, tags=["shell"], source=InsightSource(run="r1", stage="build", trial=42)
    )
    assert second.id == first.id
    assert second.tags == ("mesh", "shell")
    assert second.source_trials == (42, 67)
    assert second.sources == (InsightSource(trial=67), InsightSource("r1", "build", 42))
    assert second.helpful_count == 1
    assert len(book.items) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TOLERANCE, "Never set convergence below 1e-10 for SOL 106"),
        ("Always use reduced integration for thick solid parts", "Never use reduced integration for thick solid parts"),
        ("Use symmetric supports for the whole mirror cell", "Do not use symmetric supports for the whole mirror cell"),
        ("Increase the penalty factor when a contact chatters", "Decrease the penalty factor when a contact chatters"),
        ("TPE works well for problems with many variables", "CMA-ES needs a large budget"),
    ],
)  # fmt: skip
def test_what_says_the_opposite_or_another_number_is_kept_apart(
    book: Playbook, one: str, other: str
) -> None:
    assert book.add_insight(STR, one).id != book.add_insight(STR, other).id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Set the gap to 5'", 'Set the gap to 5"'),
        ("Set f' to zero", "Set f to zero"),
        ("Compute n! first", "Compute n first"),
        ("Divide by (k)! twice", "Divide by (k) twice"),
        ("Stop if !ready", "Stop if ready"),
        ("Copy log? only", "Copy log only"),
        ("Pass --fast to the mesher", "Pass fast to the mesher"),
        ("Pass -v", "Pass v"),
        ("Plot yield - stress", "Plot yield stress"),
        ("Plot a-b", "Plot a b"),
        ("Load _rotor.prt", "Load rotor.prt"),
        ("Keep .cache", "Keep cache"),
        ("Call self.run", "Call self run"),
        ("Set the ratio to 1:5", "Set the ratio to 1 5"),
        ("Run make ./all", "Run make /all"),
    ],
)
def test_a_mark_that_changes_the_meaning_keeps_texts_apart(
    book: Playbook, one: str, other: str
) -> None:
    assert book.add_insight(STR, one).id != book.add_insight(STR, other).id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rinse twice.", "Rinse twice"),
        ("Rinse twice!", "rinse  twice..."),
        ("Rinse; then dry", "Rinse, then dry"),
        ("Rinse -- then dry", "Rinse \u2013 then dry."),
        ('"Don\'t rinse `jars`"', "Don't rinse jars"),
        ("Use a well-known solvent", "Use a well known solvent"),
        ("'Rinse' the `jar`", 'Rinse the "jar".'),
        ("(Rinse the jar.)", "(Rinse the jar)"),
        ("Rinse the jar's lid", "Rinse the jar\u2019s lid"),
    ],
)
def test_marks_that_only_join_quote_or_end_words_do_not_count(
    book: Playbook, one: str, other: str
) -> None:
    assert book.add_insight(STR, one).id == book.add_insight(STR, other).id


def test_what_to_do_and_what_to_avoid_are_two(book: Playbook) -> None:
    words = "a relative tolerance of ten to the minus eight in the nonlinear solution step"
    assert book.add_insight(STR, words).id != book.add_insight(MIS, f"{words} fails").id


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Mesh all thin walls with shell elements", "Mesh all thin walls with solid elements"),
        ("Ask the owner when two criteria disagree", "Ask the tester when two criteria disagree"),
        ("Safety factor is yield / stress", "Safety factor is yield * stress"),
        ("Penalty is f(gap) + damping", "Penalty is f(gap + damping)"),
        ("Rename getPartName to part_name", "Rename get_part_name to part_name"),
        ("Use the shell elements for thin walls", "Use a shell element for thin walls"),
        ("Always check the seal before a run", "Never check the seal before a run"),
    ],
)
def test_near_texts_stay_two_and_a_person_is_asked(book: Playbook, first: str, second: str) -> None:
    kept = book.add_insight(STR, first)
    added, is_new = book.add(Insight("", TOOL, second))
    assert is_new
    assert [insight.content for insight in book.items.values()] == [first, second]
    (question,) = Curator(book).questions()
    assert (question.kind, question.insight.id) == ("near", added.id)
    assert question.other == kept


@pytest.mark.parametrize("stems", [300, 420, 700, 790])
def test_near_texts_of_any_length_are_asked_about(book: Playbook, stems: int) -> None:
    words = [
        f"w{chr(97 + n // 676)}{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n in range(stems)
    ]
    first = book.add_insight(STR, " ".join(words))
    book.add_insight(STR, " ".join([*words, "besides"]))
    (question,) = Curator(book).questions()
    assert question.other == first


def test_texts_of_one_template_stay_apart_and_each_is_asked_about_once(book: Playbook) -> None:
    materials = [f"material {letter * 3}" for letter in "abcdefghijklmnopqrst"]
    for material in materials:
        book.add_insight(STR, f"Choose {material} for the outer housing of a pump in salt water")
    assert len(book.items) == len(materials)
    assert len(Curator(book).questions(None)) == len(materials) - 1


def test_a_paraphrase_stays_a_second_insight_with_a_question() -> None:
    book = Playbook(embedder=HashedWords())
    first = book.add_insight(STR, "replace a broken cellphone")
    second = book.add_insight(STR, "a faulty telephone: replace")
    assert second.id == "str-00002"
    (question,) = Curator(book).questions()
    assert (question.insight, question.other) == (second, first)
    words_only = Playbook()
    words_only.add_insight(STR, "replace a broken cellphone")
    words_only.add_insight(STR, "a faulty telephone: replace")
    assert Curator(words_only).questions() == []


def test_other_numbers_are_other_facts_and_ask_nothing(book: Playbook) -> None:
    book.add_insight(STR, "Keep the wall of the housing above 2.5 mm")
    book.add_insight(STR, "Keep the wall of the housing above 3 mm")
    assert len(book.items) == 2
    assert Curator(book).questions() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"content": " \n"}, "content is empty.*one fact"),
        ({"content": "x" * 4001}, "4001 characters"),
        ({"content": "x", "level": "study"}, "no study is named.*study=NAME"),
        ({"content": "x", "level": "domain"}, "no domain is named"),
        ({"content": "x", "personal": True}, "user=NAME"),
        ({"content": "x", "overrides": "str-00099"}, "unknown insight 'str-00099'"),
    ],
)
def test_what_cannot_be_added_says_why(
    book: Playbook, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        book.add_insight(STR, **arguments)  # type: ignore[arg-type]  # as in the table
    assert not book.items


# outcomes


def test_the_example_of_a_mistake_is_not_pruned(book: Playbook) -> None:
    mistake = book.add_insight(MIS, TOLERANCE)
    advice = book.add_insight(STR, SHELLS)
    for _ in range(6):
        assert book.record_outcome(mistake.id, helpful=False)
        assert book.record_outcome(advice.id, helpful=False)
    assert book.prune_harmful(threshold=-3) == 1
    stands = book.require(mistake.id)
    assert (stands.helpful_count, stands.harmful_count, stands.net_score, stands.confidence) == (
        0,
        6,
        6,
        1.0,
    )
    assert [*book.items] == [mistake.id]
    gone = book.require(advice.id)
    assert gone.retired == "net score -6: 6 outcomes against it, 0 for it"
    assert not book.record_outcome("str-00099", helpful=True)


def test_a_mistake_that_was_heeded_in_vain_or_made_without_harm_is_condemned(
    book: Playbook,
) -> None:
    mistake = book.add_insight(MIS, TOLERANCE)
    for n in range(3):
        book.record_outcome(mistake.id, helpful=n % 2 == 0, followed=n % 2 != 0)
    assert book.require(mistake.id).net_score == -3
    assert book.prune_harmful() == 1


def test_what_no_outcome_condemns_is_never_pruned(book: Playbook) -> None:
    untested, good = (
        book.add_insight(STR, SHELLS).id,
        book.add_insight(STR, "TPE suits ten variables").id,
    )
    book.record_outcome(good, True)
    assert book.prune_harmful(3) == 0
    assert {*book.items} == {untested, good}


def test_what_was_condemned_is_not_learned_again(book: Playbook) -> None:
    first = book.add_insight(STR, SHELLS)
    for _ in range(3):
        book.record_outcome(first.id, False)
    book.prune_harmful()
    again = book.add_insight(STR, SHELLS.upper())
    assert again.id == first.id
    assert again.retired
    assert not book.items


def test_one_outcome_counts_once_and_only_for_what_was_cited(book: Playbook) -> None:
    cited, other = (
        book.add_insight(STR, SHELLS).id,
        book.add_insight(STR, "TPE suits ten variables").id,
    )
    gate = InsightSource("run-1", "build", by="gate")
    assert book.record([cited, cited, "str-00099"], True, gate) == [cited]
    assert book.record([cited], True, gate) == []
    assert book.record([cited], False, gate, attempt=2) == [cited]
    counts = [
        (one.helpful_count, one.harmful_count) for one in (book.require(cited), book.require(other))
    ]
    assert counts == [(1, 1), (0, 0)]
    source = {"run": "run-1", "stage": "build", "by": "gate"}
    assert [event.data.get("source") for event in book.events(cited)][1] == source


def test_a_failure_of_another_kind_says_nothing_of_a_mistake(book: Playbook) -> None:
    mistake = book.add_insight(MIS, TOLERANCE, tags=["convergence"]).id
    assert book.record([mistake], False, InsightSource("r", "1"), kinds={"mesh"}) == []
    assert book.record([mistake], False, InsightSource("r", "overturned")) == [], (
        "of what kind it was is not known"
    )
    wrong = book.add_insight(MIS, "Never read the footer line", tags=["parser"]).id
    assert book.record([wrong], False, InsightSource("r", "overturned"), followed=True) == [wrong]
    assert book.require(wrong).net_score == -1, "who relied on it came to a wrong verdict"
    assert book.record([mistake], False, InsightSource("r", "2"), kinds={"convergence"}) == [
        mistake
    ]
    assert book.record([mistake], True, InsightSource("r", "3")) == [mistake]
    assert book.record_outcome(mistake, True, followed=False)
    stands = book.require(mistake)
    assert (stands.for_count, stands.against_count) == (2, 1)


# scopes


def test_narrower_scopes_inherit_and_override(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    everywhere = Playbook(path)
    fea = Playbook(path, domain="fea")
    bracket = Playbook(path, domain="fea", study="bracket")
    eda = Playbook(path, domain="eda")
    wide = everywhere.add_insight(STR, "Mesh size 2 mm is a good start")
    domain = fea.add_insight(STR, SHELLS)
    study = bracket.add_insight(
        STR, "Mesh size 0.5 mm is needed here", level="study", overrides=wide.id
    )
    assert (wide.scope, domain.scope, study.scope) == ("global", "domain/fea", "study/bracket")
    assert {*bracket.items} == {domain.id, study.id}
    assert {*fea.items} == {wide.id, domain.id}
    assert {*eda.items} == {*everywhere.items} == {wide.id}
    with pytest.raises(InputError, match="narrower than an insight in global"):
        fea.add_insight(STR, "Mesh size is anything", level="global", overrides=domain.id)
    with pytest.raises(InputError, match="narrower"):
        eda.add_insight(STR, "Mesh size is anything", overrides=domain.id)
    assert eda.add_insight(STR, SHELLS).id != domain.id
    assert len(fea.search_by_content("shell elements")) == 1


def test_ones_own_goes_before_what_all_share(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    shared, ada, bob = Playbook(path), Playbook(path, user="ada"), Playbook(path, user="bob")
    base = shared.add_insight(WF, "Reports go to the team folder")
    own = ada.add_insight(WF, "Reports go to my own folder", personal=True, overrides=base.id)
    assert {*ada.items} == {own.id}
    assert {*bob.items} == {*shared.items} == {base.id}
    ada.record_outcome(base.id, True)
    assert shared.require(base.id).helpful_count == 1


# what is shown


def test_search_looks_at_words_tags_and_category(book: Playbook) -> None:
    tagged = book.add_insight(STR, SHELLS, tags=["mesh"])
    said = book.add_insight(MIS, "Meshing without midsurfaces fails")
    book.add_insight(DOM, "Mirrors deform by Zernike terms")
    assert {one.id for one in book.search_by_content("meshes")} == {tagged.id, said.id}
    assert [one.id for one in book.search_by_content("mesh", MIS)] == [said.id]
    assert book.search_by_content("") == []
    assert book.search_by_content("turbine") == []
    assert len(book.search_by_content("mesh", limit=1)) == 1
    assert [one.id for one in book.get_by_category(MIS)] == [said.id]


def test_an_insight_holds_in_its_time(book: Playbook) -> None:
    book.clock = lambda: "2026-06-01T00:00:00Z"
    book.add_insight(DOM, "Release nine is out", valid_from="2027-01-01")
    book.add_insight(DOM, "Licence server two is down", valid_until="2026-05-01")
    holds = book.add_insight(
        DOM, "Solver four is current", valid_from="2026-01-01", valid_until="2027-01-01"
    )
    book.add_insight(DOM, "Solver five is current", overrides=holds.id, valid_from="2027-01-01")
    assert {*book.items} == {holds.id}
    book.clock = lambda: "2026-12-31T00:00:00Z"
    assert {*book.items} == {holds.id}
    book.clock = lambda: "2027-06-01T00:00:00Z"
    assert [one.content for one in book.items.values()] == [
        "Release nine is out",
        "Solver five is current",
    ]


def test_an_epoch_shows_what_was_there(book: Playbook) -> None:
    old = book.add_insight(STR, SHELLS)
    epoch = book.epoch
    book.add_insight(STR, "Use shell elements for domes and spheres too")
    found = book.choose(PlaybookQuery("shell elements", before=epoch))
    assert [one.insight.id for one in found] == [old.id]


def test_statistics(book: Playbook) -> None:
    assert book.get_stats()["average_confidence"] == 0.5
    first, second, third = (
        book.add_insight(STR, text).id for text in (SHELLS, "another fact", "a third one here")
    )
    book.add_insight(MIS, TOLERANCE)
    for key, good in ((first, True), (first, True), (second, True), (second, False)):
        book.record_outcome(key, good)
    for _ in range(3):
        book.record_outcome(third, False)
    book.prune_harmful()
    stats = book.get_stats()
    assert stats["total_items"] == 3
    assert stats["by_category"] == {"str": 2, "mis": 1}
    assert (stats["total_helpful"], stats["total_harmful"], stats["untested"]) == (3, 1, 1)
    assert (stats["average_confidence"], stats["retired"]) == (0.75, 1)
