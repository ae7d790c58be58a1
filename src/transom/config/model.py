"""The settings model: sections, keys, types, defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationInfo

from transom.config.hosted import HostedSettings, OpenAISettings, Retry
from transom.errors import SettingsError

PREFIX = "TRANSOM_"


def _to_path(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and value:
        # The context is the folder of the setting's source; see `load`.
        return Path(info.context or ".", Path(value).expanduser())
    return value


def _to_paths(value: object, info: ValidationInfo) -> object:
    # A single path may be written without the brackets of a list.
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        return value
    return tuple(_to_path(entry, info) for entry in values)


def _to_texts(value: object) -> object:
    values = [value] if isinstance(value, str) else value
    return tuple(values) if isinstance(values, list) else value


def _to_upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


_Path = Annotated[Path, BeforeValidator(_to_path)]
_Paths = Annotated[tuple[Path, ...], BeforeValidator(_to_paths)]
_Texts = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_to_texts)]
# `logging` has its levels in capitals; people write `level: info`.
_LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(_to_upper)
]


class _Section(BaseModel):
    # Strict, since `max_cost: "5"` is more likely a mistake than a number. Most commands use few
    # sections, so each is built at its first use.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Paths(_Section):
    """Paths of files and folders.

    Attributes:
        search_root: value of `${CHECKLIST_ROOT}` and `${DESIGN_ROOT}`; `${LOG_ROOT}` is its
            `logs/`.
        item_specs_dir: output folder of `check spec` without `-o`; `check build NAME` looks here.
        cache_dir: the workspace, if neither `workspace` nor `--workspace` is given.
        output_dir: output folder of `check build` without `-o`.
        prompts_dir: a folder with prompts of your own for `check`, including the template of the
            ItemSpec: its files replace shipped ones of the same name.
        artifacts: where runs keep their files: `files`: in the workspace, which all machines share;
            `database`: in the database, too, from where a machine that lacks them fetches them.
        prices: your own price list, which overrides the shipped one (see docs/providers.md).
        embeddings: a folder with the weights of all-MiniLM-L6-v2, for search by meaning; None: the
            weights from `make embeddings`, else search by words only.
    """

    search_root: _Path | None = None
    item_specs_dir: _Path | None = None
    cache_dir: _Path | None = None
    output_dir: _Path | None = None
    prompts_dir: _Path | None = None
    artifacts: Literal["files", "database"] = "files"
    prices: _Path | None = None
    embeddings: _Path | None = None


class ModelSeat(_Section):
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


class Llm(_Section):
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


class Cache(_Section):
    """Files of older attempts to keep in a run's folder; its journal is always kept.

    Attributes:
        retention_policy: `hourly`: the newest of each hour, none older than a day; `all`; `latest`:
            only the newest.
        cleanup_on_success: whether a completed run drops files of older attempts.
    """

    retention_policy: Literal["hourly", "all", "latest"] = "hourly"
    max_checkpoints_per_hour: int = Field(default=10, ge=0)
    cleanup_on_success: bool = False


class Execution(_Section):
    """Limits of time, iterations and cost.

    Attributes:
        timeout_per_stage: timeout in seconds of wall time.
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


class Logging(_Section):
    """Log level and log file; the log always goes to stderr too.

    Attributes:
        log_llm_calls: whether each model call is logged, at INFO; at DEBUG with request and reply.
            A failed call is always an ERROR.
    """

    level: _LogLevel = "WARNING"
    log_file: _Path | None = None
    log_llm_calls: bool = True


Notice = Literal["waiting", "finished", "failed"]
"""What became of a run when its command left it."""


class NotifySettings(_Section):
    """A program or an address that receives a notice of a result.

    Attributes:
        command: a program and its arguments; it gets the notice as JSON on its stdin.
        url: an address that the same JSON is posted to.
    """

    command: _Texts = ()
    url: str | None = None


class RunNotices(NotifySettings):
    """A program or an address that receives a notice when a command leaves a run.

    Attributes:
        command: a program and its arguments; it gets the notice as JSON on its stdin.
        url: an address that the same JSON is posted to.
        events: the events that are reported: `waiting`: the run needs a person or a model;
            `finished`; `failed`: an error ended the command.
    """

    events: Annotated[tuple[Notice, ...], BeforeValidator(_to_texts)] = (
        "waiting",
        "finished",
        "failed",
    )


class ServeSettings(_Section):
    """`transom serve`.

    Attributes:
        user_header: header in which the proxy of `--behind-proxy` names who is signed in, e.g.
            `X-Forwarded-User`; that name is then written beside answers, and nobody types one.
    """

    user_header: str = Field(default="", pattern=r"^[A-Za-z0-9-]*$")


class TelemetrySettings(_Section):
    """Export of traces and metrics; off without an endpoint.

    Attributes:
        otlp_endpoint: URL of a collector for OTLP over HTTP, e.g. `http://127.0.0.1:4318`; it takes
            precedence over OpenTelemetry's variables (`OTEL_EXPORTER_OTLP_ENDPOINT`). Traces are
            always written to files too.
    """

    otlp_endpoint: str | None = None


