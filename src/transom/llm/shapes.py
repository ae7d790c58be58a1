"""The shapes of a model request: block, role, window, request.

A window is a list of named blocks and the conversation so far. Nothing else reaches a model. The
turns of a conversation are in `turns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self, get_args

from transom.canonical import Json, canonical_json, digest, quoted
from transom.errors import InputError
from transom.llm.checked import Output, check_choice, check_kind, check_name, schema_of, tuple_of
from transom.llm.media import Media, read_file
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
# Of any vendor; a provider leaves out a temperature that its model does not take.
_HOTTEST = 2


class _Canonical:
    """Base of flat shapes whose canonical text is made once, since every request repeats them."""

    __match_args__: ClassVar[tuple[str, ...]]

    def to_json(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in self.__match_args__}

    @once
    def canonical(self) -> str:
        """Return the canonical text of `to_json`."""
        return canonical_json(self.to_json())


@dataclass(frozen=True)
class Block(_Canonical):
    """A named piece of context.

    Attributes:
        name: the tag it is rendered under; a role's `sees` is a set of these.
        text: the whole content. A provider may read nothing else.
        tier: stable blocks come first, so that the prefix stays byte-identical.
        trust: `untrusted` text is fenced and is data, never an instruction.
        egress: `local` blocks never reach a remote provider.
        data: the same content in structured form, if `text` was made from it.
        media: an image or a PDF file, which the text then names; see `file`.

    Raises:
        InputError: the name cannot be a tag, the text is not a `str`, the tier or a mark is
            unknown, or media stand in a stable block, which servers take no media in.
    """

    name: str
    text: str
    tier: Tier = Tier.TURN
    trust: Trust = "ours"
    egress: Egress = "any"
    data: Json = None
    media: Media | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "Block")
        hint = "structured content goes into data"
        check_kind(self.text, str, "text", f"Block {self.name!r}", hint)
        # The short tests first: a window is built of blocks for every call.
        if self.trust not in TRUST or self.egress not in EGRESS:
            check_marks(f"Block {self.name!r}", trust=self.trust, egress=self.egress)
        if type(self.tier) is not Tier:
            check_choice(self.tier, [*map(str, Tier)], "tier", f"Block {self.name!r}")
            object.__setattr__(self, "tier", Tier(self.tier))
        if self.media is not None and self.tier is Tier.STABLE:
            problem = "media cannot stand in a stable block: system prompts are text"
            hint = "give it the tier session or turn"
            raise InputError(problem, place=f"Block {self.name!r}", hint=hint)

    @classmethod
    def file(
        cls,
        name: str,
        path: Path | str,
        *,
        tier: Tier = Tier.TURN,
        trust: Trust = "untrusted",
        egress: Egress = "any",
    ) -> Self:
        """Return a block with a file: an image (PNG, JPEG, GIF, WebP), a PDF file, or text.

        A provider that takes no images or no files refuses the request. The file is read now.

        Args:
            name: the block's name.
            path: the file; its first bytes say what it is, whatever its name ends with.
            tier: session or turn; a text may be stable.
            trust: `untrusted` by default, since a file may hold instructions of others.
            egress: `local` files never reach a remote provider.

        Raises:
            InputError: the file cannot be read, is too large, or is of another kind.
        """
        text, media = read_file(Path(path))
        return cls(name, text, tier, trust, egress, media=media)

    def to_json(self) -> dict[str, Json]:
        data = super().to_json()
        # Left out of most blocks, so that a block of text keeps the digest that journals know.
        del data["media"]
        if self.media is not None:
            data["media"] = self.media.to_json()
        return data


@dataclass(frozen=True)
class Dropped(_Canonical):
    """A block that was left out of a window, and why."""

    name: str
    tokens: int
    why: str


@dataclass(frozen=True)
class ToolSpec(_Canonical):
    """A tool that a role may call.

    Attributes:
        name: the name by which a model calls it.
        description: what the tool does, for the model.
        parameters: the JSON Schema of its arguments.
        effect: what a repetition would do; `unknown` is undeclared.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    effect: Literal["pure", "idempotent", "once", "unknown"] = "pure"

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "parameters": dict(self.parameters)}


@dataclass(frozen=True)
class CallSettings(_Canonical):
    """Settings of a model call.

    Attributes:
        max_tokens: limit on the tokens of the answer.
        temperature: 0 to 2, or None for the provider's own.

    Raises:
        InputError: a number that no server takes.
    """

    max_tokens: int = 16_384
    temperature: float | None = None

    def __post_init__(self) -> None:
        max_tokens, temperature = self.max_tokens, self.temperature
        # By exact type: a bool is an int, and means a mistake here.
        is_valid = type(max_tokens) is int and max_tokens >= 1
        if temperature is not None:
            is_number = type(temperature) in (int, float)
            is_valid = is_valid and is_number and 0 <= temperature <= _HOTTEST
        if not is_valid:
            raise InputError(
                f"max_tokens is {max_tokens!r:.80}, temperature {temperature!r:.80}",
                place="CallSettings",
                hint=(
                    f"give max_tokens from 1 on, and a temperature from 0 to {_HOTTEST}, or None"
                    " for the server's own"
                ),
            )
        # Equal settings have one digest: 0, 0.0 and -0.0 are the same temperature.
        if temperature is not None:
            object.__setattr__(self, "temperature", temperature + 0.0)


_SETTINGS = CallSettings()


