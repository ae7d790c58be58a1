"""How long to wait, and when not to ask again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.config.hosted import Retry
from transom.errors import NetworkFailed, ProviderError, RateLimited
from transom.llm.attempts import wait_after
from transom.llm.hosted.failures import retry_after

POLICY = Retry(
    max_attempts=5, initial_delay=1, max_delay=5, backoff_factor=2, jitter=0.5, max_retry_after=60
)


def test_waits_grow_to_their_cap_and_end() -> None:
    waits = [
        wait_after(attempt, NetworkFailed("cut"), POLICY, chance=lambda: 0)
        for attempt in range(1, 6)
    ]
    assert waits == [1, 2, 4, 5, None]


@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_chance_takes_its_part_and_no_more(attempt: int, jitter: float, chance: float) -> None:
    policy = Retry(
        max_attempts=10_001, initial_delay=1, max_delay=5, backoff_factor=3, jitter=jitter
    )
    plain = wait_after(attempt, NetworkFailed("cut"), policy, chance=lambda: 0)
    wait = wait_after(attempt, NetworkFailed("cut"), policy, chance=lambda: chance)
    assert plain is not None
    assert wait is not None
    assert plain * (1 - jitter) - 1e-9 <= wait <= plain <= 5


def test_many_who_failed_together_part() -> None:
    waits = [
        wait_after(2, NetworkFailed("cut"), POLICY, chance=iter([part]).__next__)
        for part in (0.0, 0.5, 1.0)
    ]
    assert waits == [2.0, 1.5, 1.0]
    assert len({wait_after(1, NetworkFailed("cut"), POLICY) for _ in range(20)}) > 1, (
        "chance is left to chance by default"
    )


def test_what_cannot_help_is_not_tried() -> None:
    assert wait_after(1, ProviderError("no"), POLICY) is None


@pytest.mark.parametrize(("asked", "wait"), [(7.0, 7.0), (3600.0, 60.0)])
def test_the_server_is_obeyed_to_the_letter_up_to_a_cap(asked: float, wait: float) -> None:
    assert wait_after(1, RateLimited("slow", retryable=True, retry_after=asked), POLICY) == wait


@given(st.integers(1, 4), st.floats(0, 100), st.floats(0, 1))
def test_what_the_server_asks_for_is_a_least(attempt: int, asked: float, chance: float) -> None:
    """A 0, or a date that is past since somebody's clock is off, would use up all attempts in a
    moment.
    """
    told, untold = (
        RateLimited("slow", retryable=True, retry_after=seconds) for seconds in (asked, None)
    )
    waits = [wait_after(attempt, error, POLICY, chance=lambda: chance) for error in (told, untold)]
    assert waits[0] == max(min(asked, 60), waits[1] or 0)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 20151021202510211234 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 99999999999:28:00 +0000"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00"}, 0.0),
    ],
)
def test_both_forms_of_the_header(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_to_come() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": when}) == pytest.approx(90, abs=3)
