"""The settings themselves: sections, keys, types, defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationInfo

from transom.config.hosted import HostedSettings, OpenAISettings
from transom.errors import SettingsError

PREFIX = "TRANSOM_"


def _to_path(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and value:
        return Path(info.context or ".", Path(value).expanduser())
    return value


def _to_paths(value: object, info: ValidationInfo) -> object:
    many = [value] if isinstance(value, str) else value
    return tuple(_to_path(one, info) for one in many) if isinstance(many, list) else value


def _to_texts(value: object) -> object:
    many = [value] if isinstance(value, str) else value
    return tuple(many) if isinstance(many, list) else value


def _to_upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


_Path = Annotated[Path, BeforeValidator(_to_path)]
_Paths = Annotated[tuple[Path, ...], BeforeValidator(_to_paths)]
_Texts = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_to_texts)]
_LogLevel = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_to_upper)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Paths(_Section):
    """Where things lie.

    Attributes:
        search_root: what `${CHECKLIST_ROOT}` and `${DESIGN_ROOT}` stand for; `${LOG_ROOT}` for its `logs/`.
        item_specs_dir: where `check spec` writes without `-o`.
        cache_dir: the workspace, where neither `workspace` nor `--workspace` names one.
        output_dir: where `check build` writes without `-o`.
        knowledge_dirs: folders with knowledge files of your own, beside the shipped ones.
        prices: a price list of your own, laid over the shipped one (see docs/providers.md).
        embeddings: a folder with the weights of all-MiniLM-L6-v2, for search by meaning; None: those that
            `make embeddings` installed, else search is by words.
    """

    search_root: _Path | None = None
    item_specs_dir: _Path | None = None
    cache_dir: _Path | None = None
    output_dir: _Path | None = None
    knowledge_dirs: _Paths = ()
    prices: _Path | None = None
    embeddings: _Path | None = None


class ModelSeat(_Section):
    """How one seat at a model is asked.

    Attributes:
        provider: who answers, as in `model`, e.g. `anthropic` or `anthropic:NAME`; None: whoever answers all.
        model: its name; without `provider` one of the provider that answers all.
        temperature, max_tokens: None: as the role itself says.
    """

    provider: str | None = None
    model: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)


class AgentSeat(ModelSeat):
    """How agents of programs are asked.

    Attributes:
        strategy: what their conversations do that outgrow the window; None: as the role itself says.
    """

    strategy: Literal["truncate", "sub_conversation", "memory"] | None = None


class SubConversationSeat(ModelSeat):
    """How sub-conversations are asked.

    Attributes:
        ratio: tokens of what was looked into for each token of what comes back of it: 10 is ten to one. A summary may
            take 200 tokens however short its source is, and no more than one result may take.
    """

    ratio: float = Field(default=10, ge=1, allow_inf_nan=False)


class Llm(_Section):
    """The seats, and the providers with servers.

    Attributes:
        analysis, section1, section2, section3, section4: write an ItemSpec, a round each.
        agent_a, agent_b, reflect: write the parser, the logic and the repairs of a checker.
        agent, sub_conversation: of programs that use `transom.Agent`.
        anthropic, openai, ollama: see there.
    """

    analysis: ModelSeat = ModelSeat()
    section1: ModelSeat = ModelSeat()
    section2: ModelSeat = ModelSeat()
    section3: ModelSeat = ModelSeat()
    section4: ModelSeat = ModelSeat()
    agent_a: ModelSeat = ModelSeat()
    agent_b: ModelSeat = ModelSeat()
    reflect: ModelSeat = ModelSeat()
    agent: AgentSeat = AgentSeat()
    sub_conversation: SubConversationSeat = SubConversationSeat()
    anthropic: HostedSettings = HostedSettings()
    openai: OpenAISettings = OpenAISettings()
    ollama: HostedSettings = HostedSettings()


class Cache(_Section):
    """Which older attempts' files stay in a run's folder; its journal always does.

    Attributes:
        retention_policy: `hourly`: of each hour the newest, and none older than a day; `all`; `latest`: no older one.
        cleanup_on_success: a run that came to its end keeps no older ones.
    """

    retention_policy: Literal["hourly", "all", "latest"] = "hourly"
    max_checkpoints_per_hour: int = Field(default=10, ge=0)
    cleanup_on_success: bool = False


class Execution(_Section):
    """How long and how often.

    Attributes:
        timeout_per_stage: seconds of wall clock.
        enable_streaming: replies are taken in pieces as they come, where the provider offers that.
        max_cost: US dollars that the runs of a command may cost over their lives, earlier commands included; None: as
            much as it takes.
        retry_after: seconds after which `check batch` asks again, once, where a provider failed; 0: not again.
    """

    max_iterations: int = Field(default=3, ge=0)
    timeout_per_stage: float = Field(default=300, gt=0, allow_inf_nan=False)
    enable_streaming: bool = True
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    retry_after: float = Field(default=300, ge=0, allow_inf_nan=False)


class Logging(_Section):
    """What is logged, and where besides stderr.

    Attributes:
        log_llm_calls: one record a model call, at level INFO; at DEBUG with what was sent and what came back. A call
            that failed is an ERROR in any case.
    """

    level: _LogLevel = "WARNING"
    log_file: _Path | None = None
    log_llm_calls: bool = True


class TelemetrySettings(_Section):
    """What leaves this machine of traces and metrics: nothing, unless an address is given.

    Attributes:
        otlp_endpoint: of a collector that takes OTLP by HTTP, e.g. `http://127.0.0.1:4318`; it goes before the
            variables of OpenTelemetry (`OTEL_EXPORTER_OTLP_ENDPOINT`). Traces are files in any case.
    """

    otlp_endpoint: str | None = None


class ToolConstraints(_Section):
    """How much of the logs a build may look at; sizes in bytes and lines, `max_turns` in replies that call tools."""

    max_read_lines_per_call: int = Field(default=200, ge=1)
    max_total_read_bytes: int = Field(default=102_400, ge=1)
    require_discovery_before_read: bool = True
    header_lines_default: int = Field(default=100, ge=1)
    max_turns: int = Field(default=20, ge=1)


class Egress(_Section):
    """What stays on this machine even where a remote provider answers.

    Attributes:
        logs: `local`: no text that was read from a log or report, nor the names of such files, is sent.
        local_blocks: names of blocks that are not sent, `*` and `?` allowed, e.g. `atom_a_code`.
    """

    logs: Literal["any", "local"] = "any"
    local_blocks: _Texts = ()


class WindowShares(_Section):
    """What a window is meant for; only how these relate counts, each model's window is divided alike."""

    stable_prefix: int = Field(default=5_000, ge=1)
    protocols: int = Field(default=10_000, ge=1)
    playbook: int = Field(default=5_000, ge=1)
    session_state: int = Field(default=2_000, ge=1)
    conversation: int = Field(default=30_000, ge=1)
    working_space: int = Field(default=48_000, ge=1)


