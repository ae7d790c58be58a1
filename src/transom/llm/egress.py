"""Local text: the settings that keep blocks on this machine, and the removal of local text from
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Self

from transom.canonical import Json
from transom.errors import NeedsModel, ReplyError, TransomError
from transom.llm.render import turn_text
from transom.llm.shapes import Block, Request
from transom.llm.turns import AssistantMessage, ToolResults, UserMessage

if TYPE_CHECKING:
    from transom.config.runtime_sections import Egress

_RUN = 10
"""A quotation is a run of at least so many characters that both texts have."""
_SHORTEST = 4
"""Shorter than a run, a quotation is a whole line of at least so many characters, or such a name
with a digit.
"""
_NAME = re.compile(
    rf"(?<![\w-])(?=[\w-]*[^\W\d_])(?=[\w-]*\d)[\w-]{{{_SHORTEST},{_RUN - 1}}}(?![\w-])"
)

_INSTEAD = "[local]"


@dataclass(frozen=True)
class EgressPolicy:
    """The blocks that a user keeps on this machine.

    Attributes:
        local_blocks: names of blocks, `*` and `?` allowed.
        keep_untrusted: every block of untrusted text, i.e. what was read from logs and reports, and
            every turn of a conversation, since tools answer in turns.
    """

    local_blocks: tuple[str, ...] = ()
    keep_untrusted: bool = False

    @classmethod
    def of(cls, settings: Egress) -> Self:
        """Return the policy of the settings' section `egress`."""
        return cls(settings.local_blocks, keep_untrusted=settings.logs == "local")

    def is_local(self, block: Block) -> bool:
        """Return whether a block must not reach a remote provider."""
        # Compared with the open mark, so that an unknown mark keeps a block here too.
        if block.egress != "any" or (self.keep_untrusted and block.trust != "ours"):
            return True
        if not self.local_blocks:
            return False
        return any(fnmatchcase(block.name, pattern) for pattern in self.local_blocks)

    def mark(self, request: Request) -> Request:
        """Return the request with the policy's marks on its blocks.

        If no mark changes, this is the same object, which need not be digested again.
        """
        for block in request.window.blocks:
            if block.egress != "local" and self.is_local(block):
                break
        else:
            return request
        marked_blocks = []
        for block in request.window.blocks:
            is_local = self.is_local(block)
            marked_blocks.append(replace(block, egress="local") if is_local else block)
        return replace(request, window=replace(request.window, blocks=tuple(marked_blocks)))

    def local_part(self, request: Request) -> str | None:
        """Return the first part of a request that must stay, e.g. `block log_snippets`.

        None means that all of it may leave.
        """
        for block in request.window.blocks:
            if self.is_local(block):
                return f"block {block.name}"
        if self.keep_untrusted and request.window.turns:
            return "the conversation so far"
        for turn in request.window.turns:
            if isinstance(turn, ToolResults):
                for result in turn.results:
                    if result.egress != "any":
                        return f"a result of tool {result.name}"
            elif isinstance(turn, UserMessage) and turn.egress != "any":
                if turn.text.startswith("<finding>\n"):
                    return "the finding of a sub-conversation"
                return "a message of a tool's handler"
        # Replies have no mark of their own; the window remembers that one rests on local text.
        if request.window.egress != "any":
            return "a reply that was answered from local text"
        return None


def unquote(error: TransomError, request: Request, policy: EgressPolicy) -> None:
    """Remove quotations of the request's local parts from an error's text, and its Python causes
    with them.

    The error is changed in place, since it is raised already. `NeedsModel` stays: it is ours, and
    says which words of a person's own have to be put otherwise. A `ReplyError` quotes a reply,
    which is as local as the request.
    """
    if isinstance(error, NeedsModel):
        return
    texts = list(_local(request, policy))
    if not texts:
        return
    before = (error.problem, error.hint)
    if isinstance(error, ReplyError) and error.bare:
        error.problem = error.bare
    runs = set(_runs(texts))
    error.problem = _without(error.problem, runs)
    error.hint = _without(error.hint, runs) if error.hint else error.hint
    if before != (error.problem, error.hint):
        error.args = (error.problem,)
        error.__cause__, error.__suppress_context__ = None, True


def _local(request: Request, policy: EgressPolicy) -> Iterator[str]:
    window = request.window
    yield from (block.text for block in window.blocks if policy.is_local(block))
    # A reply may repeat anything that was said before it.
    is_all_local = policy.keep_untrusted or window.egress != "any"
    for turn in window.turns:
        if isinstance(turn, ToolResults):
            for result in turn.results:
                if is_all_local or result.egress != "any":
                    yield result.content
        elif is_all_local or turn.egress != "any":
            yield turn_text(turn)
            # The turn's text has the arguments as JSON; an error may quote them in plain words.
            if isinstance(turn, AssistantMessage):
                yield from _leaves([call.arguments for call in turn.calls])


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)


def _runs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        for start in range(len(text) - _RUN + 1):
            yield text[start : start + _RUN]
        for line in text.splitlines():
            stripped = line.strip()
            if _SHORTEST <= len(stripped) < _RUN:
                yield stripped
        yield from _NAME.findall(text)


def _without(text: str, runs: set[str]) -> str:
    quoted = [False] * len(text)
    for length in range(_SHORTEST, _RUN + 1):
        for start in range(len(text) - length + 1):
            if text[start : start + length] in runs:
                quoted[start : start + length] = [True] * length
    # Runs overlap, so quotations are marked first; each becomes one placeholder.
    characters: list[str] = []
    for position, character in enumerate(text):
        if not quoted[position]:
            characters.append(character)
        elif not position or not quoted[position - 1]:
            characters.append(_INSTEAD)
    return "".join(characters)
