"""Loading of the settings: command line > environment > file > defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from transom.config.environment import from_environment
from transom.config.file import from_file
from transom.config.model import Settings
from transom.errors import SettingsError

# In one folder, the first name wins.
FILE_NAMES = ("transom.yaml", "config/agent_config.yaml")


@dataclass(frozen=True)
class _Source:
    """The value of a key from one of the sources.

    Attributes:
        value: as it was written.
        place: its origin, for messages: `file:line`, a variable, or the command line.
        base: the folder to which a relative path in it is relative.
    """

    value: object
    place: str
    base: Path


def find_settings_file(start: Path) -> Path | None:
    """Return the nearest settings file from `start` upwards; in one folder `transom.yaml` comes
    first.
    """
    for folder in (start, *start.parents):
        for name in FILE_NAMES:
            # A folder with that name is found, too, and reported when it is read.
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
    """Load the settings from all sources.

    Args:
        start: the command's folder; None for the current folder.
        file: the settings file; None for the nearest one from `start` upwards.
        environ: environment with `TRANSOM_` variables.
        command_line: key -> value of the options on the command line.

    Raises:
        SettingsError: a key is unknown (the hint names the nearest one), a value is wrong, or the
            file cannot be read.
    """
    start = (start or Path.cwd()).absolute()
    file = file.absolute() if file else find_settings_file(start)
    sources: dict[str, _Source] = {}
    # In order of precedence: later sources replace earlier ones.
    if file:
        # Paths are relative to the project's folder, also in `config/agent_config.yaml`.
        base = file.parent.parent if file.parent.name == "config" else file.parent
        for key, value, place in from_file(file):
            sources[key] = _Source(value, place, base)
    for key, value, place in from_environment(environ):
        sources[key] = _Source(value, place, start)
    for key, value in (command_line or {}).items():
        sources[key] = _Source(value, "command line", start)
    tree: dict[str, Any] = {}
    for key, source in sources.items():
        _put(tree, key, _validate(key, source))
    origins = {key: source.place for key, source in sources.items()}
    return Settings.model_validate(tree).with_origins(file, origins)


def _validate(key: str, source: _Source) -> object:
    """Return the value of one key, validated by itself, so that every error has its place.

    Raises:
        SettingsError: the value is wrong.
    """
    tree: dict[str, Any] = {}
    _put(tree, key, source.value)
    try:
        value: Any = Settings.model_validate(tree, context=source.base)
    except ValidationError as error:
        raise _wrong_value(key, source, error) from None
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _wrong_value(key: str, source: _Source, error: ValidationError) -> SettingsError:
    """Return the error for a value, in the words of a settings file."""
    # A value of several types has an error for each: the first type is the usual one.
    first = error.errors(include_url=False, include_input=False)[0]
    message = first["msg"][:1].lower() + first["msg"][1:]
    message = _MESSAGES.get(first["type"], message)
    value = source.value
    if isinstance(value, str | int | float | bool):
        # A long value would hide the message.
        description = repr(value)[:60]
    else:
        description = _KINDS.get(type(value).__name__, "that")
    # YAML reads `key:` with nothing after it as null.
    hint = "give a value, or remove the line" if value is None else None
    return SettingsError(f"{key}: {message}, not {description}", place=source.place, hint=hint)


# Pydantic's own texts for these name Python's types.
_MESSAGES = {
    "is_instance_of": "input should be a path",
    "tuple_type": "input should be a list of paths",
}
_KINDS = {
    "NoneType": "nothing",
    "CommentedSeq": "a list",
    "CommentedMap": "a section",
    "list": "a list",
}


def _put(tree: dict[str, Any], key: str, value: object) -> None:
    *sections, name = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[name] = value