class ToolConstraints(_Section):
    """Limits of a build's access to logs: sizes in bytes and lines, `max_turns` in replies that
    call tools.
    """

    max_read_lines_per_call: int = Field(default=200, ge=1)
    max_total_read_bytes: int = Field(default=102_400, ge=1)
    require_discovery_before_read: bool = True
    header_lines_default: int = Field(default=100, ge=1)
    max_turns: int = Field(default=20, ge=1)


class Egress(_Section):
    """Data that must not be sent to remote providers.

    Attributes:
        logs: `local`: texts of logs and reports, and the names of these files, are not sent.
        local_blocks: names of blocks that are not sent, `*` and `?` allowed, e.g. `atom_a_code`.
    """

    logs: Literal["any", "local"] = "any"
    local_blocks: _Texts = ()


class WindowShares(_Section):
    """Shares of a window; only their ratios count, so every model's window is divided alike."""

    stable_prefix: int = Field(default=5_000, ge=1)
    protocols: int = Field(default=10_000, ge=1)
    playbook: int = Field(default=5_000, ge=1)
    session_state: int = Field(default=2_000, ge=1)
    conversation: int = Field(default=30_000, ge=1)
    working_space: int = Field(default=48_000, ge=1)


class WindowSettings(_Section):
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


class SandboxSettings(_Section):
    """The required level of isolation; None: the best of this machine."""

    level: Literal["L1", "L2", "L3"] | None = None


AgentKind = Literal["claude", "codex", "gemini", "aider", "opencode", "plain"]


class AgentSandbox(_Section):
    """The sandbox of an external coding agent, by bubblewrap.

    The agent writes to the story's worktree alone; your home is empty but for the paths named here.

    Attributes:
        readable: further paths that it may read, such as its program's own folder.
        writable: further paths that it may change, such as the folder with its login.
        network: whether it may use the network.
    """

    readable: _Paths = ()
    writable: _Paths = ()
    network: bool = True


class ExternalAgent(_Section):
    """An external coding agent for stories.

    Attributes:
        kind: the tool; it gives the command if none is set.
        command: the program and its arguments; the prompt comes on its stdin, the reply on its
            stdout.
        output: form of its stdout; None: recognised by its fields.
        timeout: limit of one call in seconds; None: `execution.timeout_per_stage` if that is set,
            else an hour.
        env: variables of the agent beside yours, as NAME=VALUE.
        sandbox: see `AgentSandbox`; None: the agent has your rights.
    """

    kind: AgentKind = "plain"
    command: _Texts = ()
    output: Literal["text", "json", "jsonl"] | None = None
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    env: _Texts = ()
    sandbox: AgentSandbox | None = None


WorkerKind = str
"""`command`, `model`, `rules`, `replay`, or the name of one of `agents`."""


class Workers(_Section):
    """The kind of worker for each seat of a story.

    None: the external agent if one is set, else the provider in `model`. `command` is the agent in
    `agent`; another word is the name of one of `agents`.
    """

    sm: WorkerKind | None = None
    po: WorkerKind | None = None
    dev: WorkerKind | None = None
    qa: WorkerKind | None = None


class SetupSettings(_Section):
    """Installation of the packages that a project's tests need.

    Attributes:
        command: run in the worktree before the tests, with network, once for each state of the lock
            files; empty: nothing is installed.
        locks: globs of the files that decide what is installed.
        timeout: seconds that it may take.
    """

    command: _Texts = ()
    locks: _Texts = ("*.lock", "*-lock.*", "*.lockb", "go.sum", "requirements*.txt")
    timeout: float = Field(default=900, gt=0)


