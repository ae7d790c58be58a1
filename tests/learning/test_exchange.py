from __future__ import annotations

import json
from pathlib import Path

import pytest

from transom.errors import InputError
from transom.learning import (
    Curator,
    InsightCategory,
    InsightSource,
    Playbook,
    import_json,
    import_notes,
)
from transom.learning.exchange import export_json, load_playbook, save_playbook
from transom.learning.notes import import_file

STR, MIS, *_ = InsightCategory
THEIRS = {
    "version": 1,
    "last_updated": "2025-12-29T10:00:00",
    "items": {
        "str-00001": {
            "id": "str-00001",
            "category": "str",
            "content": "Insight text here",
            "helpful_count": 5,
            "harmful_count": 1,
            "created_at": "2025-12-29T10:00:00",
            "last_used": "2025-12-29T15:30:00",
            "source_trials": [42, 67],
            "tags": ["tag1", "tag2"],
        },
        "mis-00002": {
            "id": "mis-00002",
            "category": "mis",
            "content": "Never set convergence < 1e-8 for SOL 106",
            "helpful_count": 0,
            "harmful_count": 6,
            "created_at": "2025-12-29T10:00:00",
            "last_used": None,
            "source_trials": [],
            "tags": [],
        },
    },
}


def entry(**changes: object) -> dict[str, object]:
    return {"id": "str-00001", "category": "str", "content": "x", **changes}


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(THEIRS))
    return path


def test_a_file_of_the_usual_shape_comes_back_with_the_same_values(
    tmp_path: Path, theirs: Path
) -> None:
    book = load_playbook(theirs)
    first, second = book.items.values()
    assert (first.net_score, first.confidence, first.source_trials) == (4, 5 / 6, (42, 67))
    assert (second.net_score, second.confidence) == (6, 1.0)
    assert book.prune_harmful() == 0
    save_playbook(book, tmp_path / "ours.json")
    ours = json.loads((tmp_path / "ours.json").read_text())
    assert ours == {**THEIRS, "last_updated": "2025-12-29T15:30:00"}
    assert [*ours["items"]["str-00001"]] == [*THEIRS["items"]["str-00001"]]  # type: ignore[index]  # as above
    assert [one.id for one in book.search_by_content("tag1")] == ["str-00001"]


def test_importing_again_changes_nothing_and_raises_what_grew(tmp_path: Path, theirs: Path) -> None:
    book = Playbook()
    assert import_json(book, theirs).added == ["str-00001", "mis-00002"]
    before, epoch = book.items, book.epoch
    again = import_json(book, theirs)
    assert (again.added, again.known) == ([], ["str-00001", "mis-00002"])
    assert (book.items, book.epoch) == (before, epoch)
    book.record_outcome("str-00001", True)
    other = load_playbook(theirs)
    for _ in range(3):
        other.record_outcome("str-00001", True)
        other.record_outcome("mis-00002", False, followed=True)
    save_playbook(other, tmp_path / "other.json")
    import_json(book, tmp_path / "other.json")
    stands = [
        (one.helpful_count, one.harmful_count, one.against_count) for one in book.items.values()
    ]
    assert stands == [(8, 1, 1), (0, 9, 3)]


def test_ids_that_are_taken_are_given_anew_and_equal_texts_stay_one(
    tmp_path: Path, theirs: Path
) -> None:
    book = Playbook()
    mine = book.add_insight(STR, "Something of my own")
    known = book.add_insight(STR, "insight text HERE")
    wide = load_playbook(theirs)
    wide.view = type(wide.view)(study="s")
    wide.add_insight(STR, "Narrow instead", level="study", overrides="mis-00002")
    save_playbook(wide, tmp_path / "wide.json")
    imported = import_json(book, tmp_path / "wide.json")
    assert imported.added == ["mis-00002", "str-00003"]
    assert imported.renamed == {"str-00001": known.id}
    assert (book.require(mine.id).content, book.require(known.id).helpful_count) == (
        "Something of my own",
        5,
    )
    clash = Playbook()
    clash.add_insight(MIS, "a first one")
    clash.add_insight(MIS, "the second mistake of mine")
    renamed = import_json(clash, tmp_path / "wide.json").renamed
    assert renamed == {"mis-00002": "mis-00003"}
    assert clash.require("str-00003").overrides == "mis-00003"


