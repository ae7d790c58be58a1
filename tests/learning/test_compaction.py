from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzzing import examples
from transom.errors import InputError
from transom.learning import CompactedLog
from transom.llm import estimate_tokens


def test_trials_fold_into_exact_figures_and_errors_stay() -> None:
    manager = CompactedLog(compaction_threshold=50, keep_recent=20, keep_errors=True)
    for n in range(1, 56):
        if n == 10:
            manager.add_error_event("Convergence failure", error_type="solver")
        elif n == 12:
            manager.add_milestone("Reached 50% improvement", {"improvement": 0.5})
        else:
            manager.add_trial_event(trial_number=n, success=n % 5 != 0, objective=float(n))
    lines = manager.get_context_string().splitlines()
    assert lines[:3] == [
        "Trials 1-31 (29): Best=1, Avg=16.3448, Failures=5",
        "ERROR (solver): Convergence failure",
        "MILESTONE: Reached 50% improvement (improvement=0.5)",
    ]
    assert lines[3:] == [
        f"Trial {n} {'complete' if n % 5 else 'failed'}, objective {n}" for n in range(32, 56)
    ]
    stats = manager.get_stats()
    assert (stats["total_events"], stats["folded_events"], stats["compaction_count"]) == (55, 29, 1)
    assert stats["standing_events"] == 26


def test_the_largest_may_be_the_best_and_errors_may_go() -> None:
    manager = CompactedLog(4, 1, keep_errors=False, maximise=True)
    manager.add_error_event("gone")
    manager.add_milestone("kept")
    for n in range(3):
        manager.add_trial_event(n, True, 10.0 * n, duration=1.5)
    assert manager.get_context_string().splitlines() == [
        "Trials 0-1 (2): Best=10, Avg=5, Failures=0", "MILESTONE: kept", "Trial 2 complete, objective 20, seconds 1.5",
    ]  # fmt: skip
    with pytest.raises(InputError, match="keep_recent is 9"):
        CompactedLog(5, 9)


def test_for_want_of_room_equal_ones_become_one_and_the_oldest_go() -> None:
    manager = CompactedLog()
    for n in range(30):
        manager.add_error_event("the same trouble" if n % 3 else f"trouble {n}")
    whole = manager.get_context_string()
    assert len(whole.splitlines()) == 30
    short = manager.get_context_string(tokens=60)
    assert estimate_tokens(short) <= 60
    assert "ERROR: the same trouble (20 times)" in short
    assert short.splitlines()[0].endswith("older events are left out")
    assert manager.get_context_string(tokens=1) == "11 older events are left out"


events = st.lists(
    st.tuples(st.sampled_from(["trial", "error", "milestone"]), st.integers(0, 5), st.booleans()),
    max_size=60,
)


@given(events, st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=examples(40))
def test_every_error_and_milestone_survives_in_order_and_the_figures_are_exact(
    stream: list[tuple[str, int, bool]], threshold: int, keep: int
) -> None:
    manager = CompactedLog(max(threshold, keep), min(threshold, keep))
    lasting, folded = [], []
    for kind, number, good in stream:
        if kind == "trial":
            manager.add_trial_event(number, good, float(number))
        elif kind == "error":
            manager.add_error_event(f"trouble {number}")
            lasting.append(f"ERROR: trouble {number}")
        else:
            manager.add_milestone(f"reached {number}")
            lasting.append(f"MILESTONE: reached {number}")
    standing = manager.events
    assert [one for one in standing if not one.startswith("Trial")] == lasting
    trials = [(number, good) for kind, number, good in stream if kind == "trial"]
    folded = trials[: len(trials) - sum(one.startswith("Trial") for one in standing)]
    if folded:
        numbers = [number for number, _ in folded]
        failures = sum(not good for _, good in folded)
        assert (
            manager.summary
            == f"Trials {min(numbers)}-{max(numbers)} ({len(folded)}): Best={min(numbers)}, "
            f"Avg={sum(numbers) / len(numbers):.6g}, Failures={failures}"
        )
    else:
        assert manager.summary == ""
    assert len(manager.history.live) <= max(threshold, keep)
