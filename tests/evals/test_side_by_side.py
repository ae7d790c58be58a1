"""Two evaluations side by side: what got worse comes first, with answers, tokens and cost."""

from __future__ import annotations

from transom.evals.document import (
    Details,
    EpochRow,
    Evaluation,
    Fingerprint,
    ScenarioRow,
    Status,
    summarise,
)
from transom.evals.scenario_models import Used
from transom.evals.side_by_side import html_comparison, markdown_comparison, side_by_side

NAMES = ("main", "branch")


def row(name: str, status: Status, verdict: str, answer: str = "", tokens: int = 10) -> ScenarioRow:
    used = Used(input_tokens=tokens, output_tokens=5, cost_usd=0.25)
    epoch = EpochRow(status=status, verdict=verdict, answer=answer, used=used)
    share = float(status == "pass")
    details = Details(epochs=(epoch,), pass_share=share)
    return ScenarioRow(id=name, status=status, scores={}, epochs=1, details=details)


def evaluation(*rows: ScenarioRow) -> Evaluation:
    return Evaluation(
        suite="loans",
        summary=summarise(rows),
        scenarios=rows,
        fingerprint=Fingerprint(transom="1", model="rules", prompts="x"),
        usage=Used(input_tokens=10, output_tokens=5, cost_usd=0.25),
        run_id="r1",
    )


BEFORE = evaluation(
    row("same", "pass", "READY"),
    row("fixed", "fail", "READY"),
    row("broken", "pass", "NOT_READY", "Two tests fail."),
    row("gone", "pass", "READY"),
)
AFTER = evaluation(
    row("same", "pass", "READY"),
    row("fixed", "pass", "NOT_READY"),
    row("broken", "fail", "READY", "All is <b>well</b> | done.", tokens=90),
    row("new", "pass", "READY"),
)


def test_what_got_worse_comes_first_and_no_scenario_is_left_out() -> None:
    rows = side_by_side(BEFORE, AFTER)
    assert [(one.scenario, one.change) for one in rows] == [
        ("broken", "worse"),
        ("new", "changed"),
        ("gone", "changed"),
        ("fixed", "better"),
        ("same", "same"),
    ]


def test_markdown_has_both_answers_tokens_and_cost_in_one_row() -> None:
    lines = markdown_comparison(BEFORE, AFTER, NAMES).decode().splitlines()
    assert "passed: 3; scenarios: 4; tokens: 15; cost: 0.2500 USD" in lines
    (broken,) = [line for line in lines if line.startswith("| broken")]
    assert "pass → fail" in broken
    assert "NOT_READY → READY" in broken
    assert "15 → 95" in broken
    assert r"Two tests fail. → All is &lt;b&gt;well&lt;/b&gt; \| done." in broken
    heads = next(line for line in lines if line.startswith("| scenario"))
    assert broken.replace(r"\|", "").count("|") == heads.count("|")


def test_html_shows_the_answers_in_two_columns_and_escapes_them() -> None:
    page = html_comparison(BEFORE, AFTER, NAMES).decode()
    assert "<th>answer in main</th><th>answer in branch</th>" in page
    assert "<td>Two tests fail.</td><td>All is &lt;b&gt;well&lt;/b&gt; | done.</td>" in page
    assert page.index('class="worse"') < page.index('class="better"') < page.index('class="same"')
    assert "<script" not in page


def test_a_long_answer_is_cut_and_says_so() -> None:
    long_row = evaluation(row("same", "pass", "READY", "word " * 500))
    text = markdown_comparison(long_row, long_row, NAMES).decode()
    assert "(2500 characters)" in text
