"""The item that a person writes: a description, what is required, what is waived, which files.

    description: Confirm the netlist version is correct.
    requirements: {value: N/A, pattern_items: []}
    waivers: {value: N/A, waive_items: []}
    input_files: ["${LOG_ROOT}/sta.log"]

`value` decides the type of the check, the list beside it the contents. Harmless slips of YAML (a bare 2025, null for
N/A) are read as meant, with a warning that says what to write; whatever could change a verdict is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import NoReturn

from transom.canonical import Json, digest
from transom.checklist.atoms import AnyOf, Requirements, Waiver, Waivers
from transom.checklist.patterns import REGEX, is_split_regex, parts, pattern_problem, waiver_problem
from transom.errors import InputError
from transom.formats.yaml_files import Key, YamlFile, load_yaml, nearest_key, parse_yaml
from transom.gates import Finding

_TOP = ("item_id", "description", "requirements", "waivers", "input_files")
_REQUIREMENTS = ("value", "pattern_items")
_WAIVERS = ("value", "waive_items", "waive_reasons")
_WAIVER = ("pattern", "reason", "owner", "expires")
_NOT_APPLICABLE = ("n/a", "na", "")
_ITEM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


@dataclass(frozen=True)
class Notice:
    """Something that a person should know and that stops nothing."""

    line: int
    message: str


@dataclass(frozen=True)
class InputName:
    """One entry of `input_files`, with its variables still in it."""

    written: str
    line: int


@dataclass(frozen=True)
class Item:
    """A checklist item as read from its file.

    Attributes:
        item_id: the file's `item_id`, else its stem, else (stem `item`) the folder's name.
        has_own_id: the id stands in the file itself.
        requirements, waivers: None where the file has no such section, so that a checker's defaults apply.
        sha256: of the text.
        warnings: what was read differently from how it was written.
        findings: what `check lint` holds against the item although it can be run.
    """

    item_id: str
    has_own_id: bool
    path: Path
    description: str
    requirements: Requirements | None
    waivers: Waivers | None
    input_files: tuple[InputName, ...]
    text: str
    sha256: str
    warnings: tuple[Notice, ...] = ()
    findings: tuple[Finding, ...] = ()

    def where(self, line: int) -> str:
        return f"{self.path}:{line}"


def load_item(path: Path, *, strict: bool = False) -> Item:
    """Read an item.

    Args:
        path: the YAML file.
        strict: warnings and lint findings are errors.

    Raises:
        InputError: with file:line, what is wrong and what to write.
    """
    return _ItemReader(load_yaml(path), strict=strict).read()


def parse_item(text: str, path: Path, *, strict: bool = False) -> Item:
    """As `load_item`, for a text at hand; `path` names it and gives the item its id."""
    return _ItemReader(parse_yaml(text, path), strict=strict).read()


def item_findings(path: Path) -> list[Finding]:
    """What `check lint` says of an item: the first error that stops it, or all that misleads."""
    try:
        item = load_item(path)
    except InputError as error:
        line = re.search(r":(\d+)$", error.where or "")
        message = f"{error.what}; {error.hint}" if error.hint else error.what
        return [Finding("item", str(path), int(line.group(1)) if line else None, message)]
    notices = [Finding("item", str(path), notice.line, notice.message) for notice in item.warnings]
    return [*item.findings, *notices]


class _ItemReader:
    """Reads one file; collects warnings and findings on the way."""

    def __init__(self, file: YamlFile, *, strict: bool) -> None:
        self.file = file
        self.strict = strict
        self.warnings: list[Notice] = []
        self.findings: list[Finding] = []

    def read(self) -> Item:
        data = self.file.data
        if not isinstance(data, dict):
            kind = "a list" if isinstance(data, list) else "a single value"
            self.fail((), f"is {kind}, not an item", "write `description: ...` and the other keys at the left edge")
        self.known(data, _TOP, ())
        own_id = self.own_id(data)
        item = Item(
            item_id=own_id or self.derived_id(),
            has_own_id=own_id is not None,
            path=self.file.path,
            description=self.description(data),
            requirements=self.requirements(data),
            waivers=self.waivers(data),
            input_files=self.input_files(data),
            text=self.file.text,
            sha256=digest(self.file.text),
        )
        if self.strict and self.findings:
            first = self.findings[0]
            raise InputError(first.message, where=f"{first.artifact}:{first.line}")
        return replace(item, warnings=tuple(self.warnings), findings=tuple(self.findings))

    # -- single keys

    def own_id(self, data: dict[str, Json]) -> str | None:
        if data.get("item_id") is None:
            return None
        text = self.file.written.get(("item_id",), "")
        if not _ITEM_ID.fullmatch(text):
            self.fail(("item_id",), f"item_id {text!r} is not a name", "use letters, digits, `.`, `_` and `-`")
        return text

    def derived_id(self) -> str:
        path = self.file.path
        name = path.absolute().parent.name if path.stem.lower() == "item" else path.stem
        return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "item"

    def description(self, data: dict[str, Json]) -> str:
        value = data.get("description")
        if value is None:
            self.fail(("description",), "there is no description", "write `description: what must be confirmed`")
        if not isinstance(value, str):
            written = self.file.written.get(("description",))
            shown = f' (write description: "{written}" if that is the text)' if written else ""
            self.fail(("description",), "the description is not a text", f"say in words what must hold{shown}")
        if not value.strip():
            self.fail(("description",), "the description is empty", "say in one line what must be confirmed")
        return value.strip()

    def input_files(self, data: dict[str, Json]) -> tuple[InputName, ...]:
        at = ("input_files",)
        names = self.texts(data.get("input_files"), at, "path")
        if not names:
            self.warn(at, "input_files is empty; `check run` has nothing to read")
        return tuple(InputName(name, self.file.line_of(*at, index)) for index, name in names)

    # -- sections

    def requirements(self, data: dict[str, Json]) -> Requirements | None:
        section = self.section(data, "requirements", _REQUIREMENTS)
        if section is None:
            return None
        at = ("requirements", "pattern_items")
        value = self.value("requirements", section)
        patterns = self.patterns(section.get("pattern_items"), at)
        if value is None:
            self.must_be_empty("requirements", "pattern_items", patterns)
            return Requirements()
        if value < 1:
            self.fail(
                ("requirements", "value"),
                f"requirements.value is {value}",
                "write N/A for a check without patterns, or the number of pattern_items",
            )
        self.must_be_filled("requirements", "pattern_items", value, patterns)
        return Requirements(value=len(patterns), pattern_items=tuple(patterns))

    def waivers(self, data: dict[str, Json]) -> Waivers | None:
        section = self.section(data, "waivers", _WAIVERS)
        if section is None:
            return None
        value = self.value("waivers", section)
        if value is not None and value < 0:
            self.fail(("waivers", "value"), f"waivers.value is {value}", "write N/A, 0 (waive all) or their number")
        waivers = self.waiver_list(section.get("waive_items"), is_comment=value == 0)
        waivers = self.with_reasons(waivers, section.get("waive_reasons"), is_comment=value == 0)
        if value is None:
            self.must_be_empty("waivers", "waive_items", waivers)
            return Waivers()
        if value > 0:
            self.must_be_filled("waivers", "waive_items", value, waivers)
            value = len(waivers)
        return Waivers(value=value, waive_items=tuple(waivers))

    def section(self, data: dict[str, Json], name: str, keys: tuple[str, ...]) -> dict[str, Json] | None:
        if name not in data:
            return None
        value = data[name]
        if value is None or (isinstance(value, str) and value.strip().lower() in _NOT_APPLICABLE):
            self.warn((name,), f"{name} is empty and read as N/A; write `{name}: {{value: N/A, {keys[1]}: []}}`")
            return {}
        if not isinstance(value, dict):
            self.fail((name,), f"{name} is not a mapping", f"write `value:` and `{keys[1]}:` beneath it, indented")
        self.known(value, keys, (name,))
        return value

    def value(self, name: str, section: dict[str, Json]) -> int | None:
        at = (name, "value")
        value = section.get("value")
        if value is None:
            if "value" in section:
                self.warn(at, f"{name}.value is empty and read as N/A; write `value: N/A`")
            return None
        written = self.file.written.get(at, "").strip()
        if isinstance(value, str) and written.lower() in _NOT_APPLICABLE:
            if written != "N/A":
                self.warn(at, f"{name}.value {written!r} is read as N/A; write `value: N/A`")
            return None
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", written):
            self.warn(at, f'{name}.value "{written}" is read as a number; write it without quotes')
            return int(written)
        if isinstance(value, bool) or not isinstance(value, int):
            self.fail(at, f"{name}.value is {written or 'not a number'!r}", "write N/A or a whole number")
        return value

    # -- lists

    def patterns(self, value: Json, at: tuple[Key, ...]) -> list[str | AnyOf]:
        found: list[str | AnyOf] = []
        for index, entry in enumerate(self.entries(value, at)):
            here = (*at, index)
            if isinstance(entry, dict) and set(entry) == {"any_of"}:
                texts = self.texts(entry["any_of"], (*here, "any_of"), "pattern")
                if not texts:
                    self.fail(here, "any_of is empty", 'write any_of: ["first", "second"]')
                found.append(AnyOf(any_of=tuple(text for _, text in texts)))
            else:
                found.append(self.text(entry, here, "pattern"))
            for part in parts(found[-1]):
                self.check_pattern(part, here)
        return found

    def check_pattern(self, text: str, at: tuple[Key, ...]) -> None:
        problem = pattern_problem(text)
        if problem:
            self.fail(at, problem, "mend it, or remove the line")
        if is_split_regex(text):
            listed = ", ".join(f"'{part}'" for part in self.unsplit(text))
            message = (
                f"{text!r} is compared as literal texts, because | separates alternatives before regex: is read; "
                f"write any_of: [{listed}]"
            )
            self.findings.append(Finding("item.pattern", str(self.file.path), self.file.line_of(*at), message))
            self.warnings.append(Notice(self.file.line_of(*at), message))

    @staticmethod
    def unsplit(text: str) -> list[str]:
        """What was probably meant by `regex:^(MET|OK)$`: one regex per alternative."""
        expression = text.removeprefix(REGEX)
        group = re.fullmatch(r"([^()|]*)\((?:\?:)?([^()]*)\)([^()|]*)", expression)
        if group is None:
            return [REGEX + part.removeprefix(REGEX) for part in expression.split("|") if part]
        before, inner, after = group.groups()
        return [f"{REGEX}{before}{part}{after}" for part in inner.split("|")]

    def waiver_list(self, value: Json, *, is_comment: bool) -> list[Waiver]:
        found: list[Waiver] = []
        for index, entry in enumerate(self.entries(value, ("waivers", "waive_items"))):
            at = ("waivers", "waive_items", index)
            waiver = self.waiver(entry, at)
            problem = None if is_comment else waiver_problem(waiver.pattern)
            if problem:
                self.fail(at, problem, "mend it, or remove the line")
            found.append(waiver)
        return found

    def waiver(self, entry: Json, at: tuple[Key, ...]) -> Waiver:
        if not isinstance(entry, dict):
            return Waiver(pattern=self.text(entry, at, "waiver"))
        if "pattern" not in entry:
            self.explain_mapping(entry, at, "waiver")
        self.known(entry, _WAIVER, at)
        fields = {key: self.text(entry[key], (*at, key), key) for key in _WAIVER if entry.get(key) is not None}
        if "pattern" not in fields:
            self.fail(at, "the waiver has no pattern", "write `pattern: text`")
        if "expires" in fields:
            try:
                fields["expires"] = date.fromisoformat(fields["expires"].strip()).isoformat()
            except ValueError:
                self.fail((*at, "expires"), f"{fields['expires']!r} is not a date", "write it as 2026-01-31")
        return Waiver(**fields)

    def with_reasons(self, waivers: Sequence[Waiver], value: Json, *, is_comment: bool) -> list[Waiver]:
        """Reasons run beside the waivers. A wrong count misleads a reader, not the verdict: a warning, as for value."""
        at = ("waivers", "waive_reasons")
        reasons = [
            "" if entry is None else self.text(entry, (*at, index), "reason", may_be_blank=True).strip()
            for index, entry in enumerate(self.entries(value, at))
        ]
        if is_comment:
            count = len(waivers)
            waivers = [*waivers, *(Waiver(pattern=reason) for reason in reasons[count:] if reason)]
            reasons = reasons[:count]
        elif reasons and len(reasons) != len(waivers):
            self.warn(at, f"there are {len(reasons)} waive_reasons for {len(waivers)} waive_items; write one for each")
        reasons += [""] * (len(waivers) - len(reasons))
        return [
            waiver if waiver.reason or not reason else waiver.model_copy(update={"reason": reason})
            for waiver, reason in zip(waivers, reasons, strict=False)
        ]

    # -- the small change of YAML

    def entries(self, value: Json, at: tuple[Key, ...]) -> list[Json]:
        if isinstance(value, list):
            return value
        if isinstance(value, str) and value.strip().lower() in _NOT_APPLICABLE:
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
