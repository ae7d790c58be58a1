"""One settings model, and where its values come from: command line > environment > file > defaults.

Every setting has a key (`execution.max_iterations`) and an environment variable (`TRANSOM_EXECUTION__MAX_ITERATIONS`).
A relative path in a file is meant from the project's folder, the one that holds `transom.yaml` or `config/`; anywhere
else from the folder of the command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, ValidationInfo

from transom.errors import SettingsError

__all__ = ["FILE_NAMES", "NOT_YET", "Settings", "find_settings_file", "known_keys", "load_settings", "variable_of"]

FILE_NAMES = ("transom.yaml", "config/agent_config.yaml")
PREFIX = "TRANSOM_"
RESERVED = frozenset({"TRANSOM_FAILPOINT"})
"""Variables of that prefix that are no settings."""

_MOST_BYTES = 1 << 20


def _to_path(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and value:
        return Path(info.context or ".", Path(value).expanduser())
    return value


def _to_paths(value: object, info: ValidationInfo) -> object:
    many = [value] if isinstance(value, str) else value
    return tuple(_to_path(one, info) for one in many) if isinstance(many, list) else value


def _to_upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


_Path = Annotated[Path, BeforeValidator(_to_path)]
_Paths = Annotated[tuple[Path, ...], BeforeValidator(_to_paths)]
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
    """

    search_root: _Path | None = None
    item_specs_dir: _Path | None = None
    cache_dir: _Path | None = None
    output_dir: _Path | None = None
    knowledge_dirs: _Paths = ()


class ModelSeat(_Section):
    """How one seat at a model is asked. None: as the role itself says."""

    provider: str | None = None
    model: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)


class Llm(_Section):
    """The seats: agent_a writes the parser, agent_b the logic, reflect the repairs."""

    agent_a: ModelSeat = ModelSeat()
    agent_b: ModelSeat = ModelSeat()
    reflect: ModelSeat = ModelSeat()


class Cache(_Section):
    """Which older attempts' files stay."""

    retention_policy: str = "hourly"
    max_checkpoints_per_hour: int = Field(default=10, ge=0)
    cleanup_on_success: bool = False


class Execution(_Section):
    """How long and how often; `timeout_per_stage` in seconds of wall clock."""

    max_iterations: int = Field(default=3, ge=0)
    timeout_per_stage: float = Field(default=300, gt=0, allow_inf_nan=False)
    enable_streaming: bool = True


class Logging(_Section):
    """What is logged, and where besides stderr."""

    level: _LogLevel = "WARNING"
    log_file: _Path | None = None
    log_llm_calls: bool = True


class ToolConstraints(_Section):
    """How much of the logs a build may look at; sizes in bytes and lines, `max_turns` in replies that call tools."""

    max_read_lines_per_call: int = Field(default=200, ge=1)
    max_total_read_bytes: int = Field(default=102_400, ge=1)
    require_discovery_before_read: bool = True
    header_lines_default: int = Field(default=100, ge=1)
    max_turns: int = Field(default=20, ge=1)


class SandboxSettings(_Section):
    """The level of isolation to insist on; None: the best that this machine offers."""

    level: Literal["L1", "L2", "L3"] | None = None


class Settings(_Section):
    """All settings. `model` is a chain of providers, comma-separated."""

    model: str = "rules"
    state_dir: _Path | None = None
    workspace: _Path | None = None
    paths: Paths = Paths()
    llm: Llm = Llm()
    cache: Cache = Cache()
    execution: Execution = Execution()
    logging: Logging = Logging()
    tool_constraints: ToolConstraints = ToolConstraints()
    sandbox: SandboxSettings = SandboxSettings()

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

    def _with_origins(self, file: Path | None, origins: dict[str, str]) -> Self:
        self._file, self._origins = file, origins
        return self


_SEATS = ("agent_a", "agent_b", "reflect")
_LATER_MODEL = "the models that it would choose from come later; `model` and --model decide"
_LATER_REPAIR = "automatic repair comes later"
_LATER_CLEANUP = "clean-up of older attempts comes later; everything is kept"

