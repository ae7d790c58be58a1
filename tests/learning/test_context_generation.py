"""What a task is shown of a playbook: what fits it, in the order in which it is needed, within
its tokens.
"""

from __future__ import annotations

import pytest

from transom.learning import InsightCategory, Playbook, TaskType

STR, MIS, TOOL, CAL, DOM, WF = InsightCategory


@pytest.fixture
def book() -> Playbook:
    return Playbook()


def fill(book: Playbook) -> None:
    topics = "rain hills paint lunch printer invoice parking holiday window garden"
    for n, topic in enumerate(topics.split()):
        key = book.add_insight(
            DOM, f"The weekly note {n} about the {topic} stands in the {topic} book"
        ).id
        for _ in range(5):
            book.record_outcome(key, True)


def test_a_task_is_shown_what_fits_its_words_before_what_stands_better(book: Playbook) -> None:
    fill(book)
    gold = book.add_insight(STR, "Increase the penalty stiffness when contact chatters").id
    text = book.get_context_for_task("a contact that chatters: which stiffness?", max_items=5)
    assert text.splitlines()[1].startswith(f"[{gold}] helpful=0 harmful=0 :: Increase")
    assert len(text.splitlines()) == 6
    weak = book.get_context_for_task("rain or contact", max_items=5).splitlines()
    assert "about the rain" in weak[1]
    assert gold in weak[2]  # it fits a little; what only stands well comes after it
    assert gold not in book.get_context_for_task("", max_items=5)
    assert gold in book.get_context_for_task("", 5, query="contact chatters")


def test_the_kind_of_work_decides_what_comes_first(book: Playbook) -> None:
    strategy = book.add_insight(STR, "Begin with a coarse mesh of the bracket")
    mistake = book.add_insight(MIS, "Never leave the bracket without a fixed node")
    for _ in range(9):
        book.record_outcome(strategy.id, True)
        book.record_outcome(mistake.id, True)

    def order(task: TaskType) -> list[str]:
        return [line[1:4] for line in book.get_context_for_task(task).splitlines()[1:]]

    assert order(TaskType.DEBUG_ERROR) == ["mis", "str"]
    assert order(TaskType.CREATE_STUDY) == ["str", "mis"]


def test_tags_confidence_and_tokens_choose(book: Playbook) -> None:
    plain = book.add_insight(STR, "First fact of all")
    tagged = book.add_insight(STR, "Second thing entirely", tags=["optics"])
    bad = book.add_insight(STR, "Third matter apart")
    book.record_outcome(bad.id, False)
    text = book.get_context_for_task(TaskType.RUN_OPTIMIZATION, tags=["optics"])
    assert [line[1:10] for line in text.splitlines()[1:]] == [tagged.id, plain.id]
    assert bad.id in book.get_context_for_task(TaskType.RUN_OPTIMIZATION, min_confidence=0.0)
    assert text.replace(f"\n{plain.line}", "") == book.get_context_for_task(
        "", tags=["optics"], tokens=48
    )
    assert book.get_context_for_task(TaskType.RUN_OPTIMIZATION, tokens=10) == ""
    assert Playbook().get_context_for_task("anything") == ""


def test_what_a_task_needs_is_not_crowded_out_by_newer_insights_of_another_kind() -> None:
    playbook = Playbook()
    for n in range(10):
        playbook.add_insight(InsightCategory.MISTAKE, f"never do {n}", tags=["solver"])
    for n in range(100):
        playbook.add_insight(InsightCategory.STRATEGY, f"do {n}")
    shown = playbook.get_context_for_task(TaskType.DEBUG_ERROR, 5)
    assert shown.count("[mis-") == 5
