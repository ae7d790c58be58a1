"""Whatever is done in whatever order, the insights are what the events come to, and a file holds
all of them.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.fuzzing import examples
from transom.errors import InputError
from transom.learning import Curator, InsightCategory, InsightSource, Playbook, import_json
from transom.learning.exchange import load_playbook, save_playbook

_WORDS = st.sampled_from(
    ["mesh", "shell", "solver", "tolerance", "contact", "mirror", "pivot", "never", "1e-8", "7"]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)
_CATEGORIES = st.sampled_from(InsightCategory)
_PICKS = st.integers(0, 7)


class Course(RuleBasedStateMachine):
    """A playbook beside a plain count of what was told to it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.days = 0
        self.book = Playbook(
            clock=lambda: f"20{26 + self.days // 360:02}-{1 + self.days // 30 % 12:02}-01T00:00:00Z"
        )
        self.curator = Curator(self.book)
        self.counted = 0

    def teardown(self) -> None:
        self.book.close()

    def pick(self, number: int) -> str:
        known = [one.id for one in self.book.ledger.insights()]
        return known[number % len(known)] if known else "str-00000"

    @rule(
        category=_CATEGORIES,
        text=_TEXTS,
        trial=st.none() | st.integers(0, 3),
        tags=st.lists(_WORDS, max_size=2),
    )
    def add(self, category: InsightCategory, text: str, trial: int | None, tags: list[str]) -> None:
        self.book.add_insight(category, text, trial, tags)

    @rule(pick=_PICKS, good=st.booleans(), followed=st.none() | st.booleans())
    def feedback(self, pick: int, good: bool, followed: bool | None) -> None:
        self.counted += self.book.record_outcome(self.pick(pick), good, followed=followed)

    @rule(picks=st.lists(_PICKS, max_size=4), run=st.integers(0, 2), good=st.booleans())
    def outcome(self, picks: list[int], run: int, good: bool) -> None:
        self.counted += len(
            self.book.record([self.pick(pick) for pick in picks], good, InsightSource(f"run-{run}"))
        )

    @rule(one=_PICKS, other=_PICKS)
    def merge(self, one: int, other: int) -> None:
        with suppress(InputError):
            self.curator.merge(self.pick(one), self.pick(other))

    @rule(pick=_PICKS, text=_TEXTS)
    def edit(self, pick: int, text: str) -> None:
        with suppress(InputError):
            self.curator.edit(self.pick(pick), content=text)

    @rule(pick=_PICKS)
    def restore(self, pick: int) -> None:
        with suppress(InputError):
            self.curator.restore(self.pick(pick))

    @rule(threshold=st.integers(-3, 0))
    def prune(self, threshold: int) -> None:
        self.book.prune_harmful(threshold)

    @rule(days=st.integers(1, 400), query=_TEXTS)
    def decay(self, days: int, query: str) -> None:
        self.days += days
        assert len(self.book.get_context_for_task("", 100, 0.0, query=query).splitlines()) in (
            0,
            len(self.book.items) + 1,
        )

    @precondition(lambda self: self.book.items)
    @rule()
    def export_and_import(self) -> None:
        one, two = self.folder / "one.json", self.folder / "two.json"
        save_playbook(self.book, one)
        epoch = self.book.epoch
        import_json(self.book, one)
        assert self.book.epoch == epoch
        save_playbook(load_playbook(one), two)
        assert one.read_bytes() == two.read_bytes()

    @invariant()
    def the_insights_are_what_the_events_come_to(self) -> None:
        before = self.book.ledger.insights()
        self.book.ledger.rebuild()
        assert self.book.ledger.insights() == before

    @invariant()
    def nothing_that_was_counted_is_lost(self) -> None:
        standing = [one for one in self.book.ledger.insights() if not one.merged_into]
        assert sum(one.helpful_count + one.harmful_count for one in standing) == self.counted
        assert all(
            0 <= one.against_count <= one.helpful_count + one.harmful_count for one in standing
        )


Course.TestCase.settings = settings(max_examples=examples(12), stateful_step_count=25)
TestCourse = Course.TestCase
