"""What a build learns: who named an insight gains or loses with their own draft, whoever saw it
does not.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from transom.checklist.building.inputs import BuildInputs
from transom.checklist.building.lessons import RECALL, learn, named_in
from transom.checklist.building.state import BuildState, RepairAttempt
from transom.checklist.results import BuildResult
from transom.evidence.findings import Finding
from transom.learning import InsightCategory, InsightSource, Playbook
from transom.runs import Run

SCHEMA = Finding("schema", "atom_a", 3, "value is float, not str")
YAML = Finding("yaml", "checker.yaml", 4, "nobody emits block.watts")
OF_SPEC = Finding("examples", "ItemSpec", None, "the example of item 2.1 is no line of a report")
SECRET = Finding("hard_coding", "atom_b", 4, "the literal 'top_secret' is a waiver of this item")


def built(
    folder: Path, *because: tuple[str, Finding], left: tuple[Finding, ...] = ()
) -> BuildState:
    """The end of a build in which these repairs were made, each because of one finding."""
    inputs = BuildInputs("POWER", "the power of each block", None, "", (), ())
    result = BuildResult(status="human_required" if left else "done", item_id="POWER", run_id="r1")
    state = BuildState(
        inputs,
        3,
        attempts=tuple(RepairAttempt(role, (one,)) for role, one in because),
        result=result,
    )
    return replace(state, unread=left)


def replied(folder: Path, stage: str, text: str) -> None:
    (folder / stage).mkdir(parents=True, exist_ok=True)
    (folder / stage / "response.md").write_text(text)


@pytest.fixture
def book(tmp_path: Path) -> Playbook:
    """Two insights that a run was shown, as its stage keeps them."""
    book = Playbook(domain="checklist")
    shown = [
        book.add_insight(InsightCategory.STRATEGY, text).line
        for text in ("keep values as text", "read the head")
    ]
    (tmp_path / RECALL).mkdir(parents=True)
    (tmp_path / RECALL / "playbook.txt").write_text("\n".join(shown))
    return book


def run_in(folder: Path) -> Run:
    return cast("Run", SimpleNamespace(id="r1", folder=folder))


def counts(book: Playbook) -> dict[str, tuple[int, int]]:
    return {key: (one.helpful_count, one.harmful_count) for key, one in book.items.items()}


def test_each_draft_counts_for_what_it_named_itself(book: Playbook, tmp_path: Path) -> None:
    replied(
        tmp_path, "build/parser", "as [str-00001] says, and [str-99999], which nobody showed me"
    )
    replied(tmp_path, "build/logic", "nothing to name")
    replied(tmp_path, "build/repair_a#1", "now as [str-00002] says")
    state = built(tmp_path, ("repair_a", SCHEMA))
    for _ in range(2):  # resumed: nothing counts twice
        learn(run_in(tmp_path), book, state)
    assert counts(book)["str-00001"] == (0, 1), "its draft failed"
    assert counts(book)["str-00002"] == (1, 0), "its draft stands in the checker that passed"
    (born,) = [one for one in book.items.values() if one.category is InsightCategory.MISTAKE]
    assert "value is float, not str" in born.content
    assert (born.helpful_count, born.harmful_count, len(book.events(born.id))) == (0, 0, 1)
    assert (born.scope, born.sources[0].run, born.sources[0].stage) == (
        "domain/checklist",
        "r1",
        "build/parser",
    )


@pytest.mark.parametrize(
    ("left", "parser", "logic"),
    [
        ((), (1, 0), (1, 0)),
        # the mutation gates were not reached, so of the parser nobody knows
        ((YAML,), (0, 0), (0, 1)),
        ((SCHEMA, YAML), (0, 1), (0, 0)),  # the logic's may come of the parser's
        ((OF_SPEC,), (0, 0), (0, 0)),
    ],
)
def test_only_what_gates_decided_counts(
    book: Playbook,
    tmp_path: Path,
    left: tuple[Finding, ...],
    parser: tuple[int, int],
    logic: tuple[int, int],
) -> None:
    replied(tmp_path, "build/parser", "[str-00001]")
    replied(tmp_path, "build/logic", "[str-00002]")
    learn(run_in(tmp_path), book, built(tmp_path, left=left))
    assert (counts(book)["str-00001"], counts(book)["str-00002"]) == (parser, logic)


def test_a_value_that_no_role_may_see_is_not_learned(book: Playbook, tmp_path: Path) -> None:
    learn(run_in(tmp_path), book, built(tmp_path, ("repair_b", SECRET)))
    text = " ".join(one.content for one in book.items.values())
    assert "hard_coding" in text
    assert "top_secret" not in text


@pytest.mark.parametrize("good", [True, False])
def test_a_persons_word_counts_once_for_what_the_build_named(
    book: Playbook, tmp_path: Path, good: bool
) -> None:
    replied(tmp_path, "build/parser", "[str-00001]")
    source = InsightSource("r2", "confirmed abc" if good else "overturned abc", by="Ann Lee")
    first, again = (book.record(named_in(tmp_path), good, source) for _ in range(2))
    assert (first, again) == (["str-00001"], [])
    assert counts(book)["str-00001"] == ((1, 0) if good else (0, 1))
    assert counts(book)["str-00002"] == (0, 0), "it was shown and not named"
