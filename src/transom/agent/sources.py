"""What a model may have looked into: results of its conversation, by names that it can see or count.

Servers need not show a model the ids of its calls, and some have none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from transom.canonical import canonical_json
from transom.context import History
from transom.context.summary import seen_in
from transom.errors import InvalidArgumentsError
from transom.llm import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn
from transom.llm.turns import strictest
from transom.runs.conversation import Conversation

_COUNTED = re.compile(r"(.+?)\s*#\s*(\d{1,9})")
_EVENT = re.compile(r"event \d{1,9}")
_MOST_LISTED = 20
_LONGEST = 60  # characters of a call's arguments


def sources_of(state: Conversation, kept: Mapping[str, ToolResult], names: Sequence[str]) -> dict[str, ToolResult]:
    """What a model names, each once.

    Args:
        state: of its conversation.
        kept: what is kept elsewhere, by its name.
        names: see `Sources.find`.

    Raises:
        InvalidArgumentsError: one of them is nothing, or may be several things; it says what there is.
    """
    beside = {call.name for call in state.pending.calls} if state.pending else set[str]()
    known = Sources(state.turns, kept, beside)
    found = {name: known.find(name) for name in names}
    if missing := [name for name, one in found.items() if one is None]:
        soon = "; what is called in this very reply can be named in the next one" if beside & {*missing} else ""
        error = InvalidArgumentsError(f"there is no one source {', '.join(missing)}", hint=known.hint + soon)
        error.egress = state.egress  # it tells arguments, which are made of whatever was seen
        raise error
    return dict([one for one in found.values() if one])


class Sources:
    """All that can be named.

    Args:
        turns: of the conversation, word for word, whatever was folded since.
        kept: what is kept elsewhere, by its name.
        beside: tools that are called at the same time, and have no results yet.
    """

    def __init__(self, turns: Sequence[Turn], kept: Mapping[str, ToolResult], beside: Collection[str] = ()) -> None:
        self._turns, self._kept = turns, kept
        self._beside = beside
        made: Counter[str] = Counter()
        self._good: dict[str, tuple[ToolCall, ToolResult]] = {}
        asked: tuple[ToolCall, ...] = ()
        for turn in turns:
            if isinstance(turn, AssistantMessage):
                asked = turn.calls
            elif isinstance(turn, ToolResults):
                for call, result in zip(asked, turn.results, strict=True):
                    made[call.name] += 1
                    if not result.is_error:
                        self._good[f"{call.name} #{made[call.name]}"] = (call, result)

    def find(self, name: str) -> tuple[str, ToolResult] | None:
        """What somebody means, with a name that is its own; None where it is nothing, or may be several things.

        Args:
            name: of a kept result; a call's id; `look #2`; `look` where only one result of it is there; `event 12`.
        """
        if name in self._kept:
            return name, self._kept[name]
        if _EVENT.fullmatch(name):
            return self._event(name)
        fits = [key for key, (call, _) in self._good.items() if call.id == name][-1:]
        if not fits and (counted := _COUNTED.fullmatch(name)):
            fits = [key for key in self._good if key == f"{counted[1]} #{int(counted[2])}"]
        if not fits and name not in self._beside:
            fits = [key for key, (call, _) in self._good.items() if call.name == name]
        return self._whole(fits[0]) if len(fits) == 1 else None

    @property
    def hint(self) -> str:
        """What can be named, the newest last, and which call it is of."""
        if not self._good:
            return "there are none yet: leave sources empty"
        told = [self._told(key) for key in self._good]
        older = (
            f"; {len(told) - _MOST_LISTED} older ones are counted from the first" if len(told) > _MOST_LISTED else ""
        )
        return f"there are {'; '.join(told[-_MOST_LISTED:])}{older}"

    def _told(self, key: str) -> str:
        arguments, (name, _) = canonical_json(self._good[key][0].arguments), self._whole(key)
        cut = arguments if len(arguments) <= _LONGEST else f"{arguments[:_LONGEST]}..."
        return f"{key} {cut}" + (f", kept as {name}" if name != key else "")

    def _whole(self, key: str) -> tuple[str, ToolResult]:
        """A result as it came, where the conversation has only an outline or a summary of it."""
        result = self._good[key][1]
        for name, whole in self._kept.items():
            if whole.name == result.name and f"kept whole as {name}." in result.content:
                return name, whole
        return key, result

    def _event(self, name: str) -> tuple[str, ToolResult] | None:
        """What was asked and what came back in an event; what was said of that is no evidence."""
        event = History.of(self._turns).find(name)
        held = seen_in((), event.turns) if event else ""
        if event is None or not held.strip():
            return None
        return name, ToolResult(name, name, held, egress=strictest(*[turn.egress for turn in event.turns]))