def test_all_that_is_ours_survives_a_file(tmp_path: Path) -> None:
    book = Playbook(domain="fea", study="s", user="ada")
    source = InsightSource("r", "build", 7, "s", "gate")
    wide = book.add_insight(
        STR, "Wide", level="global", tags=["b", "a"], source=source, egress="local"
    )
    book.add_insight(STR, "Wide as well", level="global", source_trial=9)
    book.add_insight(
        STR,
        "Narrow",
        level="study",
        personal=True,
        overrides=wide.id,
        valid_from="2026",
        valid_until="2099",
    )
    gone = book.add_insight(MIS, "Gone altogether")
    book.record_outcome(gone.id, False, followed=True)
    curator = Curator(book)
    curator.confirm("str-00002", by="ada")
    curator.retire(gone.id, "no more")
    save_playbook(book, tmp_path / "one.json")
    other = Playbook(domain="fea", study="s", user="ada")
    import_json(other, tmp_path / "one.json")
    save_playbook(other, tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert other.items == book.items
    assert other.add_insight(MIS, "Gone altogether").retired == "no more"
    assert other.add_insight(MIS, "A fifth one, new").id == "mis-00005"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{", "theirs.json: the document: .*give a file that"),
        ({"version": 2, "items": {}}, "version: "),
        ({"version": 1}, "items: Field required"),
        ({"version": 1, "items": {"a": entry(id="a")}}, r"items\.a\.id"),
        ({"version": 1, "items": {"str-00001": entry(id="str-00002")}}, "holds str-00002"),
        ({"version": 1, "items": {"str-00001": entry(category="mis")}}, "of category mis"),
        ({"version": 1, "items": {"str-00001": entry(helpful_count=-1)}}, "helpful_count"),
        ({"version": 1, "items": {"str-00001": entry(scope="galaxy")}}, "scope"),
    ],
)
def test_a_file_that_is_none_is_refused_whole(theirs: Path, change: object, message: str) -> None:
    theirs.write_text(change if isinstance(change, str) else json.dumps(change))
    book = Playbook()
    with pytest.raises(InputError, match=message):
        import_json(book, theirs)
    assert book.epoch == 0
    with pytest.raises(InputError, match="no such file"):
        load_playbook(theirs / "missing")


