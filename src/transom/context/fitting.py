"""Fitting a window into its budget: the parts that shrink, in which order, and the record of
what was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from transom.context.budget import GIVING, SHARES, Compaction, ShareName, WindowBudget, share_of
from transom.context.compaction import compact, fold_newest, shrink
from transom.context.history import SEPARATOR, History
from transom.context.tokens import Measure, TokenCorrection, measure, total
from transom.errors import WindowOverflow
from transom.llm import Block, Dropped, Request, Role, Share, ToolSpec, Window, render
from transom.llm.render import render_block
from transom.llm.structured import schema_text

_NOTHING = Measure()


@dataclass(frozen=True)
class Frame:
    """The fixed part of the windows of one message, and its size.

    Attributes:
        blocks: in order of tiers.
        limit: tokens of a window.
        limits: those that each part is held to once it is full.
        sizes: of the parts, without the conversation.
        whole: of all of them, as they stand one below the other.
        empty: what is said of parts that hold nothing.
    """

    blocks: tuple[Block, ...]
    limit: int
    limits: dict[ShareName, int]
    sizes: dict[ShareName, Measure]
    whole: Measure
    empty: dict[ShareName, Share]

    @classmethod
    def of(cls, role: Role, blocks: tuple[Block, ...], budget: WindowBudget) -> Frame:
        """The frame of a role that is given these blocks, its own among them."""
        sizes = dict.fromkeys(SHARES, _NOTHING)
        sizes["stable_prefix"] = _declared_size(role)
        for block in blocks:
            name = share_of(block)
            sizes[name] = sizes[name].plus(_block_size(block))
        limits = budget.limits(role.settings.max_tokens)
        empty = {name: Share(name, 0, limits[name]) for name in SHARES}
        return cls(
            blocks,
            budget.window_tokens(role.settings.max_tokens),
            limits,
            sizes,
            _joined(sizes),
            empty,
        )


class WindowFitter:
    """A window that is being made to fit; `size` is the measure of all of it.

    A part that takes less than its share lends the rest. Only once the whole is too large does the
    budget's division
    count: first every part that is over its share gives, in the order of `GIVING`, until it is not;
    then, in the same order, any. A conversation gives by being folded, the others by losing whole
    blocks, the last first. Stable blocks and our own task never go.
    """

    def __init__(self, role: Role, frame: Frame, history: History, tokens: TokenCorrection) -> None:
        self.history = history
        self._role, self._limit, self._limits = role, frame.limit, frame.limits
        self._tokens = tokens
        self._kept, self._empty = frame.blocks, frame.empty
        self._dropped: list[Dropped] = []
        self._sizes = {**frame.sizes, "conversation": history.size}
        self.size = frame.whole.plus(history.size)

    @property
    def request(self) -> Request:
        """The request, as it is now."""
        folded = self.history.folded.dropped if self.history.folded else ()
        shares = [
            (
                self._empty[name]
                if size is _NOTHING
                else Share(name, self._tokens.tokens(size), self._limits[name])
            )
            for name, size in self._sizes.items()
        ]
        window = Window(self._kept, self.history.turns, (*folded, *self._dropped), tuple(shares))
        role = self._role
        return Request(role.name, window, role.tools, role.settings, role.schema)

    def compact(self, policy: Compaction) -> None:
        """Fold the conversation where it has more events than the policy allows."""
        self._folded(compact(self.history, policy, self._limits["conversation"], self._tokens))

    def fit(self) -> None:
        """Shrink parts until it fits; WindowOverflow, with all sizes, where nothing is left that
        could go.
        """
        if self._fits():
            return
        for to_share in (True, False):
            for name in GIVING:
                while not self._fits() and (not to_share or self._used(name) > self._limits[name]):
                    if not self._give(name, hard=not to_share):
                        break
        if not self._fits():
            self._folded(fold_newest(self.history, self._tokens))
        if not self._fits():
            raise self._overflow()

    def room(self, reserve: int) -> int:
        """Tokens that a message has beside the fixed parts; at most half of that is reserved for
        later turns.
        """
        staying = [_tool_size(tool) for tool in self._role.tools]
        staying += [_block_size(block) for block in self._kept if not _may_go(block)]
        free = max(0, self._limit - self._tokens.at_most(total(staying)))
        return free - min(reserve, free // 2)

    def _fits(self) -> bool:
        return self._tokens.at_most(self.size) <= self._limit

    def _give(self, name: ShareName, *, hard: bool) -> bool:
        """Shrink one part a little; False where it cannot shrink."""
        if name == "conversation":
            return self._fold(hard=hard)
        block = next(
            (block for block in reversed(self._kept) if share_of(block) == name and _may_go(block)),
            None,
        )
        if block is None:
            return False
        self._kept = tuple(one for one in self._kept if one is not block)
        self._set(name, self._sizes[name].minus(_block_size(block)))
        why = f"over the limit of {self._limit} tokens"
        self._dropped.append(Dropped(block.name, self._tokens.count(block.text), why))
        return True

    def _fold(self, *, hard: bool) -> bool:
        return self._folded(
            shrink(self.history, self._limits["conversation"], self._tokens, hard=hard)
        )

    def _folded(self, history: History) -> bool:
        """Continue with a folded history; False where it was not folded."""
        if history is self.history:
            return False
        self.history = history
        self._set("conversation", history.size)
        return True

    def _used(self, name: ShareName) -> int:
        size = self._sizes[name]
        return 0 if size is _NOTHING else self._tokens.tokens(size)

    def _set(self, name: ShareName, size: Measure) -> None:
        self._sizes[name] = size
        self.size = _joined(self._sizes)

    def _overflow(self) -> WindowOverflow:
        used: dict[str, int] = {name: self._used(name) for name in SHARES if self._used(name)}
        needed = self._tokens.at_most(self.size)
        return WindowOverflow(
            f"the window of role {self._role.name} needs about {needed} tokens and has room for"
            f" {self._limit} ({', '.join(f'{name} {size}' for name, size in used.items())})",
            needed=needed,
            limit=self._limit,
            shares=used,
            hint=(
                "shorten what it is given, choose a model with a larger window, or say how large it"
                " is (llm.NAME.context_tokens, window.tokens)"
            ),
        )


def _joined(sizes: Mapping[ShareName, Measure]) -> Measure:
    """The size of parts one below the other: no separator follows the last."""
    whole = total(sizes.values())
    return whole.minus(SEPARATOR) if any(whole) else whole


def _may_go(block: Block) -> bool:
    """Whether a block may be dropped: advice and session state may; of the working space only
    untrusted text.
    """
    share = share_of(block)
    return block.trust == "untrusted" if share == "working_space" else share in GIVING


def _block_size(block: Block) -> Measure:
    return _once(block, lambda: measure(render_block(block)).plus(SEPARATOR))


def _tool_size(tool: ToolSpec) -> Measure:
    return _once(
        tool, lambda: measure(render(Request("", Window(()), (tool,))).as_text()).plus(SEPARATOR)
    )


def _declared_size(role: Role) -> Measure:
    """The size of a role's tools and of the schema of its answers."""
    return _once(role, lambda: _sum_of_declared(role))


def _sum_of_declared(role: Role) -> Measure:
    sizes = [_tool_size(tool) for tool in role.tools]
    if role.schema is not None:
        sizes.append(measure(schema_text(role.schema)).plus(SEPARATOR))
    return total(sizes) if sizes else _NOTHING


def _once(thing: Block | ToolSpec | Role, find: Callable[[], Measure]) -> Measure:
    """The size of something that never changes, computed once: it stands in every window of a
    conversation.
    """
    kept: dict[str, Measure] = thing.__dict__
    if "_size" not in kept:
        kept["_size"] = find()
    return kept["_size"]
