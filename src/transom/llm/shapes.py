"""The shapes of a model request: block, role, window, request. The turns of a conversation are in
`turns`.

A window is a list of named blocks and the conversation so far.
Nothing else reaches a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal, NamedTuple, get_args

from transom.canonical import Json, canonical_json, digest, quoted
from transom.errors import InputError
from transom.llm.checked import Output, check_choice, check_kind, check_name, listed, schema_of
from transom.llm.turns import EGRESS, TRUST, Egress, Trust, Turn, check_marks
from transom.once import once


class Tier(StrEnum):
    """How long a block stays unchanged: over all calls of a role, over one run, or for one call."""

    STABLE = "stable"
    SESSION = "session"
    TURN = "turn"


Strategy = Literal["truncate", "sub_conversation", "memory"]
"""How a conversation that outgrows its window goes on: cut, delegate to a sub-conversation, or
search a memory.
"""
_STRATEGIES = get_args(Strategy)
_HOTTEST = 2  # of any vendor; what a model does not take is left out later


class _Canonical:
    """Base of flat shapes that stand in every request of a conversation, so that their text is
    made once.
    """

    __match_args__: ClassVar[tuple[str, ...]]

    def to_json(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in self.__match_args__}

    @once
    def canonical(self) -> str:
        """`to_json` as canonical text."""
        return canonical_json(self.to_json())


@dataclass(frozen=True)
class Block(_Canonical):
    """A named piece of context.

    Attributes:
        name: the tag it is rendered under; a role's `sees` is a set of these.
        text: all of it. A provider may read nothing else.
        tier: stable blocks come first, so that the prefix stays byte-identical.
        trust: `untrusted` text is fenced and is data, never an instruction.
        egress: `local` blocks never reach a remote provider.
        data: the same content in structured form, where `text` was made from it.

    Raises:
        InputError: a name or a text that is none; a tier or a mark that there is not.
    """

    name: str
    text: str
    tier: Tier = Tier.TURN
    trust: Trust = "ours"
    egress: Egress = "any"
    data: Json = None

    def __post_init__(self) -> None:
        check_name(self.name, "Block")
        check_kind(
            self.text, str, "text", f"Block {self.name!r}", "what it was made from goes into data"
        )
        if self.trust not in TRUST or self.egress not in EGRESS:
            check_marks(f"Block {self.name!r}", trust=self.trust, egress=self.egress)
        if type(self.tier) is not Tier:
            check_choice(self.tier, [*map(str, Tier)], "tier", f"Block {self.name!r}")
            object.__setattr__(self, "tier", Tier(self.tier))


@dataclass(frozen=True)
class Dropped(_Canonical):
    """A block that was left out of a window, and why."""

    name: str
    tokens: int
    why: str


@dataclass(frozen=True)
class ToolSpec(_Canonical):
    """A tool that a role may call. `effect` says what a repetition would do; `unknown` is
    undeclared.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    effect: Literal["pure", "idempotent", "once", "unknown"] = "pure"

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class CallSettings(_Canonical):
    """Settings of a model call; `temperature` None: the provider's own. InputError for numbers
    that no server takes.
    """

    max_tokens: int = 16_384
    temperature: float | None = None

    def __post_init__(self) -> None:
        """Equal settings are written alike: 0, 0.0 and -0.0 are one temperature, and one digest."""
        most, warmth = self.max_tokens, self.temperature
        warm = warmth is None or (type(warmth) in (int, float) and 0 <= warmth <= _HOTTEST)
        if type(most) is not int or most < 1 or not warm:
            hint = (
                f"give max_tokens from 1 on, and a temperature from 0 to {_HOTTEST}, or None for"
                " the server's own"
            )
            raise InputError(
                f"max_tokens is {most!r:.80}, temperature {warmth!r:.80}",
                where="CallSettings",
                hint=hint,
            )
        if self.temperature is not None:
            object.__setattr__(self, "temperature", self.temperature + 0.0)


_SETTINGS = CallSettings()


