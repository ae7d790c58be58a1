"""The token budget of a window, and its shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from transom.config.runtime_sections import WindowSettings
from transom.errors import SettingsError
from transom.llm import Block, Capabilities, Role, Tier
from transom.llm.capabilities import UNBOUNDED

ShareName = Literal[
    "stable_prefix", "protocols", "playbook", "session_state", "conversation", "working_space"
]
SHARES: tuple[ShareName, ...] = get_args(ShareName)
"""The parts of a window, in the order in which they are read."""

GIVING: tuple[ShareName, ...] = ("conversation", "playbook", "session_state", "working_space")
"""Which parts give when a window is full, and in which order; the two that make the stable prefix
never do.

What can be read again goes first, then advice, then what is known of the session, last what the
call is about.
"""

# The settings' own defaults, so that they stand in one place.
DEFAULT_SHARES: Mapping[ShareName, int] = {
    name: getattr(WindowSettings().shares, name) for name in SHARES
}

_OF_TIER: Mapping[Tier, ShareName] = {
    Tier.STABLE: "stable_prefix",
    Tier.SESSION: "protocols",
    Tier.TURN: "working_space",
}
_OF_NAME: Mapping[str, ShareName] = {
    "playbook": "playbook",
    "insights": "playbook",
    "session_state": "session_state",
}

# A result may take this part of a window, and never more than so many tokens: a large window would
# otherwise be filled by results that nobody reads as a whole.
_RESULT_PART = 0.15
_RESULT_TOKENS = 25_000


def share_of(block: Block) -> ShareName:
    """Return the part of a window that a block belongs to."""
    if block.tier is Tier.STABLE:
        return "stable_prefix"
    return _OF_NAME.get(block.name, _OF_TIER[block.tier])


@dataclass(frozen=True)
class Compaction:
    """The policy for folding a history: beyond `threshold` events, all but the newest
    `keep_recent`.
    """

    threshold: int = 50
    keep_recent: int = 20

    def __post_init__(self) -> None:
        if not 1 <= self.keep_recent <= self.threshold:
            raise ValueError(
                f"keep_recent is {self.keep_recent}; must be from 1 to the threshold,"
                f" {self.threshold}"
            )


@dataclass(frozen=True)
class WindowBudget:
    """A window's size.

    Attributes:
        total: tokens of window and reply together: the model's whole window.
        margin: fraction kept free, since estimates err.
        shares: how the parts relate; they are scaled to what the window has. What one leaves free
            others may take; once the window is full each is held to its own.
        compaction: when a history is folded.
        open: whether no size is set, so that the model's own window counts (see `on`).
    """

    total: int = 100_000
    margin: float = 0.10
    shares: Mapping[ShareName, int] = field(default_factory=lambda: dict(DEFAULT_SHARES))
    compaction: Compaction = field(default_factory=Compaction)
    open: bool = False

    @classmethod
    def of(cls, settings: WindowSettings) -> WindowBudget:
        """Return the budget of the section `window` of the settings; SettingsError if its numbers
        do not fit.
        """
        if settings.keep_recent > settings.compact_at:
            problem = (
                f"is {settings.keep_recent}; must be at most window.compact_at,"
                f" {settings.compact_at}"
            )
            raise SettingsError(
                problem, place="window.keep_recent", hint="keep fewer, or fold later"
            )
        total = settings.tokens or cls.total
        shares: dict[ShareName, int] = {name: getattr(settings.shares, name) for name in SHARES}
        compaction = Compaction(settings.compact_at, settings.keep_recent)
        return cls(total, settings.margin, shares, compaction, settings.tokens is None)

    def on(self, caps: Capabilities) -> WindowBudget:
        """Return the budget for a model: the window that its provider knows of, unless a size is
        set.
        """
        # Rules and recordings have no window of their own; a guessed one must not cut a request.
        is_known = self.open and caps.context_known and caps.context_tokens < UNBOUNDED
        if not is_known:
            return self
        return replace(self, total=caps.context_tokens, open=False)

    def limit_reply(self, role: Role) -> Role:
        """Return the role with replies of no more than half the window, so that there is room for
        what it reads.
        """
        limit = max(1, self.total // 2)
        if role.settings.max_tokens <= limit:
            return role
        return replace(role, settings=replace(role.settings, max_tokens=limit))

    def window_tokens(self, reply_tokens: int) -> int:
        """Return the tokens that blocks and turns may take beside a reply of that size."""
        return max(0, int(self.total * (1 - self.margin)) - reply_tokens)

    def limits(self, reply_tokens: int) -> dict[ShareName, int]:
        """Return the limit of each part once the window is full, in tokens; together they are the
        window.
        """
        room, all_shares = self.window_tokens(reply_tokens), sum(self.shares.values())
        return {name: room * self.shares[name] // all_shares for name in SHARES}

    @property
    def result_tokens(self) -> int:
        """The most that one result of a tool may take of a window."""
        return min(int(self.total * _RESULT_PART), _RESULT_TOKENS)
