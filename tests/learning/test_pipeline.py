"""Whole studies: from trials over feedback to the file, and on to the next study."""

from __future__ import annotations

import json
from pathlib import Path

from transom.learning import FeedbackLoop, InsightCategory, Playbook
from transom.learning.exchange import save_playbook

STR, MIS, *_ = InsightCategory


def test_a_study_from_its_trials_to_its_file(tmp_path: Path) -> None:
    path = tmp_path / "knowledge" / "playbook.json"
    book = Playbook()
    good = book.add_insight(STR, "Use shell elements for thin walls").id
    bad = book.add_insight(STR, "Begin with random node positions").id
    mistake = book.add_insight(MIS, "Never ask for a tolerance below 1e-8", tags=["convergence"]).id
    save_playbook(book, path)
    loop = FeedbackLoop(path)
    for trial in range(4):
        result = loop.process_trial_result(
            trial, True, 100.0 - trial, {"thickness": 1.5}, [good], None
        )
    assert result == {
        "trial_number": 3,
        "success": True,
        "items_updated": [good],
        "new_insights_pending": 0,
    }
    for trial in range(4, 8):
        errors = ["did not converge"]
        result = loop.process_trial_result(
            trial_number=trial, success=False, context_items_used=[bad, mistake], errors=errors
        )
    assert result["new_insights_pending"] == 1
    assert result["items_updated"] == [bad, mistake]
    report = loop.finalize_study(
        {"name": "bracket", "total_trials": 8, "best_value": 97.0, "convergence_rate": 0.85}
    )
    assert (report["insights_added"], report["items_pruned"]) == (2, 1)
    assert (report["success_rate"], report["total_trials"], report["items_used"]) == (
        0.5,
        8,
        [good, bad, mistake],
    )
    items = json.loads(path.read_text())["items"]
    counts = {key: (one["helpful_count"], one["harmful_count"]) for key, one in items.items()}
    assert counts == {good: (4, 0), mistake: (0, 4), "mis-00004": (0, 0), "str-00005": (0, 0)}
    again = FeedbackLoop(path)
    assert again.playbook.require(good).helpful_count == 4
    assert again.finalize_study({})["insights_added"] == 0


def test_what_one_study_learned_is_shown_to_the_next_and_fades_where_it_misleads() -> None:
    book = Playbook()
    first = FeedbackLoop(book, run="one")
    first.process_trial_result(1, False, errors=["singular matrix: no fixed node on the bracket"])
    first.finalize_study({"name": "one", "convergence_rate": 0.6})
    shown = book.get_context_for_task("debug_error", query="the matrix of the bracket is singular")
    (key,) = book.items
    assert shown.splitlines()[1].startswith(f"[{key}]")
    second = FeedbackLoop(book, run="two")
    before = book.require(key).lower_bound
    for trial in range(3):
        second.process_trial_result(trial, True, context_items_used=[key])
    assert book.require(key).lower_bound > before
