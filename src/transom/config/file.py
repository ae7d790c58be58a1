"""Settings from a YAML file, each with its line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transom.config.model import known_keys, unknown_key
from transom.errors import SettingsError

_MOST_BYTES = 1 << 20


def from_file(path: Path) -> Iterator[tuple[str, object, str]]:
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
            raise unknown_key(key, where, known)
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
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415  (likewise)

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
