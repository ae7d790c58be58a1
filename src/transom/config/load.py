"""Loads the settings: command line > environment > file > defaults."""

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

FILE_NAMES = ("transom.yaml", "config/agent_config.yaml")


@dataclass(frozen=True)
class _Given:
    """A given value, its place, and the folder that a relative path in it is relative to."""

    value: object
    where: str
    base: Path


def find_settings_file(start: Path) -> Path | None:
    """Return the nearest settings file from `start` upwards; in one folder `transom.yaml` comes
    first.
    """
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
    """Load the settings from all sources.

    Args:
        start: the command's folder; None: the current folder.
        file: settings file; None: the nearest one from `start` upwards.
        environ: environment with `TRANSOM_` variables.
        command_line: key -> value of given options.

    Raises:
        SettingsError: unknown key (names the nearest one), wrong type or value, unreadable file.
    """
    start = (start or Path.cwd()).absolute()
    file = file.absolute() if file else find_settings_file(start)
    given: dict[str, _Given] = {}
    if file:
        base = file.parent.parent if file.parent.name == "config" else file.parent
        given |= {key: _Given(value, where, base) for key, value, where in from_file(file)}
    given |= {key: _Given(value, where, start) for key, value, where in from_environment(environ)}
    given |= {
        key: _Given(value, "command line", start) for key, value in (command_line or {}).items()
    }
    tree: dict[str, Any] = {}
    for key, one in given.items():
        _put(tree, key, _checked(key, one))
    return Settings.model_validate(tree).with_origins(
        file, {key: one.where for key, one in given.items()}
    )


def _checked(key: str, given: _Given) -> object:
    """Validate the value of one key by itself, so that every error has its place."""
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
        repr(value)[:60]
        if isinstance(value, str | int | float | bool)
        else _KINDS.get(type(value).__name__, "that")
    )
    hint = "give a value, or remove the line" if value is None else None
    return SettingsError(f"{key}: {says}, not {shown}", where=given.where, hint=hint)


_SAYS = {
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
