"""The egress policy: settings that keep blocks on this machine, beside the marks of the blocks themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Self

from transom.llm.shapes import Block, Request
from transom.llm.turns import ToolResults, UserMessage

if TYPE_CHECKING:
    from transom.config.model import Egress


@dataclass(frozen=True)
class EgressPolicy:
    """Which blocks a user keeps on this machine.

    Attributes:
        local_blocks: names of blocks, `*` and `?` allowed.
        keep_untrusted: every block of untrusted text, i.e. what was read from logs and reports, and every turn of a
            conversation, since tools answer in turns.
    """

    local_blocks: tuple[str, ...] = ()
    keep_untrusted: bool = False

    @classmethod
    def of(cls, settings: Egress) -> Self:
        """The policy of the settings' section `egress`."""
        return cls(settings.local_blocks, keep_untrusted=settings.logs == "local")

    def is_local(self, block: Block) -> bool:
        """Whether a block must not reach a remote provider. A mark that is not known keeps it here, too."""
        if block.egress != "any" or (self.keep_untrusted and block.trust != "ours"):
            return True
        return bool(self.local_blocks) and any(fnmatchcase(block.name, pattern) for pattern in self.local_blocks)

    def mark(self, request: Request) -> Request:
        """The request with `egress` of its blocks as the policy has it; the very request where nothing differs."""
        if not [block for block in request.window.blocks if block.egress != "local" and self.is_local(block)]:
            return request
        marked = tuple(
            replace(block, egress="local") if self.is_local(block) else block for block in request.window.blocks
        )
        return replace(request, window=replace(request.window, blocks=marked))

    def kept(self, request: Request) -> str | None:
        """The first part of a request that must stay, e.g. `block log_snippets`; None where all of it may leave."""
        for block in request.window.blocks:
            if self.is_local(block):
                return f"block {block.name}"
        if self.keep_untrusted and request.window.turns:
            return "the conversation so far"
        for turn in request.window.turns:
            if isinstance(turn, ToolResults):
                if name := next((one.name for one in turn.results if one.egress != "any"), ""):
                    return f"a result of tool {name}"
            elif isinstance(turn, UserMessage) and turn.egress != "any":
                found = turn.text.startswith("<finding>\n")
                return "the finding of a sub-conversation" if found else "a message of a tool's handler"
        return "a reply that was answered from local text" if request.window.egress != "any" else None
