"""What handlers of tools said in conversations that they did not open: a call that is tried again says it once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from transom.canonical import Json

if TYPE_CHECKING:
    from transom.agent.views import Response
    from transom.runs.opened import Call

_Place: TypeAlias = tuple[Json, ...]


@dataclass
class InCall:
    """One message, and its answer."""

    text: str
    answer: Response | None = None


@dataclass
class InCalls:
    """Those of one conversation, by the calls that said them."""

    _of: dict[_Place, list[InCall]] = field(default_factory=dict)
    _last: InCall | None = None

    def say(self, where: str, text: str, call: Json, trying: Call | None) -> None:
        """Something is said.

        Args:
            where: the conversation's name.
            text: what.
            call: whose handler says it; None where that opened the conversation, or a program does.
            trying: that call, where it is being carried out.
        """
        self._last = InCall(text) if call else None
        if self._last:
            said = self._of.setdefault(tuple(cast("list[Json]", call)), [])
            said.append(self._last)
            if trying:
                trying.said[where] = len(said)

    def answered(self, response: Response) -> Response:
        """What was said last has its answer."""
        if self._last:
            self._last.answer = response
        return response

    def before(self, where: str, text: str, call: Call, *, at_rest: bool) -> InCall | None:
        """What a call said at the same place of its course, when it was tried before.

        Args:
            where: the conversation's name.
            text: what it says now.
            call: see above.
            at_rest: whether all that was said there has its answer.
        """
        said, number = self._of.get(tuple(call.in_stage), []), call.said.get(where, 0)
        if number >= len(said) or said[number].text != text:
            return None
        if said[number].answer is None and (number + 1 < len(said) or at_rest):  # it was left without one
            return None
        call.said[where] = number + 1
        return said[number]
