"""Settings from a YAML file, each with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from transom.canonical import Json
from transom.config.model import known_keys, unknown_key
from transom.errors import InputError, SettingsError
from transom.yaml_text import YamlFile, parse_yaml

# A larger file is not a settings file, and would take long to parse.
_MOST_BYTES = 1 << 20


def from_file(path: Path) -> Iterator[tuple[str, object, str]]:
    """Yield key, value and `file:line` of every setting in the file.

    Raises:
        SettingsError: the file cannot be read, is not YAML, or has an unknown key.
    """
    text = _read_text(path)
    # A file of comments alone is not valid for the parser, but a usual state of a settings file.
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return
    try:
        file = parse_yaml(text, path)
    except InputError as error:
        raise SettingsError(error.problem, place=error.place, hint=error.hint) from None
    # A file with only `---`, or with `null`.
    if file.data is None:
        return
    if not isinstance(file.data, dict):
        raise SettingsError(
            "is not a mapping of settings",
            place=f"{path}:1",
            hint="write lines like `model: rules`",
        )
    yield from _entries(file, file.data, (), list(known_keys()))


def _entries(
    file: YamlFile, data: Mapping[str, Json], parents: tuple[str, ...], keys: list[str]
) -> Iterator[tuple[str, object, str]]:
    """Yield key, value and `file:line` of the settings in a mapping and in its sections."""
    for name, value in data.items():
        key = ".".join((*parents, name))
        place = file.place_of(*parents, name)
        if key in keys:
            yield key, value, place
        elif not any(other.startswith(f"{key}.") for other in keys):
            raise unknown_key(key, place, keys)
        elif isinstance(value, dict):
            yield from _entries(file, value, (*parents, name), keys)
        # A section whose lines are all comments is empty, and allowed.
        elif value is not None:
            raise SettingsError(
                f"{key} is a section", place=place, hint="indent its settings below it"
            )


def _read_text(path: Path) -> str:
    """Return the text of a settings file.

    Raises:
        SettingsError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        with path.open("rb") as handle:
            # One byte more, which shows that the file is larger.
            data = handle.read(_MOST_BYTES + 1)
    except IsADirectoryError:
        raise SettingsError(
            "is a folder, not a file", place=str(path), hint="move it away"
        ) from None
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", place=str(path)) from error
    if len(data) > _MOST_BYTES:
        raise SettingsError(
            "is larger than 1 MiB",
            place=str(path),
            hint="settings are small; is this the right file?",
        )
    try:
        # Editors on Windows begin a file with a byte order mark.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError(
            "is not UTF-8", place=f"{path}:{line}", hint="save it as UTF-8"
        ) from None