class StoriesSettings(_Section):
    """Settings of stories.

    Attributes:
        workers: see `Workers`.
        replay: the folder of recorded replies, for seats of kind `replay`.
        tests: the command of the project's tests. It writes a JUnit report to `{junit}`; without
            that word, its output is read. `{project}` is the project's folder, `{python}` the
            interpreter of this program.
        readable: folders that the tests may read beside the worktree, the system and the project's
            environment.
        environment: variables of the tests, as NAME=VALUE.
        setup: see `SetupSettings`.
        target: the branch that finished stories are merged into; None: the checked-out branch.
        finish: what becomes of finished stories: `merge`; `branch`: they are merged into a branch
            of the epic; `pull-request`: that branch is pushed too, and a request is opened for it.
        review: whether a person looks at each story's diff before it is merged.
        notify: who is told how an epic ended, see `NotifySettings`.
        also_allowed: globs of files that every story may change beside its own.
        protected: globs of further files that a story must name to change them.
        least_quality: the score, from 0 to 1, below which a person is asked about Dev's summary:
            the mean of criteria named, changed files named, and no false claim of tests. 0: never.
        reviews: number of times that PO may send a story back.
        attempts: number of Dev's attempts.
        parallel: number of stories at once, if they touch different files.
        max_tokens: token limit of one story, enforced within each stage too; None: no limit.
        max_turns: limit of a model's replies that call tools, in one stage.
    """

    workers: Workers = Workers()
    replay: _Path | None = None
    tests: _Texts = ()
    readable: _Paths = ()
    environment: _Texts = ()
    setup: SetupSettings = SetupSettings()
    target: str | None = None
    finish: Literal["merge", "branch", "pull-request"] = "merge"
    review: bool = False
    notify: NotifySettings = NotifySettings()
    also_allowed: _Texts = ("tests/**", "test/**")
    protected: _Texts = ()
    least_quality: float = Field(default=0.0, ge=0.0, le=1.0)
    reviews: int = Field(default=2, ge=0)
    attempts: int = Field(default=3, ge=1)
    parallel: int = Field(default=1, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_turns: int = Field(default=60, ge=1)


class HandoffSettings(_Section):
    """Limits of a story's hand-over, and retention of its file.

    Attributes:
        retention: for finished stories: `delete`; `failed`: keep if the story was blocked on its
            way; `keep:N`: keep the newest N; `archive`: keep all.
        max_summary_length, max_acceptance_criteria, max_files_tracked: limits of summaries in
            characters, of criteria and files in numbers.
        summary_passed_on, files_passed_on: limits for the next stage, of the summary in characters
            and of the files.
    """

    retention: str = Field(default="delete", pattern=r"^(delete|failed|archive|keep:\d+)$")
    max_summary_length: int = Field(default=2000, ge=1)
    max_acceptance_criteria: int = Field(default=10, ge=1)
    max_files_tracked: int = Field(default=20, ge=1)
    summary_passed_on: int = Field(default=500, ge=1)
    files_passed_on: int = Field(default=10, ge=1)


class Settings(_Section):
    """All settings.

    Attributes:
        model: the provider that answers, or a comma-separated chain of them; `--model` on the
            command line applies to every role.
        state_dir: local folder for the database and the locks, if the workspace is on a network
            file system.
        store: address of a PostgreSQL database that keeps what the workspace's SQLite file keeps
            otherwise: `postgresql://USER@HOST:PORT/DATABASE`.
        durability: what survives a power cut: `standard`: each reply of a model and each file of a
            stage; `full`: every write, since each one is synced to the disk.
        workspace: folder of runs, journals and results; `--workspace` takes precedence.
    """

    model: str = "rules"
    state_dir: _Path | None = None
    store: str | None = Field(default=None, pattern=r"^postgres(ql)?://")
    durability: Literal["standard", "full"] = "standard"
    workspace: _Path | None = None
    paths: Paths = Paths()
    llm: Llm = Llm()
    cache: Cache = Cache()
    execution: Execution = Execution()
    logging: Logging = Logging()
    notify: RunNotices = RunNotices()
    serve: ServeSettings = ServeSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    tool_constraints: ToolConstraints = ToolConstraints()
    egress: Egress = Egress()
    window: WindowSettings = WindowSettings()
    sandbox: SandboxSettings = SandboxSettings()
    agent: ExternalAgent = ExternalAgent()
    agents: dict[str, ExternalAgent] = Field(default_factory=dict)
    stories: StoriesSettings = StoriesSettings()
    handoff: HandoffSettings = HandoffSettings()

    # Private, so that they are not settings themselves. They may be set in spite of `frozen`.
    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _file: Path | None = PrivateAttr(default=None)

    @property
    def origins(self) -> dict[str, str]:
        """Return key -> source (`transom.yaml:3`, a variable, the command line); defaults have no
        entry.
        """
        # A copy: the origins of frozen settings must not change.
        return dict(self._origins)

    @property
    def file(self) -> Path | None:
        """Return the settings file that was read, or None."""
        return self._file

    def with_origins(self, file: Path | None, origins: dict[str, str]) -> Self:
        """Record the sources of these settings, and return them."""
        self._file = file
        self._origins = origins
        return self


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    """Yield all keys, dotted, in the order of the model."""
    for name, field in model.model_fields.items():
        # A dictionary of sections (`agents`) is one key: its names are the user's.
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from known_keys(kind, f"{prefix}{name}.")
        else:
            yield prefix + name


def variable_of(key: str) -> str:
    """Return the environment variable of a key."""
    return PREFIX + key.upper().replace(".", "__")


def unknown_key(key: str, place: str, keys: Sequence[str]) -> SettingsError:
    """Return the error for an unknown key, with the nearest one of `keys` as its hint."""
    # Imported here, since only an error needs it.
    from rapidfuzz import fuzz, process  # noqa: PLC0415

    nearest = process.extractOne(key, keys, scorer=fuzz.WRatio)[0]
    return SettingsError(f"unknown setting {key}", place=place, hint=f"did you mean {nearest}?")
