"""Fitting a window into its budget: the parts that shrink, in which order, and the record of what
was dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transom.context.budget import GIVING, SHARES, Compaction, ShareName, WindowBudget, share_of
from transom.context.compaction import compact, fold_newest, shrink
from transom.context.history import SEPARATOR, History
from transom.context.segments import block_size
from transom.context.tokens import Measure, TokenCorrection, measure, total
from transom.errors import WindowOverflow
from transom.llm import Block, Dropped, Request, Role, Share, ToolSpec, Window
from transom.llm.render import tool_text
from transom.llm.structured import schema_text

_NOTHING = Measure()


@dataclass(frozen=True)
class Frame:
    """The fixed part of the windows of one message, and its size.

    Attributes:
        blocks: its blocks, in the order of tiers.
        limit: tokens of a window.
        limits: tokens that each part may take once the window is full.
        sizes: the sizes of the parts, without the conversation.
        size: the size of all of them, as they stand one below the other.
        empty: the records of parts that hold nothing.
    """

    blocks: tuple[Block, ...]
    limit: int
    limits: dict[ShareName, int]
    sizes: dict[ShareName, Measure]
    size: Measure
    empty: dict[ShareName, Share]

    @classmethod
    def of(cls, role: Role, blocks: tuple[Block, ...], budget: WindowBudget) -> Frame:
        """Return the frame of a role with these blocks, its own among them."""
        # Tools and the schema of answers are sent before any block.
        sizes = dict.fromkeys(SHARES, _NOTHING)
        sizes["stable_prefix"] = _declared_size(role)
        for block in blocks:
            name = share_of(block)
            sizes[name] = sizes[name].plus(_block_size(block))
        limits = budget.limits(role.settings.max_tokens)
        empty = {name: Share(name, 0, limits[name]) for name in SHARES}
        limit = budget.window_tokens(role.settings.max_tokens)
        return cls(blocks, limit, limits, sizes, _size_of_parts(sizes), empty)


class WindowPart:
    """A part of a window that gives room when the window is full.

    The conversation gives by being folded. Any other part gives whole blocks, the last one first.

    Args:
        name: its share of the window.
        limit: tokens that it may take once the window is full.
        size: its size.
        blocks: the blocks that it may give, in order.
        history: the conversation, if it is that part.
    """

    def __init__(
        self,
        name: ShareName,
        limit: int,
        size: Measure,
        blocks: list[Block],
        history: History | None = None,
    ) -> None:
        self.name = name
        self.limit = limit
        self.size = size
        self.blocks = blocks
        self.history = history
        self.dropped: list[Block] = []  # the blocks that it gave, in that order

    def is_over_limit(self, tokens: TokenCorrection) -> bool:
        """Return whether it takes more than its share."""
        return self.size is not _NOTHING and tokens.tokens(self.size) > self.limit

    def give(self, tokens: TokenCorrection, *, hard: bool) -> bool:
        """Shrink a little; return False if it cannot shrink.

        Args:
            tokens: how tokens are estimated.
            hard: whether a conversation is folded below its share, too.
        """
        if self.history is not None:
            return self.replace_history(shrink(self.history, self.limit, tokens, hard=hard))
        if not self.blocks:
            return False
        # The last block of a part is the least important one: sources put the best first.
        block = self.blocks.pop()
        self.dropped.append(block)
        self.size = self.size.minus(_block_size(block))
        return True

    def replace_history(self, history: History) -> bool:
        """Go on with a folded conversation; return False if nothing of it was folded."""
        # Folding returns the same object if there is nothing to fold.
        if history is self.history:
            return False
        self.history = history
        self.size = history.size
        return True


class WindowFitter:
    """A window that is being made to fit; `size` is the size of all of it.

    A part that takes less than its share lends the rest. Only if the window is too large does the
    division of the budget count: first each part that is over its share gives, in the order of
    `GIVING`, until it is not; then, in the same order, any part. Stable blocks and the task of the
    role itself are never dropped.
    """

    def __init__(self, role: Role, frame: Frame, history: History, tokens: TokenCorrection) -> None:
        self.history = history
        self.size = frame.size.plus(history.size)
        self._role = role
        self._frame = frame
        self._tokens = tokens
        self._sizes = {**frame.sizes, "conversation": history.size}
        self._blocks = frame.blocks
        self._dropped: list[Dropped] = []

    @property
    def request(self) -> Request:
        """The request, as it is now."""
        folded = self.history.folded.dropped if self.history.folded else ()
        shares: list[Share] = []
        # Most parts are empty in most windows, and their records are made once. This runs for every
        # request: `append` would be a call.
        for name, size in self._sizes.items():
            if size is _NOTHING:
                shares += [self._frame.empty[name]]
            else:
                shares += [Share(name, self._tokens.tokens(size), self._frame.limits[name])]
        window = Window(self._blocks, self.history.turns, (*folded, *self._dropped), tuple(shares))
        role = self._role
        return Request(role.name, window, role.tools, role.settings, role.schema)

    def compact(self, policy: Compaction) -> None:
        """Fold the conversation if it has more events than the policy allows."""
        limit = self._frame.limits["conversation"]
        history = compact(self.history, policy, limit, self._tokens)
        if history is not self.history:
            self._take_history(history)

    def fit(self) -> None:
        """Shrink parts until the window fits.

        Raises:
            WindowOverflow: nothing is left that could be dropped; the error has all sizes.
        """
        if self._fits():
            return
        parts = [self._part(name) for name in GIVING]
        # First the parts that are over their share, until they are not; then any part.
        for hard in (False, True):
            for part in parts:
                while not self._fits() and (hard or part.is_over_limit(self._tokens)):
                    if not part.give(self._tokens, hard=hard):
                        break
                    self._take_part(part)
        if not self._fits():
            # The newest results can be read in parts, whatever else had to go.
            history = fold_newest(self.history, self._tokens)
            if history is not self.history:
                self._take_history(history)
        if not self._fits():
            raise self._overflow()

    def room(self, reserve: int) -> int:
        """Return the tokens that a message has beside the fixed parts.

        At most half of them is reserved for later turns.
        """
        sizes = [_tool_size(tool) for tool in self._role.tools]
        sizes += [_block_size(block) for block in self._blocks if not _may_go(block)]
        free = max(0, self._frame.limit - self._tokens.at_most(total(sizes)))
        return free - min(reserve, free // 2)

    def _fits(self) -> bool:
        return self._tokens.at_most(self.size) <= self._frame.limit

    def _part(self, name: ShareName) -> WindowPart:
        """Return a part as it is now, with the blocks that it may give."""
        limit, size = self._frame.limits[name], self._sizes[name]
        if name == "conversation":
            return WindowPart(name, limit, size, [], self.history)
        blocks = [block for block in self._blocks if share_of(block) == name and _may_go(block)]
        return WindowPart(name, limit, size, blocks)

    def _take_part(self, part: WindowPart) -> None:
        """Take over what a part gave."""
        if part.history is not None:
            self._take_history(part.history)
            return
        # By identity: two blocks with equal text are two blocks.
        block = part.dropped[-1]
        self._blocks = tuple([other for other in self._blocks if other is not block])
        reason = f"over the limit of {self._frame.limit} tokens"
        self._dropped.append(Dropped(block.name, self._tokens.count(block.text), reason))
        self._set_size(part.name, part.size)

    def _take_history(self, history: History) -> None:
        """Go on with a folded conversation."""
        self.history = history
        self._set_size("conversation", history.size)

    def _set_size(self, name: ShareName, size: Measure) -> None:
        self._sizes[name] = size
        self.size = _size_of_parts(self._sizes)

    def _overflow(self) -> WindowOverflow:
        """Return the error of a window that does not fit."""
        shares: dict[str, int] = {}
        for name in SHARES:
            size = self._sizes[name]
            tokens = 0 if size is _NOTHING else self._tokens.tokens(size)
            if tokens:
                shares[name] = tokens
        listed = ", ".join(f"{name} {tokens}" for name, tokens in shares.items())
        needed, limit = self._tokens.at_most(self.size), self._frame.limit
        return WindowOverflow(
            f"the window of role {self._role.name} needs about {needed} tokens and has room for"
            f" {limit} ({listed})",
            needed=needed,
            limit=limit,
            shares=shares,
            hint=(
                "shorten its input, choose a model with a larger window, or state its size"
                " (llm.NAME.context_tokens, window.tokens)"
            ),
        )


def _size_of_parts(sizes: Mapping[ShareName, Measure]) -> Measure:
    """Return the size of parts one below the other: no separator follows the last."""
    size = total(sizes.values())
    return size.minus(SEPARATOR) if any(size) else size


def _may_go(block: Block) -> bool:
    """Return whether a block may be dropped.

    Advice and session state may; of the working space only untrusted text.
    """
    share = share_of(block)
    if share == "working_space":
        return block.trust == "untrusted"
    return share in GIVING


def _block_size(block: Block) -> Measure:
    """Return the size that a block adds to a window."""
    return block_size(block).plus(SEPARATOR)


def _tool_size(tool: ToolSpec) -> Measure:
    """Return the size that a tool adds to a window."""
    return measure(tool_text(tool)).plus(SEPARATOR)


def _declared_size(role: Role) -> Measure:
    """Return the size of a role's tools and of the schema of its answers."""
    sizes = [_tool_size(tool) for tool in role.tools]
    if role.schema is not None:
        sizes.append(measure(schema_text(role.schema)).plus(SEPARATOR))
    return total(sizes) if sizes else _NOTHING
