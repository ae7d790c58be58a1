"""How many tokens a window has, and for what."""

from __future__ import annotations

from dataclasses import dataclass, field

# Shares of a window, in tokens: the published defaults of agentic context engineering.
DEFAULT_SHARES = {
    "stable_prefix": 5_000,
    "protocols": 10_000,
    "playbook": 5_000,
    "session_state": 2_000,
    "conversation": 30_000,
    "working_space": 48_000,
}


@dataclass(frozen=True)
class Budget:
    """A window's size.

    Attributes:
        total: tokens of window and reply together.
        margin: fraction kept free, since estimates err.
        shares: what the total is meant for, in tokens; a declaration, nothing is cut by it.
    """

    total: int = 100_000
    margin: float = 0.10
    shares: dict[str, int] = field(default_factory=lambda: dict(DEFAULT_SHARES))

    def window_tokens(self, reply_tokens: int) -> int:
        """Tokens that blocks and turns may take beside a reply of that size."""
        return max(0, int(self.total * (1 - self.margin)) - reply_tokens)
