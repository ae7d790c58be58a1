"""Reads and writes YAML files that people edit."""

from __future__ import annotations

from pathlib import Path

from transom.canonical import Json
from transom.errors import InputError
from transom.yaml_text import Key, YamlFile, parse_yaml, plain_kind

__all__ = [
    "MAX_BYTES",
    "Key",
    "YamlFile",
    "add_entry",
    "add_key",
    "dump_yaml",
    "load_yaml",
    "parse_yaml",
    "read_bytes",
    "read_text",
]

MAX_BYTES = 4 * 1024 * 1024


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a small file that a person named.

    Raises:
        InputError: missing, a folder, not a regular file, unreadable, larger than `limit` bytes.
    """
    place = str(path)
    try:
        if path.is_dir():
            raise InputError("is a folder, not a file", place=place, hint="name the file in it")
        if not path.exists():
            raise InputError("no such file", place=place, hint="check the path")
        if not path.is_file():
            raise InputError("is not a regular file", place=place, hint="name a file on disk")
        size = path.stat().st_size
        if size > limit:
            raise InputError(
                f"is {size} bytes long, the limit is {limit}", place=place, hint="split it"
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot be read: {reason}", place=place, hint="check the path and its permissions"
        ) from error


def load_yaml(path: Path) -> YamlFile:
    """Read one YAML 1.2 document.

    Raises:
        InputError: the YAML is wrong or empty, with file:line and what to write instead.
    """
    return parse_yaml(read_text(path), path)


def read_text(path: Path) -> str:
    """Return the text of a small file that a person wrote.

    Raises:
        InputError: as `read_bytes`, or the file is not UTF-8, with file:line.
    """
    raw = read_bytes(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"is not UTF-8 (byte 0x{raw[error.start]:02x})",
            place=f"{path}:{line}",
            hint="save the file as UTF-8",
        ) from error


def add_key(file: YamlFile, key: str, value: Json, comment: str = "") -> str:
    """Return the text of a mapping with one more key at its end; the other characters stay
    unchanged.

    Args:
        file: the YAML file, without the key.
        key: the key, at the left edge.
        value: its value.
        comment: one line above the key.

    Raises:
        InputError: no key can follow the end of the file.
    """
    end = "\r\n" if "\r\n" in file.text else "\n"
    above = f"# {' '.join(comment.split())}\n" if comment else ""
    added = f"{above}{dump_yaml({key: value})}".replace("\n", end)
    text = file.text + ("" if file.text.endswith("\n") else end) + added
    try:
        data = parse_yaml(text, file.path).data
    except InputError:
        data = None
    if not isinstance(file.data, dict) or data != {**file.data, key: value}:
        raise InputError(
            f"{key} cannot be added",
            place=str(file.path),
            hint=f"write it yourself: {' '.join(added.split())}",
        )
    return text


def add_entry(file: YamlFile, key: str, value: Json) -> str:
    """Return the text of a mapping with one more entry at the end of a list; the other characters
    stay unchanged.

    Args:
        file: the YAML file.
        key: the key of the list, at the left edge; it is added if there is none.
        value: the entry.

    Raises:
        InputError: the list is not written as a block.
    """
    if not isinstance(file.data, dict) or key not in file.data:
        return add_key(file, key, [value])
    entries = file.data[key]
    end = "\r\n" if "\r\n" in file.text else "\n"
    lines = file.text.split(end)
    first = file.line_of(key)
    later_keys = [file.line_of(other) for other in file.data if file.line_of(other) > first]
    position = min(later_keys, default=len(lines) + 1) - 1
    # Comments and blank lines before the next key belong to that key.
    while position > first and not lines[position - 1].split("#")[0].strip():
        position -= 1
    new_lines = dump_yaml([value]).rstrip("\n").split("\n")
    text = end.join([*lines[:position], *new_lines, *lines[position:]])
    try:
        data = parse_yaml(text, file.path).data
    except InputError:
        data = None
    if not isinstance(entries, list) or data != {**file.data, key: [*entries, value]}:
        raise InputError(
            f"{key} cannot take one more entry",
            place=file.place_of(key),
            hint=f"write it yourself: {' '.join(' '.join(new_lines).split())}",
        )
    return text


def dump_yaml(data: object) -> str:
    """Return plain data as block-style YAML, keys in the order given, long texts on one line."""
    import yaml  # noqa: PLC0415  (slow, and few commands write YAML)

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types
        """Quotes texts that YAML 1.2 would not read as texts."""

    def quoted(dumper: Dumper, text: str) -> object:
        style = None if plain_kind(text) == "str" else "'"
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, quoted)
    return str(yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10_000))
