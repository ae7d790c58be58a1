"""Sections of the settings for every command: paths, models, limits, logs, windows, the sandbox."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from transom.config.hosted import HostedSettings, OpenAISettings, Retry
from transom.config.section import LogLevel, PathValue, SettingsSection, TextValues, to_texts


class Paths(SettingsSection):
    """Paths of files and folders.

    Attributes:
        search_root: value of `${CHECKLIST_ROOT}` and `${DESIGN_ROOT}`; `${LOG_ROOT}` is its
            `logs/`.
        item_specs_dir: output folder of `check spec` without `-o`; `check build NAME` looks here.
        cache_dir: the workspace, if neither `workspace` nor `--workspace` is given.
        output_dir: output folder of `check build` without `-o`.
        prompts_dir: a folder with prompts of your own for `check`, including the template of the
            ItemSpec: its files replace shipped ones of the same name; `transom init --prompts`
            writes those.
        artifacts: where runs keep their files: `files`: in the workspace, which all machines share;
            `database`: in the database, too, from where a machine that lacks them fetches them.
        prices: your own price list, which overrides the shipped one (see docs/providers.md).
        embeddings: a folder with the weights of all-MiniLM-L6-v2, for search by meaning; None: the
            weights from `make embeddings`, else search by words only.
    """

    search_root: PathValue | None = None
    item_specs_dir: PathValue | None = None
    cache_dir: PathValue | None = None
    output_dir: PathValue | None = None
    prompts_dir: PathValue | None = None
    artifacts: Literal["files", "database"] = "files"
    prices: PathValue | None = None
    embeddings: PathValue | None = None


class ModelSeat(SettingsSection):
    """Settings of one role's model.

    Attributes:
        provider: the provider, as in `model`, e.g. `anthropic` or `anthropic:NAME`; None for that
            of `model`.
        model: the model's name; without `provider` a model of the provider in `model`.
        temperature, max_tokens: None for the role's own values.
    """

    provider: str | None = None
    model: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)


class AgentSeat(ModelSeat):
    """Settings of programs' agents.

    Attributes:
        strategy: strategy for conversations that outgrow the window; None: the role's own.
    """

    strategy: Literal["truncate", "sub_conversation", "memory"] | None = None


class SubConversationSeat(ModelSeat):
    """Settings of sub-conversations.

    Attributes:
        ratio: tokens of the source per token of the summary: 10 is ten to one. A summary may always
            take 200 tokens, and never more than one tool result may take.
    """

    ratio: float = Field(default=10, ge=1, allow_inf_nan=False)


class Llm(SettingsSection):
    """The roles' models, and the providers with servers.

    Attributes:
        analysis, section1, section2, section3, section4: the rounds that write an ItemSpec.
        agent_a, agent_b, reflect: write the parser, the logic and the repairs of a checker.
        agent, sub_conversation: agents of programs that use `transom.Agent`.
        anthropic, openai, ollama: see `HostedSettings`, `OpenAISettings`.
        retry: attempts and delays of a provider of your own, see `Retry`.
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
    retry: Retry = Retry()


class Cache(SettingsSection):
    """Files of older attempts to keep in a run's folder; its journal is always kept.

    Attributes:
        retention_policy: `hourly`: the newest of each hour, none older than a day; `all`; `latest`:
            only the newest.
        cleanup_on_success: whether a completed run drops files of older attempts.
    """

    retention_policy: Literal["hourly", "all", "latest"] = "hourly"
    max_checkpoints_per_hour: int = Field(default=10, ge=0)
    cleanup_on_success: bool = False


class Execution(SettingsSection):
    """Limits of time, iterations and cost.

    Attributes:
        timeout_per_stage: timeout in seconds of wall time. A call that blocks the event loop, such
            as `time.sleep` in the `complete` of an own provider, cannot be interrupted: the limit
            is noticed when it returns.
        enable_streaming: whether replies are streamed, if the provider supports it.
        max_cost: limit in US dollars for a command's runs in total, earlier commands on them
            included; None: no limit.
        retry_after: seconds after which `check batch` retries a failed provider, once; 0: no retry.
        parallel_rounds: whether sections 2 and 3 of an ItemSpec are drafted while section 1 is
            written; a draft that does not fit the sections before it is written again.
    """

    max_iterations: int = Field(default=3, ge=0)
    timeout_per_stage: float = Field(default=300, gt=0, allow_inf_nan=False)
    enable_streaming: bool = True
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    retry_after: float = Field(default=300, ge=0, allow_inf_nan=False)
    parallel_rounds: bool = False