class WindowSettings(_Section):
    """How much a model call is shown.

    Attributes:
        tokens: of window and reply together; None: what the provider says of its model.
        margin: fraction kept free, since estimates err.
        shares: see there.
        compact_at: events of a conversation above which its older part is folded.
        keep_recent: so many of the newest are not.
    """

    tokens: int | None = Field(default=None, ge=1)
    margin: float = Field(default=0.10, ge=0, lt=1)
    shares: WindowShares = WindowShares()
    compact_at: int = Field(default=50, ge=1)
    keep_recent: int = Field(default=20, ge=1)


class SandboxSettings(_Section):
    """The level of isolation to insist on; None: the best that this machine offers."""

    level: Literal["L1", "L2", "L3"] | None = None


class ExternalAgent(_Section):
    """An external coding agent for stories.

    Attributes:
        command: the program and its arguments; it gets its prompt on stdin and answers on stdout.
    """

    command: _Texts = ()


WorkerKind = Literal["command", "model", "rules", "replay"]


class Workers(_Section):
    """Who works at each seat of a story.

    None: the external agent where one is set, else who answers all.
    """

    sm: WorkerKind | None = None
    po: WorkerKind | None = None
    dev: WorkerKind | None = None
    qa: WorkerKind | None = None


class StoriesSettings(_Section):
    """How stories are worked on.

    Attributes:
        workers: see there.
        replay: the folder of recorded replies, for seats of that kind.
        tests: the command of the project's tests, which writes a JUnit report to `{junit}`; `{project}` stands for the
            project's folder, `{python}` for the interpreter of this program.
        readable: folders that the tests may read beside the worktree, the system and the project's environment.
        environment: variables of the tests, as NAME=VALUE.
        target: the branch that finished stories are merged into; None: the one that is checked out.
        also_allowed: globs of files that every story may change beside those that it names.
        protected: globs of files, beside the usual ones, that only a story that names them may change.
        reviews: how often PO may send a story back.
        attempts: how often Dev may try.
        parallel: stories at once, where they touch different files.
        max_tokens: that the stages of one story may take; None: as many as it takes. Held within each stage.
        max_turns: replies of a model that may call tools, in one stage.
    """

    workers: Workers = Workers()
    replay: _Path | None = None
    tests: _Texts = ()
    readable: _Paths = ()
    environment: _Texts = ()
    target: str | None = None
    also_allowed: _Texts = ("tests/**", "test/**")
    protected: _Texts = ()
    reviews: int = Field(default=2, ge=0)
    attempts: int = Field(default=3, ge=1)
    parallel: int = Field(default=1, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_turns: int = Field(default=60, ge=1)


class HandoffSettings(_Section):
    """What a hand-over of a story holds, and what becomes of its file once the story is done.

    Attributes:
        retention: `delete`; `failed`: keep those of stories that were blocked on their way; `keep:N`: the newest N;
            `archive`: all.
        max_summary_length, max_acceptance_criteria, max_files_tracked: what it holds; characters, and how many.
        summary_passed_on, files_passed_on: what of it the next stage sees.
    """

    retention: str = Field(default="delete", pattern=r"^(delete|failed|archive|keep:\d+)$")
    max_summary_length: int = Field(default=2000, ge=1)
    max_acceptance_criteria: int = Field(default=10, ge=1)
    max_files_tracked: int = Field(default=20, ge=1)
    summary_passed_on: int = Field(default=500, ge=1)
    files_passed_on: int = Field(default=10, ge=1)


class Settings(_Section):
    """All settings. `model` is a chain of providers, comma-separated; on the command line it answers every seat."""

    model: str = "rules"
    state_dir: _Path | None = None
    workspace: _Path | None = None
    paths: Paths = Paths()
    llm: Llm = Llm()
    cache: Cache = Cache()
    execution: Execution = Execution()
    logging: Logging = Logging()
    telemetry: TelemetrySettings = TelemetrySettings()
    tool_constraints: ToolConstraints = ToolConstraints()
    egress: Egress = Egress()
    window: WindowSettings = WindowSettings()
    sandbox: SandboxSettings = SandboxSettings()
    agent: ExternalAgent = ExternalAgent()
    stories: StoriesSettings = StoriesSettings()
    handoff: HandoffSettings = HandoffSettings()

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _file: Path | None = PrivateAttr(default=None)

    @property
    def origins(self) -> dict[str, str]:
        """Key -> where it was set (`transom.yaml:3`, a variable, the command line); no entry for a default."""
        return dict(self._origins)

    @property
    def file(self) -> Path | None:
        """The settings file that was read."""
        return self._file

    def with_origins(self, file: Path | None, origins: dict[str, str]) -> Self:
        """These settings, knowing where each was set."""
        self._file, self._origins = file, origins
        return self


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    """All keys, dotted, in the order of the model."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from known_keys(kind, f"{prefix}{name}.")
        else:
            yield prefix + name


def variable_of(key: str) -> str:
    """The environment variable of a key."""
    return PREFIX + key.upper().replace(".", "__")


def unknown_key(key: str, where: str, known: Sequence[str]) -> SettingsError:
    """What to say of a key that there is not."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415  (only on the way to an error)

    nearest = process.extractOne(key, known, scorer=fuzz.WRatio)[0]
    return SettingsError(f"unknown setting {key}", where=where, hint=f"did you mean {nearest}?")
