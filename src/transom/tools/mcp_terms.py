"""On what terms the tools of an MCP server are taken: what a server says of them itself is a hint."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import get_args

from transom.errors import InputError
from transom.llm.turns import Egress, Trust, check_marks
from transom.tools.definition import Effect, ToolLimits


@dataclass(frozen=True)
class ToolTerms:
    """What holds for the tools of a server: for all of them, or by their names as the server has them.

    Attributes:
        only: those that are taken; all where None.
        limits: of each of them.
        effect: what a repetition does; what the server says of it where a tool is not named here.
        needs_approval: those of which a person has to approve each call; True for all.
        trust: of what they yield.
        egress: `local` where what they yield must not reach a remote provider.

    Raises:
        InputError: a mark or an effect that there is not.
    """

    only: Collection[str] | None = None
    limits: ToolLimits = field(default_factory=ToolLimits)
    effect: Effect | Mapping[str, Effect] | None = None
    needs_approval: bool | Collection[str] = False
    trust: Trust = "untrusted"
    egress: Egress = "any"

    def __post_init__(self) -> None:
        check_marks("ToolTerms", trust=self.trust, egress=self.egress)
        for effect in self.effect.values() if isinstance(self.effect, Mapping) else (self.effect,):
            if effect is not None and effect not in get_args(Effect):
                hint = f"say {' or '.join(map(repr, get_args(Effect)))}"
                raise InputError(f"an effect is {effect!r:.80}", where="ToolTerms", hint=hint)

    def takes(self, tool: str) -> bool:
        """Whether it is one of those that are taken."""
        return self.only is None or tool in _names(self.only)

    def approves(self, tool: str) -> bool:
        """Whether a person has to approve its calls."""
        return self.needs_approval is True or tool in _names(self.needs_approval)

    def effect_of(self, tool: str) -> Effect | None:
        """None where only the server says."""
        return self.effect.get(tool) if isinstance(self.effect, Mapping) else self.effect

    @property
    def named(self) -> dict[str, Collection[str]]:
        """The tools that each of these names. A misspelled one would leave a tool without what is asked for it."""
        return {
            "only": _names(self.only),
            "effect": self.effect.keys() if isinstance(self.effect, Mapping) else (),
            "needs_approval": _names(self.needs_approval),
        }


def _names(given: bool | Collection[str] | None) -> Collection[str]:
    """Names that somebody gave; one by itself is a text."""
    if given is None or isinstance(given, bool):
        return ()
    return {given} if isinstance(given, str) else given