def test_session_notes_are_taken_once_and_odd_lines_are_listed(tmp_path: Path) -> None:
    good = [
        {
            "category": "failure",
            "insight": "A mesh of tiny elements ran out of memory",
            "tags": ["mesh"],
        },
        {"category": "success_pattern", "insight": "Warm starts halve the trials"},
        {"category": "workaround", "insight": "Load the idealised part first"},
        {"category": "user_preference", "insight": "Ada wants plots in millimetres"},
        {"category": "protocol_clarification", "insight": "Deformation is measured at the rim"},
        {"category": "something else", "insight": "Zinc is cheap", "tags": None},
    ]
    lines = [
        *map(json.dumps, good),
        "",
        "{broken",
        "[]",
        '{"category": "failure"}',
        '{"category": "failure", "insight": " "}',
    ]
    path = tmp_path / "notes.jsonl"
    path.write_text("\r\n".join(lines))
    book = Playbook()
    imported = import_notes(book, [path])
    assert [one.category.value for one in book.items.values()] == [
        "mis",
        "str",
        "wf",
        "wf",
        "dom",
        "dom",
    ]
    assert len(imported.added) == 6
    assert [line.partition(": ")[0] for line in imported.unreadable] == [
        f"{path}:{n}" for n in (8, 9, 10, 11)
    ]
    before = book.items
    again = import_notes(book, [path])
    assert (len(again.added), len(again.known)) == (0, 6)
    assert book.items == before
    with pytest.raises(InputError, match="no such file"):
        import_notes(book, [tmp_path / "missing.jsonl"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "this is not valid JSON (column 2)"),
        ("[" * 100_000, "this is not valid JSON (column 1)"),
        ('"a text"', "a note is an object with `category` and `insight`, not text"),
        ('["a list"]', "a note is an object with `category` and `insight`, not a list"),
        ('{"category": "failure"}', "`insight` is missing"),
        ('{"insight": "No category is given"}', "`category` is missing"),
        ('{"category": "failure", "insight": null}', "`insight` must be text, not null"),
        ('{"category": 5, "insight": "Five"}', "`category` must be text, not a number"),
        (
            '{"category": "failure", "insight": "Odd tags", "tags": {"a": 1}}',
            "`tags` must be a list of texts, or one text, not an object",
        ),
        (
            '{"category": "failure", "insight": "Half a pair \\ud800"}',
            "the text has an unpaired surrogate, which is no character",
        ),
    ],
)
def test_a_note_that_cannot_be_read_is_named_with_its_line_in_plain_words(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(f'{{"category": "failure", "insight": "A good note"}}\n\n{line}\n')
    imported = import_notes(Playbook(), [path])
    assert imported.unreadable == [f"{path}:3: {message}"]
    assert len(imported.added) == 1


def test_one_text_as_tags_is_a_list_of_words_between_commas(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    note = {"category": "failure", "insight": "Too fine a mesh", "tags": "mesh, contact,"}
    path.write_text(json.dumps(note))
    book = Playbook()
    import_notes(book, [path])
    assert book.require("mis-00001").tags == ("contact", "mesh")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("name", ["notes.json", "notes.jsonl"])
def test_notes_are_read_as_lines_or_as_a_list_in_any_encoding(
    tmp_path: Path, encoding: str, name: str
) -> None:
    notes = [
        {"category": "failure", "insight": "A list [of brackets], and\nlines"},
        "no note",
        {"category": "workaround", "insight": "Größe: µm", "tags": []},
    ]
    path = tmp_path / name
    path.write_bytes(("\n" + json.dumps(notes, indent=1, ensure_ascii=False)).encode(encoding))
    book = Playbook()
    imported = import_file(book, path)
    assert [insight.content for insight in book.items.values()] == [
        "A list [of brackets], and\nlines",
        "Größe: µm",
    ]
    message = "a note is an object with `category` and `insight`, not text"
    assert imported.unreadable == [f"{path}:7: {message}"]


def test_a_playbook_in_utf_16_is_read(tmp_path: Path, theirs: Path) -> None:
    wide = tmp_path / "wide.json"
    wide.write_bytes(theirs.read_text().encode("utf-16"))
    first, second = Playbook(), Playbook()
    import_file(first, theirs)
    import_file(second, wide)
    assert first.items
    assert export_json(second) == export_json(first)


def test_a_broken_list_is_refused_whole_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text('[{"category": "failure", "insight": "One"},\n{"category" "failure"}]')
    book = Playbook()
    with pytest.raises(InputError, match=r"notes\.json:2: the list is not valid JSON"):
        import_file(book, path)
    assert not book.items


def test_an_imported_insight_that_is_near_to_one_here_is_asked_about(
    tmp_path: Path, theirs: Path
) -> None:
    book, other = Playbook(), Playbook()
    book.add_insight(InsightCategory.TOOL, "Take the verified netlist from the release folder")
    other.add_insight(InsightCategory.TOOL, "Take the verified netlist from the staging folder")
    save_playbook(other, tmp_path / "other.json")
    import_json(book, tmp_path / "other.json")
    assert len(book.items) == 2
    assert [question.kind for question in Curator(book).questions()] == ["near"]


def test_what_a_file_says_must_stay_on_this_machine_stays(tmp_path: Path) -> None:
    theirs, ours = Playbook(), Playbook()
    theirs.add_insight(InsightCategory.TOOL, "Prefer tool A", egress="local")
    save_playbook(theirs, tmp_path / "playbook.json")
    key = ours.add_insight(InsightCategory.TOOL, "Prefer tool A").id
    import_json(ours, tmp_path / "playbook.json")
    assert ours.require(key).egress == "local"