@dataclass(frozen=True, init=False)
class Role:
    """A task for a model, under a name, e.g. `Role("clerk", "You know the stock.")`.

    Attributes:
        name: `product.role`, e.g. `checklist.parser`.
        prompt: its own blocks, all of them stable. A text becomes one block of the name `role`.
        sees: names of the blocks that may stand in its window, its own prompt's included; by
            default these alone.
        tools: the tools that it may call.
        settings: of its calls.
        strategy: how its conversation goes on when it outgrows the window.
        output: the JSON Schema, pydantic model class or dataclass that its answers must follow;
            None for free text.

    Raises:
        InputError: a field of another type, or an unknown strategy. The hint says what to write.
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
        """Make a role; see the class for the arguments."""
        check_name(name, "Role")
        if isinstance(prompt, str):
            prompt = [Block("role", prompt, Tier.STABLE)]
        hint = 'write Role("clerk", "You know the stock."), or [Block(...)]'
        blocks = tuple_of(prompt, Block, "prompt", name, hint)
        if sees is None:
            visible = [block.name for block in blocks]
        else:
            visible = [*tuple_of(sees, str, "sees", name)]
        check_kind(settings, CallSettings, "settings", name)
        check_choice(strategy, _STRATEGIES, "strategy", name)
        hint = "give tools to the agent: Agent(role, tools=[...])"
        values = {
            "name": name,
            "prompt": blocks,
            "sees": frozenset(visible),
            "tools": tuple_of(tools, ToolSpec, "tools", name, hint),
            "settings": settings,
            "strategy": strategy,
            "output": output,
        }
        for field_name, value in values.items():
            object.__setattr__(self, field_name, value)
        # A class without a schema is an error here, and not at the first call.
        _ = self.schema

    @once
    def schema(self) -> Mapping[str, Json] | None:
        """Return the JSON Schema of `output`; None for free text."""
        return schema_of(self.output, self.name)

    @once
    def digest(self) -> str:
        """Return a digest that changes with anything that may change the role's answers."""
        data: dict[str, Json] = {
            "name": self.name,
            "prompt": [block.to_json() for block in self.prompt],
            "sees": [*sorted(self.sees)],
            "tools": [tool.to_json() for tool in self.tools],
            "settings": self.settings.to_json(),
        }
        # Left out by default, so that a role keeps the digest that journals know.
        if self.strategy != "truncate":
            data["strategy"] = self.strategy
        if self.schema is not None:
            data["output"] = dict(self.schema)
        return digest(data)


class Share(NamedTuple):
    """Tokens of one part of a window, and its limit once the window is full; both are estimates."""

    # `used` is a key of journals.

    name: str
    used: int
    limit: int


@dataclass(frozen=True)
class Window:
    """Everything that one call sees, in order, and the names of what was left out.

    Attributes:
        shares: how full each part is; a remark for the journal, not part of the request.
        egress: `local` if a reply in the conversation was answered from local text, which it may
            repeat: the window is as local, whether or not that text still stands in it.
    """

    blocks: tuple[Block, ...]
    turns: tuple[Turn, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    shares: tuple[Share, ...] = field(default=(), compare=False)
    egress: Egress = field(default="any", compare=False)

    def __post_init__(self) -> None:
        if self.egress not in EGRESS:
            check_marks("Window", egress=self.egress)

    @property
    def media_tokens(self) -> int:
        """An estimate of the tokens that its images and files take beside their text."""
        tokens = 0
        for block in self.blocks:
            if block.media is not None:
                tokens += block.media.tokens
        return tokens

    def get(self, name: str) -> Block:
        """Return the block of that name; KeyError if there is none."""
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(name)

    def text(self, name: str) -> str:
        """Return the text of a block, or "" if the window has no block of that name."""
        for block in self.blocks:
            if block.name == name:
                return block.text
        return ""


@dataclass(frozen=True)
class Request:
    """A call of a model.

    Attributes:
        role: the name of the role that asks.
        window: the blocks and turns that the model sees.
        tools: the tools that it may call.
        settings: of the call.
        output: the JSON Schema of the answer; None for free text.
    """

    role: str
    window: Window
    tools: tuple[ToolSpec, ...] = ()
    settings: CallSettings = field(default_factory=CallSettings)
    output: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        return {**self.head_json(), "turns": [turn.to_json() for turn in self.window.turns]}

    def head_json(self) -> dict[str, Json]:
        """Return the request as JSON, without its turns.

        This stays the same from call to call while blocks and tools do.
        """
        data: dict[str, Json] = {
            "role": self.role,
            "blocks": [block.to_json() for block in self.window.blocks],
            "turns": [],
            "dropped": [dropped.to_json() for dropped in self.window.dropped],
            "tools": [tool.to_json() for tool in self.tools],
            "settings": self.settings.to_json(),
        }
        # Left out by default, so that recordings of requests for free text keep their digests.
        if self.output is not None:
            data["output"] = dict(self.output)
        return data

    @once
    def head(self) -> str:
        """Return the canonical text of `head_json`, put together from that of its parts."""
        # Each block has its text already; `canonical_json` would write all of them anew for each
        # call. The keys stand in alphabetical order, as it would write them.
        blocks = ",".join([block.canonical for block in self.window.blocks])
        dropped = ",".join([block.canonical for block in self.window.dropped])
        tools = ",".join([tool.canonical for tool in self.tools])
        output = ""
        if self.output is not None:
            output = f'"output":{canonical_json(dict(self.output))},'
        return (
            f'{{"blocks":[{blocks}],"dropped":[{dropped}],{output}"role":{quoted(self.role)},'
            f'"settings":{self.settings.canonical},"tools":[{tools}],"turns":[]}}'
        )

    @once
    def digest(self) -> str:
        """Return the digest of the request."""
        if not self.window.turns:
            return digest(self.head)
        # Each turn is digested once, so that a longer conversation costs no more for each call.
        turns = digest("".join([turn.digest for turn in self.window.turns]))
        return digest(f'{self.head.removesuffix("[]}")}["{turns}"]}}')