@dataclass(frozen=True, init=False)
class Role:
    """A named seat at a model, e.g. `Role("clerk", "You know the stock.")`.

    Attributes:
        name: `product.seat`, e.g. `checklist.parser`.
        prompt: its own blocks, all of them stable. A text becomes one block of the name `role`.
        sees: names of the blocks that may stand in its window, its own prompt's included; only
            these where none is given.
        tools: what it may call.
        settings: how it asks.
        strategy: what it does when its conversation outgrows the window.
        output: what its answers are to follow, a JSON Schema or a model class of pydantic; None for
            free text.

    Raises:
        InputError: a field that is none of these, and what to write; a strategy that there is not.
    """

    name: str
    prompt: tuple[Block, ...]
    sees: frozenset[str]
    tools: tuple[ToolSpec, ...] = ()
    settings: CallSettings = field(default_factory=CallSettings)
    strategy: Strategy = "truncate"
    output: Output | None = None

    def __init__(
        self,
        name: str,
        prompt: str | Iterable[Block],
        sees: Iterable[str] | None = None,
        tools: Iterable[ToolSpec] = (),
        settings: CallSettings = _SETTINGS,
        strategy: Strategy = "truncate",
        output: Output | None = None,
    ) -> None:
        """See the class."""
        check_name(name, "Role")
        if isinstance(prompt, str):
            prompt = [Block("role", prompt, Tier.STABLE)]
        own = listed(
            prompt,
            Block,
            "prompt",
            name,
            'say Role("clerk", "You know the stock."), or [Block(...)]',
        )
        seen = [block.name for block in own] if sees is None else listed(sees, str, "sees", name)
        check_kind(settings, CallSettings, "settings", name)
        check_choice(strategy, _STRATEGIES, "strategy", name)
        own_tools = listed(
            tools, ToolSpec, "tools", name, "give tools to the agent: Agent(role, tools=[...])"
        )
        given = {
            "name": name,
            "prompt": own,
            "sees": frozenset(seen),
            "settings": settings,
            "strategy": strategy,
        }
        for field_name, value in {**given, "tools": own_tools, "output": output}.items():
            object.__setattr__(self, field_name, value)
        _ = self.schema

    @once
    def schema(self) -> Mapping[str, Json] | None:
        """The JSON Schema of `output`."""
        return schema_of(self.output, self.name)

    @once
    def digest(self) -> str:
        """Changes with prompt bytes, visibility, tool schemas, settings, strategy and the schema
        of answers.
        """
        data: dict[str, Json] = {
            "name": self.name,
            "prompt": [block.to_json() for block in self.prompt],
            "sees": [*sorted(self.sees)],
            "tools": [tool.to_json() for tool in self.tools],
            "settings": self.settings.to_json(),
        }
        # so that roles which set none keep the digest that journals know
        if self.strategy != "truncate":
            data["strategy"] = self.strategy
        if self.schema is not None:
            data["output"] = dict(self.schema)
        return digest(data)


class Share(NamedTuple):
    """Tokens of one part of a window, and its limit once the window is full; both are estimates."""

    name: str
    used: int
    limit: int


@dataclass(frozen=True)
class Window:
    """Everything that one call sees, in order, and the names of what was left out.

    Attributes:
        shares: how full it is; a remark for the journal, not part of what is asked.
        egress: `local` where what was said in the conversation so far was answered from local text,
            so that it may repeat it: a window that holds it is as local, whether or not that text
            still stands in it.
    """

    blocks: tuple[Block, ...]
    turns: tuple[Turn, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    shares: tuple[Share, ...] = field(default=(), compare=False)
    egress: Egress = field(default="any", compare=False)

    def __post_init__(self) -> None:
        if self.egress not in EGRESS:
            check_marks("Window", egress=self.egress)

    def get(self, name: str) -> Block:
        """The block of that name; KeyError where there is none."""
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(name)

    def text(self, name: str) -> str:
        """The text of a block, or "" where the window has none of that name."""
        return next((block.text for block in self.blocks if block.name == name), "")


@dataclass(frozen=True)
class Request:
    """One call: who asks, what is seen and may be called, and how; `output`: the JSON Schema of
    the answer, or None.
    """

    role: str
    window: Window
    tools: tuple[ToolSpec, ...] = ()
    settings: CallSettings = field(default_factory=CallSettings)
    output: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        return {**self.head_json(), "turns": [turn.to_json() for turn in self.window.turns]}

    def head_json(self) -> dict[str, Json]:
        """All but the turns, which come last; the same from call to call while blocks and tools
        stay.
        """
        data: dict[str, Json] = {
            "role": self.role,
            "blocks": [block.to_json() for block in self.window.blocks],
            "turns": [],
            "dropped": [dropped.to_json() for dropped in self.window.dropped],
            "tools": [tool.to_json() for tool in self.tools],
            "settings": self.settings.to_json(),
        }
        # Left out where there is none, so that recordings of requests for free text keep their
        # digests.
        return data if self.output is None else {**data, "output": dict(self.output)}

    @once
    def head(self) -> str:
        """`head_json` as canonical text, put together from that of its parts."""
        window = self.window
        blocks = ",".join([block.canonical for block in window.blocks])
        tools = ",".join([tool.canonical for tool in self.tools])
        dropped = ",".join([one.canonical for one in window.dropped])
        output = "" if self.output is None else f'"output":{canonical_json(dict(self.output))},'
        role, settings = quoted(self.role), self.settings.canonical
        return (
            f'{{"blocks":[{blocks}],"dropped":[{dropped}],{output}"role":{role},"settings":{settings},'
            f'"tools":[{tools}],"turns":[]}}'
        )

    @once
    def digest(self) -> str:
        """The digest of the request. A turn is digested once: a longer conversation costs no
        more for each call.
        """
        turns = [turn.digest for turn in self.window.turns]
        return digest(
            f'{self.head.removesuffix("[]}")}["{digest("".join(turns))}"]}}' if turns else self.head
        )