class Logging(SettingsSection):
    """Log level and log file. With a file, stderr shows warnings alone; `-v` and `-vv` show more.

    Attributes:
        log_llm_calls: whether each model call is logged, at INFO; at DEBUG with request and reply.
            A failed call is always an ERROR.
    """

    level: LogLevel = "WARNING"
    log_file: PathValue | None = None
    log_llm_calls: bool = True


Notice = Literal["waiting", "finished", "failed"]
"""What became of a run when its command left it."""


class NotifySettings(SettingsSection):
    """A program or an address that receives a notice of a result.

    Attributes:
        command: a program and its arguments; it gets the notice as JSON on its stdin.
        url: an address that the same JSON is posted to.
    """

    command: TextValues = ()
    url: str | None = None


class RunNotices(NotifySettings):
    """A program or an address that receives a notice when a command leaves a run.

    Attributes:
        command: a program and its arguments; it gets the notice as JSON on its stdin.
        url: an address that the same JSON is posted to.
        events: the events that are reported: `waiting`: the run needs a person or a model;
            `finished`; `failed`: an error ended the command.
    """

    events: Annotated[tuple[Notice, ...], BeforeValidator(to_texts)] = (
        "waiting",
        "finished",
        "failed",
    )


class ServeSettings(SettingsSection):
    """`transom serve`.

    Attributes:
        user_header: header in which the proxy of `--behind-proxy` names who is signed in, e.g.
            `X-Forwarded-User`; that name is then written beside answers, and nobody types one.
    """

    user_header: str = Field(default="", pattern=r"^[A-Za-z0-9-]*$")


class TelemetrySettings(SettingsSection):
    """Export of traces and metrics; off without an endpoint.

    Attributes:
        otlp_endpoint: URL of a collector for OTLP over HTTP, e.g. `http://127.0.0.1:4318`; it takes
            precedence over OpenTelemetry's variables (`OTEL_EXPORTER_OTLP_ENDPOINT`). Traces are
            always written to files too.
    """

    otlp_endpoint: str | None = None


class ToolConstraints(SettingsSection):
    """Limits of a build's access to logs: sizes in bytes and lines, `max_turns` in replies that
    call tools.
    """

    max_read_lines_per_call: int = Field(default=200, ge=1)
    max_total_read_bytes: int = Field(default=102_400, ge=1)
    require_discovery_before_read: bool = True
    header_lines_default: int = Field(default=100, ge=1)
    max_turns: int = Field(default=20, ge=1)


class Egress(SettingsSection):
    """Data that must not be sent to remote providers.

    Attributes:
        logs: `local`: texts of logs and reports, and the names of these files, are not sent.
        local_blocks: names of blocks that are not sent, `*` and `?` allowed, e.g. `atom_a_code`.
    """

    logs: Literal["any", "local"] = "any"
    local_blocks: TextValues = ()


class WindowShares(SettingsSection):
    """Shares of a window; only their ratios count, so every model's window is divided alike."""

    stable_prefix: int = Field(default=5_000, ge=1)
    protocols: int = Field(default=10_000, ge=1)
    playbook: int = Field(default=5_000, ge=1)
    session_state: int = Field(default=2_000, ge=1)
    conversation: int = Field(default=30_000, ge=1)
    working_space: int = Field(default=48_000, ge=1)


class WindowSettings(SettingsSection):
    """Size and division of a model's window.

    Attributes:
        tokens: size of window plus reply; None: the provider's value for its model.
        margin: fraction kept free, since token counts are estimates.
        shares: see `WindowShares`.
        compact_at: number of events above which a conversation's older part is folded.
        keep_recent: number of the newest events that are never folded.
    """

    tokens: int | None = Field(default=None, ge=1)
    margin: float = Field(default=0.10, ge=0, lt=1)
    shares: WindowShares = WindowShares()
    compact_at: int = Field(default=50, ge=1)
    keep_recent: int = Field(default=20, ge=1)


class SandboxSettings(SettingsSection):
    """The required level of isolation; None: the best of this machine."""

    level: Literal["L1", "L2", "L3"] | None = None
