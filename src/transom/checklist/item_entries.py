"""The small change of reading an item's YAML: entries and texts with their lines, slips named, mistakes refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from transom.canonical import Json
from transom.errors import InputError
from transom.formats.yaml_files import Key, YamlFile
from transom.formats.yaml_models import nearest_key
from transom.gates import Finding

NOT_APPLICABLE = ("n/a", "na", "")


@dataclass(frozen=True)
class Notice:
    """Something that a person should know and that stops nothing."""

    line: int
    message: str


class EntryReader:
    """Reads the entries of one file; collects warnings and findings on the way.

    Args:
        file: the YAML.
        strict: what would be a warning is an error.
    """

    def __init__(self, file: YamlFile, *, strict: bool) -> None:
        self.file = file
        self.strict = strict
        self.warnings: list[Notice] = []
        self.findings: list[Finding] = []

    def entries(self, value: Json, at: tuple[Key, ...]) -> list[Json]:
        if isinstance(value, list):
            return value
        if isinstance(value, str) and value.strip().lower() in NOT_APPLICABLE:
            self.warn(at, f"{at[-1]} {value!r} is read as an empty list; write `{at[-1]}: []`")
        elif value is not None:
            self.fail(at, f"{at[-1]} is not a list", "put each entry on its own line after `- `")
        return []

    def texts(self, value: Json, at: tuple[Key, ...], name: str) -> list[tuple[int, str]]:
        return [(index, self.text(entry, (*at, index), name)) for index, entry in enumerate(self.entries(value, at))]

    def text(self, entry: Json, at: tuple[Key, ...], name: str, *, may_be_blank: bool = False) -> str:
        if isinstance(entry, dict):
            self.explain_mapping(entry, at, name)
        if isinstance(entry, list):
            self.fail(at, f"a {name} is a list", 'write one text per line; text with [ or ] stands in quotes: "[a]"')
        written = self.file.written.get(at, "")
        if entry is None or not (written.strip() or may_be_blank):
            self.fail(at, f"a {name} is empty", "write a text, or remove the line")
        if not isinstance(entry, str) and at[-1] != "expires":
            self.warn(at, f'the {name} {written} is read as text; write it in quotes: "{written}"')
        return written

    def explain_mapping(self, entry: dict[str, Json], at: tuple[Key, ...], name: str) -> NoReturn:
        key = next(iter(entry), "")
        value = self.file.written.get((*at, key), "...")
        if "any_of" in entry:
            self.fail(at, f"a {name} cannot be any_of", "write each alternative as an entry of its own")
        if len(entry) > 1:
            self.fail(at, f"a {name} is a mapping with the keys {', '.join(entry)}", "write one text in quotes")
        joined = f"regex:{value}" if key == "regex" else f"{key}: {value}"
        self.fail(at, f"a {name} is a mapping ({key}: {value})", f"put the whole text in quotes: '{joined}'")

    def known(self, data: dict[str, Json], keys: tuple[str, ...], at: tuple[Key, ...]) -> None:
        for key in data:
            if key not in keys:
                near = nearest_key(key, keys)
                hint = f"did you mean {near}?" if near else f"the keys here are {', '.join(keys)}"
                self.fail((*at, key), f"unknown key {key}", hint)

    def must_be_empty(self, name: str, key: str, entries: Sequence[object]) -> None:
        if entries:
            self.fail(
                (name, key),
                f"{name}.value is N/A or missing, but {key} has {len(entries)}",
                f"write {name}.value: {len(entries)}, or empty the list",
            )

    def must_be_filled(self, name: str, key: str, value: int, entries: Sequence[object]) -> None:
        if not entries:
            self.fail((name, "value"), f"{name}.value is {value}, but {key} is empty", "fill the list, or write N/A")
        if value != len(entries):
            self.warn(
                (name, "value"), f"{name}.value is {value}, but {key} has {len(entries)}; the list counts: correct it"
            )

    def warn(self, at: tuple[Key, ...], message: str) -> None:
        if self.strict:
            self.fail(at, message, None)
        self.warnings.append(Notice(self.file.line_of(*at), message))

    def fail(self, at: tuple[Key, ...], what: str, hint: str | None) -> NoReturn:
        raise InputError(what, where=self.file.where(*at), hint=hint)
