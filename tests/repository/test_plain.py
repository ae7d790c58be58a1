"""The measures of how plainly the source is written, and their ceilings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scripts import english, plain

DENSE = '''
def told(what):
    """The answer."""
    return [one for one in what if one] if what else []
'''
PLAIN = '''
def matching_lines(lines):
    """Return the lines that are not empty."""
    # Blank lines separate sections.
    matches = []
    for line in lines:
        if line:
            matches.append(line)
    return matches
'''


def figures(tmp_path: Path, text: str) -> dict[str, float]:
    file = tmp_path / "module.py"
    file.write_text(text)
    return plain.Tally([file]).figures()


def test_pronouns_comprehensions_and_conditional_expressions_are_counted(tmp_path: Path) -> None:
    dense, good = figures(tmp_path, DENSE), figures(tmp_path, PLAIN)
    # `told`, `what` and `one` are all names of the dense function; the plain one has none of them.
    assert (dense["vague"], good["vague"]) == (100, 0)
    assert dense["comp"] > 0 and dense["ifx"] > 0 and dense["comment"] == 0
    assert good["comp"] == 0 and good["ifx"] == 0 and good["comment"] > 0


def test_a_name_that_two_classes_share_is_a_twin(tmp_path: Path) -> None:
    files = []
    for name in ("left", "right"):
        files.append(tmp_path / f"{name}.py")
        files[-1].write_text("class Answer:\n    pass\n\n\nclass _Private:\n    pass\n")
    assert plain.Tally(files).figures()["twins"] == 1


@pytest.fixture
def ceilings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of ceilings, in the place of the repository's own."""
    file = tmp_path / "ceilings.json"
    monkeypatch.setattr(plain, "CEILINGS", file)
    monkeypatch.setattr(plain, "whole_figures", lambda _: {"twins": 3})
    return file


def test_a_figure_above_its_ceiling_is_reported_and_a_new_room_is_held_to_the_goals(
    tmp_path: Path, ceilings: Path
) -> None:
    (tmp_path / "dense.py").write_text(DENSE)
    dense = plain.Tally([tmp_path / "dense.py"])
    ceilings.write_text(json.dumps({"all": {"twins": 2}, "old": {"vague": 100.0, "comment": 0.0}}))
    lines = plain.violations(dense, {"old": dense, "new": dense})
    assert "all: twins is 3, its ceiling 2" in lines
    assert "new: vague is 100.0, its ceiling 1.0" in lines
    assert not [line for line in lines if line.startswith("old")]


def test_ceilings_fall_and_never_rise(tmp_path: Path, ceilings: Path) -> None:
    (tmp_path / "dense.py").write_text(DENSE)
    dense = plain.Tally([tmp_path / "dense.py"])
    ceilings.write_text(json.dumps({"all": {"twins": 5}, "room": {"vague": 40.0, "ifx": 9_999}}))
    plain.lower_ceilings(dense, {"room": dense})
    lowered = json.loads(ceilings.read_text())
    assert lowered["room"]["vague"] == 40.0, "the room became worse, its ceiling stays"
    assert lowered["room"]["ifx"] == dense.figures()["ifx"]
    assert lowered["all"] == {"twins": 3}


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('print("A name that there is not is an error.")', "that there is not"),
        ('raise Error(f"there is none of {kind}, come again")', "there is none"),
        ('option(help="Who answers this question.")', "Who"),
        ('print("nothing is sent. Where it fails, the run stops")', ". Where it"),
    ],
)
def test_constructions_that_have_to_be_read_twice_are_listed_with_their_line(
    tmp_path: Path, text: str, phrase: str
) -> None:
    file = tmp_path / "module.py"
    file.write_text(f'"""That there is not: a docstring is no message."""\n\n{text}\n')
    hits = list(english.hits_of(file))
    assert (3, phrase) in [(hit.line, hit.text) for hit in hits]
    assert all(hit.advice for hit in hits)


def test_plain_sentences_code_and_docstrings_are_not_listed(tmp_path: Path) -> None:
    module, page = tmp_path / "module.py", tmp_path / "page.md"
    module.write_text('"""Where it is."""\n\nprint("no run is called alpha; did you mean beta?")\n')
    page.write_text("Use `is none` in code.\n\n```text\nthat there is not\n```\n\nPlain text.\n")
    assert list(english.hits_of(module)) == []
    assert list(english.hits_of(page)) == []
