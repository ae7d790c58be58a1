"""Proof by addition: what a judge does not look at shows up, and the vocabulary notices bad news."""

from __future__ import annotations

import re

import pytest

from tests.evidence.addition import (
    POSITIONS,
    additions_of,
    cuts_of,
    overlooked_files,
    prove_by_addition,
    swallowing_patterns,
    system_lines,
)
from tests.evidence.corpora import corpus_lines
from transom.evidence.trouble import TroubleFinder

REPORT = """\
Acme Router 21.1  design rule summary
Design: adder
Rules checked: 1204
Total results: 0
End of summary
"""
LOG = """\
[INFO] reading adder.v
[INFO] 2310 endpoints, 0 setup violations
[INFO] worst slack 0.31 ns
[INFO] 0 errors, 3 infos
done
"""
BAD = corpus_lines("bad_news", "eda")
HARMLESS = corpus_lines("harmless")
FINDER = TroubleFinder("eda")


def reads_report(text: str) -> bool:
    """Whether a summary has its fact, its end as the last line of words, and no trouble."""
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    has_fact = "Total results: 0" in lines and "End of summary" in lines
    return has_fact and not any(FINDER.in_line(line) for line in lines)


def reads_log(text: str) -> bool:
    """Whether a log has its facts and its end, and no trouble."""
    lines = text.splitlines()
    has_fact = any("worst slack 0.31" in line for line in lines) and "done" in lines
    return has_fact and not any(FINDER.in_line(line) for line in lines)


def sees_only_known_lines(text: str) -> bool:
    """A judge of the wrong kind: it finds its good line and looks at nothing else."""
    return "Total results: 0" in text


@pytest.mark.parametrize(("text", "judge"), [(REPORT, reads_report), (LOG, reads_log)])
def test_no_bad_news_of_the_corpus_leaves_a_verdict_positive(text: str, judge: object) -> None:
    proof = prove_by_addition(text, judge, bad=BAD, harmless=HARMLESS)  # type: ignore[arg-type]
    assert proof.bad_trials == 3 * len(BAD)
    assert [str(addition) for addition in proof.overlooked] == []
    assert [str(addition) for addition in proof.alarms] == []
    assert proof.cuts == ()


def test_no_message_of_the_operating_system_leaves_a_verdict_positive() -> None:
    proof = prove_by_addition(REPORT, reads_report, bad=system_lines())
    assert proof.bad_trials >= 300
    assert [str(addition) for addition in proof.overlooked] == []


def test_most_messages_of_the_system_are_noticed_by_the_vocabulary_alone() -> None:
    finder = TroubleFinder("eda", with_system=False)
    proof = prove_by_addition(
        LOG,
        lambda text: not any(finder.in_line(line) for line in text.splitlines()),
        bad=system_lines(),
    )
    assert len(proof.overlooked) / proof.bad_trials <= 0.2


def test_bad_news_of_a_release_is_noticed_in_its_field() -> None:
    finder = TroubleFinder("release")
    text = "decision: approved\nsigned by Ada\n"
    proof = prove_by_addition(
        text,
        lambda text: not any(finder.in_line(line) for line in text.splitlines()),
        bad=corpus_lines("bad_news", "release"),
        harmless=HARMLESS,
        is_everywhere=True,
    )
    assert [str(addition) for addition in proof.overlooked] == []
    assert [str(addition) for addition in proof.alarms] == []


def test_a_judge_that_looks_at_its_good_line_alone_overlooks_all_bad_news() -> None:
    proof = prove_by_addition(REPORT, sees_only_known_lines, bad=BAD, harmless=HARMLESS)
    assert len(proof.overlooked) == proof.bad_trials
    assert proof.alarms == ()
    # The cut after the good line has lost the end, and this judge does not see it.
    assert [cut.last_line for cut in proof.cuts] == [4]


def test_nothing_is_proven_by_an_example_that_is_not_positive() -> None:
    with pytest.raises(ValueError, match="nothing is proven"):
        prove_by_addition(REPORT, lambda text: False, bad=BAD)


def test_a_line_is_laid_before_into_and_behind_a_text() -> None:
    texts = {addition.position: addition.text for addition in additions_of("a\nb\n", ["x"])}
    assert texts == {"prepended": "x\na\nb\n", "inserted": "a\nx\nb\n", "appended": "a\nb\nx\n"}
    assert tuple(texts) == POSITIONS
    everywhere = additions_of("a\nb\nc", ["x"], is_everywhere=True)
    assert [addition.after_line for addition in everywhere] == [0, 1, 2, 3]


def test_a_text_is_cut_after_each_line_but_the_last() -> None:
    assert [cut.text for cut in cuts_of("a\nb\nc\n\n")] == ["a\n", "a\nb\n"]
    assert list(cuts_of("a\n")) == []


def test_a_bad_file_beside_good_ones_is_overlooked_by_a_judge_that_knows_names_only() -> None:
    good = {"tests.json": '{"failed": 0}'}
    bad = {"second/tests.json": '{"failed": 3}', "tests-2.json": '{"failed": 1}'}

    def knows_names(files: object) -> bool:
        assert isinstance(files, dict)
        return '"failed": 0' in files["tests.json"]

    assert overlooked_files(good, bad, knows_names) == tuple(bad)
    assert overlooked_files(good, bad, lambda files: len(files) == 1) == ()
    with pytest.raises(ValueError, match="already has tests"):
        overlooked_files(good, good, knows_names)


def test_a_pattern_that_swallows_bad_news_is_named_with_the_line() -> None:
    patterns = {
        "any words in brackets": re.compile(r"^[A-Za-z].*\(.*\)$"),
        "rules checked": re.compile(r"^Rules checked: \d+$"),
    }
    swallowed = swallowing_patterns(patterns, BAD)
    assert ("any words in brackets", "Segmentation fault (core dumped)") in swallowed
    assert {name for name, _ in swallowed} == {"any words in brackets"}
