"""What a scenario says, and what a product hands back for one: the files that people and runners write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from transom.canonical import Json, digest

Share = Annotated[float, Field(ge=0, le=1)]


class Shape(BaseModel):
    """Base of what is read from or written to a file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, coerce_numbers_to_str=True)


def listed(value: object) -> object:
    """One value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""One text or a list of texts."""


class ExpectedTool(Shape):
    """A tool call that is needed; of its arguments the named ones must agree."""

    name: str
    arguments: dict[str, Json] = Field(default_factory=dict)


class Injected(Shape):
    """Planted text that asks for a verdict: it must not be obeyed, and its source must be reported."""

    verdict: str
    source: str = ""


class Expected(Shape):
    """The ground truth of a scenario. What is left out is not scored.

    Attributes:
        verdict: the right answer; of a list, any of them.
        subject: what the question is about, e.g. a feature id; `asks`: whether a question back is right.
        criteria: criterion id -> its status, or several that are right.
        values: further fields of the outcome, e.g. `stage_fit` or counts.
        mentions: texts that the answer must contain, whatever their case.
        evidence: `source` or `source#locator` of each piece that must be cited.
        no_other_evidence: whether any other piece counts against the precision.
        injected: planted text in the data.
        tools: calls that are needed; with `in_order` in this order.
        forbidden_tools: tools that must not be called.
        sub_conversations: the least number of sub-conversations.
        stores, recalls, reports: texts that must stand in what the outcome `stored`, `recalled`, `reported`.
    """

    verdict: Texts = ()
    subject: str | None = None
    asks: bool | None = None
    criteria: dict[str, Texts] = Field(default_factory=dict)
    values: dict[str, Json] = Field(default_factory=dict)
    mentions: Texts = ()
    evidence: Texts = ()
    no_other_evidence: bool = False
    injected: Injected | None = None
    tools: tuple[Annotated[ExpectedTool, BeforeValidator(_named)], ...] = ()
    in_order: bool = False
    forbidden_tools: Texts = ()
    sub_conversations: int | None = None
    stores: Texts = ()
    recalls: Texts = ()
    reports: Texts = ()


class Limits(Shape):
    """What a scenario may take at most; `main_tokens` is the size of the main thread."""

    tokens: int | None = None
    main_tokens: int | None = None
    tool_calls: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


_FILE_FAULTS = ("missing_file", "broken_json", "empty_file", "long_file")


class Fault(Shape):
    """Something that breaks while the scenario runs: files of the data (a pattern), the provider, or the memory.

    Attributes:
        long_file: its text is repeated until it has 8 MB.
        calls: which calls of the provider fail, from 1; all where none is named.
        roles: of which roles, as a pattern.
        sees: a text that a call must be shown to fail.
    """

    missing_file: str | None = None
    broken_json: str | None = None
    empty_file: str | None = None
    long_file: str | None = None
    provider: Literal["network", "timeout", "rate_limit", "refused", "server"] | None = None
    calls: tuple[int, ...] = ()
    roles: str = "*"
    sees: str = ""
    memory: Literal["down"] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Fault:
        if sum(kind is not None for kind in (self.file, self.provider, self.memory)) != 1:
            raise ValueError(f"name one of {', '.join(_FILE_FAULTS)}, provider, memory")
        return self

    @property
    def file(self) -> tuple[str, str] | None:
        """What becomes of files, and the pattern of their names."""
        told = [(name, pattern) for name in _FILE_FAULTS if (pattern := getattr(self, name))]
        return told[0] if told else None


class Defaults(Shape):
    """What a suite may say for all its scenarios, and a scenario for itself.

    Attributes:
        data: the folder of the data, from the file that says so.
        epochs: how often each scenario runs.
        timeout: seconds for one epoch.
        pass_share: the share of epochs that must pass for the scenario to pass.
        least: scorer name -> the least score that passes; 1 where none is named.
    """

    data: str | None = None
    epochs: Annotated[int, Field(ge=1, le=1000)] = 1
    timeout: Annotated[float, Field(gt=0)] = 300.0
    pass_share: Share = 1.0
    least: dict[str, Share] = Field(default_factory=dict)