NOT_YET: dict[str, str] = {
    **{f"llm.{seat}.{name}": _LATER_MODEL for seat in _SEATS for name in ("provider", "model")},
    "llm.reflect.temperature": _LATER_REPAIR,
    "llm.reflect.max_tokens": _LATER_REPAIR,
    "cache.retention_policy": _LATER_CLEANUP,
    "cache.max_checkpoints_per_hour": _LATER_CLEANUP,
    "cache.cleanup_on_success": _LATER_CLEANUP,
    "execution.max_iterations": _LATER_REPAIR,
    "execution.enable_streaming": "the providers of this version answer in one piece",
    "logging.log_llm_calls": "every call is kept in the journal, see `transom window show`",
    "tool_constraints.max_read_lines_per_call": "reading tools for models come later",
    "tool_constraints.require_discovery_before_read": "reading tools for models come later",
    "tool_constraints.max_turns": "reading tools for models come later",
}
"""Keys that are accepted and have no effect yet, each with one clause that says why."""


@dataclass(frozen=True)
class _Given:
    """A value as it was given, where, and the folder that a relative path in it is meant from."""

    value: object
    where: str
    base: Path


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


def find_settings_file(start: Path) -> Path | None:
    """The nearest settings file from `start` upwards; in one folder `transom.yaml` comes first."""
    for folder in (start, *start.parents):
        for name in FILE_NAMES:
            if (folder / name).exists():
                return folder / name
    return None


def load_settings(
    start: Path | None = None,
    *,
    file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    command_line: Mapping[str, object] | None = None,
) -> Settings:
    """Gather the settings.

    Args:
        start: the folder of the command; the current one where None.
        file: this file instead of the one found from `start` upwards.
        environ: where `TRANSOM_` variables are looked up.
        command_line: key -> value of options that were given.

    Raises:
        SettingsError: an unknown key (naming the nearest), a wrong type or value, a file that cannot be read.
    """
    start = (start or Path.cwd()).absolute()
    file = file.absolute() if file else find_settings_file(start)
    given: dict[str, _Given] = {}
    if file:
        base = file.parent.parent if file.parent.name == "config" else file.parent
        given |= {key: _Given(value, where, base) for key, value, where in _from_file(file)}
    given |= {key: _Given(value, where, start) for key, value, where in _from_environment(environ)}
    given |= {key: _Given(value, "command line", start) for key, value in (command_line or {}).items()}
    tree: dict[str, Any] = {}
    for key, one in given.items():
        _put(tree, key, _checked(key, one))
    return Settings.model_validate(tree)._with_origins(file, {key: one.where for key, one in given.items()})


def _checked(key: str, given: _Given) -> object:
    """The value of one key as the model takes it; key by key, so that every error knows its place."""
    tree: dict[str, Any] = {}
    _put(tree, key, given.value)
    try:
        value: Any = Settings.model_validate(tree, context=given.base)
    except ValidationError as error:
        raise _wrong_value(key, given, error) from None
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _wrong_value(key: str, given: _Given, error: ValidationError) -> SettingsError:
    first = error.errors(include_url=False, include_input=False)[0]
    says = first["msg"][:1].lower() + first["msg"][1:]
    says = _SAYS.get(first["type"], says)
    value = given.value
    shown = (
        repr(value)[:60] if isinstance(value, str | int | float | bool) else _KINDS.get(type(value).__name__, "that")
    )
    hint = "give a value, or remove the line" if value is None else None
    return SettingsError(f"{key}: {says}, not {shown}", where=given.where, hint=hint)


_SAYS = {"is_instance_of": "input should be a path", "tuple_type": "input should be a list of paths"}
_KINDS = {"NoneType": "nothing", "CommentedSeq": "a list", "CommentedMap": "a section", "list": "a list"}


def _put(tree: dict[str, Any], key: str, value: object) -> None:
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[name] = value


