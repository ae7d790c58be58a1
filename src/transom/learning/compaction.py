"""The log of a long task: trials are compacted into exact statistics, errors and milestones stay
word for word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from transom.context import DEFAULT_SHARES, Compaction, Event, History, Mark, TokenCorrection
from transom.context.compaction import compact
from transom.errors import InputError
from transom.llm import AssistantMessage, Text, estimate_tokens

# Tokens: no limit, so that compaction drops nothing for lack of space.
_ALL = 10**12
_LONGEST = 200  # characters of a milestone's name in its mark


class CompactedLog:
    """A log of events whose older part is compacted, as that of a conversation is.

    Args:
        compaction_threshold: the log is compacted when it has more events than this.
        keep_recent: number of the newest events that are never compacted.
        keep_errors: whether errors survive, word for word and in order; milestones always do.
        maximise: whether the best objective is the largest one.
    """

    def __init__(
        self,
        compaction_threshold: int = 50,
        keep_recent: int = 20,
        keep_errors: bool = True,
        *,
        maximise: bool = False,
    ) -> None:
        try:
            self._policy = Compaction(compaction_threshold, keep_recent)
        except ValueError as error:
            raise InputError(
                str(error), place="CompactedLog", hint="keep fewer, or fold later"
            ) from error
        self._keep_errors = keep_errors
        self._maximise = maximise
        self.history = History()
        self.compaction_count = 0

    def add_trial_event(
        self,
        trial_number: int,
        success: bool,
        objective: float | None = None,
        duration: float | None = None,
    ) -> None:
        """Add the end of a trial. Its objective and its duration (seconds) enter the statistics."""
        measured = {"objective": objective, "seconds": duration}
        values = {name: value for name, value in measured.items() if value is not None}
        value_text = "".join(f", {name} {value:g}" for name, value in values.items())
        mark = Mark(values={"trial": trial_number, **values, "ok": int(success)})
        self._add(f"Trial {trial_number} {'complete' if success else 'failed'}{value_text}", mark)

    def add_error_event(self, message: str, error_type: str = "") -> None:
        """Add an error."""
        text = f"ERROR ({error_type}): {message}" if error_type else f"ERROR: {message}"
        self._add(text, Mark(preserve=self._keep_errors))

    def add_milestone(self, description: str, details: Mapping[str, Any] | None = None) -> None:
        """Add a milestone."""
        detail_text = ""
        if details:
            pairs = ", ".join(f"{name}={value}" for name, value in details.items())
            detail_text = f" ({pairs})"
        # The mark is printed on one line; the event has the whole description.
        name = " ".join(description.split())[:_LONGEST] or "milestone"
        self._add(
            f"MILESTONE: {description}{detail_text}",
            Mark(milestone="".join(filter(str.isprintable, name))),
        )

    @property
    def events(self) -> list[str]:
        """Return the texts of the events that are not compacted, in order."""
        folded = self.history.folded
        return [
            _text(event)
            for event in (*(folded.lasting_events if folded else ()), *self.history.live)
        ]

    def get_stats(self) -> dict[str, Any]:
        """Return the numbers of events and of compactions."""
        total, standing = self.history.count, len(self.events)
        stats = {
            "total_events": total,
            "standing_events": standing,
            "folded_events": total - standing,
        }
        return {**stats, "compaction_count": self.compaction_count}

    @property
    def summary(self) -> str:
        """Return a line of exact statistics on the compacted trials; "" if there are none."""
        folded = self.history.folded
        values = folded.statistics.values if folded else {}
        # Only errors and milestones may have been compacted.
        if "trial" not in values:
            return ""
        numbers, good = values["trial"], values["ok"]
        parts = [f"Failures={good.count - int(good.total)}"]
        if reached := values.get("objective"):
            best = reached.greatest if self._maximise else reached.least
            parts = [f"Best={best:g}", f"Avg={reached.mean:.6g}", *parts]
        return (
            f"Trials {numbers.least:g}-{numbers.greatest:g} ({numbers.count}): {', '.join(parts)}"
        )

    def get_context_string(self, tokens: int | None = None) -> str:
        """Return the log as text of at most `tokens` estimated tokens.

        If it is longer, equal events become one line with a count, and the oldest events are left
        out and counted in a line.
        """
        head = [self.summary] if self.summary else []
        complete_text = "\n".join([*head, *self.events])
        if tokens is None or estimate_tokens(complete_text) <= tokens:
            return complete_text
        lines: list[str] = []
        counts = Counter(reversed(self.events))
        # The newest events come first, since they are the last to be left out.
        for text, count in counts.items():
            line = text if count == 1 else f"{text} ({count} times)"
            omission = f"{len(counts) - len(lines)} older events are left out"
            if estimate_tokens("\n".join([*head, omission, line, *lines])) > tokens:
                return "\n".join([*head, omission, *lines])
            lines.insert(0, line)
        return "\n".join([*head, *lines])

    def _add(self, text: str, mark: Mark) -> None:
        history = self.history.add(AssistantMessage((Text(text),)), mark=mark)
        self.history = compact(history, self._policy, _ALL, TokenCorrection())
        self.compaction_count += self.history is not history


class ContextBudgetManager:
    """The division of a window's tokens into parts, and the usage of each part.

    Args:
        budget: tokens of each part, and `total`; None for the parts of `transom.context`, with
            100,000 tokens together.
    """

    def __init__(self, budget: Mapping[str, int] | None = None) -> None:
        if budget is None:
            budget = {str(name): size for name, size in DEFAULT_SHARES.items()}
        self.budget = {**budget, "total": budget.get("total", sum(budget.values()))}
        self.usage: dict[str, int] = dict.fromkeys(budget, 0)
        self.usage.pop("total", None)

    def update_usage(self, section: str, tokens: int | str) -> None:
        """Set the usage of a part: a number of tokens, or the text itself.

        Raises:
            InputError: the part is unknown.
        """
        if section not in self.usage:
            raise InputError(
                f"unknown part {section!r}", place="budget", hint=f"use {', '.join(self.usage)}"
            )
        self.usage[section] = estimate_tokens(tokens) if isinstance(tokens, str) else tokens

    def get_available(self, section: str) -> int:
        """Return the tokens that are left of a part; negative if it is over its budget."""
        return self.budget[section] - self.usage.get(section, 0)

    @property
    def total_used(self) -> int:
        """Return the tokens that all parts use together."""
        return sum(self.usage.values())

    def is_over_budget(self, section: str | None = None) -> bool:
        """Return whether a part is over its budget; None for the whole window."""
        if section is None:
            return self.total_used > self.budget["total"]
        return self.get_available(section) < 0


def _text(event: Event) -> str:
    texts = []
    for turn in event.turns:
        for part in getattr(turn, "parts", ()):
            if isinstance(part, Text):
                texts.append(part.text)
    return "".join(texts)
