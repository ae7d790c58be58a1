"""Asking again where that may help: how often, and how long to wait in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from transom.errors import ProviderError


@dataclass(frozen=True)
class RetryPolicy:
    """Patience with one provider.

    Attributes:
        attempts: how often it is asked at most, the first time included.
        initial_delay: seconds before the second attempt.
        max_delay: seconds that no wait exceeds which the server did not ask for.
        factor: by which each wait exceeds the one before.
        jitter: the part of a wait, 0 to 1, that is left to chance, so that many who failed together part.
        max_retry_after: seconds that no wait exceeds which the server asked for.
    """

    attempts: int = 4
    initial_delay: float = 0.5
    max_delay: float = 30.0
    factor: float = 2.0
    jitter: float = 0.5
    max_retry_after: float = 300.0

    def wait(self, attempt: int, error: ProviderError, chance: Callable[[], float] = random.random) -> float | None:
        """Seconds to wait after attempt number `attempt` failed; None where asking again is of no use.

        Args:
            attempt: from 1.
            error: what it failed with. What the server asks for is a least: nothing is taken off it by chance, and a
                time that is past shortens no wait.
            chance: 0 to 1.
        """
        if not error.retryable or attempt >= self.attempts:
            return None
        # In floats a large power would overflow; the cap is reached long before.
        delay = min(self.max_delay, self.initial_delay * self.factor ** min(attempt - 1, 64))
        return max(delay * (1 - self.jitter * chance()), self.asked(error) or 0.0)

    def asked(self, error: ProviderError) -> float | None:
        """Seconds that the server asked to wait, up to the cap; None where it did not, or waiting is of no use."""
        if not error.retryable or error.retry_after is None:
            return None
        return min(error.retry_after, self.max_retry_after)