def _unknown(key: str, where: str, known: Sequence[str]) -> SettingsError:
    from rapidfuzz import fuzz, process  # noqa: PLC0415  (only on the way to an error)

    nearest = process.extractOne(key, known, scorer=fuzz.WRatio)[0]
    return SettingsError(f"unknown setting {key}", where=where, hint=f"did you mean {nearest}?")


# --- environment -----------------------------------------------------------------------------------------------------


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    """Key, value and variable of every setting in the environment; an empty variable counts as absent."""
    keys = {variable_of(key): key for key in known_keys()}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in RESERVED or not environ[name]:
            continue
        if name not in keys:
            raise _unknown(name, "environment", list(keys))
        yield keys[name], _from_text(keys[name], environ[name]), name


def _from_text(key: str, text: str) -> object:
    """The text of a variable as its key's type; left alone where it is none, so that the model complains."""
    kinds = _types(key)
    if Path in kinds and tuple in kinds:
        return [part for part in text.split(os.pathsep) if part]
    if bool in kinds:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                return text
    return text


def _types(key: str) -> set[object]:
    model: Any = Settings
    *sections, name = key.split(".")
    for section in sections:
        model = model.model_fields[section].annotation
    return set(_flat(model.model_fields[name].annotation))


def _flat(annotation: Any) -> Iterator[object]:
    origin = getattr(annotation, "__origin__", None)
    yield origin or annotation
    for argument in get_args(annotation):
        yield from _flat(argument)


# --- file ------------------------------------------------------------------------------------------------------------


def _from_file(path: Path) -> Iterator[tuple[str, object, str]]:
    """Key, value and `file:line` of every setting in the file."""
    data = _read_yaml(path)
    if data is None:
        return
    if not hasattr(data, "lc") or not isinstance(data, dict):
        raise SettingsError("not a list of settings", where=f"{path}:1", hint="write lines like `model: rules`")
    yield from _entries(data, "", path, list(known_keys()))


def _entries(data: Any, prefix: str, path: Path, known: list[str]) -> Iterator[tuple[str, object, str]]:
    for name, value in data.items():
        key = f"{prefix}{name}"
        where = f"{path}:{_line(data, name)}"
        if key in known:
            yield key, _plain(value), where
        elif not any(other.startswith(f"{key}.") for other in known):
            raise _unknown(key, where, known)
        elif isinstance(value, dict):
            yield from _entries(value, f"{key}.", path, known)
        elif value is not None:
            raise SettingsError(f"{key} is a section", where=where, hint="indent its settings below it")


def _line(data: Any, name: object) -> int:
    try:
        return int(data.lc.key(name)[0]) + 1
    except KeyError:  # came in through a merge key
        return int(data.lc.line) + 1


def _plain(value: object) -> object:
    """A scalar that remembers how it was written as a plain one; in a list, too.

    No deeper: no setting is, and lists of aliases of lists would grow without end.
    """
    return [_scalar(one) for one in value] if isinstance(value, list) else _scalar(value)


def _scalar(value: object) -> object:
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _read_yaml(path: Path) -> object:
    """The file's content, with line numbers.

    Raises:
        SettingsError: it cannot be read, or is no YAML.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415  (slow, and most folders have no settings file)
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    try:
        return YAML(typ="rt", pure=True).load(_read_text(path))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = " ".join((error.problem or error.context or "not readable").split("\n")[0].split())
        raise SettingsError(f"broken YAML: {problem}", where=where, hint="mend that line") from None
    except (YAMLError, RecursionError, ValueError) as error:
        first = str(error).strip().split("\n")[0][:120]
        raise SettingsError(f"broken YAML: {first}", where=str(path), hint="mend the file") from None


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            data = handle.read(_MOST_BYTES + 1)
    except IsADirectoryError:
        raise SettingsError("is a folder, not a file", where=str(path), hint="move it away") from None
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", where=str(path)) from error
    if len(data) > _MOST_BYTES:
        raise SettingsError("larger than 1 MiB", where=str(path), hint="settings are small; is this the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError("not UTF-8", where=f"{path}:{line}", hint="save it as UTF-8") from None
