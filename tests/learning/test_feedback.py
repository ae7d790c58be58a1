from __future__ import annotations

from pathlib import Path

from transom.learning import FeedbackLoop, InsightCategory, Playbook

STR, MIS, *_ = InsightCategory


def test_a_trial_of_one_run_counts_once_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "playbook.json"
    for _ in range(3):
        loop = FeedbackLoop(path, run="bracket-7")
        key = loop.playbook.add_insight(STR, "Use shell elements for thin walls").id
        loop.process_trial_result(1, True, context_items_used=[key])
    assert loop.playbook.require(key).helpful_count == 1
    other = FeedbackLoop(path)
    other.process_trial_result(1, True, context_items_used=[key])
    assert loop.playbook.require(key).helpful_count == 2


def test_a_batch(tmp_path: Path) -> None:
    book = Playbook()
    key = book.add_insight(STR, "Use shell elements for thin walls").id
    loop = FeedbackLoop(book)
    report = loop.process_batch(
        [
            {
                "trial_number": 1,
                "success": True,
                "objective_value": 3.0,
                "context_items_used": [key],
            },
            {"trial_number": 2, "success": False, "errors": ["out of memory", "singular matrix"]},
        ]
    )
    assert report == {
        "trials_processed": 2, "successes": 1, "failures": 1, "items_updated": [key], "new_insights_pending": 2,
    }  # fmt: skip