class Abstention(Shape):
    """That a model was foreseen not to decide: what it answers instead of the right verdict, and why."""

    verdict: str
    why: str


class Scenario(Defaults):
    """`scenario.yaml`: one question with its right answer.

    Attributes:
        id: the name of its folder.
        folder, data_folder: where it and its data lie; set by `load_suite`.
        input: what the product's runner is given.
        rubric: criteria in words, for a model as judge.
        faults: what breaks while it runs.
        files: a folder beside `scenario.yaml` whose files are put over a copy of the data.
        abstains: model -> where it was foreseen to abstain; the verdict alone then fails nothing.
    """

    id: str = ""
    folder: Path = Field(default=Path(), exclude=True)
    data_folder: Path | None = Field(default=None, exclude=True)
    title: str = ""
    input: dict[str, Json] = Field(default_factory=dict)
    expected: Expected = Field(default_factory=Expected)
    rubric: Texts = ()
    tags: Texts = ()
    faults: tuple[Fault, ...] = ()
    files: str | None = None
    abstains: dict[str, Abstention] = Field(default_factory=dict)
    limits: Limits = Field(default_factory=Limits)

    @property
    def digest(self) -> str:
        """Changes with whatever changes what is asked or what is right; not with epochs, time-outs or thresholds."""
        return digest(
            self.model_dump(mode="json", include={"input", "expected", "rubric", "faults", "files", "limits"})
        )[:16]


class Evidence(Shape):
    """A cited piece: `source` is a file below the data's folder, or a name in `Outcome.sources`."""

    source: str
    locator: str = ""
    value: str = ""
    quote: str = ""
    formula: str | None = None


class ToolUse(ExpectedTool):
    """A tool call that was made, and whether it was carried out."""

    ok: bool = True


class Used(Shape):
    """What was used. `cost_usd` is None where no price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @staticmethod
    def of(replies: Sequence[Any]) -> Used:
        """What some journaled replies took together."""
        usages = [reply["reply"]["usage"] for reply in replies]
        costs = [usage["cost"] for usage in usages if usage.get("cost") is not None]
        names = ("input_tokens", "output_tokens", "cached_tokens")
        tokens = {name: sum(usage[name] for usage in usages) for name in names}
        return Used(**tokens, cost_usd=sum(costs) if costs else None)

    def __add__(self, other: Used) -> Used:
        costs = [one for one in (self.cost_usd, other.cost_usd) if one is not None]
        return Used(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=sum(costs) if costs else None,
            seconds=round(self.seconds + other.seconds, 3),
        )


class Outcome(Shape):
    """What a runner hands back for one epoch of a scenario.

    Attributes:
        verdict: the product's answer, e.g. `READY` or `PASS`.
        text: the answer's prose; its numbers are looked up in the sources.
        subject, criteria, values: as in `Expected`.
        questions: what it asked back.
        evidence, tools: what it cites and what it called, in order.
        reported: what it reports as missing, failed, unsupported or planted.
        stored, recalled: texts that went into memory and came from it.
        main_tokens: the size of the main thread, where there is one.
        sources: texts that are no files of the data, by name.
        error: why there is no answer.
        egress: `local` where it quotes text that must stay on this machine; a remote judge then never sees it.
        document: the product's own document.
    """

    verdict: str | None = None
    text: str = ""
    subject: str | None = None
    questions: tuple[str, ...] = ()
    criteria: dict[str, str] = Field(default_factory=dict)
    values: dict[str, Json] = Field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    reported: tuple[str, ...] = ()
    sub_conversations: int = 0
    stored: tuple[str, ...] = ()
    recalled: tuple[str, ...] = ()
    main_tokens: int | None = None
    used: Used = Field(default_factory=Used)
    sources: dict[str, str] = Field(default_factory=dict)
    error: str | None = None
    egress: Literal["any", "local"] = "any"
    document: Any = None
