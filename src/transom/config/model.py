"""The settings model: all sections together, and the keys that they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, PrivateAttr

from transom.config.runtime_sections import (
    Cache,
    Egress,
    Execution,
    Llm,
    Logging,
    Paths,
    RunNotices,
    SandboxSettings,
    ServeSettings,
    TelemetrySettings,
    ToolConstraints,
    WindowSettings,
)
from transom.config.section import PathValue, SettingsSection
from transom.config.story_sections import ExternalAgent, HandoffSettings, StoriesSettings
from transom.errors import SettingsError

PREFIX = "TRANSOM_"


class Settings(SettingsSection):
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
    state_dir: PathValue | None = None
    store: str | None = Field(default=None, pattern=r"^postgres(ql)?://")
    durability: Literal["standard", "full"] = "standard"
    workspace: PathValue | None = None
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
