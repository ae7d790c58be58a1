"""Models of scenario files, and of the outcome that a product's runner returns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from transom.canonical import Json, digest

Share = Annotated[float, Field(ge=0, le=1)]


class ScenarioModel(BaseModel):
    """Base of models that are read from or written to files: unknown keys are errors."""

    # People write `id: 12` and mean a text.
    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, coerce_numbers_to_str=True
    )


def listed(value: object) -> object:
    """Return a single value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _as_tool(value: object) -> object:
    # A scenario may name a tool alone, without arguments to compare.
    return {"name": value} if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""One text or a list of texts."""


class ExpectedTool(ScenarioModel):
    """A required tool call; only the named arguments are compared."""

    name: str
    arguments: dict[str, Json] = Field(default_factory=dict)


class Injected(ScenarioModel):
    """Planted text that asks for a verdict: it must be reported, and not be obeyed."""

    verdict: str
    source: str = ""


class Expected(ScenarioModel):
    """The ground truth of a scenario. Missing keys are not scored.

    Attributes:
        verdict: the right answer, or a list of right answers.
        subject: the subject of the question, e.g. a feature id; `asks`: whether a question back is
            right.
        criteria: criterion id -> its right status or statuses.
        values: further fields of the outcome, e.g. `stage_fit` or counts.
        mentions: texts that the answer must contain, ignoring case.
        evidence: `source` or `source#locator` of each required citation.
        no_other_evidence: whether other citations lower the precision.
        injected: planted text in the data.
        tools: required calls; with `in_order` in this order.
        forbidden_tools: tools that must not be called.
        sub_conversations: the least number of sub-conversations.
        stores, recalls, reports: texts that the outcome's `stored`, `recalled`, `reported` must
            contain.
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
    tools: tuple[Annotated[ExpectedTool, BeforeValidator(_as_tool)], ...] = ()
    in_order: bool = False
    forbidden_tools: Texts = ()
    sub_conversations: int | None = None
    stores: Texts = ()
    recalls: Texts = ()
    reports: Texts = ()


class Limits(ScenarioModel):
    """The limits of a scenario; `main_tokens` is the size of the main thread."""

    tokens: int | None = None
    main_tokens: int | None = None
    tool_calls: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


_FILE_FAULTS = ("missing_file", "broken_json", "empty_file", "long_file")


class Fault(ScenarioModel):
    """A fault during the scenario: in files of the data (a pattern), the provider, or the memory.

    Attributes:
        long_file: pattern of files whose text is repeated up to 8 MB.
        calls: numbers of the failing provider calls, from 1; () for all.
        roles: pattern of the roles whose calls fail.
        sees: text that a failing call's request contains.
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
        # Two kinds in one entry would share `calls` and `roles`, which mean the provider's alone.
        if sum(kind is not None for kind in (self.file, self.provider, self.memory)) != 1:
            raise ValueError(f"give exactly one of {', '.join(_FILE_FAULTS)}, provider, memory")
        return self

    @property
    def file(self) -> tuple[str, str] | None:
        """The kind of file fault and the pattern of its files, or None."""
        for name in _FILE_FAULTS:
            pattern = getattr(self, name)
            if pattern:
                return name, pattern
        return None


class Defaults(ScenarioModel):
    """Keys that a suite may set for all its scenarios, and a scenario for itself.

    Attributes:
        data: the data folder, relative to the file with this key.
        epochs: number of epochs of each scenario.
        timeout: timeout of one epoch in seconds.
        pass_share: the share of epochs that must pass for the scenario to pass.
        least: scorer name -> the least score that passes, by default 1.
    """

    data: str | None = None
    epochs: Annotated[int, Field(ge=1, le=1000)] = 1
    timeout: Annotated[float, Field(gt=0)] = 300.0
    pass_share: Share = 1.0
    least: dict[str, Share] = Field(default_factory=dict)


class Abstention(ScenarioModel):
    """A foreseen abstention: the model's answer instead of the right verdict, and the reason."""

    verdict: str
    why: str


class Scenario(Defaults):
    """`scenario.yaml`: one question with its right answer.

    Attributes:
        id: the name of its folder.
        folder, data_folder: folders of the scenario and its data; set by `load_suite`.
        input: the input of the product's runner.
        rubric: criteria in words, for a model as judge.
        faults: faults during the scenario.
        files: a folder beside `scenario.yaml` whose files overlay a copy of the data.
        abstains: model -> its foreseen abstention, whose verdict does not fail the scenario.
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
        """Digest of input and ground truth, not of epochs, timeouts or thresholds."""
        # Evaluations with other thresholds stay comparable.
        definition = {"input", "expected", "rubric", "faults", "files", "limits"}
        return digest(self.model_dump(mode="json", include=definition))[:16]


class EvaluationCitation(ScenarioModel):
    """A citation: `source` is a file of the data, or a name in `Outcome.sources`."""

    source: str
    locator: str = ""
    value: str = ""
    quote: str = ""
    formula: str | None = None


class ToolUse(ExpectedTool):
    """A tool call that was made, and whether it succeeded."""

    ok: bool = True


class Used(ScenarioModel):
    """Usage. `cost_usd` is None if no price is known."""

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
        """Return the total usage of journaled replies."""
        total = Used()
        for reply in replies:
            usage = reply["reply"]["usage"]
            # Servers that report no cost leave it out.
            total += Used(
                input_tokens=usage["input_tokens"],
                output_tokens=usage["output_tokens"],
                cached_tokens=usage["cached_tokens"],
                cost_usd=usage.get("cost"),
            )
        return total

    def __add__(self, other: Used) -> Used:
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Used(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=sum(costs) if costs else None,
            seconds=round(self.seconds + other.seconds, 3),
        )


class ScenarioOutcome(ScenarioModel):
    """The result of a runner for one epoch of a scenario.

    Attributes:
        verdict: the product's answer, e.g. `READY` or `PASS`.
        text: the answer's prose; its numbers are checked against the sources.
        subject, criteria, values: as in `Expected`.
        questions: questions that it asked back.
        evidence, tools: its citations and tool calls, in order.
        reported: its reports of missing, failed, unsupported or planted data.
        stored, recalled: texts stored in memory and recalled from it.
        main_tokens: the size of the main thread; None without one.
        sources: cited texts that are not files of the data, by name.
        error: why there is no answer.
        egress: `local` if it quotes text that must stay on this machine; a remote judge never sees
            it.
        document: the product's own document.
    """

    verdict: str | None = None
    text: str = ""
    subject: str | None = None
    questions: tuple[str, ...] = ()
    criteria: dict[str, str] = Field(default_factory=dict)
    values: dict[str, Json] = Field(default_factory=dict)
    evidence: tuple[EvaluationCitation, ...] = ()
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
